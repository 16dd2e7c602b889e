"""Sparse attention (Meister et al. 2021): what is computed, and the tidy frames that come of it.

The paper's path from soft to sparse is sparsegen over its lambda; with lambda 0 it *is* sparsemax, and that model
is trained once. Entmax lies between softmax and sparsemax too.

Paired (`study.seed_of`) are the projections of a data set and encoder, so that sparsemax minus softmax and a path
over lambda compare projections alone. An adversary is paired with its base, but draws initial values of its own: a
fresh one must not start where its base did. `seed` in the frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd

from attnlib.config import ModelConfig
from attnlib.data.selection import sampled
from attnlib.measures.adversary import compare
from attnlib.measures.agreement import attention_agreement, facets, hidden_dispersion
from attnlib.measures.perturbation import decisions
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import FitSpec, MeasureSpec, Run
from attnlib.studies.results import Results
from attnlib.studies.sparsity.params import Params
from attnlib.studies.study import replicate, seed_of

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

KEYS = ["dataset", "encoder", "model"]
"""The columns that tell the models of the grid apart, seeds aside."""
ATTENTION = {"lstm": "additive", "transformer": "dot"}
"""Each encoder's attention in the paper."""
PAIR = ("softmax", "sparsemax")
"""The projections of the paper's Tables 1 and 6."""
ADVERSARIES = {"adversary_frozen": True, "adversary_unfrozen": False}


def readings(
    fitted: Fitted, corpus: Corpus, *, texts: int | None = None, hidden_texts: int | None = None
) -> dict[str, pd.DataFrame]:
    """Everything a trained model is asked, on a sample of `texts` test texts (None: all).

    agreement  Kendall tau-b of attention with each importance, and its entropy, one row per text and kind
    spread     support size and entropy of attention, one row per text
    hidden     entropy of the influence of inputs on each hidden state, for `hidden_texts` texts
    labels     truth, prediction, and value 1 where they agree, one row per test text: always all of them
    """
    agreement, spread = attention_agreement(fitted, sampled(corpus.test, texts))
    hidden = hidden_dispersion(fitted, sampled(corpus.test, hidden_texts))
    return {"agreement": agreement, "spread": spread, "hidden": hidden, "labels": decisions(fitted, corpus.test)}


def appendix(fitted: Fitted, corpus: Corpus, *, texts: int | None = None) -> pd.DataFrame:
    """Influence on the norm of a hidden state next to influence on its components (Appendix A)."""
    return facets(fitted, sampled(corpus.test, texts))


def projections(params: Params) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every projection, the softest of a path first: options of the model, columns that name its place."""
    yield {"projection": "softmax"}, {"model": "softmax", "lam": None}
    for alpha in sorted(params.entmax_alphas):
        yield {"projection": "entmax", "entmax_alpha": alpha}, {"model": f"entmax {alpha:g}", "lam": None}
    for lam in sorted(params.lambdas):
        name = f"sparsegen {lam:g}".replace("-", "−") if lam else "sparsemax"
        options = {"projection": "sparsegen", "sparsegen_lambda": lam} if lam else {"projection": "sparsemax"}
        yield options, {"model": name, "lam": lam}


def models(params: Params, corpus: str) -> list[FitSpec]:
    """Every model of a corpus, labelled with its place; `seed` is the replicate there."""
    found = []
    for encoder, (projection, place) in product(params.encoders, projections(params)):
        own = {"encoder": encoder, "attention": ATTENTION[encoder], "hidden_size": params.hidden_sizes[encoder]}
        own |= {"layers": 2 if encoder == "transformer" else 1, "transformer_norm": "post", "oov": "zero"}
        model = params.config(ModelConfig, dot_init="kaiming", **own, **projection)
        spec = {"data": params.data(corpus), "model": model, "train": params.training(encoder), "label": place}
        found += [replicate(k, str(corpus), encoder, ATTENTION[encoder], **spec) for k in params.seeds]
    return found


def adversary(params: Params, corpus: str, base: FitSpec, kind: str, push: float) -> Run:
    """An adversary next to its base.

    A frozen one draws its attention again, the query of dot attention from N(0, 1): torch's small start gives
    nearly even weights, much as its base has them, and near its base an adversary stays.
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


def results(params: Params, executor: Any = None, corpora: Mapping[str, Corpus] | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those already loaded, by name."""
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="sparsity")
    frames = {name: found.frame(name) for name in ("agreement", "spread", "hidden", "labels")}
    frames |= {"duels": found.frame("compare", optional=True), "facets": found.frame("appendix", optional=True)}
    return gathered(params, found, frames)


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """Tidy frames, all with KEYS, lam (None: not on the path) and seed.

    agreement  one row per text and importance: value is tau-b of attention with it, status why there is none
    spread     one row per text: entropy of attention, and the share of words with weight
    hidden     one row per hidden state: value is the entropy of the inputs' influence on it, own the share of the
               word at its place, even the share that each word would have if all counted alike
    labels     one row per test text: truth, prediction, and value 1 where they agree
    duels      one row per text, kind of adversary (variant) and push: jsd, right_base, right_adversary, change
    facets     one row per hidden state: total variation and difference of entropies of both ways of Appendix A;
               neither where there is nothing to spread, and they agree for nothing
    """
    path = {name: frames[name].assign(lam=pd.to_numeric(frames[name]["lam"])) for name in ("agreement", "hidden")}
    spread = frames["spread"].assign(lam=pd.to_numeric(frames["spread"]["lam"]))
    every = {**frames, **path, "spread": spread.assign(share=spread["support"] / spread["length"])}
    if len(duels := frames["duels"]):
        every["duels"] = duels.assign(change=duels["right_adversary"] - duels["right_base"])
    if len(both := frames["facets"]):
        gap = both["of_norm"] - both["of_facets"]
        every["facets"] = both.assign(gap=gap, apart=both["distance"].where(gap.notna()))
    return Results(params, found, every, KEYS, judged=("agreement", "spread", "hidden", "duels", "facets"))
