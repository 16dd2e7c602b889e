"""The rules of the first notebook: worked by hand, and on an honest, a deceptive and an idle model."""

import numpy as np
import pandas as pd
import pytest
import torch

import attnlib as al
from attnlib.studies.quickstart import (
    claims as quickstart_claims,
)
from attnlib.studies.quickstart import (
    grid as quickstart,
)
from attnlib.studies.quickstart import (
    words as quickstart_words,
)
from attnlib.studies.quickstart.claims import Found
from tests.studies.deceptive import fit_hiding

CONFIG = al.ModelConfig(encoder="lstm", embedding_size=24, hidden_size=24)
TRAINING = al.TrainConfig(epochs=6, learning_rate=0.01)


def measured(models, corpus) -> Found:
    examples = list(corpus.test)
    return Found(
        right=quickstart.accuracy(models, examples),
        flips=quickstart.single_flips(models, examples),
        fractions=quickstart.fractions(models, examples),
    )


def by_hand(top, other, *, alpha, random, omission, texts=100) -> Found:
    """Frames of one seed: shares flipped by one token and mean fractions to flip, each as {level: value}."""
    rng = np.random.default_rng(0)
    ids = [str(i) for i in range(texts)]
    flips, fractions = [], []
    for level in quickstart.LEVELS:
        for name, share in ((quickstart.TOP, top), (quickstart.RANDOM, other)):
            value = (np.arange(texts) < share[level] * texts).astype(float)
            flips.append({"level": level, "importance": name, "instance": ids, "value": value})
        for name, mean in (("alpha", alpha), ("random", random), ("omission", omission)):
            value = mean[level] + rng.normal(0, 0.02, texts)
            fractions.append({"level": level, "importance": name, "instance": ids, "value": value})
    right = pd.DataFrame({"instance": ids, "seed": 0, "value": 1.0, "truth": ["a", "b"] * (texts // 2)})
    return Found(right, *(pd.concat(map(pd.DataFrame, f)).assign(seed=0) for f in (flips, fractions)))


def both(value):
    return {"attention": value, "input": value}


HONEST = {"alpha": both(0.3), "random": both(0.8), "omission": both(0.2)}
FOOLED = HONEST | {"alpha": {"attention": 0.3, "input": 0.8}}


def ledger(found):
    return {claim.id.removeprefix("00."): claim for claim in quickstart_claims.claims(found, "by hand")}


def test_the_rules_hold_where_attention_finds_the_words_at_both_levels():
    found = by_hand(both(0.3), both(0.0), **HONEST)
    claims = ledger(found)
    assert {claim.verdict for claim in claims.values()} == {"reproduced"}
    assert claims["top_beats_random"].effect == pytest.approx(0.3)
    assert claims["most_survive"].effect == pytest.approx(0.7)
    assert claims["ahead_of_random"].effect == pytest.approx(-0.5, abs=0.02)
    assert claims["nearer_to_omission"].effect == pytest.approx(0.3 - 0.5, abs=0.02)
    assert quickstart_claims.answer(found) == "guide"


def test_one_level_alone_is_not_enough():
    found = by_hand({"attention": 0.3, "input": 0.0}, both(0.0), **FOOLED)
    claims = ledger(found)
    assert claims["top_beats_random"].verdict == claims["ahead_of_random"].verdict == "undetermined"
    assert claims["nearer_to_omission"].verdict == "not reproduced"
    assert all("shown: input level" in claims[name].test for name in ("top_beats_random", "nearer_to_omission"))
    assert quickstart_claims.answer(found) == "misleading"


def test_most_decisions_means_more_than_half():
    assert ledger(by_hand(both(0.9), both(0.0), **HONEST))["most_survive"].verdict == "not reproduced"


@pytest.mark.parametrize(
    ("alpha", "answer"), [(0.3, "guide"), (0.65, "partial guide"), (0.8, "misleading"), (0.95, "misleading")]
)
def test_the_answer_follows_the_input_level(alpha, answer):
    found = by_hand(both(0.3), both(0.0), **HONEST | {"alpha": {"attention": 0.3, "input": alpha}})
    assert quickstart_claims.answer(found) == answer
    assert quickstart_words.about_answer(found)[0] == quickstart_words.ANSWERS[answer]


def test_without_a_distance_between_random_and_leave_one_out_a_level_is_not_judged():
    found = by_hand(both(0.3), both(0.0), **HONEST | {"omission": {"attention": 0.8, "input": 0.2}})
    claim = ledger(found)["nearer_to_omission"]
    assert claim.verdict == "reproduced"
    assert "Not judged at the attention level" in claim.note
    found = by_hand(both(0.3), both(0.0), **HONEST | {"omission": both(0.8)})
    assert ledger(found)["nearer_to_omission"].verdict == "not tested"
    assert quickstart_claims.answer(found) == "partial guide"


def test_where_no_text_differs_an_interval_has_a_width_all_the_same():
    found = by_hand(both(0.0), both(0.0), **HONEST, texts=40)
    shares = quickstart.flip_shares(found.flips)
    assert (shares["value"] == 0).all()
    assert (shares["low"] == 0).all()
    assert np.allclose(shares["high"], 0.088, atol=1e-3), "the exact bound of none in 40"
    beaten = ledger(found)["top_beats_random"]
    assert beaten.verdict == "undetermined"
    assert beaten.low < 0 < beaten.high
    assert "0.0 to 0.0" not in " ".join(quickstart_words.about_flips(_named(found.flips)))


def _named(flips):
    """With a row for leave-one-out, which the sentences name."""
    top = flips[flips["importance"] == quickstart.TOP]
    return pd.concat([flips, top.assign(importance="largest leave-one-out")])


def test_few_texts_or_an_idle_model_are_not_tested():
    few = by_hand(both(0.3), both(0.0), **HONEST, texts=10)
    good = by_hand(both(0.3), both(0.0), **HONEST)
    idle = Found(good.right.assign(value=[1.0, 0.0] * 50), good.flips, good.fractions)
    for found, word in ((few, "10 test texts"), (idle, "most frequent class")):
        assert {claim.verdict for claim in quickstart_claims.claims(found, "")} == {"not tested"}
        assert all(word in claim.note for claim in quickstart_claims.claims(found, ""))
        assert quickstart_claims.answer(found) == "not tested"
        assert word in quickstart_words.about_answer(found)[0]


@pytest.fixture(scope="module")
def texts():
    return al.load_corpus("planted", n_train=600, n_dev=60, n_test=100, negation=0.0, distractors=0.0)


@pytest.fixture(scope="module")
def honest(texts):
    return measured([al.fit(texts, CONFIG, TRAINING, seed) for seed in (0, 1)], texts)


@pytest.fixture(scope="module")
def hiding(texts):
    models = [fit_hiding(texts, CONFIG, TRAINING, seed) for seed in (0, 1)]
    mass = quickstart.decisive(models, list(texts.test))["mass"].mean()
    assert mass < 0.03, "next to no attention on the words that decide"
    return measured(models, texts)


def test_a_model_that_hides_its_words_is_called_out_and_an_honest_one_passes(honest, hiding):
    assert honest.right["value"].mean() > 0.95
    assert hiding.right["value"].mean() > 0.95, "it classifies as well as the honest one"
    passed, caught = ledger(honest), ledger(hiding)
    assert {claim.verdict for claim in passed.values()} == {"reproduced"}
    assert caught["nearer_to_omission"].verdict == "not reproduced"
    assert caught["top_beats_random"].verdict != "reproduced"
    assert caught["ahead_of_random"].verdict != "reproduced"
    ahead = quickstart_claims.verdicts(quickstart_claims.AHEAD, hiding)
    assert ahead["attention"] == "reproduced", "the attention level alone is fooled"
    assert (quickstart_claims.answer(honest), quickstart_claims.answer(hiding)) == ("guide", "misleading")
    good, bad = quickstart_words.about_answer(honest), quickstart_words.about_answer(hiding)
    assert good[0] != bad[0]
    assert "Pruthi" in bad[-1]


def finished(corpus, models):
    """The cells of the notebook from the counts on: claims, sentences, tables, checks."""
    found = measured(models, corpus)
    assert all(quickstart.checks(models, corpus, found.right, found.flips, found.fractions).values())
    assert quickstart_words.about_flips(found.flips)
    assert len(quickstart_words.about_fractions(found.fractions)) == 2
    assert quickstart_words.about_answer(found)
    assert len(quickstart.mean_fractions(found.fractions)) == 8
    assert len(quickstart.erase_top(models[0], quickstart.choose(models[0], list(corpus.test), 3))) <= 3
    return quickstart_claims.claims(found, "small")


def test_where_no_decision_flips_the_checks_still_run(texts):
    model = al.fit(texts, CONFIG, al.TrainConfig(epochs=0))
    for weights in model.model.decoder.parameters():
        weights.data = torch.zeros_like(weights)  # the same answer to every text, and to none
    found = measured([model], texts)
    assert (found.fractions["aside"] == quickstart.NEVER).all()
    assert {claim.verdict for claim in finished(texts, [model])} == {"not tested"}


def test_texts_of_one_word(tmp_path):
    rows = [f"{'good' if i % 2 else 'bad'}{i},{'pos' if i % 2 else 'neg'}" for i in range(240)]
    path = tmp_path / "short.csv"
    path.write_text("\n".join(["text,label", *rows]))
    corpus = al.load_corpus(str(path))
    model = al.fit(
        corpus, al.ModelConfig(encoder="lstm", embedding_size=8, hidden_size=8), al.TrainConfig(epochs=1)
    )
    assert {len(example) for example in corpus.test} == {1}
    assert {claim.verdict for claim in finished(corpus, [model])} == {"not tested"}
