"""Datasets of a study: their names, where their texts come from, and the papers' names for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlib.config import DataConfig

KIN = {
    "aclimdb": "imdb", "imdb": "imdb", "rotten_tomatoes": "sst", "sst2": "sst", "sst": "sst", "snli": "snli",
    "stories": "babi_1", "babi": "babi_1", "babi1": "babi_1", "babi2": "babi_2", "babi3": "babi_3",
    "agnews": "ag", "ag_news": "ag", "anemia": "mimic_anemia", "diabetes": "mimic_diabetes",
}  # fmt: skip
"""Our name of a corpus, or that on the hub, to the papers', or to their nearest: rotten_tomatoes is the parent of
SST, not the same; bAbI is its task 1 where none is told."""


class Dataset(str):
    """The name of a dataset in tables and legends, which knows where its texts come from.

    spec    as it was given: a name (`sst`), a file, `hub:NAME`, or a mapping as `data_config` takes it, perhaps
            with a `name`
    corpus  what is read: a registered name, a file or `hub:NAME`

    >>> Dataset({"corpus": "sst", "path": "data/sst"}), Dataset("data/reviews.csv")
    ('sst', 'reviews')
    """

    spec: str | dict[str, Any]
    corpus: str

    def __new__(cls, spec: str | Path | Mapping[str, Any]) -> Dataset:
        if isinstance(spec, Dataset):
            return spec
        if not isinstance(spec, str | Path | Mapping):
            raise ValueError(
                f"A corpus is a name, a path, hub:NAME or a mapping of loader options; got {spec!r} "
                f"({type(spec).__name__})."
            )
        given = spec if isinstance(spec, Mapping) else {"corpus": str(spec)}
        source = next((str(given[key]) for key in ("corpus", "path", "train") if given.get(key) is not None), None)
        if source is None:
            raise ValueError(f"A corpus needs a corpus, a path, or files for train and test; got {given!r}.")
        name = given.get("name", short(source))
        if "name" not in given and given.get("train") == source:
            from attnlib.data.readers.frames import corpus_name

            name = corpus_name(
                {part: Path(str(given[part])) for part in ("train", "dev", "test") if given.get(part)}
            )
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"The name of a dataset is a text; got {name!r}.")
        made = super().__new__(cls, name)
        made.spec, made.corpus = dict(spec) if isinstance(spec, Mapping) else str(spec), source
        return made

    def config(self, readers: Mapping[str, Mapping[str, Any]] | None = None, **defaults: Any) -> DataConfig:
        """How the texts are read; `readers`: what the study's own names for corpora stand for."""
        from attnlib.data.corpora import data_config

        own = (readers or {}).get(self.corpus)
        if own is None:
            return data_config(self.spec, defaults)
        return data_config({**(self.spec if isinstance(self.spec, dict) else {}), **own}, defaults)

    def __reduce__(self) -> tuple:
        return type(self), (self.spec,)


def kin(name: str) -> str:
    """The papers' name of a corpus, or of the nearest one they have; else its own.

    >>> kin("hub:stanfordnlp/sst2"), kin("babi3"), kin("mine.csv")
    ('sst', 'babi_3', 'mine.csv')
    """
    if not name.startswith("hub:") or name.startswith("hub:/"):
        return KIN.get(name, name)
    parts = name.removeprefix("hub:").lower().split("/")  # OWNER/NAME/CONFIG; a corpus may be a config (glue/sst2)
    return next((KIN[part] for part in parts if part in KIN), name)


def short(name: str) -> str:
    """A name fit for a title: of a file its stem, else the name itself."""
    is_file = ("." in name or "/" in name) and not name.startswith("hub:")
    return Path(name).stem or name if is_file else name
