"""Parameters of the verdict: which models face all tests, and how the tests themselves are tested.

The models are half of a factorial, the rows whose level numbers sum to an even number: an orthogonal array of
strength 3, in which any three parts occur in every combination, equally often (Box & Hunter 1961).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, Encoder, ModelConfig, Regulariser, TrainConfig
from attnlib.measures.diagnosticity import GUIDES
from attnlib.studies.params import ByDataset, Positive, Seed, Size, Some, StudyParams

PARTS: dict[str, Sequence[Any]] = {
    "attention": ("additive", "dot"),
    "projection": ("softmax", "sparsemax"),
    "scaling": ("none", "lin"),
}
"""Parts of every design; the regulariser is a parameter."""


class Params(StudyParams):
    """The parameters of `06_verdict`.

    Of `counts` of clusters for information by rank, the largest that the texts allow counts; an adversary is
    searched for `adversary_texts` in `adversary_steps`; models of known honesty train on `guide_texts`.
    """

    limit: Size | None = 250
    embedding_size: Size = 16
    hidden_size: int = Field(16, ge=2)
    encoders: Some[Encoder] = ("lstm", "mlp")
    regularisers: Some[Regulariser] = ("none", "tying")
    design: Literal["fraction", "whole"] = "fraction"
    seeds: Some[Seed] = (0, 1)
    epochs: Size = 5
    patience: Size | None = None
    learning_rate: Positive = 1e-2
    learning_rates: ByDataset[Positive] = Field(default_factory=dict)
    texts: Size | None = 40
    counts: Some[Size] = (20,)
    adversary_texts: Size = 20
    adversary_steps: Size = 30
    guide_seeds: Some[Seed] = (0, 1)
    guide_texts: Size | None = None
    guide_epochs: Size = 4
    guide_learning_rate: Positive = 2e-2

    @model_validator(mode="after")
    def _sense(self) -> Params:
        self._check_keys("learning_rates", known=self.corpora)
        for row in self.rows:
            self.model(**row)  # refuses what no model can be
        if not any(ModelConfig(encoder=encoder).contextual for encoder in self.encoders):
            raise ValueError(
                f"encoders: attention can only mislead where states mix words; got {list(self.encoders)}. Add a "
                "contextual encoder, such as lstm."
            )
        return self

    def data(self, corpus: str) -> DataConfig:
        """Texts are cut at a length that 95% do not exceed, as in 01_tasc."""
        return super().data(corpus, max_length="95%")

    @property
    def rows(self) -> list[dict[str, str]]:
        """Encoder and parts of every model."""
        factors, made = PARTS | {"regulariser": self.regularisers}, []
        places = list(product(*(range(len(levels)) for levels in factors.values())))
        for encoder, numbers in product(self.encoders, places):
            row = {part: levels[n] for (part, levels), n in zip(factors.items(), numbers, strict=True)}
            works = row["regulariser"] != "mlm" or ModelConfig(encoder=encoder).contextual
            if works and (self.design == "whole" or sum(numbers) % 2 == 0):
                made.append({"encoder": encoder, **row})
        return made

    def model(self, *, regulariser: str, **parts: str) -> ModelConfig:
        """A model as 01_tasc makes it, with the projection and the regulariser of other papers.

        Tying and masked-word training compare states with word vectors, so that their states are as wide as those.
        """
        wide = {"hidden_size": self.embedding_size} if regulariser in ("tying", "mlm", "residual") else {}
        start = {"dot_init": "kaiming"} if parts["attention"] == "dot" else {}
        pool = {"scaling_pool": "sum"} if parts["scaling"] != "none" else {}
        own = {"regulariser": regulariser, "boundaries": True, "unattended": (".",), "oov_scale": 1.0, **parts}
        return self.config(ModelConfig, **own, **wide, **start, **pool)

    def training(self, corpus: str) -> TrainConfig:
        """As 01_tasc trains."""
        rate = self.learning_rates.get(corpus, self.learning_rate)
        adam = {"learning_rate": rate, "learning_rates": {}, "weight_decay": 1e-4, "weight_decays": {}}
        return self.config(
            TrainConfig, amsgrad=True, train_embeddings=False, clip_norm=None, monitor="loss", **adam
        )

    @property
    def guides(self) -> list[tuple[str, str]]:
        """Encoder and guide of the models of known honesty."""
        mixing = [encoder for encoder in self.encoders if ModelConfig(encoder=encoder).contextual]
        plain = [(encoder, "none") for encoder in self.encoders]
        return plain + [(encoder, guide) for encoder in mixing[:1] for guide in GUIDES if guide != "none"]

    def guided(self, corpus: str, encoder: str) -> dict[str, Config]:
        """Data, model and short training of known honesty."""
        data, sizes = self.data(corpus), {"embedding_size": self.embedding_size, "hidden_size": self.hidden_size}
        own = {"epochs": self.guide_epochs, "learning_rate": self.guide_learning_rate}
        return {
            "data": data if self.guide_texts is None else data.replace(limit=self.guide_texts),
            "model": ModelConfig(encoder=encoder, vectors=self.vectors, **sizes),
            "train": TrainConfig(embedding_update="lazy", monitor="loss", **own),
        }
