"""Gradients at weights, inputs and states: against autograd, differences and Captum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from attnlib.models.hierarchical import unstacked
from attnlib.rankings.gradients import gradients, path_integral
from attnlib.rankings.scores import importance
from tests.conformance import zoo


@pytest.mark.parametrize("name", ["lstm", "cnn-conv", "transformer", "han-gru", "query-lstm", "mlp-lin"])
def test_input_gradients_are_captums(name):
    from captum.attr import InputXGradient, IntegratedGradients

    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    found = zoo.case(fitted, texts)
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
    integrated = importance(fitted, texts, "integrated_gradients", steps=10, tolerance=None)
    for i, w in enumerate(where):
        np.testing.assert_allclose(ours[i], product[i].detach().numpy()[w], atol=1e-8)
        np.testing.assert_allclose(
            integrated[i], path[i].detach().numpy()[w], atol=1e-6
        )  # Captum's steps are float32


@pytest.mark.parametrize("name", ["lstm", "cnn-conv", "transformer", "query-lstm"])
@pytest.mark.parametrize("level", ["input", "hidden"])
def test_a_trace_with_its_graph_gives_the_gradients_of_a_second_pass(name, level):
    fitted = zoo.fitted(name)
    again = zoo.case(fitted, zoo.texts(fitted, 4), level)
    kept = replace(again, trace=fitted.trace(zoo.texts(fitted, 4), grad=True))
    for one, other in zip(gradients(again), gradients(kept), strict=True):
        torch.testing.assert_close(one, other)
        assert not other.requires_grad


@pytest.mark.parametrize("name", ["lstm", "mlp-lin", "cnn", "han-gru", "query-lstm"])
def test_integrated_gradients_are_complete(name):
    fitted = zoo.fitted(name)
    _, change, gap = path_integral(zoo.case(fitted, zoo.texts(fitted, 2)), steps=300)
    assert (gap <= 0.02 * change.abs().clamp_min(0.1)).all()
    assert path_integral(zoo.case(fitted, zoo.texts(fitted, 2)), steps=3)[2].max() > gap.max()


def test_the_quirk_integrates_t_times_the_gradient():
    fitted = zoo.fitted("none")
    found = zoo.case(fitted, zoo.texts(fitted, 1))
    right = importance(fitted, zoo.texts(fitted, 1), "integrated_gradients", steps=200)[0]
    wrong = importance(fitted, zoo.texts(fitted, 1), "integrated_gradients", quirks={"tasc_ig"})[0]
    change = float(path_integral(found, 50)[1])
    assert right.sum() == pytest.approx(change, rel=0.02)
    assert abs(wrong.sum() - change) > 0.1 * abs(change)


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
