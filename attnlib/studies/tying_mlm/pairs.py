"""Two kinds of models compared: over the seeds on which both learned something, and for every weight of a loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from attnlib import stats
from attnlib.studies.f1 import idle, without
from attnlib.studies.tying_mlm.grid import REGULARISED
from attnlib.studies.tying_mlm.tables import DROPS, Resampled, difference, f1_of
from attnlib.utils.text import plural

MODEL = ["dataset", "attention", "variant", "layers", "strength", "init", "seed"]
"""The columns that tell models apart."""
SYMBOLS = {"tying": "δ", "mlm": "η"}
Pair = tuple[dict[str, Resampled], dict[str, Resampled]]


def unlearned(swaps: pd.DataFrame) -> pd.DataFrame:
    """The models that learned nothing (`f1.idle`), one row each."""
    return idle(swaps[swaps["swap"] == "trained"], MODEL)


def paired(swaps: pd.DataFrame, column: str, a: object, b: object, by: Sequence[str]) -> list[Pair]:
    """F1 and its changes of both sides of every cell that has both, over the seeds that both have."""
    pairs = []
    for _, cell in swaps[swaps[column].isin([a, b])].groupby(list(by), sort=False):
        sides = [cell[cell[column] == side] for side in (a, b)]
        seeds = set(sides[0]["seed"]) & set(sides[1]["seed"])
        if seeds:
            first, second = (f1_of(side[side["seed"].isin(seeds)]) for side in sides)
            pairs.append((first, second))
    return pairs


def gap(pairs: Iterable[Pair], metrics: Sequence[str] = DROPS) -> stats.Difference:
    """First side minus second, mean over cells and metrics, in points of F1."""
    return difference([(a[m], b[m]) for a, b in pairs for m in metrics])


def seeds_of(pairs: Iterable[Pair]) -> int:
    """How many trainings of each side the best covered cell compares."""
    return max((a["f1_trained"].seeds for a, _ in pairs), default=0)


def weight_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Each weight of a loss against base: what replaced attention costs more (`drops`) and F1 itself (`f1`).

    In points, additive attention, one layer, models that learned something, seeds that all weights have. One row
    per variant and weight, mean over the data sets that tried it. `chosen`: the weight of Table 1 on some data set.
    """
    part = swaps[(swaps["attention"] == "additive") & (swaps["layers"] == 1)]
    few = set(part.loc[~part["chosen"], "seed"]) or set(part["seed"])
    part = part[part["seed"].isin(few)]
    part = without(part, unlearned(part))
    rows = []
    for variant in REGULARISED:
        own = part[part["variant"] == variant]
        for strength in sorted(own["strength"].unique()):
            tried = own[own["strength"] == strength]
            pairs = paired(
                pd.concat([tried, part[part["variant"] == "base"]]), "variant", variant, "base", ["dataset"]
            )
            if pairs:
                row = {"variant": variant, "strength": strength, "chosen": bool(tried["chosen"].any())}
                row |= {"drops": gap(pairs).estimate, "f1": gap(pairs, ["f1_trained"]).estimate}
                rows.append(row | {"seeds": seeds_of(pairs)})
    columns = ["variant", "strength", "chosen", "drops", "f1", "seeds"]
    return pd.DataFrame(rows, columns=columns)


def about_weights(table: pd.DataFrame) -> list[str]:
    """Which weight is judged, and how far the effect depends on it: one sentence per variant."""
    return [
        f"**{variant}** minus base, change of F1 when attention is replaced. {weight_note(table, variant, 'drops')}"
        for variant in table["variant"].unique()
    ]


def weight_note(table: pd.DataFrame, variant: str, effect: str) -> str:
    """The judged weight and the range of an effect (`drops` or `f1`) over the weights tried, if there are any."""
    own = table[table["variant"] == variant]
    if own.empty:
        return ""
    symbol = SYMBOLS[variant]
    judged = ", ".join(f"{value:g}" for value in own.loc[own["chosen"], "strength"])
    said = f"Judged at {symbol} = {judged}."
    if len(own) == 1:
        return f"{said} No other weight was tried."
    low, high = own.loc[own[effect].idxmin()], own.loc[own[effect].idxmax()]
    what = "this difference" if effect == "drops" else "the difference of F1"
    return (
        f"{said} Over the weights tried, {what} runs from {low[effect]:+.1f} points ({symbol} = "
        f"{low['strength']:g}) to {high[effect]:+.1f} ({symbol} = {high['strength']:g}), additive attention, "
        f"{plural(int(own['seeds'].max()), 'seed')}."
    )
