"""Tables as HTML: with the digits a reader needs, and without columns that say nothing."""

from __future__ import annotations

import base64
import re
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype, is_scalar

from attnlib.reports import theme

ROWS = 50
"""Rows of a table that are shown; all of them are saved."""
FOLDED = 20
"""Shown rows beyond which a table is folded under its caption."""
WIDE = 8
"""Columns from which a table is set smaller."""
P_VALUE = re.compile(r"p|p_holm|p \(.*")
"""Columns of p-values by name."""
TOGETHER = re.compile(r"\S+ \[[^\]]*\]|paper \S+ \([^)]*\)|[\d,]+( / [\d,]+)+")
"""What stays on one line of its cell: `0.41 [0.38, 0.44]`, `paper 0.43 (-0.02)` and `400 / 267 / 400`."""
NONE = ("–", "")
"""Texts that say that there is no value."""


def table_html(
    frame: pd.DataFrame,
    name: str,
    caption: str = "",
    digits: int = 3,
    folded: bool | None = None,
) -> str:
    """The first rows; what is the same in every row is said once below; the whole table for download."""
    same = silent_columns(frame)
    shown = frame.drop(columns=same).head(ROWS)
    cells = [column_cells(shown[column], digits) for column in shown]
    notes = []
    if len(frame) > len(shown):
        notes.append(f"{len(shown):,} of {len(frame):,} rows are shown.")
    firsts = [(column, cell(frame[column].iloc[0], digits)) for column in same]
    if told := [f"{column} {first}" for column, first in firsts if first not in NONE]:
        notes.append(f"The same in every row: {'; '.join(told)}.".replace("_", " "))
    right = [is_numeric_dtype(shown[column]) and not is_bool_dtype(shown[column]) for column in shown]
    return theme.fill(
        "table.html.j2",
        name=name,
        caption=caption,
        heads=[(column.replace("_", " "), side) for column, side in zip(shown, right, strict=True)],
        lines=[
            [TOGETHER.sub(lambda one: one[0].replace(" ", "\xa0"), text) for text in row]
            for row in zip(*cells, strict=True)
        ],
        notes=" ".join(notes),
        wide=len(shown.columns) >= WIDE,
        folded=len(shown) > FOLDED if folded is None else folded,
        csv=base64.b64encode(frame.to_csv(index=False).encode()).decode(),
    )


def silent_columns(frame: pd.DataFrame) -> list[str]:
    """Columns without any value, and those with the same name or count in each of three rows or more.

    Constant decimals stay: they are results. The first column stays where no other text tells the rows apart.
    """
    same = []
    for column in frame.columns if len(frame) else ():
        values = frame[column]
        constant = len(frame) > 2 and len(set(map(str, values))) == 1 and not is_float_dtype(values)
        if constant or (values.isna() | values.isin(NONE)).all():
            same.append(column)
    if not any(column not in same and not is_numeric_dtype(frame[column]) for column in frame.columns[1:]):
        same = [column for column in same if column != frame.columns[0]]
    return same


def column_cells(values: pd.Series, digits: int) -> list[str]:
    """A column as text, all its numbers in the same format."""
    if not is_float_dtype(values):
        return [cell(value, digits) for value in values]
    if P_VALUE.fullmatch(str(values.name)):
        return ["–" if pd.isna(value) else p_value(value) for value in values]
    finite = np.abs(values.to_numpy(float, na_value=np.nan))
    finite = finite[np.isfinite(finite)]
    largest = finite.max(initial=0.0)
    if largest >= 1000 or (largest > 1 and (finite == finite.round()).all()):
        digits = 0
    elif largest >= 10:
        digits = min(digits, 1)
    return [cell(value, digits) for value in values]


def p_value(p: float) -> str:
    """A p-value with two significant digits: `0.34`, `0.012`, `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def cell(value: Any, digits: int) -> str:
    """A value as a reader would write it: `12,345`, `0.123`, `yes`, and `–` where there is none."""
    if is_scalar(value) and pd.isna(value):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, Real):
        if np.isinf(value):
            return "∞" if value > 0 else "-∞"
        tiny = 0 < abs(value) < 0.5 * 10.0**-digits
        return f"{value:.1e}" if tiny and digits else f"{value:,.{digits}f}"
    return str(value)
