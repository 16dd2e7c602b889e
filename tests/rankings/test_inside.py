"""Self-attention inside an encoder: by hand, and as the encoder used it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnlib.rankings.inside import self_attention
from attnlib.rankings.scores import importance
from tests.conformance import zoo


def test_rollout_by_hand():
    fitted = zoo.fitted("transformer")
    texts = zoo.texts(fitted, 2)
    found = zoo.case(fitted, texts)
    first, second = (layer.mean(1) for layer in self_attention(found))
    eye = torch.eye(first.shape[-1], dtype=first.dtype)
    expected = (found.trace.alpha.unsqueeze(1) @ ((second + eye) @ (first + eye) / 4)).squeeze(1)
    for i, scores in enumerate(importance(fitted, texts, "rollout")):
        np.testing.assert_allclose(scores, expected[i][found.units[i]].detach().numpy())
        assert scores.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["transformer", "bert"])
def test_self_attention_is_what_the_encoder_used(name):
    fitted = zoo.fitted(name)
    found = zoo.case(fitted, zoo.texts(fitted, 2))
    for layer in self_attention(found):
        real = found.batch.mask[:, None, None, :].expand_as(layer)
        assert (layer[~real] == 0).all()
        torch.testing.assert_close(layer.sum(-1), torch.ones_like(layer.sum(-1)))
    for scores in importance(fitted, zoo.texts(fitted, 2), "rollout"):
        # What flows from special tokens belongs to no word.
        assert 0 < scores.sum() <= 1 + 1e-9
        assert (scores > 0).all()
