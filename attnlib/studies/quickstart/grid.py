"""The first notebook: a classifier with attention, read and erased.

One row per text and seed everywhere, so that every mean has an interval over both; the random token is drawn from
all but the most attended one (Serrano & Smith 2019, section 4.2). The rules are in `quickstart_claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.data.readers.downloads import DownloadError
from attnlib.data.unsuitable import preferred
from attnlib.erasure.flips import erasure_curves, fraction_to_flip, top_token_flips
from attnlib.importance.scores import importance
from attnlib.reports import plan
from attnlib.studies.common import widened
from attnlib.studies.quickstart.params import Params  # noqa: F401  the notebook's
from attnlib.utils.errors import DataError
from attnlib.viz.heatmap import read

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted

LEVELS = ("attention", "input")
RANKINGS = {
    "alpha": "attention",
    "alpha_grad": "attention × gradient",
    "omission": "leave-one-out",
    "random": "random",
}
"""The orders in which tokens are erased, from the highest score down, and what readers see them called.
Leave-one-out asks the model what each token is worth; random knows nothing. Attention is read between the two."""
TOP, RANDOM = "most attended", "random other"
FIRST = {"alpha": TOP, "alpha_grad": "largest attention × gradient", "omission": "largest leave-one-out"}
"""The first token of a ranking, erased alone."""
NOTHING_LEFT, NEVER = "only when nothing is left", "never"
SERIES = {
    "00_quickstart": "this notebook: one model, its attention, one token erased",
    "01_tasc": "task-specific scaling: does it make attention more faithful?",
    "02_tying_mlm": "regularised encoders: does attention matter more if states stay close to their words?",
    "03_sparsity": "sparse attention: is a sparser explanation a better one?",
    "04_mutual_information": "mutual information: do highly attended states say more about the answer?",
    "05_erasure": "erasure at scale: how much must be removed before a decision flips?",
    "06_verdict": "the verdict: the claims of the five papers side by side",
    "07_audit": "an audit of your own model or data",
}
"""What each notebook of the series asks."""


@contextmanager
def offline_hint() -> Iterator[None]:
    """Around what may download: a failed download also says how to run without one."""
    try:
        yield
    except DownloadError as error:
        raise DownloadError(
            f"{error}\nWithout a network, run this notebook on generated texts: corpus planted, vectors none "
            "(`attnlib run 00_quickstart -p corpus planted -p vectors none`, or change the parameters cell)."
        ) from None


def splits(corpus: Corpus) -> pd.DataFrame:
    """The corpus at a glance: one row per split, shares of classes, known words."""
    found = corpus.stats().drop(columns="dataset")
    return found.rename(columns=lambda name: name.replace("share_", "share of ").replace("_", " "))


def accuracy(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row per seed and text: `value` is 1 where the prediction is right; `truth` is the class of the text."""
    truth = [models[0].classes[example.label] for example in examples]
    frames = []
    for fitted in models:
        labels = fitted.predict(examples).labels
        right = [float(a == b) for a, b in zip(labels, truth, strict=True)]
        frames.append(_frame(fitted, examples, metric="accuracy", value=right, truth=truth))
    return pd.concat(frames, ignore_index=True)


def accuracy_by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy and its interval over texts for every seed."""
    rows = []
    for seed, part in frame.groupby("seed"):
        found = mean_share(part)
        rows.append({"seed": seed, "accuracy": found.estimate, "low": found.low, "high": found.high, "n": found.n})
    return pd.DataFrame(rows)


def choose(
    fitted: Fitted, examples: Sequence[Example], n: int, *, shortest: int = 8, longest: int = 24
) -> list[Example]:
    """`n` texts to look at, evenly spaced from the most to the least confident prediction.

    Texts with slurs or words of sex or violence are passed over (`attnlib.data.unsuitable`). Of a corpus of long
    texts, the shortest tenth is chosen from.
    """
    shown = preferred(examples)
    readable = [e for e in shown if shortest <= len(e) <= longest]
    if len(readable) < n:
        readable = sorted(shown, key=len)[: max(n, len(shown) // 10)]
    sure = fitted.predict(readable).probabilities.max(1)
    order = np.argsort(-sure, kind="stable")
    places = np.linspace(0, len(order) - 1, min(n, len(order))).round().astype(int)
    return [readable[order[place]] for place in places]


def erase_top(fitted: Fitted, examples: Sequence[Example]) -> pd.DataFrame:
    """One row per text: its most attended token, and p of the class first predicted with and without that token."""
    readings = read(fitted, examples, "alpha")
    curves = {level: erasure_curves(fitted, examples, "alpha", level=level) for level in LEVELS}
    without = {level: curve[curve["removed"] == 1].set_index("text") for level, curve in curves.items()}
    rows = []
    for i, reading in enumerate(readings):
        top = int(reading.rows["alpha"].argmax())
        row = {
            "text": shorten(reading.example.text, 44, placeholder=" …"),
            "predicted": reading.classes[reading.predicted],
            "most attended": reading.tokens[top],
            "weight": reading.rows["alpha"][top],
            "p, whole": reading.probabilities[reading.predicted],
        }
        row |= {f"p, {level}": frame["probability"][i] for level, frame in without.items()}
        changed = [level for level, frame in without.items() if frame["flipped"][i]]
        rows.append(row | {"decision changed at": " and ".join(changed) or "neither level"})
    return pd.DataFrame(rows)


def single_flips(models: Sequence[Fitted], examples: Sequence[Example], *, seed: int = 0) -> pd.DataFrame:
    """One row per seed, text, level and token removed: `value` is 1 where the decision changes.

    The token is the first of each ranking, or a random one that is not the most attended. Texts of one token are
    left out: without it nothing is left, and there is no other token to draw.
    """
    longer = [example for example in examples if len(example) > 1]
    frames = [_frame(models[0], [], metric=[], level=[], importance=[], value=[])]
    for fitted in models if longer else ():
        others = random_others(importance(fitted, longer, "alpha"), seed=seed)
        for name, ranking in (*((name, ranking) for ranking, name in FIRST.items()), (RANDOM, others)):
            for level in LEVELS:
                flips = top_token_flips(fitted, longer, ranking, level=level)
                values = flips["flipped"].astype(float).to_numpy()
                frames.append(_frame(fitted, longer, metric="flipped", level=level, importance=name, value=values))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def random_others(alpha: Sequence[np.ndarray], *, seed: int = 0) -> list[np.ndarray]:
    """Rankings whose first token is uniform over all but the most attended one, which comes last."""
    rankings = []
    for row, weights in enumerate(alpha):
        scores = np.random.default_rng([seed, row]).random(len(weights))
        scores[int(np.argmax(weights))] = -1.0
        rankings.append(scores)
    return rankings


def flip_shares(flips: pd.DataFrame) -> pd.DataFrame:
    """Mean and interval over seeds and texts for every level and token."""
    return _means(flips).rename(columns={"importance": "erased token"})


def fractions(models: Sequence[Fitted], examples: Sequence[Example], *, seed: int = 0) -> pd.DataFrame:
    """One row per seed, text, level and ranking: the share of tokens erased when the decision first flips.

    `removed` counts them. `aside` names the texts that a fraction would misrepresent: those that never flip
    (fraction NaN), and those that flip only when nothing is left and the bias alone answers.
    """
    frames = []
    for fitted in models:
        for ranking in RANKINGS:
            for level in LEVELS:
                found = fraction_to_flip(fitted, examples, ranking, level=level, seed=seed)
                aside = found["status"].map({"only_when_empty": NOTHING_LEFT, "never": NEVER, "flipped": None})
                frame = _frame(
                    fitted,
                    examples,
                    metric="fraction_to_flip",
                    level=level,
                    importance=ranking,
                    value=found["fraction"].to_numpy(float),
                )
                frames.append(frame.assign(aside=aside.astype(object), removed=found["removed"]))
    return pd.concat(frames, ignore_index=True)


def mean_fractions(fractions: pd.DataFrame) -> pd.DataFrame:
    """Mean fraction to flip of every level and ranking, with intervals; a decision that never flips counts as 1."""
    found = _means(fractions.assign(value=fractions["value"].fillna(1.0)))
    return found.assign(ranking=found["importance"].map(RANKINGS)).drop(columns="importance")


def decisive(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row per seed and text with a rationale: is the most attended token decisive, and how likely by chance?

    `value` is 1 where the most attended token is marked; `chance` the share of marked tokens; `mass` the attention
    on them.
    """
    marked = [example for example in examples if example.rationale is not None and any(example.rationale)]
    if not marked:
        raise DataError(
            "No text says which of its tokens decide: choose a corpus with rationales, such as planted."
        )
    frames = []
    for fitted in models:
        rows = [(reading.rows["alpha"], np.array(reading.example.rationale)) for reading in read(fitted, marked)]
        frame = _frame(fitted, marked, metric="top_is_decisive", value=[float(m[a.argmax()]) for a, m in rows])
        frames.append(frame.assign(chance=[m.mean() for _, m in rows], mass=[float(a[m].sum()) for a, m in rows]))
    return pd.concat(frames, ignore_index=True)


def series_map() -> pd.DataFrame:
    """The notebooks of the series, and whether this checkout holds them yet."""
    here = set(plan.names())
    rows = [{"notebook": n, "asks": asks, "in this checkout": n in here} for n, asks in SERIES.items()]
    rows += [
        {"notebook": n, "asks": plan.read(n).title, "in this checkout": True} for n in sorted(here - {*SERIES})
    ]
    return pd.DataFrame(rows)


def checks(
    models: Sequence[Fitted], corpus: Corpus, right: pd.DataFrame, flips: pd.DataFrame, fractions: pd.DataFrame
) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    readings = read(models[0], corpus.test)
    predictions = len(models) * len(corpus.test)
    longer = len(models) * sum(len(example) > 1 for example in corpus.test)
    kinds = flips.groupby(["level", "importance"]).size()
    by_attention = fractions[(fractions["level"] == "attention") & (fractions["importance"] == "alpha")]
    one_token = (by_attention["removed"] == 1) & by_attention["aside"].isna()
    by_one = flips.loc[(flips["level"] == "attention") & (flips["importance"] == TOP), "value"].sum()
    return {
        "attention sums to one in every text": all(abs(r.rows["alpha"].sum() - 1) < 1e-5 for r in readings),
        "every text and seed has a prediction": len(right) == predictions,
        "every longer text lost each kind of token once at each level": bool((kinds == longer).all())
        and len(kinds) in (0, len(LEVELS) * (len(FIRST) + 1)),
        "every text flips, flips when empty, or never does": len(fractions)
        == predictions * len(LEVELS) * len(RANKINGS)
        and bool((fractions["value"].isna() == (fractions["aside"] == NEVER)).all()),
        "both tests agree on the texts that one token flips": int(one_token.sum()) == int(by_one),
    }


def mean_share(frame: pd.DataFrame, column: str = "value") -> stats.Interval:
    """Mean of shares with its interval over seeds and texts, which has a width also where all texts agree."""
    found = stats.bootstrap(frame, groups="seed", instances="instance", column=column)
    texts = frame["instance"].nunique()
    low, high = widened(found.estimate, found.low, found.high, texts)
    return found._replace(low=low, high=high)


def _means(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean `value` with its interval over seeds and texts, one row per level and importance."""
    rows = []
    for (level, name), part in frame.groupby(["level", "importance"], sort=False):
        found = mean_share(part)
        row = {"level": level, "importance": name, "value": found.estimate, "low": found.low, "high": found.high}
        rows.append(row | {"n": found.n})
    return pd.DataFrame(rows, columns=["level", "importance", "value", "low", "high", "n"])


def _frame(fitted: Fitted, examples: Sequence[Example], **columns) -> pd.DataFrame:
    config = fitted.model_config
    shared = {"encoder": config.encoder, "attention": config.attention, "projection": config.projection}
    names = [example.id or str(i) for i, example in enumerate(examples)]
    return pd.DataFrame({**shared, "seed": fitted.seed, "instance": names, **columns})
