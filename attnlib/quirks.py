"""The authors' deviations, reproducible behind named switches: `quirks={"tasc_ig"}`.

The default everywhere is the correct definition. A quirk reproduces what released code computes where that differs
from the paper or from the mathematics, so that printed numbers can be traced.
"""

from __future__ import annotations

from collections.abc import Iterable

from attnlib.utils.errors import one_of

QUIRKS = {
    # Chrysostomou & Aletras 2021
    "tasc_ig": "integrated gradients (Table 5) are taken before the embeddings are scaled, so step t carries a "
    "factor t; 20 left-hand steps and the original gradient are averaged; TaSc's s sees unscaled embeddings",
    "tasc_grad_after_ig": "the gradient at alpha (Tables 4 and 5) is that at 0.95 of the embeddings",
    "tasc_nan_empty": "with every token removed the answer is NaN, and its argmax class 0; else the bias decides",
    "tasc_denominator": "the fraction to a flip (Table 4) divides by the length with special tokens and unattended "
    "words, and is cut at 1; else by the number of content tokens",
    # Serrano & Smith 2019
    "serrano_r": "r of single removals (Table 2) is drawn from positions 1 … n - 1: never the first, perhaps i*",
    # Wiegreffe & Pinter 2019
    "wp_half_tvd": "adversaries: total variation of one output of two, with a factor one half",
}


def checked(quirks: Iterable[str], allowed: Iterable[str] = QUIRKS) -> frozenset[str]:
    """The quirks as a set; an unknown name, or one that the caller does not honour, is an error."""
    chosen = frozenset([quirks] if isinstance(quirks, str) else quirks)
    for name in sorted(chosen):
        one_of("quirk", name, allowed)
    return chosen
