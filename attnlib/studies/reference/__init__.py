"""The papers' printed numbers, and ours beside them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd

from attnlib.utils.errors import ConfigError, UnknownName, unknown

PAPERS = ("tasc", "tying_mlm", "sparsity", "mutual_information", "erasure")
KEYS = ["dataset", "encoder", "attention", "projection", "variant", "importance", "metric"]
"""Columns that the reference tables, ours and each other join on, where they apply."""


OURS = {
    "attention": {"tanh": "additive"},
    "projection": {"gumbel_softmax": "gumbel"},
    "importance": {"word_omission": "omission"},
}
"""Where a paper's word for a thing differs from the kit's."""


@cache
def _read(paper: str) -> pd.DataFrame:
    with (files(__package__) / f"{paper}.csv").open(encoding="utf-8") as file:
        # `none` is a variant, not a missing value
        rows = pd.read_csv(
            file, dtype={"table": str, **dict.fromkeys(KEYS, str)}, keep_default_na=False, na_values=[""]
        )
    return rows.replace(OURS)


def reference(paper: str, table: str | int | None = None) -> pd.DataFrame:
    """Every number of a paper's tables, or of one: `table`, the join keys in the kit's names, `value`, `std`."""
    if paper not in PAPERS:
        raise UnknownName(unknown("paper", paper, PAPERS))
    rows = _read(paper)
    if table is not None:
        tables = list(rows["table"].unique())
        if str(table) not in tables:
            raise UnknownName(unknown(f"table of {paper}", str(table), tables))
        rows = rows[rows["table"] == str(table)]
    return rows.reset_index(drop=True)


def beside(ours: pd.DataFrame, paper: str, table: str | int) -> pd.DataFrame:
    """`ours` (join keys, value, low, high, n) with the paper's value and the difference, where the paper has one.

    Joined on the keys that this table of the paper uses and `ours` has. A row of ours that the paper lacks keeps
    NaN in `paper`; nothing of ours is lost or doubled.
    """
    printed = reference(paper, table)
    keys = [k for k in KEYS if k in ours and printed[k].notna().any()]
    if printed.duplicated(keys).any():
        needed = [k for k in KEYS if printed[k].notna().any() and k not in keys]
        raise ConfigError(
            f"Table {table} of {paper} has several values for a row of yours; add the columns {', '.join(needed)}."
        )
    joined = ours.merge(printed[[*keys, "value"]].rename(columns={"value": "paper"}), on=keys, how="left")
    joined["difference"] = joined["value"] - joined["paper"]
    return joined
