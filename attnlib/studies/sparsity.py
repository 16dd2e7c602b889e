"""Is sparse attention more interpretable? (Meister et al. 2021): parameters, grid, results.

    params = Params(corpora=["rotten_tomatoes"], lambdas=[-10, -1, 0, 0.5, 0.9])
    found = results(params)         # tidy frames, from the store where it has them

Two paths lead from soft to sparse: sparsegen over its lambda, the paper's, and entmax over its alpha from softmax
(1) to sparsemax (2). Sparsegen with lambda 0 *is* sparsemax: the paths meet there, and that model is trained once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, ModelConfig, TrainConfig
from attnlib.errors import unknown
from attnlib.grid import GridFailed, GridResult, run_grid
from attnlib.spec import Fit, Run, measure
from attnlib.studies import sparsity_measures as measures
from attnlib.studies.corpora import check_corpora

PAPER = "Meister et al. 2021"
ATTENTION = {"lstm": "additive", "transformer": "dot"}
"""Each encoder's attention in the paper."""
ENCODERS = {"lstm": "BiLSTM, additive", "transformer": "Transformer, dot"}
"""How tables name them."""
KEYS = ["dataset", "encoder", "attention", "projection", "lam", "alpha"]
"""The columns that tell the models of the grid apart, seeds aside."""
TIMES = ["seconds", "device", "hidden_seconds", "texts", "states"]
ADVERSARIES = {"adversary_frozen": True, "adversary_unfrozen": False}

Name = Literal["lstm", "transformer"]


class Params(Config):
    """The parameters of the notebook.

    paths          corpora that you bring as files: name -> file or folder
    hidden_sizes   width of h by encoder (both directions of the BiLSTM together)
    learning_rates, batch_sizes  by encoder;  attention_rate: how much faster attention learns (paper: 1 or 10)
    boundaries, strict_length_filter  read the texts as Jain & Wallace's code does
    lambdas        of sparsegen, 0 among them;  entmax_alphas: strictly between 1 and 2, which are the path's ends
    texts          test texts for correlations and entropies;  hidden_texts: for the influence on hidden states;
                   facet_texts: for the check of Appendix A (0: none). None: all
    adversary_*    against which projections, how strongly pushed away, for how long, with which seeds (none: none)
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
    lambdas: tuple[float, ...] = (-10.0, -1.0, 0.0, 0.5, 0.9)
    entmax_alphas: tuple[float, ...] = (1.5,)
    texts: int | None = Field(None, ge=1)
    hidden_texts: int | None = Field(None, ge=1)
    facet_texts: int | None = Field(4, ge=0)
    adversary_projections: tuple[Literal["softmax", "sparsemax"], ...] = ("softmax", "sparsemax")
    adversary_lambdas: tuple[float, ...] = (1e-3, 0.1)
    adversary_seeds: tuple[int, ...] = (0,)
    adversary_epochs: int = Field(4, ge=1)

    @model_validator(mode="after")
    def _sense(self) -> Params:
        check_corpora(self.corpora)
        for name in self.paths:
            if name not in self.corpora:
                raise ValueError(unknown("corpus in paths", name, self.corpora))
        for option in ("corpora", "encoders", "seeds", "lambdas"):
            if not getattr(self, option):
                raise ValueError(f"{option} must name at least one.")
        for option in ("corpora", "encoders", "seeds", "lambdas", "entmax_alphas", "adversary_lambdas"):
            values = getattr(self, option)
            if len(set(values)) < len(values):
                raise ValueError(f"{option} must name each once; got {list(values)}.")
        if 0.0 not in self.lambdas or len(self.lambdas) < 3:
            raise ValueError(
                f"lambdas must hold 0 (sparsemax) and two others at least, for a trend; got {list(self.lambdas)}."
            )
        if bad := [a for a in self.entmax_alphas if not 1 < a < 2]:
            raise ValueError(
                f"entmax_alphas lie between 1 (softmax) and 2 (sparsemax), which are there anyway; got {bad}."
            )
        for option in ("hidden_sizes", "learning_rates", "batch_sizes"):
            if missing := [e for e in self.encoders if e not in getattr(self, option)]:
                raise ValueError(f"{option} says nothing about {', '.join(missing)}.")
        if self.adversary_seeds and not set(self.adversary_seeds) <= set(self.seeds):
            raise ValueError(f"adversary_seeds are among the seeds {self.seeds}; got {self.adversary_seeds}.")
        if bad := [x for x in self.adversary_lambdas if x < 0]:
            raise ValueError(f"adversary_lambdas must not be negative; got {bad}.")
        for corpus in self.corpora:
            models(self, corpus)  # refuses what no model can be, such as lambda >= 1
        return self

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
            options = {k: place["lam"] for k in ("sparsegen_lambda",) if place["projection"] == "sparsegen"}
            options |= {k: place["alpha"] for k in ("entmax_alpha",) if place["projection"] == "entmax"}
            model = ModelConfig(
                encoder=encoder,
                attention=ATTENTION[encoder],
                projection=place["projection"],
                vectors=params.vectors,
                embedding_size=params.embedding_size,
                hidden_size=params.hidden_sizes[encoder],
                layers=2 if encoder == "transformer" else 1,
                boundaries=params.boundaries,
                **options,
            )
            place = {k: place[k] for k in ("lam", "alpha")}
            for seed in params.seeds:
                train = params.training(encoder)
                found.append((Fit(data=params.data(corpus), model=model, train=train, seed=seed), place))
    return found


def grid(params: Params | Mapping[str, Any]) -> list[Run]:
    """Every run: all models measured; adversaries of some; Appendix A on the softmax models of the first seed."""
    params = params if isinstance(params, Params) else Params(**params)
    runs: list[Run] = []
    for corpus in params.corpora:
        for base, place in models(params, corpus):
            counts = {"texts": params.texts, "hidden_texts": params.hidden_texts}
            runs.append(measure(measures.readings, base, label={"part": "readings", **place}, **counts))
            soft = base.model.projection == "softmax"
            if soft and base.seed == params.seeds[0] and params.facet_texts != 0:
                runs.append(measure(measures.appendix, base, label={"part": "facets"}, texts=params.facet_texts))
            if base.model.projection in params.adversary_projections and base.seed in params.adversary_seeds:
                runs += [_duel(params, base, kind, lam) for kind in ADVERSARIES for lam in params.adversary_lambdas]
    return runs


def _duel(params: Params, base: Fit, kind: str, lam: float) -> Run:
    """An adversary and its base. Its own seed, so that a fresh one does not start where the base did."""
    schedule = {"epochs": params.adversary_epochs, "patience": 10, "monitor": "train_loss"}
    other = Fit(
        data=base.data,
        model=base.model,
        train=base.train.replace(**schedule),
        seed=base.seed + 10,
        warm_start=base,
        trainer=f"{measures.__name__}:{measures.adversary.__name__}",
        params={"lam": lam, "frozen": ADVERSARIES[kind]},
    )
    return measure(measures.duel, base, other, label={"part": "adversary", "variant": kind, "push": lam})


@dataclass
class Results:
    """Tidy frames; `grid` says what was computed, what came from the store, what failed. All have KEYS and seed.

    agreement    one row a text and importance: value is tau-b of attention with it, status why there is none
    entropies    one row a text and metric (entropy_gradient_input, …, entropy_attention, support, support_share)
    hidden       one row a hidden state: value is the entropy of the inputs' influence on it
    right        one row a test text: value is 1 where the prediction is right
    adversaries  one row a text, kind of adversary (variant) and push: jsd, tvd, right_base, right_adversary
    facets       one row a hidden state: both ways of Appendix A
    times        one row a model: `hidden_seconds` that Table 1 took, of how many texts and states, and `seconds` of
                 all its readings, when they were computed, and on which device
    """

    agreement: pd.DataFrame
    entropies: pd.DataFrame
    hidden: pd.DataFrame
    right: pd.DataFrame
    adversaries: pd.DataFrame
    facets: pd.DataFrame
    times: pd.DataFrame
    grid: GridResult


def results(params: Params, executor: Any = None) -> Results:
    """Compute what the store does not hold, and gather."""
    found = run_grid(grid(params), executor=executor, title="sparsity")
    agreement = _numbers(found.frame("agreement"))
    return Results(
        agreement=agreement.assign(metric="kendall_tau_attention"),
        entropies=entropies(agreement, _numbers(found.frame("spread"))),
        hidden=_numbers(found.frame("hidden")).assign(metric="entropy_grad_fi_of_hidden"),
        right=_numbers(found.frame("right")).assign(metric="accuracy"),
        adversaries=found.frame("duel", optional=True),
        facets=found.frame("appendix", optional=True),
        times=times(found),
        grid=found,
    )


def times(found: GridResult) -> pd.DataFrame:
    """Seconds and device of every model's readings, by the store's record, and of Table 1 among them."""
    rows = []
    for run, columns in found.columns.items():
        if run.task.endswith(":readings"):
            with suppress(GridFailed):
                entry = found.entry(run)
                record, clock = entry.environment, entry.frame("clock").iloc[0]
                row = {name: columns.get(name) for name in (*KEYS, "seed")}
                row |= {"seconds": record["seconds"], "device": record.get("device", "cpu")}
                row |= {"hidden_seconds": clock["seconds"], "texts": clock["texts"], "states": clock["states"]}
                rows.append(row)
    return pd.DataFrame(rows, columns=[*KEYS, "seed", *TIMES])


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Places on the two paths as numbers, NaN where a model is not on one."""
    return frame.assign(lam=pd.to_numeric(frame["lam"]), alpha=pd.to_numeric(frame["alpha"]))


def entropies(agreement: pd.DataFrame, spread: pd.DataFrame) -> pd.DataFrame:
    """One row a text and metric, from the entropies of importances and from attention itself."""
    columns = [*KEYS, "seed", "instance", "length"]
    parts = []
    for kind in ("gradient_input", "leave_one_out_input"):
        part = agreement[agreement["importance"] == kind]
        parts.append(part[columns].assign(metric=f"entropy_{kind}", value=part["entropy"]))
    parts.append(spread[columns].assign(metric="entropy_attention", value=spread["entropy"]))
    parts.append(spread[columns].assign(metric="support", value=spread["support"].astype(float)))
    share = spread["support"] / spread["length"].replace(0, np.nan)
    parts.append(spread[columns].assign(metric="support_share", value=share))
    return pd.concat(parts, ignore_index=True)


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the numbers say: name of the check -> whether it does."""
    agreement, entropy = results.agreement, results.entropies
    models_each = len(params.encoders) * len(projections(params)) * len(params.seeds)
    ordered = agreement["status"] == "ordered"
    shares = entropy[entropy["metric"] == "support_share"].groupby("projection")["value"].agg(["min", "max"])
    bounded = entropy[entropy["metric"] != "support"]["value"].dropna()
    found = {
        "no run failed": results.grid.failures.empty,
        "every model read the same texts": (
            agreement.groupby([*KEYS, "seed", "importance"], dropna=False)
            .size()
            .groupby("dataset")
            .nunique()
            .eq(1)
            .all()
            and len(agreement.groupby([*KEYS, "seed"], dropna=False)) == models_each * len(params.corpora)
        ),
        "a correlation exists where there is an order, and nowhere else": (
            agreement["value"].notna() == ordered
        ).all(),
        "correlations lie between -1 and 1": agreement["value"].dropna().abs().le(1 + 1e-9).all(),
        "entropies and shares lie between 0 and 1": bounded.between(0, 1).all(),
        "softmax leaves no word without weight": shares.loc["softmax", "min"] == 1,
        "sparsemax leaves at least one word": shares.loc["sparsemax", "min"] > 0,
    }
    if len(results.adversaries):
        found["divergences lie between 0 and ln 2"] = (
            results.adversaries["jsd"].dropna().between(0, np.log(2) + 1e-9).all()
        )
    return {name: bool(passed) for name, passed in found.items()}
