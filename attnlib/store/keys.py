"""The key of a run: the name of its result in the store.

It is the SHA-256 of everything the result depends on: the configs, the fingerprint of the data, the contents of
files that configs point to, the parameters, the code (see `attnlib.store.codehash`) and the keys of the models it
needs.
Where it runs is not part of it: neither the device nor the executor.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from attnlib.config import ModelConfig
from attnlib.store.codehash import code_hash
from attnlib.store.specs import Corpora, MeasureSpec, Run, canonical
from attnlib.utils.files import sha256

FORMAT = 1
"""Raised when the layout of stored entries changes."""
CONTENTS = "contents:"
"""Prefix of the hash that represents a file or folder in a run's identity."""


def key_of(run: Run, corpora: Corpora) -> str:
    """The name of a run's result in the store."""
    return hashlib.sha256(canonical(identity(run, corpora)).encode()).hexdigest()


def identity(run: Run, corpora: Corpora) -> dict[str, Any]:
    """All that a run's result depends on, as plain values."""
    parts: dict[str, Any] = {"format": FORMAT, "task": run.task, "code": code_hash(run.task)}
    parts["fits"] = [key_of(fit, corpora) for fit in run.fits]
    parts |= {"params": run.params, "data": None}
    if run.corpus is not None:  # the fingerprint covers the tokens; how new texts become tokens matters as well
        corpus = corpora[run.corpus]
        parts["data"] = [corpus.fingerprint, corpus.preprocessing.model_dump_json()]
    if isinstance(run, MeasureSpec):
        return parts
    model = run.model.model_dump(mode="json") | contents(run.model)
    train = run.train.model_dump(mode="json", exclude={"device"})
    return parts | {"model": model, "train": train, "seed": run.seed}


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
