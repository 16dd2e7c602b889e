"""Shared by the tests of the pipeline: a small series of notebooks, and one run of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PARAMETERS = """\
corpus: str = "planted"  # name or path of a corpus
seed: int = 0  # of training
rate: float = 1e-3  # learning rate
encoder: Literal["lstm", "mlp"] = "lstm"  # what reads the text
level: str = "input"  # one of: input | attention
seeds: list[int] = [0, 1]
options: dict = {}
limit: int | None = None  # texts per split
fail: bool = False
wait: float = 0.0  # seconds
"""
CLAIM = """dict(id="c{n}", paper="Paper", claim="<u>claim</u> {n}", where="Table 1", setting="here", effect=0.5, \
low=0.1, high=0.9, n=10, verdict="{verdict}", figure="{figure}")"""
VERDICTS = ("reproduced", "reproduced", "not reproduced", "undetermined")
FIGURES = ("first", "first", "texts", "nosuch")
DEMO: list[tuple[str, str, list[str]]] = [
    ("markdown", "# A **demo** of `everything`\n\nSee [the paper](https://doi.org/10.1/x) and $\\alpha_i$.", []),
    (
        "code",
        "import os, sys, time\nfrom typing import Literal\n\nimport pandas as pd\n\n"
        "from attnlib.reports.output import Output",
        [],
    ),
    ("code", PARAMETERS, ["parameters"]),
    ("code", "derived = f'{corpus}:{seed}:{rate!r}:{seeds!r}'", []),
    (
        "code",
        "output = Output.of('90_demo')\n"
        "output.header(corpus=corpus, sizes={'train': 1234}, seeds=seeds, device='cpu', process=os.getpid(),\n"
        "    citation='A & B 2020', paper_url='https://doi.org/10.1/x')\n"
        "time.sleep(wait)",
        [],
    ),
    ("markdown", "## Tables\n\n$$\\hat{y} = \\sum_{i=1}^T \\alpha_i v_i$$", []),
    (
        "code",
        "frame = pd.DataFrame({'text': ['<script>alert(1)</script>', 'plain'], 'score': [0.12345, float('nan')]})\n"
        "output.table(frame, 'texts', caption='What <b>people</b> wrote')",
        [],
    ),
    ("code", "print('<script>alert(2)</script>', derived)\nprint('<i>warned</i>', file=sys.stderr)\nframe", []),
    (
        "code",
        "from IPython.display import display\n"
        "display({'application/vnd.jupyter.widget-view+json': {'model_id': 'x', 'version_major': 2, "
        "'version_minor': 0}, 'text/plain': 'Slider(dead)'}, raw=True)\n"
        "display({'text/html': '<p>kept <img src=\"https://example.org/spy.png\" alt=\"spy\"></p>'}, raw=True)\n"
        "display({'text/markdown': '**bold** <script>alert(4)</script>'}, raw=True)",
        [],
    ),
    ("code", "if fail:\n    raise ValueError('<b>asked to fail</b>')", []),
    ("markdown", "## Figures\n\nOne.\n\n## Figures", []),
    (
        "code",
        "import matplotlib.pyplot as plt\n"
        "for name in ('first', 'second'):\n"
        "    fig, ax = plt.subplots(figsize=(4, 2))\n"
        "    _ = ax.plot([0, 1], [1, 0])\n"
        "    output.figure(fig, name, caption=f'The {name} <one>', alt='A line that falls')",
        [],
    ),
    ("code", "secret = 'left out'", ["remove_cell"]),
    (
        "code",
        "output.short(['It <i>**holds**</i>.', 'Really.'])\noutput.claims(["
        + ", ".join(CLAIM.format(n=n, verdict=VERDICTS[n], figure=FIGURES[n]) for n in range(4))
        + "])",
        [],
    ),
]


def write_notebook(path: Path, cells: list[tuple[str, str, list[str]]]) -> Path:
    """A notebook of (kind, source, tags)."""
    from nbformat import v4, write

    made = []
    for kind, source, tags in cells:
        cell = v4.new_code_cell(source) if kind == "code" else v4.new_markdown_cell(source)
        if tags:
            cell.metadata["tags"] = tags
        made.append(cell)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    write(v4.new_notebook(cells=made, metadata={"kernelspec": kernel}), path)
    return path


@pytest.fixture(name="write_notebook")
def write_notebook_fixture() -> Any:
    """`write_notebook(path, cells)`, for tests that need one of their own."""
    return write_notebook


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the notebook 90_demo, its cpu profile and a short 91_short; ATTNLIB_NOTEBOOKS points to it."""
    return _series(tmp_path, monkeypatch)


def _series(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_notebook(folder / "notebooks" / "90_demo.ipynb", DEMO)
    short = [("code", "seed: int = 0", ["parameters"]), ("code", "print('seed', seed)", [])]
    write_notebook(folder / "notebooks" / "91_short.ipynb", short)
    file = folder / "params" / "90_demo" / "cpu.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("seeds: [0, 1, 2]\nrate: 0.01\n")
    monkeypatch.setenv("ATTNLIB_NOTEBOOKS", str(folder / "notebooks"))
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OUT/90_demo/cpu of one whole run with `-p corpus other`."""
    from attnlib.reports import execute
    from attnlib.reports.plan import plans

    with pytest.MonkeyPatch.context() as patch:
        folder = _series(tmp_path_factory.mktemp("series"), patch)
        (one,) = plans(["90_demo"], "cpu", [("corpus", "other")])
        outcome = execute.run(one, folder / "reports", "serial", 1)
    assert outcome.status == "done", outcome
    return outcome.folder
