"""The effects that the claims of Serrano & Smith 2019 speak of (`claims.RULES`).

Where the paper speaks of its models in general, an effect is the mean over models (data set and encoder) that
count alike; where it says "every model", there is an effect for each; where it counts models, it is their share.
Rankings of one model are compared in pairs, text by text; different encoders are trainings of their own that read
the same texts. Trainings that learned nothing decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pandas as pd

from attnlib.stats.inference import Effect, contrast, effect, exact_share
from attnlib.studies.datasets import short
from attnlib.studies.erasure.grid import MODEL, Results, common_set, compared, several
from attnlib.studies.erasure.measures import RANKINGS
from attnlib.studies.erasure.tables import GAIN, NAMES, SHARE, beyond_half, duel, model_name, removals
from attnlib.studies.learned import NOTHING
from attnlib.studies.ledger import FEWEST_TEXTS, Direction, NotTested, required
from attnlib.utils.text import percent

WITH_ENCODER = ("han_rnn", "han_conv", "flan_rnn", "flan_conv")
NOENC = ("han_noenc", "flan_noenc")
SHIFT = -0.25
"""Appendix A.3: attention mass is "shifted down by around 0.25 or more" (claims 17 and 18)."""
EMPTIED = 0.5
"""The largest share of texts that may flip only when nothing is left where the attention mass removed is compared.
Once everything is removed so is all attention, whatever the ranking: beyond one half, a model shows that and little
else (claims 17 and 18)."""
ALONE = "No text has more than one item, so there is nothing to compare."
UNSHARED = "No decision is flipped by all four rankings, so there is nothing to compare."

Cases = dict[str, Effect]


def matters_more(results: Results) -> Effect:
    """Share of texts in which the most attended item has the larger effect (ΔJS > 0)."""
    kept = _single(results)
    return _mean(kept.assign(value=(kept["delta_js"] > 0).astype(float)))


def nearly_tied(results: Results) -> Effect:
    """Of the texts in which the random item has the larger effect, the share with a Δα below the model's median."""
    kept = _single(results)
    middle = kept.groupby([*MODEL, "seed"])["delta_alpha"].transform("median")
    below = kept.assign(value=(kept["delta_alpha"] < middle).astype(float))[kept["delta_js"] < 0]
    return _mean(required(below, "No text has ΔJS < 0: the most attended item mattered more in every one."))


def flips_more(results: Results) -> Effect:
    """Share of decisions flipped by the most attended item minus share flipped by r."""
    return _gap(removals(_single(results)), "item", "top", "other")


def stays(results: Results) -> Effect:
    """Share of decisions that stay without their most attended item."""
    kept = _single(results)
    return _mean(kept.assign(value=1.0 - kept["flip_top"].astype(float)))


def first_items(results: Results, ranking: str) -> Cases:
    """Model -> share of decisions flipped by the ranking's first item minus share flipped by attention's."""
    kept = _single(results, "alpha", ranking)
    return _versus_attention(kept.assign(value=kept["flip_top"].astype(float)), ranking)


def without_encoder(results: Results) -> Cases:
    """Share of texts that at least one removal flips, without an encoder minus with one.

    A case for HAN and for FLAN on each data set, against rnn and against conv, where the run has all three; the
    paper excepts the FLANs on Yahoo.
    """
    kept = _single(results)
    kept = kept[(kept["dataset"] != "yahoo") | ~kept["encoder"].str.startswith("flan")]
    either = kept["flip_top"].astype(bool) | kept["flip_other"].astype(bool)
    names = [encoder.split("_") for encoder in kept["encoder"]]
    kept = kept.assign(
        value=either.astype(float), architecture=[a for a, _ in names], context=[c for _, c in names]
    )
    found = {}
    for (dataset, architecture), part in kept.groupby(["dataset", "architecture"], sort=False):
        for other in ("rnn", "conv") if part["context"].nunique() == 3 else ():
            name = f"{architecture.upper()} on {short(dataset)}, against {other}"
            found[name] = contrast(part, "context", "noenc", other, paired=False, bounds=GAIN)
    if not found:
        raise NotTested("No data set of this run has models with an rnn, with convolutions and without an encoder.")
    return readable(found)


def fewer_items(results: Results, a: str, b: str, encoders: Sequence[str]) -> Effect:
    """Share of items removed at the first flip by ranking a minus that by b, where all rankings flip the text."""
    return _gap(required(common_set(_fractions(results, encoders)), UNSHARED), "importance", a, b)


def wins(results: Results, *, ties: bool) -> Cases:
    """Model with an encoder -> share of texts that the gradient flips with fewer items than attention.

    Of the texts that at least one of the two flips; without `ties`, of those that one flips with fewer.
    """
    both = duel(_fractions(results, WITH_ENCODER))
    both = both if ties else both[both["faster"] + both["slower"] > 0]
    both = required(both, "Neither ranking flips a text." if ties else "Neither ranking is faster on any text.")
    return _each(both.assign(value=both["faster"]), lambda part: effect(part, bounds=SHARE))


def late_flips(results: Results) -> Effect:
    """Share of FLANrnn's first flips by attention that need more than half of the words."""
    kept = _by_attention(results, "flan_rnn")
    return _mean(kept.assign(value=beyond_half(kept["value"])))


def more_context(results: Results, more: str, less: str) -> Effect:
    """Share of words removed by attention with more context minus that with less, where both models flip."""
    kept = pd.concat([_by_attention(results, more), _by_attention(results, less)])
    both = kept.groupby(["dataset", "instance"])["encoder"].transform("nunique") == 2
    kept = required(kept[both], "No text is flipped in both models.")
    return contrast(kept, "encoder", more, less, ["dataset"], paired=False, bounds=GAIN)


def forced(results: Results, ranking: str) -> dict[tuple[str, str], float]:
    """The models that `EMPTIED` leaves out of the comparison of attention mass, with the share of their texts.

    Of the texts that all rankings flip, those that this ranking or attention flips only when nothing is left.
    """
    same = common_set(results.learned.fractions)
    both = same[same["importance"].isin((ranking, "alpha"))]
    empty = both["status"].eq("only_when_empty").groupby([both[k] for k in (*MODEL, "seed", "instance")]).any()
    shares = empty.groupby(level=MODEL, sort=False).mean()
    return shares[shares > EMPTIED].to_dict()


def less_mass(results: Results, ranking: str) -> Effect:
    """Share of models in which the ranking has removed less attention mass at the first flip, by `SHIFT`."""
    same = required(common_set(_fractions(results)), UNSHARED)
    left_out = forced(results, ranking)
    kept = same[[key not in left_out for key in same[MODEL].itertuples(index=False, name=None)]]
    names = ", ".join(f"{model_name(e)} on {short(d)} ({percent(share)})" for (d, e), share in left_out.items())
    kept = required(kept, f"Every model flips more than half of its texts only when nothing is left: {names}.")
    return most(_versus_attention(kept.assign(value=kept["mass_removed"].to_numpy(float)), ranking), "less", SHIFT)


def rarer_tails(results: Results) -> Cases:
    """Share of first flips beyond one half of the words, from one ranking to the next, in Amazon's FLANnoenc."""
    tail = several(_fractions(results))
    tail = tail[(tail["dataset"] == "amazon") & (tail["encoder"] == "flan_noenc")]
    tail = required(tail, "Amazon's FLANnoenc is not part of this run, or learned nothing.")
    tail = tail.assign(value=beyond_half(tail["value"]))
    return {step(a, b): contrast(tail, "importance", a, b, bounds=GAIN) for a, b in pairwise(RANKINGS)}


def step(a: str, b: str) -> str:
    """The name of a difference between two rankings."""
    return f"{NAMES[a]} minus {NAMES[b]}"


def most(cases: Mapping[str, Effect], direction: Direction, border: float = 0.0) -> Effect:
    """The share of models beyond the border, with exact binomial bounds.

    The lower bound counts the models whose whole interval lies beyond the border, the upper one those that may. A
    model without an interval may be anywhere.
    """
    sign, n = (1 if direction == "greater" else -1), len(cases)
    ends = [sorted((sign * found.low, sign * found.high)) for found in cases.values()]
    beyond = sum(sign * found.estimate > sign * border for found in cases.values())
    certain = sum(low > sign * border for low, _ in ends)
    possible = sum(math.isnan(high) or high > sign * border for _, high in ends)
    return replace(exact_share(beyond, n), low=exact_share(certain, n).low, high=exact_share(possible, n).high)


def readable(cases: Cases) -> Cases:
    """The cases with texts enough for a verdict; all where none has, so that the ledger says how many there are."""
    return {name: found for name, found in cases.items() if found.texts >= FEWEST_TEXTS} or cases


def _firm(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the models of one text, which would leave a mean over models no interval; all where none has two."""
    kept = frame[frame["value"].notna()]
    enough = kept.groupby(MODEL, sort=False)["instance"].transform("nunique") >= 2
    return kept[enough] if enough.any() else kept


def _mean(frame: pd.DataFrame) -> Effect:
    return effect(_firm(frame), MODEL, bounds=SHARE)


def _gap(frame: pd.DataFrame, column: str, a: str, b: str) -> Effect:
    return contrast(_firm(frame), column, a, b, MODEL, bounds=GAIN)


def _each(frame: pd.DataFrame, make: Callable[[pd.DataFrame], Effect]) -> Cases:
    """Model -> effect of its rows."""
    groups = frame.groupby(MODEL, sort=False)
    return {f"{model_name(encoder)} on {short(dataset)}": make(part) for (dataset, encoder), part in groups}


def _versus_attention(frame: pd.DataFrame, ranking: str) -> Cases:
    """Model -> mean of a ranking minus that of attention, text by text."""
    return _each(frame, lambda part: contrast(part, "importance", ranking, "alpha", bounds=GAIN))


def _single(results: Results, *rankings: str) -> pd.DataFrame:
    """Single removals by these rankings (attention), of the trainings that learned something."""
    kept = compared(_learned(results, "single"))
    return required(kept[kept["importance"].isin(rankings or ("alpha",))], ALONE)


def _fractions(results: Results, encoders: Sequence[str] = WITH_ENCODER + NOENC) -> pd.DataFrame:
    """First flips of these models, of the trainings that learned something."""
    kept = _learned(results, "fractions")
    absent = ", ".join(map(model_name, encoders))
    return required(kept[kept["encoder"].isin(encoders)], f"Not in this run, or learned nothing: {absent}.")


def _by_attention(results: Results, encoder: str) -> pd.DataFrame:
    """First flips by attention of a model."""
    kept = several(_fractions(results, [encoder]))
    kept = kept[(kept["importance"] == "alpha") & kept["value"].notna()]
    return required(kept, f"No decision of {model_name(encoder)} flips by attention.")


def _learned(results: Results, name: str) -> pd.DataFrame:
    kept = getattr(results.learned, name)
    return required(kept, NOTHING) if len(results.idle) else kept
