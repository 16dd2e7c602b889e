"""The driver of a grid: hands out what is ready, keeps what comes back, and tries failures once more."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any

from filelock import FileLock

from attnlib.store.entries import CorruptEntry, Store
from attnlib.store.executors import SerialExecutor
from attnlib.store.keys import Keys
from attnlib.store.specs import Corpora, Run, canonical, columns, corpora_of
from attnlib.store.tasks import Job, Outcome, describe, execute, packed
from attnlib.utils.progress import bar

ATTEMPTS = 2
POLL = 0.5
"""Seconds between looks at runs that another process computes."""


class Driver:
    """The state of one grid: which runs are stored, pending, computed here, or failed, by key."""

    def __init__(self, store: Store, corpora: Corpora, runs: Iterable[Run]) -> None:
        self.store, self.corpora = store, corpora
        self.names = Keys(corpora)
        self.keys: dict[Run, str] = {}
        self.columns: dict[Run, dict[str, Any]] = {}
        self.pending: dict[str, Run] = {}
        self.stored: set[str] = set()
        self.sound: set[str] = set()
        self.new: set[str] = set()
        self.failed: dict[str, Run] = {}
        self.locks: dict[str, FileLock] = {}
        self.errors: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        for run in runs:
            try:
                self.columns[run] = columns(run, corpora)
                self._plan(run, "frames/")
            except Exception as error:  # its corpus cannot be loaded, say: the others can still run
                self.keys[run], self.columns[run] = run.digest, dict(run.label)
                self._fail(run.digest, run, describe(error))

    def _plan(self, run: Run, prefix: str = "") -> None:
        """Put a run in the queue, behind the models it needs, unless the store holds it."""
        key = self.keys[run] = self.names.of(run)
        if key not in self.pending and not self._held(key, prefix):
            for fit in run.fits:
                self._plan(fit)
            self.pending[key] = run

    def _held(self, key: str, prefix: str = "") -> bool:
        """Whether the store holds a run, and the files whose names begin with `prefix` are sound."""
        if key not in self.sound:
            self.stored.discard(key)
            try:
                if (entry := self.store.get(key)) is None:
                    return False
                entry.verify(prefix)
            except CorruptEntry:
                return False
            self.stored.add(key)
            self.sound |= set() if prefix else {key}
        return True

    def work(self, pool: Executor, title: str) -> None:
        """Until nothing is pending: hand out jobs, store what comes back."""
        running: dict[Future, tuple[str, Run]] = {}
        total = len(self.pending)
        with bar(title, total=total, unit="run") as line:
            try:
                while self.pending or running:
                    self._hand_out(pool, running)
                    if self.pending and not running:
                        time.sleep(POLL)  # all that is left runs in another process
                    for future in wait(running, timeout=POLL, return_when=FIRST_COMPLETED).done:
                        key, run = running.pop(future)
                        self._take(future, key, run)
                        self.store.unlock(self.locks.pop(key))
                    line.update(total - len(self.pending) - len(running) - line.n)
            except KeyboardInterrupt:
                left = len(self.pending) + len(running)
                kept = f"{len(self.stored)} runs are finished and kept in {self.store.root}, {left} are left"
                raise KeyboardInterrupt(f"Stopped: {kept}. Repeat the same call to continue from there.") from None
            finally:
                while self.locks:
                    self.store.unlock(self.locks.popitem()[1])

    def _hand_out(self, pool: Executor, running: dict[Future, tuple[str, Run]]) -> None:
        """Fill the room the executor has, with runs that are ready and that no other process computes."""
        room = pool.room
        for key, run in list(self.pending.items()):
            needs = {self.keys[fit] for fit in run.fits}
            if lost := needs & self.failed.keys():
                why = self.errors[min(lost)][-1]["message"]
                error = {"error": "NoModel", "message": f"the model it needs failed: {why}", "traceback": ""}
                self._fail(key, self.pending.pop(key), error)
            elif len(running) < room and needs <= self.stored and (lock := self.store.lock(key)) is not None:
                self.locks[key] = lock
                if self._held(key):  # another process was faster
                    self.store.unlock(self.locks.pop(key))
                else:
                    running[pool.submit(execute, self._job(run, pool))] = key, run
                del self.pending[key]

    def _job(self, run: Run, pool: Executor) -> Job:
        here = isinstance(pool, SerialExecutor)
        entries = [self.store.get(self.keys[fit]) for fit in run.fits]
        named = self.names.named(run)
        ready = run.corpus is not None and (here or run.corpus.corpus in self.corpora.given)
        return Job(
            run=run,
            models=[(e.key, str(e.folder / "model") if pool.shared_disk else e.model_files()) for e in entries],
            named=named,
            parts=b"" if here else packed(named),
            identity=None if here else self.names.identity(run),
            corpus=self.corpora[run.corpus] if ready else None,
        )

    def _take(self, future: Future, key: str, run: Run) -> None:
        """Store the result of a run, or what went wrong with it."""
        try:
            outcome: Outcome = future.result()
        except Exception as error:  # the worker died, or the cluster lost the run
            outcome = Outcome(error=describe(error))
        if outcome.error is not None:
            self._fail(key, run, outcome.error, again=not outcome.final)
            return
        spec = {
            "task": run.task,
            "columns": columns(run, self.corpora),
            "corpora": sorted(corpora_of(run)),
            "run": run.model_dump(mode="json"),
            "code": self.names.code(run),
        }
        made = {"spec.json": canonical(spec), "environment.json": canonical(outcome.environment)}
        self.store.put(key, {name: text.encode() for name, text in made.items()} | outcome.files)
        self.stored.add(key)
        self.new.add(key)

    def _fail(self, key: str, run: Run, error: Mapping[str, str], *, again: bool = False) -> None:
        self.errors[key].append(error)
        held = self.pending if again and len(self.errors[key]) < ATTEMPTS else self.failed
        held[key] = run
