"""What a grid would cost: which runs the store holds, and how long the others may take here.

Every estimate says what it rests on (`basis`), in this order:

SAME     the median time of finished runs that differ in their seeds alone
SCALED   the median speed of earlier runs of another size. A training reads the tokens of its texts in every epoch;
         a measure reads tokens × rankings, on all test texts or on the `texts` that it asks for. Speeds are those
         of the same encoder and, for measures, of the same task
UNSIZED  the median time of earlier measures whose size the store does not know
SHORT    a training on a few planted texts, measured now, scaled
DEFAULT  for a measure that the store has never seen: `SPEED`, a guess that may be ten times too high or too low

Early stopping makes trainings shorter than their epochs, so a scaled estimate of them is an upper bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from attnlib.config import DataConfig
from attnlib.data.vectors import check_vectors
from attnlib.store.entries import Store
from attnlib.store.keys import key_of
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run, canonical, columns, resolve
from attnlib.store.tasks import one_thread
from attnlib.utils.errors import AttnlibError, DataError
from attnlib.utils.text import duration

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.types import Corpus

SIZES = {
    "rotten_tomatoes": (6_824, 852, 21),
    "imdb": (20_000, 2_500, 234),
    "20news": (1_016, 796, 115),
    "bbc": (1_701, 213, 390),
    "hub:yahoo_answers_topics": (1_400_000, 60_000, 104),
    "hub:amazon_reviews_multi": (200_000, 5_000, 35),
    "hub:yelp_review_full": (650_000, 50_000, 150),
}
"""Training texts, test texts and mean words of corpora that take longer to get than a forecast may."""
HUB = "hub:"
SAME, SCALED, UNSIZED = "runs of the same kind", "runs of another size, scaled", "runs of unknown size"
SHORT, DEFAULT = "a short training, scaled", "a default speed"
SPEED = 5_000.0
"""Tokens × rankings per second of a measure that nobody has timed."""
RANKINGS = ("rankings", "baselines")
"""Parameters of measures that list rankings of tokens, each of which costs a pass over the texts."""
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
    sizes: Mapping[str, tuple[int, int, int]] | None = None,
    calibrate: bool = True,
) -> Forecast:
    """List a grid without running it.

    sizes      training texts, test texts and mean words per text by corpus, for the estimate: these need not be
               available, and are not loaded unless the store holds runs on them. Nor is anything of the hub
    calibrate  measure a short training for encoders the store has never seen
    """
    import pandas as pd

    store = store if isinstance(store, Store) else Store(store)
    corpora = corpora if isinstance(corpora, Corpora) else Corpora(corpora)
    history, seen = _history(store)
    sizes = {**SIZES, **(sizes or {})}
    speeds = _Speeds(history, corpora, calibrate)
    # A corpus that no finished run knows need not be loaded to say that nothing of it is in the store.
    known = seen | set(corpora.given)
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
            if run.corpus is None or run.corpus.corpus in known or not _elsewhere(run.corpus.corpus, sizes):
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


def _elsewhere(corpus: str, sizes: Mapping[str, Any]) -> bool:
    """Whether a corpus takes long to get: its size is stated, or it may have to be downloaded."""
    return corpus in sizes or corpus.startswith(HUB)


@dataclass
class _History:
    """What the store knows: seconds by kind of run, speeds and seconds by task and encoder."""

    same: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    speeds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))


def _history(store: Store) -> tuple[_History, set[str]]:
    """What earlier runs took, and the corpora they read."""
    found, corpora = _History(), set()
    for _, spec, environment in store.described():
        encoder, run = spec["columns"].get("encoder", ""), spec.get("run", {})
        corpora |= {part["data"]["corpus"] for part in (run, *run.get("fits", ())) if part.get("data")}
        if run:
            found.same[_kind(run)].append(environment["seconds"])
        if spec["kind"] != "fit":
            if environment.get("texts") and environment.get("tokens"):
                work = _reads(run["params"], environment["texts"], environment["tokens"] / environment["texts"])
                found.speeds[spec["task"], encoder].append(work / max(environment["seconds"], 1e-3))
            found.seconds[spec["task"], encoder].append(environment["seconds"])
        elif environment.get("training_seconds") and environment.get("tokens"):
            found.speeds["fit", encoder].append(environment["tokens"] / environment["training_seconds"])
    return found, corpora


def _kind(run: Mapping[str, Any]) -> str:
    """A run as the store writes it, without what tells replicates apart: equal texts take equal time."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(part) for name, part in value.items() if name not in ("seed", "label")}
        return [plain(part) for part in value] if isinstance(value, list | tuple) else value

    return canonical({**plain(run), "data": run.get("data")})  # the seed of the data draws other texts


def _reads(params: Mapping[str, Any], texts: int, length: float) -> float:
    """Tokens × rankings that a measure reads of a corpus with so many test texts."""
    asked = params.get("texts")
    rankings = sum(len(params[name]) for name in RANKINGS if isinstance(params.get(name), list | tuple))
    return min(texts, asked if isinstance(asked, int) else texts) * length * max(1, rankings)


class _Speeds:
    def __init__(self, history: _History, corpora: Corpora, calibrate: bool) -> None:
        self.history, self.corpora, self.calibrate = history, corpora, calibrate
        self.measured: dict[str, float | None] = {}
        self.sizes: dict[str, tuple[float, int, float]] = {}

    def estimate(self, run: Run, sizes: Mapping[str, tuple[int, int, int]], loaded: bool) -> tuple[float, str]:
        """Seconds and what they rest on; NaN and an empty string where nothing is known."""
        same = self.history.same
        if same and (seen := same.get(_kind(run.model_dump(mode="json")))):
            return median(seen), SAME
        size = None if run.corpus is None else self._size(run.corpus, sizes, loaded)
        if isinstance(run, MeasureSpec):
            return self._measure(run, size)
        if size is None:
            return float("nan"), ""
        if seen := self.history.speeds.get(("fit", run.model.encoder)):
            speed, basis = median(seen), SCALED
        else:
            speed, basis = self._calibrated(run), SHORT
        return (size[0] * run.train.epochs / speed, basis) if speed else (float("nan"), "")

    def _measure(self, run: MeasureSpec, size: tuple[float, int, float] | None) -> tuple[float, str]:
        key = run.task, run.fits[0].model.encoder if run.fits else ""
        if size is None or not self.history.speeds.get(key):
            if seen := self.history.seconds.get(key):
                return median(seen), UNSIZED
            if size is None:
                return float("nan"), ""
        speeds = self.history.speeds.get(key)
        work = _reads(run.params, *size[1:])
        return (work / median(speeds), SCALED) if speeds else (work / SPEED, DEFAULT)

    def _size(
        self, data: DataConfig, sizes: Mapping[str, tuple[int, int, int]], loaded: bool
    ) -> tuple[float, int, float] | None:
        """Tokens of the training texts, number of test texts and their mean length; None where nothing is known."""
        if loaded:
            if data.digest not in self.sizes:
                corpus = self.corpora[data]
                train, test = (int(part.lengths.sum()) for part in (corpus.train, corpus.test))
                self.sizes[data.digest] = float(train), len(corpus.test), test / len(corpus.test)
            return self.sizes[data.digest]
        if data.corpus not in sizes:
            return None
        train, test, words = sizes[data.corpus]
        length = min(words, data.max_length) if isinstance(data.max_length, int) else words
        test = min(test, data.limit or test) // (data.part[1] if data.part else 1)
        return float(min(train, data.limit or train) * length), max(1, test), float(length)

    def _calibrated(self, run: FitSpec) -> float | None:
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
