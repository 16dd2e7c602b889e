"""Parameters of the study of sparse attention (Meister et al. 2021)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from attnlib.config import TrainConfig
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import Corpora, NotNegative, Once, Positive, Seed, Size, Some, StudyParams

ALPHAS = (1.01, 1.99)  # nearer to its ends entmax is softmax or sparsemax but for rounding
Name = Literal["lstm", "transformer"]


class Params(StudyParams):
    """The parameters of `03_sparsity`, each explained in its first cell; besides:

    attention_rate    of learning, in multiples of that of the other parts
    facet_texts       of Appendix A
    adversary_seeds   so many of the seeds are attacked
    """

    corpora: Corpora = (Dataset("rotten_tomatoes"),)
    limit: Size | None = 600
    vectors: str = "glove"
    strict_length_filter: bool = False
    boundaries: bool = False
    embedding_size: Size = 50
    encoders: Some[Name] = ("lstm", "transformer")
    hidden_sizes: dict[Name, Size] = Field({"lstm": 32, "transformer": 32})
    learning_rates: dict[Name, Positive] = Field({"lstm": 5e-3, "transformer": 3e-3})
    attention_rate: Positive = 1.0
    batch_size: Size = 32
    epochs: Size = 4
    patience: Size = 2
    monitor: Literal["loss", "auc"] = "loss"
    seeds: Some[Seed] = (0, 1)
    lambdas: Some[Annotated[float, Field(lt=1, allow_inf_nan=False)]] = (-1000.0, 0.0, 0.5)
    entmax_alphas: Once[Annotated[float, Field(ge=ALPHAS[0], le=ALPHAS[1])]] = (1.5,)
    texts: Size | None = 60
    hidden_texts: Size | None = 30
    facet_texts: Size = 3
    adversary_projections: Once[Literal["softmax", "sparsemax"]] = ("softmax",)
    adversary_lambdas: Once[NotNegative] = (0.0, 0.1)
    adversary_seeds: Size = 1
    adversary_epochs: Size = 5

    @model_validator(mode="after")
    def _sense(self) -> Params:
        for option in ("hidden_sizes", "learning_rates"):
            if missing := [e for e in self.encoders if e not in getattr(self, option)]:
                raise ValueError(f"{option} says nothing about {', '.join(missing)}.")
        if 0.0 not in self.lambdas or len(self.lambdas) < 3:
            raise ValueError(f"lambdas must hold 0 (sparsemax) and two others at least; got {list(self.lambdas)}.")
        return self

    def training(self, encoder: str) -> TrainConfig:
        """Adam with amsgrad (Appendix B); classes weighted, gradients left whole as Jain & Wallace do."""
        rate = self.learning_rates[encoder]
        rates = {} if self.attention_rate == 1 else {"attention": rate * self.attention_rate}
        own = {"amsgrad": True, "class_weights": True, "clip_norm": None, "train_embeddings": True}
        return self.config(TrainConfig, learning_rate=rate, learning_rates=rates, **own)
