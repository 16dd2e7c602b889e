"""The papers' printed numbers and settings, and ours next to them.

`reference/<study>.csv` has a row for each number of a paper's tables. A corpus of ours that the paper does not have
is shown next to the closest that it has (`datasets.kin`).

`reference/settings/<study>.csv` has a row for each setting that the paper or its code states: `setting`, `paper`,
`ours`, `why`, `source`. `ours` is the place of a value in a `FitSpec` (`model.dot_init`) or a `MeasureSpec`
(`params.texts`); or, after an equals sign, what holds for every model of the kit. `why` explains a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import attnlib.studies
from attnlib.data.preprocess import sentence_starts
from attnlib.store.specs import MeasureSpec, Run
from attnlib.studies.datasets import kin
from attnlib.utils.errors import ConfigError, UnknownName, unknown

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.studies.quantity import Quantity

KEYS = ["dataset", "encoder", "attention", "projection", "variant", "importance", "metric"]
"""Columns that the reference tables, ours and each other join on, where they apply."""
OURS = {
    "attention": {"tanh": "additive"},
    "projection": {"gumbel_softmax": "gumbel"},
    "importance": {"word_omission": "omission"},
}
"""Where a paper's word for a thing differs from the kit's."""


@dataclass(frozen=True)
class Printed:
    """The paper's effect, from its tables, and where it is printed: `Table 4, SST`."""

    value: float
    where: str


def reference(study: str, table: str | int | None = None) -> pd.DataFrame:
    """Every number of a paper's tables, or of one: `table`, the join keys in the kit's names, `value`, `std`.

    A table that prints counts such as 20/21 keeps them as text.
    """
    return _table(study, table).copy()


@cache
def _table(study: str, table: str | int | None) -> pd.DataFrame:
    files = _files("reference")
    if study not in files:
        raise UnknownName(unknown("study with printed numbers", study, sorted(files)))
    # `none` is a variant, not a missing value
    types = {"table": str, **dict.fromkeys(KEYS, str)}
    rows = pd.read_csv(files[study], dtype=types, keep_default_na=False, na_values=[""], encoding="utf-8")
    rows = rows.replace(OURS)
    if table is not None:
        tables = list(rows["table"].unique())
        if str(table) not in tables:
            raise UnknownName(unknown(f"table of {study}", str(table), tables))
        rows = rows[rows["table"] == str(table)]
    numbers = pd.to_numeric(rows["value"], errors="coerce")
    return (rows.assign(value=numbers) if numbers.notna().all() else rows).reset_index(drop=True)


def _files(folder: str) -> dict[str, Path]:
    """Study -> its csv in that folder, next to the studies that are searched."""
    places = [Path(studies) / folder for studies in attnlib.studies.__path__]
    return {file.stem: file for place in places for file in sorted(place.glob("*.csv"))}


def printed(study: str, table: str | int, **where: str | None) -> float:
    """One printed number, or the mean of several: `printed("tasc", 4, variant="lin", importance="alpha_grad")`.

    A dataset goes by our name or the paper's; None is any. NaN where the paper prints none.
    """
    rows = _table(study, table)
    for key, value in where.items():
        if value is not None:
            rows = rows[rows[key] == (kin(value) if key == "dataset" else value)]
    return float(rows["value"].mean()) if len(rows) else float("nan")


def quoted(results: Any, study: str, metric: str, where: str) -> Printed:
    """A number that a paper gives in its text, at the section `where`."""
    return Printed(printed(study, "text", metric=metric), where)


def nearest(value: Callable[..., float], dataset: str, **where: str) -> tuple[float, str]:
    """The number of the paper's closest corpus, and its name; else the mean over its corpora."""
    own = value(dataset=dataset, **where)
    return (own, kin(dataset)) if own == own else (value(**where), "mean over its corpora")


def papers(
    study: str, table: str | int, datasets: Iterable[str], **cells: Iterable[str]
) -> tuple[pd.DataFrame, str]:
    """The rows of a paper's table for the corpora closest to these and for further cells, and how to cite them.

    Of what it has none of, all rows: a mean over them is that over its corpora, its encoders and so on.
    """
    rows, ours = reference(study, table), {kin(name) for name in datasets}
    found = [name for name in rows["dataset"].unique() if name in ours]
    for column, names in {"dataset": found, **cells}.items():
        known = rows[column].isin(list(names))
        rows = rows[known] if known.any() else rows
    return rows.dropna(axis=1, how="all"), f"Table {table}, {', '.join(found) or 'mean over its corpora'}"


def printed_gap(
    study: str, table: str | int, gap: Quantity, datasets: Iterable[str], **cells: Iterable[str]
) -> Printed:
    """A difference as a paper's table has it, mean over its cells; NaN where it lacks a side."""
    (rows, where), (column, a, b) = papers(study, table, datasets, **cells), gap.sides
    means = gap.rows(rows).groupby(column)["value"].mean()
    return Printed(means.get(a, np.nan) - means.get(b, np.nan), where)


def named(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The frame with its models, attentions, variants, rankings and tests spelled as `names` has them."""
    columns = [c for c in (*KEYS[1:-1], "test") if c in frame]
    return frame.assign(**{c: [names.get(name, name) for name in frame[c]] for c in columns})


def beside(ours: pd.DataFrame, study: str, table: str | int) -> pd.DataFrame:
    """A table of ours with the paper's value in `paper`, NaN where it prints none.

    Joined on the keys that this table of the paper uses and `ours` has; nothing of ours is lost or doubled.
    """
    theirs = reference(study, table)
    used = [k for k in KEYS if theirs[k].notna().any()]
    keys = [k for k in used if k in ours]
    if theirs.duplicated(keys).any():
        raise ConfigError(f"Table {table} of {study} tells rows apart by {', '.join(used)}; add what yours lacks.")
    looked_up = ours.assign(dataset=[kin(name) for name in ours["dataset"]]) if "dataset" in keys else ours
    found = looked_up[keys].merge(theirs[[*keys, "value"]], on=keys, how="left")
    return ours.assign(paper=found["value"].to_numpy())


def corpus_table(corpora: Mapping[str, Corpus], study: str, table: str | int) -> pd.DataFrame:
    """Sizes, mean words and |V| of corpora, next to what the paper prints of its closest one.

    Mean sentences too, where the paper's table has them.
    """
    theirs = reference(study, table).pivot_table(index="dataset", columns="metric", values="value")
    names = {"avg_words": "mean words", "avg_sentences": "mean sentences", "vocabulary": "|V|"}
    rows = []
    for name, corpus in corpora.items():
        found, twin = corpus.stats().set_index("split"), kin(name)
        known = theirs.loc[twin] if twin in theirs.index else pd.Series(dtype=float)
        row = {"dataset": name, "train / dev / test": " / ".join(f"{n:,}" for n in found["texts"])}
        row |= {"mean words": found["mean_words"]["train"], "|V|": len(corpus.vocabulary)}
        if "avg_sentences" in theirs:
            starts = [example.sentences or sentence_starts(example.tokens) for example in corpus.train]
            row["mean sentences"] = float(np.mean([len(found) for found in starts]))
        row["paper's corpus"] = twin if twin in theirs.index else "–"
        sizes = [f"{int(known[part]):,}" for part in ("train", "train_and_dev", "dev", "test") if part in known]
        row["paper: sizes"] = " / ".join(sizes) or "–"
        row |= {f"paper: {words}": known.get(metric, np.nan) for metric, words in names.items() if metric in theirs}
        rows.append(row)
    return pd.DataFrame(rows)


def settings(study: str, runs: Iterable[Run]) -> pd.DataFrame:
    """One row per setting: the paper's value, that of these runs, and where the paper's stands.

    Where models differ among themselves, each value is listed once. `why` explains a row that differs.
    """
    files = _files("reference/settings")
    if study not in files:
        raise ConfigError(f"There is no reference/settings/{study}.csv: no settings to compare with.")
    table = pd.read_csv(files[study], dtype=str, keep_default_na=False, encoding="utf-8")
    runs = list(dict.fromkeys(_with_models(runs)))
    ours = [told[1:].strip() if told.startswith("=") else _listed(told, runs) for told in table["ours"]]
    table = table.assign(ours=ours)[lambda rows: rows["ours"] != ""].reset_index(drop=True)
    return table.assign(why=table["why"].where(table["ours"] != table["paper"], ""))


def _with_models(runs: Iterable[Run]) -> Iterator[Run]:
    for run in runs:
        yield run
        yield from _with_models(run.fits)


def _listed(place: str, runs: Iterable[Run]) -> str:
    """What stands at a place of models, or (`params.NAME`) of measures, the most frequent first."""
    missing = object()

    def part(whole: Any, name: str) -> Any:
        return whole.get(name, missing) if hasattr(whole, "keys") else getattr(whole, name, missing)

    asked = [run for run in runs if isinstance(run, MeasureSpec) == place.startswith("params.")]
    found = [reduce(part, place.split("."), run) for run in asked]
    told = [_text(value) for value in found if value is not missing]
    return "; ".join(pd.Series(told, dtype=object).value_counts().index)


def _text(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
