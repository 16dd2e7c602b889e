"""What the study of word-level objectives measures on a trained model: functions that workers import by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.measures.adversary import compare, train_adversary
from attnlib.measures.perturbation import attention_swaps, token_table
from attnlib.measures.retention import SAMPLES, retention
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


def knowledge(
    fitted: Fitted,
    corpus: Corpus,
    *,
    words: int,
    k: int,
    most: int | None,
    split: str = "train",
    inputs: str = "words",
    estimator: str = "plugin",
    batch_size: int = 4096,
    seed: int = 0,
) -> pd.DataFrame:
    """Mutual information of words and hidden states for both samples of words (Table 2).

    One row per sample: `retention` without its interval over occurrences, since another training would change the
    value more than other occurrences do.
    """
    options = {"words": words, "k": k, "most": most, "split": split, "inputs": inputs, "estimator": estimator}
    rows = [
        retention(fitted, corpus, sample=name, batch_size=batch_size, resamples=1, seed=seed, **options)
        for name in SAMPLES
    ]
    return pd.concat(rows, ignore_index=True).drop(columns=["low", "high"])


def imitate(
    corpus: Corpus,
    model: ModelConfig,
    train: TrainConfig,
    seed: int,
    *,
    warm_start: Fitted,
    lam: float,
    texts: int | None = None,
) -> Fitted:
    """An adversary of `warm_start` by eq. 6, a fresh model trained on `texts` training texts (None: all).

    The name is the scheduler's: nothing is copied from the base but what it says.
    """
    some = corpus.sample(texts, seed=seed, splits=("train",))
    # the vocabulary stays that of the whole corpus: the adversary reads what its base reads
    some = replace(some, known=corpus.vocabulary)
    return train_adversary(
        warm_start, some, lam, divergence="jsd", train_config=train, seed=seed, model_config=model
    )


def distances(base: Fitted, adversary: Fitted, corpus: Corpus) -> pd.DataFrame:
    """One row per test text: TVD of the outputs and JSD of the attentions of base and adversary (Figure 1)."""
    found = compare(base, adversary, corpus.test).rename(columns={"label": "truth"})
    return found[["instance", "length", "truth", "prediction_base", "prediction_adversary", "tvd", "jsd"]]
