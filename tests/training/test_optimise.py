"""Row-wise Adam against torch's Adam on the steps that hold a row; dense updates against plain Adam."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib.config import TrainConfig
from attnlib.training.optimise import Optimisers, RowAdam
from attnlib.utils.errors import ConfigError

STEPS = [[0, 1, 1], [2], [1, 3], [0], [1], [2, 2, 2], [0, 1, 2, 3]]


class Toy(nn.Module):
    """A table of six words, an encoder and a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 3)
        self.encoder = nn.Linear(3, 4)
        self.decoder = nn.Linear(4, 2)

    def parts(self) -> dict[str, nn.Module]:
        return {"embedding": self.embedding, "encoder": self.encoder, "decoder": self.decoder}

    def loss(self, ids: list[int]) -> torch.Tensor:
        return self.decoder(self.encoder(self.embedding(torch.tensor(ids))).tanh()).square().sum()


def toy() -> Toy:
    torch.manual_seed(0)
    return Toy().double()


def run(model: Toy, config: TrainConfig, steps: list[list[int]] = STEPS) -> dict[str, torch.Tensor]:
    optimisers = Optimisers(model, config)
    with optimisers.attached():
        for ids in steps:
            optimisers.zero_grad()
            model.loss(ids).backward()
            optimisers.clip()
            optimisers.step()
    assert not model.embedding.sparse
    return model.state_dict()


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_row_adam_is_an_adam_of_its_own_for_every_row(amsgrad, decay):
    torch.manual_seed(0)
    start = torch.randn(4, 3, dtype=torch.float64)
    gradients = [torch.randn(len(set(ids)), 3, dtype=torch.float64) for ids in STEPS]
    table = nn.Parameter(start.clone())
    optimiser = RowAdam([table], lr=0.1, weight_decay=decay, amsgrad=amsgrad)
    for ids, gradient in zip(STEPS, gradients, strict=True):
        rows = torch.tensor([sorted(set(ids))])
        table.grad = torch.sparse_coo_tensor(rows, gradient, (4, 3), check_invariants=True)
        optimiser.step()
    for row in range(4):
        alone = nn.Parameter(start[row].clone())
        adam = torch.optim.Adam([alone], lr=0.1, weight_decay=decay, amsgrad=amsgrad)
        for ids, gradient in zip(STEPS, gradients, strict=True):
            if row in ids:
                alone.grad = gradient[sorted(set(ids)).index(row)].clone()
                adam.step()
        torch.testing.assert_close(table[row], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("clip", [None, 0.5, 1e6])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_dense_updates_are_plain_adam(clip, amsgrad):
    plain = toy()
    groups = [
        {"params": [*plain.embedding.parameters(), *plain.encoder.parameters()], "weight_decay": 0.01},
        {"params": plain.decoder.parameters(), "lr": 0.5, "weight_decay": 0.2},
    ]
    adam = torch.optim.Adam(groups, lr=0.1, amsgrad=amsgrad)
    for ids in STEPS:
        adam.zero_grad()
        plain.loss(ids).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(plain.parameters(), clip)
        adam.step()
    config = TrainConfig(
        learning_rate=0.1,
        learning_rates={"decoder": 0.5},
        weight_decay=0.01,
        weight_decays={"decoder": 0.2},
        amsgrad=amsgrad,
        clip_norm=clip,
    )
    for name, value in run(toy(), config).items():
        torch.testing.assert_close(value, plain.state_dict()[name], rtol=1e-10, atol=1e-10, msg=name)


def test_lazy_and_dense_agree_where_every_batch_holds_every_word():
    steps = [[0, 1, 2, 3, 4, 5, 5], [5, 4, 3, 2, 1, 0], [*range(6)]]
    dense, lazy = (run(toy(), TrainConfig(embedding_update=kind), steps) for kind in ("dense", "lazy"))
    for name in dense:
        torch.testing.assert_close(dense[name], lazy[name], rtol=1e-10, atol=1e-12)


def test_absent_words_move_when_dense_and_rest_when_lazy():
    start = toy().embedding.weight.detach().clone()
    dense = run(toy(), TrainConfig())["embedding.weight"]
    lazy = run(toy(), TrainConfig(embedding_update="lazy"))["embedding.weight"]
    assert torch.equal(lazy[4:], start[4:])
    assert not torch.isclose(dense[4:], start[4:], rtol=0, atol=1e-6).any(), "weight decay moves every word"
    assert not torch.isclose(lazy[:4], start[:4]).any()


def test_frozen_parts_ask_for_no_gradient():
    model = toy()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    after = run(model, TrainConfig(freeze=("encoder",), train_embeddings=False))
    assert all(torch.equal(before[k], after[k]) == (not k.startswith("decoder")) for k in before)


def test_nothing_to_train_is_an_error():
    with pytest.raises(ConfigError, match=r"Nothing is left to train.*epochs=0"):
        Optimisers(toy(), TrainConfig(freeze=("encoder", "decoder"), train_embeddings=False))
