"""What the entries of `settings.yaml` name besides the configs of models."""

from __future__ import annotations

from pathlib import PurePosixPath

from attnlib.store.specs import FitSpec
from attnlib.studies.settings import read_settings

VECTORS = {
    "none": "random",
    "glove": "GloVe 6B",
    "word2vec": "word2vec, Google News",
    "wiki.simple.vec": "fastText",
}

DELTAS = (1.0, 10.0, 20.0, 30.0)
"""The weights of tying in section 3.1."""


def _vectors(fit: FitSpec) -> str:
    name = PurePosixPath(fit.model.vectors).name
    return VECTORS.get(name, "word2vec of clinical notes" if "mimic" in name else name)


def _delta(fit: FitSpec) -> float:
    """δ against a loss that is summed over a batch, where ours is a mean."""
    return round(fit.model.tying_delta * fit.train.batch_size, 6)


def _next_to(fit: FitSpec) -> str:
    """What makes a weight one of the paper's: a loss summed over a batch, or its mean."""
    if _delta(fit) in DELTAS:
        return "a sum over the batch"
    return "a mean" if fit.model.tying_delta in DELTAS else "weights of your own"


SETTINGS = read_settings(
    __file__,
    vectors=_vectors,
    delta=_delta,
    next_to=_next_to,
    direction_width=lambda fit: fit.model.hidden_size // 2,
)
