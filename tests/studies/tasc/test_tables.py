"""Tables of the TaSc study on hand-made frames: exact values, ours next to the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib.studies.study import Study
from attnlib.studies.tasc import numbers
from tests.studies.tasc.made import TEXTS, frame, labels, paper_like, results

KEYS = ["ranking", "attention", "variant"]
CELL = ["encoder", "attention"]
TABLES = Study("tasc").tables


def table(name, flips, told=None, **frames):
    return TABLES[name].frame(results(flips, told, **frames))


def first(text):
    """The estimate of `0.41 [0.38, 0.44]`."""
    return float(text.split()[0])


def test_the_aggregate_table_is_next_to_the_papers_with_ratios():
    flips = frame(paper_like)
    row = table("fraction", flips).set_index(KEYS).loc[("α∇α", "Dot", "Lin-TaSc")]
    assert first(row["ours"]) == pytest.approx(0.25, abs=0.005)
    assert row["ratio"] == pytest.approx(0.25 / 0.45, abs=0.02)
    assert (row["paper"], row["paper: ratio"]) == (0.21, pytest.approx(0.21 / 0.41))
    assert (row["n"], row["trainings"], row["texts"]) == (2 * 3 * TEXTS, 2 * 3, TEXTS)
    top = table("top_token", flips).set_index(KEYS)
    assert top.loc[("α", "Tanh", "No-TaSc"), "paper"] == 8.4
    unanimous = top.loc[("α∇α", "Dot", "Lin-TaSc"), "ours"]
    assert unanimous.startswith("100.00 [")
    assert unanimous.endswith(", 100.00]")
    assert "[100" not in unanimous, "no interval without a width"


def test_f1_is_that_of_scikit_learn_and_is_next_to_the_papers():
    flips, told = frame(paper_like), labels(0.9)
    cell = told[(told["encoder"] == "mlp") & (told["attention"] == "dot") & (told["variant"] == "lin")]
    slow = np.mean([f1_score(own["truth"], own["prediction"], average="macro") for _, own in cell.groupby("seed")])
    row = table("f1", flips, told).set_index(CELL).loc[("MLP", "Dot")]
    assert (first(row["Lin-TaSc"]), row["paper: Lin-TaSc"]) == (pytest.approx(slow, abs=5e-4), 0.78)
    assert numbers.f1_by_encoder(results(flips, told))["Lin-TaSc, MLP"].estimate == pytest.approx(0.1, abs=0.03)


def words_of(dataset: str, seed: int, u: list[float]) -> pd.DataFrame:
    cell = {"dataset": dataset, "encoder": "lstm", "attention": "dot", "seed": seed}
    return pd.DataFrame({"word": list("abcdefg"), "u": u, "s": 1.0, "count": [5, 5, 5, 5, 5, 5, 1]}).assign(**cell)


def test_the_words_of_u_are_ordered_from_both_ends():
    up, down = [3.0, -2, 1, 0, -1, 2, -3], [-3.0, 2, -1, 0, 1, 2, 3]
    words = pd.concat([words_of("imdb", 0, up), words_of("adr", 0, down), words_of("imdb", 1, down)])
    found = results(frame(paper_like), words=words)
    shown = numbers.word_table(found, 2).groupby("dataset", sort=False)["word"].agg("".join)
    assert shown.to_dict() == {"adr": "gbac", "imdb": "afgbgbac"}
