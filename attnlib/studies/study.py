"""The study behind a notebook: its parameters, and the grid of runs that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from attnlib.studies.params import StudyParams


@dataclass(frozen=True)
class Study:
    """A study by name; its modules are imported when they are needed."""

    name: str

    @property
    def Params(self) -> type[StudyParams]:
        """The checked parameters."""
        return import_module(f"attnlib.studies.{self.name}.params").Params

    @property
    def sizes(self) -> Mapping[str, Any] | None:
        """Training texts and mean words by corpus, for the forecast of corpora that are not at hand."""
        return getattr(import_module(f"attnlib.studies.{self.name}.grid"), "SIZES", None)

    def grid(self, params: StudyParams) -> Sequence[Any]:
        """What must be computed; nothing where the notebook computes by itself."""
        module = import_module(f"attnlib.studies.{self.name}.grid")
        return module.grid(params) if hasattr(module, "grid") else []


def study_for(notebook: str) -> Study | None:
    """The study behind a notebook such as `01_tasc`, or None for one without."""
    name = notebook.partition("_")[2]
    if not name.isidentifier() or find_spec(f"attnlib.studies.{name}") is None:
        return None
    return Study(name) if find_spec(f"attnlib.studies.{name}.params") else None
