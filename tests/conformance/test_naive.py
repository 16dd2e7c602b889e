"""Equality with the slow definitions, on models of every kind, in float64."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from attnlib.engine.rows import OPERATORS
from attnlib.erasure.flips import fraction_to_flip, top_token_flips
from attnlib.erasure.request import Erasure, ranked
from attnlib.rankings.scores import importance
from tests.conformance import naive, zoo

INPUT = ("pad", "delete", "unk")


def tables(fitted, texts, scores, level, operator=None, batch_size=2):
    """(n + 1, C) logits of every text, from the engine."""
    request = Erasure(ranking=scores, batch_size=batch_size, level=level, operator=operator)
    found = {}
    for part in ranked(fitted, list(texts), request, "test"):
        with torch.no_grad():
            logits = part.table(fitted, request)
        for i, row in enumerate(part.batch.rows.tolist()):
            found[row] = logits[i, : int(part.lengths[i]) + 1]
    return [found[i] for i in range(len(texts))]


def agree(frame, top, curves, classes, emptied=None):
    """Frames of first flips and of top-token flips against logits (n + 1, C) of every text."""
    for i, curve in enumerate(curves):
        first, n = naive.first_flip(curve), len(curve) - 1
        row = frame.iloc[i]
        assert row["flipped"] == (first > 0)
        assert row["length"] == n
        if first:
            assert row["removed"] == first
            assert row["fraction"] == first / n
            assert row["after"] == classes[int(curve[first].argmax())]
            assert row["only_when_empty"] == (first == n if emptied is None else emptied[i][first])
        else:
            assert np.isnan(row["fraction"])
        assert top["flipped"][i] == (int(curve[1].argmax()) != int(curve[0].argmax()))


@pytest.mark.parametrize("name", zoo.KINDS)
def test_attention_level(name):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    scores = importance(fitted, texts, "alpha", level="hidden")
    curves = [naive.curve(fitted, t, s, "attention") for t, s in zip(texts, scores, strict=True)]
    for found, curve in zip(tables(fitted, texts, scores, "attention"), curves, strict=True):
        torch.testing.assert_close(found, curve)
    ways = {"level": "attention", "batch_size": 2}
    frame, top = (way(fitted, texts, scores, **ways) for way in (fraction_to_flip, top_token_flips))
    emptied = [naive.emptied(fitted, t, s) for t, s in zip(texts, scores, strict=True)]
    agree(frame, top, curves, fitted.classes, emptied)


@pytest.mark.parametrize("name", ["lstm", "mlp", "query-mlp", "han-gru", "gru-gumbel-feat"])
def test_attention_level_where_single_precision_loses_weights(name):
    """Scores hundreds apart: most float32 weights are zero, and what the model says without its best is not."""
    exact, rounded = (deepcopy(zoo.fitted(name)) for _ in range(2))
    texts = zoo.texts(exact, 4)
    trace = exact.trace(texts)
    spread = trace.scores[trace.mask].max() - trace.scores[trace.mask].min()
    for fitted in (exact, rounded):
        reader = fitted.model.sentence if fitted.model_config.hierarchical else fitted.model.reader
        reader.attention.register_forward_hook(lambda module, inputs, scores: scores * float(600 / spread))
    rounded.model.float()
    scores = importance(exact, texts, "alpha", level="hidden")
    trace = rounded.trace(texts)
    assert (trace.alpha[trace.mask] == 0).any()
    fast = tables(rounded, texts, scores, "attention")
    for text, s, found in zip(texts, scores, fast, strict=True):
        torch.testing.assert_close(found, naive.curve(exact, text, s, "attention", "", True), atol=2e-3, rtol=1e-3)
    frame = fraction_to_flip(rounded, texts, scores, level="attention")
    assert ((frame["removed"] == frame["length"]) == (frame["status"] == "only_when_empty")).all()


@pytest.mark.parametrize("operator", INPUT)
@pytest.mark.parametrize("name", ["mlp", "query-mlp"])
def test_input_level_where_double_precision_loses_weights(name, operator):
    fitted = deepcopy(zoo.fitted(name))
    fitted.model.attention.register_forward_hook(lambda module, inputs, scores: scores * 2000)
    texts = zoo.texts(fitted, 3)
    for scores in (importance(fitted, texts, "alpha"), importance(fitted, texts, "random")):
        curves = [naive.curve(fitted, t, s, "input", operator) for t, s in zip(texts, scores, strict=True)]
        for found, curve in zip(tables(fitted, texts, scores, "input", operator), curves, strict=True):
            torch.testing.assert_close(found, curve)


@pytest.mark.parametrize("operator", INPUT)
@pytest.mark.parametrize("name", zoo.KINDS)
def test_input_level(name, operator):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    scores = importance(fitted, texts, "random", seed=5)
    curves = [naive.curve(fitted, t, s, "input", operator) for t, s in zip(texts, scores, strict=True)]
    for found, curve in zip(tables(fitted, texts, scores, "input", operator), curves, strict=True):
        torch.testing.assert_close(found, curve)
    ways = {"operator": operator, "batch_size": 2}
    frame, top = (way(fitted, texts, scores, **ways) for way in (fraction_to_flip, top_token_flips))
    agree(frame, top, curves, fitted.classes)


@pytest.mark.parametrize("name", zoo.KINDS)
def test_every_omission(name):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 2)
    for operator in INPUT:
        signed = importance(fitted, texts, "omission", operator=operator)
        parts = importance(fitted, texts, "leave_one_out", operator=operator)
        for text, found, part in zip(texts, signed, parts, strict=True):
            slow = naive.omissions(fitted, text, operator)
            np.testing.assert_allclose(found, slow, atol=1e-10)
            np.testing.assert_allclose(part, np.abs(slow) / np.abs(slow).sum(), atol=1e-8)


def test_mask_operator_on_a_model_with_a_mask_token():
    fitted = zoo.fitted("gru-mlm")
    texts = zoo.texts(fitted, 3)
    scores = importance(fitted, texts, "alpha")
    for text, s, found in zip(texts, scores, tables(fitted, texts, scores, "input", "mask"), strict=True):
        torch.testing.assert_close(found, naive.curve(fitted, text, s, "input", "mask"))


@pytest.mark.parametrize("encoder", ["none", "mlp", "cnn", "lstm", "gru", "transformer"])
def test_pad_means_the_same_to_words_of_flat_and_of_hierarchical_models(encoder):
    """A text of one sentence: with the same parameters, words have the same states at either level of nesting."""
    flat, nested = zoo.fitted(encoder).model, _nested(encoder)
    nested.model.word.encoder.load_state_dict(flat.encoder.state_dict())
    text = replace(zoo.texts(nested, 1)[0], sentences=(0,))
    batch = naive.single(nested, text)
    removed = torch.zeros_like(batch.mask)
    removed[0, [0, 3, 4]] = True
    one, other = (OPERATORS["pad"](m, nested.vectoriser)(batch, removed) for m in (nested.model, flat))
    with torch.no_grad():
        words = nested.model(one).words
        alone = flat.encoder(nested.model.embed(other), other.mask)
    torch.testing.assert_close(words.hidden[words.mask], alone[other.content])


@pytest.mark.parametrize("name", ["transformer", "han-transformer"])
def test_self_attention_leaves_out_what_was_padded(name):
    """Whatever stands at a removed place, and in a sentence without words left, nothing else sees it."""
    fitted = zoo.fitted(name)
    batch = naive.single(fitted, zoo.texts(fitted, 1)[0])
    removed = torch.zeros_like(batch.mask)
    removed[0, [1, 3, 4, 5]] = True  # a word of the first sentence, and all of the second
    erased = OPERATORS["pad"](fitted.model, fitted.vectoriser)(batch, removed)
    with torch.no_grad():
        embedded = fitted.model.embed(erased)
        found = fitted.model(erased, embedded)
        disturbed = fitted.model(erased, embedded + 5.0 * removed.unsqueeze(-1))
    torch.testing.assert_close(found.logits, disturbed.logits)
    if fitted.model_config.hierarchical:
        reader = fitted.model.sentence
        read = torch.tensor([[True, False, True]])
        with torch.no_grad():
            vectors = []
            for places in ([0, 1, 2], [3, 4, 5], range(6, batch.ids.shape[1])):
                mask = erased.mask[:, list(places)]
                part = fitted.model.word.read(None, embedded[:, list(places)], mask, mask)
                vectors.append(part.context)
            slow = fitted.model.decoder(reader.read(None, torch.stack(vectors, 1), read, read).context)
        torch.testing.assert_close(found.logits, slow)


def _nested(encoder):
    from attnlib.config import ModelConfig, TrainConfig
    from attnlib.training.fit import fit

    values = zoo.KINDS.get(encoder, {"encoder": encoder}) | zoo.SIZE | {"hierarchical": True}
    return fit(
        zoo.corpus(), ModelConfig(**values), TrainConfig(epochs=0, precision="float64", device="cpu"), seed=0
    )
