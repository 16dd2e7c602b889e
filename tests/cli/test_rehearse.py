"""Rehearsals: the whole grid in small, what is missing replaced and named, nothing that looks like a result."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from attnlib.cli.check import check
from attnlib.cli.main import main
from attnlib.cli.rehearse import Size, generated_vectors, rehearsed, tiny_bert
from attnlib.data import load_corpus
from attnlib.reports import execute, series
from attnlib.reports.plan import plans
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError

PAPERS = ["01_tasc", "02_tying_mlm", "03_sparsity", "04_mutual_information", "05_erasure"]
SMALL = Size(texts=12, words=12, replicates=1)


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of its own, no data on this machine, and no network."""
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTNLIB_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.chdir(tmp_path)


def paper(name: str):
    return check(plans([name], "paper", []))[0]


SIZES = ("vectors", "pretrained", "embedding_size", "hidden_size", "attention_size")


def kind(run) -> tuple:
    """What makes a run another path than one that repeats it with another seed or on another corpus."""
    fits = tuple(map(kind, run.fits))
    params = repr(sorted(run.params.items()))
    if isinstance(run, MeasureSpec):
        return run.task, params, fits
    corpus = run.data.options.get("task", ""), run.data.options.get("classes"), "excerpts" in run.data.options
    return run.trainer, params, corpus, repr(run.model.model_dump(exclude=set(SIZES))), repr(run.train), fits


@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_of_the_grid_is_rehearsed(name: str) -> None:
    """The models of the profile, each with everything that makes it another path, are those of its rehearsal."""
    whole, small = paper(name), rehearsed(paper(name), SMALL)

    def cells(checked) -> Counter:
        names = {str(d): str(d) for ds in checked.params.datasets.values() for d in ds}
        found = Counter()
        for run in checked.study.grid(checked.params):
            for fit in [run, *run.fits] if isinstance(run, FitSpec) else run.fits:
                model, train = fit.model, fit.train
                found[
                    fit.trainer, model.encoder, model.attention, model.projection, model.scaling, model.regulariser,
                    model.hierarchical, model.layers, model.sparsegen_lambda, model.entmax_alpha, model.tying_delta,
                    model.mlm_eta, model.dot_init, model.scaling_pool, train.monitor, train.schedule,
                    repr(sorted(fit.params.items())), run.task,
                ] += 1  # fmt: skip
        return found, names

    (before, names), (after, same) = cells(whole), cells(small)
    assert names == same
    assert set(before) == set(after)
    assert all(n <= before[cell] for cell, n in after.items())


@pytest.mark.parametrize("name", PAPERS)
def test_what_is_missing_is_generated_and_named(name: str) -> None:
    whole, small = paper(name), rehearsed(paper(name), SMALL)
    assert not small.absent
    told = "\n".join(small.plan.rehearsal)
    for datasets in whole.params.datasets.values():
        for dataset in datasets:
            assert f"{dataset} (" in told
    for option, datasets in small.params.datasets.items():
        for dataset in datasets:
            corpus = load_corpus(small.params.data(dataset))
            assert corpus.name == str(dataset)
            assert (corpus.task == "query") == (option == "query_corpora")
            assert max(map(len, corpus.train)) <= 14


def test_shapes_are_those_of_the_corpora() -> None:
    small = rehearsed(paper("04_mutual_information"), SMALL).params
    classes = {str(d): len(load_corpus(small.data(d)).classes) for ds in small.datasets.values() for d in ds}
    assert classes["snli"] == 3
    assert classes["babi_1"] == 6
    assert classes["sst"] == 2
    stars = rehearsed(paper("05_erasure"), Size(texts=40)).params
    assert {str(d): len(load_corpus(stars.data(d)).classes) for d in stars.corpora} == {
        "yahoo": 10, "imdb10": 8, "amazon": 5, "yelp": 5,
    }  # fmt: skip


def test_files_that_are_there_are_read(tmp_path: Path) -> None:
    rows = "".join(f"a good film {k},1\na bad film {k},0\n" for k in range(30))
    (tmp_path / "data").mkdir()
    (tmp_path / "data/adr.csv").write_text(f"text,label\n{rows}")
    small = rehearsed(paper("01_tasc"), SMALL)
    corpus = load_corpus(small.params.data("adr"))
    assert corpus.source.startswith("Twitter ADR")
    assert len(corpus.train) == 12
    assert not any(line.startswith("adr ") for line in small.plan.rehearsal)


def test_parameters_of_the_users_stay() -> None:
    plan = plans(["01_tasc"], "paper", [("epochs", "2")])
    small = rehearsed(check(plan)[0], SMALL)
    assert (small.params.epochs, small.params.bert_epochs, small.plan.folder) == (2, 1, "paper-rehearsal")


def test_a_notebook_without_a_grid_has_nothing_to_rehearse() -> None:
    with pytest.raises(ConfigError, match="no grid of runs to rehearse"):
        rehearsed(check(plans(["07_audit"], "paper", []))[0])


def test_settling_a_rehearsal_is_refused() -> None:
    answer = CliRunner().invoke(main, ["run", "01_tasc", "--profile", "paper", "--rehearse", "--settle", "5"])
    assert answer.exit_code == 2
    assert "a rehearsal has none" in answer.output


def test_the_help_says_what_a_rehearsal_is() -> None:
    said = " ".join(CliRunner().invoke(main, ["run", "--help"]).output.split())
    assert "No results: own store, own folder." in said


def test_a_rehearsal_is_no_result(tmp_path: Path) -> None:
    """It has a store of its own, a banner in its report, and no claim that anything could count."""
    small = rehearsed(check(plans(["00_quickstart"], "paper", []))[0], Size(texts=30, replicates=2))
    (outcome,) = execute.run_all([small.plan], tmp_path / "out", "serial", None, lambda *_: None)
    assert outcome.status == "done", outcome.error
    folder = tmp_path / "out/00_quickstart/paper-rehearsal"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "A rehearsal, not a result." in page
    assert json.loads((folder / "claims.json").read_text()) == []
    assert not (tmp_path / "store").exists()
    assert (paths.rehearsals() / "materials").is_dir()
    index = series.index(tmp_path / "out")
    assert "a rehearsal, not a result" in index
    assert 'id="answer"' not in index, "no claims, so no answer above the list"


def test_generated_files_are_what_models_read(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from attnlib.config import DataConfig, ModelConfig, TrainConfig

    data = DataConfig(corpus="planted", options={"n_train": 20, "n_dev": 10, "n_test": 10})
    models = [
        ModelConfig(encoder="bert", pretrained=str(tiny_bert(tmp_path / "bert"))),
        ModelConfig(encoder="mlp", embedding_size=6, vectors=str(generated_vectors(tmp_path, 6))),
    ]
    fits = [FitSpec(data=data, model=model, train=TrainConfig(epochs=1)) for model in models]
    assert run_grid(fits, store=tmp_path / "runs").complete().computed == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_the_paper_profiles_run(name: str) -> None:
    """Every kind of run of every profile, once; `attnlib run --rehearse` has them on every corpus."""
    small = rehearsed(paper(name), SMALL)
    kinds = {kind(run): run for run in small.study.grid(small.params)}
    result = run_grid(kinds.values())
    assert result.failures.empty, result.failures[["run", "error", "message"]].to_string()
