"""The study of sparse attention with two corpora whose texts share their names: nothing may run together."""

from __future__ import annotations

from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pytest

import attnlib as al
from attnlib.reports import output as report
from attnlib.studies.ledger import tally
from attnlib.studies.sparsity import figures, tables, words
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.claims import claims
from attnlib.studies.sparsity.trends import trend, trends
from attnlib.utils import paths
from attnlib.utils.errors import DataError
from attnlib.viz import prose as narrate
from tests.studies.sparsity.frames import two_corpora

CORPORA = ["sst", "20news"]


@pytest.fixture(scope="module")
def both():
    return two_corpora()


def sentences(both, corpus: str) -> list[str]:
    """What the notebook says of one corpus, when it has two."""
    said = [
        *words.about_support(both.entropies),
        *words.about_hidden(both.hidden),
        *words.about_agreement(both.agreement, "gradient"),
        *words.about_agreement(both.agreement, "leave_one_out"),
        *words.about_ties(both.agreement, both.entropies),
        *words.about_entropy(both.entropies),
        *words.about_entmax(both.agreement, both.entropies),
        *words.about_adversaries(both.adversaries),
        *words.about_time(both.times, both.right),
    ]
    # Trends of all corpora share a sentence; the next test reads it.
    return [sentence for sentence in said if corpus in sentence and not sentence.startswith("Kendall")]


def test_sentences_are_those_of_each_corpus_alone(both) -> None:
    for corpus in CORPORA:
        alone = two_corpora()
        for name in ("agreement", "entropies", "hidden", "right", "adversaries", "times"):
            frame = getattr(alone, name)
            setattr(alone, name, frame[frame["dataset"] == corpus].reset_index(drop=True))
        mine, own = sentences(both, corpus), sentences(alone, corpus)
        assert len(own) >= 20
        # Holm counts all tests, so p alone may differ.
        assert [s.partition(", Holm")[0] for s in mine] == [s.partition(", Holm")[0] for s in own]


def test_trends_are_told_by_corpus(both) -> None:
    (said,) = [s for s in words.about_lambda(trends(both)) if s.startswith("Kendall")]
    assert "sst, BiLSTM, additive **-1.00" in said
    assert "20news, BiLSTM, additive **1.00" in said
    for said in words.about_trends(trends(both), "gradient", "leave_one_out"):
        assert "sst, Transformer, dot **-1.00" in said
        assert "20news, Transformer, dot **1.00" in said


def test_a_trend_keeps_texts_apart_that_share_a_name(both) -> None:
    part = both.entropies[both.entropies["metric"] == "entropy_gradient_input"]
    assert trend(part, ["encoder"])["n"].tolist() == [20, 20]
    assert trend(part, ["dataset", "encoder"])["n"].tolist() == [12, 12, 8, 8]


def test_adversaries_are_as_far_as_in_their_own_corpus(both) -> None:
    said = [s for s in words.about_adversaries(both.adversaries) if s.startswith(tuple(CORPORA))]
    assert len(said) == 8
    assert all(("0.60 nats" if s.startswith("sst") else "0.40 nats") in s for s in said)
    for corpus, _, part in tables.by_corpus(both.adversaries):
        axes = figures.adversaries(part).axes
        reach = {"sst": 0.6, "20news": 0.4}[corpus]
        places = [line.get_xdata() for axis in axes for box in axis.containers for line in box.lines[:1]]
        assert len(places) == 4
        np.testing.assert_allclose(np.concatenate(places).astype(float), reach)


DRAWN = {
    "boxes of gradient": lambda f: figures.agreement_boxes(f.agreement, "gradient"),
    "boxes of leave-one-out": lambda f: figures.agreement_boxes(f.agreement, "leave_one_out"),
    "entropies": lambda f: figures.entropy_boxes(f.entropies, "entropy_gradient_input"),
    "support": lambda f: figures.along(f.entropies, "metric", ["support_share"], "lam", title="t", y="y"),
    "agreement": lambda f: figures.along(f.agreement, "importance", ["gradient_input"], "lam", title="t", y="y"),
    "sparsity": lambda f: figures.against_support(
        f.agreement, f.entropies, "importance", ["gradient_input"], title="t", y="y"
    ),
    "adversaries": lambda f: figures.adversaries(f.adversaries),
    "facets": lambda f: figures.facets(f.facets),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_of_one_corpus_and_names_it(both, name) -> None:
    with pytest.raises(DataError, match="one corpus"):
        DRAWN[name](both)
    for corpus in CORPORA:
        alone = two_corpora()
        for frame in ("agreement", "entropies", "adversaries", "facets"):
            rows = getattr(alone, frame)
            setattr(alone, frame, rows[rows["dataset"] == corpus])
        drawn = DRAWN[name](alone)
        titles = [axis.get_title(loc="left") for axis in drawn.axes]
        assert any(corpus in title for title in [*titles, drawn.get_suptitle()])


def test_every_corpus_has_a_file_name_of_its_own() -> None:
    frame = pd.DataFrame({"dataset": ["hub:imdb", "data/a b.csv", "data-a-b-csv", "sst"]})
    found = list(tables.by_corpus(frame))
    assert [name for name, _, _ in found] == frame["dataset"].tolist()
    files = [file for _, file, _ in found]
    assert len(set(files)) == 4
    assert all(report._safe(file) for file in files)
    assert files[-1] == "sst"


def test_every_table_has_the_rows_of_both(both) -> None:
    found = {
        "accuracy": tables.accuracy_table(both.right),
        "hidden": tables.hidden_table(both.hidden),
        "own": tables.own_table(both.hidden),
        "agreement": tables.agreement_table(both.agreement),
        "status": tables.status_table(both.agreement),
        "path": tables.path_table(both.entropies, ["support", "support_share"]),
        "lambda": tables.lambda_table(trends(both)["entropy"]),
        "facets": tables.facets_table(both.facets),
        **{f"duel {m}": tables.adversary_table(both.adversaries, m) for m in tables.DUELS},
    }
    for name, table in found.items():
        rows = table["dataset"].value_counts()
        assert rows["sst"] == rows["20news"] > 0, name


def test_claims_need_both_corpora_and_name_the_weakest(both) -> None:
    ledger = {claim.id: claim for claim in claims(both)}
    assert ledger["sparsity-2"].verdict == "reproduced"
    for number in (7, 8, 9, 10):  # one corpus falls, the other rises
        assert ledger[f"sparsity-{number}"].verdict == "not reproduced"
    assert "; 20news, lstm" in ledger["sparsity-7"].setting
    assert "; sst, lstm" in ledger["sparsity-8"].setting


class Recorder(report.Output):
    """An output that remembers the captions of its tables, and which may grow with the grid and be cut."""

    def table(self, frame, name, *, caption="", rows=None, **options) -> None:
        self.captions = {**getattr(self, "captions", {}), name: caption}
        self.whole = {*getattr(self, "whole", set()), *([name] if rows == len(frame) else [])}
        super().table(frame, name, caption=caption, **({} if rows is None else {"rows": rows}), **options)


def test_the_notebook_shows_two_corpora(both, tmp_path) -> None:
    notebook = nbformat.read(paths.notebooks() / "03_sparsity.ipynb", as_version=4)
    params = study.Params(corpora=("planted", "20news"))
    tiny = al.load_corpus("planted", n_train=20, n_dev=10, n_test=10)
    small = [replace(tiny, name=name) for name in CORPORA]
    space = {
        "al": al, "narrate": narrate, "study": study, "figures": figures, "tables": tables, "words": words,
        "judged": claims, "tally": tally, "params": params, "found": both, "trended": trends(both), "loaded": small,
        "output": Recorder(tmp_path, batch=True),
    }  # fmt: skip
    ran = 0
    for cell in notebook.cells:
        shows = cell.cell_type == "code" and ("output." in cell.source or "narrate.say" in cell.source)
        if shows and "study.results" not in cell.source and "al.heatmap" not in cell.source:  # these need models
            exec(compile(cell.source, cell.source.splitlines()[0], "exec"), space)
            ran += 1
    assert ran >= 15
    drawn = {file.stem for file in (tmp_path / "figures").iterdir()}
    for corpus in CORPORA:
        own = {name.removesuffix(f"-{corpus}") for name in drawn if name.endswith(f"-{corpus}")}
        assert {
            "support", "agreement-gradient", "agreement-loo", "entropy-gradient-input",
            "entropy-leave-one-out-input", "agreement-lambda", "adversaries", "facets", "hidden-lambda",
            "agreement-support", "entropy-support",
        } <= own  # fmt: skip
    assert (tmp_path / "claims.json").exists()
    captions = space["output"].captions
    assert "split by date" in captions["corpora"]
    for name in {
        "accuracy",
        "hidden",
        "agreement",
        "lambda",
        *(n for n in captions if n.startswith("adversaries")),
    }:
        assert "20news and the paper's 20news (see the first table)" in captions[name], name
    grow = {"accuracy", "support", "agreement", "ties", "adversaries-accuracy"}
    assert grow <= space["output"].whole, "the paper's grid has more rows than a report shows unasked"
