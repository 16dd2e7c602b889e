"""Names of corpora: ours, the papers', and which may be asked for. Measures import it, so it stands alone."""

from __future__ import annotations

from collections.abc import Iterable

from attnlib.errors import unknown

KIN = {
    "aclimdb": "imdb", "hub:imdb": "imdb", "rotten_tomatoes": "sst", "stories": "babi_1",
    "agnews": "ag", "anemia": "mimic_anemia", "diabetes": "mimic_diabetes",
}  # fmt: skip
"""Our name of a corpus to the papers', or to their nearest: rotten_tomatoes is the parent of SST, not the same."""


def kin(name: str) -> str:
    """The papers' name of a corpus, or of the nearest one they have; else its own."""
    return KIN.get(name, name)


def brought(name: str) -> bool:
    """Whether the name is that of a file or of a corpus on the hub, not of a registered one."""
    return name.startswith("hub:") or "." in name or "/" in name


def check_corpora(names: Iterable[str]) -> None:
    """Refuse names that are no registered corpus, no file and not on the hub (ValueError, for parameters)."""
    from attnlib.data import corpora as known

    for name in names:
        if name not in known and not brought(name):
            raise ValueError(unknown("corpus", name, known))
