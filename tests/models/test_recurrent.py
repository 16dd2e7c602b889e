"""LSTM and GRU against a loop written out, and against packed sequences."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlib.models.encoders import Recurrent

D, H = 5, 6


def random_text(lengths=(7, 3, 1, 5)) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), D, dtype=torch.float64), mask


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


def gru_by_hand(cell, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Cho et al.'s equations, as torch writes them: the reset gate acts after the recurrent product."""
    h = torch.zeros(cell.hidden_size, dtype=torch.float64)
    states = []
    for x in inputs:
        r_x, z_x, n_x = (cell.weight_ih_l0 @ x + cell.bias_ih_l0).chunk(3)
        r_h, z_h, n_h = (cell.weight_hh_l0 @ h + cell.bias_hh_l0).chunk(3)
        r, z = (r_x + r_h).sigmoid(), (z_x + z_h).sigmoid()
        h = (1 - z) * (n_x + r * n_h).tanh() + z * h
        states.append(h)
    return states


@pytest.mark.parametrize(("kind", "by_hand"), [("lstm", lstm_by_hand), ("gru", gru_by_hand)])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_recurrent_against_a_loop(kind, by_hand, bidirectional, layers):
    embedded, mask = random_text()
    encoder = Recurrent(kind, D, H, layers, bidirectional).double()
    hidden = encoder(embedded, mask)
    for row, n in enumerate(mask.sum(1).tolist()):
        states = list(embedded[row, :n])
        for layer in range(layers):
            left = by_hand(encoder.forwards[layer], states)
            if bidirectional:
                right = by_hand(encoder.backwards[layer], states[::-1])[::-1]
                states = [torch.cat(pair) for pair in zip(left, right, strict=True)]
            else:
                states = left
        torch.testing.assert_close(hidden[row, :n], torch.stack(states))
        assert (hidden[row, n:] == 0).all()
        summary = encoder.summary(hidden, mask)[row]
        expected = torch.cat([left[-1], right[0]]) if bidirectional else left[-1]
        torch.testing.assert_close(summary, expected)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_against_packed_sequences(kind):
    embedded, mask = random_text()
    encoder = Recurrent(kind, D, H).double()
    stock = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](D, H // 2, batch_first=True, bidirectional=True)
    stock = stock.double()
    weights = dict(encoder.forwards[0].named_parameters())
    weights |= {f"{k}_reverse": v for k, v in encoder.backwards[0].named_parameters()}
    stock.load_state_dict(weights)
    packed = pack_padded_sequence(embedded, mask.sum(1), batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(stock(packed)[0], batch_first=True)
    torch.testing.assert_close(encoder(embedded, mask), expected)
    # The trap this avoids: over plain padding, the stock module's backward states are others.
    assert not torch.allclose(stock(embedded)[0][mask], expected[mask])
