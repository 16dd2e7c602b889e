"""What the study of erasure (Serrano & Smith 2019) computes and measures, and the frames that come of it.

HAN attends to words within sentences and to sentences within the text, FLAN to all words at once; only the last
attention layer is tested, so what is removed is a sentence for HAN and a word for FLAN. Encoders: rnn (a
bidirectional GRU), conv (windows of 3 and 5) and noenc (none). Rankings and removals within a model are paired by
training and text; different models are independent trainings (`study.seed_of`).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd

from attnlib.data.selection import sampled
from attnlib.data.types import Corpus
from attnlib.erasure.flips import fraction_to_flip, single_removals
from attnlib.measures.perturbation import decisions
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies.erasure.params import ARCHITECTURES, Params
from attnlib.studies.results import Results
from attnlib.studies.study import replicate
from attnlib.training.fitted import Fitted

MODEL = ["dataset", "encoder"]
"""The columns that tell cells apart: `encoder` is han_rnn, flan_noenc and so on."""
RANKINGS = ("random", "alpha", "grad_alpha", "alpha_grad")
"""Section 5.2, in the order of the paper's legends."""
TOPS = RANKINGS[1:]
"""Rankings whose first item is tested alone (the paper's Figures 9, 12 and 13)."""


def erasures(fitted: Fitted, corpus: Corpus, *, texts: int | None = None) -> dict[str, pd.DataFrame]:
    """All erasure tests at the last attention layer, and the labels behind the accuracy.

    labels     one row per test text (`decisions`)
    single     one row per ranking, `sampling` of r ("any other" as the paper writes; "authors", as its code draws,
               for attention alone) and text (`single_removals`)
    fractions  one row per ranking and text (`fraction_to_flip`)

    Rankings by gradient are those of the predicted class's probability (section 5.2).
    """
    some, single, fractions = sampled(corpus.test, texts), [], []
    for ranking in RANKINGS:
        options: dict[str, Any] = {"seed": fitted.seed}
        options |= {"target": "probability"} if "grad" in ranking else {}
        found = fraction_to_flip(fitted, some, ranking, level="attention", **options)
        kept = ["id", "length", "removed", "fraction", "mass_removed", "status"]
        fractions.append(found[kept].assign(importance=ranking))
        draws = {"any other": ()} if ranking in TOPS else {}
        for sampling, quirks in (draws | ({"authors": ("serrano_r",)} if ranking == "alpha" else {})).items():
            found = single_removals(fitted, some, ranking, quirks=quirks, **options)
            single.append(found.drop(columns="prediction").assign(importance=ranking, sampling=sampling))
    return {
        "labels": decisions(fitted, corpus.test),
        "single": pd.concat(single, ignore_index=True).rename(columns={"id": "instance"}),
        "fractions": pd.concat(fractions, ignore_index=True).rename(columns={"id": "instance"}),
    }


def fit(params: Params, dataset: str, architecture: str, context: str, k: int) -> FitSpec:
    """One model of the grid."""
    model, encoder = params.model(dataset, architecture, context), f"{architecture}_{context}"
    spec = {"data": params.data(dataset), "model": model, "train": params.training(dataset, context)}
    return replicate(k, dataset, encoder, model.attention, **spec, label={"dataset": dataset, "encoder": encoder})


def grid(params: Params) -> list[MeasureSpec]:
    """Every run: each model erased from."""
    models = product(params.corpora, ARCHITECTURES, params.encoders, params.seeds)
    return [MeasureSpec.of(erasures, fit(params, *model), texts=params.texts) for model in models]


def results(params: Params, **options: Any) -> Results:
    """Compute what the store does not hold, and gather labels, single and fractions, as `erasures` has them."""
    found = run_grid(grid(params), title="erasure", **options)
    frames = {name: found.frame(name) for name in ("labels", "single", "fractions")}
    return Results(params, found, frames, MODEL, judged=("single", "fractions"))


def compared(single: pd.DataFrame, sampling: str = "any other", importance: str | None = None) -> pd.DataFrame:
    """Single removals where there is another item to remove, r drawn as named; by one ranking, or by all."""
    kept = single[(single["status"] == "compared") & (single["sampling"] == sampling)]
    kept = kept if importance is None else kept[kept["importance"] == importance]
    return kept.astype({"flip_top": bool, "flip_other": bool})


def several(fractions: pd.DataFrame) -> pd.DataFrame:
    """First flips of the texts with more than one item; `value` is the fraction, NaN where none flips."""
    kept = fractions[fractions["length"] > 1]
    return kept.assign(value=kept["fraction"].to_numpy(float))


def common_set(fractions: pd.DataFrame) -> pd.DataFrame:
    """The texts (with more than one item) that every ranking flips, so that boxes compare the same texts."""
    kept = several(fractions)
    never = kept["value"].isna().groupby([kept[key] for key in (*MODEL, "seed", "instance")], sort=False)
    return kept[~never.transform("any")]
