"""The corners of both classifiers: vectors, missing queries, empty texts, sentences, precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from attnlib.config import ATTENTIONS, ENCODERS, PROJECTIONS, SCALINGS, ModelConfig
from attnlib.models import attention, build_model, encoders, hierarchical, projections
from attnlib.models.classifier import Readout
from tests.models.helpers import N_IDS, TINY, WIDTH, config_of, make_batch


def test_registries_hold_the_names_of_the_config():
    assert {*encoders.ENCODERS, "bert"} == set(ENCODERS)
    assert set(attention.ATTENTIONS) == set(ATTENTIONS)
    assert {*attention.SCALINGS, "none"} == set(SCALINGS)
    assert set(projections.PROJECTIONS) == set(PROJECTIONS)


def test_vectors_are_taken_and_padding_stays_zero():
    vectors = np.random.default_rng(0).normal(size=(N_IDS, WIDTH))
    model = build_model(ModelConfig(**TINY), N_IDS, 2, vectors)
    weight = model.embedding.weight.detach().numpy()
    np.testing.assert_allclose(weight[1:], vectors[1:], rtol=1e-6)
    assert (weight[0] == 0).all()


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("encoder", list(encoders.ENCODERS))
def test_texts_without_words_are_decided_by_the_bias(encoder, hierarchical):
    model = build_model(config_of({"encoder": encoder, "hierarchical": hierarchical}), N_IDS, 2)
    for lengths in ((0, 3, 0), (0, 0)):
        batch = make_batch(lengths, boundaries=False)
        trace = model(batch)
        assert trace.logits.isfinite().all()
        for row in (row for row, n in enumerate(lengths) if n == 0):
            torch.testing.assert_close(trace.logits[row], model.decoder.bias)
            assert (trace.alpha[row] == 0).all()
        model.zero_grad()
        trace.logits.square().sum().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("scaled", ["none", "lin"])
@pytest.mark.parametrize("encoder", list(encoders.ENCODERS))
def test_sentences_in_groups_of_like_length_are_read_as_all_at_once(encoder, scaled, monkeypatch):
    def at_once(mask):
        return [(mask.any(1).nonzero().squeeze(1), mask.shape[1])]

    model = build_model(
        config_of({"encoder": encoder, "hierarchical": True, "scaling": scaled}), N_IDS, 2, query=True
    )
    model.double().eval()
    batch = make_batch((150, 40, 0, 9, 60, 1))
    assert len(hierarchical.like_lengths(hierarchical.layout(batch.mask, batch.sentences).rows(batch.mask))) > 2

    def read():
        embedded = model.embed(batch).detach().requires_grad_()
        trace = model(batch, embedded)
        words = {name: v for name, v in trace.words.__dict__.items() if name in Readout._fields and v is not None}
        words["scores"] = words["scores"].masked_fill(~trace.words.mask, 0)
        found = {**words, "logits": trace.logits, "encoded": model.encoded(embedded, batch)}
        return found | {"gradient": torch.autograd.grad(trace.logits.square().sum(), embedded)[0]}

    grouped = read()
    monkeypatch.setattr(hierarchical, "like_lengths", at_once)
    for name, value in read().items():
        torch.testing.assert_close(grouped[name], value, rtol=0, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(
    ("option", "hierarchical"),
    [
        ("embedding_dropout", False),
        ("embedding_dropout", True),
        ("sentence_dropout", True),
        ("logit_dropout", False),
    ],
)
def test_other_dropouts_act_where_they_say_in_training_alone(option, hierarchical):
    """Serrano & Smith drop what each encoder reads, and the logits themselves."""
    model = build_model(config_of({"encoder": "none", "hierarchical": hierarchical}, **{option: 0.5}), N_IDS, 40)
    batch = make_batch((20, 20, 20), boundaries=False)
    torch.manual_seed(0)
    trace = model.train()(batch)
    words = trace.words if hierarchical else trace
    dropped = {"embedding_dropout": words.hidden[words.mask], "logit_dropout": trace.logits}
    if option == "sentence_dropout":  # with embedding_dropout, a sentence of one dropped word is zero too
        dropped["sentence_dropout"] = trace.hidden[trace.mask]
    for name, values in dropped.items():
        share = (values == 0).float().mean().item()
        assert 0.3 < share < 0.7 if name == option else share == 0, name
    first, second = model.eval()(batch).logits, model(batch).logits
    assert torch.equal(first, second)
    assert (first != 0).all()


@pytest.mark.parametrize("projection", ["softmax", "sparsemax", "entmax", "gumbel"])
@pytest.mark.parametrize("hierarchical", [False, True])
def test_mixed_precision_keeps_weights_on_the_simplex(projection, hierarchical):
    options = {"encoder": "mlp", "projection": projection, "hierarchical": hierarchical, "regulariser": "tying"}
    model = build_model(config_of(options), N_IDS, 2)
    batch = make_batch((200, 3, 0))
    with torch.autocast("cpu", torch.bfloat16):
        trace = model(batch)
        loss = trace.logits.float().square().sum() + model.regularisation(trace, batch)["tying"]
    assert trace.logits.dtype == torch.bfloat16
    torch.testing.assert_close(trace.token_alpha.sum(1), torch.tensor([1.0, 1.0, 0.0]), rtol=0, atol=1e-5)
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_hierarchical_on_two_sentences_by_hand():
    """Without an encoder, every number of a HAN can be written down: `a b c . d e` as (a b c .)(d e)."""
    config = ModelConfig(encoder="none", attention="additive", hierarchical=True, **TINY)
    torch.manual_seed(0)
    model = build_model(config, N_IDS, 2).double().eval()
    batch = make_batch((6, 2), boundaries=False)
    batch.sentences[0] = torch.tensor([0, 0, 0, 0, 1, 1])
    batch.sentences[1, :2] = 0
    trace = model(batch)
    e = model.embedding(batch.ids[0])

    def pool(attention, vectors):
        scores = [
            (attention.out.weight[0] @ (attention.key.weight @ v + attention.key.bias).tanh()).item()
            for v in vectors
        ]
        total = sum(math.exp(a) for a in scores)
        alpha = [math.exp(a) / total for a in scores]
        return alpha, sum(a * v for a, v in zip(alpha, vectors, strict=True))

    first, c_first = pool(model.word.attention, e[:4])
    second, c_second = pool(model.word.attention, e[4:])
    alpha, context = pool(model.sentence.attention, [c_first, c_second])
    torch.testing.assert_close(trace.alpha[0], torch.tensor(alpha, dtype=torch.float64))
    torch.testing.assert_close(trace.words.alpha[0], torch.tensor(first, dtype=torch.float64))
    torch.testing.assert_close(trace.words.alpha[1, :2], torch.tensor(second, dtype=torch.float64))
    torch.testing.assert_close(trace.context[0], context)
    torch.testing.assert_close(trace.logits[0], model.decoder.weight @ context + model.decoder.bias)
    expected = [alpha[0] * a for a in first] + [alpha[1] * a for a in second]
    torch.testing.assert_close(trace.token_alpha[0], torch.tensor(expected, dtype=torch.float64))
    # The second text has one sentence: its weight is one, and its second row is empty.
    assert trace.mask.tolist() == [[True, True], [True, False]]
    assert trace.alpha[1].tolist() == [1.0, 0.0]
    assert trace.positions.tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, -1, -1, -1, -1]]
