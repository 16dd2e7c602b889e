"""Models whose truth is known, made by hand: what the verdicts of the audit are calibrated on.

Texts are filler around one or two decisive words of their class. Words are vectors of what they say (`value`), how
much attention they get (`salience`) and nothing else, so every number of a model is a choice made here:

honest      attention finds the decisive words and nothing is mixed: each word's state is its own
mixing      every state holds the mean of the text, and attention follows words that say nothing
elsewhere   every state holds the mean of the text, though attention points at the decisive words: any other would
            do
random      nothing is mixed, but attention was never trained
inverted    attention is largest on a word that speaks against the decision
deceptive   every state holds the mean of the text, and attention stays off the decisive words (Pruthi et al. 2020)

`dose` blends the honest model's attention with a uniform one, in its forward pass.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import Corpus, Example
from attnlib.measures.perturbation import uniform
from attnlib.models.encoders import blank
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted

WORDS = {"no": [f"bad{i}" for i in range(12)], "yes": [f"good{i}" for i in range(12)]}
DECOYS = {"no": [f"nah{i}" for i in range(6)], "yes": [f"yeah{i}" for i in range(6)]}
FILLER = [f"word{i}" for i in range(80)]
WIDTH = 4
KINDS = ("honest", "mixing", "elsewhere", "random", "inverted", "deceptive")


def corpus(n: int, *, seed: int = 0, train: int = 1000) -> Corpus:
    """n test texts of 8 to 24 words: one decisive word, or two, and a decoy of the other class."""
    rng = np.random.default_rng([seed, 20])
    sizes = {"train": train, "dev": 50, "test": n}
    splits = {split: tuple(_text(rng, f"{split}-{i}") for i in range(size)) for split, size in sizes.items()}
    return Corpus("planted models", **splits, classes=("no", "yes"), preprocessing=Preprocessing())


def _text(rng: np.random.Generator, name: str) -> Example:
    label = int(rng.integers(2))
    side, other = ("no", "yes")[label], ("yes", "no")[label]
    said = list(rng.choice(WORDS[side], 1 if rng.random() < 0.7 else 2, replace=False))
    words = [*said, rng.choice(DECOYS[other])]
    words += list(rng.choice(FILLER, int(rng.integers(8, 25)) - len(words)))
    tokens = tuple(str(words[i]) for i in rng.permutation(len(words)))
    return Example(tokens, label, id=name, rationale=tuple(w in said for w in tokens))


def model(kind: str, corpus: Corpus, *, seed: int = 0, dose: float = 0.0) -> Fitted:
    """The planted model of a kind; `seed` stands for the accidents of a training."""
    mixed = kind in ("mixing", "elsewhere", "deceptive")
    config = ModelConfig(
        encoder="transformer" if mixed else "none",
        attention="dot", dot_scaled=False, embedding_size=WIDTH, hidden_size=WIDTH,
    )  # fmt: skip
    fitted = fit(corpus, config, TrainConfig(epochs=0, device="cpu"), seed)
    if mixed:
        fitted.model.reader.encoder = Mixing()
    if dose:
        fitted.model.reader.projection = Dosed(fitted.model.reader.projection, dose)
    words = np.zeros((fitted.model.embedding.num_embeddings, WIDTH))
    for word, number in _numbers(kind, seed).items():
        if word in corpus.vocabulary:
            words[corpus.vocabulary.ids([word])[0], :2] = number
    gain = {"honest": 5.0, "random": 14.0, "inverted": 5.0}.get(kind, 30.0)
    with torch.no_grad():
        fitted.model.embedding.weight.copy_(torch.from_numpy(words))
        fitted.model.attention.query.copy_(torch.tensor([0.0, 1.0, 0.0, 0.0]))
        fitted.model.decoder.weight.copy_(torch.tensor([[-gain / 2, 0, 0, 0], [gain / 2, 0, 0, 0]]))
        fitted.model.decoder.bias.zero_()
    return fitted


def _numbers(kind: str, seed: int) -> dict[str, tuple[float, float]]:
    """Word -> (value, salience)."""
    fixed, own = np.random.default_rng(0), np.random.default_rng([seed, 8])
    mean = {"honest": 4.5, "elsewhere": 4.5, "inverted": 3.0, "deceptive": -4.0}.get(kind, 0.0)
    found: dict[str, tuple[float, float]] = {}
    for side, sign in (("no", -1.0), ("yes", 1.0)):
        found |= {word: (sign, mean + fixed.normal(0, 0.2)) for word in WORDS[side]}
        # without attention, the honest model could not tell a decoy from a decisive word: both say the same
        said, weight = {"honest": (sign, 0.0), "inverted": (0.25 * sign, 4.0)}.get(kind, (0.0, 0.0))
        found |= {word: (said, weight + fixed.normal(0, 0.2)) for word in DECOYS[side]}
    found |= {word: (fixed.normal(0, 0.05), fixed.normal(0, 0.5)) for word in FILLER}
    spread = {"random": (own, 1.5), "mixing": (fixed, 1.5)}.get(kind)
    if spread:
        found = {word: (value, spread[0].normal(0, spread[1])) for word, (value, _) in found.items()}
    return {word: (value, salience + own.normal(0, 0.1)) for word, (value, salience) in found.items()}


class Mixing(nn.Module):
    """Every state holds the mean value of the text, and its own word's salience."""

    width = WIDTH
    self_attentive = True  # a word that is removed leaves the mean

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        mean = blank(embedded, mask).sum(1, keepdim=True) / mask.sum(1).clamp_min(1).view(-1, 1, 1)
        return blank(torch.cat([mean[..., :1].expand_as(embedded[..., :1]), embedded[..., 1:]], -1), mask)


class Dosed(nn.Module):
    """(1 - dose) α + dose / n: a projection that ends part of the way to uniform attention."""

    exponential = False

    def __init__(self, inner: nn.Module, dose: float) -> None:
        super().__init__()
        self.inner, self.dose = inner, dose

    def exact(self, scores: Tensor, mask: Tensor) -> Tensor:
        return (1 - self.dose) * self.inner.exact(scores, mask) + self.dose * uniform(mask).to(scores)

    forward = exact
