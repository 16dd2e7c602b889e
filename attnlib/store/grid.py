"""run_grid: many runs through one store and one executor, resumable at any moment.

    fits = [FitSpec(data=data, model=model, seed=seed) for seed in (24, 92, 7)]
    runs = [MeasureSpec.of(flips, fit, ranking="alpha") for fit in fits]
    result = run_grid(runs, executor="local")
    result.frame("flips")       # one tidy frame over all runs
    result.failures             # what is missing, and why

Finished runs are answered from the store. Models that measures need are trained first, and only once. A run
that fails is tried once more, unless its error is certain to recur, and then recorded, while the rest goes on.
The same call continues after any stop.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlib.data.pretrained import pinned
from attnlib.data.vectors import check_vectors
from attnlib.store.entries import Entry, Store
from attnlib.store.executors import make_executor
from attnlib.store.keys import Keys, key_of
from attnlib.store.scheduler import Scheduler
from attnlib.store.specs import Corpora, FitSpec, Run, needed
from attnlib.utils import files, paths
from attnlib.utils.errors import AttnlibError, ConfigError
from attnlib.utils.text import duration

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted


EXECUTOR, JOBS = "ATTNLIB_EXECUTOR", "ATTNLIB_JOBS"
"""Environment variables by which a batch run of notebooks says where their grids are computed."""


class GridFailed(AttnlibError):
    """Some runs of a grid failed for good."""


@dataclass
class GridResult:
    """What a grid gave.

    keys      run -> key, also of the models that had to be trained for measures
    corpora   the data of the runs, by config
    columns   run asked for -> the columns that identify it
    cached    how many of them were in the store; `computed` are new; `models` were trained for them
    failures  one row per missing run: run, key, attempts, error, message, traceback
    """

    store: Store
    keys: dict[Run, str]
    corpora: Corpora
    columns: dict[Run, dict[str, Any]]
    cached: int
    computed: int
    models: int
    failures: pd.DataFrame
    seconds: float

    def entry(self, run: Run) -> Entry:
        """The stored result of one run of the grid."""
        # A finished measure needs no model, so a grid answered from the store has not asked for the models' keys.
        key = self.keys.get(run) or key_of(run, self.corpora)
        entry = self.store.get(key)
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
        parts = [(self.columns[run], e.table(name)) for run, e in entries.items() if name in e.frame_names]
        if not parts and optional:
            return pd.DataFrame()
        if not parts:
            raise GridFailed(
                f"No run holds a frame {name!r}; they hold {sorted(names)}. {self.summary}{self._first}"
            )
        return joined(parts)

    @property
    def summary(self) -> str:
        """One sentence on what is done and what is missing."""
        text = f"{len(self.columns)} runs: {self.cached} from the store, {self.computed} computed"
        text += f" (with {self.models} models trained for them)" if self.models else ""
        return text + (f", {len(self.failures)} failed (see .failures)." if len(self.failures) else ".")

    def complete(self) -> GridResult:
        """Itself, where no run failed; else an error that names the first."""
        if len(self.failures):
            raise GridFailed(f"{self.summary}{self._first}")
        return self

    @property
    def _first(self) -> str:
        """The first failure in words, led by a blank; empty where none failed."""
        if self.failures.empty:
            return ""
        first = self.failures.iloc[0]
        return f" First: {first['run']}: {first['error']}: {first['message']}"


def joined(parts: Iterable[tuple[Mapping[str, Any], pa.Table]]) -> pd.DataFrame:
    """Frames below one another, each led by the columns given for it, unless it has a column of that name.

    Tables of the same columns that follow one another become a frame together.
    """
    import pandas as pd
    import pyarrow as pa

    def alike(part: tuple[Mapping[str, Any], pa.Table]) -> tuple[list[str], list[Any]]:
        columns, table = part
        told = (table.schema.pandas_metadata or {}).get("columns", ())
        kinds = [(kind["name"], kind["pandas_type"], kind["numpy_type"]) for kind in told]
        return [name for name in columns if name not in table.column_names], [*table.schema, kinds]

    frames = []
    for (new, _), group in groupby(parts, alike):
        columns, tables = zip(*group, strict=True)
        frame = pa.concat_tables(table.replace_schema_metadata(tables[0].schema.metadata) for table in tables)
        frame = frame.to_pandas().reset_index(drop=True)
        if new:
            given = pd.DataFrame({name: _column([own[name] for own in columns]) for name in new})
            given = given.take(np.repeat(np.arange(len(tables)), [len(table) for table in tables]))
            frame = pd.concat([given.set_axis(frame.index), frame], axis=1)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _column(values: list[Any]) -> pd.Series:
    """One value per frame, of the type that the frames have together."""
    import pandas as pd

    alike = len({type(value) for value in values}) == 1
    return pd.Series(values) if alike else pd.concat([pd.Series([value]) for value in values], ignore_index=True)


def run_grid(
    runs: Iterable[Run],
    *,
    store: Store | str | None = None,
    executor: Executor | str | None = None,
    jobs: int | None = None,
    corpora: Mapping[str, Corpus] | Corpora | None = None,
    title: str = "runs",
    **options: Any,
) -> GridResult:
    """Compute what the store does not hold yet.

    executor  a name (`serial`, `local`, `dask:ADDRESS`; `jobs` and `options` go to `make_executor`), or an executor
              that the caller made, which is left open. None: what `attnlib run --executor --jobs` said, else serial
    corpora   corpora already loaded, by the name their DataConfig gives
    Two corpora that would share a name in the frames, and missing word vectors, are refused before anything is
    trained.

    >>> from tempfile import TemporaryDirectory
    >>> data = al.DataConfig(corpus="planted", options={"n_train": 60, "n_dev": 20, "n_test": 20})
    >>> fit = al.FitSpec(data=data, model=config, train=al.TrainConfig(epochs=1))
    >>> with TemporaryDirectory() as folder:
    ...     print(al.run_grid([fit], store=folder).summary)
    ...     print(al.run_grid([fit], store=folder).summary)
    1 runs: 0 from the store, 1 computed.
    1 runs: 1 from the store, 0 computed.
    """
    start = time.monotonic()
    runs = tuple(dict.fromkeys(runs if isinstance(runs, Iterable) else [runs]))
    if wrong := [run for run in runs if not hasattr(run, "fits")]:
        raise ConfigError(f"run_grid computes FitSpecs and MeasureSpecs; got {wrong[0]!r:.60}.")
    models = [fit.model for run in runs for fit in needed(run) if isinstance(fit, FitSpec)]
    for name in dict.fromkeys(model.vectors for model in models):
        check_vectors(name)
    for name in dict.fromkeys(model.pretrained for model in models if model.encoder == "bert"):
        if name != "minilm" and not Path(name).exists() and not pinned(name)[1]:
            warnings.warn(
                f"pretrained {name!r} means whatever its owner has put there last. Write {name}@REVISION, so that "
                "results of today and of tomorrow, here and on workers, are of the same weights.",
                stacklevel=2,
            )
    store = store if isinstance(store, Store) else Store(store)
    corpora = corpora if isinstance(corpora, Corpora) else Corpora(corpora)
    grid = Scheduler(store, corpora, runs)
    _distinct(grid)
    if grid.pending:
        own = executor is None or isinstance(executor, str)
        pool = _executor(executor, jobs, options) if own else executor
        try:
            grid.work(pool, title)
        except BaseException:
            if own:
                pool.kill()
            raise
        if own:
            pool.shutdown()
    cached, trained = grid.counts["cached"], grid.counts["models"]
    computed = sum(grid.keys[run] in grid.stored for run in grid.runs) - cached
    seconds = time.monotonic() - start
    _noted(cached, len(grid.runs))
    return GridResult(store, grid.keys, corpora, grid.columns, cached, computed, trained, _failures(grid), seconds)


def _noted(cached: int, asked: int) -> None:
    """Where a notebook runs for a report: add to what the report says of results from the store."""
    if (folder := paths.run_folder()) is not None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "results.json"
        before = json.loads(file.read_bytes()) if file.exists() else [0, 0]
        files.write(file, json.dumps([before[0] + cached, before[1] + asked]))


def outlook(
    runs: Iterable[Run],
    *,
    store: Store | str | None = None,
    corpora: Mapping[str, Corpus] | Corpora | None = None,
    jobs: int = 1,
) -> str:
    """How many runs there are, with the models that they need, how many the store holds, and about how long the
    others take by the median of what runs of their task, encoder and corpus took."""
    store = store if isinstance(store, Store) else Store(store)
    names = Keys(corpora if isinstance(corpora, Corpora) else Corpora(corpora))
    took: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for _, spec, environment in store.described():
        took[_kind(spec["task"], spec["run"])].append(environment["seconds"])
    known = {corpus for _, _, corpus in took} | {*names.corpora.given, ""}
    cached: dict[Run, bool] = {}
    missing = [run for asked in runs for run in _missing(asked, known, names, store, cached)]
    kinds = [_kind(run.task, run.model_dump(mode="json")) for run in missing]
    text = f"{len(cached)} runs: {len(cached) - len(missing)} in the store, {len(missing)} to compute"
    if any(kind in took for kind in kinds):
        seconds = sum(median(took[kind]) for kind in kinds if kind in took) / jobs
        text += f", about {duration(seconds)}{f' with {jobs} at once' if jobs > 1 else ''} by what others took"
    if strange := sum(kind not in took for kind in kinds):
        text += f"; none like {strange} of them is known"
    return f"{text}."


def _kind(task: str, run: Mapping[str, Any]) -> tuple[str, str, str]:
    """Task, encoder and corpus of a run as the store writes it."""
    fit = run if "model" in run else (*run.get("fits", ()), {})[0]
    data = run.get("data") or fit.get("data") or {}
    return task, fit.get("model", {}).get("encoder", ""), data.get("corpus", "")


def _missing(run: Run, known: set[str], names: Keys, store: Store, cached: dict[Run, bool]) -> Iterator[Run]:
    """What must be computed for a run. Data that no finished run has read are not loaded to find that out."""
    if run in cached:
        return
    used = {one.corpus.corpus for one in needed(run) if one.corpus is not None}
    cached[run] = used <= known and store.get(names.of(run)) is not None
    if not cached[run]:
        for fit in run.fits:
            yield from _missing(fit, known, names, store, cached)
        yield run


def _distinct(grid: Scheduler) -> None:
    """Two sources under one name would be averaged as if they were one dataset."""
    sources: dict[str, str] = {}
    for run, found in grid.columns.items():
        if run.corpus is not None and "dataset" in found:
            first = sources.setdefault(found["dataset"], run.corpus.corpus)
            if first != run.corpus.corpus:
                raise ConfigError(
                    f"The corpora {first!r} and {run.corpus.corpus!r} are both called {found['dataset']!r} once "
                    "loaded, and their results would run together. Rename one of the files, or run them one at a "
                    "time."
                )


def _executor(name: str | None, jobs: int | None, options: dict[str, Any]) -> Executor:
    if name is None:
        name = os.environ.get(EXECUTOR, "serial")
        jobs = jobs or (int(os.environ.get(JOBS) or 0) or None if name == "local" else None)
    return make_executor(name, jobs=jobs, **options)


def _failures(grid: Scheduler) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for key, node in grid.failed.items():
        where = " ".join(str(value) for value in grid.columns.get(node.run, node.run.label).values())
        row = {"run": f"{node.run.task} {where}".strip(), "key": key, "attempts": node.attempts}
        rows.append(row | dict(node.errors[-1]))
    return pd.DataFrame(rows, columns=["run", "key", "attempts", "error", "message", "traceback"])
