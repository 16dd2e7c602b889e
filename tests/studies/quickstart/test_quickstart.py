"""The first notebook: its claims worked by hand, and on an honest, a deceptive and an idle model."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import attnlib as al
from attnlib.studies.quickstart import figures, grid, numbers
from attnlib.studies.quickstart.params import Params
from attnlib.studies.results import Results
from attnlib.studies.study import Study
from tests.studies.deceptive import fit_hiding

CONFIG = al.ModelConfig(encoder="lstm", embedding_size=24, hidden_size=24)
TRAINING = al.TrainConfig(epochs=6, learning_rate=0.01)
SEEDS = (0, 1, 2)
STUDY = Study("quickstart")


def gathered(labels: pd.DataFrame, erased: pd.DataFrame) -> Results:
    frames = {"labels": labels.assign(dataset="planted"), "erased": erased.assign(dataset="planted")}
    return Results(Params(repeats=len(SEEDS)), None, frames, ("dataset",), judged=("labels", "erased"))


def by_hand(top, other, *, alpha, random, omission, texts=100) -> Results:
    """Three seeds: shares flipped by one token and mean fractions to flip, each as {level: value}."""
    rng = np.random.default_rng(0)
    ids = [str(i) for i in range(texts)]
    rows = []
    for seed in SEEDS:
        for level in grid.LEVELS:
            for name, mean in (("alpha", alpha), ("random", random), ("omission", omission), ("other", random)):
                share = (other if name == "other" else top)[level]
                removed = pd.array(np.where(np.arange(texts) < share * texts, 1, 2), dtype="Int64")
                told = {"level": level, "importance": name, "instance": ids, "seed": seed, "length": 9}
                value = mean[level] + rng.normal(0, 0.02, texts)
                rows.append(pd.DataFrame(told | {"removed": removed, "status": "flipped", "value": value}))
    truth = ["a", "b"] * (texts // 2)
    told = {"instance": ids, "value": 1.0, "truth": truth, "prediction": truth}
    return gathered(pd.concat(pd.DataFrame(told | {"seed": s}) for s in SEEDS), pd.concat(rows, ignore_index=True))


def both(value):
    return {"attention": value, "input": value}


HONEST = {"alpha": both(0.3), "random": both(0.8), "omission": both(0.2)}
FOOLED = HONEST | {"alpha": {"attention": 0.3, "input": 0.8}}


def ledger(found):
    return dict(enumerate(STUDY.ledger(found.learned, "by hand"), start=1))


def reading(found):
    return re.sub(r".*Attention is (.*) guide.*", r"\1", numbers.answer(ledger(found), found)[0])


def test_the_claims_hold_where_attention_finds_the_words_at_both_levels():
    found = by_hand(both(0.3), both(0.0), **HONEST)
    judged = ledger(found)
    assert {claim.verdict for claim in judged.values()} == {"reproduced"}
    assert [judged[k].effect for k in (1, 2, 3, 4)] == pytest.approx([0.3, 0.7, -0.5, 0.3 - 0.5], abs=0.02)
    assert reading(found) == "a usable"
    assert all("<svg" in figure.drawn(found).svg() for figure in figures.FIGURES)


def test_one_level_alone_is_not_enough():
    found = by_hand({"attention": 0.3, "input": 0.0}, both(0.0), **FOOLED)
    judged = ledger(found)
    assert judged[1].verdict == judged[3].verdict == "undetermined"
    assert judged[4].verdict == "not reproduced"
    assert judged[1].case == judged[4].case == "input"
    assert judged[1].low < 0 < judged[1].high, "where no text differs an interval has a width all the same"
    assert reading(found) == "no"


@pytest.mark.parametrize(("alpha", "answer"), [(0.3, "a usable"), (0.65, "a partial"), (0.8, "no"), (0.95, "no")])
def test_the_answer_follows_the_input_level(alpha, answer):
    found = by_hand(both(0.3), both(0.0), **HONEST | {"alpha": {"attention": 0.3, "input": alpha}})
    assert reading(found) == answer


def test_without_a_distance_between_random_and_leave_one_out_a_level_is_not_judged():
    claim = ledger(by_hand(both(0.3), both(0.0), **HONEST | {"omission": {"attention": 0.8, "input": 0.2}}))[4]
    assert (claim.verdict, claim.case) == ("reproduced", "input")
    found = by_hand(both(0.3), both(0.0), **HONEST | {"omission": both(0.8)})
    assert ledger(found)[4].verdict == "not tested"
    assert reading(found) == "a partial"


def test_few_texts_or_idle_models_are_not_tested():
    good = by_hand(both(0.3), both(0.0), **HONEST)
    idle = gathered(good.labels.assign(prediction="a"), good.erased)
    for found in (by_hand(both(0.3), both(0.0), **HONEST, texts=10), idle):
        assert {claim.verdict for claim in ledger(found).values()} == {"not tested"}
        assert "cannot say" in reading(found)


@pytest.fixture(scope="module")
def texts():
    return al.load_corpus("planted", n_train=600, n_dev=60, n_test=100, negation=0.0, distractors=0.0)


def measured(models, texts) -> Results:
    found = [{k: f.assign(seed=m.seed) for k, f in grid.erasures(m, texts).items()} for m in models]
    return gathered(*(pd.concat([one[name] for one in found], ignore_index=True) for name in ("labels", "erased")))


@pytest.fixture(scope="module")
def honest(texts):
    return [al.fit(texts, CONFIG, TRAINING, seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def found(honest, texts):
    return measured(honest, texts)


def test_models_that_hide_their_words_are_called_out_and_honest_ones_pass(found, texts):
    hiding = measured([fit_hiding(texts, CONFIG, TRAINING, seed) for seed in SEEDS], texts)
    assert hiding.labels["value"].mean() > 0.95, "they classify as well as the honest ones"
    passed, caught = ledger(found), ledger(hiding)
    assert {claim.verdict for claim in passed.values()} == {"reproduced"}
    assert caught[4].verdict == "not reproduced"
    assert "reproduced" not in (caught[1].verdict, caught[3].verdict)
    fooled = numbers.ahead.each(hiding, ["level"])["attention"]
    assert fooled.high < 0, "the attention level alone is fooled"
    assert (reading(found), reading(hiding)) == ("a usable", "no")


def test_single_flips_agree_with_erasing_by_hand(honest, found, texts):
    trace = honest[0].trace(texts.test)
    mine = numbers.flips.only(level="attention", importance="alpha", seed=0).values(found)["value"]
    for b, value in enumerate(mine):
        alpha = trace.alpha[b].double().numpy().copy()
        alpha[alpha.argmax()] = 0
        logits = alpha / alpha.sum() @ trace.token_logits[b].detach().double().numpy() + trace.bias.detach().numpy()
        assert value == float(logits.argmax() != int(trace.prediction[b]))


def test_checks_can_fail(found):
    assert all(STUDY.checks(found, found.params).values())
    wrong = gathered(found.labels[1:], found.erased.assign(value=2.0, status="never"))
    assert not any(STUDY.checks(wrong, found.params).values())


def test_shown_texts_go_from_confident_and_correct_to_the_worst_error_and_can_be_shown_to_anybody(honest, texts):
    rude = al.Example(tuple("a film about some hookers who meet in the city".split()), 1, id="rude")

    def shown(test, n):
        run = SimpleNamespace(
            study=STUDY, params=Params(corpora=["planted"], shown=n),
            results=SimpleNamespace(grid=SimpleNamespace(fitted=lambda fit: honest[0])),
            corpora={"planted": SimpleNamespace(test=test)},
        )  # fmt: skip
        return figures.examples(run)[1]

    chosen = shown([rude, *texts.test], 5)
    p = honest[0].predict(chosen).probabilities[np.arange(5), [example.label for example in chosen]]
    assert len({example.id for example in chosen}) == 5
    assert (np.diff(p) <= 0).all()
    assert rude not in chosen
    assert shown([rude], 2) == [rude], "where there is nothing else, it is shown"
