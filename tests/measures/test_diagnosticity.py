"""Diagnosticity: true and false explanations, and models of known honesty, against their slow definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import attnlib as al
from attnlib.measures import diagnosticity as known
from attnlib.rankings.scores import importance
from attnlib.utils.errors import ConfigError

SHORT = al.TrainConfig(epochs=4, learning_rate=0.02, device="cpu")
SMALL = al.ModelConfig(encoder="lstm", hidden_size=16, embedding_size=16)


def test_preference_counts_pairs_as_the_definition_does():
    rng = np.random.default_rng(0)
    true, other = rng.integers(0, 4, 50) / 4, rng.integers(0, 4, 50) / 4
    slow = [1.0 if a > b else 0.0 if a < b else 0.5 for a, b in zip(true, other, strict=True)]
    assert known.preferred(true, other).tolist() == slow
    assert np.isnan(known.preferred(np.array([np.nan]), np.array([1.0]))).all()


def test_a_shortcut_is_one_new_word_that_tells_the_class_in_training_and_another_in_the_test(planted):
    plain = replace(planted, train=tuple(replace(e, rationale=None) for e in planted.train))
    made = known.known(plain)
    words = {}
    for split in ("train", "dev", "test"):
        for before, after in zip(getattr(planted, split), getattr(made, split), strict=True):
            (at,) = np.flatnonzero(after.rationale)
            assert after.tokens[at] not in planted.vocabulary.words
            assert after.tokens[:at] + after.tokens[at + 1 :] == before.tokens
            assert words.setdefault(after.label, after.tokens[at]) == after.tokens[at]
            assert (after.label == before.label) == (split != "test")
    assert len(set(words.values())) == 2
    assert set(words.values()) <= set(made.vocabulary.words)
    assert known.known(planted) is planted, "a corpus that marks its decisive words needs no shortcut"


def test_the_true_ranking_has_the_rationale_first_and_the_inverted_one_last(planted):
    made = known.rankings(planted.test, known.associations(planted.train, 2), unattended=["."])
    for place, example in enumerate(planted.test):
        marks = np.array([m for m, t in zip(example.rationale, example.tokens, strict=True) if t != "."])
        true, inverted, plausible = (made[name][place] for name in ("true", "inverted", "plausible"))
        assert true[marks].min() > true[~marks].max()
        assert (np.argsort(inverted) == np.argsort(true)[::-1]).all()
        assert np.abs(plausible[marks]).max() < 1e-5
        assert len(made["random"][place]) == len(marks)


def test_a_plausible_ranking_prefers_the_distractor_of_the_class(planted):
    words = known.associations(planted.train, 2)
    texts = {c: [set(e.tokens) for e in planted.train if e.label == c] for c in (0, 1)}
    word = next(iter(words))
    shares = [(sum(word in t for t in texts[c]) + 1) / (len(texts[c]) + 2) for c in (0, 1)]
    assert words[word][1] == pytest.approx(np.log(shares[1] / shares[0]))
    assert words[word][0] == pytest.approx(-words[word][1])


@pytest.mark.slow
def test_guided_attention_goes_where_it_is_told_and_decisions_stay(planted):
    mass, right = {}, {}
    for guide in known.GUIDES:
        fitted = known.guided(planted, SMALL, SHORT, 0, guide=guide, weight=1.0)
        marks = [np.array(e.rationale) for e in planted.test]
        weights = importance(fitted, planted.test, "alpha")
        mass[guide] = np.mean([a[m].sum() for a, m in zip(weights, marks, strict=True)])
        right[guide] = fitted.evaluate(planted.test)["accuracy"]
    assert mass["honest"] > 0.7 > 0.2 > mass["deceptive"]
    assert min(right.values()) > 0.7
    plain = al.fit(planted, SMALL, SHORT, 0)
    assert right["none"] == plain.evaluate(planted.test)["accuracy"], "no guide is no guide"
    with pytest.raises(ConfigError, match="honest"):
        known.guided(planted, SMALL, SHORT, 0, guide="honesty")


def test_average_precision_by_hand_and_as_scikit_learn_has_it():
    marked = np.array([True, False, True, False])
    assert known.average_precision(np.array([4.0, 3.0, 2.0, 1.0]), marked) == pytest.approx((1 + 2 / 3) / 2)
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, marks = rng.random(12), rng.random(12) < 0.4
        if marks.any():
            assert known.average_precision(scores, marks) == pytest.approx(average_precision_score(marks, scores))
    assert np.isnan(known.average_precision(np.ones(2), np.zeros(2, bool)))


def test_ties_are_broken_at_random():
    marked = np.zeros(40, bool)
    marked[:4] = True
    flat = np.ones(40)
    seeded = [known.average_precision(flat, marked, seed=s) for s in range(200)]
    chance = np.mean([known.average_precision(np.random.default_rng(s).random(40), marked) for s in range(200)])
    assert known.average_precision(flat, marked, seed=3) == known.average_precision(flat, marked, seed=3)
    assert np.mean(seeded) == pytest.approx(chance, abs=0.04)
