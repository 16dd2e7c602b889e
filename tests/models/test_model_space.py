"""Every pair of parts works together: shapes, simplex, masks, gradients, learning, saving, batch invariance."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from attnlib.config import PARTS
from attnlib.models import build_model
from tests.models.helpers import N_IDS, SPACE, alone, config_of, make_batch, padded, pairwise_cover

COVER = list(pairwise_cover())
SINGLES = [
    {"encoder": "lstm", "attention": "additive", "projection": "softmax", "scaling": "none", "regulariser": "none"}
    | {"hierarchical": False, "query": False}
    | {name: value}
    for name, values in SPACE.items()
    for value in values
]
CHOICES = list({tuple(c.items()): c for c in SINGLES + COVER}.values())


def name(choice) -> str:
    shown = ("han" if v is True and k == "hierarchical" else k if v is True else v for k, v in choice.items())
    return "-".join(str(v) for v in shown if v is not False and v != "none") or "none"


def model_of(choice, seed: int = 0, **options):
    torch.manual_seed(seed)
    return build_model(config_of(choice, **options), N_IDS, 2, query=choice["query"]).double()


every = pytest.mark.parametrize("choice", CHOICES, ids=name)


@every
def test_parts_shapes_simplex_and_masks(choice):
    batch = make_batch()
    model = model_of(choice).eval()
    parts = model.parts()
    assert tuple(parts) == PARTS
    owned = [id(p) for part in parts.values() for p in part.parameters()]
    assert sorted(owned) == sorted(id(p) for p in model.parameters()), "every parameter belongs to one part"
    assert (sum(p.numel() for p in parts["scaling"].parameters()) == 0) == (choice["scaling"] == "none")
    trace = model(batch)
    texts, length = trace.mask.shape
    assert trace.logits.shape == (len(batch), 2)
    assert trace.hidden.shape[:2] == trace.alpha.shape == trace.scores.shape == (texts, length)
    assert trace.context.shape == (texts, trace.hidden.shape[-1])
    if not choice["hierarchical"]:
        assert torch.equal(trace.mask, batch.content)
    for level in filter(None, (trace, trace.words)):
        assert level.scores.isfinite().all()
        assert (level.alpha >= 0).all()
        assert (level.alpha[~level.mask] == 0).all()
        torch.testing.assert_close(level.alpha.sum(1), level.mask.any(1).double())
        torch.testing.assert_close(level.context, (level.weights.unsqueeze(-1) * level.hidden).sum(1))
        torch.testing.assert_close(level.project(level.scores, level.mask), level.alpha)
    assert ((trace.words or trace).scale is None) == (choice["scaling"] == "none")
    torch.testing.assert_close(trace.decode(trace.context), trace.logits)
    several = torch.stack([trace.context, trace.context * 2], 1)
    torch.testing.assert_close(trace.decode(several)[:, 0], trace.logits)
    assert trace.linear != choice["query"]
    if trace.linear:
        total = trace.bias + (trace.weights.unsqueeze(-1) * trace.token_logits).sum(1)
        torch.testing.assert_close(total, trace.logits)
    assert trace.token_alpha.shape == batch.ids.shape
    assert (trace.token_alpha[~batch.content] == 0).all()
    torch.testing.assert_close(trace.token_alpha.sum(1), batch.content.any(1).double())


@every
def test_gradients_are_finite_and_a_few_steps_lower_the_loss(choice):
    batch = make_batch((9, 1, 6, 4, 0, 7, 5, 3))
    options = {"gumbel_noise": "never"} if choice["projection"] == "gumbel" else {}
    model = model_of(choice, **options).train()
    # Summed per text, the loss of mlm can outweigh the classes; what must fall here is the whole of it.
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for _ in range(8):
        torch.manual_seed(1)
        trace = model(batch)
        extra = model.regularisation(trace, batch)
        assert set(extra) == {choice["regulariser"]} & {"tying", "mlm"}
        loss = F.cross_entropy(trace.logits, batch.labels) + sum(extra.values())
        optimiser.zero_grad()
        loss.backward()
        for label, parameter in model.named_parameters():
            assert parameter.grad is not None, f"{label} is not used"
            assert parameter.grad.isfinite().all(), label
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert (model.embedding.weight[0] == 0).all()


@every
def test_results_do_not_depend_on_the_batch(choice):
    batch = make_batch()
    model = model_of(choice).eval()
    with torch.no_grad():
        whole = model(batch)
        order = torch.tensor([3, 0, 5, 4, 2, 1])
        torch.testing.assert_close(model(batch.select(order)).logits, whole.logits[order], rtol=0, atol=1e-10)
        wide = model(padded(batch, 4))
        torch.testing.assert_close(wide.logits, whole.logits, rtol=0, atol=1e-10)
        width = batch.ids.shape[1]
        torch.testing.assert_close(wide.token_alpha[:, :width], whole.token_alpha, rtol=0, atol=1e-10)
        for row in range(len(batch)):
            one = model(alone(batch, row))
            torch.testing.assert_close(one.logits[0], whole.logits[row], rtol=0, atol=1e-10)
            length = one.token_alpha.shape[1]
            torch.testing.assert_close(one.token_alpha[0], whole.token_alpha[row, :length], rtol=0, atol=1e-10)
            if not choice["hierarchical"]:
                torch.testing.assert_close(one.hidden[0], whole.hidden[row, :length], rtol=0, atol=1e-10)
