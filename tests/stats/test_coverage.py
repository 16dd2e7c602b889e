"""Do the intervals cover? Simulated designs with a known effect: cells × trainings × texts, with and without noise.

The nominal level is 95%. A design passes where the share of covering intervals lies within 93–97%, give or take the
simulation's own error (three standard errors); with two trainings per cell at least 90% is asked.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from attnlib.stats import inference, jackknife

pytestmark = pytest.mark.slow
RUNS = 400
ERROR = 3 * np.sqrt(0.95 * 0.05 / RUNS)

# cells, trainings, texts, spread of: trainings, texts, text × cell, text × training
DESIGNS = [
    (1, 2, 400, 0.05, 0.5, 0.0, 0.5),
    (2, 2, 400, 0.10, 0.5, 0.2, 0.5),
    (1, 3, 200, 0.05, 0.5, 0.0, 0.5),
    (1, 3, 200, 0.20, 0.5, 0.0, 0.0),
    (2, 3, 50, 0.10, 0.5, 0.0, 0.0),
    (6, 3, 300, 0.05, 0.5, 0.3, 0.5),
    (12, 3, 100, 0.10, 0.5, 0.3, 0.5),
    (1, 5, 1000, 0.05, 0.5, 0.0, 0.5),
    (3, 5, 50, 0.05, 0.5, 0.0, 0.5),
    (6, 4, 200, 0.02, 0.5, 0.0, 0.0),
    (1, 10, 100, 0.10, 0.5, 0.0, 0.5),
    (2, 10, 50, 0.05, 0.3, 0.1, 0.5),
]


def values(design: tuple, rng: np.random.Generator) -> np.ndarray:
    """(cells, trainings, texts) values with mean 0."""
    cells, trainings, texts, between, text, text_cell, rest = design
    shared = rng.normal(0, text, texts)
    own = rng.normal(0, text_cell, (cells, 1, texts))
    chance = rng.normal(0, between, (cells, trainings, 1))
    return shared + own + chance + rng.normal(0, rest, (cells, trainings, texts))


def frame_of(design: tuple) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([range(n) for n in design[:3]], names=["encoder", "seed", "instance"])
    return index.to_frame(index=False)


def within(covered: int, trainings: int) -> bool:
    share = covered / RUNS
    return share > (0.90 if trainings == 2 else 0.93) - ERROR and share < (1.0 if trainings == 2 else 0.97 + ERROR)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_means_cover(design: tuple) -> None:
    rng, frame, covered = np.random.default_rng(0), frame_of(design), 0
    for _ in range(RUNS):
        found = inference.effect(frame.assign(value=values(design, rng).ravel()), ["encoder"])
        covered += found.low <= 0 <= found.high
    assert within(covered, design[1]), covered / RUNS


@pytest.mark.parametrize(("design", "border"), [(DESIGNS[5], 0.3), (DESIGNS[2], 1.2), (DESIGNS[8], 0.0)], ids=str)
def test_shares_cover(design: tuple, border: float) -> None:
    rng, frame, covered = np.random.default_rng(1), frame_of(design), 0
    truth = scipy_stats.norm.sf(border / np.sqrt(sum(spread**2 for spread in design[3:])))
    for _ in range(RUNS):
        value = (values(design, rng) > border).astype(float).ravel()
        found = inference.effect(frame.assign(value=value), ["encoder"], bounds=(0, 1))
        covered += found.low <= truth <= found.high
    assert within(covered, design[1]), covered / RUNS


@pytest.mark.parametrize("design", [DESIGNS[2], DESIGNS[5], DESIGNS[10]], ids=str)
def test_f1_covers(design: tuple) -> None:
    """Predictions that are right where a text is easy: the F1 of a large population is the truth."""
    rng, frame, covered = np.random.default_rng(2), frame_of(design), 0
    spread = np.sqrt(sum(s**2 for s in design[3:]))
    right = scipy_stats.norm.sf(-0.5 / spread)  # share of texts classified correctly, equal for both classes
    for _ in range(RUNS // 2):
        truth = np.broadcast_to(rng.integers(0, 2, design[2]), design[:3])
        hit = values(design, rng) > -0.5
        labels = frame.assign(truth=truth.ravel(), prediction=np.where(hit, truth, 1 - truth).ravel())
        found = inference.effect(jackknife.f1_values(labels, ["encoder", "seed"]), ["encoder"])
        covered += found.low <= right <= found.high
    assert 0.93 - 1.5 * ERROR < covered / (RUNS // 2) <= 1.0


@pytest.mark.parametrize("design", [DESIGNS[6], DESIGNS[9]], ids=str)
def test_paired_contrasts_cover(design: tuple) -> None:
    rng, frame, covered = np.random.default_rng(3), frame_of(design), 0
    for _ in range(RUNS // 2):
        base = values(design, rng)
        other = base + 0.1 + rng.normal(0, 0.05, base.shape[:2])[..., None] + rng.normal(0, 0.2, base.shape)
        both = pd.concat(
            [frame.assign(variant=name, value=v.ravel()) for name, v in (("lin", other), ("none", base))]
        )
        found = inference.contrast(both, "variant", "lin", "none", ["encoder"])
        covered += found.low <= 0.1 <= found.high
    assert 0.93 - 1.5 * ERROR < covered / (RUNS // 2) < 0.97 + 1.5 * ERROR


@pytest.mark.parametrize("trainings", [3, 5, 10])
def test_one_statistic_per_training_covers(trainings: int) -> None:
    """Kendall's tau of every training, over four cells."""
    rng, covered = np.random.default_rng(4), 0
    frame = frame_of((4, trainings, 1)).drop(columns="instance")
    draws = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], (RUNS, 4 * trainings, 12))
    signs = np.sign(draws[..., :, None, :] - draws[..., None, :, :])
    taus = signs.prod(-1).sum((-1, -2)) / (12 * 11)
    truth = 2 / np.pi * np.arcsin(0.6)
    for run in taus:
        found = inference.effect(frame.assign(value=run), ["encoder"], text=None)
        covered += found.low <= truth <= found.high
    assert within(covered, trainings), covered / RUNS
