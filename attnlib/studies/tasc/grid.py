"""What the TaSc study computes, and the tidy frames that come of it.

Every model of the grid is measured once: the first flip of every test text along every ranking tells both the
share of decisions that the top token alone flips (it came at one token) and the fraction of tokens to a flip.

Paired (`study.seed_of`) are the variants of a cell of corpus, encoder and attention: without TaSc, Lin, Feat, Conv,
other poolings. The column `seed` holds the replicate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.pretrained import pinned
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec
from attnlib.studies.datasets import kin
from attnlib.studies.learned import idle, without
from attnlib.studies.study import parted, replicate
from attnlib.studies.tasc.measures import faithfulness, reading, words
from attnlib.studies.tasc.params import Params

CELL = ["dataset", "encoder", "attention"]
RANKINGS = ("alpha", "grad_alpha", "alpha_grad")
"""The paper's attention rankings (section 5.1): weights, their gradients, the product."""
BASELINES = ("omission", "input_x_grad", "integrated_gradients")
"""What it compares them with (section 7)."""
POOLS = ("sum", "mean", "max", "direct")
"""Ways from a scaled embedding to one number (footnote 4): sum is the paper's, direct is u itself."""
SIZES = {
    "sst": (6_920, 1_821, 20), "adr": (14_452, 4_251, 22), "imdb": (17_212, 4_363, 185),
    "agnews": (60_895, 3_960, 34), "anemia": (4_654, 1_369, 2_180),
}  # fmt: skip
"""Training texts, test texts and mean words of the paper's corpora (Table 1), for estimates of cost."""
FRACTION, TOP1 = "flip_fraction", "flip_percent_top1"


def _model(
    params: Params, corpus: str, encoder: str, attention: str, variant: str, pool: str = "sum"
) -> ModelConfig:
    """A model as in the released code: start and end tokens and full stops are read and never attended."""
    options: dict[str, Any] = {"encoder": encoder, "attention": attention, "scaling": variant}
    if attention == "dot":
        options["dot_init"] = "kaiming"  # the authors' query starts uniform in ±1/√N
    if variant != "none":
        options["scaling_pool"] = pool
    if encoder == "bert":
        return ModelConfig(pretrained=params.pretrained, **options)
    options |= {"vectors": params.vector_files.get(corpus, params.vectors), "oov_scale": params.oov_scale}
    options |= {"embedding_size": params.embedding_size, "hidden_size": params.hidden_size}
    return ModelConfig(boundaries=True, unattended=(".",), **options)


def _training(params: Params, corpus: str, encoder: str, variant: str) -> TrainConfig:
    """How a model is trained; embeddings stay as they are, and the epoch with the lowest dev loss is kept.

    With few positives the lowest dev loss is that of a model which finds none of them, so there the best macro-F1
    on dev decides.
    """
    options: dict[str, Any] = {"amsgrad": True, "train_embeddings": False, "clip_norm": None}
    options |= {"weight_decay": 1e-4, "weight_decays": {}, "epochs": params.epochs}
    options["monitor"] = "f1" if corpus in params.unbalanced else "loss"
    if encoder == "bert":
        rate, kept = params.bert_learning_rate, {"freeze": ("embedding", "encoder")}
        options |= {"epochs": params.bert_epochs, "learning_rate": 10 * rate, "batch_size": 8, "shuffle": False}
        options |= kept if params.bert_frozen else {"learning_rates": {"encoder": rate}}
    if variant == "none":
        options["epochs"] = params.epochs_without.get(corpus, {}).get(encoder, options["epochs"])
    return params.config(TrainConfig, **options)


def fit(
    params: Params, corpus: str, encoder: str, attention: str, variant: str, seed: int, pool: str = "sum"
) -> FitSpec:
    """One model of the grid."""
    data, train = params.data(corpus, bert=encoder == "bert"), _training(params, corpus, encoder, variant)
    model = _model(params, corpus, encoder, attention, variant, pool)
    return replicate(seed, corpus, encoder, attention, data=data, model=model, train=train)


def cells(params: Params) -> list[tuple[str, str, str, str, int]]:
    """Corpus, encoder, attention, variant and seed of every model of the grid."""
    words = product(params.corpora, params.encoders, params.attentions, params.variants, params.seeds)
    bert = product(params.corpora, ["bert"], params.bert_attentions, params.bert_variants, params.bert_seeds)
    return [*words, *bert]


def unbalanced_cells(params: Params) -> list[tuple[str, str, str, str, int]]:
    """The same of the models on unbalanced corpora."""
    encoders = [e for e in params.encoders if e in params.unbalanced_encoders]
    return list(product(params.unbalanced, encoders, params.attentions, ("none", "lin"), params.seeds))


def first_cell(params: Params) -> tuple[str, str, str]:
    """Corpus, encoder and attention of the models that are shown where none are named."""
    return params.corpora[0], params.encoders[0], params.attentions[-1]


def grid(params: Params) -> list[MeasureSpec]:
    """Every run: the models of the grid measured, the words of some, one text of two, and the pooling ablation."""
    runs = [_measured(params, *cell) for cell in cells(params)]
    runs += [_measured(params, *cell, part="unbalanced") for cell in unbalanced_cells(params)]
    pair = [fit(params, *first_cell(params), variant, params.seeds[0]) for variant in ("none", "lin")]
    runs.append(MeasureSpec.of(reading, *pair, label={"part": "picture"}))
    for seed in params.seeds:
        for cell in params.shown_cells.get("words") or [first_cell(params)]:
            runs.append(MeasureSpec.of(words, fit(params, *cell, "lin", seed), label={"part": "words"}))
        for pool in POOLS:
            cell = (params.corpora[0], *params.pooled, "lin", seed)
            runs.append(_measured(params, *cell, pool=pool, part="pooling"))
    return runs


def _measured(params: Params, corpus, encoder, attention, variant, seed, *, pool="sum", part="grid") -> MeasureSpec:
    bert = encoder == "bert"
    compared = variant in ("none", "lin") and part != "pooling" and (params.bert_baselines or not bert)
    return MeasureSpec.of(
        faithfulness,
        fit(params, corpus, encoder, attention, variant, seed, pool),
        label={"part": part, "pool": pool},
        rankings=list(RANKINGS),
        baselines=list(BASELINES) if compared else [],
        texts=params.bert_texts if bert else params.texts,
        baseline_texts=params.baseline_texts,
        operator=params.operator,
        ig_steps=params.ig_steps,
        quirks=list(params.quirks),
    )


@dataclass
class Results:
    """Tidy frames of the study; `grid` says what was computed, what came from the store, what failed.

    The frames of `corpora` decide the claims; those of unbalanced corpora are `unbalanced`, a study of their own.

    flips    one row per model, ranking, metric and text: `value` is the fraction of tokens removed at first flip
             (1 where it never comes, as in the paper) or, for the top token alone, 100 where it flips, else 0
    picture  what two models make of one text (`measures.reading`)
    frozen   whether the pretrained encoder is kept as it came; the claims about BERT need a fine-tuned one
    """

    flips: pd.DataFrame
    labels: pd.DataFrame
    parameters: pd.DataFrame
    words: pd.DataFrame
    picture: pd.DataFrame
    pooling: pd.DataFrame
    pooling_labels: pd.DataFrame
    grid: GridResult
    unbalanced: Results | None = None
    frozen: bool = False

    def of(self, dataset: str) -> Results:
        """What was found on one corpus."""
        flips, labels = (frame[frame["dataset"] == dataset] for frame in (self.flips, self.labels))
        return replace(self, flips=flips, labels=labels)

    @cached_property
    def idle(self) -> pd.DataFrame:
        """Models of the grid that learned nothing, one row each."""
        return idle(self.labels, [*CELL, "variant", "seed"])

    @cached_property
    def learned(self) -> pd.DataFrame:
        """`flips` without the trainings in which a model of some variant learned nothing: the others have no
        partner there."""
        return without(self.flips, self.idle[[*CELL, "seed"]])

    @cached_property
    def whole(self) -> pd.DataFrame:
        """`learned`, of the encoders that can be averaged over cells (`balanced`)."""
        return balanced(self.learned)

    @cached_property
    def comparable_labels(self) -> pd.DataFrame:
        """`labels` without the trainings whose model without TaSc learned nothing: there is no F1 to lose."""
        return without(self.labels, self.idle.loc[self.idle["variant"] == "none", [*CELL, "seed"]])


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already."""
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="TaSc")
    flips, labels, parameters = tidy(found.frame("flips")), found.frame("labels"), found.frame("parameters")
    frames = (flips, labels, parameters)
    parts = {name: [parted(frame, name) for frame in frames] for name in ("grid", "unbalanced", "pooling")}
    shared = {"words": found.frame("words"), "picture": found.frame("reading"), "grid": found}
    shared |= {"pooling": parts["pooling"][0], "pooling_labels": parts["pooling"][1]}
    other = Results(*parts["unbalanced"], **shared) if params.unbalanced else None
    return Results(*parts["grid"], **shared, unbalanced=other, frozen=params.bert_frozen)


def boxed(params: Params, results: Results) -> list[tuple[str, str, str]]:
    """Data set, encoder and attention of the cells of the paper's Figure 3, as the frames name them."""
    attention = params.attentions[0]
    bert = ["bert"] if params.bert_variants and attention in params.bert_attentions else []
    every = [(params.corpora[0], encoder, attention) for encoder in (*params.encoders, *bert)]
    shown = params.shown_cells.get("boxes") or every
    return [(results.grid.corpora[params.data(corpus)].name, *cell) for corpus, *cell in shown]


def balanced(flips: pd.DataFrame) -> pd.DataFrame:
    """The encoders that can be averaged over cells: those with every corpus, attention and variant.

    Others would tilt the mean. Where cells have several trainings, each of the encoder's has at least two: a single
    one leaves no interval.
    """
    cell = ["dataset", "attention", "variant"]
    trainings = flips[["encoder", *cell, "seed"]].drop_duplicates().groupby(["encoder", *cell]).size()
    cells = trainings[trainings >= min(2, trainings.max())].groupby("encoder").size()
    return flips[flips["encoder"].isin(cells.index[cells == len(flips[cell].drop_duplicates())])]


def tidy(flips: pd.DataFrame) -> pd.DataFrame:
    """Measured flips as one row per metric: the fraction (never = 1) and 100 or 0 for the top token alone."""
    fraction = np.where(flips["status"] == "never", 1.0, flips["fraction"].to_numpy(float))
    top = 100.0 * (flips["removed"].fillna(0).to_numpy(int) == 1)
    kept = flips.drop(columns=["removed", "fraction"])
    return pd.concat(
        [kept.assign(metric=FRACTION, value=fraction), kept.assign(metric=TOP1, value=top)], ignore_index=True
    )


def _name(fit: FitSpec) -> str:
    return kin(fit.data.options.get("name", fit.data.corpus))


def _bert(fit: FitSpec) -> bool:
    return fit.model.encoder == "bert"


def _pretrained(fit: FitSpec) -> str:
    """The name of the encoder, without its owner or folder and its revision."""
    return pinned(fit.model.pretrained)[0].rstrip("/").rsplit("/", 1)[-1]


def _epochs(fit: FitSpec) -> int:
    longer = _name(fit) == "adr" and fit.model.scaling == "none"
    if _bert(fit):
        return 30 if longer else 10
    return (35 if fit.model.encoder == "mlp" else 30) if longer else 20


FACTS = {
    "name": _name,
    "bert": _bert,
    "pretrained": _pretrained,
    "frozen": lambda fit: "encoder" in fit.train.freeze,
    "epochs": _epochs,
    "thinned": lambda fit: bool(fit.data.options.get("shares")) or None,
    "decayed_parts": lambda fit: tuple(fit.train.weight_decays),
    "baselines": lambda run: bool(run.params["baselines"]),
    "slips": lambda run: bool(run.params["quirks"]),
}
