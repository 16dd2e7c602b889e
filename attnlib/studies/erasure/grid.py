"""Is attention interpretable? (Serrano & Smith 2019): parameters, grid, measures.

    params = Params(corpora=["bbc"], vectors="glove")
    found = results(params)         # tidy frames, from the store where it has them
    found.right, found.single, found.fractions, found.data

HAN attends to words within sentences and to sentences within the text, FLAN to all words at once; only the last
attention layer is tested, so what is removed is a sentence for HAN and a word for FLAN. Encoders: rnn (a
bidirectional GRU), conv (windows of 3 and 5) and noenc (none). Every model is measured once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.preprocess import sentence_starts
from attnlib.data.selection import sampled
from attnlib.erasure.flips import fraction_to_flip, single_removals
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies.erasure.params import ENCODERS, SETTINGS, Params  # noqa: F401  part of the study

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

PAPER = "Serrano & Smith 2019"
RANKINGS = ("random", "alpha", "grad_alpha", "alpha_grad")
"""Section 5.2, in the order of the paper's legends."""
TOPS = RANKINGS[1:]
"""Rankings whose first item is tested alone (Figures 9, 12 and 13)."""
SAMPLING = {"any other": (), "authors": ("serrano_r",)}
"""How r is drawn: as the paper writes, or as its code does."""
ALONE = "No text has more than one item, so there is nothing to compare."
UNSHARED = "No decision is flipped by all four rankings, so there is nothing to compare."

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


def fit(params: Params, dataset: str, architecture: str, context: str, seed: int) -> FitSpec:
    """One model of the paper's grid."""
    return FitSpec(
        data=params.data(dataset),
        model=params.model(dataset, architecture, context),
        train=params.training(dataset, context),
        seed=seed,
        label={"dataset": dataset, "encoder": f"{architecture}_{context}"},
    )


def beyond_fit(params: Params, options: Mapping[str, Any], base: bool, seed: int) -> FitSpec:
    """A model of the other papers' grids, trained as their studies train it, so that the store trains it once."""
    hidden = params.embedding_size if base else params.beyond_hidden
    train = TrainConfig(
        epochs=params.beyond_epochs,
        patience=2,
        monitor="loss",
        amsgrad=True,
        train_embeddings=params.vectors == "none",
    )
    model = ModelConfig(vectors=params.vectors, embedding_size=params.embedding_size, hidden_size=hidden, **options)
    return FitSpec(data=params.data(params.beyond), model=model, train=train, seed=seed)


def grid(params: Params | Mapping[str, Any]) -> list[MeasureSpec]:
    """Every run: each data set described, each model of the paper erased from, and those beyond it."""
    params = params if isinstance(params, Params) else Params(**params)
    runs = [MeasureSpec.of(describe, data=params.data(name), label={"dataset": name}) for name in params.corpora]
    for dataset, architectures in params.trained.items():
        for architecture in architectures:
            for context in params.encoders:
                for seed in params.seeds:
                    one = fit(params, dataset, architecture, context, seed)
                    runs.append(MeasureSpec.of(erasures, one, texts=params.texts, label={"part": "paper"}))
    if params.beyond is None:
        return runs
    variants = {name: (options, False) for name, options in (PROJECTIONS | SCALINGS).items()}
    variants |= {name: (options, True) for name, options in REGULARISERS.items()}
    for name, (options, base) in variants.items():
        for seed in params.beyond_seeds:
            one = beyond_fit(params, options, base, seed)
            label = {"part": "beyond", "variant": name, "dataset": params.beyond}
            runs.append(MeasureSpec.of(erasures, one, texts=params.texts, reproject=name in SPARSE, label=label))
    return runs


def erasures(
    fitted: Fitted, corpus: Corpus, *, texts: int | None = None, reproject: bool = False
) -> dict[str, pd.DataFrame]:
    """All erasure tests at the last attention layer, and the labels behind the accuracy.

    right      one row per test text: instance, value (1 where the prediction is right)
    single     one row per ranking, way of drawing r, and text, as `single_removals` gives them
    fractions  one row per ranking and text, as `fraction_to_flip` gives them

    Rankings by gradient are those of the predicted class's probability (section 5.2). Chance is drawn with the
    model's own seed. reproject: a sparse projection is applied again to what is left.
    """
    some = sampled(corpus.test, texts)
    chosen = {"seed": fitted.seed, "reproject": reproject}
    targets = {name: {"target": "probability"} for name in ("grad_alpha", "alpha_grad")}
    single, fractions = [], []
    for ranking in RANKINGS:
        options = chosen | targets.get(ranking, {})
        found = fraction_to_flip(fitted, some, ranking, level="attention", **options)
        kept = ["id", "length", "removed", "fraction", "mass_removed", "status"]
        fractions.append(found[kept].assign(importance=ranking))
        for sampling, quirks in SAMPLING.items() if ranking in TOPS else ():
            found = single_removals(fitted, some, ranking, quirks=quirks, **options)
            single.append(found.drop(columns="prediction").assign(importance=ranking, sampling=sampling))
    predicted = fitted.predict(corpus.test).labels
    truth = [fitted.classes[example.label] for example in corpus.test]
    right = [float(a == b) for a, b in zip(predicted, truth, strict=True)]
    return {
        "right": pd.DataFrame({"instance": [e.id for e in corpus.test], "value": right}),
        "single": pd.concat(single, ignore_index=True).rename(columns={"id": "instance"}),
        "fractions": pd.concat(fractions, ignore_index=True).rename(columns={"id": "instance"}),
    }


def describe(corpus: Corpus) -> pd.DataFrame:
    """Table 1, one row per fact: metric, value, std. Lengths are those of all splits, as they are read.

    commonest_class: its share of the test texts, the accuracy of a model that learned nothing.
    """
    examples = [example for _, example in corpus.items()]
    words = np.array([len(example) for example in examples])
    starts = [example.sentences or sentence_starts(example.tokens) for example in examples]
    sentences = np.array([len(found) for found in starts])
    labels = [example.label for example in corpus.test]
    rows = [
        ("avg_words", words.mean(), words.std()),
        ("avg_sentences", sentences.mean(), sentences.std()),
        ("train_and_dev", len(corpus.train) + len(corpus.dev), np.nan),
        ("test", len(corpus.test), np.nan),
        ("classes", len(corpus.classes), np.nan),
        ("commonest_class", np.bincount(labels).max() / len(labels), np.nan),
    ]
    return pd.DataFrame(rows, columns=["metric", "value", "std"]).astype({"value": float})


@dataclass
class Results:
    """Tidy frames of the study; `grid` says what was computed, what came from the store, what failed.

    data       dataset, metric, value, std
    right, single, fractions     of the paper's models: dataset, encoder (han_rnn, …), seed, and as `erasures` says
    beyond_*   of the models of the other papers: `variant` names them; empty frames where they were left out
    """

    data: pd.DataFrame
    right: pd.DataFrame
    single: pd.DataFrame
    fractions: pd.DataFrame
    beyond_right: pd.DataFrame
    beyond_single: pd.DataFrame
    beyond_fractions: pd.DataFrame
    grid: GridResult


def results(params: Params, executor: Any = None) -> Results:
    """Compute what the store does not hold, and gather."""
    found = run_grid(grid(params), executor=executor, title="erasure")
    parts = {}
    for name in ("right", "single", "fractions"):
        frame = found.frame(name)
        for part, key in (("paper", name), ("beyond", f"beyond_{name}")):
            parts[key] = frame[frame["part"] == part].drop(columns="part").reset_index(drop=True)
    return Results(data=found.frame("describe"), grid=found, **parts)


def compared(single: pd.DataFrame, sampling: str = "any other") -> pd.DataFrame:
    """Single removals where there is another item to remove, r drawn in the way named."""
    return single[(single["status"] == "compared") & (single["sampling"] == sampling)]


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
