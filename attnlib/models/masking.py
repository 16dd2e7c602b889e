"""What keeps padding out of everything."""

from __future__ import annotations

from torch import Tensor


def blank(hidden: Tensor, mask: Tensor) -> Tensor:
    """hidden (B, T, H) with zeros where mask (B, T) is False, whatever was there (NaN and infinity too)."""
    return hidden.masked_fill(~mask.unsqueeze(-1), 0.0)


def masked_mean(hidden: Tensor, mask: Tensor) -> Tensor:
    """(B, T, H), (B, T) -> (B, H): mean over real positions, zero where there is none."""
    return blank(hidden, mask).sum(1) / mask.sum(1, keepdim=True).clamp_min(1).to(hidden.dtype)


class Averaged:
    """An encoder whose `summary` of a text, as a query, is the mean of its states."""

    def summary(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """(B, width): mean over real positions."""
        return masked_mean(hidden, mask)
