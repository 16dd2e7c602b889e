"""What a worker does with a job: get the data, train, measure, and return files.

A worker needs no store and no shared disk. It returns what it computes as named bytes (safetensors, JSON, parquet),
which the driver stores.
"""

from __future__ import annotations

import inspect
import io
import os
import platform
import sys
import tempfile
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.config import DataConfig
from attnlib.store.executors import DEVICE
from attnlib.store.keys import CONTENTS, contents, data_of
from attnlib.store.parts import Code, WorkerDiffers
from attnlib.store.specs import FitSpec, MeasureSpec, Run, canonical, resolve
from attnlib.utils.errors import AttnlibError, ConfigError, DataError, UnknownName
from attnlib.utils.extras import versions
from attnlib.utils.files import hint

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

KEPT_CORPORA, KEPT_MODELS = 4, 2
"""What a worker keeps in memory between runs: those of one model follow one another."""
PERMANENT = (ConfigError, DataError, UnknownName)
"""Errors that will recur: no second attempt."""
PACKAGES = ("attnlib", "torch", "numpy", "scipy", "pandas", "scikit-learn", "transformers", "entmax")


@dataclass(frozen=True)
class Job:
    """A run for a worker.

    fits      keys of the models it needs
    code      what must be the worker's too, or is sent along
    data      what its corpus must be (`keys.data_of`), as its key says
    contents  what the files of its config hold (`keys.contents`), likewise
    models    key -> the folder of a model, or its files where the worker shares no disk
    corpus    where the worker could not load it by itself
    """

    key: str
    run: Run
    fits: tuple[str, ...]
    code: Code
    data: Sequence[str] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str | Mapping[str, bytes]] = field(default_factory=dict)
    corpus: Corpus | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a run: files, an error (`final`: it will recur), or that the worker needs its corpus."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, str] | None = None
    final: bool = False
    needs: bool = False


class NeedsCorpus(Exception):
    """The worker cannot load the same corpus as the driver."""


_corpora: OrderedDict[str, Corpus] = OrderedDict()
_models: OrderedDict[str, Fitted] = OrderedDict()
_lock = threading.Lock()
_busy: set[int] = set()


@contextmanager
def _turn() -> Iterator[None]:
    """One job at a time: torch has one random state per process, and two threads would disturb each other."""
    thread = threading.get_ident()
    if thread in _busy:
        raise ConfigError(
            "A run was started inside a run, and would wait for itself forever. Name what it needs as a run of its "
            "own: `MeasureSpec.of(task, fit, ...)` gets the model trained first."
        )
    with _lock:
        _busy.add(thread)
        try:
            yield
        finally:
            _busy.discard(thread)


def execute(job: Job) -> Outcome:
    """Compute a run. An error comes back as text, whatever class it is of."""
    with _turn(), one_thread():
        try:
            with job.code.held():
                return _run(job)
        except NeedsCorpus:
            return Outcome(needs=True)
        except Exception as error:
            return Outcome(error=describe(error), final=isinstance(error, PERMANENT))


def describe(error: BaseException) -> dict[str, str]:
    """An error as plain text."""
    trace = "".join(traceback.format_exception(error))
    return {"error": type(error).__name__, "message": f"{error}{hint(str(error))}", "traceback": trace}


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread: two processes of two threads on two cores were seen to be ten times slower, and sums over
    another number of threads differ in the last digits."""
    if "torch" not in sys.modules and os.environ.get("OMP_NUM_THREADS") == "1":
        yield  # torch will read that when it is imported
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _run(job: Job) -> Outcome:
    run, device = job.run, os.environ.get(DEVICE)
    function = resolve(run.task)
    if isinstance(run, FitSpec):
        _same_files(run, job.contents)
    memory = _models if isinstance(run, MeasureSpec) else OrderedDict()  # a trainer may change what it starts from
    needed = [_model(key, job.models[key], device or "auto", memory) for key in job.fits]
    corpus = None if run.corpus is None else _corpus(run.corpus, job)
    start = time.perf_counter()
    with job.code.accounted(run):
        if isinstance(run, MeasureSpec):
            result = function(*needed, *_data(function, len(needed), corpus), **run.params)
        else:
            here = device is not None and run.train.device.split(":")[0] in ("auto", device.split(":")[0])
            train = run.train.replace(device=device) if here else run.train
            warm = {"warm_start": needed[0]} if needed else {}
            result = function(corpus, run.model, train, run.seed, **warm, **run.params)
    said = environment() | {"seconds": time.perf_counter() - start}
    if isinstance(run, MeasureSpec):
        return Outcome(_frame_files(run, result), said | {"device": str(needed[0].device)} if needed else said)
    _kept(_models, job.key, lambda: result, KEPT_MODELS)
    files = _model_files(result) | {"frames/history.parquet": to_parquet(result.history)}
    said |= {"device": str(result.device), "notes": list(result.notes), "precision": run.train.precision}
    return Outcome(files, said)


def _data(function: Callable[..., Any], models: int, corpus: Corpus | None) -> list[Any]:
    """The corpus, or its test texts where the function takes `examples` after the models; nothing without one."""
    if corpus is None:
        return []
    return [corpus.test if [*inspect.signature(function).parameters][models:][:1] == ["examples"] else corpus]


def _same_files(run: FitSpec, driver: Mapping[str, str]) -> None:
    """A file of the same name may hold something else on this machine; its result would go by the driver's key."""
    found = contents(run.model)
    for option, there in driver.items():
        if (here := found[option]) != there:
            name = getattr(run.model, option)
            state = "holds something other than" if here.startswith(CONTENTS) else "is not there, unlike"
            raise WorkerDiffers(
                f"On {platform.node()}, in {Path.cwd()}, {option} {name!r} {state} on the driver. Copy the "
                "driver's to the same absolute path on every worker, or name one on a disk that all of them share."
            )


def _corpus(config: DataConfig, job: Job) -> Corpus:
    """The driver's corpus: kept from an earlier run, sent along, or loaded here."""

    def load() -> Corpus:
        from attnlib.data import load_corpus

        try:
            corpus = job.corpus if job.corpus is not None else load_corpus(config)
        except (AttnlibError, OSError) as error:
            raise NeedsCorpus from error
        if data_of(corpus) != [*job.data]:
            raise NeedsCorpus
        return corpus

    return _kept(_corpora, canonical(job.data), load, KEPT_CORPORA)


def _model(key: str, held: str | Mapping[str, bytes], device: str, memory: OrderedDict[str, Fitted]) -> Fitted:
    """A trained model: kept from an earlier run, or loaded from its folder or its files."""

    def load() -> Fitted:
        from attnlib.training.fitted import load_model

        if isinstance(held, str):
            return load_model(held, device=device)
        with tempfile.TemporaryDirectory(prefix="attnlib-") as folder:
            for name, data in held.items():
                path = Path(folder) / "model" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            return load_model(Path(folder) / "model", device=device)

    return _kept(memory, key, load, KEPT_MODELS)


def _kept(memory: OrderedDict[str, Any], key: str, load: Callable[[], Any], most: int) -> Any:
    if key not in memory:
        memory[key] = load()
        while len(memory) > most:
            memory.popitem(last=False)
    memory.move_to_end(key)
    return memory[key]


def _model_files(fitted: Fitted) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="attnlib-") as folder:
        home = Path(folder) / "model"
        fitted.save(home)
        return {
            f"model/{p.relative_to(home).as_posix()}": p.read_bytes()
            for p in sorted(home.rglob("*"))
            if p.is_file()
        }


def _frame_files(run: MeasureSpec, result: Any) -> dict[str, bytes]:
    import pandas as pd

    frames = {run.task.partition(":")[2]: result} if isinstance(result, pd.DataFrame) else result
    fits = isinstance(frames, Mapping) and all(
        isinstance(k, str) and k.isidentifier() and isinstance(v, pd.DataFrame) for k, v in frames.items()
    )
    if not fits:
        raise TypeError(
            f"{run.task} must return a DataFrame or a dict of DataFrames under names like 'flips'; got "
            f"{type(result).__name__}."
        )
    return {f"frames/{name}.parquet": to_parquet(frame) for name, frame in frames.items()}


def to_parquet(frame: Any) -> bytes:
    """A frame as parquet; a named index becomes columns, a plain one is dropped."""
    named = any(name is not None for name in frame.index.names)
    buffer = io.BytesIO()
    frame.reset_index(drop=not named).to_parquet(buffer, index=False, compression="zstd")
    return buffer.getvalue()


def environment() -> dict[str, Any]:
    """Where and with what a run was made."""
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "threads": 1,
        "versions": versions(*PACKAGES),
    }
