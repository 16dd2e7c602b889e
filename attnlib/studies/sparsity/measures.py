"""What is measured on each model of the study of sparse attention (Meister et al. 2021).

A module of its own, small: what it imports is part of the name of every stored result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.data.selection import sampled
from attnlib.measures.adversary import compare
from attnlib.measures.agreement import attention_agreement, facets, hidden_dispersion

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted


def readings(
    fitted: Fitted, corpus: Corpus, *, texts: int | None = None, hidden_texts: int | None = None
) -> dict[str, pd.DataFrame]:
    """Everything a trained model is asked, on a sample of `texts` test texts (None: all).

    agreement  Kendall tau-b of attention with each importance, and its entropy, one row per text and kind
    spread     support size and entropy of attention, one row per text
    hidden     entropy of the influence of inputs on each hidden state, for `hidden_texts` texts
    labels     truth, prediction, and value 1 where they agree, one row per test text: always all of them
    """
    agreement, spread = attention_agreement(fitted, sampled(corpus.test, texts))
    hidden = hidden_dispersion(fitted, sampled(corpus.test, hidden_texts))
    return {"agreement": agreement, "spread": spread, "hidden": hidden, "labels": _labels(fitted, corpus)}


def appendix(fitted: Fitted, corpus: Corpus, *, texts: int | None = None) -> pd.DataFrame:
    """Influence on the norm of a hidden state next to influence on its components (Appendix A), and that norm."""
    asked = sampled(corpus.test, texts)
    return facets(fitted, asked).assign(norm=_norms(fitted, asked))


def duel(base: Fitted, other: Fitted, corpus: Corpus) -> pd.DataFrame:
    """An adversary next to its base on every test text: jsd of attentions, tvd of outputs, which is right."""
    return compare(base, other, corpus.test).drop(columns="instance").rename(columns={"id": "instance"})


def _labels(fitted: Fitted, corpus: Corpus) -> pd.DataFrame:
    labels = fitted.predict(corpus.test).labels
    truth = [fitted.classes[example.label] for example in corpus.test]
    value = [float(a == b) for a, b in zip(labels, truth, strict=True)]
    instances = [example.id for example in corpus.test]
    return pd.DataFrame({"instance": instances, "truth": truth, "prediction": labels, "value": value})


def _norms(fitted: Fitted, examples: list) -> np.ndarray:
    """Length of every hidden state that attention sees, text by text."""
    traces = [fitted.trace([example]) for example in examples]
    return np.concatenate([trace.hidden[trace.mask].norm(dim=-1).double().cpu().numpy() for trace in traces])
