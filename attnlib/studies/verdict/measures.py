"""Every test of the five papers on one trained model, and the test of the tests; workers import these by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attnlib.data.selection import sampled
from attnlib.data.types import Corpus, Example
from attnlib.erasure.flips import erasure_curves, fraction_to_flip
from attnlib.measures import diagnosticity
from attnlib.measures.adversary import search
from attnlib.measures.agreement import agreement, resolved
from attnlib.measures.faithfulness import comprehensiveness_of, sufficiency_of
from attnlib.measures.perturbation import attention_swaps, decisions, token_table
from attnlib.measures.rank_information import rank_information, ranked
from attnlib.rankings.scores import importance
from attnlib.training.fitted import Fitted
from attnlib.utils.device import measuring

READINGS = ("alpha", "alpha_grad")
"""Orders read off attention that the erasure tests follow: the weights, and weights times their gradients."""


@dataclass(frozen=True)
class Test:
    """A test of attention as an explanation.

    better  1 where higher values are better for the explanation, -1 where lower ones are
    ranks   whether it can judge any ranking, or a model's own attention alone
    """

    name: str
    paper: str
    better: int
    ranks: bool = False


TESTS = {
    "flips_input": Test("fraction to flip, input", "Chrysostomou & Aletras 2021", -1, ranks=True),
    "flips_attention": Test("fraction to flip, attention", "Serrano & Smith 2019", -1, ranks=True),
    "top_input": Test("top token flips, input", "Chrysostomou & Aletras 2021", 1, ranks=True),
    "comprehensiveness": Test("comprehensiveness", "DeYoung et al. 2020", 1, ranks=True),
    "sufficiency": Test("sufficiency", "DeYoung et al. 2020", -1, ranks=True),
    "tau_gradient": Test("τ with gradients", "Meister et al. 2021", 1, ranks=True),
    "tau_omission": Test("τ with leave-one-out", "Meister et al. 2021", 1, ranks=True),
    "uniform": Test("change under uniform attention", "Tutek & Šnajder 2020", 1),
    "permuted": Test("change under permuted attention", "Jain & Wallace 2019", 1),
    "adversary": Test("distance of an adversary", "Jain & Wallace 2019", -1),
    "token_probability": Test("probability from single tokens", "Tutek & Šnajder 2020", -1),
    "information": Test("information by rank", "Wen et al. 2022", 1),
    "plausibility": Test("plausibility", "DeYoung et al. 2020", 1),
}
"""All tests, by the name they have in frames; plausibility needs texts whose decisive words are marked."""
DRAWS = 10
"""Permutations of attention per text."""
RESTARTS = 3


def battery(
    fitted: Fitted,
    corpus: Corpus,
    *,
    texts: int | None = None,
    counts: Sequence[int] = (20, 50),
    adversary_texts: int = 60,
    adversary_steps: int = 100,
    known: bool = False,
) -> dict[str, pd.DataFrame]:
    """Every test on one model: `scores`, one row per test, reading and text; `labels`, one per test text.

    known   the model was trained on texts whose decisive words are known (`diagnosticity.guided`)

    The value is that of the test as its paper defines it (a decision that never flips counts as 1). Information by
    rank is one number per model, so that its row has no text.
    """
    corpus = diagnosticity.known(corpus) if known else corpus
    some = sampled(corpus.test, texts)
    frames, others = [], importances(fitted, some)
    for reading in READINGS:
        frames += _by_ranking(fitted, some, importance(fitted, some, reading), reading, others)
    frames += _of_weights(fitted, some, sampled(corpus.test, min(adversary_texts, len(some))), adversary_steps)
    frames.append(_plausible(fitted, some))
    facts = rank_information(ranked(fitted, corpus.test), counts, resamples=2)[1]
    frames.append(_rows("information", [""], [facts["tau"]]))
    labels = decisions(fitted, corpus.test).drop(columns="value")
    return {"scores": pd.concat(frames, ignore_index=True), "labels": labels}


def diagnose(fitted: Fitted, corpus: Corpus, *, texts: int | None = None, seed: int = 0) -> pd.DataFrame:
    """How tests that judge rankings compare a true explanation with false ones: one row per test, text and pair.

    Of the test texts whose decision follows the words that are known to decide. `against` is the false one
    (`diagnosticity.FALSE`), `value` 1 where the test prefers the true one, 1/2 for a tie.
    """
    corpus = diagnosticity.known(corpus)
    right = fitted.logits(corpus.test).argmax(1) == np.array([e.label for e in corpus.test])
    some = sampled([e for e, yes in zip(corpus.test, right, strict=True) if yes and any(e.rationale)], texts)
    if not some:
        return pd.DataFrame(columns=["test", "against", "instance", "value"])
    words = diagnosticity.associations(corpus.train, len(corpus.classes))
    made = diagnosticity.rankings(some, words, unattended=fitted.model_config.unattended, seed=seed)
    others = importances(fitted, some)
    found = {name: pd.concat(_by_ranking(fitted, some, scores, name, others)) for name, scores in made.items()}
    better, true = found["true"]["test"].map({name: test.better for name, test in TESTS.items()}), found["true"]
    frames = []
    for against in diagnosticity.FALSE:
        value = diagnosticity.preferred(better * true["value"], better * found[against]["value"])
        frames.append(true[["test", "instance"]].assign(against=against, value=value))
    return pd.concat(frames, ignore_index=True)


def importances(fitted: Fitted, examples: Sequence[Example]) -> dict[str, list[np.ndarray]]:
    """What τ compares a ranking with: sizes of gradients, and changes of the probability without each token."""
    changes = importance(fitted, examples, "omission")
    gradients = importance(fitted, examples, "gradient_norm")
    return {"tau_gradient": gradients, "tau_omission": [resolved(own) for own in changes]}


def _by_ranking(fitted: Fitted, examples: Sequence[Example], scores, reading: str, others) -> list[pd.DataFrame]:
    """The tests that judge a ranking, whatever it comes from."""
    names = [example.id for example in examples]
    frames = []
    for level in ("input", "attention"):
        found = fraction_to_flip(fitted, examples, scores, level=level)
        frames.append(_rows(f"flips_{level}", names, found["fraction"].fillna(1.0), reading))
        if level == "input":
            frames.append(_rows("top_input", names, (found["removed"].fillna(0) == 1).astype(float), reading))
    most, least = (erasure_curves(fitted, examples, scores, first=first) for first in ("most", "least"))
    for test, values in (("comprehensiveness", comprehensiveness_of(most)), ("sufficiency", sufficiency_of(least))):
        frames.append(_rows(test, names, values["value"], reading))
    for test, other in others.items():
        taus = [agreement(own, values)["value"] for own, values in zip(scores, other, strict=True)]
        frames.append(_rows(test, names, taus, reading))
    return frames


def _of_weights(
    fitted: Fitted, examples: Sequence[Example], fewer: Sequence[Example], steps: int
) -> list[pd.DataFrame]:
    """The tests that ask whether the weights matter: other weights in their place, the farthest, none but one."""
    names, frames = [example.id for example in examples], []
    swaps = attention_swaps(fitted, examples, permutations=DRAWS)
    for swap in ("uniform", "permuted"):
        change = swaps[swaps["swap"] == swap].groupby("instance")["change"].mean()
        frames.append(_rows(swap, names, change.sort_index()))
    far = np.zeros(len(fewer))
    for batch, trace in fitted.traces(fewer):
        with measuring():
            rows = batch.rows.tolist()
            found = search(trace, restarts=RESTARTS, steps=steps, learning_rate=0.05, rows=rows)
            far[rows] = found[1].cpu().numpy()
    frames.append(_rows("adversary", [example.id for example in fewer], far))
    return [*frames, _rows("token_probability", names, token_table(fitted, examples)["token_probability"])]


def _plausible(fitted: Fitted, examples: Sequence[Example]) -> pd.DataFrame:
    """Average precision of the weights against the marked words; no rows where none are marked."""
    out, values = set(fitted.model_config.unattended), []
    marked = [e for e in examples if e.rationale is not None and any(e.rationale)]
    for place, weights in enumerate(importance(fitted, marked, "alpha") if marked else []):
        words = zip(marked[place].rationale, marked[place].tokens, strict=True)
        marks = np.array([mark for mark, token in words if token not in out])
        values.append(diagnosticity.average_precision(weights, marks, seed=place))
    return _rows("plausibility", [e.id for e in marked], values)


def _rows(test: str, names: Sequence[str], values, reading: str = "alpha") -> pd.DataFrame:
    values = np.asarray(values, float)
    return pd.DataFrame({"test": test, "importance": reading, "instance": list(names), "value": values})
