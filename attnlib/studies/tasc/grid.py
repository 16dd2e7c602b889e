"""What the TaSc study computes, and the tidy frames that come of it.

Every model of the grid is measured once: the first flip of every test text along every ranking tells both the
share of decisions that the top token alone flips (it came at one token) and the fraction of tokens to a flip.

Paired (`study.seed_of`) are the variants of a cell of corpus, encoder and attention: without TaSc, Lin, Feat, Conv,
other poolings. The column `seed` holds the replicate.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.store.grid import run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec
from attnlib.studies import results as generic
from attnlib.studies.quantity import NotTested, required
from attnlib.studies.results import RULE, idle, without
from attnlib.studies.study import parted, replicate
from attnlib.studies.tasc.measures import faithfulness, reading, words
from attnlib.studies.tasc.params import Params
from attnlib.utils.text import plural

CELL = ["dataset", "encoder", "attention"]
MODEL = [*CELL, "variant"]
RANKINGS = ("alpha", "grad_alpha", "alpha_grad")
"""The paper's attention rankings (section 5.1): weights, their gradients, the product."""
BASELINES = ("omission", "input_x_grad", "integrated_gradients")
"""What it compares them with (section 7)."""
POOLS = ("sum", "mean", "max", "direct")
"""Ways from a scaled embedding to one number (footnote 4): sum is the paper's, direct is u itself."""
TRAININGS = 3
"""Trainings of BERT that a claim about it needs."""
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


def models(params: Params) -> int:
    """How many models are measured, without those of the pooling ablation."""
    return len(cells(params)) + len(unbalanced_cells(params))


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


class Results(generic.Results):
    """Tidy frames of the study; `grid` says what was computed, what came from the store, what failed.

    Everything that is said of faithfulness rests on `tested`, what is said of F1 on `comparable`. Corpora with few
    texts of a class are a study of their own (`unbalanced`), on which no claim rests.

    flips    one row per model, ranking, metric and text: `value` is the fraction of tokens removed at first flip
             (1 where it never comes, as in the paper) or, for the top token alone, 100 where it flips, else 0
    labels   one row per model and text: truth, prediction; `parameters`: |V|, width and numbers in the scaling
    picture  what two models make of one text (`measures.reading`); `words`: u of some (`measures.words`)
    pooling_flips, pooling_labels   those of Lin-TaSc by `pool`; unbalanced_…: of unbalanced corpora
    """

    @cached_property
    def idle(self) -> pd.DataFrame:
        """Models of the grid that learned nothing, one row each."""
        return idle(self.labels, [*self.model, "seed"])

    @property
    def learned(self) -> Results:
        """The same: which trainings may decide depends on the number (`tested`, `comparable`)."""
        return self

    @cached_property
    def tested(self) -> pd.DataFrame:
        """`flips` without the trainings in which a model of some variant learned nothing: the others have no
        partner there."""
        why = f"In every cell a model learned nothing ({RULE}), so there is nothing to explain."
        return required(without(self.flips, self.idle[[*CELL, "seed"]]), why)

    @cached_property
    def whole(self) -> pd.DataFrame:
        """`tested`, of the encoders that can be averaged over cells (`balanced`)."""
        why = "No encoder has models that learned something in every cell: there is no mean over cells."
        return required(balanced(self.tested), why)

    @property
    def with_bert(self) -> pd.DataFrame:
        """`tested`, for claims about BERT: not about a frozen one, nor on few trainings."""
        trainings = self.tested.loc[self.tested["encoder"] == "bert", "seed"].nunique()
        if not trainings or self.tested["encoder"].nunique() < 2:
            raise NotTested
        if self.params.bert_frozen:
            raise NotTested(
                "The pretrained encoder of this run is frozen; the claim is about one that is fine-tuned."
            )
        if trainings < TRAININGS:
            raise NotTested(f"This run has {plural(trainings, 'training')}; a claim about BERT needs {TRAININGS}.")
        return self.tested

    @cached_property
    def comparable(self) -> pd.DataFrame:
        """`labels` without the trainings whose model without TaSc learned nothing: there is no F1 to lose."""
        idle = self.idle.loc[self.idle["variant"] == "none", [*CELL, "seed"]]
        why = "Without TaSc no model learned anything, so there is no performance to lose."
        return required(without(self.labels, idle), why)

    @property
    def by_corpus(self) -> dict[str, Results]:
        """The results of each corpus alone, those with few texts of a class at the end."""
        found = {}
        for part in ("", "unbalanced_"):
            flips, labels = self.frames[f"{part}flips"], self.frames[f"{part}labels"]
            for name in labels["dataset"].unique():
                found[name] = self.replace(
                    flips=flips[flips["dataset"] == name], labels=labels[labels["dataset"] == name]
                )
        return found


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already."""
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="TaSc")
    measured = {"flips": tidy(found.frame("flips"))} | {
        name: found.frame(name) for name in ("labels", "parameters")
    }
    frames = {name: parted(frame, "grid") for name, frame in measured.items()}
    for part in ("unbalanced", "pooling"):
        frames |= {f"{part}_{name}": parted(measured[name], part) for name in ("flips", "labels")}
    frames |= {"words": found.frame("words"), "picture": found.frame("reading")}
    return Results(params, found, frames, MODEL)


def boxed(results: Results) -> list[tuple[str, str, str]]:
    """Data set, encoder and attention of the cells of the paper's Figure 3, as the frames name them."""
    params = results.params
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
