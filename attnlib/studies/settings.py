"""Settings of a paper next to those of a run, read from the configs of its models.

A study keeps them in `settings.yaml`, one entry each, in the order of the table:

    - name: query of dot attention
      paper: kaiming
      source: released code, attentions.py
      ours: model.dot_init
      where: {model.attention: dot}

`ours` is a place: where a model's value stands in its `FitSpec`, or a measure's in its `MeasureSpec`
(`params.ig_steps`); it may begin with a fact, a function that the study's `settings.py` (or `FACTS`) gives a name.
A value that is not the same for all models is

    {at: PLACE, or: VALUE}                    what stands there; VALUE where nothing does
    {by: PLACE, CASE: VALUE, other: VALUE}    one of several, by what stands there
    {one of: [VALUE, …]}                      (the paper's) ours where it is among them, else all of them
    {is: VALUE}                               (ours) the same for every model of the kit

A setting of measures has `measure: NAME` (those of that name) or `of: measure` (all). What is ours is never typed
where a model has it, so that a table cannot go stale. `flipped` tells what became of the claims when a deviation of
the cpu profile was set as the paper has it, alone and on a small grid: the cell, n, the effect and the verdicts
before and after; or why it was not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import pandas as pd
import yaml

from attnlib.store.specs import FitSpec, MeasureSpec, Run

COLUMNS = ["setting", "paper", "source", "ours", "differs", "flipped"]
Where = Callable[[Any], bool]
Facts = Mapping[str, Callable[[Any], Any]]
FACTS: Facts = {
    "measure": lambda run: run.task.rpartition(":")[2],
    "trained_by": lambda fit: fit.trainer.rpartition(":")[2],
    "with_vectors": lambda fit: fit.model.vectors != "none",
    "vectors_file": lambda fit: PurePosixPath(fit.model.vectors).name,
    "half_width": lambda fit: fit.model.width // 2,
}
"""Facts that every study may name as places."""


@dataclass(frozen=True)
class Setting:
    """One setting of a paper.

    name    what is set, in the words of the report
    paper   the paper's value, or a function that gives it for a model (where corpora or encoders differ)
    source  where it stands: a section, a table, a file of the released code, or "not stated" with what is assumed
    ours    where a model's (measure's) value stands, such as `model.dot_init`, or a function
    where   the models (measures) it is about; None: all
    of      what has the setting: a model, or a measure
    note    why ours differs, where it does
    flipped what the claims make of the paper's value in place of ours, where that was tried
    """

    name: str
    paper: Any
    source: str
    ours: str | Callable[[Any], Any]
    where: Where | None = None
    note: str = ""
    flipped: str = ""
    of: Literal["model", "measure"] = "model"

    def of_paper(self, run: Run) -> Any:
        """The paper's value for a run."""
        return self.paper(run) if callable(self.paper) else self.paper

    def of_run(self, run: Run) -> Any:
        """The value of a run."""
        return self.ours(run) if callable(self.ours) else _at(self.ours, run, FACTS)


def read_settings(module: str, where: Where | None = None, **facts: Callable) -> tuple[Setting, ...]:
    """The settings of `settings.yaml` next to a module (its `__file__`).

    where  models and measures that all of them are about; facts: name of a place -> function of a model or measure
    """
    rows = yaml.safe_load(Path(module).with_name("settings.yaml").read_text(encoding="utf-8"))
    return tuple(_setting(row, FACTS | facts, where) for row in rows)


def _setting(row: dict[str, Any], facts: Facts, only: Where | None) -> Setting:
    wanted, place = row.pop("where", {}), row.pop("ours")
    if "measure" in row:
        wanted, row["of"] = {"measure": row.pop("measure"), **wanted}, "measure"
    ours = partial(_value, {"at": place} if isinstance(place, str) else place, facts, None)

    def where(run: Run) -> bool:
        allowed = {name: value if isinstance(value, list) else [value] for name, value in wanted.items()}
        return (only is None or only(run)) and all(_at(name, run, facts) in allowed[name] for name in allowed)

    return Setting(**{**row, "paper": partial(_value, row["paper"], facts, ours)}, ours=ours, where=where)


def _value(told: Any, facts: Facts, ours: Callable[[Run], Any] | None, run: Run) -> Any:
    """What an entry of `settings.yaml` tells of a run; `ours`: what the run has, where the paper's is asked for."""
    if not isinstance(told, Mapping):
        return told
    if "is" in told:
        return told["is"]
    if "one of" in told:
        return own if (own := ours(run)) in told["one of"] else told["one of"]
    if "by" in told:
        case = _at(told["by"], run, facts)
        return _value(told[case if case in told else "other"], facts, ours, run)
    try:
        found = _at(told["at"], run, facts)
    except KeyError:
        if "or" not in told:
            raise
        found = None
    return _value(told["or"], facts, ours, run) if found is None and "or" in told else found


def _at(place: str, run: Run, facts: Facts) -> Any:
    """What stands at a place, such as `model.dot_init`; the first part may be a fact."""
    first, *rest = place.split(".")
    return reduce(_part, rest, facts[first](run) if first in facts else _part(run, first))


def _part(whole: Any, name: str) -> Any:
    return whole[name] if isinstance(whole, Mapping) else getattr(whole, name)


def settings_table(settings: Iterable[Setting], runs: Iterable[Run]) -> pd.DataFrame:
    """One row per setting that some run has: the paper's value, its source, ours.

    `differs` is empty where all have the paper's value; otherwise it gives the reason, or says that there is
    none. Where they differ among themselves, each value is listed once, the most frequent first. `flipped` is there
    where a deviation has been tried with the paper's value.
    """
    every = list(dict.fromkeys(_every(runs)))
    kinds = {"model": FitSpec, "measure": MeasureSpec}
    rows = []
    for setting in settings:
        own = [run for run in every if isinstance(run, kinds[setting.of])]
        own = [run for run in own if setting.where is None or setting.where(run)]
        if own:
            pairs = [(_plain(setting.of_paper(run)), _plain(setting.of_run(run))) for run in own]
            same = all(paper == ours for paper, ours in pairs)
            paper, ours = (_listed(values) for values in zip(*pairs, strict=True))
            said = ("", "") if same else (setting.note or "differs", setting.flipped)
            rows.append((setting.name, paper, setting.source, ours, *said))
    rows.sort(key=lambda row: row[COLUMNS.index("differs")] == "")  # deviations first, each part in the order given
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table if table["flipped"].any() else table.drop(columns="flipped")


def _every(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, and the models that they need."""
    for run in runs:
        yield run
        yield from _every(run.fits)


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _listed(values: Sequence[Any]) -> str:
    counts = pd.Series([_text(value) for value in values]).value_counts()
    return "; ".join(counts.index)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
