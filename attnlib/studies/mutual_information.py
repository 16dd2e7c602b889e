"""Attention as a guide to information (Wen et al. 2022): parameters, grid, results.

    params = Params(corpora=["rotten_tomatoes"], encoders=["lstm", "cnn", "mlp"])
    found = results(params)         # tidy frames, from the store where it has them
    found.taus                      # one row a model: how well attention ranks follow information

Every model is measured once, on hidden states of test texts. The models of the grid come with softmax and, for the
Gumbel table, with Gumbel-softmax; BiLSTM with additive attention also with attention fixed at random, with the
representation fixed, and with an adversary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from pydantic import Field, PositiveInt, model_validator

from attnlib.config import Attention, Config, DataConfig, ModelConfig, TrainConfig
from attnlib.errors import unknown
from attnlib.grid import GridResult, run_grid
from attnlib.reference import reference
from attnlib.spec import Corpora, Fit, Run, measure
from attnlib.studies import mutual_information_measures as measures
from attnlib.studies.corpora import check_corpora, kin

PAPER = "Wen et al. 2022"
NAMES = {
    "lstm": "BiLSTM", "cnn": "CNN", "mlp": "MLP", "additive": "Additive", "deep": "Deep", "dot": "Dot",
    "softmax": "softmax", "gumbel": "Gumbel-softmax", "none": "as trained", "fix_attention": "Fix Attn",
    "fix_representation": "Fix Rep", "adversary_unfrozen": "adversary",
}  # fmt: skip
"""How tables name things."""
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "stories": ("planted", {"task": "qa"}),
    "babi_1": ("babi", {"task": 1}),
    "babi_2": ("babi", {"task": 2}),
    "babi_3": ("babi", {"task": 3}),
    "snli": ("snli", {}),
}
"""Corpora with a query, under the paper's names: reader and options. `stories` are generated, like bAbI 1."""
LAMBDA = 5e-4
"""Of an adversary for a corpus that neither the paper nor its kin has: the value it uses for most."""
TOKENS = {
    "sst": 6_355 * 19, "imdb": 25_000 * 179, "adr": 16_385 * 20, "20news": 1_426 * 115, "agnews": 60_000 * 36,
    "diabetes": 7_734 * 1_858, "anemia": 5_098 * 2_188, "babi": 10_000 * 67, "snli": 549_367 * 14,
}  # fmt: skip
"""Training tokens of the paper's corpora (texts times mean words of Table 1), for estimates of cost."""
CELL = ["dataset", "encoder", "attention"]
"""What the paper calls a model setting."""
MAIN = ("lstm", "additive")
"""Encoder and attention of the ablations and adversaries."""
OTHER = "other"
"""Stands for the corpora that `embedding_size` does not name."""

Name = Literal["lstm", "cnn", "mlp"]


class Params(Config):
    """The parameters of the notebook.

    corpora, query_corpora  texts to classify; texts with a question (QA) or a hypothesis (NLI): `QUERIES`
    paths           corpora that you bring as files: name -> file or folder
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
    embedding_size: PositiveInt | dict[str, PositiveInt] = 50
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
        check_corpora(self.corpora)
        for name in self.query_corpora:
            if name not in QUERIES and name not in self.paths:
                raise ValueError(unknown("corpus with a query", name, QUERIES) + " Or give its file in paths.")
        known = (*self.corpora, *self.query_corpora)
        widths = self.embedding_size if isinstance(self.embedding_size, dict) else {OTHER: self.embedding_size}
        for option, names in (
            ("paths", self.paths),
            ("vector_files", self.vector_files),
            ("embedding_size", widths),
        ):
            for name in names:
                if name not in known and not (option == "embedding_size" and name == OTHER):
                    raise ValueError(unknown(f"corpus in {option}", name, known))
        if OTHER not in widths and (missing := [name for name in known if name not in widths]):
            raise ValueError(f"embedding_size says nothing about {', '.join(missing)}; add '{OTHER}: width'.")
        for option in ("corpora", "encoders", "attentions", "seeds", "counts"):
            if not getattr(self, option):
                raise ValueError(f"{option} must name at least one.")
        for option in ("corpora", "query_corpora", "encoders", "query_encoders", "attentions", "seeds", "counts"):
            values = getattr(self, option)
            if len(set(values)) < len(values):
                raise ValueError(f"{option} must name each once; got {list(values)}.")
        if min(self.counts) < 2:
            raise ValueError(f"counts are numbers of clusters, 2 at least; got {list(self.counts)}.")
        for option in ("gumbel_seeds", "ablation_seeds", "adversary_seeds"):
            if not set(getattr(self, option)) <= set(self.seeds):
                raise ValueError(f"{option} are among the seeds {self.seeds}; got {getattr(self, option)}.")
        if (self.ablation_seeds or self.adversary_seeds) and not set(MAIN) <= {*self.encoders, *self.attentions}:
            raise ValueError(
                "Ablations and adversaries are of lstm with additive attention; keep both in the grid."
            )
        if missing := [e for e in {*self.encoders, *self.query_encoders} if e not in self.hidden_sizes]:
            raise ValueError(f"hidden_sizes says nothing about {', '.join(sorted(missing))}.")
        for corpus in (*self.corpora, *self.query_corpora):
            models(self, corpus)  # refuses what no model can be
        return self

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Params:
        """The parameters among the names of a notebook (`globals()`), which must set every one."""
        return cls(**{name: values[name] for name in cls.model_fields})

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from, and how it is read."""
        reader, options = QUERIES.get(corpus, (corpus, {})) if corpus in self.query_corpora else (corpus, {})
        options = dict(options) | (self.query_options if corpus == "stories" else {})
        if corpus in self.paths:
            options["path"] = self.paths[corpus]
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
            own = {"dot_scaled": False, "dot_init": self.dot_init}
        if encoder == "cnn":
            own["kernel_sizes"] = self.kernel_sizes
        vectors = "none" if story else self.vector_files.get(corpus, self.vectors)
        return ModelConfig(encoder=encoder, attention=attention, vectors=vectors, **sizes, **own)


def task(dataset: str) -> str:
    """classification, qa or nli: the rows of Table 5."""
    return "classification" if dataset not in QUERIES else "nli" if dataset == "snli" else "qa"


def adversary_lambda(dataset: str) -> float:
    """The paper's lambda for the corpus or its kin (Table 3), else its most frequent one."""
    table = reference("mutual_information", 3).query("metric == 'lambda'").set_index("dataset")["value"]
    return float(table.get(kin(dataset), LAMBDA))


def models(params: Params, corpus: str) -> list[Fit]:
    """The softmax models of a corpus."""
    encoders = params.query_encoders if corpus in params.query_corpora else params.encoders
    return [
        Fit(data=params.data(corpus), model=params.model(corpus, e, a), train=params.training(corpus), seed=seed)
        for e in encoders
        for a in params.attentions
        for seed in params.seeds
    ]


def grid(params: Params | Mapping[str, Any]) -> list[Run]:
    """Every run: the models of the grid, their Gumbel twins, the ablations, the adversaries."""
    params = params if isinstance(params, Params) else Params(**params)
    runs: list[Run] = []
    for corpus in (*params.corpora, *params.query_corpora):
        for base in models(params, corpus):
            runs.append(_measured(params, corpus, base, base.seed))
            if base.seed in params.gumbel_seeds:
                runs.append(_measured(params, corpus, _gumbel(base), base.seed))
            if (base.model.encoder, base.model.attention) != MAIN:
                continue
            if base.seed in params.ablation_seeds:
                runs += [_measured(params, corpus, fit, base.seed, kind) for kind, fit in _ablations(base).items()]
            if base.seed in params.adversary_seeds and corpus in params.corpora:
                other = _adversary(params, corpus, base)
                runs.append(_measured(params, corpus, other, base.seed, "adversary_unfrozen"))
                label = {"dataset": corpus, "variant": "adversary_unfrozen"}
                runs.append(measure(measures.apart, base, other, label=label))
    return runs


def _measured(params: Params, corpus: str, fit: Fit, seed: int, variant: str = "none") -> Run:
    label = {"dataset": corpus, "variant": variant, "seed": seed}  # the seed of the base, so that the two pair up
    options = {"counts": list(params.counts), "texts": params.texts, "resamples": params.resamples}
    return measure(measures.by_rank, fit, label=label, **options)


def _gumbel(base: Fit) -> Fit:
    return Fit(data=base.data, model=base.model.replace(projection="gumbel"), train=base.train, seed=base.seed)


def _ablations(base: Fit) -> dict[str, Fit]:
    """Attention left as it was drawn; or embedding and encoder of the trained model kept, all after them anew.

    The latter with a seed of its own: with that of its base, attention would start where the base's did.
    """
    kept = ("embedding", "encoder")
    return {
        "fix_attention": Fit(
            data=base.data, model=base.model, train=base.train.replace(freeze=("attention",)), seed=base.seed
        ),
        "fix_representation": Fit(
            data=base.data,
            model=base.model,
            train=base.train.replace(freeze=kept),
            seed=base.seed + 1000,
            warm_start=base,
            params={"warm_parts": list(kept)},
        ),
    }


def _adversary(params: Params, corpus: str, base: Fit) -> Fit:
    schedule = {"epochs": params.adversary_epochs, "patience": 10, "monitor": "train_loss"}
    return Fit(
        data=base.data,
        model=base.model,
        train=base.train.replace(**schedule),
        seed=base.seed + 1000,
        warm_start=base,
        trainer=f"{measures.__name__}:{measures.adversary.__name__}",
        params={"lam": adversary_lambda(corpus)},
    )


@dataclass
class Results:
    """Tidy frames; `grid` says what was computed, what came from the store, what failed.

    taus    one row a model (dataset, encoder, attention, projection, variant, seed): tau with low and high over
            texts, tau by other estimates, k, clusters, smallest, n, entropy, accuracy; `value` is tau
    ranks   one row a model and rank: alpha, information with low, high and floor, other estimates
    apart   one row a text and adversary: tvd, jsd, right_base, right_adversary
    """

    taus: pd.DataFrame
    ranks: pd.DataFrame
    apart: pd.DataFrame
    grid: GridResult


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already."""
    runs = grid(params)
    found = run_grid(runs, executor=executor, corpora=corpora, title="mutual information")
    taus = found.frame("taus")
    duels = any(run.task.endswith(":apart") for run in runs)
    return Results(
        taus=taus.assign(value=taus["tau"], task=[task(name) for name in taus["dataset"]]),
        ranks=found.frame("ranks"),
        apart=found.frame("apart") if duels else pd.DataFrame(),
        grid=found,
    )
