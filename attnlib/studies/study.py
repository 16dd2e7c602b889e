"""What a paper is to the kit: a package of `attnlib.studies` with the same files as every other.

    attnlib/studies/tasc/
        __init__.py   PAPER: who, what, where
        params.py     Params: the parameters of the notebook, checked before a kernel starts
        grid.py       grid(params): what must be computed; results(params): tidy frames; the study's own measures
        numbers.py    quantities; TABLES and CLAIMS, which ask for them; answer(…) of In short, checks(…)
        figures.py    FIGURES: frames in, charts out; explored(params), for the explorer

Studies are found, not listed. A sixth paper is a folder here or in one that the variable ATTNLIB_STUDIES names, its
printed numbers in `reference/<name>.csv` beside it, its settings in `reference/settings/<name>.csv`, a notebook
`NN_<name>.ipynb` and a parameter file.
"""

from __future__ import annotations

import hashlib
import os
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attnlib.studies
from attnlib.reports.plan import Plan, plans
from attnlib.store.specs import FitSpec, Run
from attnlib.utils import paths
from attnlib.utils.errors import UnknownName, unknown

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.studies.ledger import Claim, Judged
    from attnlib.studies.params import StudyParams
    from attnlib.studies.quantity import Figure, Table
    from attnlib.studies.run import Run as Ran


@dataclass(frozen=True)
class Paper:
    """A paper as it is cited: `Chrysostomou & Aletras 2021`; `corpora`: its table that describes its corpora."""

    citation: str
    url: str = ""
    corpora: int | str = ""


class Study:
    """A study by name. Its files are imported when they are asked for."""

    def __init__(self, name: str) -> None:
        if name not in studies():
            raise UnknownName(unknown("study", name, studies()))
        self.name = name

    @property
    def paper(self) -> Paper:
        """What is reproduced."""
        return self.part("", "PAPER")

    @property
    def Params(self) -> type[StudyParams]:
        """The parameters of its notebook."""
        return self.part("params", "Params")

    @property
    def numbers(self) -> ModuleType:
        """Its quantities, tables and claims."""
        return self._file("numbers")

    @property
    def claims(self) -> Sequence[Claim]:
        """The paper's claims with the ids of reports: `erasure-1`, in order or by name."""
        claims = enumerate(self.part("numbers", "CLAIMS"), start=1)
        return [replace(claim, id=f"{self.name}-{claim.id or k}") for k, claim in claims]

    @property
    def tables(self) -> dict[str, Table]:
        """Its tables by name, with the words of `NAMES` for what their cells and columns hold."""
        names = getattr(self.numbers, "NAMES", {})
        return {table.name: replace(table, names=names) for table in self.part("numbers", "TABLES")}

    @property
    def figures(self) -> dict[str, Figure]:
        """Its figures by name."""
        return {figure.name: figure for figure in self.part("figures", "FIGURES")}

    def run(self, values: Mapping[str, Any], executor: Any = None) -> Ran:
        """Check the parameters among these values, compute what is missing, gather."""
        from attnlib.reports.output import Output
        from attnlib.studies.run import Run

        output, params = Output.of(notebook_of(self.name)), self.Params.of(values)
        return Run(self, params, self.results(params, executor=executor), output)

    def grid(self, params: StudyParams | Mapping[str, Any]) -> list[Run]:
        """Every run that the notebook needs, for its parameters or for the values of them."""
        return self.part("grid", "grid")(self.Params(**params) if isinstance(params, Mapping) else params)

    def results(self, params: StudyParams, **options: Any) -> Any:
        """Compute what the store does not hold, and gather tidy frames."""
        return self.part("grid", "results")(params, **options)

    def ledger(self, results: Any, setting: str) -> list[Judged]:
        """The paper's claims judged on the results of a run."""
        from attnlib.studies.ledger import ledger

        return ledger(self.claims, results, paper=self.paper.citation, setting=setting)

    def checks(self, results: Any, params: StudyParams) -> dict[str, bool]:
        """What must hold whatever the data: name of the check -> whether it does."""
        return {name: bool(holds) for name, holds in self.part("numbers", "checks")(results, params).items()}

    def part(self, file: str, name: str) -> Any:
        """What one of its files calls by a name."""
        return getattr(self._file(file), name)

    def _file(self, file: str) -> ModuleType:
        _search()
        return import_module(f"attnlib.studies.{self.name}{file and '.'}{file}")


def study(name: str) -> Study:
    """A study by name: `al.study("erasure")`, whose `run(globals())` is what a notebook calls.

    >>> al.study("erasure").paper.citation
    'Serrano & Smith 2019'
    """
    return Study(name)


def studies() -> list[str]:
    """The names of all studies that can be found."""
    _search()
    return sorted(module.name for module in pkgutil.iter_modules(attnlib.studies.__path__) if module.ispkg)


def study_for(notebook: str) -> Study | None:
    """The study behind a notebook: `01_tasc` -> tasc; None for a notebook that has none."""
    name = re.sub(r"^\d+_", "", notebook)
    return Study(name) if name in studies() else None


def planned(notebooks: Sequence[str], profile: str = "smoke", texts: Sequence[tuple[str, str]] = ()) -> list[Plan]:
    """`reports.plan.plans` with the types and the checks of each study's `Params`."""
    return plans(notebooks, profile, texts, params_of)


def params_of(notebook: str) -> type[StudyParams] | None:
    """The `Params` of the study behind a notebook, where there is one."""
    study = study_for(notebook)
    return None if study is None else study.Params


def notebook_of(study: str) -> str:
    """The notebook of a study, `01_tasc` of tasc; its own name where no notebook has it."""
    found = sorted(file.stem for file in paths.notebooks().glob(f"[0-9]*_{study}.ipynb"))
    return found[0] if found else study


def seed_of(replicate: int, *cell: object) -> int:
    """The seed of a training, from its cell and its replicate.

    Trainings of different cells share no initial values, order of batches or vectors of unknown words. What is
    compared within a cell (with TaSc and without) shares all three: it is paired.

    >>> seed_of(0, "sst", "lstm") == seed_of(0, "sst", "lstm") != seed_of(1, "sst", "lstm")
    True
    """
    text = "/".join(map(str, (*cell, replicate)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def replicate(k: int, *cell: object, label: Mapping[str, Any] | None = None, **spec: Any) -> FitSpec:
    """The k-th training of a cell, with the seed of that; `seed` in its frames is k."""
    return FitSpec(**spec, seed=seed_of(k, *cell), label={"seed": k, **(label or {})})


def parted(frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of the runs that are labelled with a part of the study, without that column."""
    return frame[frame["part"] == part].drop(columns="part").reset_index(drop=True)


def _search() -> None:
    """Look into the folders of ATTNLIB_STUDIES, which a notebook may name late."""
    for folder in filter(None, os.environ.get(attnlib.studies.VARIABLE, "").split(os.pathsep)):
        if folder not in attnlib.studies.__path__:
            attnlib.studies.__path__.append(folder)
