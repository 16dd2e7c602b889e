"""The driver of a grid: hands out what is ready, keeps what comes back, and tries failures once more."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
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


class GridInterrupted(KeyboardInterrupt):
    """Ctrl-C during a grid."""


@dataclass
class Node:
    """A run to compute, and what went wrong with it."""

    key: str
    run: Run
    errors: list[Mapping[str, str]] = field(default_factory=list)


class Driver:
    """The state of one grid: what is stored, pending, computed here, or failed; all by key."""

    def __init__(self, store: Store, corpora: Corpora, runs: Iterable[Run]) -> None:
        self.store, self.corpora = store, corpora
        self.names = Keys(corpora)
        self.keys: dict[Run, str] = {}
        self.columns: dict[Run, dict[str, Any]] = {}
        self.pending: dict[str, Node] = {}
        self.stored: set[str] = set()
        self.sound: set[str] = set()
        self.computed: set[str] = set()
        self.failed: dict[str, Node] = {}
        for run in runs:
            try:
                self.columns[run] = columns(run, corpora)
                self._plan(run, "frames/")
            except Exception as error:  # its corpus cannot be loaded, say: the others can still run
                self.keys[run], self.columns[run] = run.digest, dict(run.label)
                self._fail(Node(run.digest, run, errors=[describe(error)]))

    def _plan(self, run: Run, prefix: str = "") -> None:
        """Put a run in the queue, behind the models it needs, unless the store holds it."""
        key = self.keys[run] = self.names.of(run)
        if key not in self.pending and not self._held(key, prefix):
            for fit in run.fits:
                self._plan(fit)
            self.pending[key] = Node(key, run)

    def _held(self, key: str, prefix: str = "") -> bool:
        """Whether the store holds a run, and the files whose names begin with `prefix` are sound."""
        if key in self.sound:
            return True
        self.stored.discard(key)
        try:
            if (entry := self.store.get(key)) is None:
                return False
            entry.verify(prefix)
        except CorruptEntry:
            return False
        self.stored.add(key)
        if not prefix:
            self.sound.add(key)
        return True

    def work(self, pool: Executor, title: str) -> None:
        """Until nothing is pending: hand out jobs, store what comes back."""
        running: dict[Future, tuple[Node, FileLock]] = {}
        total = len(self.pending)
        with bar(title, total=total, unit="run") as line:
            try:
                while self.pending or running:
                    self._hand_out(pool, running)
                    if not running:
                        time.sleep(POLL)  # all that is left runs in another process
                    for future in wait(running, timeout=POLL, return_when=FIRST_COMPLETED).done:
                        node, lock = running.pop(future)
                        try:
                            self._take(future, node)
                        finally:
                            self.store.unlock(lock)
                    line.update(total - len(self.pending) - len(running) - line.n)
                    if self.failed:
                        line.set_postfix_str(f"{len(self.failed)} failed")
            except KeyboardInterrupt:
                left = len(self.pending) + len(running)
                kept = f"{len(self.stored)} runs are finished and kept in {self.store.root}, {left} are left"
                raise GridInterrupted(f"Stopped: {kept}. Repeat the same call to continue from there.") from None
            finally:
                for _, lock in running.values():
                    self.store.unlock(lock)

    def _hand_out(self, pool: Executor, running: dict[Future, tuple[Node, FileLock]]) -> None:
        """Fill the room the executor has, with runs that are ready and that no other process computes."""
        room = pool.room
        for key, node in list(self.pending.items()):
            if len(running) >= room:
                return
            if not all(self.keys[fit] in self.stored for fit in node.run.fits):
                continue
            if (lock := self.store.lock(key)) is None:
                continue
            future = None
            try:
                if not self._held(key):  # else another process was faster
                    future = pool.submit(execute, self._job(node, pool))
                    running[future] = node, lock
                del self.pending[key]
            finally:
                if future is None:
                    self.store.unlock(lock)

    def _job(self, node: Node, pool: Executor) -> Job:
        run, here = node.run, isinstance(pool, SerialExecutor)
        entries = [self.store.get(self.keys[fit]) for fit in run.fits]
        named = self.names.named(run)
        ready = run.corpus is not None and (here or run.corpus.corpus in self.corpora.given)
        return Job(
            key=node.key,
            run=run,
            models=[(e.key, str(e.folder / "model") if pool.shared_disk else e.model_files()) for e in entries],
            named=named,
            parts=b"" if here else packed(named),
            identity=None if here else self.names.identity(run),
            corpus=self.corpora[run.corpus] if ready else None,
        )

    def _take(self, future: Future, node: Node) -> None:
        """Store the result of a run, or what went wrong with it."""
        try:
            outcome: Outcome = future.result()
        except Exception as error:  # the worker died, or the cluster lost the run
            outcome = Outcome(error=describe(error))
        if outcome.error is None:
            self._keep(node, outcome)
        else:
            node.errors.append(outcome.error)
            if outcome.final or len(node.errors) == ATTEMPTS:
                self._fail(node)
            else:
                self.pending[node.key] = node

    def _keep(self, node: Node, outcome: Outcome) -> None:
        spec = {
            "task": node.run.task,
            "columns": columns(node.run, self.corpora),
            "corpora": sorted(corpora_of(node.run)),
            "run": node.run.model_dump(mode="json"),
            "code": self.names.code(node.run),
        }
        made = {"spec.json": canonical(spec), "environment.json": canonical(outcome.environment)}
        self.store.put(node.key, {name: text.encode() for name, text in made.items()} | outcome.files)
        self.stored.add(node.key)
        self.computed.add(node.key)

    def _fail(self, node: Node) -> None:
        """Give up a run, and every run that waits for it."""
        self.failed[node.key] = node
        message = f"the model it needs failed: {node.errors[-1]['message']}"
        for other in [n for n in self.pending.values() if node.key in (self.keys[fit] for fit in n.run.fits)]:
            if self.pending.pop(other.key, None) is not None:  # else it failed just now, with another that it needs
                other.errors.append({"error": "NoModel", "message": message, "traceback": ""})
                self._fail(other)
