"""Settings of a paper next to those of a run, read from the configs of its models.

`reference/settings/<study>.csv` has a row for each setting that the paper or its code states: `setting`, `paper`,
`ours`, `source`. `ours` is the place where a model's value stands in its `FitSpec` (`model.dot_init`,
`train.epochs`) or a measure's in its `MeasureSpec` (`params.texts`), so that the table cannot go stale; or, after
an equals sign, what holds for every model of the kit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import attnlib.studies
from attnlib.store.specs import MeasureSpec, Run
from attnlib.utils.errors import ConfigError

if TYPE_CHECKING:
    from attnlib.studies.params import StudyParams
    from attnlib.studies.study import Deviation, Study

COLUMNS = ["setting", "paper", "ours", "differs", "source"]
NOWHERE = object()


def deviation_table(deviations: Iterable[Deviation]) -> pd.DataFrame:
    """One row per deviation: what, the paper's value, ours, why, and where the paper's stands."""
    return pd.DataFrame([asdict(one) for one in deviations]).drop(columns="setting")


def settings_table(study: Study, params: StudyParams) -> pd.DataFrame:
    """One row per setting: the paper's value, that of the models of a run, and where the paper's stands.

    Where models differ among themselves, each value is listed once. `differs` names the deviation that explains
    the row.
    """
    runs = list(dict.fromkeys(_every(study.grid(params))))
    runs = [run for run in runs if study.about(run)]
    why = {one.setting or one.what: one.what for one in study.part("", "DEVIATIONS")}
    rows = []
    for row in read_settings(study.name).itertuples(index=False):
        ours = row.ours[1:].strip() if row.ours.startswith("=") else _listed(_values(row.ours, runs))
        if ours:
            rows.append(
                (row.setting, row.paper, ours, why.get(row.setting, "") if ours != row.paper else "", row.source)
            )
    return pd.DataFrame(rows, columns=COLUMNS)


def read_settings(study: str) -> pd.DataFrame:
    """The settings of a paper as its csv has them, all as text."""
    files = [Path(folder) / "reference" / "settings" / f"{study}.csv" for folder in attnlib.studies.__path__]
    for file in files:
        if file.is_file():
            return pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8")
    raise ConfigError(f"Study {study!r} has no {files[0].name} in {files[0].parent}: no settings to compare with.")


def _every(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, and the models that they need."""
    for run in runs:
        yield run
        yield from _every(run.fits)


def _values(place: str, runs: Iterable[Run]) -> list[Any]:
    """What stands at a place of the runs that have it: `params.NAME` of measures, all else of models."""
    measured = place.startswith("params.")
    found = [_at(place, run) for run in runs if isinstance(run, MeasureSpec) == measured]
    return [value for value in found if value is not NOWHERE]


def _at(place: str, run: Run) -> Any:
    def part(whole: Any, name: str) -> Any:
        return whole.get(name, NOWHERE) if hasattr(whole, "keys") else getattr(whole, name, NOWHERE)

    return reduce(part, place.split("."), run)


def _listed(values: Sequence[Any]) -> str:
    return "; ".join(pd.Series([_text(value) for value in values], dtype=object).value_counts().index)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
