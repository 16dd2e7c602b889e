"""How good predictions are: accuracy, F1, area under the ROC curve, cross-entropy."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata


def scores(labels: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """All scores at once. labels (N,) int, logits (N, C) float.

    accuracy     share of texts whose largest logit is the label
    f1_macro     mean F1 over the classes that occur among labels or predictions
    f1_positive  F1 of class 1; NaN unless there are two classes
    auc          area under the ROC curve of p(class 1); NaN unless there are two classes and both occur
    loss         mean cross-entropy, nats
    n            number of texts
    """
    labels, logits = np.asarray(labels), np.asarray(logits, dtype=np.float64)
    predicted = logits.argmax(1)
    binary = logits.shape[1] == 2
    shifted = logits - logits.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return {
        "accuracy": float((predicted == labels).mean()),
        "f1_macro": float(np.mean([f1(labels, predicted, c) for c in np.union1d(labels, predicted)])),
        "f1_positive": f1(labels, predicted, 1) if binary else float("nan"),
        "auc": auc(labels, logits[:, 1] - logits[:, 0]) if binary else float("nan"),
        "loss": float(-log_p[np.arange(len(labels)), labels].mean()),
        "n": len(labels),
    }


def f1(labels: np.ndarray, predicted: np.ndarray, positive: int) -> float:
    """2 TP / (2 TP + FP + FN) of one class; 0 where the class neither occurs nor is predicted."""
    hits = ((labels == positive) & (predicted == positive)).sum()
    total = (labels == positive).sum() + (predicted == positive).sum()
    return float(2 * hits / total) if total else 0.0


def auc(labels: np.ndarray, score: np.ndarray) -> float:
    """P(score of a positive > score of a negative), ties half (Mann & Whitney); NaN with one class alone."""
    positive = np.asarray(labels) == 1
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return float("nan")
    return float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * m))
