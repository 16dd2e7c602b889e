"""A quantity: one number of a study, defined once and asked for by its table, its figure and its claim.

    flips = Quantity("single", "flip_top", rows=compared)
    gap = flips.minus("importance", "alpha_grad", "alpha")

It is asked for `mean` (an effect over models that count alike), `each` (one per model), `share` (of the trainings)
and `table` (rows with intervals). What no quantity expresses is a plain function of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from attnlib.stats.inference import (
    COUNTS,
    LEVEL,
    NAN,
    Effect,
    contrast,
    contrasts,
    effect,
    effects,
    exact_share,
    interval_texts,
)
from attnlib.studies.beside import beside, named
from attnlib.studies.datasets import short
from attnlib.studies.results import NOTHING

Rows = Callable[[pd.DataFrame], pd.DataFrame]
R = TypeVar("R", bound=Sized)
SHARE = (0.0, 1.0)
"""Between what values a share lies; a difference of two lies within ± 1."""
FEWEST_TEXTS = 20
"""Test texts that a verdict needs."""
ABSENT = "The models it needs are not part of this run, or learned nothing."


class NotTested(Exception):
    """Raised by what a run cannot judge; the message is a sentence for the reader."""


def required(rows: R, why: str = "") -> R:
    """The rows that a quantity is about; without any it is not tested, and `why` says so."""
    if not len(rows):
        raise NotTested(why)
    return rows


@dataclass(frozen=True)
class Quantity:
    """One number of a study.

    frame     name of the frame of the results
    value     what a row is worth: a column, or a function of the rows
    rows      which rows, and what they look like: frame -> frame
    model     columns that tell models apart; a mean counts them alike
    bounds    the range of the values (`inference.effect`); None: open. `apart`: that of a difference of two
    unit      of the values, as readers see it; empty for shares and their like
    sides     column, a, b of a difference; `paired` where a and b share training and text
    text      column of the text; None where values are one per training
    training  column of the training; None: the models are given, and texts are the only sample
    named     key of a model -> its name in sentences
    printed   study, table and metric of the paper's numbers, which tables show next to ours; or for the metric a
              mapping of all that picks the number
    why       a sentence for a run that lacks the rows
    """

    frame: str
    value: str | Callable[[pd.DataFrame], Any] = "value"
    rows: Rows = lambda frame: frame
    model: tuple[str, ...] = ("dataset", "encoder")
    bounds: tuple[float, float] | None = SHARE
    apart: tuple[float, float] | None = None
    unit: str = ""
    sides: tuple[str, object, object] | None = None
    paired: bool = True
    text: str | None = "instance"
    training: str | None = "seed"
    named: Callable[[tuple], str] = lambda key: ", ".join(short(str(part)) for part in key)
    printed: tuple[str, str | int, str | Mapping[str, str]] | None = None
    why: str = ABSENT

    def of(self, **changes: Any) -> Quantity:
        """The same with other fields: `of(model=("dataset",), why="…")`."""
        return replace(self, **changes)

    def only(self, **columns: object | Iterable[object]) -> Quantity:
        """Of some rows alone: `only(importance="alpha")`, `only(encoder=["lstm", "gru"])`."""
        wanted = {c: list(v) if isinstance(v, list | tuple | set) else [v] for c, v in columns.items()}

        def kept(frame: pd.DataFrame) -> pd.DataFrame:
            found = self.rows(frame)
            return found[found[list(wanted)].isin(wanted).all(axis=1)] if len(found) else found

        return replace(self, rows=kept)

    def where(self, keep: Rows) -> Quantity:
        """Of what `keep` makes of its rows."""
        return replace(self, rows=lambda frame: keep(self.rows(frame)))

    def percent(self) -> Quantity:
        """The same times 100."""
        bounds = self.bounds and (100 * self.bounds[0], 100 * self.bounds[1])
        return replace(self, value=lambda frame: 100 * self._worth(frame), bounds=bounds)

    def minus(self, column: str, a: object, b: object, **changes: Any) -> Quantity:
        """The difference of the rows where `column` is a and those where it is b."""
        return replace(self, **{"sides": (column, a, b), "printed": None} | changes)

    def values(self, results: Any) -> pd.DataFrame:
        """The rows that it is about, with what each is worth in `value`; `NotTested` without any."""
        kept = self._rows(results)
        found = kept.assign(value=self._worth(kept)).dropna(subset="value")
        if self.sides is not None:
            column, a, b = self.sides
            found = found[found[column].isin([a, b])]
            for side in (a, b):
                required(found[found[column] == side], self.why)
        return required(found, self.why)

    def mean(self, results: Any) -> Effect:
        """The mean over models that count alike, without those of a single text."""
        values = self.values(results)
        if self.text is not None and self.model:
            enough = values.groupby(list(self.model), sort=False)[self.text].transform("nunique") >= 2
            values = values[enough] if enough.any() else values
        return self._effect(values, self.model)

    def each(self, results: Any, by: Sequence[str] | None = None) -> dict[str, Effect]:
        """Name of a model -> its effect; `by`: of groups of models, whose members count alike.

        Models with too few texts for a verdict are left out, unless all are; one without a value has none here.
        """
        cells, keys = () if by is None else self.model, list(by or self.model)
        known = {key: part for key, part in self.values(results).groupby(keys) if self._both(part)}
        asked = [key for key, part in self._rows(results).groupby(keys, sort=False) if self._both(part)]
        found = {self.named(k): self._effect(known[k], cells) if k in known else Effect(NAN) for k in asked}
        return {k: e for k, e in found.items() if not e.texts or e.texts >= FEWEST_TEXTS} or found

    def share(self, results: Any, border: float = 0.0, sign: int = 1) -> Effect:
        """The exact share of trainings whose mean over texts lies beyond the border (sign -1: below).

        A training counts as one of the paper's models, which hit with different probabilities: their hits vary less
        than a binomial number (Hoeffding 1956), so that the bounds of Clopper & Pearson hold for the mean over
        models. Trainings with too few texts for a verdict are left out.
        """
        values = self.values(results)
        keys = [*self.model, "seed"]
        if self.sides is not None:
            column, a, b = self.sides
            wide = values.pivot_table(index=[*keys, self.text], columns=column, values="value", sort=False)
            values = (wide[a] - wide[b]).dropna().rename("value").reset_index()
        groups = values.groupby(keys)["value"]
        means = groups.mean()[groups.size() >= FEWEST_TEXTS]
        required(means.to_frame(), f"No training has the {FEWEST_TEXTS} texts that a verdict needs.")
        return _share(int((sign * means > sign * border).sum()), len(means))

    def table(self, results: Any, by: Sequence[str] | None = None, cells: Sequence[str] = ()) -> pd.DataFrame:
        """One row per group of `by` (a model): value, low, high, counts; Holm's p of a difference."""
        values, by = self.values(results), list(by or self.model)
        if self.sides is None:
            return effects(values, by, cells, **self._sample)
        return required(contrasts(values, *self.sides, by, cells, paired=self.paired, **self._sample), self.why)

    def plain(self, results: Any, by: Sequence[str], how: str) -> pd.DataFrame:
        """One row per group of `by`: a statistic without an interval, such as `median` or `sum`."""
        return self.values(results).groupby(list(by), sort=False)["value"].agg(how).reset_index()

    def _rows(self, results: Any) -> pd.DataFrame:
        given = getattr(results, self.frame)
        if given.empty and len(getattr(results, "idle", ())):
            raise NotTested(NOTHING)
        return required(self.rows(given), self.why)

    def _worth(self, rows: pd.DataFrame) -> pd.Series:
        worth = rows[self.value] if isinstance(self.value, str) else self.value(rows)
        return pd.Series(worth, index=rows.index).astype(float)

    @property
    def _sample(self) -> dict[str, Any]:
        bounds = self.bounds
        if self.sides is not None and bounds is not None:
            bounds = self.apart or (bounds[0] - bounds[1], bounds[1] - bounds[0])
        return {"training": self.training, "text": self.text, "bounds": bounds}

    def _both(self, part: pd.DataFrame) -> bool:
        return self.sides is None or {*self.sides[1:]} <= set(part[self.sides[0]])

    def _effect(self, values: pd.DataFrame, cells: Sequence[str]) -> Effect:
        if self.sides is None:
            return effect(values, cells, **self._sample)
        return contrast(values, *self.sides, cells, paired=self.paired, **self._sample)


def _share(hits: int, trainings: int, level: float = LEVEL) -> Effect:
    """The exact share, whose variance more trainings would lower."""
    found = exact_share(hits, trainings, level)
    variance = found.estimate * (1 - found.estimate) / trainings
    return replace(found, from_trainings=variance, from_texts=0.0, again=partial(_share, hits, trainings))


Column = Quantity | tuple[Quantity, str]
"""A quantity with its interval, or with the name of a statistic that has none: `(gap, "median")`."""


@dataclass(frozen=True)
class Table:
    """A table of a study, with all that stands around it in the report.

    made       results -> frame; or quantities by column, of which one row per group of `by` is made, mean over
               `cells` that count alike
    otherwise  a sentence in place of a table without rows
    shown      the rows as readers see them; `names`: word of the kit -> the paper's, in cells and columns
    """

    name: str
    made: Callable[[Any], pd.DataFrame] | Mapping[str, Column]
    caption: str
    by: Sequence[str] = ("dataset", "encoder")
    digits: int = 2
    cells: Sequence[str] = ()
    otherwise: str = ""
    shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    names: Mapping[str, str] = field(default_factory=dict)

    def frame(self, results: Any) -> pd.DataFrame:
        """The rows, as readers see them; empty where the run has nothing to tell of."""
        try:
            found = self.made(results) if callable(self.made) else self._side_by_side(results, self.made)
        except NotTested:
            return pd.DataFrame()
        return named(self.shown(found), self.names).rename(columns=self.names) if len(found) else found

    def _side_by_side(self, results: Any, columns: Mapping[str, Column]) -> pd.DataFrame:
        """Quantities of this run as columns, one row per group, with the counts of the first that has an interval.

        What is not counted (trainings, where texts alone are a sample) has no column. Holm's p stands next to a
        difference, and what the paper prints next to ours.
        """
        by, made, counts = list(self.by), [], []
        for name, column in columns.items():
            quantity, how = column if isinstance(column, tuple) else (column, "")
            try:
                found = quantity.plain(results, by, how) if how else quantity.table(results, by, self.cells)
            except NotTested:
                continue
            made.append(found[by].assign(**{name: found["value"] if how else interval_texts(found, self.digits)}))
            if how:
                continue
            counts.append(found[[*by, *(name for name in COUNTS if found[name].any())]])
            if "p_holm" in found:
                made[-1][f"p (Holm), {name}"] = found["p_holm"]
            if quantity.printed is not None:
                study, table, where = quantity.printed
                own = {"metric": where} if isinstance(where, str) else where
                paper = beside(found[by] if "metric" in by else found[by].assign(**own), study, table)["paper"]
                if paper.notna().any():
                    made[-1][f"paper: {name}"] = paper.to_numpy()
        made += counts[:1]
        table = made[0] if made else pd.DataFrame()
        for part in made[1:]:
            table = table.merge(part, on=by, how="outer" if len(part) > len(table) else "left")
        return table.fillna({name: "–" for name in table if table[name].dtype == object})


@dataclass(frozen=True)
class Figure:
    """A figure of a study, with its caption and the kind of chart, which the caption's first sentence completes.

    drawn      results -> figure, or name -> figure where there is one for each of several corpora; None: nothing
    otherwise  a sentence in place of a figure that has nothing to show
    """

    name: str
    drawn: Callable[[Any], Any]
    caption: str
    kind: str
    otherwise: str = ""
