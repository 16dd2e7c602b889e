"""HFClassifier: a Hugging Face sequence classifier that keeps the contract `Explainable`."""

from __future__ import annotations


class HFClassifier:
    """Placeholder of the contract's second keeper, until the reader of checkpoints is in place."""
