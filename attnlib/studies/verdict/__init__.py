"""The verdict: what five papers say together, and which of their tests to believe."""

from attnlib.studies.study import Paper

PAPER = Paper("Five papers together")
