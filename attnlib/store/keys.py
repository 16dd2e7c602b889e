"""The key of a run: the name of its result in the store.

It is the SHA-256 of everything the result depends on: configs, data, the contents of files that configs point to,
code (see `attnlib.store.sources`), the user's parts that the run names, and the keys of the models it needs.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.config import DataConfig
from attnlib.data.cached import content_key
from attnlib.store.sources import KIT, NoSource, Source, is_kit, source_of
from attnlib.store.specs import Corpora, MeasureSpec, Run, canonical, needed, resolve
from attnlib.utils.registry import Name, Registry

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

FORMAT = 3
"""Raised when the layout of stored entries changes."""
UNCACHED = "uncached:"
"""Prefix of what stands for a source that cannot be had: another one each time, so that nothing is found."""
DATA = "corpus"
"""The kind of the registry whose parts count by what they read."""


class Keys:
    """Keys of runs, with the code and the registered parts as they are when these are first asked for.

    known  keys that need not be made here: a worker has them from the driver
    """

    def __init__(self, corpora: Corpora | Mapping[DataConfig, Corpus], known: Mapping[Run, str] = {}) -> None:
        self.corpora = corpora
        self._keys = dict(known)
        self._tasks: dict[str, Source] = {}

    def of(self, run: Run) -> str:
        if run not in self._keys:
            self._keys[run] = hashlib.sha256(canonical(self.identity(run)).encode()).hexdigest()
        return self._keys[run]

    def identity(self, run: Run) -> dict[str, Any]:
        """All that a run's result depends on, as plain values."""
        parts: dict[str, Any] = {"format": FORMAT, "task": run.task, "code": self.code(run)}
        parts |= {"fits": [self.of(fit) for fit in run.fits], "params": run.params}
        parts["data"] = None
        if run.corpus is not None:
            corpus = self.corpora[run.corpus]
            parts["data"] = [corpus.fingerprint, corpus.preprocessing.model_dump_json()]
        if isinstance(run, MeasureSpec):
            return parts
        model = run.model.model_dump(mode="json")
        model |= {option: _contents(model[option]) for option in ("vectors", "pretrained")}
        train = run.train.model_dump(mode="json", exclude={"device"})
        return parts | {"model": model, "train": train, "seed": run.seed}

    def code(self, run: Run) -> dict[str, str]:
        """What computes it -> its hash: the kit, the task where it is not the kit's, the user's parts it names."""
        found = {"attnlib": KIT, run.task: self.task(run).digest}
        if is_kit(run.task.partition(":")[0]):
            del found[run.task]
        return found | {f"{kind} {name}": self.parts[kind, name].digest for kind, name in self.named(run)}

    def task(self, run: Run) -> Source:
        if run.task not in self._tasks:
            self._tasks[run.task] = _source(run.task, resolve(run.task))
        return self._tasks[run.task]

    @cached_property
    def parts(self) -> dict[Name, Source]:
        """The user's own among the registered parts."""
        every = {(kind, name): part for kind, held in Registry.kinds.items() for name, part in held.items()}
        found = {part: _source(f"{part[0]} {part[1]!r}", held) for part, held in every.items() if part[0] != DATA}
        return {part: source for part, source in found.items() if not source.is_kit}

    def named(self, run: Run) -> list[Name]:
        """The user's parts that a run names, in its configs or its function's code, or by way of one another."""
        said = json.dumps(run.model_dump(mode="json", exclude={"label"}))
        texts = {text for one in needed(run) for text in self.task(one).texts}
        found: set[Name] = set()
        while new := {p for p in self.parts if p[1] in texts or json.dumps(p[1]) in said} - found:
            found |= new
            texts |= {text for part in new for text in self.parts[part].texts}
        return sorted(found)


def _source(what: str, held: Any) -> Source:
    try:
        return source_of(held)
    except NoSource as missing:
        told = f"The source of {what} cannot be had: {missing}. Runs that use it are computed each time."
        warnings.warn(told, stacklevel=2)
        return Source(f"{UNCACHED}{secrets.token_hex(8)}")


def differing(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What is not the same in two identities of a run; a source that cannot be had counts as the same."""
    code = [n for n, h in there["code"].items() if here["code"].get(n) != h and not h.startswith(UNCACHED)]
    return code + [name for name in ("format", "data", "model") if there.get(name) != here.get(name)]


def _contents(value: str) -> str:
    """What an option that may name a file or a folder stands for on this machine: its contents, not its path."""
    path = Path(value).expanduser()
    if not path.is_file() and (path.name == value or not path.is_dir()):
        return value
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    sums = "".join(f"{file.relative_to(path)} {content_key(file)}\n" for file in files)
    return f"contents:{hashlib.sha256(sums.encode()).hexdigest()}"
