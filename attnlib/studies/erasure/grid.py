"""Is attention interpretable? (Serrano & Smith 2019): the models, and the frames that come of them.

HAN attends to words within sentences and to sentences within the text, FLAN to all words at once; only the last
attention layer is tested, so what is removed is a sentence for HAN and a word for FLAN. Encoders: rnn (a
bidirectional GRU), conv (windows of 3 and 5) and noenc (none). Every model is measured once.

What is compared within a model (rankings, the two items removed) is paired by training and text; different models
are independent trainings (`study.seed_of`). The models beyond the paper differ in projection, scaling or
regulariser within one cell, and share its seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run
from attnlib.studies.erasure.measures import RANKINGS, erasures
from attnlib.studies.erasure.params import Params
from attnlib.studies.results import Results
from attnlib.studies.study import parted, replicate

MODEL = ["dataset", "encoder"]
"""The columns that tell cells apart: `encoder` is han_rnn, flan_noenc and so on."""
PROJECTIONS = {
    "softmax": {},
    "sparsemax": {"projection": "sparsemax"},
    "sparsegen": {"projection": "sparsegen", "sparsegen_lambda": 0.5},
    "entmax": {"projection": "entmax"},
    "gumbel": {"projection": "gumbel"},
}
SCALINGS = {"softmax": {}} | {name: {"scaling": name} for name in ("lin", "feat", "conv")}
REGULARISERS = {"base": {}} | {name: {"regulariser": name} for name in ("tying", "mlm")}
"""Beyond the paper: the same tests for the models of the other papers. `base`: as wide as its word vectors."""
BEYOND = {"projection": PROJECTIONS, "scaling": SCALINGS, "regulariser": REGULARISERS}
SPARSE = ("sparsemax", "sparsegen", "entmax")


def fit(params: Params, dataset: str, architecture: str, context: str, k: int) -> FitSpec:
    """One model of the paper's grid."""
    model, encoder = params.model(dataset, architecture, context), f"{architecture}_{context}"
    spec = {"data": params.data(dataset), "model": model, "train": params.training(dataset, context)}
    return replicate(k, dataset, encoder, model.attention, **spec, label={"dataset": dataset, "encoder": encoder})


def beyond_fit(params: Params, options: Mapping[str, Any], base: bool, k: int) -> FitSpec:
    """A model of the other papers' grids, trained as their studies train it, so that the store trains it once."""
    hidden = params.embedding_size if base else params.beyond_hidden
    rest = {"epochs": params.beyond_epochs, "train_embeddings": params.vectors == "none"}
    train = TrainConfig(patience=2, monitor="loss", amsgrad=True, **rest)
    model = ModelConfig(vectors=params.vectors, embedding_size=params.embedding_size, hidden_size=hidden, **options)
    cell = (params.beyond, model.encoder, model.attention)
    return replicate(k, *cell, data=params.data(params.beyond), model=model, train=train)


def grid(params: Params) -> list[MeasureSpec]:
    """Every run: each model of the paper erased from, and those beyond it."""
    runs = []
    for dataset, architectures in params.trained.items():
        for cell in product(architectures, params.encoders, params.seeds):
            one = fit(params, dataset, *cell)
            runs.append(MeasureSpec.of(erasures, one, texts=params.texts, label={"part": "paper"}))
    if params.beyond is None:
        return runs
    variants = PROJECTIONS | SCALINGS | REGULARISERS
    for name, k in product(variants, params.beyond_seeds):
        one = beyond_fit(params, variants[name], name in REGULARISERS, k)
        label = {"part": "beyond", "variant": name, "dataset": params.beyond}
        runs.append(MeasureSpec.of(erasures, one, texts=params.texts, reproject=name in SPARSE, label=label))
    return runs


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already.

    labels, single, fractions    of the paper's models: dataset, encoder (han_rnn, …), seed, and as `erasures` says
    beyond_*   of the models of the other papers: `variant` names them; empty frames where they were left out
    """
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="erasure")
    return gathered(params, found, {name: found.frame(name) for name in ("labels", "single", "fractions")})


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """The frames of all runs, by the part of the study that they belong to."""
    own = {name: parted(frame, "paper") for name, frame in frames.items()}
    beyond = {f"beyond_{name}": parted(frame, "beyond") for name, frame in frames.items()}
    return Results(params, found, own | beyond, MODEL, judged=("single", "fractions"))


def compared(single: pd.DataFrame, sampling: str = "any other", importance: str | None = None) -> pd.DataFrame:
    """Single removals where there is another item to remove, r drawn as named; by one ranking, or by all."""
    kept = single[(single["status"] == "compared") & (single["sampling"] == sampling)]
    return kept if importance is None else kept[kept["importance"] == importance]


def several(fractions: pd.DataFrame) -> pd.DataFrame:
    """First flips of the texts with more than one item; `value` is the fraction, NaN where none flips."""
    kept = fractions[fractions["length"] > 1]
    return kept.assign(value=kept["fraction"].to_numpy(float))


def common_set(fractions: pd.DataFrame, rankings: Sequence[str] = RANKINGS) -> pd.DataFrame:
    """The texts (with more than one item) that every ranking flips, so that boxes compare the same texts."""
    kept = several(fractions)
    kept = kept[kept["importance"].isin(rankings)]
    keys = [c for c in ("dataset", "encoder", "variant", "seed", "instance") if c in kept]
    never = kept["value"].isna().groupby([kept[key] for key in keys], sort=False).transform("any")
    return kept[~never]


def papers(run: Run) -> bool:
    """Whether the settings are about a run: a model of the paper, or a measure of one."""
    return "dataset" in run.label if isinstance(run, FitSpec) else run.label.get("part") == "paper"
