"""One model space: every encoder, attention, projection, scaling and regulariser, in any combination."""

from __future__ import annotations

from typing import Any

from attnlib.config import ModelConfig
from attnlib.models.classifier import AttentionClassifier
from attnlib.models.hierarchical import HierarchicalClassifier
from attnlib.models.trace import Trace

__all__ = ["AttentionClassifier", "HierarchicalClassifier", "Trace", "build_model"]


def build_model(config: ModelConfig, *given: Any, **options: Any) -> AttentionClassifier | HierarchicalClassifier:
    """The model a config describes, with fresh parameters; what else it takes: `classifier.Classifier`."""
    return (HierarchicalClassifier if config.hierarchical else AttentionClassifier)(config, *given, **options)
