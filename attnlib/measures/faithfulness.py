r"""Faithfulness from erasure curves: comprehensiveness, sufficiency, AOPC and its normalised form.

All compare p_0, the predicted class's probability for the whole text, with p_k, the probability after k units were
removed. They are called like `attnlib.erasure_curves`, which they read, and return one row per text: text, id,
length, metric, value. Where the curves are known already, the functions that end in `_of` take them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
import torch
from torch import Tensor

from attnlib.engine.explainable import Answer, answers
from attnlib.erasure.flips import erasure_curves
from attnlib.erasure.request import How, Ranking, Removal
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.engine.explainable import Explainable

Drop = Callable[[Tensor], np.ndarray]
"""Sets of removed units (N, T) of one text, to how much its predicted class's probability falls (N,)."""
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


def normalised_aopc(values: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    r"""(AOPC - lowest) / (highest - lowest) of each text, so that models can be compared (Edin et al. 2025).

    values: of `aopc`; bounds: of `aopc_bounds` for the same model, level and operator. A text whose bounds meet (no
    order of removal matters) has no normalised value: NaN. A ranking can exceed the bounds of a narrow beam: the
    value is then outside [0, 1] and is left there, as a sign that the beam was too narrow.
    """
    if not (values["text"].to_numpy() == bounds["text"].to_numpy()).all():
        raise DataError("normalised_aopc: values and bounds are not of the same texts in the same order.")
    low, high = bounds["low"].to_numpy(), bounds["high"].to_numpy()
    span = high - low
    value = (values["value"].to_numpy() - low) / np.where(span > 1e-12, span, np.nan)
    return values.assign(metric="normalised_aopc", value=value)


def aopc_bounds(
    fitted: Explainable, examples: Iterable, *, level: str = "input", operator: str | None = None, beam: int = 5
) -> pd.DataFrame:
    """The lowest and highest AOPC that any order of removal reaches on each text, by beam search.

    Exact where the beam is at least as wide as the number of sets of one size. Columns text, id, length, low, high.
    """
    import pandas as pd

    removal = Removal(level=level, operator=operator)
    if beam < 1:
        raise ConfigError(f"aopc_bounds needs a beam of one at least; got {beam}.")
    examples = fitted.examples(examples)
    rows: list[dict | None] = [None] * len(examples)
    with bar(f"bounds of AOPC, {level} level", total=len(examples), unit="text") as line:
        for batch, trace in fitted.traces(examples):
            with torch.no_grad():
                answer = answers(fitted, batch, trace, removal.way(fitted))
                units = removal.units(batch, trace)
                for i, row in enumerate(batch.rows.tolist()):
                    where = units[i].nonzero().squeeze(1)
                    drop = _dropping(answer, i, torch.zeros_like(units[:1]), int(trace.prediction[i]))
                    low, high = (_search(drop, where, units.shape[1], beam, sign) for sign in (-1, 1))
                    found = {"text": row, "id": examples[row].id, "length": len(where)}
                    rows[row] = found | {"low": low, "high": high}
                    line.update()
    return pd.DataFrame(rows)


def _dropping(answer: Answer, text: int, nothing: Tensor, predicted: int) -> Drop:
    def probability(removed: Tensor) -> np.ndarray:
        return answer(text, removed).softmax(-1)[:, predicted].cpu().numpy()

    whole = probability(nothing)
    return lambda removed: whole - probability(removed)


def _search(drop: Drop, where: Tensor, width: int, beam: int, sign: int) -> float:
    """Largest sign × sum of drops over orders of removal, divided by n and with the sign taken off again."""
    n = len(where)
    kept: dict[frozenset[int], float] = {frozenset(): 0.0}
    for _ in range(n):
        grown: dict[frozenset[int], float] = {}
        for chosen, total in kept.items():
            for j in set(range(n)) - chosen:
                # The drop depends on the set alone, so of all orders that remove it the best one so far counts.
                larger = chosen | {j}
                grown[larger] = max(grown.get(larger, -np.inf), total)
        removed = torch.zeros(len(grown), width, dtype=torch.bool, device=where.device)
        for row, chosen in enumerate(grown):
            removed[row, where[list(chosen)]] = True
        drops = sign * drop(removed)
        totals = {c: t + float(d) for (c, t), d in zip(grown.items(), drops, strict=True)}
        kept = dict(sorted(totals.items(), key=lambda item: -item[1])[:beam])
    return sign * max(kept.values()) / n


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
