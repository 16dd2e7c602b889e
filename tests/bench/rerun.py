"""What is answered from disk: a tokenised corpus, and a notebook whose results are in the store."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attnlib.utils.paths import ROOT
from tests.bench import Row, bench

TEXTS, RERUN = 10_000, 15.0
LOAD = """
import sys, time
from attnlib.data import load_corpus
start = time.process_time()
corpus = load_corpus(sys.argv[1])
assert len(corpus.train) > 7_000 and len(corpus.vocabulary) > 5_000
print(time.process_time() - start)
"""


@bench("rerun")
def rerun() -> Iterator[Row]:
    """Fresh processes, as every run of a notebook is one; a notebook's processor time, kernel and HTML included."""
    with tempfile.TemporaryDirectory(prefix="attnlib-bench-") as folder:
        table = texts(Path(folder) / "texts.csv")
        there = {**os.environ, "ATTNLIB_CACHE": f"{folder}/cache", "ATTNLIB_STORE": f"{folder}/store"}
        first, again = (float(told([sys.executable, "-c", LOAD, table], there)) for _ in range(2))
        yield Row(
            "loading, tokenised before, vs tokenising", f"{TEXTS:,} texts", again, first, first / again, goal=5
        )
        run = [sys.executable, "-m", "attnlib", "run", "00_quickstart", "--out", f"{folder}/out"]
        for setting, goal in (("empty store", None), ("full store", 1.0)):
            start = spent()
            told(run, there)
            passed = spent() - start
            what = f"00_quickstart, {RERUN:g} s asked for"
            yield Row(what, setting, passed, RERUN, RERUN / passed, goal=goal)


def texts(path: Path, seed: int = 0) -> Path:
    """A table of texts of 10 to 40 words after Zipf, with labels."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 20_001)
    words = np.array([f"word{i}" for i in range(len(share))])
    lines = [" ".join(rng.choice(words, rng.integers(10, 40), p=share / share.sum())) for _ in range(TEXTS)]
    rows = (f"{text},{'good' if i % 2 else 'bad'}" for i, text in enumerate(lines))
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    return path


def spent() -> float:
    """Processor seconds of all processes that this one has started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def told(command: list, environment: dict[str, str]) -> str:
    """What a command prints; its errors are raised."""
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[1:4]} failed: {done.stderr[-2000:]}")
    return done.stdout
