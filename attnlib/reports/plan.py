"""The numbered notebooks: which exist, their titles, and the parameters that a run would use.

Light on purpose: a wrong parameter is refused before anything heavy is imported.
"""

from __future__ import annotations

import hashlib
import json
import re
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
PROFILES = {
    "smoke": "the notebook's own defaults; about a minute",
    "cpu": "real text, with intervals; about ten minutes on two cores",
    "paper": "the paper's full grid, for a GPU or a cluster",
}
TAG = "parameters"


@dataclass(frozen=True)
class Notebook:
    """A notebook as it is on disk, not run."""

    name: str
    path: Path
    title: str
    parameters: dict[str, Parameter]
    """Those that the cell shows, in its order, then the others of its study."""
    options: dict[str, Any] | None = None
    """Where the cell has `options` for what it does not show: what they are there."""
    last: bool = False
    """Whether it reads the reports of others and runs after them: `"attnlib": {"last": true}` in its metadata."""


@dataclass(frozen=True)
class Plan:
    """One run that is about to happen: a notebook, a profile and all its parameters."""

    notebook: Notebook
    profile: str
    changed: dict[str, Any] = field(default_factory=dict)
    """What differs from the notebook's own defaults."""
    own: dict[str, Any] = field(default_factory=dict)
    """What differs from the profile."""
    name: str | None = None

    @property
    def folder(self) -> str:
        """Folder of the report: the profile, and what distinguishes this run from it."""
        digest = hashlib.sha256(json.dumps(self.own, sort_keys=True, default=str).encode()).hexdigest()[:6]
        apart = self.name or (digest if self.own else "")
        return f"{self.profile}-{apart}" if apart else self.profile

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
    stem = name.removesuffix(".ipynb")
    path = paths.notebooks() / f"{stem}.ipynb"
    if given.name != name or not path.is_file():
        if not names():
            raise ConfigError(
                f"There are no notebooks in {paths.notebooks()}. Set ATTNLIB_NOTEBOOKS to their folder."
            )
        raise UnknownName(unknown("notebook", name, names(), hint="`all` runs every one."))
    return path


def read(name: str, params_of: ParamsOf = lambda name: None) -> Notebook:
    """Name, title and parameters of a notebook."""
    path = find(name)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        cells, own = content["cells"], content.get("metadata", {}).get("attnlib", {})
        last = bool(own.get("last"))
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{path} is not a notebook of format 4.") from None
    tagged = [cell for cell in cells if TAG in cell.get("metadata", {}).get("tags", ())]
    if len(tagged) > 1:
        raise ConfigError(f"{path.stem}: {len(tagged)} cells carry the tag {TAG!r}; only one may.")
    params = params_of(path.stem)
    parameters = parse_cell(_source(tagged[0]), path.stem, params) if tagged else {}
    options = parameters.pop(OPTIONS).default if folds(parameters, params) else None
    return Notebook(path.stem, path, title(cells, path.stem), parameters, options, last)


def title(cells: list[dict[str, Any]], default: str) -> str:
    """The first heading of the first level, without its marks."""
    prose = "\n".join(_source(cell) for cell in cells if cell.get("cell_type") == "markdown")
    found = re.search(r"^# +(.*?)[# ]*$", prose, re.MULTILINE)
    return re.sub("[`*]", "", found[1]) if found else default


def profiles(name: str, path: Path | None = None) -> dict[str, Path | None]:
    """The profiles of a notebook and their files; smoke needs none, since it is the notebook's own defaults.

    path  of a notebook that is not one of the series: params next to its folder come first
    """
    folder = paths.params() / name
    if path is not None and (own := path.parent.parent / "params" / name).is_dir():
        folder = own
    files = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    known = {profile: files.pop(profile, None) for profile in PROFILES if profile in files or profile == "smoke"}
    return {**known, **files}


def plans(
    chosen: Sequence[str],
    profile: str,
    texts: Sequence[tuple[str, str]],
    run: str | None = None,
    params_of: ParamsOf = lambda name: None,
) -> list[Plan]:
    """Check every notebook, its parameter file and the `-p` values; all problems come in one error.

    run        a name for the run, which becomes part of its folder's name
    params_of  finds the study that gives names and types; without one they are those of the parameters cell
    """
    if run is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", run):
        raise ConfigError(f"--name takes up to 64 letters, digits, _ and -, such as my-reviews; got {run!r}.")
    wanted = list(dict.fromkeys(names() if list(chosen) == ["all"] else chosen))
    if not wanted:
        raise ConfigError(f"There are no notebooks in {paths.notebooks()}. Set ATTNLIB_NOTEBOOKS to their folder.")
    found, problems = [], []
    for name in wanted:
        try:
            found.append(_plan(read(name, params_of), profile, texts, run))
        except AttnlibError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    called = [plan.notebook.name for plan in found]
    if twice := [name for name in called if called.count(name) > 1]:
        raise ConfigError(f"Two notebooks are called {twice[0]!r} and would share a folder. Run one at a time.")
    return found


def _plan(notebook: Notebook, profile: str, texts: Sequence[tuple[str, str]], run: str | None) -> Plan:
    known = profiles(notebook.name, notebook.path)
    if profile not in known:
        where = f"Its file would be params/{notebook.name}/{profile}.yaml."
        raise UnknownName(unknown(f"profile of {notebook.name}", profile, known, hint=where))
    given = _given(known[profile], notebook.parameters)
    told = check_values(texts, notebook.parameters, notebook.name, Parameter.parse)
    defaults = {p.name: p.default for p in notebook.parameters.values()}
    changed = {name: value for name, value in (given | told).items() if value != defaults[name]}
    own = {name: value for name, value in told.items() if value != (defaults | given)[name]}
    plan = Plan(notebook, profile, changed, own, run)
    if plan.folder != profile and plan.folder in known:
        raise ConfigError(f"{notebook.name} has a profile {plan.folder!r}; choose another --name than {run!r}.")
    return plan


def _given(file: Path | None, parameters: dict[str, Parameter]) -> dict[str, Any]:
    """What a parameter file sets."""
    if file is None:
        return {}
    where = f"{file.parent.name}/{file.name}"
    try:
        values = load_yaml(file.read_bytes()) or {}
    except ConfigError as error:
        raise ConfigError(f"{where} {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must hold `name: value` lines; got a {type(values).__name__}.")
    return check_values(values.items(), parameters, where)


def copy_out(folder: Path, *, force: bool = False) -> list[Path]:
    """Copy the notebooks, their pictures and their parameter files to `folder`; returns what was written.

    A file there that differs is not overwritten unless `force`: somebody has edited it.
    """
    home = paths.notebooks().parent
    sources = [p for kind in ("notebooks", "params") for p in sorted((home / kind).rglob("*")) if p.is_file()]
    sources = [p for p in sources if not any(part.startswith(".") for part in p.relative_to(home).parts)]
    targets = {source: folder / source.relative_to(home) for source in sources}
    new = {s: t for s, t in targets.items() if not t.exists() or s.read_bytes() != t.read_bytes()}
    edited = [t for t in new.values() if t.exists()]
    if edited and not force:
        more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
        raise ConfigError(
            f"{edited[0]}{more} would be overwritten. Name another folder, or say --force to lose the changes."
        )
    for source, target in new.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    return list(new.values())


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
