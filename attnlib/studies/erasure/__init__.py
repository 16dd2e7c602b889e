"""Erasing attention weights (Serrano & Smith 2019)."""

from attnlib.studies.study import Paper

PAPER = Paper(
    "Serrano & Smith 2019",
    "Is Attention Interpretable?",
    "ACL 2019",
    "https://aclanthology.org/P19-1282/",
    corpora=1,
)
