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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pandas as pd

from attnlib.store.specs import FitSpec, Run

COLUMNS = ["setting", "paper", "source", "ours", "differs"]


@dataclass(frozen=True)
class Setting:
    """One setting of a paper.

    name    what is set, in the words of the report
    paper   the paper's value, or a function that gives it for a model (where corpora or encoders differ)
    source  where it stands: a section, a table, a file of the released code, or "not stated" with what is assumed
    ours    where a model's value stands in its `FitSpec`, such as `model.dot_init`, or a function of it
    where   the models it is about; None: all
    note    why ours differs, where it does
    """

    name: str
    paper: Any
    source: str
    ours: str | Callable[[FitSpec], Any]
    where: Callable[[FitSpec], bool] | None = None
    note: str = ""

    def of_paper(self, fit: FitSpec) -> Any:
        """The paper's value for a model."""
        return self.paper(fit) if callable(self.paper) else self.paper

    def of_model(self, fit: FitSpec) -> Any:
        """The value of a model."""
        return reduce(getattr, self.ours.split("."), fit) if isinstance(self.ours, str) else self.ours(fit)


def settings_table(settings: Iterable[Setting], runs: Iterable[Run]) -> pd.DataFrame:
    """One row per setting that some model of the runs has: the paper's value, its source, ours.

    `differs` is empty where every model has the paper's value; otherwise it gives the reason, or says that there is
    none. Where models differ among themselves, each value is listed once, the most frequent first.
    """
    fits = list(dict.fromkeys(_fits(runs)))
    rows = []
    for setting in settings:
        own = [fit for fit in fits if setting.where is None or setting.where(fit)]
        if own:
            pairs = [(_plain(setting.of_paper(fit)), _plain(setting.of_model(fit))) for fit in own]
            same = all(paper == ours for paper, ours in pairs)
            paper, ours = (_listed(values) for values in zip(*pairs, strict=True))
            rows.append((setting.name, paper, setting.source, ours, "" if same else setting.note or "differs"))
    return pd.DataFrame(rows, columns=COLUMNS)


def deviations(settings: Iterable[Setting], runs: Iterable[Run]) -> pd.DataFrame:
    """The rows of `settings_table` in which a model differs from the paper."""
    table = settings_table(settings, runs)
    return table[table["differs"] != ""].reset_index(drop=True)


def _fits(runs: Iterable[Run]) -> Iterator[FitSpec]:
    for run in runs:
        if isinstance(run, FitSpec):
            yield run
        yield from _fits(run.fits)


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
