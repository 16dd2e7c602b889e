"""Queries and the joint decoder by hand."""

from __future__ import annotations

import torch

from attnlib.models import build_model
from tests.models.helpers import N_IDS, config_of, make_batch


def lstm_by_hand(cell, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Hochreiter & Schmidhuber's equations in torch's order of gates: input, forget, candidate, output."""
    h = c = torch.zeros(cell.hidden_size, dtype=torch.float64)
    states = []
    for x in inputs:
        gates = cell.weight_ih_l0 @ x + cell.bias_ih_l0 + cell.weight_hh_l0 @ h + cell.bias_hh_l0
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return states


def test_query_and_joint_decoder_by_hand():
    batch = make_batch()
    torch.manual_seed(0)
    model = build_model(config_of({"encoder": "lstm"}), N_IDS, 3, query=True).double().eval()
    trace = model(batch)
    for row in range(len(batch)):
        n = int(batch.query_mask[row].sum())
        words = model.embedding(batch.query[row, :n])
        left = lstm_by_hand(model.query_encoder.forwards[0], list(words))
        right = lstm_by_hand(model.query_encoder.backwards[0], list(words.flip(0)))
        q = torch.cat([left[-1], right[-1]])
        decoder = model.decoder
        joint = (decoder.context(trace.context[row]) + decoder.query.weight @ q).tanh()
        torch.testing.assert_close(trace.logits[row], decoder.out(joint))
