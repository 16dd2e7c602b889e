"""Word-level objectives: claims that hold and claims that fail, on frames made by hand, and the study's checks."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.ledger import ledger
from attnlib.studies.results import Results
from attnlib.studies.study import Study
from attnlib.studies.tying_mlm import numbers
from attnlib.studies.tying_mlm.grid import models
from attnlib.studies.tying_mlm.params import Params
from tests.studies.tying_mlm.frames import (
    CONSTANT,
    FRAGILE,
    HIGH,
    LOW,
    STEADY,
    changed,
    distances_of,
    information_of,
    results,
    swaps_of,
    texts_of,
)


def judged(found: Results, *names: str) -> dict:
    """All claims by the end of their id, or the named ones."""
    claims = [claim for claim in Study("tying_mlm").claims if not names or claim.id[len("tying_mlm-") :] in names]
    return {row.id.removeprefix("tying_mlm-"): row for row in ledger(claims, found.learned)}


@pytest.fixture(scope="module")
def holding() -> Results:
    return results()


def test_claims_come_out_as_made(holding) -> None:
    found = judged(holding)
    assert len(found) == 14
    assert {name: c.verdict for name, c in found.items() if c.verdict != "reproduced"} == {}
    assert found["information-mlm"].effect == pytest.approx(1.02)
    assert found["tokens-tying"].effect == pytest.approx(-0.15, abs=5e-3)
    assert found["init-entropy"].effect == pytest.approx(0.35, abs=5e-3)
    # FRAGILE loses 20 and 30 points where STEADY loses 2 and 4, up to the rounding of F1
    assert found["fragile-tying"].effect == pytest.approx(-22, abs=1)
    assert (found["fragile-tying"].trainings, found["fragile-tying"].texts) == (3, 400)
    assert (found["information-tying"].trainings, found["information-tying"].texts) == (3, 0)


def test_sizes_are_those_of_the_papers_tables(holding) -> None:
    found = judged(holding)
    assert np.isnan(found["fragile-tying"].paper_effect), "the paper's F1 is that of the positive class"
    assert found["tokens-mlm"].paper_effect == pytest.approx((0.630 + 0.664) / 2 - (0.712 + 0.693) / 2)
    assert np.isnan(found["information-tying"].paper_effect), "with other clusters, information has another size"
    clusters = holding.information.assign(k=1000)
    same = judged(changed(holding, information=clusters), "information-tying")
    assert same["information-tying"].paper_effect == pytest.approx((4.870 + 4.216 - 2.324 - 2.435) / 2)
    renamed = {name: holding.frames[name].assign(dataset="own") for name in ("swaps", "texts")}
    own = judged(changed(holding, **renamed), "tokens-mlm")
    assert own["tokens-mlm"].paper_where.startswith("Table 3, mean over its corpora")


def test_claims_can_fail() -> None:
    swaps = pd.concat(
        [
            swaps_of({"base": FRAGILE, "tying": {**STEADY, "trained": 0.8}, "residual": FRAGILE, "concat": STEADY}),
            swaps_of({"base": {**FRAGILE, "permuted": 0.5}}, layers=2),
            swaps_of({"base": FRAGILE}, attention="dot", init="kaiming"),
            swaps_of({"base": FRAGILE}, attention="dot", init="normal"),
        ]
    )
    texts = [texts_of({"base": 0.6, "tying": 0.7})]
    texts += [texts_of({"base": e}, attention="dot", init=i) for i, e in (("kaiming", 0.6), ("normal", 0.7))]
    found = judged(
        results(
            swaps=swaps,
            texts=pd.concat(texts),
            information=information_of({"base": 3.0, "tying": 1.0}),
            distances=distances_of({"base": HIGH, "tying": LOW}),
        )
    )
    failed = {name for name, claim in found.items() if claim.verdict == "not reproduced"}
    about = {f"{name}-tying" for name in ("fragile", "similar", "information", "adversary", "tokens")}
    assert failed == about | {"depth", "init-entropy", "init-constant", "residual"}
    assert {c.verdict for name, c in found.items() if name.endswith("mlm")} == {"not tested"}


def test_claims_without_their_models_or_of_models_that_learned_nothing_are_not_tested(holding) -> None:
    alone = {"swaps": swaps_of({"base": STEADY}), "texts": texts_of({"base": 0.7}), "distances": pd.DataFrame()}
    swaps, distances = holding.swaps.assign(prediction=0), holding.distances.assign(prediction_base=0)
    idle = changed(holding, swaps=swaps, distances=distances)  # one answer for all texts
    for run in (results(**alone, information=information_of({"base": 1.0})), idle):
        found = judged(run)
        assert {claim.verdict for claim in found.values()} == {"not tested"}
        assert all(claim.note for claim in found.values())


def test_checks_pass_and_can_fail() -> None:
    params = Params(
        corpora=("planted",), vectors="none", variants=("base", "tying"), attentions=("additive",), seeds=(0, 1, 2),
        deltas=1.0, layers=(), chosen={"tying": {"planted": 1.0}},
    )  # fmt: skip
    found = results(swaps=swaps_of({"base": STEADY, "tying": CONSTANT}, n=40, dataset="planted"))
    found.params = params
    assert len(models(params)) == 6
    found.grid.corpora = {params.data("planted"): SimpleNamespace(name="planted", test=range(40))}
    assert [name for name, passed in numbers.checks(found, params).items() if not passed] == []
    broken = changed(
        found,
        swaps=found.swaps.assign(change=0.5),
        information=found.information.assign(value=99.0),
        distances=found.distances.assign(jsd=1.0),
    )
    found.grid.corpora = dict.fromkeys(found.grid.corpora, SimpleNamespace(name="planted", test=range(39)))
    assert [name for name, passed in numbers.checks(broken, params).items() if passed] == []
