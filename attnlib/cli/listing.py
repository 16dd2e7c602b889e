"""What `attnlib list` prints: for each kind, rows of a name and its description."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml

Rows = list[tuple[str, str]]

PARTS: dict[str, dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("parts.yaml").read_text(encoding="utf-8")
)
"""Kind of a model's part -> name as in `attnlib.config` -> description; a test keeps names and configs in step."""


def corpora() -> Rows:
    """Every registered corpus with its source and what to cite."""
    from attnlib.data.corpora import corpora

    return [(n, f"{c.summary}\nsource: {c.source}\ncite: {c.citation}") for n, c in sorted(corpora.items())]


def vectors() -> Rows:
    """Every set of packaged word vectors with its source, licence and what to cite."""
    from attnlib.data.vectors import VECTORS

    return [
        (n, f"{v.summary}\nsource: by way of {v.package.pin}\nlicence: {v.licence}\ncite: {v.citation}")
        for n, v in VECTORS.items()
    ]


def importances() -> Rows:
    """Every ranking of words, and the models it applies to."""
    from attnlib.rankings.scores import METHODS

    return [(name, f"{method.summary}\nfor {method.models}") for name, method in METHODS.items()]


def notebooks() -> Rows:
    """Every notebook with its title, profiles and parameters."""
    from attnlib.reports.plan import names, profiles, read
    from attnlib.studies.study import params_of

    rows = []
    for name in names():
        notebook = read(name, params_of)
        shown = [p for p in notebook.parameters.values() if p.shown]
        lines = [f"  {p.name}: {p.type} = {p.default!r}" + (f"  # {p.comment}" if p.comment else "") for p in shown]
        rows.append((name, "\n".join([f"{notebook.title}  [{', '.join(profiles(name))}]", *lines])))
    return rows


def params(name: str) -> Rows:
    """Every parameter of a notebook, in its cell or not: type, default, comment, what profiles set instead."""
    from attnlib.reports.plan import profiles, read
    from attnlib.studies.study import params_of, planned

    notebook = read(name, params_of)
    found = {profile: planned([name], profile)[0] for profile in profiles(notebook.name)}
    rows = []
    for p in notebook.parameters.values():
        told = [f"{profile}: {one.changed[p.name]!r}" for profile, one in found.items() if p.name in one.changed]
        comment = p.comment or ("" if p.shown else "not in the cell: set by name in a parameter file or with -p")
        lines = [f"{p.type} = {p.default!r}", *([comment] if comment else []), *told]
        rows.append((p.name, "\n".join(lines)))
    return rows


def profiles() -> Rows:
    """Every size of a run, and the notebooks that have it."""
    from attnlib.reports.plan import PROFILES, names, profiles

    having = {name: list(profiles(name)) for name in names()}
    known = dict(PROFILES)
    known.update({p: "" for found in having.values() for p in found if p not in known})
    rows = []
    for profile, text in known.items():
        owners = ", ".join(name for name, found in having.items() if profile in found)
        rows.append((profile, "\n".join(part for part in (text, f"notebooks: {owners or 'none'}") if part)))
    return rows


LISTS: dict[str, Callable[[], Rows]] = {
    "corpora": corpora,
    **{kind: partial(list, parts.items()) for kind, parts in PARTS.items()},
    "vectors": vectors,
    "importances": importances,
    "notebooks": notebooks,
    "profiles": profiles,
}
