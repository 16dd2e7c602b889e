"""Is Sparse Attention more Interpretable? (Meister et al., ACL 2021)."""

from attnlib.studies.study import Paper

PAPER = Paper("Meister et al. 2021", "https://aclanthology.org/2021.acl-short.17/", corpora=3)
