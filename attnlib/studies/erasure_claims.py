"""Claims of Serrano & Smith 2019, each with a rule that takes its border from the paper, never from our numbers.

Where the paper speaks of its models in general, texts of all models are pooled (paired by model, seed and text);
where it says "every model", one failure refutes; where it counts models, the share of models is judged, from those
whose interval lies on the claimed side for certain to those where it may. The rules of claims 4, 11, 12, 16 and 17
were later brought closer to the paper's words, and 18 and 19 added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from attnlib.claims import Claim, judge, together
from attnlib.studies.common import claim, contrast, summarise
from attnlib.studies.erasure import PAPER, RANKINGS, Results, common_set, compared, several
from attnlib.studies.erasure_tables import MODEL, duel, model_name

WITH_ENCODER = ("han_rnn", "han_conv", "flan_rnn", "flan_conv")
NOENC = ("han_noenc", "flan_noenc")
PAR = 0.05
"""Attention is on par where it needs at most so much more of the items than the gradient (claim 10)."""
VAST = 0.8
"""A vast majority (claim 4): the "no" rows of Table 2 hold 85.6 to 90.9 % of the texts; one half is a majority."""
SHIFT = -0.25
"""Appendix A.3: attention mass is "shifted down by around 0.25 or more" (claims 17 and 18)."""
RATIO = 1.6
"""Section 5.4: the gradient is faster at least so many times as often as attention. As a share: 1.6 / 2.6."""
EMPTY = ["value", "low", "high", "n"]
NOTHING = {"estimate": np.nan, "low": np.nan, "high": np.nan, "n": 0}


def claims(found: Results, setting: str) -> list[Claim]:
    """The ledger of the study, in the order of the paper."""
    made = [*_single(found.single), *_flips(found.single), *_sets(found.fractions), *_context(found)]
    return [make(id=f"erasure-{k}", paper=PAPER, setting=setting) for k, make in enumerate(made, start=1)]


def _single(single: pd.DataFrame) -> Iterable[Callable[..., Claim]]:
    kept = compared(single)
    kept = kept[kept["importance"] == "alpha"]
    yield _mean(
        kept.assign(value=(kept["delta_js"] > 0).astype(float)),
        "greater",
        0.5,
        claim="Removing the most attended item changes the output distribution more than removing a random other.",
        where="section 4.1, Figures 3 and 7",
        test="share of texts with ΔJS > 0 is above one half",
    )
    middle = kept.groupby([*MODEL, "seed"])["delta_alpha"].transform("median")
    below = kept.assign(value=(kept["delta_alpha"] < middle).astype(float))
    yield _mean(
        below[below["delta_js"] < 0],
        "greater",
        0.5,
        claim="Where the most attended item matters less than the random one, their weights are close.",
        where="section 4.1, Figures 4 and 8",
        test="of the texts with ΔJS < 0, more than half have a Δα below their model's median",
    )


def _flips(single: pd.DataFrame) -> Iterable[Callable[..., Claim]]:
    kept = compared(single)
    alpha = kept[kept["importance"] == "alpha"]
    items = [alpha.assign(item=i, value=alpha[f"flip_{i}"].astype(float)) for i in ("top", "other")]
    yield _gap(
        pd.concat(items, ignore_index=True),
        ("item", "top", "other"),
        "greater",
        claim="Removing the most attended item flips a decision that the random item does not flip far more often "
        "than the other way round.",
        where="section 4.2, Table 2, Figure 9",
        test="share flipped by the top item minus share flipped by r is above zero",
    )
    yield _mean(
        alpha.assign(value=1.0 - alpha["flip_top"].astype(float)),
        "greater",
        VAST,
        claim="In the vast majority of texts, removing the most attended item leaves the decision as it was.",
        where="section 4.2, Table 2, Figure 9",
        test=f"share of decisions that stay is above {VAST} (Table 2: 0.86 to 0.91)",
    )
    tops = kept.assign(value=kept["flip_top"].astype(float))
    yield _every(
        _contrasts(tops, "alpha_grad", "alpha"),
        "greater",
        claim="In every model, the first item by attention times gradient flips more decisions than the most "
        "attended item.",
        where="appendix A.3, Figure 13",
        test="difference in the share of decisions flipped is above zero in each model",
    )
    yield _count(
        _contrasts(tops, "grad_alpha", "alpha"),
        "less",
        claim="In most models (14 of 24), the first item by gradient flips fewer decisions than the most attended "
        "item.",
        where="appendix A.3, Figure 12",
        test="the difference is below zero in more than half of the models",
    )


def _sets(fractions: pd.DataFrame) -> Iterable[Callable[..., Claim]]:
    same = common_set(fractions)
    coded = same[same["encoder"].isin(WITH_ENCODER)]
    shared = "mean difference of the share of items removed, on the texts that all rankings flip, is below zero"
    for name, told in (("grad_alpha", "gradient"), ("alpha_grad", "attention times gradient")):
        yield _gap(
            coded,
            ("importance", name, "alpha"),
            "less",
            claim=f"In models with encoders, removing by {told} flips decisions with fewer items than removing by "
            "attention.",
            where="section 5.4, Figures 5 and 10",
            test=shared,
        )
    yield _gap(
        same,
        ("importance", "alpha", "random"),
        "less",
        claim="Removing by attention flips decisions with fewer items than removing at random.",
        where="section 5.4, Figures 5, 6 and 10",
        test=shared,
    )
    yield _gap(
        same[same["encoder"].isin(NOENC)],
        ("importance", "alpha", "grad_alpha"),
        "less",
        PAR,
        claim="Without an encoder, attention ranks on par with the gradient or better.",
        where="section 5.6, Figure 6",
        test=f"attention needs less than {PAR:.0%} of the items more than the gradient",
    )
    both = duel(fractions[fractions["encoder"].isin(WITH_ENCODER)])
    untied = both[both["faster"] + both["slower"] > 0]
    yield _every(
        _summary(untied.assign(value=untied["faster"])),
        "greater",
        RATIO / (1 + RATIO),
        claim="In every model with an encoder, the gradient flips faster at least 1.6 times as often as attention.",
        where="section 5.4",
        test="of the texts where one is faster (a ranking that never flips is the slower), more than 1.6 / 2.6 are "
        "the gradient's, in each model",
    )
    yield _count(
        _summary(both.assign(value=both["faster"])),
        "greater",
        0.5,
        claim="In most models with encoders (10 of 16), the gradient finds a smaller flipping set for over half of "
        "the texts.",
        where="section 5.4",
        test="of the texts that at least one of the two flips, the share is above one half in more than half of "
        "the models",
    )


def _context(found: Results) -> Iterable[Callable[..., Claim]]:
    by_attention = several(found.fractions)
    by_attention = by_attention[by_attention["importance"] == "alpha"]
    late = by_attention[(by_attention["encoder"] == "flan_rnn") & by_attention["value"].notna()]
    yield _mean(
        late.assign(value=(late["value"] > 0.5).astype(float)),
        "greater",
        0.5,
        claim="In FLANrnn, flips come late: most decisions outlast the removal of half of the attended words.",
        where="section 5.5, Figure 5",
        test="by attention, more than half of the first flips come beyond one half of the words",
    )
    for more, less in (("flan_rnn", "flan_conv"), ("flan_conv", "flan_noenc")):
        yield _gap(
            by_attention,
            ("encoder", more, less),
            "greater",
            claim=f"Less context, faster flips: {model_name(more)} needs more removals than {model_name(less)}.",
            where="section 5.6, Figures 5 and 6",
            test="mean difference of the share of words removed by attention, on the same texts, is above zero",
            pair=("dataset",),
        )
    yield _every(
        _without_encoder(found.single),
        "greater",
        n_of="comparisons",
        claim="Without an encoder, removing one item (the top or the random one) flips more decisions than with an "
        "rnn or with convolutions (the FLANs on Yahoo excepted).",
        where="appendix A.2, Figure 9",
        test="difference of the share of texts that at least one of the two removals flips is above zero, to rnn "
        "and to conv, for HAN and FLAN on each data set; the effect shown is the least favourable one's",
    )
    same = common_set(found.fractions)
    mass = same.assign(value=same["mass_removed"].to_numpy(float))
    for name, told in (("grad_alpha", "gradient"), ("alpha_grad", "product")):
        yield _count(
            _contrasts(mass, name, "alpha"),
            "less",
            SHIFT,
            claim=f"In most models, the {told} ranking has removed less attention mass than attention itself at "
            f"the first flip, by {-SHIFT} or more.",
            where="appendix A.3, Figure 11",
            test=f"the mean difference, on the texts that all rankings flip, is below −{-SHIFT} in more than half "
            "of the models",
        )
    tail = several(found.fractions)
    tail = tail[(tail["dataset"] == "amazon") & (tail["encoder"] == "flan_noenc")]
    tail = tail.assign(value=(tail["value"] > 0.5).astype(float).where(tail["value"].notna()))
    steps = [_contrasts(tail, a, b) for a, b in pairwise(RANKINGS)]
    yield _every(
        pd.concat([step for step in steps if len(step)] or steps, ignore_index=True),
        "greater",
        n_of="comparisons",
        claim="In Amazon's FLANnoenc, flips beyond one half of the words grow rarer from random to attention, "
        "gradient and product (12.4, 2.8, 0.9 and 0.5 percent).",
        where="Figure 6",
        test="difference of the share of first flips beyond one half of the words is above zero at each of the "
        "three steps; the effect shown is the smallest step",
    )


def _without_encoder(single: pd.DataFrame) -> pd.DataFrame:
    """Decisions flipped by i* or r, noenc minus each other context: a row a data set, HAN or FLAN, and context.

    A context that this run lacks keeps a row of NaN: more than *any* other cannot be known then.
    """
    kept = compared(single)
    kept = kept[kept["importance"] == "alpha"]
    kept = kept[(kept["dataset"] != "yahoo") | ~kept["encoder"].str.startswith("flan")]
    either = kept["flip_top"].astype(bool) | kept["flip_other"].astype(bool)
    parts = kept["encoder"].str.partition("_")
    kept = kept.assign(value=either.astype(float), architecture=parts[0], context=parts[2])
    rows = []
    for _, part in kept.groupby(["dataset", "architecture"], sort=False):
        there = set(part["context"])
        for other in ("rnn", "conv") if "noenc" in there else ():
            row = contrast(part, "context", "noenc", other).iloc[0] if other in there else NOTHING
            rows.append({name: row[name] for name in ("low", "high", "n")} | {"value": row["estimate"]})
    return pd.DataFrame(rows, columns=EMPTY)


def _mean(frame: pd.DataFrame, direction: str, border: float, **said: str) -> Callable[..., Claim]:
    """A claim on a mean over all texts given."""
    row = NOTHING if frame.empty else summarise(frame.assign(all="all"), ["all"]).iloc[0]
    return partial(claim, row, direction, border, n_of="texts times seeds and models", **said)


def _gap(
    frame: pd.DataFrame,
    sides: tuple[str, str, str],
    direction: str,
    border: float = 0.0,
    *,
    pair: Iterable[str] = MODEL,
    **said: str,
) -> Callable[..., Claim]:
    """A claim on a paired difference between two values of a column."""
    column, a, b = sides
    there = {a, b} <= set(frame[column])
    row = contrast(frame[frame[column].isin((a, b))], column, a, b, pair=list(pair)).iloc[0] if there else NOTHING
    return partial(claim, row, direction, border, n_of="pairs of texts times seeds and models", **said)


def _summary(frame: pd.DataFrame) -> pd.DataFrame:
    return summarise(frame, MODEL) if len(frame) else pd.DataFrame(columns=EMPTY)


def _contrasts(frame: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    if not {a, b} <= set(frame["importance"]):
        return pd.DataFrame(columns=EMPTY)
    found = contrast(frame, "importance", a, b, MODEL)
    return found.assign(value=found["estimate"])


def _every(
    table: pd.DataFrame, direction: str, border: float = 0.0, n_of: str = "models", **said: str
) -> Callable[..., Claim]:
    """A claim on every model: effect and interval are those of the model that supports it least."""
    known = table[table["value"].notna()]
    if known.empty:
        return partial(claim, NOTHING, direction, border, n_of=n_of, **said)
    verdict = together(judge(row.low, row.high, direction, border) for row in table.itertuples())
    worst = known.loc[known["value"].idxmin() if direction == "greater" else known["value"].idxmax()]
    effect = {name: float(worst[name]) for name in ("low", "high")} | {"effect": float(worst["value"])}
    if n_of == "models":
        said["test"] += "; the effect shown is the least favourable model's"
    return partial(Claim, **effect, n=len(known), verdict=verdict, n_of=n_of, **said)


def _count(table: pd.DataFrame, direction: str, border: float = 0.0, **said: str) -> Callable[..., Claim]:
    """A claim on most models: share of models beyond the border; low: for certain, high: perhaps."""
    table = table[table["value"].notna()]
    if table.empty:
        return partial(claim, NOTHING, "greater", 0.5, n_of="models", **said)
    sign = 1 if direction == "greater" else -1
    sides = {"effect": "value", "low": "low" if sign > 0 else "high", "high": "high" if sign > 0 else "low"}
    beyond = {name: sign * table[column] > sign * border for name, column in sides.items()}
    beyond["high"] |= table["high"].isna()  # one text gives no interval: nothing is certain, everything possible
    share = {name: float(cells.mean()) for name, cells in beyond.items()}
    said["test"] += "; low and high count the models where that is certain and where it is possible"
    return partial(
        Claim,
        **share,
        n=len(table),
        verdict=judge(share["low"], share["high"], "greater", 0.5),
        n_of="models",
        **said,
    )
