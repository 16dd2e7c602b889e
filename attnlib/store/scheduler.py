"""The scheduler of a grid: which run is ready, and what a result or a failure means."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from filelock import FileLock

from attnlib.store.entries import CorruptEntry, Entry, Store
from attnlib.store.executors import SerialExecutor
from attnlib.store.keys import UNCACHED, Keys, contents, data_of
from attnlib.store.parts import Code, packed
from attnlib.store.specs import Corpora, FitSpec, Run, canonical, columns, needed
from attnlib.store.tasks import Job, Outcome, describe, execute
from attnlib.utils.progress import bar

ATTEMPTS = 2
POLL = 0.5
"""Seconds between looks at runs that another process computes."""


class GridInterrupted(KeyboardInterrupt):
    """Ctrl-C during a grid; the message says what is done and how to continue."""


@dataclass
class Node:
    """A run in the queue. `asked`: by the caller, not only by a measure of it; `ship`: send its corpus along."""

    key: str
    run: Run
    fits: tuple[str, ...]
    asked: bool = True
    attempts: int = 0
    ship: bool = False
    errors: list[Mapping[str, str]] = field(default_factory=list)


class Scheduler:
    """The state of one grid: what is pending, stored or failed."""

    def __init__(self, store: Store, corpora: Corpora, runs: tuple[Run, ...]) -> None:
        self.store, self.corpora, self.runs = store, corpora, runs
        self.names = Keys(corpora)
        self.keys: dict[Run, str] = {}
        self.columns: dict[Run, dict[str, Any]] = {}
        self.pending: dict[str, Node] = {}
        self.stored: set[str] = set()
        self.checked: set[str] = set()
        self.failed: dict[str, Node] = {}
        self.counts: Counter[str] = Counter()
        for run in runs:
            try:
                key = self.keys[run] = self.names.of(run)
                self.columns[run] = columns(run, corpora)
            except Exception as error:  # its corpus cannot be loaded, say: the others can still run
                key = self.keys[run] = run.digest
                self.columns[run] = dict(run.label)
                self._fail(Node(key, run, (), attempts=1, errors=[describe(error)]))
                continue
            if self._cached(key):
                self.counts["cached"] += 1
            else:
                self._plan(run)

    def _cached(self, key: str) -> bool:
        """Whether the store holds the run, frames intact. Models are checked when they are loaded."""
        entry = self.store.get(key)
        try:
            if entry is not None:
                entry.verify("frames/")
        except CorruptEntry:
            entry = None
        if entry is not None:
            self.stored.add(key)
        return entry is not None

    def _plan(self, run: Run, *, asked: bool = True) -> None:
        """Put a run in the queue, behind the models it needs."""
        key = self.keys[run]
        if key not in self.pending:
            for fit in run.fits:
                self._plan_fit(fit)
            fits = tuple(self.keys[fit] for fit in run.fits)
            self.pending[key] = Node(key, run, fits, asked)
        self.pending[key].asked |= asked

    def _plan_fit(self, fit: FitSpec) -> None:
        key = self.keys[fit] = self.names.of(fit)
        if key not in self.stored and not self._cached(key):
            self._plan(fit, asked=False)

    def work(self, pool: Executor, title: str) -> None:
        """Until nothing is pending: hand out jobs, store what comes back."""
        running: dict[Future, tuple[Node, FileLock]] = {}
        total = len(self.pending) + self.counts["cached"] + len(self.failed)
        with bar(title, total=total, unit="run", initial=total - len(self.pending)) as line:
            try:
                while self.pending or running:
                    self._hand_out(pool, running)
                    line.set_postfix_str(self._state(len(running)), refresh=True)
                    if not running and self.pending:
                        time.sleep(POLL)  # all that is left runs in another process
                    ended, _ = wait(running, timeout=POLL if self.pending else None, return_when=FIRST_COMPLETED)
                    for future in ended:
                        node, lock = running.pop(future)
                        try:
                            line.update(self._take(future, node))
                        finally:
                            self.store.unlock(lock)
            except KeyboardInterrupt:
                for future in running:
                    future.cancel()
                left = len(self.pending) + len(running)
                kept = f"{len(self.stored)} runs are finished and kept in {self.store.root}, {left} are left"
                raise GridInterrupted(f"Stopped: {kept}. Repeat the same call to continue from there.") from None
            finally:
                for _, lock in running.values():
                    self.store.unlock(lock)

    def _state(self, busy: int) -> str:
        text = f"done {self.counts['computed']}, cached {self.counts['cached']}, failed {len(self.failed)}"
        elsewhere = self.counts["elsewhere"]
        return f"{text}, running {busy}" + (f", elsewhere {elsewhere}" if elsewhere else "")

    def _hand_out(self, pool: Executor, running: dict[Future, tuple[Node, FileLock]]) -> None:
        """Fill the room the executor has, with runs that are ready and that no other process computes."""
        room = getattr(pool, "room", 2)
        self.counts["elsewhere"] = 0
        for key, node in list(self.pending.items()):
            if len(running) >= room:
                return
            if key not in self.pending or not self.stored.issuperset(node.fits):
                continue
            if (lock := self.store.lock(key)) is None:
                self.counts["elsewhere"] += 1
                continue
            future = None
            try:
                if self._cached(key):  # another process was faster
                    self.counts["cached"] += node.asked
                    del self.pending[key]
                else:
                    future = pool.submit(execute, self._job(node, pool))
                    running[future] = self.pending.pop(key), lock
            except CorruptEntry:  # of a model: it has been set aside, so it is to be trained again
                for fit in node.run.fits:
                    self._plan_fit(fit)
            finally:
                if future is None:
                    self.store.unlock(lock)

    def _job(self, node: Node, pool: Executor) -> Job:
        run, here = node.run, isinstance(pool, SerialExecutor)
        corpus = None if run.corpus is None else self.corpora[run.corpus]
        near = getattr(pool, "shared_disk", True)
        models = {key: self._checked(key) for key in node.fits}
        return Job(
            key=node.key,
            run=run,
            fits=node.fits,
            code=self._code(run, here),
            data=() if corpus is None else data_of(corpus),
            contents=contents(run.model) if isinstance(run, FitSpec) else {},
            models={k: str(e.folder / "model") if near else e.model_files() for k, e in models.items()},
            corpus=corpus if here or node.ship else None,
        )

    def _checked(self, key: str) -> Entry:
        """A trained model, which is read again before its first use."""
        entry = self.store.get(key)
        try:
            if entry is None:
                raise CorruptEntry(f"The model {key[:12]} is gone from the store.")
            if key not in self.checked:
                entry.verify("model/")
        except CorruptEntry:
            self.stored.discard(key)
            raise
        self.checked.add(key)
        return entry

    def _code(self, run: Run, here: bool) -> Code:
        """What the worker's code must be, and the user's parts to compute with, which are sent along."""
        parts = {part: self.names.part(part) for one in needed(run) for part in self.names.named(one)}
        digest = self.names.code(run).get(run.task, UNCACHED)
        tasks = {} if digest.startswith(UNCACHED) else {run.task: digest}
        return Code(frozenset(parts), tasks, *(() if here else packed(parts)))

    def _take(self, future: Future, node: Node) -> int:
        """Store the result of a run; returns how many runs are settled by it."""
        before = len(self.stored) + len(self.failed)
        try:
            outcome: Outcome = future.result()
        except (Exception, CancelledError) as error:  # the worker died, or the cluster lost the run
            outcome = Outcome(error=describe(error))
        if outcome.needs:
            node.ship = True
            self.pending = {node.key: node, **self.pending}
        elif outcome.error is None:
            self._keep(node, outcome)
        else:
            node.attempts += 1
            node.errors.append(outcome.error)
            if node.attempts < ATTEMPTS and not outcome.final:
                self.pending[node.key] = node
            else:
                self._fail(node)
        return len(self.stored) + len(self.failed) - before

    def _keep(self, node: Node, outcome: Outcome) -> None:
        spec = {
            "task": node.run.task,
            "kind": "fit" if isinstance(node.run, FitSpec) else "measure",
            "columns": columns(node.run, self.corpora),
            "run": node.run.model_dump(mode="json"),
            "identity": self.names.identity(node.run),
            "code": self.names.code(node.run),
        }
        files = {
            "spec.json": canonical(spec).encode(),
            "environment.json": canonical(dict(outcome.environment)).encode(),
            **outcome.files,
        }
        self.store.put(node.key, files)
        self.stored.add(node.key)
        self.counts["computed"] += 1
        self.counts["models"] += not node.asked

    def _fail(self, node: Node) -> None:
        """Record a failure, and that of every run that waits for this one."""
        self.failed[node.key] = node
        record = {"run": node.run.model_dump(mode="json"), "task": node.run.task, "attempts": node.errors}
        self.store.record_failure(node.key, record)
        self._fail_without(node)

    def _fail_without(self, model: Node) -> None:
        message = f"the model it needs failed: {model.errors[-1]['message']}"
        for node in [n for n in self.pending.values() if model.key in n.fits]:
            if self.pending.pop(node.key, None) is None:
                continue  # it needs a model that needs this one, and failed with that just now
            node.errors.append({"error": "NoModel", "message": message, "traceback": ""})
            self._fail(node)
