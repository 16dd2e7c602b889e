"""What the study of word-level objectives measures on a trained model: functions that workers import by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from attnlib.measures.adversary import compare
from attnlib.measures.perturbation import attention_swaps, token_table
from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted


def behaviour(fitted: Fitted, corpus: Corpus, *, permutations: int = 10, seed: int = 0) -> dict[str, pd.DataFrame]:
    """How the model answers the test texts, with its own attention and with others (Tables 1, 3 and 6, App. C).

    swaps  one row per text, swap (trained | uniform | permuted) and draw: instance, truth, prediction, change
    texts  one row per text: `token_table`
    """
    if len(fitted.classes) != 2:
        raise DataError(
            f"The study measures F1 of the positive class; {corpus.name!r} has {len(fitted.classes)} classes. "
            "Choose a corpus of two."
        )
    swaps = attention_swaps(fitted, corpus.test, permutations=permutations, seed=seed)
    swaps = swaps.rename(columns={"label": "truth"})[["instance", "swap", "draw", "truth", "prediction", "change"]]
    return {"swaps": swaps, "texts": token_table(fitted, corpus.test)}


def distances(base: Fitted, adversary: Fitted, corpus: Corpus) -> pd.DataFrame:
    """One row per test text: TVD of the outputs and JSD of the attentions of base and adversary (Figure 1)."""
    found = compare(base, adversary, corpus.test).rename(columns={"label": "truth"})
    return found[["instance", "length", "truth", "prediction_base", "prediction_adversary", "tvd", "jsd"]]
