"""Fixtures for the whole suite: small planted corpora, made once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("ATTNLIB_PROGRESS", "0")
os.environ.setdefault("ATTNLIB_STRICT", "1")
sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["series_fixtures"]


@pytest.fixture(autouse=True)
def charts_hold_their_data(monkeypatch):
    """Every chart that a test draws has all its marks inside its axes, and no texts that touch."""
    if "attnlib.viz.plots" not in sys.modules:  # a test without charts need not wait for matplotlib
        yield
        return
    from attnlib.viz.limits import outside, touching
    from attnlib.viz.plots import Chart

    drawn, start = [], Chart.__init__

    def remember(self, **options):
        start(self, **options)
        drawn.append(self)

    monkeypatch.setattr(Chart, "__init__", remember)
    yield
    cut = [(chart.axes[0].get_title("left"), found) for chart in drawn if chart.axes and (found := outside(chart))]
    assert not cut, f"cut off by their axes: {cut}"
    close = [found for chart in drawn if (found := touching(chart))]
    assert not close, f"texts that touch: {close}"


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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte; skipped where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system may not be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
