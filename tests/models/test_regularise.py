"""Tutek & Šnajder's regularisers against worked examples and stated shares."""

from __future__ import annotations

import math

import pytest
import torch

from attnlib.models import build_model, regularise
from attnlib.models.regularise import corrupt, mlm_loss, tying_loss
from tests.models.helpers import N_IDS, config_of, make_batch


def test_tying_by_hand():
    # Three tokens at distances 5, 0 and 2: each counts once, whatever the length of its text; padding is far.
    hidden = torch.tensor([[[3.0, 4.0], [1.0, 1.0]], [[2.0, 0.0], [99.0, 99.0]]])
    embedded = torch.tensor([[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    mask = torch.tensor([[True, True], [True, False]])
    assert tying_loss(hidden, embedded, mask).item() == pytest.approx((25 + 0 + 4) / 3)
    assert tying_loss(hidden, embedded, mask, squared=False).item() == pytest.approx((5 + 0 + 2) / 3)


def test_masking_follows_the_stated_shares():
    torch.manual_seed(0)
    ids = torch.randint(4, 104, (500, 120))
    content = torch.rand(ids.shape) < 0.8
    n = int(content.sum())
    changed, chosen = corrupt(ids, content, 0.15, mask_id=104, words=(4, 104))
    assert not chosen[~content].any()
    assert torch.equal(changed[~chosen], ids[~chosen])

    def close(count: int, of: int, share: float) -> bool:
        return abs(count / of - share) < 4 * math.sqrt(share * (1 - share) / of)

    k = int(chosen.sum())
    assert close(k, n, 0.15)
    hidden = chosen & (changed == 104)
    assert close(int(hidden.sum()), k, 0.8)
    replaced = chosen & ~hidden & (changed != ids)
    assert close(int(replaced.sum()), k, 0.1 * 99 / 100)
    drawn = changed[replaced]
    assert drawn.min() >= 4
    assert drawn.max() < 104
    # About 710 draws of 100 words leave out one in a thousand.
    assert len(drawn.unique()) > 95


@pytest.mark.parametrize("at_once", [1, 30, 10**6])
def test_mlm_loss_and_its_gradient_equal_those_of_the_cross_entropy(at_once, monkeypatch):
    monkeypatch.setattr(regularise, "GUESSED_AT_ONCE", at_once)
    vectors = (3 * torch.randn(11, 4, dtype=torch.float64)).requires_grad_()
    hidden = torch.randn(3, 6, 4, dtype=torch.float64, requires_grad=True)
    ids, chosen = torch.randint(11, (3, 6)), torch.rand(3, 6) < 0.6
    slow = torch.nn.functional.cross_entropy(hidden[chosen] @ vectors.T, ids[chosen], reduction="sum") / 3
    fast = mlm_loss(hidden, ids, chosen, vectors)
    torch.testing.assert_close(fast, slow)
    gradients = [torch.autograd.grad(7 * loss, hidden)[0] for loss in (fast, slow)]
    torch.testing.assert_close(*gradients)
    mlm_loss(hidden, ids, chosen, vectors).backward()
    assert vectors.grad is None, "the loss does not train the vectors"
    assert mlm_loss(hidden, ids, torch.zeros_like(chosen), vectors).item() == 0


@pytest.mark.parametrize("hierarchical", [False, True])
def test_mlm_reads_the_corrupted_text_and_guesses_the_true_one(hierarchical, monkeypatch):
    batch = make_batch()
    model = build_model(config_of({"regulariser": "mlm", "hierarchical": hierarchical}), N_IDS, 2).double()
    seen = []
    model.embedding.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    trace = model(batch)
    loss = model.regularisation(trace, batch)["mlm"]
    clean, corrupted = seen
    assert torch.equal(clean, batch.ids)
    assert model.mask_id == N_IDS - 1
    changed = corrupted != batch.ids
    assert changed.any()
    assert not changed[~batch.content].any()
    assert loss.item() > 0
