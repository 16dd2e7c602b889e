"""Settings of a paper next to those of a run, read from the configs of its models.

    SETTINGS = [
        Setting("query of dot attention", "kaiming", "released code, attentions.py", "model.dot_init",
                where=lambda fit: fit.model.attention == "dot"),
        …
    ]
    settings_table(SETTINGS, grid(params))     # setting, paper, source, ours, differs

What is ours is never typed: it is what the models of the run have, so that a table cannot go stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import pandas as pd

from attnlib.store.specs import FitSpec, MeasureSpec, Run

COLUMNS = ["setting", "paper", "source", "ours", "differs"]


@dataclass(frozen=True)
class Setting:
    """One setting of a paper.

    name    what is set, in the words of the report
    paper   the paper's value, or a function that gives it for a model (where corpora or encoders differ)
    source  where it stands: a section, a table, a file of the released code, or "not stated" with what is assumed
    ours    where a model's value stands in its `FitSpec`, such as `model.dot_init`, or a function; a measure's
            in its `MeasureSpec`, such as `params.ig_steps`
    where   the models (measures) it is about; None: all
    of      what has the setting: a model, or a measure
    note    why ours differs, where it does
    """

    name: str
    paper: Any
    source: str
    ours: str | Callable[[Any], Any]
    where: Callable[[Any], bool] | None = None
    note: str = ""
    of: Literal["model", "measure"] = "model"

    def of_paper(self, run: Run) -> Any:
        """The paper's value for a run."""
        return self.paper(run) if callable(self.paper) else self.paper

    def of_run(self, run: Run) -> Any:
        """The value of a run."""
        return reduce(_part, self.ours.split("."), run) if isinstance(self.ours, str) else self.ours(run)


def settings_table(settings: Iterable[Setting], runs: Iterable[Run]) -> pd.DataFrame:
    """One row per setting that some run has: the paper's value, its source, ours.

    `differs` is empty where all have the paper's value; otherwise it gives the reason, or says that there is
    none. Where they differ among themselves, each value is listed once, the most frequent first.
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
            rows.append((setting.name, paper, setting.source, ours, "" if same else setting.note or "differs"))
    rows.sort(key=lambda row: row[-1] == "")  # deviations first, each part in the order given
    return pd.DataFrame(rows, columns=COLUMNS)


def _every(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, and the models that they need."""
    for run in runs:
        yield run
        yield from _every(run.fits)


def _part(whole: Any, name: str) -> Any:
    return whole[name] if isinstance(whole, Mapping) else getattr(whole, name)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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
