"""The rules of the first notebook: worked by hand, and on an honest, a deceptive and an idle model."""

import numpy as np
import pandas as pd
import pytest
import torch

import attnlib as al
from attnlib.studies.quickstart import claims, grid, measures, tables
from attnlib.studies.quickstart.grid import Results
from attnlib.studies.study import Study
from tests.studies.deceptive import fit_hiding

CONFIG = al.ModelConfig(encoder="lstm", embedding_size=24, hidden_size=24)
TRAINING = al.TrainConfig(epochs=6, learning_rate=0.01)
SEEDS = (0, 1, 2)


def by_hand(top, other, *, alpha, random, omission, texts=100) -> Results:
    """Frames of three seeds: shares flipped by one token and mean fractions to flip, each as {level: value}."""
    rng = np.random.default_rng(0)
    ids = [str(i) for i in range(texts)]
    flips, fractions = [], []
    for seed in SEEDS:
        for level in measures.LEVELS:
            for name, share in ((measures.TOP, top), (measures.RANDOM, other)):
                value = (np.arange(texts) < share[level] * texts).astype(float)
                flips.append({"level": level, "importance": name, "instance": ids, "value": value, "seed": seed})
            for name, mean in (("alpha", alpha), ("random", random), ("omission", omission)):
                value = mean[level] + rng.normal(0, 0.02, texts)
                fractions.append(
                    {"level": level, "importance": name, "instance": ids, "value": value, "seed": seed}
                )
    truth = ["a", "b"] * (texts // 2)
    labels = pd.concat(
        pd.DataFrame({"instance": ids, "seed": s, "value": 1.0, "truth": truth, "prediction": truth}) for s in SEEDS
    )
    return Results(labels, *(pd.concat(map(pd.DataFrame, f)) for f in (flips, fractions)))


def both(value):
    return {"attention": value, "input": value}


HONEST = {"alpha": both(0.3), "random": both(0.8), "omission": both(0.2)}
FOOLED = HONEST | {"alpha": {"attention": 0.3, "input": 0.8}}


def ledger(found):
    return {claim.id.removeprefix("00."): claim for claim in Study("quickstart").ledger(found, "by hand")}


def test_the_rules_hold_where_attention_finds_the_words_at_both_levels():
    found = by_hand(both(0.3), both(0.0), **HONEST)
    judged = ledger(found)
    assert {claim.verdict for claim in judged.values()} == {"reproduced"}
    assert judged["top_beats_random"].effect == pytest.approx(0.3)
    assert judged["most_survive"].effect == pytest.approx(0.7)
    assert judged["ahead_of_random"].effect == pytest.approx(-0.5, abs=0.02)
    assert judged["nearer_to_omission"].effect == pytest.approx(0.3 - 0.5, abs=0.02)
    assert claims.answer(found) == "guide"


def test_one_level_alone_is_not_enough():
    found = by_hand({"attention": 0.3, "input": 0.0}, both(0.0), **FOOLED)
    judged = ledger(found)
    assert judged["top_beats_random"].verdict == judged["ahead_of_random"].verdict == "undetermined"
    assert judged["nearer_to_omission"].verdict == "not reproduced"
    assert all(judged[name].case == "input" for name in ("top_beats_random", "nearer_to_omission"))
    assert claims.answer(found) == "misleading"


def test_most_decisions_means_more_than_half():
    assert ledger(by_hand(both(0.9), both(0.0), **HONEST))["most_survive"].verdict == "not reproduced"


@pytest.mark.parametrize(
    ("alpha", "answer"), [(0.3, "guide"), (0.65, "partial guide"), (0.8, "misleading"), (0.95, "misleading")]
)
def test_the_answer_follows_the_input_level(alpha, answer):
    found = by_hand(both(0.3), both(0.0), **HONEST | {"alpha": {"attention": 0.3, "input": alpha}})
    assert claims.answer(found) == answer
    assert answer in claims.ANSWERS


def test_without_a_distance_between_random_and_leave_one_out_a_level_is_not_judged():
    found = by_hand(both(0.3), both(0.0), **HONEST | {"omission": {"attention": 0.8, "input": 0.2}})
    claim = ledger(found)["nearer_to_omission"]
    assert (claim.verdict, claim.case) == ("reproduced", "input")
    found = by_hand(both(0.3), both(0.0), **HONEST | {"omission": both(0.8)})
    assert ledger(found)["nearer_to_omission"].verdict == "not tested"
    assert claims.answer(found) == "partial guide"


def test_where_no_text_differs_an_interval_has_a_width_all_the_same():
    found = by_hand(both(0.0), both(0.0), **HONEST, texts=40)
    shares = tables.flip_shares(found.flips)
    assert (shares["value"] == 0).all()
    assert (shares["low"] == 0).all()
    assert np.allclose(shares["high"], 1 - 0.05 ** (1 / 40)), "the exact bound of none in 40"
    beaten = ledger(found)["top_beats_random"]
    assert beaten.verdict == "undetermined"
    assert beaten.low < 0 < beaten.high


def test_few_texts_or_idle_models_are_not_tested():
    few = by_hand(both(0.3), both(0.0), **HONEST, texts=10)
    good = by_hand(both(0.3), both(0.0), **HONEST)
    idle = Results(good.labels.assign(prediction="a"), good.flips, good.fractions)
    for found in (few, idle):
        assert {claim.verdict for claim in ledger(found).values()} == {"not tested"}
    assert claims.answer(idle) == "not tested"


@pytest.fixture(scope="module")
def texts():
    return al.load_corpus("planted", n_train=600, n_dev=60, n_test=100, negation=0.0, distractors=0.0)


@pytest.fixture(scope="module")
def honest(texts):
    return grid.results([al.fit(texts, CONFIG, TRAINING, seed) for seed in SEEDS], texts)


@pytest.fixture(scope="module")
def hiding(texts):
    models = [fit_hiding(texts, CONFIG, TRAINING, seed) for seed in SEEDS]
    mass = measures.decisive(models, list(texts.test))["mass"].mean()
    assert mass < 0.03, "next to no attention on the words that decide"
    return grid.results(models, texts)


def test_models_that_hide_their_words_are_called_out_and_honest_ones_pass(honest, hiding):
    assert honest.labels["value"].mean() > 0.95
    assert hiding.labels["value"].mean() > 0.95, "they classify as well as the honest ones"
    passed, caught = ledger(honest), ledger(hiding)
    assert {claim.verdict for claim in passed.values()} == {"reproduced"}
    assert caught["nearer_to_omission"].verdict == "not reproduced"
    assert caught["top_beats_random"].verdict != "reproduced"
    assert caught["ahead_of_random"].verdict != "reproduced"
    assert claims.minus(hiding, "fractions", "alpha", "random")["attention"].high < 0, (
        "the attention level alone is fooled"
    )
    assert (claims.answer(honest), claims.answer(hiding)) == ("guide", "misleading")


def finished(corpus, models):
    """The cells of the notebook from the counts on: tables, checks, claims."""
    found = grid.results(models, corpus)
    assert all(claims.checks(found, models, corpus).values())
    assert len(tables.mean_fractions(found.fractions)) == 8
    assert len(tables.erase_top(models[0], grid.choose(models[0], list(corpus.test), 3))) <= 3
    return ledger(found).values()


def test_where_no_decision_flips_the_checks_still_run(texts):
    model = al.fit(texts, CONFIG, al.TrainConfig(epochs=0))
    for weights in model.model.decoder.parameters():
        weights.data = torch.zeros_like(weights)  # the same answer to every text, and to none
    found = grid.results([model], texts)
    assert (found.fractions["aside"] == measures.NEVER).all()
    assert {claim.verdict for claim in finished(texts, [model])} == {"not tested"}


def test_texts_of_one_word(tmp_path):
    rows = [f"{'good' if i % 2 else 'bad'}{i},{'pos' if i % 2 else 'neg'}" for i in range(240)]
    path = tmp_path / "short.csv"
    path.write_text("\n".join(["text,label", *rows]))
    corpus = al.load_corpus(str(path))
    config = al.ModelConfig(encoder="lstm", embedding_size=8, hidden_size=8)
    model = al.fit(corpus, config, al.TrainConfig(epochs=1))
    assert {len(example) for example in corpus.test} == {1}
    assert {claim.verdict for claim in finished(corpus, [model])} == {"not tested"}


def test_checks_can_fail(texts):
    models = [al.fit(texts, CONFIG, al.TrainConfig(epochs=0))]
    found = grid.results(models, texts)
    assert all(claims.checks(found, models, texts).values())
    wrong = Results(found.labels[1:], found.flips.assign(value=1 - found.flips["value"]), found.fractions[1:])
    assert sum(not passed for passed in claims.checks(wrong, models, texts).values()) == 3
