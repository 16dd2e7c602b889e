"""One model space: every encoder, attention, projection, scaling and regulariser, in any combination."""

from __future__ import annotations

import numpy as np

from attnlib.config import ModelConfig
from attnlib.models.classifier import AttentionClassifier
from attnlib.models.hierarchical import HierarchicalClassifier
from attnlib.models.trace import Trace

__all__ = ["AttentionClassifier", "HierarchicalClassifier", "Trace", "build_model"]


def build_model(
    config: ModelConfig,
    n_ids: int,
    n_classes: int,
    vectors: np.ndarray | None = None,
    query: bool = False,
    *,
    mask_id: int | None = None,
) -> AttentionClassifier | HierarchicalClassifier:
    """The model a config describes, with fresh parameters from torch's generator; see `classifier.Classifier`."""
    model = HierarchicalClassifier if config.hierarchical else AttentionClassifier
    return model(config, n_ids, n_classes, vectors, query, mask_id=mask_id)
