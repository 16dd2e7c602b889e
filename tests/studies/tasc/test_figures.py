"""Figures of the TaSc study on hand-made frames: every panel, and the values that are drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.tasc import figures
from attnlib.studies.tasc.grid import FRACTION, TOP1
from attnlib.viz import charts
from tests.studies.tasc.made import TEXTS, frame, paper_like, results


@pytest.fixture(scope="module")
def two_corpora() -> pd.DataFrame:
    return pd.concat([frame(paper_like), frame(lambda *cell: 0.9, dataset="imdb")], ignore_index=True)


def test_means_are_drawn_by_encoder_and_by_corpus(two_corpora):
    assert len(figures.grouped(frame(paper_like), TOP1).axes) == 3
    drawn = figures.grouped(two_corpora, FRACTION)
    assert len(drawn.axes) == 6
    lin = drawn.axes[2].containers[1].lines[0].get_ydata()  # α∇α, Lin-TaSc: LSTM, MLP
    assert lin.tolist() == pytest.approx([(0.275 + 0.9) / 2] * 2, abs=0.01)


def test_an_encoder_with_one_training_has_a_marker_without_whiskers():
    bert = frame(paper_like, encoders=("bert",), seeds=(0,))
    drawn = figures.grouped(pd.concat([frame(paper_like), bert], ignore_index=True), FRACTION)
    labels = [tick.get_text() for tick in drawn.axes[0].get_xticklabels()]
    assert labels[-1].startswith("BERT")
    assert len(drawn.axes[0].containers[0].lines[0].get_ydata()) == 3


def test_table_5_is_drawn_for_each_corpus(two_corpora):
    drawn = figures.baselines(results(two_corpora))
    assert list(drawn) == ["sst", "imdb"]
    for dataset, figure in drawn.items():
        axis = figure.axes[0]
        assert axis.get_yticklabels()[0].get_text() == f"LSTM, Tanh  (n = {3 * TEXTS})"
        assert axis.get_title(loc="left").startswith(dataset)


def test_boxes_hold_single_cells(two_corpora):
    cells = [("imdb", "mlp", "dot"), ("sst", "lstm", "additive"), ("adr", "bert", "additive")]
    panels = figures.boxes(two_corpora, cells).axes
    titles = [axis.get_title(loc="left") for axis in panels]
    n = 3 * TEXTS
    assert titles == [f"imdb\nMLP, Dot  (n = {n})", f"sst\nLSTM, Tanh  (n = {n})"], "ADR was not measured"
    medians = [line.get_ydata()[0] for line in panels[0].lines if len(set(line.get_ydata())) == 1]
    assert any(m == pytest.approx(0.9, abs=0.01) for m in medians)


def test_of_a_long_text_the_beginning_is_drawn():
    parts = ("attention", "scale", "product", "adds")
    table = pd.DataFrame({f"{part}, {side}": np.full(300, 0.1) for part in parts for side in ("without", "with")})
    figure = figures.picture(table.assign(token="word", predicted="1"))
    assert figure.get_size_inches()[0] < 20
    assert len(figure.axes[-1].get_xticks()) == charts.TOKENS
    assert "first 30 of 300 tokens" in figure.axes[0].get_title(loc="left")
