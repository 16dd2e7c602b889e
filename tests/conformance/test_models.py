"""Encoders, attention and HAN against loops written out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlib.config import ModelConfig
from attnlib.data import load_corpus
from attnlib.data.batching import WordVectoriser
from attnlib.models import build_model
from attnlib.models.attention import build_attention
from attnlib.models.encoders import build_encoder
from attnlib.models.recurrent import Recurrent
from tests.models.helpers import N_IDS, TINY, config_of, make_batch

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


def test_cnn_against_a_loop():
    embedded, mask = random_text()
    torch.manual_seed(1)
    encoder = build_encoder(ModelConfig(encoder="cnn", hidden_size=6, kernel_sizes=(1, 3, 5)), D).double()
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


def test_transformer_against_torch():
    embedded, mask = random_text()
    torch.manual_seed(1)
    encoder = build_encoder(ModelConfig(encoder="transformer", hidden_size=8, heads=2, layers=2), D).double()
    stock = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 8, 0.0, "gelu", batch_first=True, norm_first=True),
        2,
        norm=torch.nn.LayerNorm(8),
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
    stock.norm.load_state_dict(encoder.norm.state_dict())
    angles = [[t / 10000 ** (k / 4) for k in range(4)] for t in range(embedded.shape[1])]
    place = torch.tensor([[math.sin(a) for a in row] + [math.cos(a) for a in row] for row in angles])
    inputs = encoder.input(embedded) + encoder.position_scale * place.double()
    expected = stock(inputs, src_key_padding_mask=~mask)
    torch.testing.assert_close(encoder(embedded, mask)[mask], expected[mask], rtol=0, atol=1e-7)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("name", ["additive", "dot", "deep"])
def test_attention_scores_by_hand(name, asked):
    torch.manual_seed(0)
    hidden, query = torch.randn(2, 3, H, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    config = ModelConfig(attention=name, attention_size=5, attention_layers=2)
    attention = build_attention(config, H, 4 if asked else None).double()
    scores = attention(hidden, query if asked else None)
    for b in range(2):
        for t in range(3):
            h = hidden[b, t]
            if name == "dot":
                q = attention.query(query[b]) if asked else attention.query
                expected = sum(x * y for x, y in zip(h, q, strict=True)) / math.sqrt(H)
            else:
                inner = attention.key.weight @ h + attention.key.bias
                if asked:
                    inner = inner + attention.query.weight @ query[b]
                if name == "additive":
                    inner = inner.tanh()
                else:
                    (layer,) = attention.layers
                    inner = (layer.weight @ inner.clamp_min(0) + layer.bias).clamp_min(0)
                expected = attention.out.weight[0] @ inner
            torch.testing.assert_close(scores[b, t], expected)


def test_unscaled_dot_is_larger_by_the_root_of_the_width():
    hidden = torch.randn(2, 3, H)
    torch.manual_seed(0)
    scaled = build_attention(ModelConfig(attention="dot"), H)
    torch.manual_seed(0)
    unscaled = build_attention(ModelConfig(attention="dot", dot_scaled=False), H)
    torch.testing.assert_close(unscaled(hidden), scaled(hidden) * math.sqrt(H))


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


def test_hierarchical_sentences_are_read_apart():
    """The word encoder starts afresh at each sentence: other words in the first leave the second's vector alone."""
    model = build_model(config_of({"encoder": "lstm", "hierarchical": True}), N_IDS, 2).double().eval()
    batch = make_batch((6,), boundaries=False)
    batch.sentences[0] = torch.tensor([0, 0, 0, 1, 1, 1])
    before = model(batch).embedded
    batch.ids[0, 0] = 4
    after = model(batch).embedded
    assert not torch.allclose(before[0, 0], after[0, 0])
    assert torch.equal(before[0, 1], after[0, 1])


def uniformity(trace) -> float:
    """Mean of H(alpha) / ln T."""
    entropy = -torch.xlogy(trace.alpha, trace.alpha).sum(1)
    length = trace.mask.sum(1)
    return (entropy / length.clamp_min(2).log())[length > 1].mean().item()


@pytest.mark.parametrize("encoder", ["mlp", "lstm"])
def test_dot_attention_stays_uniform_unless_its_query_starts_large(encoder):
    """Tutek & Šnajder 2020, App. C: with the default initialisation, training leaves dot attention uniform."""
    corpus = load_corpus("planted")
    vectoriser = WordVectoriser(corpus.vocabulary, corpus.preprocessing)
    train = vectoriser.encode(corpus.train[:512])
    test = vectoriser.batch(train[:64])
    found = {}
    for init in ("normal", "kaiming"):
        torch.manual_seed(0)
        config = ModelConfig(encoder=encoder, attention="dot", dot_init=init, hidden_size=128)
        model = build_model(config, len(corpus.vocabulary), 2)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
        untrained = uniformity(model(test))
        for epoch in range(4):
            for batch in vectoriser.batches(train, 32, shuffle_seed=epoch):
                loss = torch.nn.functional.cross_entropy(model(batch).logits, batch.labels)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        found[init] = untrained, uniformity(model(test))
    for before, after in [found["kaiming"]]:
        assert before > 0.999
        assert after > 0.999
    for small, large in zip(found["kaiming"], found["normal"], strict=True):
        assert 1 - large > 20 * (1 - small)
    assert found["normal"][1] < found["normal"][0]
