"""The numbered notebooks: which there are, what they are called, which parameters a run would use.

Light on purpose: a wrong parameter is refused before anything heavy is imported.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlib import paths
from attnlib.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.parameters import Parameter, check_texts, check_values, parse_cell

PROFILES = {
    "smoke": "the notebook's own defaults; about a minute",
    "cpu": "real signal on real text, with intervals; about ten minutes on two cores",
    "paper": "the paper's full grid, for a GPU or a cluster",
}
TAG = "parameters"


@dataclass(frozen=True)
class Notebook:
    """A notebook as it lies on disk, not run."""

    name: str
    path: Path
    title: str
    parameters: dict[str, Parameter]


@dataclass(frozen=True)
class Plan:
    """One run that is about to happen: a notebook, a profile and all its parameters."""

    notebook: Notebook
    profile: str
    changed: dict[str, Any] = field(default_factory=dict)
    """What differs from the notebook's own defaults: papermill injects this."""

    @property
    def values(self) -> dict[str, Any]:
        """Every parameter, resolved."""
        return {name: self.changed.get(name, p.default) for name, p in self.notebook.parameters.items()}


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


def read(name: str) -> Notebook:
    """Name, title and parameters of a notebook."""
    path = find(name)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{path} is not a notebook of format 4.") from None
    tagged = [cell for cell in cells if TAG in cell.get("metadata", {}).get("tags", ())]
    if len(tagged) > 1:
        raise ConfigError(f"{path.stem}: {len(tagged)} cells carry the tag {TAG!r}; one may.")
    parameters = parse_cell(_source(tagged[0]), path.stem) if tagged else {}
    return Notebook(path.stem, path, title(cells, path.stem), parameters)


def title(cells: list[dict[str, Any]], default: str) -> str:
    """The first heading of the first level, without its marks."""
    for cell in cells:
        if cell.get("cell_type") == "markdown":
            for line in _source(cell).splitlines():
                if line.startswith("# "):
                    return line[2:].strip().strip("#").strip().replace("`", "").replace("*", "")
    return default


def profiles(name: str) -> dict[str, Path | None]:
    """The profiles of a notebook and their files; smoke needs none, since it is the notebook's own defaults."""
    files = {path.stem: path for path in sorted((paths.params() / name).glob("*.yaml"))}
    known = {profile: files.pop(profile, None) for profile in PROFILES if profile in files or profile == "smoke"}
    return {**known, **files}


def plan(chosen: list[str], profile: str, texts: list[tuple[str, str]]) -> list[Plan]:
    """Check every notebook, its parameter file and the `-p` values; all problems come in one error."""
    wanted = list(dict.fromkeys(names() if chosen == ["all"] else chosen))
    if not wanted:
        raise ConfigError(f"There are no notebooks in {paths.notebooks()}. Set ATTNLIB_NOTEBOOKS to their folder.")
    plans, problems = [], []
    for name in wanted:
        try:
            plans.append(_plan(name, profile, texts))
        except AttnlibError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    return plans


def _plan(name: str, profile: str, texts: list[tuple[str, str]]) -> Plan:
    notebook = read(name)
    known = profiles(notebook.name)
    if profile not in known:
        where = f"Its file would be params/{notebook.name}/{profile}.yaml."
        raise UnknownName(unknown(f"profile of {notebook.name}", profile, known, hint=where))
    file = known[profile]
    given: dict[str, Any] = {}
    if file is not None:
        given = check_values(_yaml(file), notebook.parameters, f"{file.parent.name}/{file.name}")
    given |= check_texts(texts, notebook.parameters, notebook.name)
    defaults = {p.name: p.default for p in notebook.parameters.values()}
    return Plan(notebook, profile, {name: value for name, value in given.items() if value != defaults[name]})


def _yaml(file: Path) -> dict[Any, Any]:
    import yaml

    where = f"{file.parent.name}/{file.name}"
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where} is not YAML: {' '.join(str(error).split())}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must hold `name: value` lines; got a {type(values).__name__}.")
    keys = [key.value for key, _ in node.value]  # PyYAML itself lets the last of two win in silence
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ConfigError(f"{where} sets {', '.join(twice)} twice.")
    return values


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
