"""Claims of the TaSc study on hand-made frames: each verdict, each size, what is not tested, and the checks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.ledger import AS_ACCURATE, ledger
from attnlib.studies.ledger import Judged as Claim
from attnlib.studies.tasc import numbers
from attnlib.studies.tasc.grid import FRACTION, RANKINGS
from attnlib.studies.tasc.params import Params
from tests.studies.tasc.made import (
    TEXTS,
    frame,
    labels,
    paper_like,
    results,
    top_share,
    upside_down,
    upside_down_top,
)

WITH_BERT = ("lstm", "mlp", "bert")


def judged(flips, told=None, only=range(1, 22), **parts) -> dict[int, Claim]:
    """Claims by number, all or some."""
    found = ledger([numbers.CLAIMS[k - 1] for k in only], results(flips, told, **parts))
    return dict(zip(only, found, strict=True))


@pytest.mark.parametrize(("right", "verdict"), [(True, "reproduced"), (False, "not reproduced")])
def test_every_claim_can_come_out_both_ways(right, verdict):
    level, top = (paper_like, top_share) if right else (upside_down, upside_down_top)
    noise = lambda variant: 0.005 if (variant == "lin") == right else 0.02  # noqa: E731
    flips = frame(level, encoders=WITH_BERT, noise=noise, variants=("none", "lin", "feat"), top=top)
    told = labels(0.88 if right else 0.7, encoders=WITH_BERT)
    pooled = told[(told["variant"] == "lin") & (told["encoder"] == "mlp")]
    worse = pooled.assign(prediction=np.where(np.arange(len(pooled)) % 5, pooled["prediction"], "yes"))
    best, rest = (pooled, worse) if right else (worse, pooled)
    pools = [rest.assign(pool=pool) for pool in ("mean", "max", "direct")]
    found = judged(flips, told, pooling_labels=pd.concat([best.assign(pool="sum"), *pools]))
    assert {k: claim.verdict for k, claim in found.items()} == dict.fromkeys(range(1, 22), verdict)
    assert all(claim.low < claim.high for claim in found.values())


def test_effects_are_the_differences_of_the_world():
    flips = frame(paper_like, noise=lambda variant: 0.005 if variant == "lin" else 0.02)
    found = judged(flips, only=(3, 4, 6, 7, 9, 10, 13))
    # none: .50 for LSTM and .40 for MLP; lin: .30 with Tanh, .25 with Dot
    assert found[3].effect == pytest.approx(0.275 - 0.45, abs=0.004)
    assert (found[3].n, found[3].trainings, found[3].texts) == (4 * 3 * TEXTS, 4 * 3, TEXTS)
    assert (found[4].effect, found[4].case) == (pytest.approx(0.275 - 0.40, abs=0.004), "MLP")
    assert found[6].effect == pytest.approx(0.10, abs=0.004)
    assert found[7].effect == pytest.approx(0.0, abs=0.004)
    assert (found[9].effect, found[9].trainings, found[9].texts) == (1.0, 12, TEXTS)
    assert (found[10].effect, found[10].trainings) == (1.0, 12)
    assert found[13].effect == pytest.approx(0.005 - 0.02, abs=0.003)


def test_sizes_are_against_the_papers_tables():
    """Table 4 has .17 and .21 with Lin-TaSc, .32 and .41 without: -.175 over both attentions."""
    found = judged(frame(paper_like), only=(3, 5, 6))
    assert (found[3].paper_effect, found[3].size) == (pytest.approx(-0.175), "as large")
    assert found[5].paper_effect == pytest.approx((11.8 - 8.2) - (14.0 - 11.7))
    assert (found[5].size, found[6].size) == ("larger", "no printed value")
    weak = judged(frame(lambda e, a, v, r: 0.4 if v == "lin" else 0.42), only=[3])
    assert (weak[3].verdict, weak[3].size) == ("reproduced", "smaller")
    one = frame(paper_like)
    tanh = numbers.paper4(results(one[one["attention"] == "additive"]))
    assert tanh.value == pytest.approx(0.17 - 0.32), "of the attentions of the run"


def test_what_was_not_measured_is_not_tested():
    found = judged(frame(paper_like, encoders=("mlp",)), only=(6, 7, 11, 12))
    for k in (6, 7, 11, 12):
        assert (found[k].verdict, found[k].n) == ("not tested", 0)
    few = judged(frame(paper_like, texts=6))
    assert {few[k].verdict for k in range(2, 20)} == {"not tested"}
    assert "6 test texts" in few[3].note


def test_where_nothing_was_learned_there_is_nothing_to_judge():
    told = labels(0.88)
    told.loc[told["encoder"] == "mlp", "prediction"] = "no"
    claim = judged(frame(paper_like), told, only=[1])[1]
    assert (claim.verdict, claim.case) == ("reproduced", "Lin-TaSc, LSTM")
    broken = labels(0.88)
    broken.loc[(broken["encoder"] == "mlp") & (broken["variant"] == "lin"), "prediction"] = "no"
    assert judged(frame(paper_like), broken, only=[1])[1].verdict == "not reproduced", "TaSc broke the model"
    nothing = judged(frame(paper_like), told.assign(prediction="no"))
    assert {claim.verdict for claim in nothing.values()} == {"not tested"}


def test_cases_are_counted_in_every_training():
    """Lin-TaSc helps by ∇α and α∇α and harms by α, but for one training in which it harms by α∇α as well."""

    def helps_gradients(encoder, attention, variant, importance):
        return 0.4 if variant == "none" else 0.5 if importance == "alpha" else 0.2

    flips = frame(helps_gradients)
    exception = (flips["encoder"] == "mlp") & (flips["attention"] == "dot") & (flips["seed"] == 2)
    flips.loc[exception & (flips["importance"] == "alpha_grad") & (flips["variant"] == "lin"), "value"] = 0.9
    found = judged(flips, only=(14, 15, 18))
    means = flips[flips["metric"] == FRACTION].groupby(["encoder", "attention", "seed", "importance", "variant"])
    means = means["value"].mean()
    shares = [
        np.mean([means[e, a, s, r, "lin"] < means[e, a, s, r, "none"] for r in RANKINGS])
        for e in ("lstm", "mlp")
        for a in ("additive", "dot")
        for s in (0, 1, 2)
    ]
    claim = found[15]
    assert claim.effect == pytest.approx(np.mean(shares)) == pytest.approx(23 / 36)
    assert claim.low < 23 / 36 < claim.high < 0.9
    assert (claim.verdict, claim.size, claim.trainings, claim.texts) == ("reproduced", "smaller", 12, TEXTS)
    assert [found[k].paper_effect for k in (14, 15)] == pytest.approx([12 / 18, 17 / 18], abs=1e-5)
    assert found[18].verdict == "not tested", "one variant leads nobody"


def test_in_short_tells_what_tasc_does_to_attention_alone():
    """By α∇α Lin-TaSc helps, by α it harms: both are said."""
    flips = frame(lambda e, a, v, r: (0.6 if r == "alpha" else 0.2) if v == "lin" else 0.4, top=top_share)
    found = results(flips, labels(0.88))
    claims = judged(flips, labels(0.88), only=(1, 3, 4))
    told = numbers.answer(claims, found)
    assert claims[3].text(3) in told[1]
    assert "a **worse** explanation" in told[2]
    assert numbers.gain(FRACTION, "alpha").mean(found).text(3) in told[2]
    assert all(f"{AS_ACCURATE:g} points" in text for text in (numbers.CLAIMS[0].test, told[3])), "one margin, said"
    better = results(frame(paper_like, top=lambda e, a, v, r: 0.9 if v == "lin" else 0.2), labels(0.88))
    assert "a **better** explanation" in numbers.answer(claims, better)[2]


def test_a_check_fails_when_the_two_tests_disagree():
    flips = frame(paper_like)
    params = Params(variants=["none", "lin"], seeds=[0, 1, 2])
    fraction = flips["metric"] == FRACTION
    flips["value"] = np.where(fraction, 2 / 20, 0.0)
    found = results(flips, labels(0.9, texts=4))
    assert all(numbers.checks(found, params).values())
    flips.loc[flips.index[fraction][0], "value"] = 1 / 20
    wrong = [name for name, passed in numbers.checks(found, params).items() if not passed]
    assert wrong == ["the top token flips a text where the fraction is one token"]


def test_a_claim_about_bert_needs_three_trainings():
    part = frame(paper_like, encoders=("bert",), seeds=(0,))
    found = judged(pd.concat([frame(paper_like), part], ignore_index=True), only=(4, 11, 12))
    assert found[11].verdict == found[12].verdict == "not tested"
    assert found[4].verdict == "undetermined", "no encoder of the run is left out, and one training has no interval"
