"""fit: what it learns, that it repeats, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import Corpus, Example, load_corpus
from attnlib.training.fit import _Run, cross_entropy, fit
from attnlib.utils.errors import ConfigError, DataError, TrainingError

SMALL = ModelConfig(encoder="mlp", embedding_size=16, hidden_size=16)
QUICK = TrainConfig(epochs=2, learning_rate=5e-3, device="cpu")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("planted", n_train=160, n_dev=60, n_test=60, seed=1)


@pytest.fixture(scope="module")
def stories() -> Corpus:
    return load_corpus("planted", task="qa", n_train=60, n_dev=30, n_test=30)


def parameters(fitted) -> dict[str, torch.Tensor]:
    return fitted.model.state_dict()


def test_it_learns_what_was_planted():
    corpus = load_corpus("planted", n_train=400, n_dev=100, n_test=100, negation=0.0)
    fitted = fit(corpus, SMALL, TrainConfig(epochs=12, learning_rate=1e-2, device="cpu"))
    assert fitted.evaluate(corpus.test)["accuracy"] >= 0.95


@pytest.mark.parametrize("update", ["dense", "lazy"])
@pytest.mark.parametrize("encoder", ["mlp", "lstm"])
def test_the_same_seed_gives_the_same_model_bit_for_bit(corpus, encoder, update):
    model = SMALL.replace(encoder=encoder, dropout=0.2, projection="gumbel")
    config = QUICK.replace(embedding_update=update)
    assert fit(corpus, model, config, seed=3) == fit(corpus, model, config, seed=3)
    assert fit(corpus, model, config, seed=3) != fit(corpus, model, config, seed=4)


def test_the_test_texts_are_never_read(corpus):
    assert fit(replace(corpus, test=()), SMALL, QUICK) == fit(corpus, SMALL, QUICK)


def test_plateau_halves_the_rate_after_an_epoch_without_gain(corpus):
    config = TrainConfig(
        epochs=7, learning_rate=0.05, monitor="loss", patience=None, schedule="plateau", device="cpu"
    )
    history = fit(corpus, SMALL, config).history
    rate, lowest, expected = 0.05, np.inf, []
    for loss in history["dev_loss"]:
        expected.append(rate)
        rate = rate if loss < lowest else rate / 2
        lowest = min(lowest, loss)
    assert list(history["learning_rate"]) == pytest.approx(expected)
    assert rate < 0.05


@pytest.mark.parametrize("monitor", ["loss", "accuracy", "f1", "auc", "train_loss"])
def test_every_monitor_picks_its_best_epoch(corpus, monitor):
    config = TrainConfig(epochs=6, learning_rate=0.05, monitor=monitor, patience=None, device="cpu")
    fitted = fit(corpus, SMALL, config)
    history = fitted.history
    column = {"loss": "dev_loss", "f1": "dev_f1_macro", "train_loss": "loss"}.get(monitor, f"dev_{monitor}")
    kept = history.loc[history["best"], column].item()
    assert kept == (history[column].min() if "loss" in monitor else history[column].max())
    loss = history.loc[history["best"], "dev_loss"].item()
    assert fitted.evaluate(corpus.dev)["loss"] == pytest.approx(loss, abs=1e-6), "this model is kept"
    assert monitor != "loss" or not history["best"].iloc[-1], "this rate overfits; else the test shows nothing"


def test_no_epochs_give_the_untrained_model(corpus):
    one, other = (fit(replace(corpus, dev=()), SMALL, QUICK.replace(epochs=0), seed=s) for s in (0, 1))
    assert len(one.history) == 0
    assert one != other
    assert one.predict(corpus.test).probabilities.shape == (60, 2)


def test_class_weights_are_inverse_frequencies():
    texts = tuple(Example(("a",), label) for label in (0, 0, 0, 1))
    corpus = replace(load_corpus("planted", n_train=9, n_dev=9, n_test=9), train=texts)
    objective = cross_entropy(corpus, TrainConfig(class_weights=True), torch.device("cpu"))

    trace = SimpleNamespace(logits=torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    batch = SimpleNamespace(labels=torch.tensor([0, 1]))
    nll = -torch.tensor([0.0, 1.0]).log_softmax(0)
    expected = (nll[0] * 4 / (2 * 3) + nll[1] * 4 / (2 * 1)) / (4 / 6 + 4 / 2)
    assert objective(trace, batch)["cross_entropy"].item() == pytest.approx(expected.item())


def test_an_objective_of_ones_own(corpus):
    seen = set()

    def uniform(trace, batch):
        seen.update(batch.rows.tolist())
        return {"uniform": trace.probabilities.square().sum(1).mean()}

    fitted = fit(
        corpus,
        SMALL,
        TrainConfig(epochs=8, learning_rate=0.02, monitor="train_loss", device="cpu"),
        objective=uniform,
    )
    assert seen == set(range(len(corpus.train)))
    assert list(fitted.history["loss"]) == list(fitted.history["uniform"])
    assert np.abs(fitted.predict(corpus.test).probabilities - 0.5).max() < 0.1


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision_steps(corpus, precision):
    """The path of a GPU, on a CPU: parameters stay float32, learn and stay finite."""
    fitted = fit(corpus, SMALL, QUICK.replace(epochs=0))
    before = {k: v.clone() for k, v in parameters(fitted).items()}
    fitted.train_config = QUICK.replace(precision=precision)
    run = _Run(fitted, corpus, cross_entropy(corpus, QUICK, fitted.device))
    with run.optimisers.attached():
        losses = [run.epoch(number)["loss"] for number in (1, 2)]
    assert losses[1] < losses[0]
    assert all(v.dtype == torch.float32 and v.isfinite().all() for v in parameters(fitted).values())
    assert not torch.equal(parameters(fitted)["decoder.weight"], before["decoder.weight"])


@pytest.mark.parametrize("precision", ["tf32", "bfloat16", "float16"])
def test_the_precisions_of_a_gpu_are_refused_on_a_cpu(corpus, precision):
    with pytest.raises(ConfigError, match=r"needs a CUDA device.*precision='float32'"):
        fit(corpus, SMALL, QUICK.replace(precision=precision))


def test_a_loss_that_is_not_finite_stops_training(corpus):
    calls = []

    def breaks(trace, batch):
        calls.append(1)
        return {"odd": trace.logits.sum() * (float("nan") if len(calls) == 8 else 1.0)}

    with pytest.raises(TrainingError, match=r"odd is nan in epoch 2, step 3\. Try a smaller learning_rate"):
        fit(corpus, SMALL, QUICK, objective=breaks)


def test_no_dev_texts_are_refused_before_training(corpus):
    with pytest.raises(DataError, match=r"'planted' has no dev texts.*split column.*monitor='train_loss'"):
        fit(replace(corpus, dev=()), SMALL, QUICK)
    history = fit(replace(corpus, dev=()), SMALL, QUICK.replace(monitor="train_loss")).history
    assert history["dev_accuracy"].isna().all()


def test_auc_needs_two_classes(corpus, stories):
    with pytest.raises(ConfigError, match=r"'auc' needs two classes.* has 4"):
        fit(stories, SMALL, QUICK.replace(monitor="auc"))
    one = tuple(e for e in corpus.dev if e.label == 1)
    with pytest.raises(ConfigError, match="both among the dev texts"):
        fit(replace(corpus, dev=one), SMALL, QUICK.replace(monitor="auc"))


@pytest.mark.parametrize("seed", [-1, "0", 1.5])
def test_a_seed_is_a_whole_number(corpus, seed):
    with pytest.raises(ConfigError, match="seed must be a whole number"):
        fit(corpus, SMALL, QUICK, seed)
