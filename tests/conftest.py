"""Fixtures for the whole suite: small planted corpora, made once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("ATTNLIB_PROGRESS", "0")
sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["series_fixtures"]


@pytest.fixture(scope="session")
def planted():
    """Two classes, known decisive words, negation and distractors; 240/60/60 texts of 8 to 20 words."""
    from attnlib.data import load_corpus

    return load_corpus("planted", n_train=240, n_dev=60, n_test=60, vocabulary=60, longest=20)


@pytest.fixture(scope="session")
def planted_qa():
    """Stories with a question each, four places; 240/60/60."""
    from attnlib.data import load_corpus

    return load_corpus("planted", task="qa", n_train=240, n_dev=60, n_test=60)
