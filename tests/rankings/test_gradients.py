"""Gradients at inputs and states: against Captum, complete, and normalised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

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
