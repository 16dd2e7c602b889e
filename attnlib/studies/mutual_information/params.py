"""Parameters of the study of attention ranks and information (Wen et al. 2022): what they mean, what is refused."""

from __future__ import annotations

import re
from itertools import product
from typing import Annotated, Any, Literal, TypeVar

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
MAIN = ("lstm", "additive")
"""Encoder and attention of the ablations and adversaries."""
OTHER = "other"
"""Stands for the corpora that a value by corpus does not name."""
BY_CORPUS = ("embedding_size", "oov", "batch_size", "query_epochs")
"""Parameters with one value, or one by corpus."""

T = TypeVar("T")
Name = Literal["lstm", "cnn", "mlp"]
Unknown = Literal["zero", "normal"]


class Params(StudyParams):
    """The parameters of `04_mutual_information`, each explained in its first cell.

    Those of `BY_CORPUS` may be corpus -> value, `other` for those not named. One of the two lists of corpora may be
    empty; so may the lists of seeds other than `seeds`: no such models.
    """

    corpora: Datasets = (Dataset("rotten_tomatoes"),)
    query_corpora: Datasets = (Dataset({"corpus": "stories", "n_train": 200, "n_dev": 50, "n_test": 100}),)
    limit: Size | None = 600
    vectors: str = "glove"
    strict_length_filter: bool = False
    boundaries: bool = True
    vector_files: ByDataset[str] = Field(default_factory=dict)
    embedding_size: Size | ByDataset[Size] = 50
    oov: Unknown | ByDataset[Unknown] = "zero"
    train_embeddings: bool = True
    embedding_update: Literal["dense", "lazy"] = "dense"
    encoders: Some[Name] = ("lstm", "mlp")
    attentions: Some[Attention] = ("additive", "deep", "dot")
    hidden_sizes: dict[Name, Size] = Field(default_factory=lambda: {"lstm": 16, "cnn": 16, "mlp": 16})
    kernel_sizes: Some[Size] = (1, 3, 5, 7)
    deep_size: Size = 16
    dot_init: Literal["kaiming", "normal"] = "kaiming"
    seeds: Some[Seed] = (0, 1)
    epochs: Size = 6
    patience: Size | None = 2
    monitor: Literal["auc", "accuracy", "loss"] = "loss"
    learning_rate: Positive = 1e-2
    batch_size: Size | ByDataset[Size] = 32
    query_encoders: Once[Name] = ("lstm",)
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
        _check_names(self)
        _check_files(self)
        _check_lists(self)
        ModelConfig(kernel_sizes=self.kernel_sizes)  # also where no cnn is trained
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
        models = f"{', '.join(map(short, self.all_corpora))}; {', '.join(self.attentions)} attention"
        tested = "all" if self.texts is None else f"at most {self.texts:,}"
        return f"{models}; {plural(len(self.seeds), 'training')} per cell, {tested} test texts"

    def task(self, corpus: str) -> str:
        """classification, qa or nli: the rows of Table 5. A corpus with a query is nli if a word of its name is."""
        if corpus not in self.query_corpora:
            return "classification"
        return "nli" if re.search(r"(?<![a-z])[a-z]?nli(?![a-z])", corpus.lower()) else "qa"

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from, and how it is read."""
        strict = self.strict_length_filter and corpus in self.corpora
        limit = None if self._generated(corpus) else self.limit
        dataset = self.dataset(corpus)
        readers = QUERIES if corpus in self.query_corpora else None
        if readers and not brought(dataset.corpus) and dataset.corpus not in (*QUERIES, *registered):
            known = {*QUERIES, *(name for name, spec in registered.items() if spec.task == "query")}
            raise ValueError(unknown("corpus with a query", dataset.corpus, known, hint="Or a table, or hub:NAME."))
        return dataset.config(readers, limit=limit, strict_length_filter=strict)

    def training(self, corpus: str) -> TrainConfig:
        """As Jain & Wallace train: with a query, weight decay on every part; without, classes weighted alike."""
        own: dict[str, Any] = {"class_weights": True}
        if corpus in self.query_corpora:
            own = {"epochs": self._of(self.query_epochs, corpus), "monitor": "accuracy", "weight_decays": {}}
            own["learning_rate"] = self.query_learning_rate
            own["patience"] = self.patience and max(self.patience, 5)  # the loss of stories falls late
        own |= {"batch_size": self._of(self.batch_size, corpus)}
        own |= {"train_embeddings": self.train_embeddings or self._generated(corpus)}
        return self.config(TrainConfig, amsgrad=True, clip_norm=None, **own)

    def model(self, corpus: str, encoder: str, attention: str) -> ModelConfig:
        """One cell of the grid, with softmax."""
        own: dict[str, Any] = {}
        if attention == "deep":
            own = {"attention_size": self.deep_size, "attention_layers": 2}
        if attention == "dot":
            # equation 1, with a query, is scaled; equation 5, without, is not
            own = {"dot_scaled": corpus in self.query_corpora, "dot_init": self.dot_init}
        if encoder == "cnn":
            own["kernel_sizes"] = self.kernel_sizes
        vectors = "none" if self._generated(corpus) else self.vector_files.get(corpus, self.vectors)
        if vectors != "none":
            own["oov"] = self._of(self.oov, corpus)
            own["oov_scale"] = 1.0 if own["oov"] == "normal" else None
        return ModelConfig(
            encoder=encoder,
            attention=attention,
            vectors=vectors,
            embedding_size=self._of(self.embedding_size, corpus),
            hidden_size=self.hidden_sizes[encoder],
            boundaries=self.boundaries,
            **own,
        )

    @staticmethod
    def _of(value: T | dict[str, T], corpus: str) -> T:
        """A parameter of `BY_CORPUS` for one corpus."""
        return value.get(corpus, value.get(OTHER)) if isinstance(value, dict) else value

    def _generated(self, corpus: str) -> bool:
        """Whether these are generated stories, which learn their word vectors."""
        return self.dataset(corpus).corpus == "stories"

    def models(self, corpus: str) -> list[FitSpec]:
        """The softmax models of a corpus; `seed` in their label is that of the notebook, which counts trainings."""
        encoders = self.query_encoders if corpus in self.query_corpora else self.encoders
        data, train = self.data(corpus), self.training(corpus)
        found = []
        for encoder, attention, k in product(encoders, self.attentions, self.seeds):
            model = self.model(corpus, encoder, attention)
            found.append(replicate(k, corpus, encoder, attention, data=data, model=model, train=train))
        return found


def _check_names(params: Params) -> None:
    """Refuse data sets that are in the wrong list, or in both."""
    if not params.corpora and not params.query_corpora:
        raise ValueError("corpora must name at least one, or query_corpora must.")
    if both := set(params.corpora) & set(params.query_corpora):
        raise ValueError(f"corpora and query_corpora both name {', '.join(sorted(both))}; leave it in one.")
    for name in params.corpora:
        if name.corpus in QUERIES or (name.corpus in registered and registered[name.corpus].task == "query"):
            raise ValueError(f"corpora: the texts of {name!r} come with a query; put it in query_corpora.")
    for name in params.query_corpora:
        known = name.corpus in registered and name.corpus not in QUERIES
        asked = known and params.data(name).options.get("task") in ("qa", "nli")
        if known and registered[name.corpus].task != "query" and not asked:
            raise ValueError(f"query_corpora: the texts of {name!r} have no query; put it in corpora.")


def _check_files(params: Params) -> None:
    """Refuse vectors and values of corpora that are not there, or that cannot use them."""
    known = params.all_corpora
    params._check_keys("vector_files", known=known)
    for option in BY_CORPUS:
        given = getattr(params, option)
        if isinstance(given, dict):
            params._check_keys(option, known=(*known, OTHER))
            asked = params.query_corpora if option == "query_epochs" else known
            if OTHER not in given and (missing := [name for name in asked if name not in given]):
                raise ValueError(f"{option} says nothing about {', '.join(missing)}; add '{OTHER}: …'.")
    if told := [name for name in params.vector_files if params._generated(name)]:
        raise ValueError(f"vector_files: {told[0]!r} are generated and learn their word vectors; leave them out.")


def _check_lists(params: Params) -> None:
    """Refuse lists that do not fit another, and seeds of ablations and adversaries without a model for them."""
    if params.query_corpora and not params.query_encoders:
        raise ValueError("query_encoders must name at least one where there are query_corpora.")
    for option in ("gumbel_seeds", "ablation_seeds", "adversary_seeds"):
        if not set(getattr(params, option)) <= set(params.seeds):
            raise ValueError(f"{option} are among the seeds {params.seeds}; got {getattr(params, option)}.")
    if missing := [e for e in {*params.encoders, *params.query_encoders} if e not in params.hidden_sizes]:
        raise ValueError(f"hidden_sizes says nothing about {', '.join(sorted(missing))}.")
    lists = ((params.corpora, params.encoders), (params.query_corpora, params.query_encoders))
    encoders = {encoder for names, own in lists if names for encoder in own}
    main = MAIN[0] in encoders and MAIN[1] in params.attentions
    if (params.ablation_seeds or params.adversary_seeds) and not main:
        raise ValueError(
            "Ablations and adversaries are of lstm with additive attention; keep both in the grid, or give no "
            "ablation_seeds and adversary_seeds."
        )
