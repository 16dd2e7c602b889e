"""run_grid: many runs through one store and one executor, resumable at any moment.

Finished runs are answered from the store. Models that measures need are trained first, and only once. A run
that fails is tried once more, unless its error is certain to recur, and then recorded, while the rest goes on.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from attnlib.data.vectors import check_vectors
from attnlib.store.entries import CorruptEntry, Entry, Store
from attnlib.store.executors import SerialExecutor, make_executor
from attnlib.store.keys import FORMAT, Keys
from attnlib.store.specs import Corpora, FitSpec, Run, canonical, columns, corpora_of, needed
from attnlib.store.tasks import Job, Outcome, describe, execute, packed
from attnlib.utils.errors import AttnlibError, ConfigError
from attnlib.utils.progress import bar
from attnlib.utils.text import duration

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted


ATTEMPTS = 2
POLL = 0.5
"""Seconds between looks at runs that another process computes."""


class GridFailed(AttnlibError):
    """Some runs of a grid failed for good."""


class GridResult:
    """What a grid gave: of the runs asked for, `cached` were in the store, `computed` are new, and `models` were
    trained for them; `failures` has a row for each that is missing."""

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
        self.errors: dict[str, list[dict[str, str]]] = defaultdict(list)
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
        told = {"columns": columns(run, self.corpora), "corpora": sorted(corpora_of(run)), "format": FORMAT}
        spec = told | {"task": run.task, "run": run.model_dump(mode="json"), "code": self.names.code(run)}
        made = {"spec.json": canonical(spec), "environment.json": canonical(outcome.environment)}
        self.store.put(key, {name: text.encode() for name, text in made.items()} | outcome.files)
        self.stored.add(key)
        self.new.add(key)

    def _fail(self, key: str, run: Run, error: dict[str, str], *, again: bool = False) -> None:
        self.errors[key].append(error)
        held = self.pending if again and len(self.errors[key]) < ATTEMPTS else self.failed
        held[key] = run

    @property
    def computed(self) -> int:
        return sum(self.keys[run] in self.new for run in self.columns)

    @property
    def cached(self) -> int:
        return sum(self.keys[run] in self.stored for run in self.columns) - self.computed

    @property
    def models(self) -> int:
        return len(self.new - {self.keys[run] for run in self.columns})

    @property
    def failures(self) -> pd.DataFrame:
        import pandas as pd

        rows = []
        for key, run in self.failed.items():
            where = " ".join(str(value) for value in self.columns.get(run, run.label).values())
            row = {"run": f"{run.task} {where}".strip(), "key": key, "attempts": len(self.errors[key])}
            rows.append(row | self.errors[key][-1])
        return pd.DataFrame(rows, columns=["run", "key", "attempts", "error", "message", "traceback"])

    def entry(self, run: Run) -> Entry:
        """The stored result of one run of the grid, or of a model that it needed."""
        entry = self.store.get(self.keys.get(run) or self.names.of(run))
        if entry is None:
            raise GridFailed(f"There is no result of {run!r}; see `.failures`.")
        return entry

    def fitted(self, run: FitSpec) -> Fitted:
        """A trained model of the grid, also one that measures asked for."""
        return self.entry(run).fitted()

    def frame(self, name: str | None = None, *, optional: bool = False) -> pd.DataFrame:
        """Frames of that name from every run that has one, one below the other, led by the columns of the run.

        name      None: the one name there is, histories of trainings aside
        optional  an empty frame, not an error, where no run holds one: none was asked for, or all failed
        """
        import pandas as pd

        entries = {run: entry for run in self.columns if (entry := self.store.get(self.keys[run])) is not None}
        names = {n for entry in entries.values() for n in entry.frame_names}
        if name is None:
            own = names - {"history"} or names
            if len(own) != 1:
                raise GridFailed(f"Say which frame; these runs hold {sorted(names)}.")
            name = own.pop()
        parts = [(self.columns[run], e.frame(name)) for run, e in entries.items() if name in e.frame_names]
        if not parts and optional:
            return pd.DataFrame()
        if not parts:
            raise GridFailed(f"No run holds a frame {name!r}; they hold {sorted(names)}. {self._told()}")
        return joined(parts)

    @property
    def summary(self) -> str:
        """One sentence on what is done and what is missing."""
        text = f"{len(self.columns)} runs: {self.cached} from the store, {self.computed} computed"
        text += f" (with {self.models} models trained for them)" if self.models else ""
        return text + (f", {len(self.failed)} failed (see .failures)." if self.failed else ".")

    def complete(self) -> GridResult:
        """Itself, where no run failed; else an error that names the first."""
        if self.failed:
            raise GridFailed(self._told())
        return self

    def _told(self) -> str:
        first = [f" First: {row.run}: {row.error}: {row.message}" for row in self.failures[:1].itertuples()]
        return f"{self.summary}{''.join(first)}"


def joined(parts: Sequence[tuple[Mapping[str, Any], pd.DataFrame]]) -> pd.DataFrame:
    """Frames below one another, each led by the columns given for it, unless it has a column of that name."""
    import pandas as pd

    columns, frames = zip(*parts, strict=True)
    which = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
    body = pd.concat(frames, ignore_index=True)
    lead = pd.DataFrame(columns).take(which).set_axis(body.index)
    for name in lead.columns.intersection(body.columns):
        own = np.array([name in frame for frame in frames])[which]
        lead[name] = body.pop(name).where(own, lead[name])
    return pd.concat([lead, body], axis=1)


def run_grid(
    runs: Iterable[Run],
    *,
    store: Store | str | None = None,
    executor: Executor | str | None = None,
    jobs: int | None = None,
    corpora: Mapping[str, Corpus] | Corpora | None = None,
    title: str = "runs",
) -> GridResult:
    """Compute what the store does not hold yet.

    executor  `serial`, `local` (with at most `jobs` worker processes), `dask:ADDRESS`, or an executor that the
              caller made, which is left open. None: what `attnlib run --executor --jobs` said, else serial
    corpora   corpora already loaded, by the name their DataConfig gives

    >>> from tempfile import TemporaryDirectory
    >>> data = al.DataConfig(corpus="planted", options={"n_train": 60, "n_dev": 20, "n_test": 20})
    >>> fit = al.FitSpec(data=data, model=config, train=al.TrainConfig(epochs=1))
    >>> with TemporaryDirectory() as folder:
    ...     print(al.run_grid([fit], store=folder).summary)
    ...     print(al.run_grid([fit], store=folder).summary)
    1 runs: 0 from the store, 1 computed.
    1 runs: 1 from the store, 0 computed.
    """
    runs = tuple(dict.fromkeys(runs if isinstance(runs, Iterable) else [runs]))
    if wrong := [run for run in runs if not hasattr(run, "fits")]:
        raise ConfigError(f"run_grid computes FitSpecs and MeasureSpecs; got {wrong[0]!r:.60}.")
    for name in {fit.model.vectors for run in runs for fit in needed(run) if isinstance(fit, FitSpec)}:
        check_vectors(name)
    store = store if isinstance(store, Store) else Store(store)
    grid = GridResult(store, corpora if isinstance(corpora, Corpora) else Corpora(corpora), runs)
    sources: dict[str, str] = {}
    for run, found in grid.columns.items():
        name = found.get("dataset")
        if name and run.corpus and sources.setdefault(name, run.corpus.corpus) != run.corpus.corpus:
            both = f"The corpora {sources[name]!r} and {run.corpus.corpus!r} are both called {name!r}"
            raise ConfigError(f"{both} once loaded. Rename one, or run them one at a time.")
    if grid.pending and isinstance(executor, Executor):
        grid.work(executor, title)
    elif grid.pending:
        pool = make_executor(executor, jobs=jobs)
        try:
            grid.work(pool, title)
        finally:
            pool.shutdown(cancel_futures=True)
    return grid


def outlook(runs: Iterable[Run], *, store: Store | str | None = None, jobs: int = 1) -> str:
    """How many runs there are with their models, how many are stored, and about how long the others take by the
    median of those of their task and encoder. Data that no finished run has read are not loaded."""
    store = store if isinstance(store, Store) else Store(store)
    names = Keys(Corpora())
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    known: set[str] = set()
    for _, spec, environment in store.described():
        if spec.get("format") != FORMAT:
            continue
        took[spec["task"], spec["columns"].get("encoder", "")].append(environment["seconds"])
        known |= {*spec["corpora"]}
    every = dict.fromkeys(one for run in runs for one in needed(run))
    left = [run for run in every if not corpora_of(run) <= known or store.get(names.of(run)) is None]
    kinds = [(run.task, columns(run).get("encoder", "")) for run in left]
    text = f"{len(every)} runs: {len(every) - len(left)} in the store, {len(left)} to compute"
    if like := [median(took[kind]) for kind in kinds if kind in took]:
        at_once = f" with {jobs} at once" if jobs > 1 else ""
        text += f", about {duration(sum(like) / jobs)}{at_once} by what others took"
    if len(like) < len(left):
        text += f"; none like {len(left) - len(like)} of them is known"
    return f"{text}."
