"""Is sparse attention more interpretable? (Meister et al. 2021): grid and results.

    params = Params(corpora=["rotten_tomatoes"], lambdas=[-10, -1, 0, 0.5, 0.9])
    found = results(params)         # tidy frames, from the store where it has them

Two paths lead from soft to sparse: sparsegen over its lambda, the paper's, and entmax over its alpha from softmax
(1) to sparsemax (2). Sparsegen with lambda 0 *is* sparsemax: the paths meet there, and that model is trained once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.store.grid import GridFailed, GridResult, run_grid
from attnlib.store.specs import FitSpec, MeasureSpec, Run
from attnlib.studies.f1 import idle, without
from attnlib.studies.sparsity import measures
from attnlib.studies.sparsity.params import PAIR, Params, models, projections  # noqa: F401  the notebook's

PAPER = "Meister et al. 2021"
ENCODERS = {"lstm": "BiLSTM, additive", "transformer": "Transformer, dot"}
"""How tables name them."""
KEYS = ["dataset", "encoder", "attention", "projection", "lam", "alpha"]
"""The columns that tell the models of the grid apart, seeds aside."""
TIMES = ["seconds", "device", "hidden_seconds", "texts", "states"]
ADVERSARIES = {"adversary_frozen": True, "adversary_unfrozen": False}


def grid(params: Params | Mapping[str, Any]) -> list[Run]:
    """Every run: all models measured; adversaries of some; Appendix A on the softmax models of the first seed."""
    params = params if isinstance(params, Params) else Params(**params)
    runs: list[Run] = []
    for corpus in params.corpora:
        for base, place in models(params, corpus):
            counts = {"texts": params.texts, "hidden_texts": params.hidden_texts}
            runs.append(MeasureSpec.of(measures.readings, base, label={"part": "readings", **place}, **counts))
            soft = base.model.projection == "softmax"
            if soft and base.seed == params.seeds[0] and params.facet_texts != 0:
                runs.append(
                    MeasureSpec.of(measures.appendix, base, label={"part": "facets"}, texts=params.facet_texts)
                )
            if base.model.projection in params.adversary_projections and base.seed in params.adversary_seeds:
                runs += [_duel(params, base, kind, lam) for kind in ADVERSARIES for lam in params.adversary_lambdas]
    return runs


def _duel(params: Params, base: FitSpec, kind: str, lam: float) -> Run:
    """An adversary and its base. Its own seed, so that a fresh one does not start where the base did."""
    schedule = {"epochs": params.adversary_epochs, "patience": 10, "monitor": "train_loss"}
    other = FitSpec(
        data=base.data,
        model=base.model,
        train=base.train.replace(**schedule),
        seed=base.seed + 10,
        warm_start=base,
        trainer=f"{measures.__name__}:{measures.adversary.__name__}",
        params={"lam": lam, "frozen": ADVERSARIES[kind]},
    )
    return MeasureSpec.of(measures.duel, base, other, label={"part": "adversary", "variant": kind, "push": lam})


@dataclass
class Results:
    """Tidy frames; `grid` says what was computed, what came from the store, what failed. All have KEYS and seed.

    agreement    one row per text and importance: value is tau-b of attention with it, status why there is none
    entropies    one row per text and metric (entropy_gradient_input, …, entropy_attention, support, support_share)
    hidden       one row per hidden state: value is the entropy of the inputs' influence on it
    right        one row per test text: truth, prediction, and value 1 where they agree
    adversaries  one row per text, kind of adversary (variant) and push: jsd, tvd, right_base, right_adversary
    facets       one row per hidden state: both ways of Appendix A
    times        one row per model: `hidden_seconds` that Table 1 took, how many texts and states, and `seconds` of
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


def unlearned(results: Results) -> pd.DataFrame:
    """The models that learned nothing (`f1.idle`), one row each."""
    return idle(results.right, [*KEYS, "seed"])


def learned(results: Results) -> Results:
    """The results without the models that learned nothing, nor the adversaries of such."""
    models = unlearned(results)
    own = {name: without(getattr(results, name), models) for name in ("agreement", "entropies", "hidden", "right")}
    # these are of softmax and sparsemax models, which have no λ or α in their frames
    pair = models.loc[models["projection"].isin(PAIR), ["dataset", "encoder", "projection", "seed"]]
    own |= {name: without(getattr(results, name), pair) for name in ("adversaries", "facets")}
    return replace(results, **own)


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
    """One row per text and metric, from the entropies of importances and from attention itself."""
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
    ordered = agreement["status"] == "ordered"
    shares = entropy[entropy["metric"] == "support_share"].groupby("projection")["value"].min()
    bounded = entropy[entropy["metric"] != "support"]["value"].dropna()
    found = {
        "no run failed": results.grid.failures.empty,
        "every model read the same texts": _same_texts(agreement, params),
        "a correlation exists where there is an order, and nowhere else": (
            agreement["value"].notna() == ordered
        ).all(),
        "correlations lie between -1 and 1": agreement["value"].dropna().abs().le(1 + 1e-9).all(),
        "entropies and shares lie between 0 and 1": bounded.between(0, 1).all(),
        "sparsemax leaves at least one word": shares["sparsemax"] > 0,
    }
    if len(results.adversaries):
        found["divergences lie between 0 and ln 2"] = (
            results.adversaries["jsd"].dropna().between(0, np.log(2) + 1e-9).all()
        )
    return {name: bool(passed) for name, passed in found.items()}


def _same_texts(agreement: pd.DataFrame, params: Params) -> bool:
    """Whether every model of the grid is there, with as many texts as the others of its corpus."""
    model = [*KEYS, "seed"]
    sizes = agreement.groupby([*model, "importance"], dropna=False).size().groupby("dataset").nunique()
    expected = sum(len(models(params, corpus)) for corpus in params.corpora)
    return sizes.eq(1).all() and len(agreement.groupby(model, dropna=False)) == expected
