"""Every claim of the erasure study can come out each way."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies.erasure_claims import claims
from tests.studies.erasure_frames import MODELS, firsts, singles, study

N = 40


def spread(share, yes, no):
    """`share` of N values are `yes`."""
    return [yes] * round(share * N) + [no] * (N - round(share * N))


REMOVED = {
    # of 20 items, by attention: rnn, conv, noenc
    True: {"rnn": 16, "conv": 10, "noenc": 4},
    False: {"rnn": 4, "conv": 8, "noenc": 12},
}


def cells(context: str, good: bool) -> list[tuple[bool, bool]]:
    """Whether i* and r flip. Right: i* alone, seldom, more often without an encoder. Wrong: r always, i* mostly."""
    if good:
        return spread(0.4 if context == "noenc" else 0.1, (True, False), (False, False))
    if context == "noenc":
        return spread(0.6, (True, True), (False, False))
    return spread(0.8, (True, True), (False, True))


def frames(*, good: bool):
    """A world in which the paper is right in everything, or wrong in everything."""
    single, fractions = [], []
    js = spread(0.9 if good else 0.1, 0.1, -0.01)
    alpha = spread(0.9, 0.5, 0.01) if good else spread(0.1, 0.01, 0.5)
    for encoder in MODELS:
        context = encoder.partition("_")[2]
        single += [
            singles(cells(context, good), encoder=encoder, delta_js=js, delta_alpha=alpha),
            singles([(not good, False)] * N, encoder=encoder, importance="grad_alpha"),
            singles([(good, False)] * N, encoder=encoder, importance="alpha_grad"),
        ]
        base = REMOVED[good][context]
        # The gradient is better with an encoder and no better without one; or the other way round.
        other = base - 3 if good == (context != "noenc") else base + 3
        removed = {"alpha": base, "grad_alpha": other, "alpha_grad": other, "random": base + (3 if good else -3)}
        fractions.append(firsts({k: [v] * N for k, v in removed.items()}, encoder=encoder, length=20))
    found = study(single, fractions)
    found.fractions.loc[found.fractions["importance"] == "grad_alpha", "mass_removed"] = 0.01 if good else 1.0
    return found


def test_all_claims_are_reproduced_in_a_world_that_agrees():
    made = claims(frames(good=True), "by hand")
    assert {c.id: c.verdict for c in made} == {f"erasure-{k}": "reproduced" for k in range(1, 18)}
    assert len({claim.id for claim in made}) == len(made) == 17


def test_no_claim_is_reproduced_in_a_world_that_disagrees():
    made = claims(frames(good=False), "by hand")
    assert {c.id: c.verdict for c in made if c.verdict != "not reproduced"} == {}


def test_where_nothing_can_be_measured_nothing_is_decided():
    """One model with an encoder: claims on models without one, and on others, stay open."""
    alone = study(
        [singles([(True, False)] * 10, importance=name) for name in ("alpha", "grad_alpha", "alpha_grad")],
        [firsts({n: [3] * 10 for n in ("random", "alpha", "grad_alpha", "alpha_grad")}, encoder="han_rnn")],
    )
    made = {c.id: c for c in claims(alone, "by hand")}
    for k in (2, 10, 11, 13, 14, 15, 16):
        assert (made[f"erasure-{k}"].verdict, made[f"erasure-{k}"].n) == ("undetermined", 0), k
    assert made["erasure-3"].verdict == "reproduced"


def test_one_model_refutes_a_claim_on_every_model():
    found = frames(good=True)
    rows = (found.single["encoder"] == "han_conv") & (found.single["importance"] == "alpha_grad")
    found.single.loc[rows, "flip_top"] = False
    made = {c.id: c for c in claims(found, "by hand")}
    assert made["erasure-5"].verdict == "not reproduced"
    assert made["erasure-5"].effect == pytest.approx(-0.1)


def test_a_claim_on_most_models_counts_models():
    found = frames(good=True)
    keep = found.fractions["encoder"].isin(["han_rnn", "flan_rnn"])
    slower = (found.fractions["importance"] == "grad_alpha") & keep
    found.fractions.loc[slower, "removed"] = 20
    twelfth = next(c for c in claims(found, "by hand") if c.id == "erasure-12")
    assert (twelfth.effect, twelfth.low, twelfth.high, twelfth.n) == (0.5, 0.5, 0.5, 4)
    assert twelfth.verdict == "undetermined"


def test_a_tie_is_no_win():
    found = frames(good=True)
    found.fractions["removed"] = pd.array([5] * len(found.fractions), dtype="Int64")
    made = {c.id: c for c in claims(found, "by hand")}
    assert (made["erasure-11"].n, made["erasure-11"].verdict) == (0, "undetermined")
    assert made["erasure-12"].verdict == "not reproduced"
