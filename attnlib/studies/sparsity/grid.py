"""Sparse attention (Meister et al. 2021): what is computed, and the tidy frames that come of it.

Two paths lead from soft to sparse: sparsegen over its lambda, the paper's, and entmax over its alpha from softmax
(1) to sparsemax (2). Sparsegen with lambda 0 *is* sparsemax: the paths meet there, and that model is trained once.

Paired (`study.seed_of`) are the projections of a cell (data set, encoder, attention), so that sparsemax minus
softmax and a path over lambda compare projections alone. An adversary is paired with its base, but draws initial
values of its own: a fresh one must not start where its base did. `seed` in the frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from attnlib.data.types import Corpus
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import FitSpec, MeasureSpec, Run
from attnlib.studies.results import Results, without
from attnlib.studies.sparsity import measures
from attnlib.studies.sparsity.params import PAIR, Params, cell_of, models
from attnlib.studies.study import seed_of

KEYS = ["dataset", "encoder", "attention", "projection", "lam", "alpha"]
"""The columns that tell the models of the grid apart, seeds aside."""
ADVERSARIES = {"adversary_frozen": True, "adversary_unfrozen": False}


def grid(params: Params) -> list[Run]:
    """Every run: all models measured; adversaries of some; Appendix A on the softmax models."""
    runs: list[Run] = []
    for corpus in params.corpora:
        for base, place in models(params, corpus):
            counts = {"texts": params.texts, "hidden_texts": params.hidden_texts}
            runs.append(MeasureSpec.of(measures.readings, base, label={"part": "readings", **place}, **counts))
            projection, replicate = base.model.projection, base.label["seed"]
            if projection == "softmax" and params.facet_texts != 0:
                label = {"part": "facets"}
                runs.append(MeasureSpec.of(measures.appendix, base, label=label, texts=params.facet_texts))
            if projection in params.adversary_projections and replicate in params.adversary_seeds:
                seed = seed_of(replicate, *cell_of(corpus, base.model.encoder), "adversary")
                duels = product(ADVERSARIES, params.adversary_lambdas)
                runs += [_duel(params, base, seed, kind, push) for kind, push in duels]
    return runs


def _duel(params: Params, base: FitSpec, seed: int, kind: str, push: float) -> Run:
    """An adversary and its base.

    A frozen one draws its attention again, the query of dot attention from N(0, 1): torch's small start gives
    nearly even weights, much as its base has them, and near its base an adversary stays (`adversary`).
    """
    model = base.model.replace(dot_init="normal") if ADVERSARIES[kind] else base.model
    schedule = {"epochs": params.adversary_epochs, "patience": 10, "monitor": "train_loss"}
    other = base.replace(
        model=model,
        train=base.train.replace(**schedule),
        seed=seed,
        warm_start=base,
        trainer="attnlib.measures.adversary:adversary",
        params={"lam": push, "frozen": ADVERSARIES[kind]},
    )
    return MeasureSpec.of(measures.duel, base, other, label={"part": "adversary", "variant": kind, "push": push})


def results(params: Params, executor: Any = None, corpora: Mapping[str, Corpus] | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those already loaded, by name."""
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="sparsity")
    frames = {name: found.frame(name) for name in ("agreement", "spread", "hidden", "labels")}
    frames |= {"adversaries": found.frame("duel", optional=True), "facets": found.frame("appendix", optional=True)}
    return gathered(params, found, frames)


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """Tidy frames, all with KEYS and seed.

    agreement    one row per text and importance: value is tau-b of attention with it, status why there is none
    entropies    one row per text and metric (entropy_gradient_input, …, entropy_attention, support, support_share)
    hidden       one row per hidden state: value is the entropy of the inputs' influence on it, own the share of the
                 word at its place, even the share that each word would have if all counted alike
    labels       one row per test text: truth, prediction, and value 1 where they agree
    adversaries  one row per text, kind of adversary (variant) and push: jsd, tvd, right_base, right_adversary,
                 change (of accuracy: right_adversary - right_base)
    facets       one row per hidden state: both ways of Appendix A
    """
    agreement, duels = _placed(frames["agreement"]), frames["adversaries"]
    if len(duels):
        duels = duels.assign(change=duels["right_adversary"] - duels["right_base"])
    every = {
        "agreement": agreement.assign(metric="kendall_tau_attention"),
        "entropies": _entropies(agreement, _placed(frames["spread"])),
        "hidden": _placed(frames["hidden"]).assign(metric="entropy_grad_fi_of_hidden"),
        "labels": _placed(frames["labels"]).assign(metric="accuracy"),
        "adversaries": duels,
        "facets": frames["facets"],
    }
    return Found(params, found, every, KEYS, judged=("agreement", "entropies", "hidden", "adversaries", "facets"))


class Found(Results):
    """The results, where adversaries and Appendix A know their models by fewer columns."""

    @cached_property
    def learned(self) -> Found:
        """Without the models that learned nothing, nor the adversaries of such."""
        own = {name: without(self.frames[name], self.idle) for name in ("agreement", "entropies", "hidden")}
        # these are of softmax and sparsemax models, which have no λ or α in their frames
        pair = self.idle.loc[self.idle["projection"].isin(PAIR), ["dataset", "encoder", "projection", "seed"]]
        own |= {name: without(self.frames[name], pair) for name in ("adversaries", "facets")}
        return self.replace(**own)


def _placed(frame: pd.DataFrame) -> pd.DataFrame:
    """Places on the two paths as numbers, NaN where a model is not on one."""
    return frame.assign(lam=pd.to_numeric(frame["lam"]), alpha=pd.to_numeric(frame["alpha"]))


def _entropies(agreement: pd.DataFrame, spread: pd.DataFrame) -> pd.DataFrame:
    """One row per text and metric, from the entropies of importances and from attention itself."""
    columns = [*KEYS, "seed", "instance", "length"]
    parts = []
    for kind in ("gradient_input", "leave_one_out_input"):
        part = agreement[agreement["importance"] == kind]
        parts.append(part[columns].assign(metric=f"entropy_{kind}", value=part["entropy"]))
    share = spread["support"] / spread["length"].replace(0, np.nan)
    values = {"entropy_attention": spread["entropy"], "support": spread["support"].astype(float)}
    for metric, value in (values | {"support_share": share}).items():
        parts.append(spread[columns].assign(metric=metric, value=value))
    return pd.concat(parts, ignore_index=True)
