"""Settings of a paper next to those of a run, read from the configs of its models.

A study keeps them in `settings.yaml`, one entry each, in the order of the table:

    - name: query of dot attention
      paper: kaiming
      source: released code, attentions.py
      ours: model.dot_init
      where: {model.attention: dot}

`ours` is a place: where a model's value stands in its `FitSpec`, or a measure's in its `MeasureSpec`
(`params.ig_steps`); it may begin with a fact, a function that `FACTS`, here or in the study's `grid.py`, names. A
value that is not the same for all models is

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
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import pandas as pd
import yaml

from attnlib.store.specs import FitSpec, MeasureSpec, Run
from attnlib.utils.errors import ConfigError

COLUMNS = ["setting", "paper", "source", "ours", "differs", "flipped"]
Facts = Mapping[str, Callable[[Any], Any]]
VECTORS = {"wiki.simple": "fastText, simple English", "840B": "GloVe 840B", "mimic": "word2vec of MIMIC"}
"""What is in the name of a file of vectors, and what it holds."""
FACTS: Facts = {
    "measure": lambda run: run.task.rpartition(":")[2],
    "trained_by": lambda fit: fit.trainer.rpartition(":")[2],
    "with_vectors": lambda fit: fit.model.vectors != "none",
    "vectors": lambda fit: next((v for k, v in VECTORS.items() if k in fit.model.vectors), fit.model.vectors),
    "vectors_file": lambda fit: PurePosixPath(fit.model.vectors).name,
    "half_width": lambda fit: fit.model.width // 2,
}
"""Facts that every study may name as places."""


@dataclass(frozen=True)
class Setting:
    """One setting of a paper: an entry of `settings.yaml`.

    name    what is set, in the words of the report
    paper   the paper's value
    source  where it stands: a section, a table, a file of the released code, or "not stated" with what is assumed
    ours    where a model's (measure's) value stands, such as `model.dot_init`
    where   place -> value (or values) of the models (measures) it is about; empty: all
    of      what has the setting: a model, or a measure; `measure`: one of that name
    note    why ours differs, where it does
    flipped what the claims make of the paper's value in place of ours, where that was tried
    """

    name: str
    paper: Any
    source: str
    ours: Any
    where: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    flipped: str = ""
    of: Literal["model", "measure"] = "model"
    measure: str = ""

    def has(self, run: Run, facts: Facts) -> bool:
        """Whether the setting is about a run."""
        if not isinstance(run, MeasureSpec if self.measure or self.of == "measure" else FitSpec):
            return False
        wanted = {"measure": self.measure, **self.where} if self.measure else self.where
        return all(_at(at, run, facts) in (v if isinstance(v, list) else [v]) for at, v in wanted.items())

    def values(self, run: Run, facts: Facts) -> tuple[Any, Any]:
        """The paper's value for a run, and the run's own."""
        ours = _value({"at": self.ours} if isinstance(self.ours, str) else self.ours, run, facts)
        return _plain(_value(self.paper, run, facts, ours)), _plain(ours)


def read_settings(folder: Path) -> list[Setting]:
    """The settings of a study, from the `settings.yaml` in its folder."""
    file = folder / "settings.yaml"
    if not file.is_file():
        raise ConfigError(f"Study {folder.name!r} has no {file.name}, so there are no settings to compare with.")
    return [Setting(**row) for row in yaml.safe_load(file.read_text(encoding="utf-8"))]


def _value(told: Any, run: Run, facts: Facts, ours: Any = None) -> Any:
    """What an entry of `settings.yaml` tells of a run; `ours`: what the run has, where the paper's is asked for."""
    if not isinstance(told, Mapping):
        return told
    if "is" in told:
        return told["is"]
    if "one of" in told:
        return ours if ours in told["one of"] else told["one of"]
    if "by" in told:
        case = _at(told["by"], run, facts)
        return _value(told[case if case in told else "other"], run, facts, ours)
    try:
        found = _at(told["at"], run, facts)
    except KeyError:
        if "or" not in told:
            raise
        found = None
    return _value(told["or"], run, facts, ours) if found is None and "or" in told else found


def _at(place: str, run: Run, facts: Facts) -> Any:
    """What stands at a place, such as `model.dot_init`; the first part may be a fact."""
    first, *rest = place.split(".")
    return reduce(_part, rest, facts[first](run) if first in facts else _part(run, first))


def _part(whole: Any, name: str) -> Any:
    return whole[name] if isinstance(whole, Mapping) else getattr(whole, name)


def settings_table(
    settings: Iterable[Setting],
    runs: Iterable[Run],
    facts: Facts | None = None,
    papers: Callable[[Run], bool] | None = None,
) -> pd.DataFrame:
    """One row per setting that some run has: the paper's value, its source, ours.

    `differs` is empty where all have the paper's value; otherwise it gives the reason, or says that there is
    none. Where they differ among themselves, each value is listed once, the most frequent first. `flipped` is there
    where a deviation has been tried with the paper's value.

    facts   name of a place -> function of a model or measure; papers: which of them the settings are about
    """
    facts = {**FACTS, **(facts or {})}
    every = [run for run in dict.fromkeys(_every(runs)) if papers is None or papers(run)]
    rows = []
    for setting in settings:
        if pairs := [setting.values(run, facts) for run in every if setting.has(run, facts)]:
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
