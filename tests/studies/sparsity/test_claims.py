"""Claims of the study of sparse attention: reproduced, refuted, open or not tested, on frames that say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.beside import Printed
from attnlib.studies.sparsity.numbers import CLAIMS, checks
from tests.studies.sparsity.frames import PARAMS, changed, found, judged


def verdicts(results) -> dict[int, str]:
    return {number: claim.verdict for number, claim in judged(results).items()}


def test_what_the_paper_says_is_reproduced_where_it_holds() -> None:
    said = verdicts(found())
    assert len(said) == len(CLAIMS) == 19
    assert {said.pop(n) for n in (15, 16)} == {"not tested"}  # no sparsemax model is attacked
    # The text and the table of the paper contradict each other: one of the two must fail.
    assert said.pop(8) == "not reproduced"
    assert set(said.values()) == {"reproduced"}


def test_claims_fail_where_the_data_say_the_opposite() -> None:
    said = verdicts(found(rising=True, hidden_above=False, high=0.2, lost=0.0))
    assert {said[n] for n in (2, 4, 5, 7, 9, 10, 17, 18, 19)} == {"not reproduced"}
    assert said[8] == "reproduced"
    assert said[11] != "reproduced"


def test_the_papers_number_is_that_of_the_same_case() -> None:
    printed = {int(claim.id): claim.paper for claim in CLAIMS if claim.paper}
    assert set(printed) == {2, 4, 5, 7, 11, 12, 18, 19}
    results = found(dataset="rotten_tomatoes")
    assert printed[2](results)["rotten_tomatoes, Transformer, sparsemax"] == Printed(0.63, "Table 1, sst")
    assert printed[4](results)["rotten_tomatoes, BiLSTM, sparsemax"].value == pytest.approx(0.97 - 0.45)
    assert printed[5](results)["rotten_tomatoes, Transformer, softmax"].value == pytest.approx(0.16 - 0.33)
    assert printed[7](results)["rotten_tomatoes, BiLSTM"].value == -0.866
    assert printed[18](results)["rotten_tomatoes, BiLSTM"].value == pytest.approx(0.45 - 0.25)
    assert printed[19](results)["rotten_tomatoes, Transformer"].value == pytest.approx(0.30 - 0.33)
    assert printed[12](results)["rotten_tomatoes, Transformer"].value == -0.01
    mean = printed[11](found(dataset="planted"))["planted, BiLSTM"]
    assert (mean.value, mean.where) == (pytest.approx(-0.11), "Table 5, mean over its corpora")


def test_models_that_learned_nothing_decide_nothing_nor_do_their_adversaries() -> None:
    results = found()
    results.labels["prediction"] = 0
    assert set(verdicts(results).values()) == {"not tested"}
    results = found()
    results.labels.loc[results.labels["encoder"] == "lstm", "prediction"] = 0
    for name in ("agreement", "spread", "hidden", "duels", "facets"):
        assert set(getattr(results.replace().learned, name)["encoder"]) == {"transformer"}, name
    told = judged(results, 2, 11)
    assert told[2].verdict == told[11].verdict == "reproduced"
    assert "Transformer" in told[2].case


def test_the_weakest_push_that_moves_attention_far_is_judged_and_never_a_control() -> None:
    duels = found(control=0.0).duels
    duels.loc[duels["push"] == 0, "jsd"] = 0.6  # as far away without being pushed
    own, control = duels[duels["push"] > 0], duels[duels["push"] == 0]
    weak = own.assign(push=0.01, jsd=0.4)
    strong = own.assign(push=1.0, jsd=0.6, right_adversary=0.0)
    told = judged(changed(found(), duels=pd.concat([control, weak, strong], ignore_index=True)), 11)[11]
    assert told.verdict == "reproduced"
    assert told.effect == pytest.approx(-0.2, abs=0.02)
    near = pd.concat([weak.assign(jsd=0.1), strong.assign(jsd=0.2)], ignore_index=True)
    told = judged(changed(found(), duels=near), 11)[11]
    assert told.case.endswith("too near")
    assert told.effect == -1, "the farthest is shown"


def test_the_same_spread_over_other_words_is_not_the_same() -> None:
    assert judged(found(distance=0.05), 13)[13].verdict == "reproduced"
    assert judged(found(distance=0.4), 13)[13].verdict == "not reproduced"
    for gap in (0.3, -0.3):
        facets = found().facets
        facets["of_facets"] = facets["of_norm"] - gap + np.tile([-0.01, 0.01], 240)
        claim = judged(changed(found(), facets=facets), 13)[13]
        assert claim.verdict == "not reproduced"
        assert claim.effect == pytest.approx(2 * abs(gap))


def test_checks_hold_and_find_what_cannot_be() -> None:
    results = found()
    assert all(checks(results, PARAMS).values())
    assert not checks(results, PARAMS.replace(seeds=tuple(range(9))))["every model read the same texts"]
    results.spread["share"] = 0.0
    results.duels["jsd"] = 1.0
    results.agreement["status"] = "one token"
    assert sum(checks(results, PARAMS).values()) == 1
