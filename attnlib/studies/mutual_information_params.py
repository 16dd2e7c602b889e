"""Parameters of the study of attention ranks and information (Wen et al. 2022): what they mean, what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Attention, Config, DataConfig, ModelConfig, TrainConfig
from attnlib.data import corpora as registered
from attnlib.errors import unknown
from attnlib.spec import Fit
from attnlib.studies.corpora import brought, check_corpora

QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "stories": ("planted", {"task": "qa"}),
    "babi_1": ("babi", {"task": 1}),
    "babi_2": ("babi", {"task": 2}),
    "babi_3": ("babi", {"task": 3}),
    "snli": ("snli", {}),
}
"""Corpora with a query, under the paper's names: reader and options. `stories` are generated, like bAbI 1."""
MAIN = ("lstm", "additive")
"""Encoder and attention of the ablations and adversaries."""
OTHER = "other"
"""Stands for the corpora that `embedding_size` does not name."""

Name = Literal["lstm", "cnn", "mlp"]


class Params(Config):
    """The parameters of the notebook.

    corpora, query_corpora  texts to classify; texts with a question (QA) or a hypothesis (NLI): `QUERIES`, hub:NAME
                    or a table with a query column. One of the two may be empty
    paths           corpora that you bring as files: name -> file or folder; a name of your own -> a table
    vector_files    corpus -> file of word vectors, where corpora differ
    embedding_size  width of the word vectors; corpus -> width where they differ, `other` for those not named
    query_options   options of the generated stories, such as n_test; the others take none
    query_*         how models with a query train, which need another rate and more epochs
    kernel_sizes    of the cnn;  deep_size: width of deep attention's two hidden layers, left open in the paper
    dot_init        how the query vector of dot attention starts: kaiming (torch's own, as in the code the paper
                    builds on) or normal
    counts          numbers of clusters to choose from;  texts: test texts, None: all
    gumbel_seeds, ablation_seeds, adversary_seeds  with which of the seeds; none: no such models
    """

    corpora: tuple[str, ...] = ("planted",)
    query_corpora: tuple[str, ...] = ("stories",)
    paths: dict[str, str] = Field(default_factory=dict)
    limit: int | None = Field(None, ge=1)
    strict_length_filter: bool = False
    vectors: str = "none"
    vector_files: dict[str, str] = Field(default_factory=dict)
    embedding_size: int | dict[str, int] = 50
    train_embeddings: bool = False
    encoders: tuple[Name, ...] = ("lstm", "cnn", "mlp")
    attentions: tuple[Attention, ...] = ("additive", "deep", "dot")
    hidden_sizes: dict[Name, int] = Field(default_factory=lambda: {"lstm": 128, "cnn": 128, "mlp": 128})
    kernel_sizes: tuple[int, ...] = (1, 3, 5, 7)
    deep_size: int = Field(128, ge=1)
    dot_init: Literal["kaiming", "normal"] = "kaiming"
    seeds: tuple[int, ...] = (0, 1, 2)
    epochs: int = Field(5, ge=1)
    patience: int = Field(2, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    query_options: dict[str, Any] = Field(default_factory=dict)
    query_encoders: tuple[Name, ...] = ("lstm",)
    query_epochs: int = Field(12, ge=1)
    query_learning_rate: float = Field(5e-3, gt=0)
    counts: tuple[int, ...] = (50, 75, 100, 150, 200)
    texts: int | None = Field(None, ge=10)
    resamples: int = Field(200, ge=2)
    gumbel_seeds: tuple[int, ...] = (0, 1, 2)
    ablation_seeds: tuple[int, ...] = (0, 1, 2)
    adversary_seeds: tuple[int, ...] = (0, 1, 2)
    adversary_epochs: int = Field(4, ge=1)

    @model_validator(mode="after")
    def _sense(self) -> Params:
        _check_names(self)
        _check_files(self)
        _check_lists(self)
        _check_ablated(self)
        for corpus in (*self.corpora, *self.query_corpora):
            models(self, corpus)  # refuses what no model can be
        return self

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Params:
        """The parameters among the names of a notebook (`globals()`), which must set every one."""
        return cls(**{name: values[name] for name in cls.model_fields})

    def task(self, corpus: str) -> str:
        """classification, qa or nli: the rows of Table 5. A corpus with a query is nli if a word of its name is."""
        if corpus not in self.query_corpora:
            return "classification"
        return "nli" if re.search(r"(?<![a-z])[a-z]?nli(?![a-z])", corpus.lower()) else "qa"

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from, and how it is read."""
        reader, options = QUERIES.get(corpus, (corpus, {})) if corpus in self.query_corpora else (corpus, {})
        options = dict(options) | (self.query_options if corpus == "stories" else {})
        if corpus in self.paths:
            if reader in registered:
                options["path"] = self.paths[corpus]
            else:  # a name of the user's own for a table
                reader = self.paths[corpus]
        strict = self.strict_length_filter and corpus in self.corpora
        limit = None if corpus == "stories" else self.limit
        return DataConfig(corpus=reader, options=options, limit=limit, strict_length_filter=strict)

    def training(self, corpus: str) -> TrainConfig:
        """As every study trains: the epoch with the lowest dev loss, Adam with amsgrad."""
        query = corpus in self.query_corpora
        return TrainConfig(
            epochs=self.query_epochs if query else self.epochs,
            patience=max(self.patience, 5) if query else self.patience,  # the loss of stories falls late
            monitor="loss",
            amsgrad=True,
            learning_rate=self.query_learning_rate if query else self.learning_rate,
            train_embeddings=self.train_embeddings or corpus == "stories",
        )

    def model(self, corpus: str, encoder: str, attention: str) -> ModelConfig:
        """One cell of the grid, with softmax."""
        story = corpus == "stories"
        size = self.embedding_size
        if isinstance(size, dict):
            size = size[corpus] if corpus in size else size[OTHER]
        sizes = {"hidden_size": self.hidden_sizes[encoder], "embedding_size": size}
        own: dict[str, Any] = {}
        if attention == "deep":
            own = {"attention_size": self.deep_size, "attention_layers": 2}
        if attention == "dot":
            # equation 1, with a query, is scaled; equation 5, without, is not
            own = {"dot_scaled": corpus in self.query_corpora, "dot_init": self.dot_init}
        if encoder == "cnn":
            own["kernel_sizes"] = self.kernel_sizes
        vectors = "none" if story else self.vector_files.get(corpus, self.vectors)
        return ModelConfig(encoder=encoder, attention=attention, vectors=vectors, **sizes, **own)


def _check_names(params: Params) -> None:
    """Refuse names that nothing can read, or that stand in the wrong list."""
    if both := set(params.corpora) & set(params.query_corpora):
        raise ValueError(f"corpora and query_corpora both name {', '.join(sorted(both))}; leave it in one.")
    check_corpora(name for name in params.corpora if name not in params.paths)
    for name in params.corpora:
        if name in QUERIES or (name in registered and registered[name].task == "query"):
            raise ValueError(f"corpora: the texts of {name!r} come with a query; put it in query_corpora.")
    own = [name for name in params.query_corpora if name not in QUERIES and name not in params.paths]
    for name in own:
        if name in registered and registered[name].task != "query":
            raise ValueError(f"query_corpora: the texts of {name!r} have no query; put it in corpora.")
        if name not in registered and not brought(name):
            queries = [*QUERIES, *(known for known, spec in registered.items() if spec.task == "query")]
            hint = "Or name a table with a query, hub:NAME, or a file in paths."
            raise ValueError(unknown("corpus with a query", name, set(queries), hint=hint))


def _check_files(params: Params) -> None:
    """Refuse paths, vectors, widths and options of corpora that are not there, or that cannot use them."""
    known = (*params.corpora, *params.query_corpora)
    widths = params.embedding_size if isinstance(params.embedding_size, dict) else {OTHER: params.embedding_size}
    told = {"paths": params.paths, "vector_files": params.vector_files, "embedding_size": widths}
    for option, names in told.items():
        for name in names:
            if name not in known and not (option == "embedding_size" and name == OTHER):
                raise ValueError(unknown(f"corpus in {option}", name, known))
    if any(width < 1 for width in widths.values()):
        raise ValueError(f"embedding_size: a width is 1 at least; got {params.embedding_size}.")
    if OTHER not in widths and (missing := [name for name in known if name not in widths]):
        raise ValueError(f"embedding_size says nothing about {', '.join(missing)}; add '{OTHER}: width'.")
    if "stories" in params.vector_files:
        raise ValueError("vector_files: the generated stories learn their word vectors; leave them out.")
    reader, fixed = QUERIES["stories"]
    own = [option for option in registered[reader].options if option not in fixed]
    for option in params.query_options:
        if option not in own:
            raise ValueError(unknown("option of the generated stories in query_options", option, own))


def _check_lists(params: Params) -> None:
    """Refuse lists that are empty, name a thing twice or do not fit another."""
    if not params.corpora and not params.query_corpora:
        raise ValueError("corpora must name at least one, or query_corpora must.")
    for option in ("encoders", "attentions", "seeds", "counts", "query_encoders"):
        if not getattr(params, option) and (option != "query_encoders" or params.query_corpora):
            raise ValueError(f"{option} must name at least one.")
    for option in ("corpora", "query_corpora", "encoders", "query_encoders", "attentions", "seeds", "counts"):
        values = getattr(params, option)
        if len(set(values)) < len(values):
            raise ValueError(f"{option} must name each once; got {list(values)}.")
    if min(params.counts) < 2:
        raise ValueError(f"counts are numbers of clusters, 2 at least; got {list(params.counts)}.")
    for option in ("gumbel_seeds", "ablation_seeds", "adversary_seeds"):
        if not set(getattr(params, option)) <= set(params.seeds):
            raise ValueError(f"{option} are among the seeds {params.seeds}; got {getattr(params, option)}.")
    if missing := [e for e in {*params.encoders, *params.query_encoders} if e not in params.hidden_sizes]:
        raise ValueError(f"hidden_sizes says nothing about {', '.join(sorted(missing))}.")


def _check_ablated(params: Params) -> None:
    """Refuse seeds of ablations and adversaries where neither list of corpora has a model for them."""
    lists = ((params.corpora, params.encoders), (params.query_corpora, params.query_encoders))
    encoders = {encoder for names, own in lists if names for encoder in own}
    main = MAIN[0] in encoders and MAIN[1] in params.attentions
    if (params.ablation_seeds or params.adversary_seeds) and not main:
        raise ValueError(
            "Ablations and adversaries are of lstm with additive attention; keep both in the grid, or give no "
            "ablation_seeds and adversary_seeds."
        )


def models(params: Params, corpus: str) -> list[Fit]:
    """The softmax models of a corpus."""
    encoders = params.query_encoders if corpus in params.query_corpora else params.encoders
    return [
        Fit(data=params.data(corpus), model=params.model(corpus, e, a), train=params.training(corpus), seed=seed)
        for e in encoders
        for a in params.attentions
        for seed in params.seeds
    ]
