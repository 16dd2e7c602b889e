"""Parameters of the study of attention and information (Wen et al. 2022), and the models they name."""

from __future__ import annotations

import re
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Attention, DataConfig, ModelConfig, TrainConfig
from attnlib.store.specs import FitSpec
from attnlib.studies.datasets import Dataset, short
from attnlib.studies.params import ByDataset, Datasets, Once, Positive, Seed, Size, Some, StudyParams
from attnlib.studies.study import replicate
from attnlib.utils.text import plural

QUERIES: dict[str, dict[str, Any]] = {
    "stories": {"corpus": "planted", "task": "qa"},
    "snli": {"corpus": "snli"},
    **{f"babi_{task}": {"corpus": "babi", "task": task} for task in (1, 2, 3)},
}
"""Corpora with a query, under the paper's names: how they are read. `stories` are generated, like bAbI 1."""
OTHER = "other"
"""Stands for the corpora that a value by corpus does not name."""
MIMIC = ("anemia", "diabetes")
"""Jain & Wallace draw the vectors of their unknown words, and leave those of other corpora at zero."""
Name = Literal["lstm", "cnn", "mlp"]


class Params(StudyParams):
    """The parameters of `04_mutual_information`; one list of corpora and some of seeds may be empty."""

    corpora: Datasets = (Dataset("rotten_tomatoes"),)
    query_corpora: Datasets = (Dataset({"corpus": "stories", "n_train": 200, "n_dev": 50, "n_test": 100}),)
    limit: Size | None = 600
    vectors: str = "glove"
    strict_length_filter: bool = False
    vector_files: ByDataset[str] = Field(default_factory=dict)
    embedding_size: Size | ByDataset[Size] = 50
    embedding_update: Literal["dense", "lazy"] = "dense"
    encoders: Some[Name] = ("lstm", "mlp")
    attentions: Some[Attention] = ("additive", "deep", "dot")
    hidden_sizes: dict[Name, Size] = Field(default_factory=lambda: {"lstm": 16, "cnn": 16, "mlp": 16})
    kernel_sizes: Some[Size] = (1, 3, 5, 7)
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
        self._check_keys("vector_files", known=self.all_corpora)
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
        attentions, trainings = ", ".join(self.attentions), plural(len(self.seeds), "training")
        return f"{', '.join(map(short, self.all_corpora))}; {attentions} attention; {trainings} per cell"

    def task(self, corpus: str) -> str:
        """classification, qa or nli (by its name): the rows of Table 5."""
        if corpus not in self.query_corpora:
            return "classification"
        return "nli" if re.search(r"(?<![a-z])[a-z]?nli(?![a-z])", corpus.lower()) else "qa"

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from, and how it is read."""
        source, query = self.dataset(corpus), corpus in self.query_corpora
        limit = None if source.corpus == "stories" else self.limit
        strict = self.strict_length_filter and not query
        return source.config(QUERIES if query else None, limit=limit, strict_length_filter=strict)

    def training(self, corpus: str) -> TrainConfig:
        """As Jain & Wallace train: with a query, weight decay on every part; without, classes weighted alike."""
        own: dict[str, Any] = {"class_weights": True}
        if corpus in self.query_corpora:
            own = {"epochs": self._of("query_epochs", corpus), "learning_rate": self.query_learning_rate}
            patience = self.patience and max(self.patience, 5)  # the loss of stories falls late
            own |= {"monitor": "accuracy", "weight_decays": {}, "patience": patience}
        return self.config(
            TrainConfig, amsgrad=True, clip_norm=None, batch_size=self._of("batch_size", corpus), **own
        )

    def model(self, corpus: str, encoder: str, attention: str) -> ModelConfig:
        """One cell of the grid, with softmax. Generated stories learn their word vectors."""
        generated = self.dataset(corpus).corpus == "stories"
        own: dict[str, Any] = {"vectors": self.vector_files.get(corpus, "none" if generated else self.vectors)}
        if attention == "deep":  # as wide as the narrowest encoder: the paper states no width
            own |= {"attention_size": min(self.hidden_sizes.values()), "attention_layers": 2}
        if attention == "dot":  # equation 1, with a query, is scaled; equation 5, without, is not
            own |= {"dot_scaled": corpus in self.query_corpora, "dot_init": "kaiming"}
        if encoder == "cnn":
            own["kernel_sizes"] = self.kernel_sizes
        if own["vectors"] != "none":
            own |= {"oov": "normal", "oov_scale": 1.0} if corpus in MIMIC else {"oov": "zero"}
        own["embedding_size"] = self._of("embedding_size", corpus)
        hidden = self._of("hidden_sizes", encoder)
        return ModelConfig(encoder=encoder, attention=attention, hidden_size=hidden, boundaries=True, **own)

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
        if option != "hidden_sizes":
            self._check_keys(option, known=(*self.all_corpora, OTHER))
        if name not in value and OTHER not in value:
            raise ValueError(f"{option} says nothing about {name}; add it.")
        return value.get(name, value.get(OTHER))
