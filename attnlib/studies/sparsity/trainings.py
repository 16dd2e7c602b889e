"""Differences between trainings: intervals that know how few there are.

Two models that were trained apart differ by chance in training too. An interval over one or two seeds hardly sees
that chance, and decides far too often.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import contrast, with_width
from attnlib.utils.text import plural

NEEDED = 3
"""Seeds of a cell from which a difference between trainings may be decided."""
RULE = (
    f"; both sides are trainings of their own, so a cell decides nothing with fewer than {NEEDED} seeds, and its "
    "interval is widened for few seeds (Hesterberg 2015)"
)
"""What every rule on a difference between trainings adds."""
COLUMNS = ["contrast", "a", "b", "estimate", "low", "high", "n", "missing", "seeds", "silent", "note"]


def contrast_trainings(frame: pd.DataFrame, column: str, a: str, b: str, by: Sequence[str]) -> pd.DataFrame:
    """`contrast` of two trainings, with `seeds`, `silent` and `note`; paired by seed and text.

    Intervals are `stats.widened` from NEEDED seeds on, and not without width where no text differs (`with_width`).
    With fewer seeds they are those over texts and seeds, `silent` is true and `note` says why. Without a
    model of either side there is no row. There is no p: it would count texts where trainings are what is few.
    """
    if not {a, b} <= set(frame[column]):
        return pd.DataFrame(columns=[*by, *COLUMNS])
    table = contrast(frame, column, a, b, by).drop(columns=["p", "p_holm"])
    table = table.merge(_paired_seeds(frame, column, a, b, by), on=list(by), how="left")
    table["seeds"] = table["seeds"].fillna(0).astype(int)
    few = table["seeds"] < NEEDED
    bounds = stats.widened(table["estimate"], table["low"], table["high"], table["seeds"])
    for side, bound in zip(("low", "high"), bounds, strict=True):
        table[side] = table[side].where(few, bound)
    ends = table[["estimate", "low", "high"]].to_numpy(float)
    texts = table["n"] // table["seeds"].clip(lower=1)
    wide = [row[1:] if row.any() else with_width(*row, n) for row, n in zip(ends, texts, strict=True)]
    table[["low", "high"]] = np.array(wide).reshape(-1, 2)
    table["silent"] = few
    table["note"] = [f"{plural(n, 'seed')}, {NEEDED} needed" if n < NEEDED else "" for n in table["seeds"]]
    return table


def _paired_seeds(frame: pd.DataFrame, column: str, a: str, b: str, by: Sequence[str]) -> pd.DataFrame:
    """How many seeds of each cell have a text with a value on both sides."""
    real = frame[frame["value"].notna() & frame[column].isin([a, b])]
    both = real.groupby([*by, "seed", "instance"])[column].nunique().eq(2)
    seeds = both.groupby([*by, "seed"]).any().groupby(list(by)).sum()
    return seeds.rename("seeds").reset_index()
