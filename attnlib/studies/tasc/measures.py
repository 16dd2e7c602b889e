"""What is measured on trained models of the TaSc study; workers import these functions by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.data.selection import preferred, sampled
from attnlib.erasure.flips import fraction_to_flip
from attnlib.measures.perturbation import decisions
from attnlib.rankings.scores import importance

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted

SHORTEST, LONGEST = 7, 14
"""Tokens of a text that is easily read in a picture."""


def faithfulness(
    fitted: Fitted,
    corpus: Corpus,
    *,
    rankings: Sequence[str],
    baselines: Sequence[str] = (),
    texts: int | None = None,
    baseline_texts: int | None = None,
    operator: str = "pad",
    ig_steps: int = 50,
    quirks: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """The erasure tests at the input level, the labels behind F1, and the size of the scaling.

    rankings, texts            rankings of attention, and how many test texts they are tested on; None: all
    baselines, baseline_texts  other rankings, which are slower, on perhaps fewer of those texts
    operator                   what erasing a word means, for the test and for word omission alike

    Returns
    flips       one row per ranking and text: importance, instance, length, removed, fraction, status, as
                `fraction_to_flip` gives them (fraction NaN: no number of removals flips the decision)
    labels      one row per test text: instance, truth, prediction
    parameters  |V|, embedding size and numbers in the scaling
    """
    some = sampled(corpus.test, texts)
    fewer = some if baseline_texts is None else sampled(corpus.test, min(baseline_texts, len(some)))
    frames = []
    for ranking in (*rankings, *baselines):
        examples = fewer if ranking in baselines else some
        steps = {"steps": ig_steps} if ranking == "integrated_gradients" and "tasc_ig" not in quirks else {}
        by = ranking
        if ranking == "omission" and operator != "pad":
            by = importance(fitted, examples, ranking, operator=operator)
        found = fraction_to_flip(fitted, examples, by, level="input", operator=operator, quirks=quirks, **steps)
        found = found.rename(columns={"id": "instance"})
        frames.append(found[["instance", "length", "removed", "fraction", "status"]].assign(importance=ranking))
    embedding = fitted.model.embedding
    sizes = {"vocabulary": embedding.num_embeddings, "embedding": embedding.embedding_dim}
    sizes["scaling"] = fitted.parameters_count()["scaling"]
    return {
        "flips": pd.concat(frames, ignore_index=True),
        "labels": decisions(fitted, corpus.test).drop(columns="value"),
        "parameters": pd.DataFrame([sizes]),
    }


def words(fitted: Fitted, corpus: Corpus) -> pd.DataFrame:
    """u of Lin-TaSc (the paper's Figure 4), one row per word that occurs in training: word, u, s, count there."""
    scaling, vectors = fitted.model.scaling, fitted.model.embedding.weight
    known = fitted.vectoriser.vocabulary
    u = scaling.table.weight.detach().squeeze(-1).double().cpu().numpy()
    s = scaling.word_scores(vectors).double().cpu().numpy()
    occurring = Counter(token for example in corpus.train for token in example.tokens)
    frame = pd.DataFrame({"word": known.words, "u": u[: len(known)], "s": s[: len(known)]})
    frame["count"] = [occurring[word] for word in known.words]
    return frame[frame["count"] > 0].reset_index(drop=True)


def reading(plain: Fitted, scaled: Fitted, corpus: Corpus) -> pd.DataFrame:
    r"""What a model without scaling and one with make of a test text (`readable`), one row per token.

    For each side (without, with): attention :math:`\alpha_i`, scale :math:`s_i`, their product, and what the token
    adds to the margin of the class that the scaled model predicts (`predicted`),
    :math:`\alpha_i s_i (v_{i,\hat y} - \bar v_{i,\text{others}})`.
    """
    example = readable(plain, scaled, corpus.test)
    traces = [fitted.trace([example]) for fitted in (plain, scaled)]
    predicted = int(traces[1].prediction[0])
    rows = {"token": scaled.tokens(example), "predicted": scaled.classes[predicted]}
    for name, trace in zip(("without", "with"), traces, strict=True):
        mask = trace.mask[0]
        alpha, weights = (part[0][mask].double().cpu().numpy() for part in (trace.alpha, trace.weights))
        logits = trace.token_logits[0][mask].detach().double().cpu().numpy()
        margins = logits[:, predicted] - np.delete(logits, predicted, 1).mean(1)
        scale = np.ones(len(alpha)) if trace.scale is None else trace.scale[0][mask].double().cpu().numpy()
        rows |= {f"attention, {name}": alpha, f"scale, {name}": scale}
        rows |= {f"product, {name}": weights, f"adds, {name}": weights * margins}
    return pd.DataFrame(rows)


def readable(plain: Fitted, scaled: Fitted, examples: Sequence[Example]) -> Example:
    """A text to show: short, presentable, classified correctly by both models, of median confidence."""
    shown = preferred(examples)
    fitting = [e for e in shown if SHORTEST <= len(e) <= LONGEST] or shown
    first, second = plain.predict(fitting), scaled.predict(fitting)
    correct = [
        i for i, e in enumerate(fitting) if first.labels[i] == second.labels[i] == plain.classes[e.label]
    ] or list(range(len(fitting)))
    order = sorted(correct, key=lambda i: (-second.probabilities[i].max(), i))
    return fitting[order[len(order) // 2]]
