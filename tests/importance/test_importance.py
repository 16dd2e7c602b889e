"""Importance methods: equal to autograd and Captum, independent of batches, with errors that name what fits."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
import torch

from attnlib.erasure.flips import fraction_to_flip
from attnlib.importance.base import Case
from attnlib.importance.gradients import Unfinished, path_integral
from attnlib.importance.scores import METHODS, importance
from attnlib.importance.surrogate import AllZero
from attnlib.models.hierarchical import unstacked
from attnlib.utils.errors import ConfigError, UnknownName
from tests.conformance import naive, zoo

QUICK = [
    "random",
    "alpha",
    "grad_alpha",
    "alpha_grad",
    "omission",
    "leave_one_out",
    "gradient_norm",
    "input_x_grad",
]
WAYS = ("live", "detached")
LIME = {"samples": 200}
EVERYWHERE = [*QUICK, "integrated_gradients", "lime", "kernel_shap"]


def case(fitted, texts, level="input", target="logit") -> Case:
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode(texts))
    with torch.no_grad():
        return Case(fitted, batch, fitted.model(batch), level, target, 0)


@pytest.mark.parametrize("name", zoo.KINDS)
def test_every_method_runs_on_every_model(name):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 2)
    for method in EVERYWHERE:
        options = {"samples": 20} if method in ("lime", "kernel_shap") else {}
        if method == "integrated_gradients":
            options = {"on_gap": "ignore", "steps": 4}
        scores = importance(fitted, texts, method, **options)
        assert [len(s) for s in scores] == [len(fitted.tokens(t)) for t in texts], method
        assert all(np.isfinite(s).all() for s in scores), method
        if "hidden" in METHODS[method].levels:
            units = 3 if fitted.model_config.hierarchical else None
            hidden = importance(fitted, texts, method, level="hidden")
            assert [len(s) for s in hidden] == [units or len(fitted.tokens(t)) for t in texts], method


@pytest.mark.parametrize("target", ["logit", "probability"])
@pytest.mark.parametrize("name", zoo.KINDS)
def test_closed_form_gradients_are_autograds(name, target):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    trace = fitted.trace(texts, grad=True)
    values = trace.probabilities if target == "probability" else trace.logits
    value = values.gather(1, trace.prediction.unsqueeze(1)).sum()
    gradient = torch.autograd.grad(value, trace.alpha)[0]
    found = importance(fitted, texts, "grad_alpha", level="hidden", target=target, batch_size=2)
    product = importance(fitted, texts, "alpha_grad", level="hidden", target=target)
    for i, (g, p) in enumerate(zip(found, product, strict=True)):
        where = trace.mask[i]
        np.testing.assert_allclose(g, gradient[i][where].numpy(), atol=1e-12)
        np.testing.assert_allclose(p, (gradient * trace.alpha)[i][where].detach().numpy(), atol=1e-12)


def test_the_two_targets_rank_by_logit_and_by_margin():
    fitted = zoo.fitted("mlp")
    trace = fitted.trace(zoo.texts(fitted, 1))
    k = int(trace.prediction[0])
    v, p = trace.token_logits[0], trace.probabilities[0]
    logit, probability = (
        importance(fitted, zoo.texts(fitted, 1), "grad_alpha", target=t)[0] for t in ("logit", "probability")
    )
    np.testing.assert_allclose(logit, v[:, k].detach().numpy())
    np.testing.assert_allclose(probability, (p[k] * (v[:, k] - v @ p)).detach().numpy())


def test_word_weights_of_a_han_multiply_and_sum_to_one():
    fitted = zoo.fitted("han-gru")
    texts = zoo.texts(fitted, 3)
    for scores in importance(fitted, texts, "alpha"):
        assert scores.sum() == pytest.approx(1)
        assert (scores > 0).all()


@pytest.mark.parametrize("name", ["han-none", "han-gru"])
def test_word_gradients_of_a_han_by_differences(name):
    # Moving one word's weight moves its sentence's vector along h, and the sentence level answers.
    fitted = zoo.fitted(name)
    text = zoo.texts(fitted, 1)
    with torch.no_grad():
        trace = fitted.trace(text)
        k = int(trace.prediction[0])

        def answer(vectors):
            reading = fitted.model.sentence.read(None, vectors.unsqueeze(0), trace.mask, trace.mask)
            return fitted.model.decoder(reading.context)[0, k]

        slow = []
        for sentence, word in trace.words.mask.nonzero().tolist():
            step = torch.zeros_like(trace.words.context)
            step[sentence] = 1e-6 * trace.words.hidden[sentence, word]
            up, down = answer(trace.words.context + step), answer(trace.words.context - step)
            slow.append(float(up - down) / 2e-6)
    found = importance(fitted, text, "grad_alpha")[0]
    np.testing.assert_allclose(found, slow, atol=1e-6)


@pytest.mark.parametrize("name", ["han-none", "han-gru", "han-cnn-sparse", "han-transformer"])
def test_products_of_the_words_of_a_han_add_up_to_their_sentence(name):
    """The vector of a sentence is a sum over its words, so sum of a_w dz/da_w = c_s · dz/dc_s, by autograd."""
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    trace = fitted.trace(texts, grad=True)
    value = trace.logits.gather(1, trace.prediction.unsqueeze(1)).sum()
    by_vector = torch.autograd.grad(value, trace.words.context)[0]
    products = trace.words.alpha * (trace.words.hidden * by_vector.unsqueeze(1)).sum(-1)
    expected = unstacked(products.detach(), trace.positions)
    per_sentence = (trace.words.context * by_vector).sum(-1).reshape(len(texts), -1).detach().numpy()
    for i, scores in enumerate(importance(fitted, texts, "alpha_grad")):
        np.testing.assert_allclose(scores, expected[i][trace.positions[i] >= 0].numpy(), atol=1e-12)
        sums = [part.sum() for part in np.split(scores, (3, 6))]
        np.testing.assert_allclose(sums, per_sentence[i], atol=1e-10)


@pytest.mark.parametrize("name", ["lstm", "cnn-conv", "transformer", "han-gru", "query-lstm", "mlp-lin"])
def test_input_gradients_are_captums(name):
    from captum.attr import InputXGradient, IntegratedGradients

    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    found = case(fitted, texts)
    embedded = fitted.model.embed(found.batch).detach()

    def answer(e):
        return fitted.model(found.batch.select(torch.arange(len(e)) % len(texts)), embedded=e).logits

    where = [c.numpy() for c in found.batch.content]
    target = found.trace.prediction
    product = InputXGradient(answer).attribute(embedded.clone().requires_grad_(), target=target).sum(-1)
    start = embedded.masked_fill(found.batch.content.unsqueeze(-1), 0.0)
    path = (
        IntegratedGradients(answer)
        .attribute(embedded, baselines=start, target=target, n_steps=10, method="riemann_middle")
        .sum(-1)
    )
    ours = importance(fitted, texts, "input_x_grad")
    integrated = importance(fitted, texts, "integrated_gradients", steps=10, on_gap="ignore")
    for i, w in enumerate(where):
        np.testing.assert_allclose(ours[i], product[i].detach().numpy()[w], atol=1e-8)
        np.testing.assert_allclose(
            integrated[i], path[i].detach().numpy()[w], atol=1e-6
        )  # Captum's steps are float32


@pytest.mark.parametrize("name", ["lstm", "mlp-lin", "cnn", "han-gru", "query-lstm"])
def test_integrated_gradients_are_complete(name):
    fitted = zoo.fitted(name)
    found = path_integral(case(fitted, zoo.texts(fitted, 2)), steps=300)
    assert (found.gap <= 0.02 * found.change.abs().clamp_min(0.1)).all()
    coarse = path_integral(case(fitted, zoo.texts(fitted, 2)), steps=3)
    assert coarse.gap.max() > found.gap.max()


def test_an_incomplete_path_is_reported():
    fitted = zoo.fitted("mlp-lin")
    texts = zoo.texts(fitted, 3)
    with pytest.warns(Unfinished, match=r"of 3 texts miss"):
        importance(fitted, texts, "integrated_gradients", steps=1, tolerance=1e-6)
    with pytest.raises(ConfigError, match="more steps"):
        importance(fitted, texts, "integrated_gradients", steps=1, tolerance=1e-6, on_gap="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importance(fitted, texts, "integrated_gradients", steps=1, tolerance=1e-6, on_gap="ignore")
    with pytest.raises(ConfigError, match="one step"):
        importance(fitted, texts, "integrated_gradients", steps=0)


def test_the_quirk_integrates_t_times_the_gradient():
    fitted = zoo.fitted("none")
    found = case(fitted, zoo.texts(fitted, 1))
    right = importance(fitted, zoo.texts(fitted, 1), "integrated_gradients", steps=200)[0]
    wrong = importance(fitted, zoo.texts(fitted, 1), "integrated_gradients", quirks={"tasc_ig"})[0]
    change = float(path_integral(found, 50).change)
    assert right.sum() == pytest.approx(change, rel=0.02)
    assert abs(wrong.sum() - change) > 0.1 * abs(change)


@pytest.mark.parametrize("name", ["lstm", "lstm-concat-sparse", "han-cnn-sparse", "query-lstm"])
def test_hidden_leave_one_out_is_the_slow_one(name):
    fitted = zoo.fitted(name)
    for text in zoo.texts(fitted, 2):
        trace = naive.traced(fitted, text)
        k = int(trace.prediction[0])
        units = int(trace.lengths[0])
        slow = [
            abs(float(trace.probabilities[0, k] - naive.reweighed(trace, {i}, reproject=True).softmax(-1)[k]))
            for i in range(units)
        ]
        found = importance(fitted, [text], "leave_one_out", level="hidden")[0]
        np.testing.assert_allclose(found, np.array(slow) / sum(slow), atol=1e-10)


@pytest.mark.parametrize("level", ["input", "hidden"])
@pytest.mark.parametrize("name", ["lstm", "cnn", "mlp", "transformer", "han-gru"])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_rounding_is_not_shared_out(name, level, precision):
    """A decoder that says the same of every context: what removals change then is rounding alone."""
    fitted = deepcopy(zoo.fitted(name))
    fitted.model.to(precision)
    texts = zoo.texts(fitted, 4)
    with torch.no_grad():
        fitted.model.decoder.weight *= 1e-18
    for method in ("omission", "leave_one_out"):
        for target in ("probability", "logit"):
            assert all((s == 0).all() for s in importance(fitted, texts, method, level=level, target=target))


def test_small_changes_of_a_confident_model_are_kept():
    fitted = deepcopy(zoo.fitted("mlp"))
    fitted.model.float()
    texts = zoo.texts(fitted, 4)
    with torch.no_grad():
        fitted.model.decoder.bias[0] += 25.0  # p = 1 - 1e-9 or so: changes of p are smaller yet, and real
    for scores in importance(fitted, texts, "omission"):
        assert np.abs(scores).max() < 1e-6
        assert (scores != 0).all()


@pytest.mark.parametrize("level", ["input", "hidden"])
def test_gradient_norm_is_a_distribution_and_detaching_changes_it(level):
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 3)
    live, held = (
        importance(fitted, texts, "gradient_norm", level=level, attention=a) for a in ("live", "detached")
    )
    for a, b in zip(live, held, strict=True):
        assert a.sum() == pytest.approx(1)
        assert b.sum() == pytest.approx(1)
        assert not np.allclose(a, b)


def test_hidden_gradient_with_weights_held_is_proportional_to_them():
    # c = sum of alpha_i h_i: with alpha held, the gradient at h_i is alpha_i times one vector.
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 3)
    held = importance(fitted, texts, "gradient_norm", level="hidden", attention="detached")
    for a, b in zip(held, importance(fitted, texts, "alpha"), strict=True):
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("method", QUICK)
def test_scores_do_not_depend_on_batches(method):
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 7)
    one, many = (importance(fitted, texts, method, batch_size=n) for n in (1, 7))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_chance_comes_from_the_seed():
    fitted = zoo.fitted("mlp")
    texts = zoo.texts(fitted, 2)
    first, again, other = (importance(fitted, texts, "random", seed=s)[0] for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).all()
    state = torch.get_rng_state()
    shap = [importance(fitted, texts, "kernel_shap", samples=30, seed=3)[0] for _ in range(2)]
    assert (shap[0] == shap[1]).all()
    assert (torch.get_rng_state() == state).all()


def test_shapley_values_sum_to_what_the_text_adds():
    fitted = zoo.fitted("none")
    text = zoo.texts(fitted, 1)
    found = importance(fitted, text, "kernel_shap", samples=600)[0]
    trace = naive.traced(fitted, text[0])
    k = int(trace.prediction[0])
    added = trace.probabilities[0, k] - naive.nothing_left(fitted, text[0]).softmax(-1)[k]
    assert found.sum() == pytest.approx(float(added), abs=0.02)


@pytest.mark.parametrize("name", ["lstm", "cnn", "query-mlp"])
def test_lime_finds_what_omission_finds(name):
    """Next to random and omission: most words have a weight, and removing the heaviest flips decisions early."""
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 12)
    scores = {m: importance(fitted, texts, m, **o) for m, o in {"random": {}, "omission": {}, "lime": LIME}.items()}
    assert (np.concatenate(scores["lime"]) != 0).mean() > 0.99
    means = {m: fraction_to_flip(fitted, texts, s)["fraction"].fillna(1.0).mean() for m, s in scores.items()}
    assert means["lime"] < (means["omission"] + means["random"]) / 2


def test_a_text_that_no_removal_moves_is_reported():
    fitted = deepcopy(zoo.fitted("mlp"))
    with torch.no_grad():
        fitted.model.decoder.weight.zero_()
    with pytest.warns(AllZero, match="2 of 2 texts"):
        importance(fitted, zoo.texts(fitted, 2), "lime", samples=20)


@pytest.mark.parametrize("row", ["alpha", "first"])
def test_rollout_by_hand(row):
    fitted = zoo.fitted("transformer")
    texts = zoo.texts(fitted, 2)
    from attnlib.importance.inside import self_attention

    found = case(fitted, texts)
    first, second = (layer.mean(1) for layer in self_attention(found))
    eye = torch.eye(first.shape[-1], dtype=first.dtype)
    for name, flow in (("rollout", (second + eye) @ (first + eye) / 4), ("last_layer", second)):
        expected = (found.trace.alpha.unsqueeze(1) @ flow).squeeze(1) if row == "alpha" else flow[:, 0]
        for i, scores in enumerate(importance(fitted, texts, name, row=row)):
            np.testing.assert_allclose(scores, expected[i][found.units[i]].detach().numpy())
            assert scores.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["transformer", "bert"])
def test_self_attention_is_what_the_encoder_used(name):
    from attnlib.importance.inside import self_attention

    fitted = zoo.fitted(name)
    found = case(fitted, zoo.texts(fitted, 2))
    for layer in self_attention(found):
        real = found.batch.mask[:, None, None, :].expand_as(layer)
        assert (layer[~real] == 0).all()
        torch.testing.assert_close(layer.sum(-1), torch.ones_like(layer.sum(-1)))
    for scores in importance(fitted, zoo.texts(fitted, 2), "rollout"):
        # What flows from special tokens belongs to no word.
        assert 0 < scores.sum() <= 1 + 1e-9
        assert (scores > 0).all()


def test_what_does_not_fit_is_refused():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 1)
    with pytest.raises(UnknownName, match="Did you mean 'alpha_grad'"):
        importance(fitted, texts, "alpha_grd")
    with pytest.raises(ConfigError, match="level"):
        importance(fitted, texts, "alpha", level="word")
    with pytest.raises(ConfigError, match="works at level 'input' only"):
        importance(fitted, texts, "input_x_grad", level="hidden")
    with pytest.raises(ConfigError, match="Did you mean 'logit'"):
        importance(fitted, texts, "grad_alpha", target="logits")
    with pytest.raises(ConfigError, match="leave out target"):
        importance(fitted, texts, "alpha", target="logit")
    with pytest.raises(ConfigError, match="Did you mean 'steps'"):
        importance(fitted, texts, "integrated_gradients", step=3)
    with pytest.raises(ConfigError, match="self-attention"):
        importance(fitted, texts, "rollout")
    han = zoo.fitted("han-gru")
    with pytest.raises(ConfigError, match="hierarchical"):
        importance(han, zoo.texts(han, 1), "input_x_grad", attention="detached")
    for name in ("omission", "leave_one_out"):
        with pytest.raises(ConfigError, match="Leave operator out"):
            importance(fitted, texts, name, level="hidden", operator="pad")
    for name in ("rollout", "last_layer"):
        with pytest.raises(ConfigError, match="flat model"):
            importance(zoo.fitted("han-transformer"), zoo.texts(han, 1), name)


def test_every_method_says_what_it_is():
    for name, spec in METHODS.items():
        assert spec.name == name
        assert spec.summary
        assert spec.levels
