"""What a grid would cost: which runs the store holds, and how long the others may take here.

A training's time is its tokens (of all epochs) over a speed in tokens per second: the median of earlier trainings
with the same encoder in the store, else a short training measured now. A measure's time is the median of earlier
ones. Early stopping makes trainings shorter than that, so the estimate is an upper bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from attnlib.data.vectors import check_vectors
from attnlib.store.entries import Store
from attnlib.store.keys import key_of
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run, columns, resolve
from attnlib.store.tasks import one_thread
from attnlib.utils.errors import AttnlibError, DataError
from attnlib.utils.text import duration

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.types import Corpus

PACKAGED = {"rotten_tomatoes": (6_824, 21), "imdb": (20_000, 234), "20news": (1_016, 115), "bbc": (1_701, 390)}
"""Training texts and mean words of the packaged corpora: to tokenise them takes longer than a forecast may."""
SAMPLE = 96
"""Texts of the training that is measured where the store knows no speed."""


class Forecast:
    """`frame` has one row per run, with models that measures need: columns, kind, key, cached, seconds, basis."""

    def __init__(self, frame: pd.DataFrame, jobs: int) -> None:
        self.frame = frame
        self.jobs = jobs

    @property
    def missing(self) -> pd.DataFrame:
        """The runs still to be computed."""
        return self.frame[~self.frame["cached"]]

    @property
    def seconds(self) -> float:
        """Estimated time on `jobs` workers; runs without an estimate count nothing."""
        return float(self.missing["seconds"].sum()) / self.jobs

    @property
    def summary(self) -> str:
        """How many runs, how many of them are done, how long the others take, and what that estimate rests on."""
        left, unknown = self.missing, int(self.missing["seconds"].isna().sum())
        text = f"{len(self.frame)} runs, {len(self.frame) - len(left)} in the store, {len(left)} to compute"
        if len(left) > unknown:
            bases = ", ".join(f"{n} by {basis}" for basis, n in left["basis"].value_counts().items() if basis)
            text += f": about {duration(self.seconds)} with {self.jobs} at once ({bases})"
        return f"{text}; {unknown} without an estimate." if unknown else f"{text}."

    def __str__(self) -> str:
        shown = self.frame.drop(columns="note").assign(
            key=self.frame["key"].str[:12],
            cached=self.frame["cached"].map({True: "cached", False: ""}),
            seconds=self.frame["seconds"].map(lambda s: "" if s != s else duration(s)),
        )
        notes = [note for note in self.frame["note"].drop_duplicates() if note]
        return "\n".join([shown.to_string(index=False, na_rep=""), *notes, self.summary])


def dry_run(
    runs: Iterable[Run],
    *,
    store: Store | str | None = None,
    corpora: Mapping[str, Corpus] | Corpora | None = None,
    jobs: int = 1,
    sizes: Mapping[str, tuple[int, int]] | None = None,
    calibrate: bool = True,
) -> Forecast:
    """List a grid without running it.

    sizes      training texts and mean words per text by corpus, for the estimate: these need not be available, and
               are not loaded unless the store holds runs on them
    calibrate  measure a short training for encoders the store has never seen
    """
    import pandas as pd

    store = store if isinstance(store, Store) else Store(store)
    corpora = corpora if isinstance(corpora, Corpora) else Corpora(corpora)
    history, seen = _history(store)
    sizes = {**PACKAGED, **(sizes or {})}
    speeds = _Speeds(history, corpora, calibrate)
    # A corpus that no finished run knows need not be loaded to say that nothing of it is in the store.
    unseen = set(sizes) - seen - set(corpora.given)
    rows: dict[Run, dict[str, Any]] = {}
    problems: dict[str, str] = {}

    def add(run: Run) -> bool:
        """Whether the run is cached; its models are listed only when it is not."""
        if run in rows:
            return rows[run]["cached"]
        key, cached, note, named = "", False, "", columns(run)
        try:
            if run.corpus is not None and (problem := problems.get(run.corpus.digest)):
                raise AttnlibError(problem)
            if run.corpus is None or run.corpus.corpus not in unseen:
                named = columns(run, corpora)
                key = key_of(run, corpora)
                cached = store.get(key) is not None
        except (AttnlibError, OSError) as error:
            note = f"{run.corpus.corpus}: {error}" if run.corpus is not None else str(error)
            if run.corpus is not None:
                problems[run.corpus.digest] = str(error)
        if isinstance(run, FitSpec):
            try:
                check_vectors(run.model.vectors)
            except DataError as error:
                note = note or str(error)
        if not cached:
            for fit in run.fits:
                add(fit)
        seconds, basis = (0.0, "") if cached else speeds.estimate(run, sizes, loaded=bool(key))
        kind = "fit" if isinstance(run, FitSpec) else run.task.partition(":")[2]
        rows[run] = {**named, "kind": kind, "key": key, "cached": cached, "seconds": seconds, "basis": basis}
        rows[run]["note"] = note
        return cached

    for run in runs:
        add(run)
    last = ["kind", "key", "cached", "seconds", "basis", "note"]
    frame = pd.DataFrame(list(rows.values()))
    if frame.empty:
        frame = pd.DataFrame(columns=last).astype({"cached": bool, "seconds": float})
    return Forecast(frame[[*(c for c in frame if c not in last), *last]], max(1, jobs))


def _history(store: Store) -> tuple[dict[tuple[str, str], list[float]], set[str]]:
    """Speeds of trainings and seconds of measures that the store holds, by task and encoder; and their corpora."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    corpora: set[str] = set()
    for _, spec, environment in store.described():
        encoder = spec["columns"].get("encoder", "")
        run = spec.get("run", {})
        corpora |= {part["data"]["corpus"] for part in (run, *run.get("fits", ())) if part.get("data")}
        if spec["kind"] != "fit":
            found[spec["task"], encoder].append(environment["seconds"])
        elif environment.get("training_seconds") and environment.get("tokens"):
            found["fit", encoder].append(environment["tokens"] / environment["training_seconds"])
    return found, corpora


class _Speeds:
    def __init__(self, history: dict[tuple[str, str], list[float]], corpora: Corpora, calibrate: bool) -> None:
        self.history, self.corpora, self.calibrate = history, corpora, calibrate
        self.measured: dict[str, float | None] = {}

    def estimate(self, run: Run, sizes: Mapping[str, tuple[int, int]], loaded: bool) -> tuple[float, str]:
        """Seconds and what they rest on; NaN and an empty string where nothing is known."""
        if isinstance(run, MeasureSpec):
            encoder = run.fits[0].model.encoder if run.fits else ""
            seen = self.history.get((run.task, encoder))
            return (median(seen), "earlier runs") if seen else (float("nan"), "")
        data = run.data
        if loaded:
            count = sum(map(len, self.corpora[data].train))
        elif data.corpus in sizes:
            texts, words = sizes[data.corpus]
            longest = data.max_length if isinstance(data.max_length, int) else words
            count = min(texts, data.limit or texts) * min(words, longest)
        else:
            return float("nan"), ""
        encoder = run.model.encoder
        if seen := self.history.get(("fit", encoder)):
            speed, basis = median(seen), "earlier runs"
        else:
            speed, basis = self._measure(run), "a short training"
        return (count * run.train.epochs / speed, basis) if speed else (float("nan"), "")

    def _measure(self, run: FitSpec) -> float | None:
        """Tokens per second of a model like this on a few planted texts: once to warm up, once to measure."""
        encoder = run.model.encoder
        if encoder not in self.measured:
            self.measured[encoder] = None
            here = encoder != "bert" or Path(run.model.pretrained).is_dir()  # a dry run downloads nothing
            if self.calibrate and here:
                from attnlib.data import load_corpus

                corpus = load_corpus("planted", limit=SAMPLE)
                fit = resolve(run.trainer)
                train = run.train.replace(epochs=2, patience=None)
                model = run.model.replace(vectors="none")
                with one_thread():
                    history = fit(corpus, model, train, 0).history
                self.measured[encoder] = sum(map(len, corpus.train)) / float(history["seconds"].iloc[-1])
        return self.measured[encoder]
