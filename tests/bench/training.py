"""fit against a plain loop: shuffled batches padded to their longest text, `nn.LSTM` both ways, stock Adam."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import Corpus, Example, Preprocessing
from attnlib.training.fit import fit
from attnlib.training.initial import make_vectoriser
from tests.bench import Row, bench, compare

TEXTS, DEV, WORDS, EPOCHS, BATCH = 1_600, 200, 13_826, 1, 32
"""Texts and words as in SST, fewer of the texts: a step costs what it costs there."""
BARE = ((64, 50), (128, 50))
"""Widths of encoder and embedding of the shipped reports."""


SETTINGS = (
    ("lstm", 50, 128, "dense", 2.5),
    ("lstm", 300, 256, "dense", 2.5),
    ("lstm", 300, 256, "lazy", 2.5),
    ("mlp", 50, 128, "dense", None),
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
            repeats=2,
        )
    for width, size in BARE:
        model = ModelConfig(encoder="lstm", embedding_size=size, hidden_size=width)
        config = TrainConfig(epochs=2, patience=None, device="cpu", batch_size=BATCH)
        bare = nn.LSTM(size, width // 2, batch_first=True, bidirectional=True)
        shapes = [(len(b), b.ids.shape[1], size) for b in vectorised(corpus, model)] * config.epochs
        yield compare(
            "fit vs the bare BiLSTM of torch, forward and backward",
            f"{size} to {width}, same batches; all else is ours",
            lambda model=model, config=config: fit(corpus, model, config, seed=0),
            lambda bare=bare, shapes=shapes: bare_passes(bare, shapes),
            goal=0.9,
            repeats=2,
        )


def vectorised(corpus: Corpus, config: ModelConfig):
    """The batches of an epoch."""
    return make_vectoriser(corpus, config).batches(corpus.train, BATCH, shuffle_seed=0)


def bare_passes(lstm: nn.LSTM, shapes: list[tuple[int, int, int]]) -> None:
    """What no training with this encoder can do without: no embedding, attention, loss, optimiser, evaluation."""
    for shape in shapes:
        lstm.zero_grad()
        lstm(torch.ones(shape, requires_grad=True))[0].sum().backward()


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
