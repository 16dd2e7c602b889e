"""The question of the five papers, in small: one model, its attention, words erased."""

from attnlib.studies.study import Paper

PAPER = Paper("Serrano & Smith 2019", "https://aclanthology.org/P19-1282/")
