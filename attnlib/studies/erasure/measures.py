"""What is measured on each model of the study of erasure (Serrano & Smith 2019), and on each corpus.

A module of its own, small: what it imports is part of the key of every stored result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from attnlib.data.selection import sampled
from attnlib.erasure.flips import fraction_to_flip, single_removals
from attnlib.measures.perturbation import decisions

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

RANKINGS = ("random", "alpha", "grad_alpha", "alpha_grad")
"""Section 5.2, in the order of the paper's legends."""
TOPS = RANKINGS[1:]
"""Rankings whose first item is tested alone (the paper's Figures 9, 12 and 13)."""
SAMPLING = {"any other": (), "authors": ("serrano_r",)}
"""How r is drawn: as the paper writes, or as its code does."""


def erasures(
    fitted: Fitted, corpus: Corpus, *, texts: int | None = None, reproject: bool = False
) -> dict[str, pd.DataFrame]:
    """All erasure tests at the last attention layer, and the labels behind the accuracy.

    labels     one row per test text: instance, truth, prediction, value (1 where the two agree)
    single     one row per ranking, way of drawing r (attention's both, the others' the paper's alone), and text,
               as `single_removals` gives them
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
            if quirks and ranking != "alpha":  # the code's draws are compared with Table 2 alone
                continue
            found = single_removals(fitted, some, ranking, quirks=quirks, **options)
            single.append(found.drop(columns="prediction").assign(importance=ranking, sampling=sampling))
    return {
        "labels": decisions(fitted, corpus.test),
        "single": pd.concat(single, ignore_index=True).rename(columns={"id": "instance"}),
        "fractions": pd.concat(fractions, ignore_index=True).rename(columns={"id": "instance"}),
    }
