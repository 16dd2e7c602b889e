"""How good predictions are: accuracy, F1, area under the ROC curve, cross-entropy."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax


def scores(labels: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """All scores at once. labels (N,) int, logits (N, C) float.

    accuracy     share of texts whose largest logit is the label
    f1_macro     mean F1 over the classes that occur among labels or predictions
    f1_positive  F1 of class 1; NaN unless there are two classes
    auc          area under the ROC curve of z_1 - z_0; NaN unless there are two classes and both occur
    loss         mean cross-entropy, in nats
    n            number of texts
    """
    from sklearn.metrics import f1_score, roc_auc_score  # here, since it takes half a second to import

    labels, logits = np.asarray(labels), np.asarray(logits, dtype=np.float64)
    predicted = logits.argmax(1)
    found = {
        "accuracy": float((predicted == labels).mean()),
        "f1_macro": float(f1_score(labels, predicted, average="macro")),
        "f1_positive": float("nan"),
        "auc": float("nan"),
        "loss": float(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels].mean()),
        "n": len(labels),
    }
    if logits.shape[1] == 2:
        found["f1_positive"] = float(f1_score(labels, predicted, labels=[1], average="macro", zero_division=0))
        if len(np.unique(labels)) == 2:
            found["auc"] = float(roc_auc_score(labels, logits[:, 1] - logits[:, 0]))
    return found
