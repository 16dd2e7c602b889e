"""Parameters of the study of erasure (Serrano & Smith 2019), and the models that they name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, ModelConfig, TrainConfig
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import ByDataset, Entry, Positive, Seed, Size, Some, StudyParams
from attnlib.utils.errors import unknown

Architecture = Literal["han", "flan"]
BOTH: tuple[Architecture, ...] = ("han", "flan")
Context = Literal["rnn", "conv", "noenc"]
ENCODERS = {"rnn": "gru", "conv": "cnn", "noenc": "none"}
"""The paper's words for the reach of an encoder, and the kit's."""


class Setting(Config):
    """Appendix A.1: dropout before each encoder and on the logits, learning rate, most epochs (rnn and conv)."""

    words: float
    sentences: float
    han_logits: float
    flan_logits: float
    rate: float
    epochs: int


SETTINGS = {
    "yahoo": Setting(words=0.4445, sentences=0.2202, han_logits=0.3749, flan_logits=0.4457, rate=4e-4, epochs=15),
    "imdb10": Setting(words=0.4445, sentences=0.2202, han_logits=0.2457, flan_logits=0.3457, rate=4e-4, epochs=15),
    "amazon": Setting(words=0.6, sentences=0.2, han_logits=0.4, flan_logits=0.4, rate=2e-4, epochs=60),
    "yelp": Setting(words=0.7, sentences=0.1, han_logits=0.7, flan_logits=0.7, rate=1e-4, epochs=60),
}
"""The paper's four data sets, by the names of its tables."""
NOENC = {"epochs": 60, "patience": 10}
CONV_DROPOUT = 0.3
"""Inside the authors' convolutions; the paper does not mention it."""


class Params(StudyParams):
    """The parameters of the notebook.

    architectures  data set -> han, flan or both, where a data set does not get both
    max_length     words per text; longer ones are cut
    texts      test texts that are erased from (accuracy always sees them all); None: all
    seeds      replicates: every model is trained once for each
    settings   `kit`: one training for all; `paper`: dropouts, rates, epochs and patience of Appendix A.1
    beyond     data set of the models of the other papers (a bidirectional LSTM with FLAN): one of `corpora`, or any
               other entry of that kind; None: leave them out
    beyond_seeds, beyond_hidden, beyond_epochs   of those models
    """

    architectures: ByDataset[Some[Architecture]] = Field(default_factory=dict)
    max_length: Size | None = None
    texts: Size | None = None
    encoders: Some[Context] = ("rnn", "conv", "noenc")
    seeds: Some[Seed] = (0, 1)
    embedding_size: Size = 50
    hidden_size: int = Field(100, ge=2)
    settings: Literal["kit", "paper"] = "kit"
    epochs: Size = 5
    learning_rate: Positive = 1e-3
    batch_size: Size = 32
    beyond: Entry | None = None
    beyond_seeds: Some[Seed] = (0,)
    beyond_hidden: int = Field(128, ge=2)
    beyond_epochs: Size = 5

    @model_validator(mode="after")
    def _sense(self) -> Params:
        self._check_keys("architectures", known=self.corpora)
        if self.settings == "paper":
            for name in self.corpora:
                if name not in SETTINGS:
                    raise ValueError(unknown("data set with settings of the paper", name, SETTINGS))
        for name, architectures in self.trained.items():
            for cell in [(a, c) for a in architectures for c in self.encoders]:
                self.model(name, *cell)  # refuses what no model can be
        if self.beyond is not None:
            sizes = {"embedding_size": self.embedding_size, "vectors": self.vectors}
            ModelConfig(hidden_size=self.beyond_hidden, **sizes)
            ModelConfig(
                hidden_size=self.embedding_size, **sizes
            )  # the regularised ones are as wide as their vectors
        return self

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Those of the paper's models, and that of the others'."""
        return {"corpora": self.corpora} | ({} if self.beyond is None else {"beyond": (self.beyond,)})

    @property
    def trained(self) -> dict[str, tuple[str, ...]]:
        """Data set -> the architectures that are trained on it."""
        return {name: self.architectures.get(name, BOTH) for name in self.corpora}

    @property
    def sources(self) -> dict[str, str]:
        """Data set -> the corpus that it is read from."""
        return {name: name.corpus for name in self.corpora}

    def data(self, dataset: str) -> DataConfig:
        """Where a data set comes from, and how it is read. The models of the other papers read whole texts."""
        longest = self.max_length if dataset in self.corpora and dataset != self.beyond else None
        return self.dataset(dataset).config(limit=self.limit, max_length=longest)

    def model(self, dataset: str, architecture: str, context: str) -> ModelConfig:
        """One of the six architectures; attention is as wide inside as what it reads (section 3)."""
        sizes = {"embedding_size": self.embedding_size, "hidden_size": self.hidden_size}
        width = self.embedding_size if context == "noenc" else self.hidden_size
        more: dict[str, Any] = {"kernel_sizes": (3, 5)} if context == "conv" else {}
        if self.settings == "paper":
            own, han = SETTINGS[dataset], architecture == "han"
            more |= {"embedding_dropout": own.words, "logit_dropout": own.han_logits if han else own.flan_logits}
            more |= {"sentence_dropout": own.sentences} if han else {}
            more |= {"dropout": CONV_DROPOUT} if context == "conv" else {}
        return ModelConfig(
            encoder=ENCODERS[context],
            hierarchical=architecture == "han",
            vectors=self.vectors,
            attention_size=width,
            **sizes,
            **more,
        )

    def training(self, dataset: str, context: str) -> TrainConfig:
        """Adam, clipped at 10; the epoch with the best dev accuracy; word vectors are trained, as in the paper."""
        shared = {"batch_size": self.batch_size, "clip_norm": 10.0, "monitor": "accuracy"}
        if self.settings == "kit":
            options = {"epochs": self.epochs, "patience": 2, "learning_rate": self.learning_rate}
            return TrainConfig(**shared, **options, embedding_update="lazy")
        own = SETTINGS[dataset]
        options = {"epochs": own.epochs, "patience": 5} | (NOENC if context == "noenc" else {})
        return TrainConfig(**shared, **options, learning_rate=own.rate, schedule="plateau", weight_decay=0.0)
