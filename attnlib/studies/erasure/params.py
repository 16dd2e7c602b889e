"""Parameters of the study of erasure (Serrano & Smith 2019), and the models that they name."""

from __future__ import annotations

from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import ModelConfig, TrainConfig
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import ByDataset, Corpora, Positive, Seed, Size, Some, StudyParams

ARCHITECTURES = ("han", "flan")
Context = Literal["rnn", "conv", "noenc"]
ENCODERS = {"rnn": "gru", "conv": "cnn", "noenc": "none"}
"""The paper's words for the reach of an encoder, and the kit's."""
SMALL = Dataset({"corpus": "20news", "categories": ["rec.autos", "sci.space", "sci.med"], "sentence_length": 15})
_TEN = {"words": 0.4445, "sentences": 0.2202, "rate": 4e-4, "epochs": 15}
PUBLISHED: dict[str, dict[str, Any]] = {
    "yahoo": {"han": 0.3749, "flan": 0.4457, **_TEN},
    "imdb10": {"han": 0.2457, "flan": 0.3457, **_TEN},
    "amazon": {"words": 0.6, "sentences": 0.2, "han": 0.4, "flan": 0.4, "rate": 2e-4, "epochs": 60},
    "yelp": {"words": 0.7, "sentences": 0.1, "han": 0.7, "flan": 0.7, "rate": 1e-4, "epochs": 60},
}
"""Appendix A.1: dropout of words, sentences and each architecture's logits; rate; most epochs."""
CONV_DROPOUT = 0.3
"""Of what the authors' convolutions read, besides that of the appendix (released code)."""


class Params(StudyParams):
    """The parameters of `05_erasure`, each explained in its first cell.

    Accuracy always sees all test texts. A dataset that is not one of the paper's borrows the
    appendix's values for Yahoo, its topic task.
    """

    corpora: Corpora = (SMALL,)
    limit: Size | None = 400
    max_length: Size | None = 45
    texts: Size | None = 120
    encoders: Some[Context] = ("rnn", "conv", "noenc")
    seeds: Some[Seed] = (0, 1)
    vectors: str = "glove"
    vector_files: ByDataset[str] = Field(default_factory=dict)
    embedding_size: Size = 50
    hidden_size: int = Field(20, ge=2)
    dropout: bool = False
    epochs: Size | None = 4
    learning_rate: Positive | None = 1e-2
    batch_size: Size = 16

    @model_validator(mode="after")
    def _sense(self) -> Params:
        self._check_keys("vector_files", known=self.corpora)
        for cell in product(self.corpora, ARCHITECTURES, self.encoders):
            self.model(*cell)  # refuses what no model can be
        return self

    def model(self, dataset: str, architecture: str, context: str) -> ModelConfig:
        """One of the six models; attention is as wide inside as what it reads (section 3)."""
        width = self.embedding_size if context == "noenc" else self.hidden_size
        more: dict[str, Any] = {"kernel_sizes": (3, 5)} if context == "conv" else {}
        if self.dropout:
            own, within = PUBLISHED.get(dataset, PUBLISHED["yahoo"]), CONV_DROPOUT if context == "conv" else 0.0
            more |= {"logit_dropout": own[architecture], "embedding_dropout": both_dropouts(own["words"], within)}
            more |= {"sentence_dropout": both_dropouts(own["sentences"], within)} if architecture == "han" else {}
        more |= {"hierarchical": architecture == "han", "vectors": self.vector_files.get(dataset, self.vectors)}
        return self.config(ModelConfig, encoder=ENCODERS[context], attention_size=width, dropout=0.0, **more)

    def training(self, dataset: str, context: str) -> TrainConfig:
        """Adam, clipped at 10; the epoch with the best dev accuracy; word vectors are trained."""
        own = PUBLISHED.get(dataset, PUBLISHED["yahoo"])
        stop: dict[str, Any] = {"patience": 2, "embedding_update": "lazy"}  # fewer epochs than the paper's
        if self.epochs is None:
            stop = {"schedule": "plateau", "epochs": own["epochs"], "patience": 5}
            stop |= {"epochs": 60, "patience": 10} if context == "noenc" else {}
        stop["learning_rate"] = self.learning_rate or own["rate"]
        return self.config(TrainConfig, clip_norm=10.0, monitor="accuracy", weight_decay=0.0, **stop)


def both_dropouts(first: float, second: float) -> float:
    """The dropout that two in a row amount to: a value stays where both keep it."""
    return round(1 - (1 - first) * (1 - second), 6)
