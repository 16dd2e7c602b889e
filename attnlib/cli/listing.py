"""What `attnlib list` prints: for each kind, rows of a name and its description."""

from __future__ import annotations

from collections.abc import Callable

from attnlib import config

Rows = list[tuple[str, str]]


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


def parts() -> Rows:
    """The parts of a model, as `al.ModelConfig` and the parameters of notebooks name them."""
    kinds = ("encoders", "attentions", "projections", "scalings", "regularisers")
    return [(kind, ", ".join(getattr(config, kind.upper()))) for kind in kinds]


def notebooks() -> Rows:
    """Every notebook with its title and profiles."""
    from attnlib.reports.plan import names, profiles, read

    return [(name, f"{read(name).title}\nprofiles: {', '.join(profiles(name))}") for name in names()]


def params_of(name: str) -> Rows:
    """Every parameter of a notebook, in its cell or not: default, comment, what profiles set instead."""
    from attnlib.reports.plan import profiles
    from attnlib.studies.study import planned

    found = {profile: planned([name], profile)[0] for profile in profiles(name)}
    rows = []
    for p in found["smoke"].notebook.parameters.values():
        comment = p.comment or ("" if p.shown else "not in the cell: set by name in a parameter file or with -p")
        told = [f"{profile}: {one.changed[p.name]!r}" for profile, one in found.items() if p.name in one.changed]
        rows.append((p.name, "\n".join([f"{p.default!r}  # {comment}" if comment else repr(p.default), *told])))
    return rows


LISTS: dict[str, Callable[[], Rows]] = {
    "corpora": corpora,
    "importances": importances,
    "notebooks": notebooks,
    "parts": parts,
    "vectors": vectors,
}
