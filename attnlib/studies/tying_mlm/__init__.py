"""Staying True to Your Word: (How) Can Attention Become Explanation? (Tutek & Šnajder, RepL4NLP 2020)."""

from attnlib.studies.study import Paper

PAPER = Paper("Tutek & Šnajder 2020", "https://aclanthology.org/2020.repl4nlp-1.17/", corpora=5)
