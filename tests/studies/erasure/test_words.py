"""Sentences, tables and figures of the erasure study where there is little or nothing to tell."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.erasure import figures, tables, words
from attnlib.studies.erasure.grid import BEYOND, RANKINGS, TOPS, Params
from attnlib.studies.erasure.rules import idle
from tests.studies.erasure.frames import MODELS, firsts, singles

NEVER = {name: [None, None] for name in RANKINGS}
ONCE = {name: [3, None] for name in RANKINGS}
ALONE = {"attention alone": NEVER | {"alpha": [3, None]}, "gradient alone": NEVER | {"grad_alpha": [3, None]}}


def few(texts: int) -> pd.DataFrame:
    """Single removals of all models with so many texts of several items, and two of one item."""
    frames = [
        singles([(True, False)] * max(texts, 1), encoder=encoder, importance=name, sampling=sampling, alone=2)
        for encoder in MODELS
        for name in TOPS
        for sampling in ("any other", "authors")
    ]
    single = pd.concat(frames, ignore_index=True)
    return single if texts else single[single["status"] != "compared"]


def flips(removed, variant="none") -> pd.DataFrame:
    return pd.concat([firsts(removed, encoder=encoder, variant=variant) for encoder in MODELS], ignore_index=True)


@pytest.mark.parametrize("texts", [0, 1])
def test_single_removals_of_no_text_and_of_one(texts):
    single = few(texts)
    for about in (words.about_single, words.about_flips, words.about_quirk):
        told = " ".join(about(single))
        assert "nan" not in told
        assert ("No text has more than one item" in told) == (texts == 0), told
    if texts:
        for table in (tables.single_table, tables.contingency, tables.top_flips):
            assert table(single)["n"].tolist() == [1] * 6, table
        assert tables.contingencies(single)["n"].tolist() == [1] * 12
        right = single.assign(delta_js=0.1)  # attention is never wrong: no bar, and counts from zero up
        assert all(axis.get_ylim()[0] == 0 for axis in figures.negative_histogram(right).axes)
    else:
        for table in (tables.single_table, tables.contingency, tables.contingencies, tables.top_flips):
            assert table(single).empty, table
        for figure in (figures.delta_scatter, figures.negative_histogram, figures.flip_bars):
            assert "more than one item" in figure(single).axes[0].texts[0].get_text()


@pytest.mark.parametrize(
    ("removed", "same", "n"),
    [
        pytest.param(NEVER, "No decision is flipped by all", 0, id="nothing flips"),
        pytest.param(ONCE, "(n = 6)", 1, id="one text a model flips"),
        *(pytest.param(case, "No decision is flipped by all", 1, id=name) for name, case in ALONE.items()),
    ],
)
def test_sets_where_hardly_anything_flips(removed, same, n):
    fractions = flips(removed)
    assert same in words.about_mass(fractions)[0]
    told = " ".join([*words.about_fractions(fractions), *words.about_duel(fractions), *words.about_mass(fractions)])
    assert "nan" not in told
    assert tables.duel_table(fractions)["n"].tolist() == [n] * 6
    assert ("there is no duel" in told) == (n == 0)
    assert len(tables.fraction_table(fractions)) == 24
    assert len(tables.excluded_table(fractions)) == 6
    shared = removed is ONCE
    for value in ("fraction", "mass_removed"):
        assert len(tables.ranking_contrasts(fractions, value)) == (18 if shared else 0)
        assert len(figures.fraction_boxes(fractions, value).axes) == 6


@pytest.mark.parametrize("removed", [NEVER, ONCE])
def test_models_of_the_other_papers_that_hardly_flip(removed):
    names = list(BEYOND["scaling"])
    fractions = pd.concat([firsts(removed, variant=name) for name in names])
    right = pd.DataFrame({"variant": names, "value": 1.0})
    table = tables.beyond_table(fractions, right)
    assert table["n"].tolist() == [0 if removed is NEVER else 1] * len(names)
    assert set(table["accuracy"]) == {100.0}
    assert len(figures.beyond_boxes(fractions, "scaling").axes) == len(names)


def test_the_gradients_share_is_told_of_the_texts_that_flip_and_of_all():
    removed = {"alpha": [None, 5, None, None], "grad_alpha": [3, 5, None, None]}
    never = firsts(NEVER, encoder="flan_conv")
    (told,) = words.about_duel(pd.concat([firsts(removed, encoder="flan_rnn"), never]))
    assert "**50.0%**" in told
    assert "n = 2)" in told
    assert "Of all 6 texts" in told, "the model that never flips has its texts too"
    assert "share is 16.7%" in told


def test_a_corpus_without_han_is_described_by_its_own_length():
    params = Params(
        corpora=["bbc", "rotten_tomatoes"], architectures={"rotten_tomatoes": ["flan"]}, encoders=["rnn"]
    )
    data = pd.DataFrame({"dataset": ["bbc", "rotten_tomatoes"], "metric": "avg_sentences", "value": [5.0, 3.4]})
    grid = SimpleNamespace(summary="2 runs", failures=pd.DataFrame())
    right = flips(ONCE).assign(value=1.0)
    found = SimpleNamespace(grid=grid, data=data, fractions=flips(ONCE), right=right)
    told = words.about_grid(found, params)[-1]
    assert "not trained on rotten_tomatoes (rotten_tomatoes has 3.4 sentences per text on average)" in told
    common = {"dataset": ["d"], "metric": "commonest_class", "value": [1.0]}
    found.data = pd.concat([data, pd.DataFrame(common)])
    told = words.about_grid(found, params)[-1]
    assert "6 of 6 trainings learned nothing" in told
    assert "HANrnn on d (1 seed)" in told


def test_a_model_a_little_above_the_commonest_class_by_chance_learned_nothing():
    common = pd.DataFrame({"dataset": ["d"], "metric": "commonest_class", "value": [0.5]})
    hits = {"flan_rnn": 42, "flan_conv": 56}
    rows = [
        {"dataset": "d", "encoder": e, "seed": 0, "value": float(k < n)} for e, n in hits.items() for k in range(80)
    ]
    assert idle(pd.DataFrame(rows), common)["encoder"].tolist() == ["flan_rnn"], "52.5% and 70% of 80 texts"


def test_points_are_pixels_so_that_a_report_stays_light():
    """Thousands of points as vectors weigh a megabyte."""
    rng = np.random.default_rng(0)
    n = 1500
    flips = [(False, False)] * n
    single = singles(flips, delta_js=rng.normal(size=n), delta_alpha=rng.random(n))
    counts = {name: [10] * (n - 300) + [*rng.integers(1, 7, 300)] for name in RANKINGS}
    charts = (figures.delta_scatter(single), figures.delta_scatter(single.head(figures.DENSE)))
    for chart in (*charts, figures.fraction_boxes(firsts(counts))):
        drawn = io.StringIO()
        chart.savefig(drawn, format="svg")
        assert "<image" in drawn.getvalue()
        assert len(drawn.getvalue()) < 90_000


def test_a_stand_in_is_named():
    sources = {"imdb10": "aclimdb", "yelp": "hub:yelp_review_full"}
    params = Params(corpora=[{"name": name, "corpus": corpus} for name, corpus in sources.items()])
    (told,) = words.about_data(params)
    assert "**imdb10** is aclimdb, eight stars" in told
    assert "yelp" not in told
    assert words.about_data(Params()) == ["No corpus stands in for one of the paper's under its name."]
