"""What a worker does with a job: get the data, train, measure, and return files.

A worker needs no store and no shared disk: it returns named bytes (safetensors, JSON, parquet). It loads its
corpora itself, and refuses a run whose code, corpus or files are not those of the run's key.
"""

from __future__ import annotations

import inspect
import io
import os
import pickle
import platform
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

from attnlib.store.executors import DEVICE
from attnlib.store.keys import DATA, Keys, differing
from attnlib.store.sources import source_of
from attnlib.store.specs import MeasureSpec, Run, resolve
from attnlib.utils.errors import AttnlibError, ConfigError, DataError, UnknownName
from attnlib.utils.extras import versions
from attnlib.utils.registry import Name, Registry, lent, watched

if TYPE_CHECKING:
    from attnlib.config import DataConfig
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

KEPT = 3
"""Corpora, and models, that a worker keeps in memory between runs."""
PERMANENT = (ConfigError, DataError, UnknownName)
"""Errors that will recur: no second attempt."""
Files = tuple[tuple[str, bytes], ...]
PACKAGES = ("attnlib", "torch", "numpy", "scipy", "pandas", "scikit-learn", "transformers", "entmax")


class WorkerDiffers(ConfigError):
    """The worker would compute something other than the key of the run says."""


@dataclass(frozen=True)
class Job:
    """A run for a worker.

    models    keys of the models it needs, each with its folder, or its files where the worker shares no disk
    named     the user's parts that count in its key; `parts`: these with their code, for another process
    identity  all that its key rests on, which must be the worker's too; None in the driver's own process
    corpus    where the worker cannot load it itself, or need not
    """

    run: Run
    models: Sequence[tuple[str, str | Files]] = ()
    named: Sequence[Name] = ()
    parts: bytes = b""
    identity: Mapping[str, Any] | None = None
    corpus: Corpus | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a run: files, or an error (`final`: it will recur)."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, str] | None = None
    final: bool = False


_turn = threading.RLock()  # torch has one random state per process, and two threads would disturb each other


def execute(job: Job) -> Outcome:
    """Compute a run. An error comes back as text, whatever class it is of."""
    import torch

    with _turn:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # more are slower with several workers, and their sums differ in the last digits
        try:
            with lent(_unpacked(job)):
                return _run(job)
        except Exception as error:
            return Outcome(error=describe(error), final=isinstance(error, PERMANENT))
        finally:
            torch.set_num_threads(threads)


def describe(error: BaseException) -> dict[str, str]:
    """An error as plain text."""
    trace = "".join(traceback.format_exception(error))
    return {"error": type(error).__name__, "message": str(error), "traceback": trace}


def packed(names: Sequence[Name]) -> bytes:
    """The user's parts, with their code where it was written in a notebook."""
    held = {(kind, name): Registry.kinds[kind][name] for kind, name in names}
    try:
        return cloudpickle.dumps((held, sorted({Registry.kinds[kind].home for kind, _ in names})))
    except Exception as error:
        told = ", ".join(f"The {kind} {name!r}" for kind, name in names)
        raise ConfigError(f"{told} cannot be sent to workers: {error}. Use executor='serial'.") from None


def _unpacked(job: Job) -> dict[Name, Any]:
    try:
        parts, homes = pickle.loads(job.parts) if job.parts else ({}, ())
    except Exception as error:
        raise _differs(f"{[name for _, name in job.named]} cannot be loaded ({error})") from error
    for home in homes:  # registries, with the kit's own parts in them
        import_module(home)
    return parts


def _differs(what: str) -> WorkerDiffers:
    place = f"On {platform.node()}, in {Path.cwd()}, {what}."
    return WorkerDiffers(f"{place} Install the same attnlib there, bring the same files, and restart the worker.")


def _run(job: Job) -> Outcome:
    import pandas as pd

    run, device = job.run, os.environ.get(DEVICE)
    function = resolve(run.task)
    try:
        corpus = job.corpus if run.corpus is None or job.corpus is not None else _corpus(run.corpus)
    except (AttnlibError, OSError) as error:
        raise _differs(f"the corpus {run.corpus.corpus!r} cannot be loaded ({error})") from error
    if job.identity is not None:
        known = zip(run.fits, (key for key, _ in job.models), strict=True)
        here = Keys({run.corpus: corpus}, dict(known)).identity(run)
        if other := differing(job.identity, here):
            raise _differs(f"these differ from the driver's: {', '.join(other)}")
    load = _kept_model if isinstance(run, MeasureSpec) else _model  # a trainer may change what it starts from
    models = [load(held, device or "auto") for _, held in job.models]
    start = time.perf_counter()
    with watched() as asked:
        if isinstance(run, MeasureSpec):
            texts = [*inspect.signature(function).parameters][len(models) :][:1] == ["examples"]
            data = [corpus.test if texts else corpus] if corpus is not None else []
            result = function(*models, *data, **run.params)
        else:
            here = device is not None and run.train.device.split(":")[0] in ("auto", device.split(":")[0])
            train = run.train.replace(device=device) if here else run.train
            warm = {"warm_start": models[0]} if models else {}
            result = function(corpus, run.model, train, run.seed, **warm, **run.params)
    for kind, name in sorted(asked - {*job.named}):
        if kind != DATA and not source_of(Registry.kinds[kind][name]).is_kit:
            used = f"{run.task} used the {kind} {name!r}, which is not the kit's and which the run does not name."
            raise ConfigError(f"{used} Name it in the run's params, so that the key of the result counts it.")
    said = {"finished": datetime.now(UTC).isoformat(timespec="seconds"), "seconds": time.perf_counter() - start}
    said |= {"python": platform.python_version(), "platform": platform.platform(), "versions": versions(*PACKAGES)}
    if isinstance(run, MeasureSpec):
        frames = result if isinstance(result, Mapping) else {run.task.partition(":")[2]: result}
        if wrong := [type(frame).__name__ for frame in frames.values() if not isinstance(frame, pd.DataFrame)]:
            raise TypeError(f"{run.task} must return a DataFrame or a dict of them; got {wrong[0]}.")
        files = {f"frames/{name}.parquet": to_parquet(frame) for name, frame in frames.items()}
        return Outcome(files, said | {"device": str(models[0].device)} if models else said)
    said |= {"device": str(result.device), "notes": list(result.notes), "precision": run.train.precision}
    with tempfile.TemporaryDirectory(prefix="attnlib-") as folder:
        home = result.save(Path(folder) / "model")
        files = {f"model/{path.name}": path.read_bytes() for path in sorted(home.iterdir())}
    return Outcome(files | {"frames/history.parquet": to_parquet(result.history)}, said)


@lru_cache(KEPT)
def _corpus(config: DataConfig) -> Corpus:
    from attnlib.data import load_corpus

    return load_corpus(config)


def _model(held: str | Files, device: str) -> Fitted:
    from attnlib.training.fitted import load_model

    if isinstance(held, str):
        return load_model(held, device=device)
    with tempfile.TemporaryDirectory(prefix="attnlib-") as folder:
        for name, data in held:
            Path(folder, name).write_bytes(data)
        return load_model(folder, device=device)


_kept_model = lru_cache(KEPT)(_model)


def to_parquet(frame: Any) -> bytes:
    """A frame as parquet; a named index becomes columns, a plain one is dropped."""
    named = any(name is not None for name in frame.index.names)
    buffer = io.BytesIO()
    frame.reset_index(drop=not named).to_parquet(buffer, index=False, compression="zstd")
    return buffer.getvalue()
