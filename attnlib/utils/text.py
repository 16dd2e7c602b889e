"""Quantities in readable form: durations, sizes, shares and counts."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def filesize(size: float) -> str:
    """Bytes in a suitable unit: `999 B`, `1.5 kB`."""
    if size < 1000:
        return f"{size:.0f} B"
    for unit in ("kB", "MB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"


def percent(share: float) -> str:
    """`12.3%`, and never `-0.0%`; a missing share is `unknown`."""
    return "unknown" if share != share else f"{share + 0.0:.1%}".replace("-0.0%", "0.0%")


def plural(n: int, noun: str) -> str:
    """`1 text`, `2,000 texts`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
