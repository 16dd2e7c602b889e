"""Quantities in words."""

from __future__ import annotations

import pytest

from attnlib.utils.text import duration, filesize, percent, plural


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (85, "1 min 25 s"),
        (3599.6, "1 h 0 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e6, "2.5 MB"), (3e12, "3000.0 GB")]
)
def test_sizes(size: float, text: str) -> None:
    assert filesize(size) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.1234, "12.3%"), (1, "100.0%"), (-0.0001, "0.0%"), (float("nan"), "unknown")]
)
def test_shares(share: float, text: str) -> None:
    assert percent(share) == text


def test_counts() -> None:
    assert [plural(n, "text") for n in (0, 1, 2000)] == ["0 texts", "1 text", "2,000 texts"]
