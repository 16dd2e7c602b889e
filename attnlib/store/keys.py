"""The key of a run: the name of its result in the store.

It is the SHA-256 of everything the result depends on: the configs, the fingerprint of the data, the contents of
files that configs point to, the parameters, the code (see `attnlib.store.sources`), the parts that a user
registered and the run names, and the keys of the models it needs.
Where it runs is not part of it: neither the device nor the executor.
"""

from __future__ import annotations

import hashlib
import secrets
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.config import ModelConfig
from attnlib.store.sources import KIT, NoSource, Source, is_kit, source_of
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run, canonical, resolve, split
from attnlib.utils.files import sha256
from attnlib.utils.registry import Name, Registry

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

FORMAT = 2
"""Raised when the layout of stored entries changes."""
CONTENTS = "contents:"
"""Prefix of the hash that represents a file or folder in a run's identity."""
UNCACHED = "uncached:"
"""Prefix of what stands for a source that cannot be had: another one each time, so that nothing is found."""
DATA = "corpus"
"""The kind of the registry whose parts count by what they read."""


class Keys:
    """Keys of runs, with the code and the registered parts as they are when these are first asked for."""

    def __init__(self, corpora: Corpora) -> None:
        self.corpora = corpora
        self.nonce = secrets.token_hex(8)
        self._keys: dict[Run, str] = {}
        self._tasks: dict[str, Source | NoSource] = {}
        self._parts: dict[Name, Source | NoSource | None] = {}
        self._told: set[str] = set()

    def of(self, run: Run) -> str:
        """The name of a run's result in the store."""
        if run not in self._keys:
            self._keys[run] = hashlib.sha256(canonical(self.identity(run)).encode()).hexdigest()
        return self._keys[run]

    def identity(self, run: Run) -> dict[str, Any]:
        """All that a run's result depends on, as plain values."""
        parts: dict[str, Any] = {"format": FORMAT, "task": run.task, "code": self.code(run)}
        parts["fits"] = [self.of(fit) for fit in run.fits]
        parts |= {"params": run.params, "data": None}
        if run.corpus is not None:
            parts["data"] = data_of(self.corpora[run.corpus])
        if isinstance(run, MeasureSpec):
            return parts
        model = run.model.model_dump(mode="json") | contents(run.model)
        train = run.train.model_dump(mode="json", exclude={"device"})
        return parts | {"model": model, "train": train, "seed": run.seed}

    def code(self, run: Run) -> dict[str, str]:
        """What computes it -> its hash: the kit, the task where it is not the kit's, the user's parts it names."""
        found = {"attnlib": KIT}
        if not is_kit(split(run.task)[0]):
            found[run.task] = self._digest(run.task, self.task(run))
        for kind, name in self.named(run):
            found[f"{kind} {name}"] = self._digest(f"{kind} {name!r}", self.part((kind, name)))
        return found

    def task(self, run: Run) -> Source | NoSource:
        """The source of a run's function."""
        if run.task not in self._tasks:
            try:
                self._tasks[run.task] = source_of(resolve(run.task))
            except NoSource as missing:
                self._tasks[run.task] = missing
        return self._tasks[run.task]

    def part(self, name: Name) -> Source | NoSource | None:
        """The source of a registered part; None for one of the kit's."""
        if name not in self._parts:
            self._parts[name] = theirs(Registry.kinds[name[0]][name[1]])
        return self._parts[name]

    @cached_property
    def _registered(self) -> dict[Name, bool]:
        """Every part that computes -> whether it is in the place of one of the kit's."""
        kinds = [(kind, held) for kind, held in Registry.kinds.items() if kind != DATA]
        return {
            (kind, name): held.first[name] is not part and theirs(held.first[name]) is None
            for kind, held in kinds
            for name, part in held.items()
        }

    def named(self, run: Run) -> list[Name]:
        """The user's parts that a run names, in its configs or its function's code, or by way of one another; and
        those in the place of one of the kit's, which anything may use."""
        texts = {*_texts(run.params)}
        if isinstance(run, FitSpec):
            texts |= {*_texts(run.model.model_dump())}
        if not is_kit(split(run.task)[0]):
            texts |= getattr(self.task(run), "texts", set())
        left, found = dict(self._registered), []
        while new := [name for name, counts in left.items() if counts or name[1] in texts]:
            for name in new:
                del left[name]
            new = [name for name in new if self.part(name) is not None]
            texts = texts.union(*(getattr(self.part(name), "texts", ()) for name in new))
            found += new
        return sorted(found)

    def _digest(self, what: str, source: Source | NoSource) -> str:
        if isinstance(source, Source):
            return source.digest
        if what not in self._told:
            self._told.add(what)
            told = f"The source of {what} cannot be had: {source}. Runs that use it are computed each time."
            warnings.warn(told, stacklevel=2)
        return f"{UNCACHED}{self.nonce}"


def data_of(corpus: Corpus) -> list[str]:
    """What a result depends on of a corpus: its texts, by their fingerprint, and how new texts become tokens."""
    return [corpus.fingerprint, corpus.preprocessing.model_dump_json()]


def key_of(run: Run, corpora: Corpora) -> str:
    """The name of a run's result in the store."""
    return Keys(corpora).of(run)


def theirs(part: Any) -> Source | NoSource | None:
    """The source of a registered part, or why it cannot be had; None for one of the kit's."""
    try:
        source = source_of(part)
    except NoSource as missing:
        return missing
    return None if source.is_kit else source


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list | tuple):
        yield from (text for part in value for text in _texts(part))


def contents(model: ModelConfig) -> dict[str, str]:
    """What options that may name a file or a folder stand for, on this machine."""
    return {option: _contents(getattr(model, option)) for option in ("vectors", "pretrained")}


def _contents(value: str) -> str:
    """A path in a config stands for the contents of its file or folder; any other name for itself."""
    path = Path(value).expanduser()
    if not path.is_absolute() and path.name == value and not path.is_file():
        return value
    if not path.exists():
        return value
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    stats = tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)
    return f"{CONTENTS}{_hash_files(stats, str(path))}"


@lru_cache(maxsize=64)
def _hash_files(stats: tuple[tuple[str, int, int], ...], root: str) -> str:
    total = hashlib.sha256()
    for name, _, _ in stats:
        total.update(f"{Path(name).relative_to(root)} {sha256(Path(name))}\n".encode())
    return total.hexdigest()
