"""Rankings: scores to orders of removal, with a named error for every score that cannot rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from attnlib.utils.errors import DataError

FITS = "a ranking fits"


def descending(scores: Tensor, units: Tensor) -> Tensor:
    """(B, T) positions from the highest score to the lowest, those that are no units last.

    scores (B, T); units (B, T) bool: the positions that can be removed. Equal scores keep the order of the text, so
    that an order never depends on padding or on the sorting algorithm.
    """
    first = torch.argsort(scores.double(), dim=1, descending=True, stable=True)
    idle = (~units).gather(1, first)
    second = torch.argsort(idle.to(torch.uint8), dim=1, stable=True)
    return first.gather(1, second)


def inverse(order: Tensor) -> Tensor:
    """(B, T) rank of every position, counted from zero."""
    position = torch.arange(order.shape[1], device=order.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, position)


def problem(scores: np.ndarray, length: int) -> str:
    """Why `scores` cannot rank a text of `length` units, or `FITS`."""
    if scores.ndim != 1:
        return f"scores of shape {scores.shape}; one number per token is needed"
    if len(scores) != length:
        kind = "an empty ranking" if len(scores) == 0 else f"{len(scores)} scores"
        return f"{kind} for {length} tokens"
    if np.isnan(scores).any():
        return f"NaN at token {int(np.flatnonzero(np.isnan(scores))[0])}"
    return FITS


def checked(ranking: Sequence, ids: Sequence[str]) -> list[np.ndarray]:
    """The ranking as one float array per text; a ranking for another number of texts is refused."""
    if isinstance(ranking, np.ndarray | Tensor) and ranking.ndim != 1 and len(ids) != len(ranking):
        raise DataError(f"The ranking has {len(ranking)} rows for {len(ids)} texts. Give one array per text.")
    if isinstance(ranking, Mapping) or not isinstance(ranking, Iterable):
        raise DataError(
            f"A ranking is the name of a method or one array of scores per text; got {str(ranking)[:60]!r}."
        )
    arrays = [_floats(scores, i) for i, scores in enumerate(ranking)]
    if len(arrays) != len(ids):
        said = "The ranking is empty" if not arrays else f"The ranking has {len(arrays)} arrays"
        raise DataError(
            f"{said} for {len(ids)} texts. Give one array per text, with one score per token, as `importance` "
            "returns."
        )
    return arrays


def _floats(scores: object, text: int) -> np.ndarray:
    try:
        return np.asarray(scores.detach().cpu() if isinstance(scores, Tensor) else scores, dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            f"The scores of text {text} (from 0) are no numbers: {str(scores)[:60]!r}. Give one number per token, "
            "as `importance` returns."
        ) from None


def padded(arrays: Sequence[np.ndarray], units: Tensor) -> tuple[Tensor, list[str]]:
    """Scores (B, T) at the unit positions of a batch, and what is wrong with each row (`FITS` where nothing).

    Rows with a problem score zero everywhere; the caller must not use them.
    """
    counts = units.sum(1).tolist()
    found = [problem(scores, n) for scores, n in zip(arrays, counts, strict=True)]
    values = [a if why == FITS else np.zeros(n) for a, n, why in zip(arrays, counts, found, strict=True)]
    scores = torch.zeros(units.shape, dtype=torch.float64, device=units.device)
    scores[units] = torch.as_tensor(np.concatenate(values) if values else np.zeros(0)).to(units.device)
    return scores, found
