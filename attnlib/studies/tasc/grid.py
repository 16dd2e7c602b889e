"""Task-scaled attention (Chrysostomou & Aletras 2021): parameters, grid, measures.

    params = Params(corpora=["rotten_tomatoes"], encoders=["lstm", "mlp"])
    found = results(params)         # tidy frames, from the store where it has them
    found.flips, found.labels, found.words, found.parameters

Every model of the grid is measured once: the first flip of every test text along every ranking tells both the
share of decisions that the top token alone flips (it came at one token) and the fraction of tokens to a flip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.selection import sampled
from attnlib.erasure.flips import fraction_to_flip
from attnlib.importance.scores import importance
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec
from attnlib.studies.tasc.params import Params

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

PAPER = "Chrysostomou & Aletras 2021"
RANKINGS = ("alpha", "grad_alpha", "alpha_grad")
"""The paper's attention rankings (section 5.1): weights, their gradients, the product."""
BASELINES = ("omission", "input_x_grad", "integrated_gradients")
"""What it compares them with (section 7)."""
POOLS = ("sum", "mean", "max", "direct")
"""Ways from a scaled embedding to one number (footnote 4): sum is the paper's, direct is u itself."""
SIZES = {
    "sst": (6_920, 20), "adr": (14_452, 22), "imdb": (17_212, 185), "agnews": (60_895, 34),
    "anemia": (4_654, 2_180),
}  # fmt: skip
"""Training texts and mean words of the paper's corpora (Table 1), for estimates of cost."""
FRACTION, TOP1 = "flip_fraction", "flip_percent_top1"


def _model(
    params: Params, corpus: str, encoder: str, attention: str, variant: str, pool: str = "sum"
) -> ModelConfig:
    options: dict[str, Any] = {"scaling": variant}
    if attention == "dot":
        options["dot_init"] = "kaiming"  # the authors' query starts uniform in ±1/√N, in every profile
    if variant != "none":
        options["scaling_pool"] = pool
    if params.authors:
        options |= {"boundaries": encoder != "bert", "unattended": () if encoder == "bert" else (".",)}
    if encoder == "bert":
        return ModelConfig(encoder=encoder, attention=attention, pretrained=params.pretrained, **options)
    vectors = params.vector_files.get(corpus, params.vectors)
    sizes = {"embedding_size": params.embedding_size, "hidden_size": params.hidden_size}
    return ModelConfig(encoder=encoder, attention=attention, vectors=vectors, **sizes, **options)


def _training(params: Params, corpus: str, encoder: str, variant: str) -> TrainConfig:
    """How a model is trained; embeddings stay as they are, and the epoch with the lowest dev loss is kept."""
    options: dict[str, Any] = {"monitor": "loss", "amsgrad": True, "train_embeddings": False}
    options |= {"epochs": params.epochs, "learning_rate": params.learning_rate, "patience": 2}
    if params.authors:
        options |= {"patience": None, "clip_norm": None, "weight_decay": 1e-4, "weight_decays": {}}
        if corpus == "adr" and variant == "none" and encoder != "bert":
            options["epochs"] = 35 if encoder == "mlp" else 30
    if encoder == "bert":
        rate = params.bert_learning_rate
        options |= {"epochs": params.bert_epochs, "learning_rate": 10 * rate}
        if params.bert_frozen:
            options["freeze"] = ("embedding", "encoder")
        else:
            options["learning_rates"] = {"encoder": rate}
            options["batch_size"] = 8 if params.authors else 16
    return TrainConfig(**options)


def fit(
    params: Params, corpus: str, encoder: str, attention: str, variant: str, seed: int, pool: str = "sum"
) -> FitSpec:
    """One model of the grid."""
    return FitSpec(
        data=params.data(corpus, params.bert_limit if encoder == "bert" else None),
        model=_model(params, corpus, encoder, attention, variant, pool),
        train=_training(params, corpus, encoder, variant),
        seed=seed,
    )


def cells(params: Params) -> list[tuple[str, str, str, str, int]]:
    """Corpus, encoder, attention, variant and seed of every model of the grid."""
    found = [
        (corpus, encoder, attention, variant, seed)
        for corpus in params.corpora
        for encoder in params.encoders
        for attention in params.attentions
        for variant in params.variants
        for seed in params.seeds
    ]
    return found + [
        (corpus, "bert", attention, variant, seed)
        for corpus in params.corpora
        for attention in params.bert_attentions
        for variant in params.bert_variants
        for seed in params.bert_seeds
    ]


def first_cell(params: Params) -> tuple[str, str, str]:
    """Corpus, encoder and attention of the model that is shown where none is named."""
    return params.corpora[0], params.encoders[0], params.attentions[-1]


def grid(params: Params | Mapping[str, Any]) -> list[MeasureSpec]:
    """Every run: the models of the grid measured, the words of some of them, and the pooling ablation."""
    params = params if isinstance(params, Params) else Params(**params)
    runs = [_measured(params, *cell) for cell in cells(params)]
    first = params.corpora[0]
    for seed in params.seeds:
        for cell in params.shown_cells.get("words") or [first_cell(params)]:
            runs.append(MeasureSpec.of(words, fit(params, *cell, "lin", seed), label={"part": "words"}))
        for pool in POOLS:
            runs.append(_measured(params, first, *params.pooled, "lin", seed, pool=pool, part="pooling"))
    return runs


def _measured(params: Params, corpus, encoder, attention, variant, seed, *, pool="sum", part="grid") -> MeasureSpec:
    bert = encoder == "bert"
    compared = variant in ("none", "lin") and part == "grid" and (params.bert_baselines or not bert)
    return MeasureSpec.of(
        faithfulness,
        fit(params, corpus, encoder, attention, variant, seed, pool),
        label={"part": part, "pool": pool},
        rankings=[*RANKINGS, *(BASELINES if compared else ())],
        texts=params.bert_texts if bert else params.texts,
        operator=params.operator,
        ig_steps=params.ig_steps,
        quirks=list(params.quirks),
    )


def faithfulness(
    fitted: Fitted,
    corpus: Corpus,
    *,
    rankings: Sequence[str],
    texts: int | None = None,
    operator: str = "pad",
    ig_steps: int = 50,
    quirks: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """The erasure tests at the input level, the labels behind F1, and the size of the scaling.

    Word omission erases a word by the same `operator` as the test does.

    flips       one row per ranking and text: importance, instance, length, removed, fraction, status, as
                `fraction_to_flip` gives them (fraction NaN: no number of removals flips the decision)
    labels      one row per test text: instance, truth, prediction
    parameters  |V|, embedding size and numbers in the scaling
    """
    some = sampled(corpus.test, texts)
    frames = []
    for ranking in rankings:
        steps = {"steps": ig_steps} if ranking == "integrated_gradients" and "tasc_ig" not in quirks else {}
        by = ranking
        if ranking == "omission" and operator != "pad":
            by = importance(fitted, some, ranking, operator=operator)
        found = fraction_to_flip(fitted, some, by, level="input", operator=operator, quirks=quirks, **steps)
        found = found.rename(columns={"id": "instance"})
        frames.append(found[["instance", "length", "removed", "fraction", "status"]].assign(importance=ranking))
    truth = [fitted.classes[example.label] for example in corpus.test]
    labels = {
        "instance": [e.id for e in corpus.test],
        "truth": truth,
        "prediction": fitted.predict(corpus.test).labels,
    }
    embedding = fitted.model.embedding
    sizes = {"vocabulary": embedding.num_embeddings, "embedding": embedding.embedding_dim}
    sizes["scaling"] = fitted.parameters_count()["scaling"]
    return {
        "flips": pd.concat(frames, ignore_index=True),
        "labels": pd.DataFrame(labels),
        "parameters": pd.DataFrame([sizes]),
    }


def words(fitted: Fitted, corpus: Corpus) -> pd.DataFrame:
    """u of Lin-TaSc (Figure 4), one row per word of the vocabulary: word, u, s, and its count in train."""
    scaling, vectors = fitted.model.scaling, fitted.model.embedding.weight
    known = fitted.vectoriser.vocabulary
    u = scaling.table.weight.detach().squeeze(-1).double().cpu().numpy()
    s = scaling.word_scores(vectors).double().cpu().numpy()
    occurring = Counter(token for example in corpus.train for token in example.tokens)
    frame = pd.DataFrame({"word": known.words, "u": u[: len(known)], "s": s[: len(known)]})
    frame["count"] = [occurring[word] for word in known.words]
    return frame[frame["count"] > 0].reset_index(drop=True)


@dataclass
class Results:
    """Tidy frames of the study; `grid` says what was computed, what came from the store, what failed.

    flips    one row per model, ranking, metric and text: `value` is the fraction of tokens removed at first flip
             (1 where it never comes, as in the paper) or, for the top token alone, 100 where it flips, else 0
    """

    flips: pd.DataFrame
    labels: pd.DataFrame
    parameters: pd.DataFrame
    words: pd.DataFrame
    pooling: pd.DataFrame
    pooling_labels: pd.DataFrame
    grid: GridResult


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already."""
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="TaSc")
    flips, labels = tidy(found.frame("flips")), found.frame("labels")
    return Results(
        flips=flips[flips["part"] == "grid"].drop(columns=["part", "pool"]),
        labels=labels[labels["part"] == "grid"].drop(columns=["part", "pool"]),
        parameters=found.frame("parameters").query("part == 'grid'").drop(columns=["part", "pool"]),
        words=found.frame("words"),
        pooling=flips[flips["part"] == "pooling"],
        pooling_labels=labels[labels["part"] == "pooling"],
        grid=found,
    )


def pair(params: Params, results: Results) -> list[Fitted]:
    """Two models that differ in scaling alone, none and lin: `first_cell`, the first seed."""
    runs = [fit(params, *first_cell(params), variant, params.seeds[0]) for variant in ("none", "lin")]
    return [results.grid.fitted(run) for run in runs]


def boxed(params: Params, results: Results) -> list[tuple[str, str, str]]:
    """Data set, encoder and attention of the cells of Figure 3, as the frames name them."""
    encoders = [*params.encoders, *(["bert"] if params.bert_variants else [])]
    attention = params.attentions[0]
    every = [
        (params.corpora[0], e, attention) for e in encoders if e != "bert" or attention in params.bert_attentions
    ]
    return [
        (results.grid.corpora[params.data(c)].name, e, a) for c, e, a in params.shown_cells.get("boxes") or every
    ]


def tidy(flips: pd.DataFrame) -> pd.DataFrame:
    """Measured flips as one row per metric: the fraction (never = 1) and 100 or 0 for the top token alone."""
    fraction = np.where(flips["status"] == "never", 1.0, flips["fraction"].to_numpy(float))
    top = 100.0 * (flips["removed"].fillna(0).to_numpy(int) == 1)
    kept = flips.drop(columns=["removed", "fraction"])
    return pd.concat(
        [kept.assign(metric=FRACTION, value=fraction), kept.assign(metric=TOP1, value=top)], ignore_index=True
    )
