r"""Does a ranking mark what people marked? Plausibility, after ERASER (DeYoung et al. 2020).

A rationale is one bool per token; scores are one number per token. Of one text:

average precision  area under the precision-recall curve as a step function. Equal scores are put in a random order,
                   fixed by `seed`: ERASER's trapezoid pays for ties, so that constant scores beat random ones
                   by far
token_f1           2 |T ∩ P| / (|T| + |P|) of the top k tokens P, with k the mean length of the rationales
iou_f1             F1 over spans: a predicted span counts where its best IoU with a marked span is at least 0.5. To
                   be shown, never judged by: a ranking that knows half of all marked tokens gets almost nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.data.checks import floats
from attnlib.rankings.scores import importance
from attnlib.stats.inference import effect
from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.engine.explainable import Explainable

METRICS = ("average_precision", "token_f1", "iou_f1")
MATCH = 0.5
"""Overlap from which on a predicted span counts as a marked one."""
DRAWS = 10
Masks = Sequence[np.ndarray]


def average_precision(scores: np.ndarray, marked: np.ndarray, *, seed: int = 0) -> float:
    r"""Average precision of one text, :math:`\sum_k (R_k - R_{k-1}) P_k`; NaN without a marked token."""
    scores, marked = _checked(scores, marked)
    if not marked.any():
        return float("nan")
    hits = marked[_order(scores, seed)]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def _order(scores: np.ndarray, seed: int) -> np.ndarray:
    """Tokens from the largest score down, equal ones at random."""
    return np.lexsort((np.random.default_rng(seed).random(len(scores)), -scores))


def token_f1(predicted: np.ndarray, marked: np.ndarray) -> float:
    """2 |T ∩ P| / (|T| + |P|); one where both are empty."""
    both = predicted.sum() + marked.sum()
    return 2 * float((predicted & marked).sum()) / float(both) if both else 1.0


def spans(mask: np.ndarray) -> list[tuple[int, int]]:
    """Runs of marked tokens as (start, end), the end excluded."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def iou_counts(predicted: np.ndarray, marked: np.ndarray) -> tuple[float, float]:
    """Precision and recall of spans: a predicted span matches where its best IoU is at least `MATCH`."""
    told, true = spans(predicted), spans(marked)
    matched = sum(max((_iou(one, other) for other in true), default=0.0) >= MATCH for one in told)
    return (matched / len(told) if told else 0.0), (matched / len(true) if true else 0.0)


def rationale_scores(scores: Sequence[np.ndarray], masks: Masks, *, seed: int = 0) -> pd.DataFrame:
    """One row per text: instance, average_precision, token_f1, precision and recall of spans."""
    if len(scores) != len(masks):
        raise DataError(f"plausibility: {len(scores)} arrays of scores for {len(masks)} rationales.")
    if not len(masks):
        raise DataError("plausibility: no text has a rationale.")
    k = max(1, round(float(np.mean([np.sum(mask) for mask in masks]))))
    rows = []
    for i, (values, mask) in enumerate(zip(scores, masks, strict=True)):
        values, mask = _checked(values, mask, i)
        chosen = np.zeros(len(values), bool)
        chosen[_order(values, seed + i)[:k]] = True
        precision, recall = iou_counts(chosen, mask)
        found = {"average_precision": average_precision(values, mask, seed=seed + i)}
        found |= {"token_f1": token_f1(chosen, mask), "precision": precision, "recall": recall}
        rows.append({"instance": i, **found})
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Mean and interval of each metric over texts; iou_f1: F1 of mean precision and recall, without an interval."""
    rows = []
    for metric in METRICS[:2]:
        part = frame[["instance"]].assign(value=frame[metric]).dropna()
        found = effect(part, training=None, bounds=(0, 1), level=level).row()
        rows.append({"metric": metric} | {name: found[name] for name in ("value", "low", "high", "texts")})
    p, r = frame["precision"].mean(), frame["recall"].mean()
    rows.append({"metric": METRICS[2], "value": 2 * p * r / (p + r) if p + r else 0.0, "texts": len(frame)})
    return pd.DataFrame(rows)


def plausibility(
    model: Explainable | Sequence[np.ndarray],
    examples: Sequence[Example] | Masks,
    ranking: str | Sequence[np.ndarray] = "alpha",
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """How well a ranking agrees with human rationales, next to random scores.

    model, examples  a model and Examples with rationales (texts without one are left out); or scores and masks
    ranking          of the model: the name of an importance, or scores of your own, one array per text

    One row per metric: value, low, high, texts, random (what random scores get).

    >>> found = al.plausibility([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [[True, False, False], [False, False, True]])
    >>> dict(zip(found["metric"], found["value"]))
    {'average_precision': 1.0, 'token_f1': 1.0, 'iou_f1': 1.0}
    """
    if hasattr(model, "logits"):
        every = model.examples(examples)
        places = [i for i, e in enumerate(every) if e.rationale is not None and any(e.rationale)]
        if not places:
            raise DataError("plausibility: no text says which of its tokens are decisive (a rationale).")
        kept = [every[i] for i in places]
        masks = [np.array(e.rationale, bool) for e in kept]
        if isinstance(ranking, str):
            scores = importance(model, kept, ranking)
        elif len(ranking) == len(every):
            scores = [ranking[i] for i in places]
        else:
            raise DataError(f"plausibility: {len(ranking)} arrays of scores for {len(every)} texts.")
    else:
        scores, masks = list(model), [np.asarray(mask, bool) for mask in examples]
    table, rng = summary(rationale_scores(scores, masks, seed=seed)), np.random.default_rng([seed, 11])
    draws = [[rng.random(len(mask)) for mask in masks] for _ in range(DRAWS)]
    chance = [summary(rationale_scores(draw, masks, seed=seed))["value"] for draw in draws]
    return table.assign(random=np.mean(chance, 0))


def _iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    shared = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return shared / (a[1] - a[0] + b[1] - b[0] - shared)


def _checked(scores: np.ndarray, marked: np.ndarray, text: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    scores, marked = floats(scores, "a text" if text is None else f"text {text} (from 0)"), np.asarray(marked, bool)
    if scores.shape != marked.shape or scores.ndim != 1:
        where = "" if text is None else f" of text {text}"
        raise DataError(
            f"plausibility: {scores.size} scores for a rationale over {marked.size} tokens{where}. Give one number "
            "per token (word)."
        )
    if np.isnan(scores).any():
        raise DataError("plausibility: NaN among the scores, which no ranking can place. Give a number per token.")
    return scores, marked
