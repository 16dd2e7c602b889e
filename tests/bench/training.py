"""fit against a plain loop: shuffled batches padded to their longest text, `nn.LSTM` both ways, stock Adam."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import Corpus, Example, Preprocessing
from attnlib.training.fit import fit
from tests.bench import Row, bench, compare

TEXTS, DEV, WORDS, EPOCHS, BATCH = 6_920, 872, 13_826, 1, 32
"""The size of SST: an epoch of it."""


SETTINGS = (
    ("lstm", 50, 128, "dense", 2.5),
    ("lstm", 300, 256, "dense", 2.5),
    ("lstm", 300, 256, "lazy", 2.5),
    ("mlp", 50, 128, "dense", None),
    ("mlp", 50, 128, "lazy", None),
)
"""Encoder, widths of embedding and encoder, update, goal. 300 and 256 are Jain & Wallace's for SST."""


@bench("training")
def training() -> Iterator[Row]:
    """SST-like texts on one thread; ours with its set-up and the evaluation on dev, the plain loop without."""
    torch.set_num_threads(1)
    corpus = sst_like()
    for encoder, size, width, update, goal in SETTINGS:
        model = ModelConfig(encoder=encoder, embedding_size=size, hidden_size=width)
        config = TrainConfig(epochs=EPOCHS, embedding_update=update, patience=None, device="cpu")
        yield compare(
            "fit",
            f"{encoder} {size} to {width}, {update} embedding, {WORDS:,} words",
            lambda model=model, config=config: fit(corpus, model, config, seed=0),
            lambda model=model: plain_loop(corpus, model),
            goal=goal,
        )


def sst_like(seed: int = 0) -> Corpus:
    """Texts with the lengths of SST (mean 19, at most 52) and words after Zipf, as many as SST has."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, WORDS - 3)
    names = np.array([f"word{i}" for i in range(len(share))])

    def example(i: int) -> Example:
        length = int(np.clip(rng.gamma(4.3, 4.5), 2, 52))
        return Example(tuple(rng.choice(names, length, p=share / share.sum())), int(rng.integers(2)), id=str(i))

    texts = [example(i) for i in range(TEXTS + DEV)]
    # one long text that holds every word: a vocabulary as large as SST's
    vocabulary = Example(tuple(names), 0, id="words")
    corpus = Corpus(
        "sst_like",
        (*texts[:TEXTS],),
        (*texts[TEXTS:],),
        (),
        ("negative", "positive"),
        Preprocessing(tokenizer="whitespace"),
    )
    corpus.__dict__["vocabulary"] = type(corpus.vocabulary).build([*corpus.train, vocabulary])
    return corpus


class PlainModel(nn.Module):
    """What one writes in ten minutes: BiLSTM (or tanh layer), additive attention, linear output."""

    def __init__(self, config: ModelConfig, n_ids: int) -> None:
        super().__init__()
        size, width = config.embedding_size, config.hidden_size
        self.embedding = nn.Embedding(n_ids, size, padding_idx=0)
        recurrent = config.encoder == "lstm"
        self.encoder = (
            nn.LSTM(size, width // 2, batch_first=True, bidirectional=True) if recurrent else nn.Linear(size, width)
        )
        self.score = nn.Sequential(nn.Linear(width, width // 2), nn.Tanh(), nn.Linear(width // 2, 1, bias=False))
        self.decoder = nn.Linear(width, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(self.embedding(ids))
        hidden = hidden[0] if isinstance(hidden, tuple) else hidden.tanh()
        alpha = self.score(hidden).squeeze(-1).masked_fill(ids == 0, -torch.inf).softmax(1)
        return self.decoder((alpha.unsqueeze(-1) * hidden).sum(1))


def plain_loop(corpus: Corpus, config: ModelConfig) -> None:
    """The baseline, without any evaluation on dev."""
    torch.manual_seed(0)
    ids = [torch.tensor(corpus.vocabulary.ids(e.tokens)) for e in corpus.train]
    labels = torch.tensor([e.label for e in corpus.train])
    model = PlainModel(config, len(corpus.vocabulary))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(ids)).split(BATCH):
            batch = nn.utils.rnn.pad_sequence([ids[i] for i in rows], batch_first=True)
            loss = nn.functional.cross_entropy(model(batch), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
