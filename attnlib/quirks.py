"""The authors' deviations, reproducible behind named switches: `quirks={"tasc_ig"}`.

The default everywhere is the correct definition. A quirk reproduces what released code computes where that differs
from the paper or from the mathematics, so that printed numbers can be traced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from attnlib.utils.errors import ConfigError, unknown


class Quirk(NamedTuple):
    """paper: whose code; where: what it affects; does: what the switch computes; right: what the default does."""

    paper: str
    where: str
    does: str
    right: str


QUIRKS: dict[str, Quirk] = {
    "tasc_ig": Quirk(
        "Chrysostomou & Aletras 2021",
        "integrated_gradients (Table 5; B12)",
        "gradients are taken before the embeddings are scaled, so step t carries an extra factor t; 20 left-hand "
        "steps and the original gradient are averaged; TaSc's s sees unscaled embeddings",
        "50 midpoint steps; attributions sum to F(x) - F(0)",
    ),
    "tasc_grad_after_ig": Quirk(
        "Chrysostomou & Aletras 2021",
        "grad_alpha, alpha_grad (Tables 4 and 5, Figures 2 and 3; B11)",
        "the gradient at alpha is that of the last integrated-gradients step, at 0.95 of the embeddings",
        "the gradient at the text itself",
    ),
    "tasc_nan_empty": Quirk(
        "Chrysostomou & Aletras 2021",
        "fraction_to_flip, top_token_flips at the input level (B14)",
        "with every token removed the answer is NaN, and its argmax class 0: texts predicted otherwise flip there, "
        "texts predicted 0 never do",
        "the zero context vector: the decoder's bias decides",
    ),
    "tasc_denominator": Quirk(
        "Chrysostomou & Aletras 2021",
        "fraction_to_flip (Table 4; section 2.3)",
        "the fraction divides by the length with special tokens and unattended words, and is cut at 1",
        "the fraction divides by the number of content tokens",
    ),
    "serrano_r": Quirk(
        "Serrano & Smith 2019",
        "single_removals (Table 2, Figures 3, 4, 7-9, 12, 13; B20)",
        "r is drawn from positions 1 … n - 1: the first is never drawn and r can be i* itself",
        "r is drawn from all positions but i*",
    ),
    "wp_half_tvd": Quirk(
        "Wiegreffe & Pinter 2019",
        "adversaries (B7)",
        "total variation of one output with a factor one half: half of the true value for two classes",
        "total variation over both classes, |Δp|",
    ),
}


def checked(quirks: Iterable[str], allowed: Iterable[str] | None = None) -> frozenset[str]:
    """The quirks as a set; an unknown name, or one that the caller does not honour, is an error."""
    chosen = frozenset([quirks] if isinstance(quirks, str) else quirks)
    known = set(QUIRKS) if allowed is None else set(allowed)
    for name in sorted(chosen - known):
        hint = f"{name!r} belongs to {QUIRKS[name].where}." if name in QUIRKS else ""
        raise ConfigError(unknown("quirk", name, known, hint=hint))
    return chosen
