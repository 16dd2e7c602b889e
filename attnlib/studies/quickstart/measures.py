"""What the first notebook measures: decisions, and what it takes to change them.

The random token is drawn from all but the most attended one (Serrano & Smith 2019, section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.erasure.flips import fraction_to_flip, top_token_flips
from attnlib.measures.perturbation import decisions
from attnlib.rankings.scores import importance
from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.training.fitted import Fitted

LEVELS = ("attention", "input")
RANKINGS = {
    "alpha": "attention",
    "alpha_grad": "attention × gradient",
    "omission": "leave-one-out",
    "random": "random",
}
"""The orders in which tokens are erased, from the highest score down, and what readers see them called.
Leave-one-out asks the model what each token is worth; random knows nothing. Attention is read between the two."""
TOP, RANDOM, OMITTED = "most attended", "random other", "largest leave-one-out"
FIRST = {"alpha": TOP, "alpha_grad": "largest attention × gradient", "omission": OMITTED}
"""The first token of a ranking, erased alone."""
NOTHING_LEFT, NEVER = "only when nothing is left", "never"


def predictions(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row per seed and text: `truth`, `prediction`, and `value`, 1 where the two agree."""
    told = [(fitted, decisions(fitted, examples).drop(columns="instance")) for fitted in models]
    return pd.concat([_frame(m, examples, metric="accuracy", **found) for m, found in told], ignore_index=True)


def single_flips(models: Sequence[Fitted], examples: Sequence[Example], *, seed: int = 0) -> pd.DataFrame:
    """One row per seed, text, level and token removed: `value` is 1 where the decision changes.

    The token is the first of each ranking, or a random one that is not the most attended. Texts of one token are
    left out: without it nothing is left, and there is no other token to draw.
    """
    longer = [example for example in examples if len(example) > 1]
    frames = [_frame(models[0], [], metric=[], level=[], importance=[], value=[])]
    for fitted in models if longer else ():
        others = random_others(importance(fitted, longer, "alpha"), seed=seed)
        for name, ranking in (*((name, ranking) for ranking, name in FIRST.items()), (RANDOM, others)):
            for level in LEVELS:
                flips = top_token_flips(fitted, longer, ranking, level=level)
                values = flips["flipped"].astype(float).to_numpy()
                frames.append(_frame(fitted, longer, metric="flipped", level=level, importance=name, value=values))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def random_others(alpha: Sequence[np.ndarray], *, seed: int = 0) -> list[np.ndarray]:
    """Rankings whose first token is uniform over all but the most attended one, which comes last."""
    rankings = []
    for row, weights in enumerate(alpha):
        scores = np.random.default_rng([seed, row]).random(len(weights))
        scores[int(np.argmax(weights))] = -1.0
        rankings.append(scores)
    return rankings


def fractions(models: Sequence[Fitted], examples: Sequence[Example], *, seed: int = 0) -> pd.DataFrame:
    """One row per seed, text, level and ranking: the share of tokens erased when the decision first flips.

    `value` is 1 where it never does, `removed` counts tokens. `aside` names the texts that a fraction would
    misrepresent: those that never flip, and those that flip only when nothing is left and the bias alone answers.
    """
    frames = []
    for fitted in models:
        for ranking in RANKINGS:
            for level in LEVELS:
                found = fraction_to_flip(fitted, examples, ranking, level=level, seed=seed)
                aside = found["status"].map({"only_when_empty": NOTHING_LEFT, "never": NEVER, "flipped": None})
                value = found["fraction"].fillna(1.0).to_numpy(float)
                what = {"metric": "fraction_to_flip", "level": level, "importance": ranking, "value": value}
                frame = _frame(fitted, examples, **what)
                frames.append(frame.assign(aside=aside.astype(object), removed=found["removed"]))
    return pd.concat(frames, ignore_index=True)


def decisive(models: Sequence[Fitted], examples: Sequence[Example]) -> pd.DataFrame:
    """One row per seed and text with a rationale: is the most attended token decisive, and how likely by chance?

    `value` is 1 where the most attended token is marked; `chance` the share of marked tokens; `mass` the attention
    on them.
    """
    marked = [example for example in examples if example.rationale is not None and any(example.rationale)]
    if not marked:
        raise DataError(
            "No text says which of its tokens decide: choose a corpus with rationales, such as planted."
        )
    frames = []
    for fitted in models:
        masks = [np.array(example.rationale) for example in marked]
        rows = list(zip(importance(fitted, marked, "alpha"), masks, strict=True))
        frame = _frame(fitted, marked, metric="top_is_decisive", value=[float(m[a.argmax()]) for a, m in rows])
        frames.append(frame.assign(chance=[m.mean() for _, m in rows], mass=[float(a[m].sum()) for a, m in rows]))
    return pd.concat(frames, ignore_index=True)


def _frame(fitted: Fitted, examples: Sequence[Example], **columns) -> pd.DataFrame:
    config = fitted.model_config
    shared = {"encoder": config.encoder, "attention": config.attention, "projection": config.projection}
    names = [example.id or str(i) for i, example in enumerate(examples)]
    return pd.DataFrame({**shared, "seed": fitted.seed, "instance": names, **columns})
