"""Parameters of the study of sparse attention (Meister et al. 2021), and the models that they name."""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, ModelConfig, TrainConfig
from attnlib.errors import unknown
from attnlib.spec import Fit
from attnlib.studies.corpora import check_corpora

ATTENTION = {"lstm": "additive", "transformer": "dot"}
"""Each encoder's attention in the paper."""
PAIR = ("softmax", "sparsemax")
"""The projections of the paper's Tables 1 and 6."""

ALPHAS = (1.01, 1.99)
"""Nearer to its ends entmax is softmax or sparsemax but for rounding."""
INFINITE = float("inf")

Name = Literal["lstm", "transformer"]


class Params(Config):
    """The parameters of the notebook.

    paths          corpora that you bring as files: name -> file or folder
    hidden_sizes   width of h by encoder (both directions of the BiLSTM together)
    learning_rates, batch_sizes  by encoder;  attention_rate: how much faster attention learns (paper: 1 or 10)
    boundaries, strict_length_filter  read the texts as Jain & Wallace's code does
    pair_seeds     further seeds for softmax and sparsemax alone, whose comparisons need three trainings each
    lambdas        of sparsegen, 0 among them;  entmax_alphas: between 1 and 2, which are the path's ends
    texts          test texts for correlations and entropies;  hidden_texts: for the influence on hidden states;
                   facet_texts: for the check of Appendix A (0: none). None: all
    adversary_*    against which projections, how strongly pushed away (0: a control, trained alike and not pushed),
                   for how long, with which seeds (none: none)
    """

    corpora: tuple[str, ...] = ("planted",)
    paths: dict[str, str] = Field(default_factory=dict)
    limit: int | None = Field(None, ge=1)
    strict_length_filter: bool = False
    boundaries: bool = False
    vectors: str = "none"
    embedding_size: int = Field(50, ge=1)
    train_embeddings: bool = True
    encoders: tuple[Name, ...] = ("lstm", "transformer")
    hidden_sizes: dict[Name, int] = Field(default_factory=lambda: {"lstm": 128, "transformer": 128})
    learning_rates: dict[Name, float] = Field(default_factory=lambda: {"lstm": 1e-3, "transformer": 1e-3})
    attention_rate: float = Field(1.0, gt=0)
    batch_sizes: dict[Name, int] = Field(default_factory=lambda: {"lstm": 32, "transformer": 32})
    epochs: int = Field(5, ge=1)
    patience: int = Field(2, ge=1)
    seeds: tuple[int, ...] = (0, 1)
    pair_seeds: tuple[int, ...] = ()
    lambdas: tuple[float, ...] = (-10.0, -1.0, 0.0, 0.5, 0.9)
    entmax_alphas: tuple[float, ...] = (1.5,)
    texts: int | None = Field(None, ge=1)
    hidden_texts: int | None = Field(None, ge=1)
    facet_texts: int | None = Field(4, ge=0)
    adversary_projections: tuple[Literal["softmax", "sparsemax"], ...] = ("softmax", "sparsemax")
    adversary_lambdas: tuple[float, ...] = (0.0, 0.1)
    adversary_seeds: tuple[int, ...] = (0,)
    adversary_epochs: int = Field(4, ge=1)

    @model_validator(mode="after")
    def _sense(self) -> Params:
        check_corpora(self.corpora)
        for name in self.paths:
            if name not in self.corpora:
                raise ValueError(unknown("corpus in paths", name, self.corpora))
        self._named()
        self._ranges()
        if 0.0 not in self.lambdas or len(self.lambdas) < 3:
            raise ValueError(
                f"lambdas must hold 0 (sparsemax) and two others at least, for a trend; got {list(self.lambdas)}."
            )
        for corpus in self.corpora:
            models(self, corpus)  # refuses what no model can be
        return self

    def _named(self) -> None:
        """Refuse lists that name nothing, or a thing twice, or what is not there."""
        for option in ("corpora", "encoders", "seeds", "lambdas"):
            if not getattr(self, option):
                raise ValueError(f"{option} must name at least one.")
        once = ("corpora", "encoders", "seeds", "lambdas", "entmax_alphas")
        for option in (*once, "adversary_projections", "adversary_lambdas", "adversary_seeds"):
            values = getattr(self, option)
            if len(set(values)) < len(values):
                raise ValueError(f"{option} must name each once; got {list(values)}.")
        every = self.compared_seeds
        if len(set(every)) < len(every):
            raise ValueError(
                f"pair_seeds come on top of the seeds {list(self.seeds)}, each once; got {list(self.pair_seeds)}."
            )
        if not set(self.adversary_seeds) <= set(every):
            raise ValueError(
                f"adversary_seeds are among seeds and pair_seeds, {list(every)}; got {list(self.adversary_seeds)}."
            )
        for option in ("hidden_sizes", "learning_rates", "batch_sizes"):
            if missing := [e for e in self.encoders if e not in getattr(self, option)]:
                raise ValueError(f"{option} says nothing about {', '.join(missing)}.")

    def _ranges(self) -> None:
        """Refuse numbers outside of their range."""
        low, high = ALPHAS
        rules = {
            "lambdas": ("finite and below 1", self.lambdas, lambda x: isfinite(x) and x < 1),
            "entmax_alphas": (
                f"between {low} and {high}: softmax (1) and sparsemax (2) are there anyway",
                self.entmax_alphas,
                lambda x: low <= x <= high,
            ),
            "adversary_lambdas": ("finite and not negative", self.adversary_lambdas, lambda x: 0 <= x < INFINITE),
            "attention_rate": ("finite and above 0", [self.attention_rate], lambda x: 0 < x < INFINITE),
            "learning_rates": ("finite and above 0", self.learning_rates.values(), lambda x: 0 < x < INFINITE),
        }
        for option, (allowed, values, fits) in rules.items():
            if bad := [x for x in values if not fits(x)]:
                raise ValueError(f"{option} must be {allowed}; got {', '.join(f'{x:g}' for x in bad)}.")
        if self.adversary_lambdas and not any(self.adversary_lambdas):
            raise ValueError("adversary_lambdas must hold one above 0; 0 alone is a control of nothing.")

    @property
    def compared_seeds(self) -> tuple[int, ...]:
        """The seeds of softmax and sparsemax, which the study compares with each other."""
        return (*self.seeds, *self.pair_seeds)

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from, and how it is read."""
        options = {"path": self.paths[corpus]} if corpus in self.paths else {}
        strict = self.strict_length_filter
        return DataConfig(corpus=corpus, options=options, limit=self.limit, strict_length_filter=strict)

    def training(self, encoder: str) -> TrainConfig:
        """As every study trains: the epoch with the lowest dev loss, Adam with amsgrad."""
        rate = self.learning_rates[encoder]
        return TrainConfig(
            epochs=self.epochs,
            patience=self.patience,
            monitor="loss",
            amsgrad=True,
            batch_size=self.batch_sizes[encoder],
            learning_rate=rate,
            learning_rates={} if self.attention_rate == 1 else {"attention": rate * self.attention_rate},
            train_embeddings=self.train_embeddings,
        )


def projections(params: Params) -> list[dict[str, Any]]:
    """Every projection, softest first on each path; `lam` and `alpha` say where on which path it lies."""
    found = [{"projection": "softmax", "lam": None, "alpha": 1.0}]
    found += [{"projection": "entmax", "lam": None, "alpha": a} for a in sorted(params.entmax_alphas)]
    for lam in sorted(params.lambdas):
        found.append(
            {"projection": "sparsegen", "lam": lam, "alpha": None}
            if lam
            else {"projection": "sparsemax", "lam": 0.0, "alpha": 2.0}
        )
    return found


def models(params: Params, corpus: str) -> list[tuple[Fit, dict[str, Any]]]:
    """Every model of a corpus, with the columns that name its place."""
    found = []
    for encoder in params.encoders:
        for place in projections(params):
            model = _model(params, encoder, **place)
            where = {k: place[k] for k in ("lam", "alpha")}
            for seed in params.compared_seeds if place["projection"] in PAIR else params.seeds:
                train = params.training(encoder)
                found.append((Fit(data=params.data(corpus), model=model, train=train, seed=seed), where))
    return found


def _model(params: Params, encoder: str, *, projection: str, lam: float | None, alpha: float | None) -> ModelConfig:
    options = {"sparsegen": {"sparsegen_lambda": lam}, "entmax": {"entmax_alpha": alpha}}.get(projection, {})
    return ModelConfig(
        encoder=encoder,
        attention=ATTENTION[encoder],
        projection=projection,
        vectors=params.vectors,
        embedding_size=params.embedding_size,
        hidden_size=params.hidden_sizes[encoder],
        layers=2 if encoder == "transformer" else 1,
        boundaries=params.boundaries,
        **options,
    )
