"""Names of corpora: ours, the papers', and which may be asked for. Measures import it, so it stands alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from attnlib.errors import unknown

KIN = {
    "aclimdb": "imdb", "imdb": "imdb", "rotten_tomatoes": "sst", "sst2": "sst", "sst": "sst", "snli": "snli",
    "stories": "babi_1", "babi": "babi_1", "babi1": "babi_1", "babi2": "babi_2", "babi3": "babi_3",
    "agnews": "ag", "ag_news": "ag", "anemia": "mimic_anemia", "diabetes": "mimic_diabetes",
}  # fmt: skip
"""Our name of a corpus, or that on the hub, to the papers', or to their nearest: rotten_tomatoes is the parent of
SST, not the same; bAbI is its task 1 where none is told."""


def kin(name: str) -> str:
    """The papers' name of a corpus, or of the nearest one they have; else its own.

    >>> kin("hub:stanfordnlp/sst2"), kin("hub:babi_qa/en-10k-qa2"), kin("babi3"), kin("mine.csv")
    ('sst', 'babi_2', 'babi_3', 'mine.csv')
    """
    if not name.startswith("hub:") or name.startswith("hub:/"):
        return KIN.get(name, name)
    parts = name.removeprefix("hub:").lower().split("/")  # OWNER/NAME/CONFIG; a corpus may be a config (glue/sst2)
    if "babi_qa" in parts:
        task = re.search(r"qa(\d+)$", parts[-1])
        return f"babi_{task[1]}" if task else KIN["babi"]
    return next((KIN[part] for part in parts if part in KIN), name)


def short(name: str) -> str:
    """A name fit for a title: of a file its stem, else the name itself."""
    return name if name.startswith("hub:") or not brought(name) else Path(name).stem


def brought(name: str) -> bool:
    """Whether the name is that of a file or of a corpus on the hub, not of a registered one."""
    return name.startswith("hub:") or "." in name or "/" in name


def check_corpora(names: Iterable[str]) -> None:
    """Refuse names that are no registered corpus, no file and not on the hub (ValueError, for parameters)."""
    from attnlib.data import corpora as known

    for name in names:
        if name not in known and not brought(name):
            raise ValueError(unknown("corpus", name, known))
