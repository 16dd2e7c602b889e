"""The scheduler of a grid: which run is ready, which runs go together, what a result or a failure means."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from attnlib.store.codehash import code_hash, code_of
from attnlib.store.entries import CorruptEntry, Store
from attnlib.store.executors import SerialExecutor
from attnlib.store.keys import contents, identity, key_of
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run, canonical, columns
from attnlib.store.tasks import Assignment, RunOutcome, describe, execute
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
        self.keys: dict[Run, str] = {}
        self.columns: dict[Run, dict[str, Any]] = {}
        self.pending: dict[str, Node] = {}
        self.stored: set[str] = set()
        self.failed: dict[str, Node] = {}
        self.counts: Counter[str] = Counter()
        for run in runs:
            try:
                key = self.keys[run] = key_of(run, corpora)
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
        key = self.keys[fit] = key_of(fit, self.corpora)
        if key not in self.stored and not self._cached(key):
            self._plan(fit, asked=False)

    def work(self, pool: Executor, title: str) -> None:
        """Until nothing is pending: hand out jobs, store what comes back."""
        running: dict[Future, tuple[list[Node], ExitStack]] = {}
        total = len(self.pending) + self.counts["cached"] + len(self.failed)
        with bar(title, total=total, unit="run", initial=total - len(self.pending)) as line:
            try:
                while self.pending or running:
                    self._hand_out(pool, running)
                    line.set_postfix_str(self._state(running), refresh=True)
                    if not running and self.pending:
                        time.sleep(POLL)  # all that is left runs in another process
                    ended, _ = wait(running, timeout=POLL if self.pending else None, return_when=FIRST_COMPLETED)
                    for future in ended:
                        nodes, locks = running.pop(future)
                        with locks:
                            line.update(self._take(future, nodes))
            except KeyboardInterrupt:
                for future in running:
                    future.cancel()
                left = len(self.pending) + sum(len(nodes) for nodes, _ in running.values())
                kept = f"{len(self.stored)} runs are finished and kept in {self.store.root}, {left} are left"
                raise GridInterrupted(f"Stopped: {kept}. Repeat the same call to continue from there.") from None
            finally:
                for _, locks in running.values():
                    locks.close()

    def _state(self, running: Mapping[Future, Any]) -> str:
        busy = sum(len(nodes) for nodes, _ in running.values())
        text = f"done {self.counts['computed']}, cached {self.counts['cached']}, failed {len(self.failed)}"
        elsewhere = self.counts["elsewhere"]
        return f"{text}, running {busy}" + (f", elsewhere {elsewhere}" if elsewhere else "")

    def _hand_out(self, pool: Executor, running: dict[Future, tuple[list[Node], ExitStack]]) -> None:
        """Fill the room the executor has, with jobs that are ready and that no other process computes."""
        room = getattr(pool, "room", 2)
        self.counts["elsewhere"] = 0
        for key in list(self.pending):
            if len(running) >= room:
                return
            if key not in self.pending or not self.stored.issuperset(self.pending[key].fits):
                continue
            nodes = self._group(self.pending[key])
            locks = self._lock(nodes)
            if locks is None:
                self.counts["elsewhere"] += len(nodes)
                continue
            for node in nodes:
                self.pending.pop(node.key)
            fresh = [node for node in nodes if not self._cached(node.key)]  # another process may have been faster
            self.counts["cached"] += sum(node.asked for node in nodes if node not in fresh)
            future = None
            try:
                if fresh:
                    future = pool.submit(execute, self._job(fresh, pool))
                    running[future] = fresh, locks
            except CorruptEntry:  # of a model: it has been set aside, so it is to be trained again
                for fit in [fit for node in fresh for fit in node.run.fits]:
                    self._plan_fit(fit)
            finally:
                if future is None:
                    self.pending |= {node.key: node for node in fresh}
                    locks.close()

    def _group(self, node: Node) -> list[Node]:
        """A model to train takes its measures along; after a failure every run goes alone."""
        if isinstance(node.run, MeasureSpec) or node.attempts:
            return [node]
        along = [n for n in self.pending.values() if n.fits == (node.key,) and not n.attempts]
        return [node, *(n for n in along if isinstance(n.run, MeasureSpec))]

    def _lock(self, nodes: list[Node]) -> ExitStack | None:
        """The locks of all of these, until closed; None while another process has one of them."""
        with ExitStack() as locks:
            for node in nodes:
                if (lock := self.store.lock(node.key)) is None:
                    return None
                locks.callback(self.store.unlock, lock)
            return locks.pop_all()

    def _job(self, nodes: list[Node], pool: Executor) -> Assignment:
        own = {node.key for node in nodes}
        models = {}
        for key in {k for node in nodes for k in node.fits} - own:
            entry = self.store.get(key)
            try:
                if entry is None:
                    raise CorruptEntry(f"The model {key[:12]} is gone from the store.")
                entry.verify("model/")
            except CorruptEntry:
                self.stored.discard(key)
                raise
            near = getattr(pool, "shared_disk", True)
            models[key] = str(entry.folder / "model") if near else entry.model_files()
        used = {c.digest: self.corpora[c] for n in nodes if (c := n.run.corpus) is not None}
        ship = isinstance(pool, SerialExecutor) or any(node.ship for node in nodes)
        return Assignment(
            runs=tuple((node.key, node.run) for node in nodes),
            fits={node.key: node.fits for node in nodes},
            code={node.run.task: code_hash(node.run.task) for node in nodes},
            data={digest: corpus.fingerprint for digest, corpus in used.items()},
            models=models,
            files={node.key: contents(node.run.model) for node in nodes if isinstance(node.run, FitSpec)},
            corpora={corpus.fingerprint: corpus for corpus in used.values()} if ship else {},
        )

    def _take(self, future: Future, nodes: list[Node]) -> int:
        """Store the results of a job; returns how many runs it settled."""
        before = len(self.stored) + len(self.failed)
        try:
            outcomes: list[RunOutcome] = future.result()
        except (Exception, CancelledError) as error:  # the worker died, or the cluster lost the job
            outcomes = [RunOutcome(node.key, error=describe(error)) for node in nodes]
        told = {outcome.key: outcome for outcome in outcomes}
        for node in nodes:
            outcome = told.get(node.key)
            if outcome is None:  # the model it needs failed in the same job
                self._requeue(node)
            elif outcome.needs is not None:
                node.ship = True
                self.pending = {node.key: node, **self.pending}
            elif outcome.error is not None:
                node.attempts += 1
                node.errors.append(outcome.error)
                if node.attempts < ATTEMPTS and not outcome.final:
                    self._requeue(node)
                else:
                    self._fail(node)
            else:
                self._keep(node, outcome)
        return len(self.stored) + len(self.failed) - before

    def _requeue(self, node: Node) -> None:
        self.pending[node.key] = node
        for key in node.fits:
            if key in self.failed:
                self._fail_without(self.failed[key])

    def _keep(self, node: Node, outcome: RunOutcome) -> None:
        spec = {
            "task": node.run.task,
            "kind": "fit" if isinstance(node.run, FitSpec) else "measure",
            "columns": columns(node.run, self.corpora),
            "run": node.run.model_dump(mode="json"),
            "identity": identity(node.run, self.corpora),
            "code": code_of(node.run.task),
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
