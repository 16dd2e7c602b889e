"""Parameters of the study of sparse attention (Meister et al. 2021), and the models that they name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from attnlib.config import ModelConfig, TrainConfig
from attnlib.store.specs import FitSpec
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import Corpora, NotNegative, Once, Positive, Seed, Size, Some, StudyParams
from attnlib.studies.study import replicate
from attnlib.utils.text import plural

ATTENTION = {"lstm": "additive", "transformer": "dot"}
"""Each encoder's attention in the paper."""
PAIR = ("softmax", "sparsemax")
"""The projections of the paper's Tables 1 and 6."""

ALPHAS = (1.01, 1.99)
"""Nearer to its ends entmax is softmax or sparsemax but for rounding."""

Name = Literal["lstm", "transformer"]


class Params(StudyParams):
    """The parameters of `03_sparsity`, each explained in its first cell."""

    corpora: Corpora = (Dataset("rotten_tomatoes"),)
    limit: Size | None = 600
    vectors: str = "glove"
    strict_length_filter: bool = False
    boundaries: bool = False
    embedding_size: Size = 50
    train_embeddings: bool = True
    encoders: Some[Name] = ("lstm", "transformer")
    hidden_sizes: dict[Name, Size] = Field(default_factory=lambda: {"lstm": 32, "transformer": 32})
    dot_init: Literal["normal", "kaiming"] = "kaiming"
    transformer_norm: Literal["pre", "post"] = "post"
    learning_rates: dict[Name, Positive] = Field(default_factory=lambda: {"lstm": 5e-3, "transformer": 3e-3})
    attention_rate: Positive = 1.0
    batch_sizes: dict[Name, Size] = Field(default_factory=lambda: {"lstm": 32, "transformer": 32})
    epochs: Size = 4
    patience: Size = 2
    monitor: Literal["loss", "auc"] = "loss"
    seeds: Some[Seed] = (0, 1)
    pair_seeds: Once[Seed] = ()
    lambdas: Some[Annotated[float, Field(lt=1, allow_inf_nan=False)]] = (-1000.0, 0.0, 0.5)
    entmax_alphas: Once[Annotated[float, Field(ge=ALPHAS[0], le=ALPHAS[1])]] = (1.5,)
    texts: Size | None = 60
    hidden_texts: Size | None = 30
    facet_texts: int | None = Field(3, ge=0)
    adversary_projections: Once[Literal["softmax", "sparsemax"]] = ("softmax",)
    adversary_lambdas: Once[NotNegative] = (0.0, 0.1)
    adversary_seeds: Once[Seed] = (0,)
    adversary_epochs: Size = 5

    @model_validator(mode="after")
    def _sense(self) -> Params:
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
        if self.adversary_lambdas and not any(self.adversary_lambdas):
            raise ValueError("adversary_lambdas must hold one above 0; 0 alone is a control of nothing.")
        if 0.0 not in self.lambdas or len(self.lambdas) < 3:
            raise ValueError(
                f"lambdas must hold 0 (sparsemax) and two others at least, for a trend; got {list(self.lambdas)}."
            )
        for corpus in self.corpora:
            models(self, corpus)  # refuses what no model can be
        return self

    @property
    def setting(self) -> str:
        """What claims are judged on."""
        seeds = f"{plural(len(self.seeds), 'seed')}, softmax and sparsemax {len(self.compared_seeds)}"
        return f"{super().setting}; {seeds}"

    @property
    def compared_seeds(self) -> tuple[int, ...]:
        """The seeds of softmax and sparsemax, which the study compares with each other."""
        return (*self.seeds, *self.pair_seeds)

    def training(self, encoder: str) -> TrainConfig:
        """Adam with amsgrad (Appendix B); classes weighted and gradients left whole as in Jain & Wallace's code."""
        rate = self.learning_rates[encoder]
        rates = {} if self.attention_rate == 1 else {"attention": rate * self.attention_rate}
        own = {"learning_rate": rate, "learning_rates": rates, "batch_size": self.batch_sizes[encoder]}
        return self.config(TrainConfig, amsgrad=True, class_weights=True, clip_norm=None, **own)


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


def cell_of(corpus: str, encoder: str) -> tuple[str, ...]:
    """What sets trainings apart that share nothing; projections of one cell are paired by replicate."""
    return str(corpus), encoder, ATTENTION[encoder]


def models(params: Params, corpus: str) -> list[tuple[FitSpec, dict[str, Any]]]:
    """Every model of a corpus, with the columns that name its place; `seed` is the replicate there."""
    found = []
    for encoder in params.encoders:
        for place in projections(params):
            model = _model(params, encoder, **place)
            where = {k: place[k] for k in ("lam", "alpha")}
            for k in params.compared_seeds if place["projection"] in PAIR else params.seeds:
                run = {"data": params.data(corpus), "model": model, "train": params.training(encoder)}
                found.append((replicate(k, *cell_of(corpus, encoder), **run), where))
    return found


def _model(params: Params, encoder: str, *, projection: str, lam: float | None, alpha: float | None) -> ModelConfig:
    options = {"sparsegen": {"sparsegen_lambda": lam}, "entmax": {"entmax_alpha": alpha}}.get(projection, {})
    options |= {"layers": 2 if encoder == "transformer" else 1, "hidden_size": params.hidden_sizes[encoder]}
    options |= {"encoder": encoder, "attention": ATTENTION[encoder], "projection": projection, "oov": "zero"}
    return params.config(ModelConfig, **options)
