"""Sparse attention (Meister et al. 2021): what is computed, and the tidy frames that come of it.

The paper's path from soft to sparse is sparsegen over its lambda; with lambda 0 it *is* sparsemax.

Paired (`study.seed_of`) are the projections of a dataset and encoder. An adversary is paired with its base, but
draws initial values of its own. `seed` in the frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from attnlib.config import ModelConfig
from attnlib.data.selection import sampled
from attnlib.data.types import Corpus
from attnlib.measures.adversary import compare
from attnlib.measures.agreement import attention_agreement, facets, hidden_dispersion
from attnlib.measures.perturbation import decisions
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import FitSpec, MeasureSpec, Run
from attnlib.studies.results import Results
from attnlib.studies.sparsity.params import Params
from attnlib.studies.study import replicate, seed_of
from attnlib.training.fitted import Fitted

KEYS = ["dataset", "encoder", "model"]  # what tells the models apart, seeds aside
ATTENTION = {"lstm": "additive", "transformer": "dot"}
PAIR = ("softmax", "sparsemax")  # the projections of the paper's Tables 1 and 6
ADVERSARIES = {"adversary_frozen": True, "adversary_unfrozen": False}


def readings(
    fitted: Fitted, corpus: Corpus, *, texts: int | None = None, hidden_texts: int | None = None
) -> dict[str, pd.DataFrame]:
    """Everything a trained model is asked, on samples of test texts (None: all); its labels on all of them."""
    agreement, spread = attention_agreement(fitted, sampled(corpus.test, texts))
    hidden = hidden_dispersion(fitted, sampled(corpus.test, hidden_texts))
    labels = decisions(fitted, corpus.test)
    return {"agreement": agreement, "spread": spread, "hidden": hidden, "labels": labels}


def appendix(fitted: Fitted, corpus: Corpus, *, texts: int | None = None) -> pd.DataFrame:
    """Influence on the norm of a hidden state next to influence on its components (Appendix A)."""
    return facets(fitted, sampled(corpus.test, texts))


def projections(params: Params) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every projection, softest first: options of the model, columns that name its place."""
    yield {"projection": "softmax"}, {"model": "softmax", "lam": None}
    for alpha in sorted(params.entmax_alphas):
        yield {"projection": "entmax", "entmax_alpha": alpha}, {"model": f"entmax {alpha:g}", "lam": None}
    for lam in sorted(params.lambdas):
        if lam == 0:
            yield {"projection": "sparsemax"}, {"model": "sparsemax", "lam": lam}
        else:
            name = f"sparsegen {lam:g}".replace("-", "−")
            yield {"projection": "sparsegen", "sparsegen_lambda": lam}, {"model": name, "lam": lam}


def models(params: Params, corpus: str) -> list[FitSpec]:
    """Every model of a corpus, labelled with its place; `seed` is the replicate there."""
    found = []
    for encoder, (projection, place) in product(params.encoders, projections(params)):
        attention, size = ATTENTION[encoder], params.hidden_sizes[encoder]
        own = {"encoder": encoder, "attention": attention, "hidden_size": size, "dot_init": "kaiming"}
        own |= {"layers": 2 if encoder == "transformer" else 1, "transformer_norm": "post", "oov": "zero"}
        spec = {"model": params.config(ModelConfig, **own, **projection), "train": params.training(encoder)}
        spec |= {"data": params.data(corpus), "label": place}
        found += [replicate(k, str(corpus), encoder, attention, **spec) for k in params.seeds]
    return found


def adversary(params: Params, corpus: str, base: FitSpec, kind: str, push: float) -> Run:
    """An adversary next to its base.

    A frozen one draws its attention again, the query of dot attention from N(0, 1): torch's small start gives
    nearly even weights, as its base has them.
    """
    cell = (str(corpus), base.model.encoder, base.model.attention, "adversary")
    other = base.replace(
        model=base.model.replace(dot_init="normal") if ADVERSARIES[kind] else base.model,
        train=base.train.replace(epochs=params.adversary_epochs, patience=10, monitor="train_loss"),
        seed=seed_of(base.label["seed"], *cell),
        warm_start=base,
        trainer="attnlib.measures.adversary:adversary",
        params={"lam": push, "frozen": ADVERSARIES[kind]},
    )
    return MeasureSpec.of(compare, base, other, label={"variant": kind, "push": push})


def grid(params: Params) -> list[Run]:
    """Every run: all models measured; adversaries of some; Appendix A on the softmax models."""
    runs: list[Run] = []
    attacked = params.seeds[: params.adversary_seeds]
    for corpus, base in ((name, fit) for name in params.corpora for fit in models(params, name)):
        runs.append(MeasureSpec.of(readings, base, texts=params.texts, hidden_texts=params.hidden_texts))
        if base.model.projection == "softmax":
            runs.append(MeasureSpec.of(appendix, base, texts=params.facet_texts))
        if base.model.projection in params.adversary_projections and base.label["seed"] in attacked:
            duels = product(ADVERSARIES, params.adversary_lambdas)
            runs += [adversary(params, corpus, base, *duel) for duel in duels]
    return runs


def results(params: Params, **options: Any) -> Results:
    """Compute what the store does not hold, and gather; options: as `run_grid` has them."""
    found = run_grid(grid(params), title="sparsity", **options)
    frames = {name: found.frame(name) for name in ("agreement", "spread", "hidden", "labels")}
    more = {"duels": "compare", "facets": "appendix"}
    frames |= {name: found.frame(of, optional=True) for name, of in more.items()}
    return gathered(params, found, frames)


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """Tidy frames, all with KEYS, lam (NaN: not on the path) and seed.

    agreement, spread   one row per text and importance (`attention_agreement`); per text
    hidden, labels      one row per hidden state (`hidden_dispersion`); per test text
    duels    one row per text, kind of adversary (variant) and push: jsd, right_base, right_adversary, change
    facets   one row per hidden state: total variation and difference of entropies of both ways of Appendix A,
             neither where there is nothing to spread
    """
    every = {n: f.assign(lam=pd.to_numeric(f["lam"])) if "lam" in f else f for n, f in frames.items()}
    every["spread"] = every["spread"].assign(share=lambda texts: texts["support"] / texts["length"])
    if len(duels := every["duels"]):
        every["duels"] = duels.assign(change=duels["right_adversary"] - duels["right_base"])
    if len(both := every["facets"]):
        gap = both["of_norm"] - both["of_facets"]
        every["facets"] = both.assign(gap=gap, apart=both["distance"].where(gap.notna()))
    return Results(params, found, every, KEYS, ("agreement", "spread", "hidden", "duels", "facets"))
