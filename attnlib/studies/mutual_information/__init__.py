"""Attention and information (Wen et al. 2022)."""

from attnlib.studies.study import Paper

PAPER = Paper(
    "Wen et al. 2022",
    "Revisiting Attention Weights as Explanations from an Information Theoretic Perspective",
    "NeurIPS 2022 workshop",
    "",
    corpora=1,
)
