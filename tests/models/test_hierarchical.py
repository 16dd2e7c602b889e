"""Words within sentences, sentences within a text: by hand."""

from __future__ import annotations

import math

import torch

from attnlib.config import ModelConfig
from attnlib.models import build_model
from tests.models.helpers import N_IDS, TINY, make_batch


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
