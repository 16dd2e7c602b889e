"""What is measured on each model of the study of attention ranks and information (Wen et al. 2022).

A module of its own, small: what it imports is part of the name of every stored result.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from attnlib.data.selection import sampled
from attnlib.data.types import Corpus
from attnlib.measures.adversary import compare
from attnlib.measures.rank_information import rank_information, ranked
from attnlib.training.fitted import Fitted


def by_rank(
    fitted: Fitted, corpus: Corpus, *, counts: Sequence[int], texts: int | None = None, resamples: int = 200
) -> dict[str, pd.DataFrame]:
    """Information and attention by rank on test texts, with the tau of the two; see `rank_information`.

    ranks   one row per rank
    taus    one row, with the accuracy on the same texts
    labels  one row per text: instance, truth, prediction
    """
    some = sampled(corpus.test, texts)
    states = ranked(fitted, some)
    ranks, facts = rank_information(states, counts, resamples=resamples)
    labels = pd.DataFrame({"instance": [e.id for e in some], "truth": [e.label for e in some]})
    labels["prediction"] = states.logits.argmax(1)
    facts["accuracy"] = float((labels["truth"] == labels["prediction"]).mean())
    return {"ranks": ranks, "taus": pd.DataFrame([facts]), "labels": labels}


def apart(base: Fitted, other: Fitted, corpus: Corpus, *, texts: int | None = None) -> pd.DataFrame:
    """How far an adversary is from its base, one row per test text, of the texts that `by_rank` looks at.

    tvd of outputs, tvd_trained (halved with two classes, as in training), jsd of attentions, right_base,
    right_adversary
    """
    found = compare(base, other, sampled(corpus.test, texts))
    found = found.assign(instance=found["id"], tvd_trained=found["tvd"] / (2 if len(corpus.classes) == 2 else 1))
    return found[["instance", "tvd", "tvd_trained", "jsd", "right_base", "right_adversary"]]
