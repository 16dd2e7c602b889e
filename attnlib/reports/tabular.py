"""Tables as HTML: with the digits a reader needs, and without columns that say nothing."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnlib.reports import theme

if TYPE_CHECKING:
    import pandas as pd

ROWS = 50
"""Rows of a table that are shown; all of them are saved."""
FOLDED = 20
"""Shown rows beyond which a table is folded under its caption."""
WIDE = 8
"""Columns from which a table is set smaller."""
EMBEDDED = 500_000
"""Bytes of CSV that a report carries along for download; for larger tables it names the file."""
P_VALUE = re.compile(r"p|p_holm|p \(.*")
"""Columns of p-values by name."""
TOGETHER = re.compile(r"\S+ \[[^\]]*\]|paper \S+ \([^)]*\)")
"""What stays on one line of its cell: `0.41 [0.38, 0.44]`, and `paper 0.43 (-0.02)`."""


def table_html(
    frame: pd.DataFrame,
    name: str,
    caption: str = "",
    digits: int = 3,
    rows: int = ROWS,
    keep: Sequence[str] = (),
    folded: bool | None = None,
) -> str:
    """The first `rows` rows; what is the same in every row is said once below; the whole table for download."""
    whole = with_index(frame)
    empty, constant = silent_columns(whole, keep)
    shown = whole.drop(columns=[*empty, *constant]).head(rows)
    like = _bounds(shown)
    cells = [column_cells(shown[column], digits, like.get(column)) for column in shown]
    notes = []
    if len(frame) > len(shown):
        notes.append(f"{len(shown):,} of {len(frame):,} rows are shown.")
    if constant:
        told = (f"{_heading(c)} {column_cells(whole[c].head(1), digits)[0]}" for c in constant)
        notes.append(f"The same in every row: {'; '.join(told)}.")
    if empty:
        notes.append(f"Without values here: {', '.join(map(_heading, empty))}.")
    data = csv_of(frame).encode()
    return theme.fill(
        "table.html.j2",
        name=name,
        caption=caption,
        heads=[(_heading(column), is_number(shown[column])) for column in shown],
        lines=[[TOGETHER.sub(_joined, text) for text in row] for row in zip(*cells, strict=True)],
        notes=" ".join(notes),
        wide=len(shown.columns) >= WIDE,
        folded=len(shown) > FOLDED if folded is None else folded,
        csv=base64.b64encode(data).decode() if len(data) <= EMBEDDED else "",
    )


def csv_of(frame: pd.DataFrame) -> str:
    """The whole table as CSV, with an index that says something."""
    return with_index(frame).to_csv(index=False)


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with an index that says something as columns."""
    keyed = bool(frame.index.names[0]) or frame.index.dtype == object or frame.index.nlevels > 1
    return frame.reset_index() if keyed else frame


def silent_columns(frame: pd.DataFrame, keep: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Columns without any value, and those with the same name or count in each of three rows or more.

    Those in `keep` stay, and so do constant decimals: they are results. The first column stays where no other text
    tells the rows apart.
    """
    from pandas.api.types import is_float_dtype

    empty, constant = [], []
    for column in frame.columns:
        values = frame[column]
        if column in keep or not len(values):
            continue
        if all(cell(value, 3) in ("–", "") for value in values):
            empty.append(column)
        elif len(values) > 2 and not is_float_dtype(values) and values.notna().all():
            told = values.astype(str)
            if (told == told.iloc[0]).all() and len(told.iloc[0]) <= 40:
                constant.append(column)
    first, *others = frame.columns if len(frame.columns) else [None]
    if not any(column not in (*empty, *constant) and not is_number(frame[column]) for column in others):
        empty, constant = ([column for column in found if column != first] for found in (empty, constant))
    return empty, constant


def _bounds(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of an estimate, its `low` and its `high` next to each other -> the numbers of all three."""
    import pandas as pd

    found, names = {}, list(frame.columns)
    for three in zip(names, names[1:], names[2:], strict=False):
        ends = [str(name).split(" ")[-1] for name in three]
        if ends[1:] == ["low", "high"] and all(frame[name].dtype.kind == "f" for name in three):
            found |= dict.fromkeys(three, pd.concat([frame[name] for name in three]))
    return found


def column_cells(values: pd.Series, digits: int, like: pd.Series | None = None) -> list[str]:
    """A column as text, all its numbers in the same format; `like`: those of its interval too."""
    from pandas.api.types import is_float_dtype

    if is_float_dtype(values):
        if P_VALUE.fullmatch(str(values.name)):
            return [_p(_float(value)) for value in values]
        finite = [float(v) for v in (values if like is None else like).dropna() if math.isfinite(v)]
        largest = max(map(abs, finite), default=0.0)
        if largest > 1 and all(v == int(v) for v in finite):
            return [cell(v if v != v or not math.isfinite(v) else int(v), 0) for v in map(_float, values)]
        digits = 0 if largest >= 1000 else min(digits, 1) if largest >= 10 else digits
        if values.name == "difference":  # from the paper's value: 1e-5 is none
            values = values.round(digits) + 0.0
    return [cell(value, digits) for value in values]


def p_said(p: float) -> str:
    """A p-value in a sentence.

    >>> p_said(0.044), p_said(0.0002)
    ('p = 0.044', 'p < 0.001')
    """
    text = _p(p)
    return f"p {text}" if text[0] == "<" else f"p = {text}"


def _p(p: float) -> str:
    """A p-value with two significant digits: `0.34`, `0.012`, `< 0.001`."""
    return "–" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def cell(value: Any, digits: int) -> str:
    """A value as a reader would write it: `12,345`, `0.123`, `yes`, and `–` where there is none."""
    if value is None or type(value).__name__ == "NAType" or value != value:  # NA has no truth value
        return "–"
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if isinstance(value, int) or (hasattr(value, "dtype") and value.dtype.kind in "iu"):
        return f"{int(value):,}" if abs(int(value)) >= 10_000 else str(int(value))
    if isinstance(value, float) or (hasattr(value, "dtype") and value.dtype.kind == "f"):
        number = float(value)
        tiny = number != 0 and abs(number) < 0.5 * 10.0**-digits
        if not math.isfinite(number):
            return "∞" if number > 0 else "-∞"
        if tiny:
            return f"{number:.1g}" if abs(number) >= 0.001 else f"{number:.1e}"
        return f"{number:,.{digits}f}"
    return str(value)


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\N{NO-BREAK SPACE}")


def _heading(column: Any) -> str:
    return str(column).replace("_", " ")


def is_number(values: pd.Series) -> bool:
    """Whether a column holds numbers, which stand to the right."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(values) and not is_bool_dtype(values)


def _float(value: Any) -> float:
    return float(value) if value == value and value is not None else math.nan
