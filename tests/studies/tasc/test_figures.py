"""Figures of the TaSc study on hand-made frames: every panel, and the values that are drawn."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from attnlib.studies.tasc import figures
from attnlib.studies.tasc.grid import FRACTION, TOP1
from attnlib.studies.tasc.params import Params
from tests.studies.tasc.made import TEXTS, frame, paper_like, results


@pytest.fixture(scope="module")
def two_corpora() -> pd.DataFrame:
    return pd.concat([frame(paper_like), frame(lambda *cell: 0.9, dataset="imdb")], ignore_index=True)


def test_means_are_drawn_by_encoder_and_by_corpus(two_corpora):
    assert len(figures.grouped(TOP1, results(frame(paper_like))).axes) == 3
    drawn = figures.grouped(FRACTION, results(two_corpora))
    assert len(drawn.axes) == 6
    lin = drawn.axes[2].containers[1].lines[0].get_ydata()  # α∇α, Lin-TaSc: LSTM, MLP
    assert lin.tolist() == pytest.approx([(0.275 + 0.9) / 2] * 2, abs=0.01)


def test_boxes_hold_single_cells(two_corpora):
    found = results(two_corpora)
    cells = [("imdb", "mlp", "dot"), ("sst", "lstm", "additive")]
    found.params = Params(corpora=["imdb", "sst"], shown_cells=cells)
    found.grid.corpora = {found.params.data(name): SimpleNamespace(name=name) for name in ("imdb", "sst")}
    drawn = figures.boxes(found)
    assert list(drawn) == ["imdb-mlp-dot", "sst-lstm-additive"]
    axis = drawn["imdb-mlp-dot"].axes[0]
    assert axis.get_title(loc="left") == "imdb: MLP, Dot"
    assert axis.get_xticklabels()[0].get_text() == f"α\nn = {2 * 3 * TEXTS}"
