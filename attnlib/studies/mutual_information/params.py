"""Parameters of the study of attention and information (Wen et al. 2022), and the models they name."""

from __future__ import annotations

import re
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Attention, DataConfig, ModelConfig, TrainConfig
from attnlib.data.corpora import corpora as registered
from attnlib.store.specs import FitSpec
from attnlib.studies.datasets import Dataset, brought, short
from attnlib.studies.params import ByDataset, Datasets, Once, Positive, Seed, Size, Some, StudyParams
from attnlib.studies.study import replicate
from attnlib.utils.errors import unknown
from attnlib.utils.text import plural

QUERIES: dict[str, dict[str, Any]] = {
    "stories": {"corpus": "planted", "task": "qa"},
    "babi_1": {"corpus": "babi", "task": 1},
    "babi_2": {"corpus": "babi", "task": 2},
    "babi_3": {"corpus": "babi", "task": 3},
    "snli": {"corpus": "snli"},
}
"""Corpora with a query, under the paper's names: how they are read. `stories` are generated, like bAbI 1."""
OTHER = "other"
"""Stands for the corpora that a value by corpus does not name."""
BY_CORPUS = ("embedding_size", "oov", "batch_size", "query_epochs")
"""Parameters with one value, or one by corpus."""

Name = Literal["lstm", "cnn", "mlp"]
Unknown = Literal["zero", "normal"]


class Params(StudyParams):
    """The parameters of `04_mutual_information`; one list of corpora and some of seeds may be empty."""

    corpora: Datasets = (Dataset("rotten_tomatoes"),)
    query_corpora: Datasets = (Dataset({"corpus": "stories", "n_train": 200, "n_dev": 50, "n_test": 100}),)
    limit: Size | None = 600
    vectors: str = "glove"
    strict_length_filter: bool = False
    vector_files: ByDataset[str] = Field(default_factory=dict)
    embedding_size: Size | ByDataset[Size] = 50
    oov: Unknown | ByDataset[Unknown] = "zero"
    embedding_update: Literal["dense", "lazy"] = "dense"
    encoders: Some[Name] = ("lstm", "mlp")
    attentions: Some[Attention] = ("additive", "deep", "dot")
    hidden_sizes: dict[Name, Size] = Field(default_factory=lambda: {"lstm": 16, "cnn": 16, "mlp": 16})
    kernel_sizes: Some[Size] = (1, 3, 5, 7)
    deep_size: Size = 16
    seeds: Some[Seed] = (0, 1)
    epochs: Size = 6
    patience: Size | None = 2
    monitor: Literal["auc", "accuracy", "loss"] = "loss"
    learning_rate: Positive = 1e-2
    batch_size: Size | ByDataset[Size] = 32
    query_encoders: Some[Name] = ("lstm",)
    query_epochs: Size | ByDataset[Size] = 10
    query_learning_rate: Positive = 5e-3
    counts: Some[Annotated[int, Field(ge=2)]] = (8, 12)
    texts: int | None = Field(120, ge=10)
    resamples: int = Field(20, ge=2)
    gumbel_seeds: Once[Seed] = (0,)
    ablation_seeds: Once[Seed] = (0,)
    adversary_seeds: Once[Seed] = (0,)
    adversary_epochs: Size = 4

    @model_validator(mode="after")
    def _sense(self) -> Params:
        if not self.all_corpora:
            raise ValueError("corpora must name at least one, or query_corpora must.")
        if both := set(self.corpora) & set(self.query_corpora):
            raise ValueError(f"corpora and query_corpora both name {', '.join(sorted(both))}; leave it in one.")
        self._check_keys("vector_files", known=self.all_corpora)
        by_corpus = [option for option in BY_CORPUS if isinstance(getattr(self, option), dict)]
        self._check_keys(*by_corpus, known=(*self.all_corpora, OTHER))
        for option in ("gumbel_seeds", "ablation_seeds", "adversary_seeds"):
            if not set(getattr(self, option)) <= set(self.seeds):
                raise ValueError(f"{option} are among the seeds {self.seeds}; got {getattr(self, option)}.")
        for corpus in self.all_corpora:
            self.models(corpus)  # refuses what no model can be
        return self

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Those to classify, and those with a query."""
        return {"corpora": self.corpora, "query_corpora": self.query_corpora}

    @property
    def setting(self) -> str:
        """What claims are judged on."""
        corpora, attentions = ", ".join(map(short, self.all_corpora)), ", ".join(self.attentions)
        return f"{corpora}; {attentions} attention; {plural(len(self.seeds), 'training')} per cell"

    def task(self, corpus: str) -> str:
        """classification, qa or nli (by its name): the rows of Table 5."""
        if corpus not in self.query_corpora:
            return "classification"
        return "nli" if re.search(r"(?<![a-z])[a-z]?nli(?![a-z])", corpus.lower()) else "qa"

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from, and how it is read."""
        source, query = self.dataset(corpus).corpus, corpus in self.query_corpora
        known = {*QUERIES, *registered}
        if query and source not in known and not brought(source):
            raise ValueError(unknown("corpus with a query", source, known, hint="Or a table, or hub:NAME."))
        limit = None if source == "stories" else self.limit
        strict = self.strict_length_filter and not query
        return self.dataset(corpus).config(QUERIES if query else None, limit=limit, strict_length_filter=strict)

    def training(self, corpus: str) -> TrainConfig:
        """As Jain & Wallace train: with a query, weight decay on every part; without, classes weighted alike."""
        own: dict[str, Any] = {"class_weights": True}
        if corpus in self.query_corpora:
            own = {"epochs": self._of("query_epochs", corpus), "monitor": "accuracy", "weight_decays": {}}
            own["learning_rate"] = self.query_learning_rate
            own["patience"] = self.patience and max(self.patience, 5)  # the loss of stories falls late
        own["batch_size"] = self._of("batch_size", corpus)
        return self.config(TrainConfig, amsgrad=True, clip_norm=None, **own)

    def model(self, corpus: str, encoder: str, attention: str) -> ModelConfig:
        """One cell of the grid, with softmax. Generated stories learn their word vectors."""
        generated = self.dataset(corpus).corpus == "stories"
        own: dict[str, Any] = {"vectors": self.vector_files.get(corpus, "none" if generated else self.vectors)}
        if attention == "deep":
            own |= {"attention_size": self.deep_size, "attention_layers": 2}
        if attention == "dot":
            # equation 1, with a query, is scaled; equation 5, without, is not
            own |= {"dot_scaled": corpus in self.query_corpora, "dot_init": "kaiming"}
        if encoder == "cnn":
            own["kernel_sizes"] = self.kernel_sizes
        if own["vectors"] != "none":
            own["oov"] = self._of("oov", corpus)
            own["oov_scale"] = 1.0 if own["oov"] == "normal" else None
        sizes = {"embedding_size": self._of("embedding_size", corpus)}
        sizes["hidden_size"] = self._of("hidden_sizes", encoder)
        return ModelConfig(encoder=encoder, attention=attention, boundaries=True, **sizes, **own)

    def models(self, corpus: str) -> list[FitSpec]:
        """The softmax models of a corpus; `seed` in their label counts trainings."""
        encoders = self.query_encoders if corpus in self.query_corpora else self.encoders
        common = {"data": self.data(corpus), "train": self.training(corpus)}
        return [
            replicate(k, corpus, encoder, attention, model=self.model(corpus, encoder, attention), **common)
            for encoder, attention, k in product(encoders, self.attentions, self.seeds)
        ]

    def _of(self, option: str, name: str) -> Any:
        """The value of a parameter for one corpus (or encoder)."""
        value = getattr(self, option)
        if not isinstance(value, dict):
            return value
        if name not in value and OTHER not in value:
            raise ValueError(f"{option} says nothing about {name}; add it.")
        return value.get(name, value.get(OTHER))
