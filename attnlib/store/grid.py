"""run_grid: many runs through one store and one executor, resumable at any moment.

Finished runs are answered from the store. Models that measures need are trained first, and only once. A run
that fails is tried once more, unless its error is certain to recur, and then recorded, while the rest goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlib.data.vectors import check_vectors
from attnlib.store.driver import Driver
from attnlib.store.entries import Entry, Store
from attnlib.store.executors import make_executor
from attnlib.store.keys import Keys
from attnlib.store.specs import Corpora, FitSpec, Run, columns, corpora_of, needed
from attnlib.utils.errors import AttnlibError, ConfigError
from attnlib.utils.text import duration

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted


class GridFailed(AttnlibError):
    """Some runs of a grid failed for good."""


class GridResult(Driver):
    """What a grid gave: of the runs asked for, `cached` were in the store, `computed` are new, and `models` were
    trained for them; `failures` has a row for each that is missing."""

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
            rows.append(row | dict(self.errors[key][-1]))
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
            raise GridFailed(f"No run holds a frame {name!r}; they hold {sorted(names)}. {self._said}")
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
            raise GridFailed(self._said)
        return self

    @property
    def _said(self) -> str:
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
    runs = tuple(dict.fromkeys(runs if isinstance(runs, Iterable) else [runs]))
    if wrong := [run for run in runs if not hasattr(run, "fits")]:
        raise ConfigError(f"run_grid computes FitSpecs and MeasureSpecs; got {wrong[0]!r:.60}.")
    for name in {fit.model.vectors for run in runs for fit in needed(run) if isinstance(fit, FitSpec)}:
        check_vectors(name)
    grid = GridResult(*_opened(store, corpora), runs)
    _distinct(grid.columns)
    if grid.pending and isinstance(executor, Executor):
        grid.work(executor, title)
    elif grid.pending:
        pool = make_executor(executor, jobs=jobs, **options)
        try:
            grid.work(pool, title)
        finally:
            pool.shutdown(cancel_futures=True)
    return grid


def outlook(
    runs: Iterable[Run],
    *,
    store: Store | str | None = None,
    corpora: Mapping[str, Corpus] | Corpora | None = None,
    jobs: int = 1,
) -> str:
    """How many runs there are, with their models, how many the store holds, and about how long the others take by
    the median of what runs of their task and encoder took. Data that no finished run has read are not loaded."""
    store, corpora = _opened(store, corpora)
    names = Keys(corpora)
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    known = {*corpora.given}
    for _, spec, environment in store.described():
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


def _opened(store: Store | str | None, corpora: Mapping | Corpora | None) -> tuple[Store, Corpora]:
    store = store if isinstance(store, Store) else Store(store)
    return store, corpora if isinstance(corpora, Corpora) else Corpora(corpora)


def _distinct(columns: Mapping[Run, Mapping[str, Any]]) -> None:
    """Two sources under one name would be averaged as if they were one dataset."""
    sources: dict[str, str] = {}
    for run, found in columns.items():
        if run.corpus is not None and "dataset" in found:
            first = sources.setdefault(found["dataset"], run.corpus.corpus)
            if first != run.corpus.corpus:
                both = f"{first!r} and {run.corpus.corpus!r} are both called {found['dataset']!r}"
                raise ConfigError(f"The corpora {both} once loaded. Rename one, or run them one at a time.")
