"""Some texts of a corpus, or some words of a text: samples and excerpts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from attnlib.data.readers.base import read_yaml
from attnlib.data.types import Example
from attnlib.utils.errors import ConfigError

_LISTED = {kind: words.split() for kind, words in read_yaml("unshown.yaml").items()}
_FOUND = re.compile(rf"{'|'.join(_LISTED['beginnings'])}|(?:{'|'.join(_LISTED['whole'])})(?:e?s)?$")


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


def presentable(tokens: Iterable[str]) -> bool:
    """Whether none of the words is listed in `unshown.yaml`."""
    return not any(_FOUND.match(token.lower().lstrip("#'\"-")) for token in tokens)


def preferred(examples: Sequence[Example]) -> list[Example]:
    """The examples that can be shown to anybody; all of them where there are none."""
    return [example for example in examples if presentable(example.tokens)] or list(examples)


def usual_length(lengths: Sequence[int]) -> int:
    """Where Chrysostomou & Aletras cut: a length that about 95% of the texts do not exceed.

    The left edge of the bin, of 100 between the shortest and the longest text, in which 95% of the texts are
    reached; below 50 tokens, the length of the longest text.
    """
    counts, edges = np.histogram(lengths, 100)
    edge = int(edges[np.searchsorted(counts.cumsum(), 0.95 * len(lengths))])
    return edge if edge >= 50 else int(max(lengths))


def selected(example: Example, positions: Sequence[int]) -> Example:
    """The tokens at some positions, in order, with their marks and sentences."""
    starts, marks = example.sentences, example.rationale
    if starts is not None:
        # a sentence may begin with a token that is gone, or be gone as a whole
        moved = np.searchsorted(positions, starts).tolist()
        starts = tuple(sorted({0, *(start for start in moved if start < len(positions))}))
    return replace(
        example,
        tokens=tuple(example.tokens[i] for i in positions),
        rationale=None if marks is None else tuple(marks[i] for i in positions),
        sentences=starts,
    )


def excerpted(example: Example, excerpts: Sequence[Sequence[int | None]]) -> Example:
    """The tokens of some slices of a text, each once and in order."""
    positions = sorted({i for ends in excerpts for i in range(len(example))[slice(*ends)]})
    return example if len(positions) == len(example) else selected(example, positions)
