"""The core installs without notebooks, clusters and hubs, and says which extra is missing where one is."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None  # importing it fails as if it were not installed
"""
OPTIONAL = (
    "jupyterlab ipykernel ipywidgets anywidget papermill nbformat nbclient nbconvert latex2mathml IPython jinja2 "
    "pygments bs4 distributed transformers tokenizers datasets captum"
).split()


def run(code: str, blocked: list[str] = OPTIONAL) -> subprocess.CompletedProcess[str]:
    script = BLOCK.format(blocked=blocked) + code
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_train_and_erase_without_any_extra() -> None:
    done = run(
        "import attnlib as al\n"
        "corpus = al.load_corpus('planted', n_train=60, n_dev=20, n_test=20)\n"
        "fitted = al.fit(corpus, al.ModelConfig(encoder='mlp'), al.TrainConfig(epochs=1))\n"
        "print(len(al.fraction_to_flip(fitted, corpus.test, 'alpha')))\n"
        "print(len(al.comprehensiveness(fitted, corpus.test, 'alpha')))\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "20"


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("from attnlib.cli.main import main; main(['run', '01_tasc'], standalone_mode=False)", "notebooks"),
        ("from attnlib.store.executors import make_executor; make_executor('dask:tcp://127.0.0.1:1')", "cluster"),
        ("import attnlib as al; al.load_corpus('hub:imdb')", "hub"),
    ],
    ids=["notebooks", "cluster", "hub"],
)
def test_a_missing_extra_is_named(code: str, extra: str) -> None:
    done = run(code)
    assert done.returncode != 0
    assert f"attnlib[{extra}]" in done.stderr + done.stdout
