"""What the study of word-level objectives works with: corpora, hyper-parameters, estimators, and the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.measures.information import ESTIMATORS, mutual_information
from attnlib.studies.beside import reference
from attnlib.studies.datasets import kin

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.studies.tying_mlm.grid import Params


def corpus_table(corpora: Iterable[Corpus]) -> pd.DataFrame:
    """Table 5: mean words and |V|, with the paper's numbers for the corpus of that name or its child."""
    printed = reference("tying_mlm", 5).pivot_table(index="dataset", columns="metric", values="value")
    rows = []
    for corpus in corpora:
        twin = kin(corpus.name)
        known = printed.loc[twin] if twin in printed.index else {"avg_words": np.nan, "vocabulary": np.nan}
        found = corpus.stats().set_index("split")
        row = {"dataset": corpus.name, "train / dev / test": " / ".join(f"{n:,}" for n in found["texts"])}
        row |= {"mean words": found["mean_words"]["train"], "|V|": len(corpus.vocabulary)}
        row["paper's corpus"] = twin if twin in printed.index else "–"
        rows.append(row | {"paper: mean words": known["avg_words"], "paper: |V|": known["vocabulary"]})
    return pd.DataFrame(rows).astype({"paper: |V|": "Int64"})


def hyperparameter_table(params: Params) -> pd.DataFrame:
    """Table 4 and what sections 3 and 4 add: the paper's values and those of this run."""
    model = {v: params.model(params.corpora[0], v, "additive") for v in ("base", "mlm")}
    train = params.training
    decays = sorted({train.weight_decay, *train.weight_decays.values()}, reverse=True)
    rows = [
        ("width of word vectors", "300", _listed([model["base"].embedding_size])),
        ("width of the LSTM, each direction", "150", _listed([model["base"].hidden_size // 2])),
        ("learning rate", "0.001", _listed([train.learning_rate])),
        ("gradients clipped at norm", "5", _listed([train.clip_norm])),
        ("batch", "32", _listed([train.batch_size])),
        ("weight decay", "1e-05", f"{decays[0]:g}" + ("; attention 0" if 0.0 in decays else "")),
        ("share of masked words", "0.15", _listed([model["mlm"].mlm_probability])),
        ("weights η of MLM", "0.1, 0.3, 1, 3, 5", _listed(params.etas)),
        ("weights δ of tying", "10, 20, 30 (section 3: also 1)", _listed(params.deltas)),
        ("η, δ of the other tables", "the best", _chosen(params)),
        ("epochs", "–", f"at most {params.epochs}"),
        ("runs", "5", _listed([len(params.seeds)])),
        ("words, clusters of mutual information", "1000, 1000", _listed([params.mi_words, params.mi_clusters])),
        ("batch of k-means", "100", _listed([params.mi_batch])),
        (
            "occurrences at most",
            "1,000,000",
            "all" if params.mi_occurrences is None else f"{params.mi_occurrences:,}",
        ),
    ]
    return pd.DataFrame(rows, columns=["parameter", "paper", "this run"])


def _listed(values: Iterable[float | None]) -> str:
    return ", ".join("none" if value is None else f"{value:g}" for value in values) or "none"


def _chosen(params: Params) -> str:
    special = "".join(f", {name} {value:g}" for name, value in params.eta_of.items())
    return f"η {params.eta:g}{special}; δ {params.delta:g}"


def estimator_table(k: int, n: int, *, seed: int = 0) -> pd.DataFrame:
    """What each estimator makes of `n` samples of variables whose mutual information is known, in nats.

    Independent labels share nothing; equal labels their entropy, ln k; a Gaussian pair with correlation 0.9, cut
    into k equally likely bins, at most -ln(1 - 0.81) / 2.
    """
    rng = np.random.default_rng(seed)
    x, noise = rng.standard_normal((2, n))
    cut = [np.clip((stats.ranks(-v) - 1) * k // n, 0, k - 1).astype(int) for v in (x, 0.9 * x + 0.19**0.5 * noise)]
    labels = rng.integers(0, k, (2, n))
    cases = {
        "independent": (labels[0], labels[1], 0.0),
        "a Gaussian pair, correlation 0.9": (*cut, -0.5 * np.log(1 - 0.81)),
        "equal": (labels[0], labels[0], float(np.log(k))),
    }
    rows = []
    for name, (first, second, truth) in cases.items():
        values = {e: mutual_information(first, second, estimator=e) for e in ESTIMATORS}
        rows.append({"variables": name, "labels a side": k, "samples": n, "known": truth} | values)
    return pd.DataFrame(rows)
