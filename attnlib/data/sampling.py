"""A part of a split, for measures that cost too much on all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlib.data.types import Example
from attnlib.utils.errors import ConfigError


def sampled(examples: Sequence[Example], n: int | None, seed: int = 0) -> list[Example]:
    """`n` of the texts at random, in their own order (None: all), since splits may be sorted by class.

    A smaller sample with the same seed lies within a larger one, so that measures on both can be paired.
    """
    if n is not None and n < 1:
        raise ConfigError(f"A sample needs at least one text; got n = {n}. None takes them all.")
    if n is None or n >= len(examples):
        return list(examples)
    chosen = np.random.default_rng(seed).permutation(len(examples))[:n]
    return [examples[i] for i in np.sort(chosen)]
