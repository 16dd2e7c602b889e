"""Is Attention Interpretable? (Serrano & Smith, ACL 2019): weights are erased."""

from attnlib.studies.study import Paper

PAPER = Paper("Serrano & Smith 2019", "https://aclanthology.org/P19-1282/", corpora=1)
