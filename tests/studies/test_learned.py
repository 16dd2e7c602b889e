"""Models that learned nothing, against scikit-learn's macro-F1, model by model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib.studies.results import LEARNED, idle

BY = ["encoder", "lam", "seed"]


def slow(labels: pd.DataFrame) -> list[tuple]:
    """As the docstring of `idle` has it."""
    rows = []
    for key, part in labels.groupby(BY, dropna=False):
        truth, said = part["truth"], part["prediction"]

        def macro(other, truth=truth):
            return f1_score(truth, other, average="macro", zero_division=0)

        level = max(macro([truth.mode()[0]] * len(part)), 1 / truth.nunique())
        if macro(said) < level + LEARNED:
            rows.append(key)
    return rows


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_idle_models_are_those_of_the_slow_definition(classes):
    rng = np.random.default_rng(classes)
    names = np.array([f"class {k}" for k in range(classes)])
    parts = []
    for seed, (encoder, lam) in enumerate([("lstm", 0.5), ("lstm", np.nan), ("cnn", np.nan)] * 8):
        shares = rng.dirichlet(np.ones(classes))
        truth = rng.choice(names, 60, p=shares)
        said = np.where(rng.random(60) < rng.choice([0.1, 0.3, 0.5, 0.9]), truth, rng.choice(names, 60))
        if seed % 5 == 0:
            said = np.full(60, "a class that no text has")
        part = pd.DataFrame({"truth": truth, "prediction": said})
        parts.append(part.assign(encoder=encoder, lam=lam, seed=seed))
    labels = pd.concat(parts, ignore_index=True).sample(frac=1, random_state=0)
    found = idle(labels, BY)
    expected = slow(labels)
    assert 0 < len(expected) < 24
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=BY).astype(labels[BY].dtypes))
