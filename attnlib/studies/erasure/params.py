"""Parameters of the study of erasure (Serrano & Smith 2019), and the models that they name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, ModelConfig, TrainConfig
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import ByDataset, Corpora, Entry, Positive, Seed, Size, Some, StudyParams
from attnlib.utils.text import plural

Architecture = Literal["han", "flan"]
BOTH: tuple[Architecture, ...] = ("han", "flan")
Context = Literal["rnn", "conv", "noenc"]
ENCODERS = {"rnn": "gru", "conv": "cnn", "noenc": "none"}
"""The paper's words for the reach of an encoder, and the kit's."""


SMALL = Dataset({"corpus": "20news", "categories": ["rec.autos", "sci.space", "sci.med"], "sentence_length": 15})


class Published(Config):
    """Appendix A.1: dropout before each encoder and on the logits, learning rate; most epochs (rnn and conv)."""

    words: float
    sentences: float
    han_logits: float
    flan_logits: float
    rate: float
    epochs: int


_TEN = {"words": 0.4445, "sentences": 0.2202, "rate": 4e-4, "epochs": 15}
PUBLISHED = {
    "yahoo": Published(han_logits=0.3749, flan_logits=0.4457, **_TEN),
    "imdb10": Published(han_logits=0.2457, flan_logits=0.3457, **_TEN),
    "amazon": Published(words=0.6, sentences=0.2, han_logits=0.4, flan_logits=0.4, rate=2e-4, epochs=60),
    "yelp": Published(words=0.7, sentences=0.1, han_logits=0.7, flan_logits=0.7, rate=1e-4, epochs=60),
}
"""The paper's four data sets, by the names of its tables."""
BORROWED = "yahoo"
"""Whose values a data set has that is not the paper's: those of its one topic task."""
PATIENCE, PATIENCE_NOENC, EPOCHS_NOENC = 5, 10, 60
CONV_DROPOUT = 0.3
"""Of what the authors' convolutions read, besides that of the appendix; the paper does not mention it."""
SHORT_PATIENCE = 2
"""Where `epochs` are fewer than the paper's."""


class Params(StudyParams):
    """The parameters of `05_erasure`, each explained in its first cell.

    Accuracy always sees all test texts. A data set that is not one of the paper's borrows the appendix's values for
    Yahoo, its topic task. The models `beyond` the paper are a bidirectional LSTM with FLAN.
    """

    corpora: Corpora = (SMALL,)
    architectures: ByDataset[Some[Architecture]] = Field(default_factory=dict)
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
    beyond: Entry | None = Dataset({"corpus": "rotten_tomatoes", "limit": 500})
    beyond_seeds: Some[Seed] = (0,)
    beyond_hidden: int = Field(20, ge=2)
    beyond_epochs: Size = 4

    @model_validator(mode="after")
    def _sense(self) -> Params:
        self._check_keys("architectures", "vector_files", known=self.corpora)
        for name, architectures in self.trained.items():
            for cell in [(a, c) for a in architectures for c in self.encoders]:
                self.model(name, *cell)  # refuses what no model can be
        if self.beyond is not None:
            sizes = {"embedding_size": self.embedding_size, "vectors": self.vectors}
            for width in (self.beyond_hidden, self.embedding_size):  # the regularised are as wide as their vectors
                ModelConfig(hidden_size=width, **sizes)
        return self

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Those of the paper's models, and that of the others'."""
        return {"corpora": self.corpora} | ({} if self.beyond is None else {"beyond": (self.beyond,)})

    def facts(self) -> dict[str, Any]:
        """What the header of the report says."""
        texts = f"at most {self.texts:,}" if self.texts else "all test texts"
        dropout = f"{len(self.encoders)} encoders, {'with' if self.dropout else 'without'} dropout"
        return super().facts() | {"models": dropout, "texts": texts, "words_at_most": self.max_length or "no limit"}

    @property
    def setting(self) -> str:
        """What claims are judged on."""
        models = f"{plural(len(self.encoders), 'encoder')}, {plural(len(self.seeds), 'training')} per model"
        return f"{super().setting}; {models}"

    @property
    def trained(self) -> dict[str, tuple[str, ...]]:
        """Data set -> the architectures that are trained on it."""
        return {name: self.architectures.get(name, BOTH) for name in self.corpora}

    def data(self, dataset: str) -> DataConfig:
        """Where a data set comes from, and how it is read. The models of the other papers read all texts."""
        own = dataset in self.corpora and dataset != self.beyond
        return super().data(dataset, **{} if own else {"limit": None, "max_length": None})

    def model(self, dataset: str, architecture: str, context: str) -> ModelConfig:
        """One of the six architectures; attention is as wide inside as what it reads (section 3)."""
        width = self.embedding_size if context == "noenc" else self.hidden_size
        more: dict[str, Any] = {"kernel_sizes": (3, 5)} if context == "conv" else {}
        if self.dropout:
            own, han = PUBLISHED.get(dataset, PUBLISHED[BORROWED]), architecture == "han"
            within = CONV_DROPOUT if context == "conv" else 0.0
            more["logit_dropout"] = own.han_logits if han else own.flan_logits
            more["embedding_dropout"] = both_dropouts(own.words, within)
            more |= {"sentence_dropout": both_dropouts(own.sentences, within)} if han else {}
        more |= {"hierarchical": architecture == "han", "vectors": self.vector_files.get(dataset, self.vectors)}
        return self.config(ModelConfig, encoder=ENCODERS[context], attention_size=width, dropout=0.0, **more)

    def training(self, dataset: str, context: str) -> TrainConfig:
        """Adam, clipped at 10; the epoch with the best dev accuracy; word vectors are trained, as in the paper."""
        own = PUBLISHED.get(dataset, PUBLISHED[BORROWED])
        noenc = context == "noenc"
        stop = {"epochs": EPOCHS_NOENC if noenc else own.epochs, "patience": PATIENCE_NOENC if noenc else PATIENCE}
        stop |= {"schedule": "plateau"}
        if self.epochs is not None:
            stop = {"patience": SHORT_PATIENCE, "embedding_update": "lazy"}
        stop |= {"learning_rate": self.learning_rate or own.rate}
        return self.config(TrainConfig, clip_norm=10.0, monitor="accuracy", weight_decay=0.0, **stop)


def both_dropouts(first: float, second: float) -> float:
    """The dropout that two in a row amount to: a value stays where both keep it."""
    return round(1 - (1 - first) * (1 - second), 6)
