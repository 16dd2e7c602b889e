"""What a worker does with a job: get the data, train, measure, and return files.

A worker needs no store and no shared disk. It returns what it computes as named bytes (safetensors, JSON, parquet),
which the driver stores.
"""

from __future__ import annotations

import io
import os
import platform
import sys
import tempfile
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.config import DataConfig
from attnlib.store.codehash import code_hash
from attnlib.store.keys import CONTENTS, contents
from attnlib.store.processes import DEVICE
from attnlib.store.specs import FitSpec, MeasureSpec, Run, resolve
from attnlib.utils.errors import AttnlibError, ConfigError, DataError, UnknownName
from attnlib.utils.extras import versions
from attnlib.utils.files import hint

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

KEPT_CORPORA = 4
"""Corpora a worker keeps in memory between jobs."""
PERMANENT = (ConfigError, DataError, UnknownName)
"""Errors that will recur: no second attempt."""
PACKAGES = ("attnlib", "torch", "numpy", "scipy", "pandas", "scikit-learn", "transformers", "entmax")


@dataclass(frozen=True)
class Assignment:
    """Runs for one worker, in order; a model trained here serves the measures that follow.

    runs     (key, run)
    fits     key of a run -> keys of the models it needs
    code     task -> hash of its code, which must be the worker's too
    data     digest of a DataConfig -> fingerprint of its corpus
    files    key of a run that trains -> what the files of its config hold (`keys.contents`), as the key says
    models   key of a finished fit -> its folder, or its files where the worker shares no disk
    corpora  fingerprint -> corpus, where the worker could not load it by itself
    """

    runs: tuple[tuple[str, Run], ...]
    fits: Mapping[str, tuple[str, ...]]
    code: Mapping[str, str]
    data: Mapping[str, str]
    models: Mapping[str, str | Mapping[str, bytes]]
    corpora: Mapping[str, Corpus] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOutcome:
    """What became of one run: files, an error, or a corpus (its fingerprint) that the worker needs.

    final  the error will recur: no second attempt
    """

    key: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, str] | None = None
    final: bool = False
    needs: str | None = None


class WorkerDiffers(ConfigError):
    """The worker would compute something other than the key of the run says."""


class NeedsCorpus(Exception):
    """The worker cannot load the same corpus as the driver."""


_corpora: OrderedDict[str, Corpus] = OrderedDict()
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


def execute(job: Assignment) -> list[RunOutcome]:
    """Run a job. Errors come back as outcomes, so that one run's failure does not affect the others."""
    outcomes, models = [], {}
    with _turn(), one_thread():
        for key, run in job.runs:
            if any(k not in job.models and k not in models for k in job.fits.get(key, ())):
                continue  # its model failed just now; the driver knows
            try:
                outcomes.append(_run(key, run, job, models))
            except NeedsCorpus as need:
                outcomes.append(RunOutcome(key, needs=str(need)))
            except Exception as error:
                outcomes.append(RunOutcome(key, error=describe(error), final=isinstance(error, PERMANENT)))
    return outcomes


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


def _run(key: str, run: Run, job: Assignment, models: dict[str, Fitted]) -> RunOutcome:
    if (here := code_hash(run.task)) != job.code[run.task]:
        raise WorkerDiffers(
            f"This worker's code for {run.task} differs from the driver's ({here[:12]} here, "
            f"{job.code[run.task][:12]} there). Install the same attnlib on both and restart the workers."
        )
    if isinstance(run, FitSpec):
        _same_files(run, job.files.get(key, {}))
    needed = [_model(k, job, models) for k in job.fits.get(key, ())]
    corpus = None if run.corpus is None else _corpus(run.corpus, job)
    function = resolve(run.task)
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    if isinstance(run, FitSpec):
        device = os.environ.get(DEVICE)
        here = device is not None and run.train.device.split(":")[0] in ("auto", device.split(":")[0])
        train = run.train.replace(device=device) if here else run.train
        warm = {"warm_start": needed[0]} if needed else {}
        fitted = function(corpus, run.model, train, run.seed, **warm, **run.params)
        seconds = time.perf_counter() - start
        models[key] = fitted
        files = _model_files(fitted) | {"frames/history.parquet": to_parquet(fitted.history)}
        epochs = fitted.history.get("seconds")
        more = {
            "tokens": sum(map(len, corpus.train)) * len(fitted.history),
            "device": str(fitted.device),
            "notes": list(fitted.notes),
            "precision": train.precision,
            "training_seconds": seconds if epochs is None else float(epochs.sum()),
        }
    else:
        handed = [*needed] if corpus is None else [*needed, corpus]
        files = _frame_files(run, function(*handed, **run.params))
        seconds = time.perf_counter() - start
        more = {"device": str(needed[0].device)} if needed else {}
        if corpus is not None:  # by which a forecast scales
            more |= {"texts": len(corpus.test), "tokens": int(corpus.test.lengths.sum())}
    return RunOutcome(key, files, environment() | {"seconds": seconds} | _peak() | more)


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


@lru_cache(maxsize=1)
def _loaded(config: DataConfig) -> Corpus:
    """The last corpus is kept: the next run may read another part of it."""
    from attnlib.data import load_corpus

    return load_corpus(config)


def _corpus(config: DataConfig, job: Assignment) -> Corpus:
    """The corpus with the driver's fingerprint: kept from an earlier job, sent along, or loaded here."""
    fingerprint = job.data[config.digest]
    if fingerprint not in _corpora:
        if fingerprint in job.corpora:
            _corpora[fingerprint] = job.corpora[fingerprint]
        else:
            try:
                whole = _loaded(config.replace(part=None))
                corpus = whole if config.part is None else whole.part(*config.part)
            except (AttnlibError, OSError) as error:
                raise NeedsCorpus(fingerprint) from error
            if corpus.fingerprint != fingerprint:
                raise NeedsCorpus(fingerprint)
            _corpora[fingerprint] = corpus
        while len(_corpora) > KEPT_CORPORA:
            _corpora.popitem(last=False)
    _corpora.move_to_end(fingerprint)
    return _corpora[fingerprint]


def _model(key: str, job: Assignment, models: dict[str, Fitted]) -> Fitted:
    if key not in models:
        from attnlib.training.fitted import load_model

        held = job.models[key]
        device = os.environ.get(DEVICE) or "auto"
        if isinstance(held, str):
            models[key] = load_model(held, device=device)
        else:
            with tempfile.TemporaryDirectory(prefix="attnlib-") as folder:
                for name, data in held.items():
                    path = Path(folder) / "model" / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                models[key] = load_model(Path(folder) / "model", device=device)
    return models[key]


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


def _cuda() -> Any:
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_available() else None


def _peak() -> dict[str, int]:
    """Bytes: on a GPU what torch reserved for this run, else the process's high-water mark so far."""
    if (cuda := _cuda()) is not None:
        return {"peak_gpu_memory": cuda.max_memory_reserved()}
    try:
        import resource
    except ImportError:  # not a POSIX system
        return {}
    unit = 1 if sys.platform == "darwin" else 1024
    return {"peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
