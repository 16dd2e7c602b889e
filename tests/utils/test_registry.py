"""Names and what is registered under them."""

from __future__ import annotations

import pytest

from attnlib.utils.errors import UnknownName
from attnlib.utils.registry import Registry


def test_registering_again_replaces() -> None:
    """As a notebook does when a cell is run twice."""
    rankings = Registry("ranking")
    for value in (1, 2):
        rankings.register("mine")(value)
    assert dict(rankings) == {"mine": 2}
    with pytest.raises(UnknownName, match="Did you mean 'mine'"):
        rankings["mien"]
