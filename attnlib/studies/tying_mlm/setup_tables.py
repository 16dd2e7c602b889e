"""What the study of word-level objectives works with: hyper-parameters next to the paper's, and estimators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.measures.information import ESTIMATORS, mutual_information

if TYPE_CHECKING:
    from attnlib.studies.tying_mlm.params import Params


def hyperparameter_table(params: Params) -> pd.DataFrame:
    """Table 4 and what sections 3 and 4 add: the paper's values and those of this run."""
    model = {v: params.model(params.corpora[0], v, "additive") for v in ("base", "mlm")}
    train, special = params.training, "".join(f", {name} {value:g}" for name, value in params.eta_of.items())
    decays = sorted({train.weight_decay, *train.weight_decays.values()}, reverse=True)
    most = "all" if params.mi_occurrences is None else f"{params.mi_occurrences:,}"
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
        ("η, δ of the other tables", "the best", f"η {params.eta:g}{special}; δ {params.delta:g}"),
        ("epochs", "–", f"at most {params.epochs}"),
        ("runs", "5", _listed([len(params.seeds)])),
        ("words, clusters of mutual information", "1000, 1000", _listed([params.mi_words, params.mi_clusters])),
        ("batch of k-means", "100", _listed([params.mi_batch])),
        ("occurrences at most", "1,000,000", most),
    ]
    return pd.DataFrame(rows, columns=["parameter", "paper", "this run"])


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
        rows.append({"variables": name, "labels per side": k, "samples": n, "known": truth} | values)
    return pd.DataFrame(rows)


def _listed(values: Iterable[float | None]) -> str:
    return ", ".join("none" if value is None else f"{value:g}" for value in values) or "none"
