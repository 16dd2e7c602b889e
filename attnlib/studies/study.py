"""What a paper is to the kit: a package of `attnlib.studies` with the same files as every other.

    attnlib/studies/tasc/
        __init__.py   PAPER: who, what, where
        params.py     Params: the parameters of the notebook, checked before a kernel starts
        grid.py       grid(params): what must be computed; results(params): tidy frames; FACTS: what settings name
        measures.py   what is computed on a trained model, by name, on any worker
        tables.py     frames in, frames out
        figures.py    frames in, charts out
        claims.yaml   the paper's claims (see `rules`)
        claims.py     RULES: those claims; checks(results, params): what must hold whatever the data
        settings.yaml the paper's settings, each with its source (see `settings`)

Studies are found, not listed. A sixth paper is a folder here, its printed numbers in `reference/<name>.csv`, a
notebook `NN_<name>.ipynb` and a parameter file. A folder outside the package is searched too where the variable
ATTNLIB_STUDIES names it: it holds packages like those above, and `reference/`.
"""

from __future__ import annotations

import hashlib
import os
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attnlib.studies
from attnlib.store.specs import FitSpec
from attnlib.utils.errors import ConfigError
from attnlib.utils.text import plural

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.store.grid import GridResult
    from attnlib.store.specs import Run
    from attnlib.studies.ledger import Claim, Rule
    from attnlib.studies.params import StudyParams

FILES = ("params", "grid")
"""What every study has; one without claims of its own (the quickstart) may lack the rest."""


@dataclass(frozen=True)
class Paper:
    """A paper as it is cited: `Chrysostomou & Aletras 2021`, its title, where it appeared, and a link."""

    citation: str
    title: str
    venue: str = ""
    url: str = ""


class Study:
    """A study by name. Its files are imported when they are asked for, so that checking parameters stays quick."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._file("")

    def __repr__(self) -> str:
        return f"Study({self.name!r})"

    @property
    def paper(self) -> Paper:
        """What is reproduced."""
        return self._from("", "PAPER")

    @property
    def Params(self) -> type[StudyParams]:
        """The parameters of its notebook."""
        return self._from("params", "Params")

    @property
    def rules(self) -> Sequence[Rule]:
        """The paper's claims, and how each is decided."""
        return self._from("claims", "RULES")

    @property
    def sizes(self) -> Mapping[str, Any] | None:
        """Training texts, test texts and mean words by corpus, for the forecast of corpora that are not at hand."""
        return getattr(self._file("grid"), "SIZES", None)

    def grid(self, params: StudyParams | Mapping[str, Any]) -> list[Run]:
        """Every run that the notebook needs, for its parameters or for the values of them."""
        return self._from("grid", "grid")(self.Params(**params) if isinstance(params, Mapping) else params)

    def results(self, params: StudyParams, **options: Any) -> Any:
        """Compute what the store does not hold, and gather tidy frames."""
        return self._from("grid", "results")(params, **options)

    def settings(self, params: StudyParams) -> pd.DataFrame:
        """The paper's settings next to those of the models of a run (`attnlib.studies.settings`)."""
        from attnlib.studies.settings import read_settings, settings_table

        grid = self._file("grid")
        settings = read_settings(Path(grid.__file__).parent)
        return settings_table(
            settings, self.grid(params), getattr(grid, "FACTS", {}), getattr(grid, "papers", None)
        )

    def ledger(self, results: Any, setting: str, looks: int = 1) -> list[Claim]:
        """The paper's claims judged on the results of a run; `looks`: see `ledger.judged`."""
        from attnlib.studies.ledger import ledger

        return ledger(self.rules, results, paper=self.paper.citation, setting=setting, looks=looks)

    def checks(self, results: Any, params: StudyParams) -> dict[str, bool]:
        """What must hold whatever the data: name of the check -> whether it does."""
        return self._from("claims", "checks")(results, params)

    def _from(self, file: str, name: str) -> Any:
        module = self._file(file)
        try:
            return getattr(module, name)
        except AttributeError:
            raise ConfigError(f"Study {self.name!r}: {module.__name__} has no {name!r}.") from None

    def _file(self, file: str) -> ModuleType:
        _search()
        module = f"attnlib.studies.{self.name}" + (f".{file}" if file else "")
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise ConfigError(f"Study {self.name!r} has no module {module!r}.") from None


def studies() -> list[str]:
    """The names of all studies that can be found."""
    _search()
    found = []
    for module in pkgutil.iter_modules(attnlib.studies.__path__):
        if module.ispkg and all(_has(module.name, file) for file in FILES):
            found.append(module.name)
    return sorted(found)


def study_for(notebook: str) -> Study | None:
    """The study behind a notebook: `01_tasc` -> tasc; None for a notebook that has none."""
    name = re.sub(r"^\d+_", "", notebook)
    return Study(name) if name in studies() else None


def seed_of(replicate: int, *cell: object) -> int:
    """The seed of a training, from its cell and its replicate.

    Trainings of different cells share nothing: not the initial values, not the order of batches, not the vectors of
    unknown words. What is compared within a cell (with TaSc and without; softmax and sparsemax) is given the same
    cell here, so that it shares all three and differs in the variant alone: such comparisons are paired.

    >>> seed_of(0, "sst", "lstm") == seed_of(0, "sst", "lstm") != seed_of(1, "sst", "lstm")
    True
    """
    text = "/".join(map(str, (*cell, replicate)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def replicate(k: int, *cell: object, label: Mapping[str, Any] | None = None, **spec: Any) -> FitSpec:
    """The k-th training of a cell, with the seed of that; `seed` in its frames is k. spec: as FitSpec has it."""
    return FitSpec(**spec, seed=seed_of(k, *cell), label={"seed": k, **(label or {})})


def parted(frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of the runs that are labelled with a part of the study, without that column."""
    return frame[frame["part"] == part].drop(columns="part").reset_index(drop=True)


def missing(grid: GridResult) -> list[str]:
    """What failed, one sentence per cause: the first run, how many more, and why."""
    said = []
    for told, own in grid.failures.groupby(["error", "message"], sort=False) if len(grid.failures) else ():
        more = f" and {plural(len(own) - 1, 'more run')}" if len(own) > 1 else ""
        said.append(f"**Missing:** {own['run'].iloc[0]}{more}: {': '.join(told)}")
    return said


def _has(study: str, file: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, study, f"{file}.py")) for folder in attnlib.studies.__path__)


def _search() -> None:
    """Look into the folders of ATTNLIB_STUDIES again: a notebook may name them after this package was imported."""
    for folder in filter(None, os.environ.get(attnlib.studies.VARIABLE, "").split(os.pathsep)):
        if folder not in attnlib.studies.__path__:
            attnlib.studies.__path__.append(folder)
