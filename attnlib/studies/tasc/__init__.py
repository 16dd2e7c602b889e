"""Improving the Faithfulness of Attention-based Explanations with Task-specific Information for Text Classification
(Chrysostomou & Aletras, ACL 2021)."""

from attnlib.studies.study import Paper

PAPER = Paper("Chrysostomou & Aletras 2021", "https://aclanthology.org/2021.acl-long.40/", corpora=1)
