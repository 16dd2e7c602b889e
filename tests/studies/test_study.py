"""Studies are found: a sixth paper is a folder, a csv, a notebook and a parameter file, and edits nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import attnlib.studies
from attnlib.studies.beside import printed, settings
from attnlib.studies.study import Study, notebook_of, planned, studies, study_for
from attnlib.utils.errors import UnknownName

PAPERS = ["erasure", "mutual_information", "sparsity", "tasc", "tying_mlm"]
FILES = {
    "__init__.py": 'from attnlib.studies.study import Paper\n\nPAPER = Paper("Toy 2030")\n',
    "params.py": (
        "from attnlib.studies.params import Seed, Some, StudyParams\n\n\n"
        "class Params(StudyParams):\n    seeds: Some[Seed] = (0, 1, 2)\n"
    ),
    "measures.py": (
        "import pandas as pd\n\n\ndef right(fitted, corpus):\n    said = fitted.predict(corpus.test).labels\n"
        "    hit = [float(s == fitted.classes[e.label]) for s, e in zip(said, corpus.test, strict=True)]\n"
        '    return pd.DataFrame({"instance": [e.id for e in corpus.test], "value": hit})\n'
    ),
    "grid.py": (
        "from attnlib.config import ModelConfig, TrainConfig\nfrom attnlib.store.grid import run_grid\n"
        "from attnlib.store.specs import FitSpec, MeasureSpec\nfrom attnlib.studies.results import Results\n"
        "from attnlib.studies.study import seed_of\nfrom attnlib.studies.toy import measures\n\n\n"
        "def grid(params):\n"
        '    model, train = ModelConfig(encoder="mlp"), TrainConfig(epochs=5, learning_rate=0.02)\n'
        "    fits = [\n"
        "        FitSpec(\n            data=params.data(name), model=model, train=train, seed=seed_of(k, name),\n"
        '            label={"seed": k},\n        )\n'
        "        for name in params.corpora\n        for k in params.seeds\n    ]\n"
        "    return [MeasureSpec.of(measures.right, fit) for fit in fits]\n\n\ndef results(params, **options):\n"
        "    found = run_grid(grid(params), **options).complete()\n"
        '    return Results(params, found, {"right": found.frame()}, ("dataset",))\n'
    ),
    "numbers.py": """
from attnlib.studies.beside import Printed, printed
from attnlib.studies.ledger import Claim
from attnlib.studies.quantity import Quantity, Table

right = Quantity("right", model=("dataset",))
TABLES = [Table("right", {"share": right}, "Share of correct decisions.", ("dataset",))]
CLAIMS = [
    Claim(
        "A model is right more often than not.", "Table 1", "share of correct decisions", right, border=0.5,
        paper=lambda _: Printed(printed("toy", 1, metric="accuracy"), "Table 1"), figure="right",
    )
]


def answer(claims, results):
    return [f"Right in {claims[1].text(1, 100)}% of texts."]


def checks(results, params):
    return {"shares": bool(results.right["value"].between(0, 1).all())}
""",
    "figures.py": "FIGURES = []\n",
}
CELLS = [
    ("markdown", "# A toy\n\nIs a model right?", []),
    ("code", 'import attnlib as al\n\nstudy = al.study("toy")', []),
    (
        "code",
        'corpora: list = ["planted"]\nlimit: int = 300\nseeds: list = [0, 1, 2]\noptions: dict = {}',
        ["parameters"],
    ),
    ("code", "run = study.run(globals())\nrun", []),
    ("code", 'run.short()\nrun.ledger()\nrun.show("right")\nrun.checks()', []),
]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "studies"
    (folder / "toy").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / "toy" / name).write_text(text)
    (folder / "reference").mkdir()
    header = "table,dataset,encoder,attention,projection,variant,importance,metric,value,std\n"
    (folder / "reference" / "toy.csv").write_text(header + "1,planted,,,,,,accuracy,0.6,\n")
    cells = [
        {"cell_type": kind, "metadata": {"tags": tags}, "source": text, "id": f"c{k}"}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for k, (kind, text, tags) in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "09_toy.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "params" / "09_toy").mkdir(parents=True)
    (tmp_path / "params" / "09_toy" / "cpu.yaml").write_text("limit: 200\n")
    monkeypatch.setenv("ATTNLIB_STUDIES", str(folder))
    monkeypatch.setenv("ATTNLIB_NOTEBOOKS", str(tmp_path / "notebooks"))
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(attnlib.studies, "__path__", list(attnlib.studies.__path__))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("attnlib.studies.toy")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", studies())
def test_every_study_keeps_the_contract(name: str) -> None:
    study = Study(name)
    assert study.grid(study.Params())
    ids = [claim.id for claim in study.claims]
    assert len(ids) == len(set(ids)) > 0
    assert all(claim.says and claim.where and claim.test for claim in study.claims)
    assert {claim.figure for claim in study.claims} <= {*study.tables, *study.figures}
    assert all(part.caption for part in (*study.tables.values(), *study.figures.values()))


@pytest.mark.parametrize("name", PAPERS)
def test_every_setting_that_differs_is_explained(name: str) -> None:
    """In the cpu profile a row of settings is the paper's, or says why it is not."""
    study = Study(name)
    table = settings(name, study.grid(planned([notebook_of(name)], "cpu")[0].values))
    apart = table["ours"] != table["paper"]
    assert table[apart & (table["why"] == "")].empty, table[apart]
    assert apart.sum() >= 12


def test_a_sixth_paper_edits_nothing(toy: Path) -> None:
    study = study_for("09_toy")
    assert "toy" in studies()
    assert study.paper.citation == "Toy 2030"
    assert printed("toy", 1, metric="accuracy") == 0.6
    params = study.Params(limit=300)
    found = study.results(params)
    claim = study.ledger(found.learned, "planted")[0]
    assert claim.verdict == "reproduced"
    assert claim.trainings == 3
    assert study.checks(found, params) == {"shares": True}


@pytest.mark.slow
def test_its_notebook_runs_and_its_parameters_are_checked(toy: Path) -> None:
    from click.testing import CliRunner

    from attnlib.cli.main import main

    refused = CliRunner().invoke(main, ["run", "09_toy", "-p", "corpora", "[plantd]", "--out", str(toy / "out")])
    assert refused.exit_code != 0
    assert "Did you mean 'planted'?" in refused.output
    assert not (toy / "out" / "09_toy").exists()
    done = CliRunner().invoke(main, ["run", "09_toy", "--out", str(toy / "out")])
    assert done.exit_code == 0, done.output
    claims = json.loads((toy / "out" / "09_toy" / "smoke" / "claims.json").read_text())
    assert claims[0]["verdict"] == "reproduced"


def test_an_unknown_study_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'tasc'"):
        Study("tsac")
