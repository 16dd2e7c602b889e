"""Numbers in words."""

from __future__ import annotations


def plural(n: int, noun: str) -> str:
    """`1 text`, `2 texts`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """A share as readers like it: 12.3%, and never -0.0%."""
    return "unknown" if share != share else f"{share + 0.0:.1%}".replace("-0.0%", "0.0%")
