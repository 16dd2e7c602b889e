"""The first notebook: a classifier with attention, read and erased.

One row a text and seed everywhere, so that every mean has an interval over both; the random token is drawn from
all but the most attended one (Serrano & Smith 2019, section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import notebooks, stats
from attnlib.claims import Claim, judge
from attnlib.erasure import erasure_curves, fraction_to_flip, top_token_flips
from attnlib.errors import DataError
from attnlib.heatmap import read
from attnlib.importance import importance
from attnlib.studies.quickstart_params import Params  # noqa: F401  the notebook's

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.fitted import Fitted

LEVELS = ("attention", "input")
TOP, RANDOM = "most attended", "random other"
NOTHING_LEFT, NEVER = "only when nothing is left", "never"
SERIES = {
    "00_quickstart": "this notebook: one model, its attention, one token erased",
    "01_tasc": "task-specific scaling: does it make attention more faithful?",
    "02_tying_mlm": "regularised encoders: does staying close to the words give attention back its meaning?",
    "03_sparsity": "sparse attention: is a shorter explanation a truer one?",
    "04_mutual_information": "mutual information: do highly attended states know more about the answer?",
    "05_erasure": "erasure at scale: how much must go before a decision flips?",
    "06_verdict": "the verdict: all claims of the five papers side by side",
    "07_audit": "an audit of your own model or data",
}
"""What each notebook of the series asks."""


def splits(corpus: Corpus) -> pd.DataFrame:
    """The corpus as readers like it: one row a split, shares of classes, known words."""
    found = corpus.stats().drop(columns="dataset")
    return found.rename(columns=lambda name: name.replace("share_", "share of ").replace("_", " "))


def accuracy(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row a seed and text: `value` is 1 where the prediction is right."""
    truth = [models[0].classes[example.label] for example in examples]
    frames = []
    for fitted in models:
        labels = fitted.predict(examples).labels
        right = [float(a == b) for a, b in zip(labels, truth, strict=True)]
        frames.append(_frame(fitted, examples, metric="accuracy", value=right))
    return pd.concat(frames, ignore_index=True)


def accuracy_by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy and its interval over texts for every seed."""
    rows = []
    for seed, part in frame.groupby("seed"):
        found = stats.bootstrap(part["value"])
        rows.append({"seed": seed, "accuracy": found.estimate, "low": found.low, "high": found.high, "n": found.n})
    return pd.DataFrame(rows)


def choose(
    fitted: Fitted, examples: Sequence[Example], n: int, *, shortest: int = 8, longest: int = 24
) -> list[Example]:
    """`n` texts to look at, evenly over the model's confidence, so that sure and unsure ones are shown alike.

    Of a corpus of long texts, the shortest tenth is chosen from.
    """
    readable = [e for e in examples if shortest <= len(e) <= longest]
    if len(readable) < n:
        readable = sorted(examples, key=len)[: max(n, len(examples) // 10)]
    sure = fitted.predict(readable).probabilities.max(1)
    order = np.argsort(-sure, kind="stable")
    places = np.linspace(0, len(order) - 1, min(n, len(order))).round().astype(int)
    return [readable[order[place]] for place in places]


def erase_top(fitted: Fitted, examples: Sequence[Example]) -> pd.DataFrame:
    """One row a text: its most attended token, and p of the class first predicted with and without that token."""
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
    """One row a seed, text, level and token removed: `value` is 1 where the decision changes.

    Texts of one token are left out: without it nothing is left, and there is no other token to draw.
    """
    longer = [example for example in examples if len(example) > 1]
    frames = []
    for fitted in models:
        alpha = importance(fitted, longer, "alpha")
        for name, ranking in ((TOP, alpha), (RANDOM, random_others(alpha, seed=seed))):
            for level in LEVELS:
                flips = top_token_flips(fitted, longer, ranking, level=level)
                values = flips["flipped"].astype(float).to_numpy()
                frames.append(_frame(fitted, longer, metric="flipped", level=level, importance=name, value=values))
    return pd.concat(frames, ignore_index=True)


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
    rows = []
    for (level, name), part in flips.groupby(["level", "importance"], sort=False):
        found = stats.bootstrap(part, groups="seed", instances="instance")
        rows.append({"level": level, "erased token": name, "value": found.estimate, "low": found.low})
        rows[-1] |= {"high": found.high, "n": found.n}
    return pd.DataFrame(rows)


def flip_difference(flips: pd.DataFrame, level: str) -> stats.Difference:
    """Share flipped by the most attended token minus that by a random other one, paired by text and seed."""
    part = flips[flips["level"] == level]
    wide = part.pivot_table(index=["seed", "instance"], columns="importance", values="value").reset_index()
    return stats.paired_bootstrap(wide[TOP], wide[RANDOM], groups=wide["seed"], instances=wide["instance"])


def fractions(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row a seed, text and level: the share of tokens erased, by attention, when the decision first flips.

    `aside` names the texts that a fraction would misrepresent: those that never flip (fraction NaN), and those that
    flip only when nothing is left and the bias alone answers.
    """
    frames = []
    for fitted in models:
        for level in LEVELS:
            found = fraction_to_flip(fitted, examples, "alpha", level=level)
            aside = found["status"].map({"only_when_empty": NOTHING_LEFT, "never": NEVER, "flipped": None})
            values = found["fraction"].to_numpy(float)
            frame = _frame(
                fitted, examples, metric="fraction_to_flip", level=level, importance="alpha", value=values
            )
            frames.append(frame.assign(aside=aside.astype(object)))
    return pd.concat(frames, ignore_index=True)


def decisive(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row a seed and text with a rationale: is the most attended token decisive, and how likely by chance?

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


def claims(flips: pd.DataFrame, setting: str) -> list[Claim]:
    """Two sentences of Serrano & Smith that one model can already be asked about, at the attention level."""
    difference = flip_difference(flips, "attention")
    top = flips[(flips["level"] == "attention") & (flips["importance"] == TOP)]
    kept = stats.bootstrap(1 - top["value"], groups=top["seed"], instances=top["instance"])
    common = {"paper": "Serrano & Smith 2019", "setting": setting}
    return [
        Claim(
            id="00.top_beats_random",
            claim="Removing the most attended token changes more decisions than removing a random other one.",
            where="section 4.2, Table 2",
            test="share flipped by the top token minus share flipped by a random other one is above 0",
            effect=difference.estimate,
            low=difference.low,
            high=difference.high,
            n=difference.n,
            verdict=judge(difference.low, difference.high, "greater"),
            n_of="texts times seeds",
            **common,
        ),
        Claim(
            id="00.most_survive",
            claim="In most texts the decision survives the loss of the most attended token.",
            where="section 4.2, Table 2",
            test="share of decisions that stay is above one half",
            effect=kept.estimate,
            low=kept.low,
            high=kept.high,
            n=kept.n,
            verdict=judge(kept.low, kept.high, "greater", 0.5),
            n_of="texts times seeds",
            **common,
        ),
    ]


def series_map() -> pd.DataFrame:
    """The notebooks of the series, and whether this checkout holds them yet."""
    here = set(notebooks.names())
    rows = [{"notebook": n, "asks": asks, "in this checkout": n in here} for n, asks in SERIES.items()]
    rows += [
        {"notebook": n, "asks": notebooks.read(n).title, "in this checkout": True} for n in sorted(here - {*SERIES})
    ]
    return pd.DataFrame(rows)


def checks(
    models: Sequence[Fitted], corpus: Corpus, right: pd.DataFrame, flips: pd.DataFrame, fractions: pd.DataFrame
) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    readings = read(models[0], corpus.test)
    predictions = len(models) * len(corpus.test)
    longer = len(models) * sum(len(example) > 1 for example in corpus.test)
    top, other = (flips[flips["importance"] == name] for name in (TOP, RANDOM))
    once = fractions[fractions["level"] == "attention"]
    first = once.loc[once["aside"].isna(), "value"]
    by_one = top.loc[top["level"] == "attention", "value"].sum()
    lengths = {example.id or str(i): len(example) for i, example in enumerate(corpus.test)}
    one_token = (first * once.loc[first.index, "instance"].map(lengths)).round() == 1
    return {
        "attention sums to one in every text": all(abs(r.rows["alpha"].sum() - 1) < 1e-5 for r in readings),
        "every text and seed has a prediction": len(right) == predictions,
        "every longer text lost each kind of token once a level": len(top) == len(other) == longer * len(LEVELS),
        "every text flips, flips when empty, or never does": len(once) == predictions
        and bool((once["value"].isna() == (once["aside"] == NEVER)).all()),
        "both tests agree on the texts that one token flips": int(one_token.sum()) == int(by_one),
    }


def _frame(fitted: Fitted, examples: Sequence[Example], **columns) -> pd.DataFrame:
    config = fitted.model_config
    shared = {"encoder": config.encoder, "attention": config.attention, "projection": config.projection}
    names = [example.id or str(i) for i, example in enumerate(examples)]
    return pd.DataFrame({**shared, "seed": fitted.seed, "instance": names, **columns})
