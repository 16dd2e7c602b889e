"""Parameters of the first notebook: one corpus, one model, several seeds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from attnlib.config import Attention, ModelConfig, TrainConfig
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
        _ = self.config(ModelConfig), self.config(TrainConfig)  # refuse what no model can be
        return self
