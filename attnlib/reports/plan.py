"""The numbered notebooks: which exist, their titles, and the parameters that a run would use.

Light on purpose: a wrong parameter is refused before anything heavy is imported.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.reports.parameters import OPTIONS, Parameter, check_values, folds, load_yaml, parse_cell
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown

if TYPE_CHECKING:
    from pydantic import BaseModel

ParamsOf = Callable[[str], "type[BaseModel] | None"]
"""Name of a notebook -> the `Params` of its study (`attnlib.studies.study.params_of`)."""


@dataclass(frozen=True)
class Notebook:
    """A notebook as it is on disk, not run.

    parameters  those that the cell shows, in its order, then the others of its study
    options     where the cell has `options` for what it does not show: what they are there
    """

    name: str
    path: Path
    title: str
    parameters: dict[str, Parameter]
    options: dict[str, Any] | None = None


@dataclass(frozen=True)
class Plan:
    """One run that is about to happen: a notebook, a profile and all its parameters.

    changed  what differs from the notebook's own defaults
    own      what differs from the profile
    """

    notebook: Notebook
    profile: str
    changed: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of the report: the profile, and a digest of what distinguishes this run from it."""
        digest = hashlib.sha256(json.dumps(self.own, sort_keys=True).encode()).hexdigest()[:6]
        return f"{self.profile}-{digest}" if self.own else self.profile

    @property
    def values(self) -> dict[str, Any]:
        """Every parameter, resolved."""
        return {name: self.changed.get(name, p.default) for name, p in self.notebook.parameters.items()}

    @property
    def injected(self) -> dict[str, Any]:
        """What papermill writes after the parameters cell: what the cell does not show goes into its `options`."""
        known = self.notebook.parameters
        hidden = {name: value for name, value in self.changed.items() if not known[name].shown}
        shown = {name: value for name, value in self.changed.items() if known[name].shown}
        return shown | ({OPTIONS: (self.notebook.options or {}) | hidden} if hidden else {})


def names() -> list[str]:
    """All notebooks of the series, in order."""
    return sorted(path.stem for path in paths.notebooks().glob("[0-9][0-9]_*.ipynb"))


def find(name: str) -> Path:
    """The file of a notebook, given its name or its path."""
    given = Path(name)
    if given.suffix == ".ipynb" and given.is_file():
        return given.resolve()
    if name not in names():
        folder = f"Their folder is {paths.notebooks()} (ATTNLIB_NOTEBOOKS)."
        raise UnknownName(unknown("notebook", name, names(), hint=f"`all` runs every one. {folder}"))
    return paths.notebooks() / f"{name}.ipynb"


def read(name: str, params_of: ParamsOf = lambda name: None) -> Notebook:
    """Name, title and parameters of a notebook."""
    path = find(name)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{path} is not a notebook of format 4.") from None
    tagged = [cell for cell in cells if "parameters" in cell.get("metadata", {}).get("tags", ())]
    params = params_of(path.stem)
    parameters = parse_cell("".join(tagged[0]["source"]), path.stem, params) if tagged else {}
    options = parameters.pop(OPTIONS).default if folds(parameters, params) else None
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell.get("cell_type") == "markdown")
    heading = re.search(r"^# +(.*?)[# ]*$", prose, re.MULTILINE)
    title = re.sub("[`*]", "", heading[1]) if heading else path.stem
    return Notebook(path.stem, path, title, parameters, options)


def profiles(name: str) -> dict[str, Path | None]:
    """The profiles of a notebook and their files, in `params` next to its folder; smoke is its own defaults."""
    path = find(name)
    folder = path.parent.parent / "params" / path.stem
    return {"smoke": None, **{file.stem: file for file in sorted(folder.glob("*.yaml"))}}


def plans(
    chosen: Sequence[str],
    profile: str,
    texts: Sequence[tuple[str, str]],
    params_of: ParamsOf = lambda name: None,
) -> list[Plan]:
    """Check every notebook, its parameter file and the `-p` values; all problems come in one error.

    params_of  finds the study that gives types; without one names alone are checked
    """
    wanted = list(dict.fromkeys(names() if list(chosen) == ["all"] else chosen))
    if not wanted:
        raise ConfigError(f"There are no notebooks in {paths.notebooks()}. Set ATTNLIB_NOTEBOOKS to their folder.")
    found, problems = [], []
    for name in wanted:
        try:
            found.append(_plan(read(name, params_of), profile, texts))
        except AttnlibError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    return found


def _plan(notebook: Notebook, profile: str, texts: Sequence[tuple[str, str]]) -> Plan:
    known = profiles(str(notebook.path))
    if profile not in known:
        where = f"Its file would be params/{notebook.name}/{profile}.yaml."
        raise UnknownName(unknown(f"profile of {notebook.name}", profile, known, hint=where))
    given = _given(known[profile], notebook.parameters)
    told = check_values(texts, notebook.parameters, notebook.name, Parameter.parse)
    defaults = {p.name: p.default for p in notebook.parameters.values()}
    changed = {name: value for name, value in (given | told).items() if value != defaults[name]}
    own = {name: value for name, value in told.items() if value != (defaults | given)[name]}
    return Plan(notebook, profile, changed, own)


def _given(file: Path | None, parameters: dict[str, Parameter]) -> dict[str, Any]:
    """What a parameter file sets."""
    if file is None:
        return {}
    where = f"{file.parent.name}/{file.name}"
    values = load_yaml(file.read_bytes(), where) or {}
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must hold `name: value` lines; got a {type(values).__name__}.")
    return check_values(values.items(), parameters, where)


def copy_out(folder: Path, *, force: bool = False) -> None:
    """Copy the notebooks, their pictures and their parameter files to `folder`; with `force` over those there."""
    for source in (paths.notebooks(), paths.params()):
        target = folder / source.name
        if target.exists() and not force:
            raise ConfigError(f"{target} is there already. Name another folder, or say --force to overwrite it.")
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
