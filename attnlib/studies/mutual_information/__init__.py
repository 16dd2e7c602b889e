"""Revisiting Attention Weights as Explanations from an Information Theoretic Perspective (Wen et al., NeurIPS 2022
workshop)."""

from attnlib.studies.study import Paper

PAPER = Paper("Wen et al. 2022", corpora=1)
