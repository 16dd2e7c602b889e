"""Parameters of the first notebook: one corpus, one model, several seeds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from attnlib.config import Attention, DataConfig, ModelConfig, TrainConfig
from attnlib.studies.params import Positive, Seed, Size, StudyParams


class Params(StudyParams):
    """The parameters of `00_quickstart`, each explained in its first cell."""

    encoder: Literal["lstm", "gru", "cnn", "transformer", "mlp", "none"] = "lstm"
    attention: Attention = "additive"
    hidden_size: int = Field(64, ge=2)
    epochs: Size = 6
    learning_rate: Positive = 5e-3
    seed: Seed = 0
    repeats: Size = 2
    shown: Size = 4

    @model_validator(mode="after")
    def _sense(self) -> Params:
        if len(self.corpora) > 1:
            raise ValueError(f"corpora: this notebook reads one corpus; got {', '.join(self.corpora)}.")
        _ = self.model, self.training  # refuse what no model can be
        return self

    def data(self, corpus: str) -> DataConfig:
        """Where the corpus comes from; what is drawn from it depends on the seed."""
        return self.dataset(corpus).config(limit=self.limit, seed=self.seed)

    @property
    def seeds(self) -> list[int]:
        """One per model."""
        return list(range(self.seed, self.seed + self.repeats))

    @property
    def model(self) -> ModelConfig:
        """What is trained."""
        return ModelConfig(
            encoder=self.encoder, attention=self.attention, vectors=self.vectors, hidden_size=self.hidden_size
        )

    @property
    def training(self) -> TrainConfig:
        """And how."""
        return TrainConfig(epochs=self.epochs, learning_rate=self.learning_rate)
