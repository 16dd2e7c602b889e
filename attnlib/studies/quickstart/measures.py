"""What the first notebook measures: decisions, and what it takes to change them; workers import this by name."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.erasure.flips import fraction_to_flip
from attnlib.measures.perturbation import decisions
from attnlib.rankings.scores import importance

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

LEVELS = ("attention", "input")


def erasures(fitted: Fitted, corpus: Corpus, *, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Decisions on the test texts (`labels`), and how many tokens must go until they change (`erased`).

    `value` is the share of tokens erased when the decision first changes, 1 where it never does; `removed` counts
    them. `omission` asks the model what each token is worth, `random` knows nothing, and `other` erases any token
    before the most attended one (Serrano & Smith 2019, section 4.2).
    """
    others = []
    for row, alpha in enumerate(importance(fitted, corpus.test, "alpha")):
        others.append(np.random.default_rng([seed, row]).random(len(alpha)))
        others[-1][int(np.argmax(alpha))] = -1.0
    orders = {name: name for name in ("alpha", "alpha_grad", "omission", "random")} | {"other": others}
    frames = []
    for level, (name, order) in product(LEVELS, orders.items()):
        found = fraction_to_flip(fitted, corpus.test, order, level=level, seed=seed)
        found = found.assign(level=level, importance=name, value=found["fraction"].fillna(1.0))
        frames.append(found[["level", "importance", "id", "length", "removed", "status", "value"]])
    erased = pd.concat(frames, ignore_index=True).rename(columns={"id": "instance"})
    return {"labels": decisions(fitted, corpus.test), "erased": erased}
