r"""Faithfulness from erasure curves: comprehensiveness, sufficiency, AOPC, and what is attainable.

All compare p_0, the predicted class's probability for the whole text, with p_k, the probability after k units were
removed. They are called like `attnlib.erasure_curves`, which they read, and return one row per text: text, id,
length, metric, value. Where the curves are known already, the functions that end in `_of` take them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Unpack

import numpy as np

from attnlib.erasure.flips import erasure_curves
from attnlib.erasure.request import How, Ranking
from attnlib.stats import descending
from attnlib.utils.errors import ConfigError, DataError

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.engine.explainable import Explainable

Drop = Callable[[Sequence[frozenset[int]]], np.ndarray]
"""N sets of units of one text, to how much its predicted class's probability falls without each (N,)."""
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Shares of a text that ERASER removes or keeps (DeYoung et al. 2020, section 4)."""


def comprehensiveness(
    fitted: Explainable,
    examples: Iterable,
    ranking: Ranking,
    *,
    shares: Sequence[float] = SHARES,
    **how: Unpack[How],
) -> pd.DataFrame:
    r"""Mean drop when the top share of a text is removed (DeYoung et al. 2020): :math:`p_0 - p_{\lceil qn \rceil}`.

    High where the ranking finds what the decision needs.

    >>> found = {ranking: al.comprehensiveness(fitted, corpus.test, ranking) for ranking in ("alpha", "random")}
    >>> bool(found["alpha"]["value"].mean() > found["random"]["value"].mean())
    True
    """
    return comprehensiveness_of(erasure_curves(fitted, examples, ranking, first="most", **how), shares)


def sufficiency(
    fitted: Explainable,
    examples: Iterable,
    ranking: Ranking,
    *,
    shares: Sequence[float] = SHARES,
    **how: Unpack[How],
) -> pd.DataFrame:
    r"""Mean drop when only the top share of a text is kept: low where the ranking finds enough for the decision.

    >>> found = {ranking: al.sufficiency(fitted, corpus.test, ranking) for ranking in ("alpha", "random")}
    >>> bool(found["alpha"]["value"].mean() < found["random"]["value"].mean())
    True
    """
    return sufficiency_of(erasure_curves(fitted, examples, ranking, first="least", **how), shares)


def aopc(fitted: Explainable, examples: Iterable, ranking: Ranking, **how: Unpack[How]) -> pd.DataFrame:
    r"""Area over the perturbation curve, :math:`\frac1n \sum_{k=1}^n (p_0 - p_k)` (Samek et al. 2017).

    >>> found = al.aopc(fitted, corpus.test, "alpha")
    >>> list(found.columns), len(found)
    (['text', 'id', 'length', 'metric', 'value'], 100)
    """
    return aopc_of(erasure_curves(fitted, examples, ranking, first="most", **how))


def comprehensiveness_of(curves: pd.DataFrame, shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """Comprehensiveness from the curves of `erasure_curves(..., first="most")`."""
    return _mean_drop(curves, lambda n: _top(n, shares), "comprehensiveness")


def sufficiency_of(curves: pd.DataFrame, shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """Sufficiency from the curves of `erasure_curves(..., first="least")`, whose row n - k keeps the top k."""
    return _mean_drop(curves, lambda n: n[:, None] - _top(n, shares), "sufficiency")


def aopc_of(curves: pd.DataFrame) -> pd.DataFrame:
    """AOPC from the curves of `erasure_curves(..., first="most")`."""
    return _mean_drop(curves, None, "aopc")


def best_removals(
    drop: Drop, counts: Sequence[int], first: np.ndarray, *, beam: int, candidates: int | None = None
) -> tuple[np.ndarray, float]:
    """How far the best order of removal lowers the probability of a text, by beam search.

    AOPC does not compare across models, since some can be moved further than others (Edin et al. 2025): it has to
    be divided by what is attainable. At each of the rising `counts` of removed units, what matters most *now* goes.

    first       (n,) drops without each unit alone
    candidates  only so many of the units that matter most alone are asked about again; the others rank behind them

    Returns the largest drop at each count, and the largest sum of drops over the counts along one order. Exact
    where all units are candidates, every count is asked for and the beam holds all sets of one size.
    """
    among = descending(first)[:candidates].tolist()
    kept = [(frozenset(), 0.0, first)]
    largest = []
    for count, following in pairwise([*counts, 0]):
        grown: dict[frozenset[int], float] = {}
        for gone, total, alone in kept:
            missing = count - len(gone)
            order = [j for j in descending(alone).tolist() if j not in gone] if missing else []
            tails = order[missing - 1 : missing - 1 + beam] if missing else ()
            for larger in [gone | {*order[: missing - 1], last} for last in tails] or [gone]:
                # The drop depends on the set alone, so of all orders that remove it the best one so far counts.
                grown[larger] = max(grown.get(larger, -np.inf), total)
        sets, drops = list(grown), drop(list(grown))
        totals = np.array(list(grown.values())) + drops
        largest.append(drops.max())
        best = [(sets[k], totals[k]) for k in descending(totals)[:beam]]
        more = [(gone, j) for gone, _ in best for j in among if j not in gone] if following > count else []
        now = {gone: first - 2.0 for gone, _ in best}
        for (gone, j), value in zip(more, drop([gone | {j} for gone, j in more]) if more else (), strict=True):
            now[gone][j] = value
        kept = [(gone, total, now[gone]) for gone, total in best]
    return np.array(largest), float(totals.max())


def _mean_drop(curves: pd.DataFrame, at: Callable[[np.ndarray], np.ndarray] | None, metric: str) -> pd.DataFrame:
    """p_0 - p_k of every text, mean over the steps k that `at` gives for lengths (N,) as (N, K); None: 1, …, n."""
    import pandas as pd

    needed = {"text", "id", "length", "removed", "probability"}
    if not needed <= set(curves.columns):
        raise DataError(f"{metric} reads the frame of `erasure_curves`; columns are missing: {needed - {*curves}}.")
    curves = curves.sort_values(["text", "removed"], kind="stable")
    first = curves[curves["removed"] == 0]
    n, start = first["length"].to_numpy(), np.flatnonzero(curves["removed"].to_numpy() == 0)
    if len(curves) != (n + 1).sum():
        raise DataError(f"{metric} needs whole curves: every k from 0 to the length of each text.")
    p = curves["probability"].to_numpy()
    if at is None:
        value = p[start] - (np.add.reduceat(p, start) - p[start]) / n
    else:
        value = (p[start, None] - p[start[:, None] + at(n)]).mean(1)
    columns = {name: first[name].to_numpy() for name in ("text", "id", "length")}
    return pd.DataFrame({**columns, "metric": metric, "value": value})


def _top(lengths: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """(N, K): how many units each share of each text is, rounded up."""
    shares = np.asarray(shares, dtype=float)
    if shares.ndim != 1 or not len(shares) or not ((shares > 0) & (shares <= 1)).all():
        raise ConfigError(f"shares must lie in (0, 1]; got {shares.tolist()}.")
    return np.ceil(np.multiply.outer(lengths, shares) - 1e-9).astype(int)
