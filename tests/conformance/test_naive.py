"""Equality with the slow definitions, on models of every kind, in float64."""

import numpy as np
import pytest
import torch

from attnlib.engine.ranked import Request, ranked, table
from attnlib.erasure import fraction_to_flip, top_token_flips
from attnlib.importance import importance
from tests.conformance import naive, zoo

INPUT = ("pad", "delete", "unk")


def tables(fitted, texts, scores, level, operator="pad", reproject=False, batch_size=3):
    """(n + 1, C) logits of every text, from the engine."""
    request = Request(scores, level, None, 0, batch_size, frozenset(), {})
    found = {}
    for part in ranked(fitted, list(texts), request, "test"):
        with torch.no_grad():
            logits = table(fitted, part, level, operator, reproject)
        for i, row in enumerate(part.batch.rows.tolist()):
            found[row] = logits[i, : int(part.lengths[i]) + 1]
    return [found[i] for i in range(len(texts))]


@pytest.mark.parametrize("name", zoo.KINDS)
@pytest.mark.parametrize("reproject", [False, True], ids=["renormalised", "reprojected"])
def test_every_prefix_at_the_attention_level(name, reproject):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 4)
    scores = importance(fitted, texts, "alpha", level="hidden")
    fast = tables(fitted, texts, scores, "attention", reproject=reproject)
    for text, s, found in zip(texts, scores, fast, strict=True):
        torch.testing.assert_close(found, naive.curve(fitted, text, s, "attention", "", reproject))


@pytest.mark.parametrize("name", zoo.KINDS)
@pytest.mark.parametrize("operator", INPUT)
def test_every_prefix_at_the_input_level(name, operator):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    scores = importance(fitted, texts, "random", seed=5)
    fast = tables(fitted, texts, scores, "input", operator, batch_size=2)
    for text, s, found in zip(texts, scores, fast, strict=True):
        torch.testing.assert_close(found, naive.curve(fitted, text, s, "input", operator))


def test_mask_operator_on_a_model_with_a_mask_token():
    fitted = zoo.fitted("gru-mlm")
    texts = zoo.texts(fitted, 3)
    scores = importance(fitted, texts, "alpha")
    for text, s, found in zip(texts, scores, tables(fitted, texts, scores, "input", "mask"), strict=True):
        torch.testing.assert_close(found, naive.curve(fitted, text, s, "input", "mask"))


@pytest.mark.parametrize("name", zoo.KINDS)
@pytest.mark.parametrize("operator", INPUT)
def test_first_flips_at_the_input_level(name, operator):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    scores = importance(fitted, texts, "random", seed=6)
    frame = fraction_to_flip(fitted, texts, scores, operator=operator, batch_size=2)
    top = top_token_flips(fitted, texts, scores, operator=operator)
    for i, (text, s) in enumerate(zip(texts, scores, strict=True)):
        curve = naive.curve(fitted, text, s, "input", operator)
        first = naive.first_flip(curve)
        row = frame.iloc[i]
        assert row["flipped"] == (first > 0)
        assert row["length"] == len(s)
        if first:
            assert row["removed"] == first
            assert row["fraction"] == first / len(s)
            assert row["after"] == fitted.classes[int(curve[first].argmax())]
            assert row["only_when_empty"] == (first == len(s))
        else:
            assert np.isnan(row["fraction"])
        assert top["flipped"][i] == (int(curve[1].argmax()) != int(curve[0].argmax()))


@pytest.mark.parametrize("name", zoo.KINDS)
@pytest.mark.parametrize("operator", INPUT)
def test_every_omission(name, operator):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    signed = importance(fitted, texts, "omission", operator=operator, batch_size=2)
    parts = importance(fitted, texts, "leave_one_out", operator=operator)
    for text, found, part in zip(texts, signed, parts, strict=True):
        slow = naive.omissions(fitted, text, operator)
        np.testing.assert_allclose(found, slow, atol=1e-10)
        np.testing.assert_allclose(part, np.abs(slow) / np.abs(slow).sum(), atol=1e-8)


@pytest.mark.parametrize("name", ["lstm", "cnn", "mlp-lin", "transformer", "han-gru", "query-lstm", "gru-mlm"])
@pytest.mark.parametrize("operator", INPUT)
def test_results_do_not_depend_on_batches(name, operator):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 8)
    scores = importance(fitted, texts, "random")
    together = tables(fitted, texts, scores, "input", operator, batch_size=8)
    alone = [tables(fitted, [t], [s], "input", operator)[0] for t, s in zip(texts, scores, strict=True)]
    for a, b in zip(together, alone, strict=True):
        torch.testing.assert_close(a, b)
