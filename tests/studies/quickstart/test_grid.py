"""The first notebook's numbers, on a corpus whose decisive words are known."""

import numpy as np
import pandas as pd
import pytest

import attnlib as al
from attnlib.data.readers.packaged import DownloadError
from attnlib.studies.quickstart import grid, measures, tables
from attnlib.utils.errors import DataError


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=400, n_dev=50, n_test=40, negation=0.0, distractors=0.0)


@pytest.fixture(scope="module")
def models(corpus):
    config = al.ModelConfig(encoder="mlp", embedding_size=16, hidden_size=16)
    return [al.fit(corpus, config, al.TrainConfig(epochs=4, learning_rate=0.02), seed=s) for s in (3, 4)]


@pytest.fixture(scope="module")
def flips(models, corpus):
    return measures.single_flips(models, list(corpus.test))


@pytest.fixture(scope="module")
def fractions(models, corpus):
    return measures.fractions(models, list(corpus.test))


def table(top, other, level="attention"):
    """A frame of single flips, worked by hand: one seed, texts 0, 1, …"""
    rows = []
    for name, values in ((measures.TOP, top), (measures.RANDOM, other)):
        rows += [
            {"seed": 0, "instance": str(i), "level": level, "importance": name, "value": float(v)}
            for i, v in enumerate(values)
        ]
    return pd.DataFrame(rows)


def test_accuracy_is_one_row_a_text_and_seed(models, corpus):
    right = measures.predictions(models, list(corpus.test))
    assert len(right) == 2 * len(corpus.test)
    for fitted in models:
        mine = right.loc[right["seed"] == fitted.seed, "value"]
        assert mine.mean() == pytest.approx(fitted.evaluate(corpus.test)["accuracy"])
    by_seed = tables.accuracy(right)
    assert by_seed["n"].tolist() == [40, 40]
    assert (by_seed["low"] <= by_seed["accuracy"]).all()
    assert (by_seed["accuracy"] <= by_seed["high"]).all()


def test_chosen_texts_go_from_confident_and_correct_to_the_worst_error(models, corpus):
    def of_truth(examples):
        p = models[0].predict(examples).probabilities
        return p[np.arange(len(p)), [example.label for example in examples]]

    chosen = grid.choose(models[0], list(corpus.test), 5)
    assert len({example.id for example in chosen}) == 5
    assert (np.diff(of_truth(chosen)) <= 0).all()
    assert of_truth(chosen)[0] == pytest.approx(of_truth(list(corpus.test)).max())
    assert len(grid.choose(models[0], list(corpus.test[:2]), 5)) == 2


def test_texts_that_should_not_be_shown_are_passed_over(models):
    shown = [al.Example(tuple("a film about friends who meet in the city".split()), 1, id="friends")]
    rude = [
        al.Example(tuple(f"a film about {w} who meet in the city".split()), 1, id=w) for w in ("hookers", "Rapists")
    ]
    chosen = grid.choose(models[0], [rude[0], *shown, rude[1]], 3)
    assert [e.id for e in chosen] == ["friends"]
    assert len(grid.choose(models[0], rude, 2)) == 2, "where there is nothing else, they are"


def test_of_long_texts_the_shortest_are_chosen_from(models):
    longer = [al.Example(("lovely",) * (100 + i), 1, id=str(i)) for i in range(40)]
    assert {len(e) for e in grid.choose(models[0], longer, 3)} <= {100, 101, 102, 103}


def test_a_random_other_is_never_the_most_attended_and_can_be_any_other():
    alpha = [np.array([0.1, 0.6, 0.2, 0.1])] * 200
    firsts = [int(np.argmax(scores)) for scores in measures.random_others(alpha, seed=1)]
    assert set(firsts) == {0, 2, 3}
    again = measures.random_others(alpha, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(again, measures.random_others(alpha, seed=1), strict=True))


def test_single_flips_agree_with_erasing_by_hand(models, corpus, flips):
    fitted, examples = models[0], list(corpus.test)
    trace = fitted.trace(examples)
    mine = flips[(flips["seed"] == 3) & (flips["level"] == "attention") & (flips["importance"] == measures.TOP)]
    for b, value in enumerate(mine["value"]):
        alpha = trace.alpha[b].double().numpy().copy()
        alpha[alpha.argmax()] = 0
        logits = alpha / alpha.sum() @ trace.token_logits[b].detach().double().numpy() + trace.bias.detach().numpy()
        assert value == float(logits.argmax() != int(trace.prediction[b]))


def test_texts_of_one_token_are_left_out(models, corpus):
    short = al.Example(("lovely",), 1, id="short")
    found = measures.single_flips(models[:1], [short, *corpus.test[:3]])
    assert "short" not in set(found["instance"])
    assert len(found) == 3 * 4 * 2


def test_shares_and_their_difference_worked_by_hand():
    frame = pd.concat([table([1, 1, 0, 0], [1, 0, 0, 0]), table([0] * 4, [0] * 4, "input")])
    shares = tables.flip_shares(frame).set_index(["level", "erased token"])["value"]
    assert shares["attention", measures.TOP] == 0.5
    assert shares["attention", measures.RANDOM] == 0.25


def test_fractions_set_aside_what_a_number_would_hide(fractions, models, corpus):
    table = al.fraction_to_flip(models[0], list(corpus.test), "alpha", level="input")
    mine = fractions[(fractions["seed"] == 3) & (fractions["level"] == "input")]
    mine = mine[mine["importance"] == "alpha"].reset_index(drop=True)
    never, empty = (table["status"] == "never"), (table["status"] == "only_when_empty")
    assert (mine["aside"] == measures.NEVER).tolist() == never.tolist()
    assert (mine["aside"] == measures.NOTHING_LEFT).tolist() == empty.tolist()
    np.testing.assert_array_equal(mine["value"], table["fraction"].fillna(1.0))
    assert mine.loc[mine["aside"] == measures.NOTHING_LEFT, "value"].eq(1.0).all()


def test_on_planted_texts_attention_finds_the_decisive_words(models, corpus):
    found = measures.decisive(models, list(corpus.test))
    assert found["value"].mean() > 2 * found["chance"].mean()
    example = corpus.test[0]
    assert found["chance"][0] == pytest.approx(np.mean(example.rationale))
    with pytest.raises(DataError, match="rationales, such as planted"):
        measures.decisive(models, [al.Example(("a", "b"), 0)])


def test_the_table_of_erased_words(models, corpus):
    examples = list(corpus.test[:4])
    found = tables.erase_top(models[0], examples)
    trace = models[0].trace(examples)
    for i, example in enumerate(examples):
        top = int(trace.alpha[i].argmax())
        assert found["most attended"][i] == example.tokens[top]
        assert found["weight"][i] == pytest.approx(float(trace.alpha[i, top]), abs=1e-6)
        assert found["p, whole"][i] == pytest.approx(float(trace.probabilities[i].max()), abs=1e-6)
        assert ("attention" in found["decision changed at"][i]) == (found["p, attention"][i] < 0.5)


def test_a_failed_download_says_how_to_run_without_one():
    with pytest.raises(DownloadError, match="-p corpus planted") as told, grid.offline_hint():
        raise DownloadError("Could not download glove.")
    assert str(told.value).startswith("Could not download glove.")
