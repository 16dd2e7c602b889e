"""Encoders, queries and the joint decoder against loops written out and against torch's own modules."""

from __future__ import annotations

import math

import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.models import build_model
from attnlib.models.encoders import ENCODERS, Recurrent
from tests.models.helpers import N_IDS, config_of, make_batch

D, H = 5, 6


def random_text(lengths=(7, 3, 1, 5)) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), D, dtype=torch.float64), mask


def test_cnn_against_a_loop():
    embedded, mask = random_text()
    torch.manual_seed(1)
    encoder = ENCODERS["cnn"](ModelConfig(encoder="cnn", hidden_size=6, kernel_sizes=(1, 3, 5)), D).double()
    hidden = encoder(embedded.masked_fill(~mask.unsqueeze(-1), 50.0), mask)
    for row, n in enumerate(mask.sum(1).tolist()):
        for t in range(n):
            out = []
            for k, conv in zip((1, 3, 5), encoder.layers[0], strict=True):
                total = conv.bias.clone()
                for j in range(k):
                    place = t + j - k // 2
                    if 0 <= place < n:
                        total = total + conv.weight[:, :, j] @ embedded[row, place]
                out.append(total.relu())
            torch.testing.assert_close(hidden[row, t], torch.cat(out))
    assert (hidden[~mask] == 0).all()


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
    config = ModelConfig(encoder=kind, hidden_size=H, layers=layers, bidirectional=bidirectional)
    encoder = Recurrent(config, D).double()
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


@pytest.mark.parametrize(("norm", "activation"), [("pre", "gelu"), ("post", "relu")])
def test_transformer_against_torch(norm, activation):
    embedded, mask = random_text()
    torch.manual_seed(1)
    config = ModelConfig(encoder="transformer", hidden_size=8, heads=2, layers=2, transformer_norm=norm)
    encoder = ENCODERS[config.encoder](config, D).double()
    stock = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 8, 0.0, activation, batch_first=True, norm_first=norm == "pre"),
        2,
        norm=torch.nn.LayerNorm(8) if norm == "pre" else None,
        enable_nested_tensor=False,
    ).double()
    for ours, theirs in zip(encoder.layers, stock.layers, strict=True):
        theirs.self_attn.in_proj_weight.data = ours.inputs.weight.data
        theirs.self_attn.in_proj_bias.data = ours.inputs.bias.data
        theirs.self_attn.out_proj.load_state_dict(ours.output.state_dict())
        theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
        theirs.norm2.load_state_dict(ours.feed_norm.state_dict())
        theirs.linear1.load_state_dict(ours.feed[0].state_dict())
        theirs.linear2.load_state_dict(ours.feed[2].state_dict())
    if norm == "pre":
        stock.norm.load_state_dict(encoder.norm.state_dict())
    angles = [[t / 10000 ** (k / 4) for k in range(4)] for t in range(embedded.shape[1])]
    place = torch.tensor([[math.sin(a) for a in row] + [math.cos(a) for a in row] for row in angles])
    inputs = encoder.input(embedded) + encoder.position_scale * place.double()
    expected = stock(inputs, src_key_padding_mask=~mask)
    torch.testing.assert_close(encoder(embedded, mask)[mask], expected[mask], rtol=0, atol=1e-7)


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
