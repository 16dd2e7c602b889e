"""The authors' deviations, reproducible behind named switches: `quirks={"tasc_ig"}`.

The default everywhere is the correct definition. A quirk reproduces what released code computes where that differs
from the paper or from the mathematics, so that printed numbers can be traced. Letters refer to the list of known
discrepancies: B for bugs, A for ambiguities.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlib.utils.errors import ConfigError, unknown

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.training.fitted import Fitted


class Quirk(NamedTuple):
    """paper: whose code; where: what it touches; does: what the switch computes; right: what the default does."""

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
    if isinstance(quirks, str):
        raise ConfigError(f"quirks must be a set of names, such as {{{quirks!r}}}; got a single string.")
    chosen = frozenset(quirks)
    known = set(QUIRKS) if allowed is None else set(allowed)
    for name in sorted(chosen - known):
        hint = f"{name!r} belongs to {QUIRKS[name].where}." if name in QUIRKS else ""
        raise ConfigError(unknown("quirk", name, known, hint=hint))
    return chosen


def effects(fitted: Fitted, examples: Iterable, *, seed: int = 0) -> pd.DataFrame:
    """What each quirk changes on a trained model: one row a quirk and number.

    quirk, paper, where; measure; correct and with_quirk: the mean without and with it; changed: the share of texts
    whose own value differs; n. Fractions count a decision that never flips as 1.
    """
    import pandas as pd

    from attnlib import stats
    from attnlib.erasure.flips import erasure_curves, fraction_to_flip, single_removals
    from attnlib.importance.scores import importance

    examples = fitted.examples(examples)

    def fractions(ranking: str, quirk: str | None, **options) -> np.ndarray:
        chosen = () if quirk is None else {quirk}
        return (
            fraction_to_flip(fitted, examples, ranking, quirks=chosen, **options)["fraction"].fillna(1.0).to_numpy()
        )

    rows = []

    def add(name: str, measure: str, right: np.ndarray, wrong: np.ndarray) -> None:
        right, wrong = np.asarray(right, dtype=float), np.asarray(wrong, dtype=float)
        both = ~(np.isnan(right) | np.isnan(wrong))
        changed = float((~np.isclose(right, wrong))[both].mean()) if both.any() else float("nan")
        means = [float(x[both].mean()) if both.any() else float("nan") for x in (right, wrong)]
        paper, where = QUIRKS[name].paper, QUIRKS[name].where
        values = (name, paper, where, measure, *means, changed, int(both.sum()))
        names = ("quirk", "paper", "where", "measure", "correct", "with_quirk", "changed", "n")
        rows.append(dict(zip(names, values, strict=True)))

    quiet = {"on_gap": "ignore"}
    rankings = [("tasc_ig", "integrated_gradients", quiet), ("tasc_grad_after_ig", "alpha_grad", {})]
    for name, ranking, options in (*rankings, ("tasc_nan_empty", "alpha", {}), ("tasc_denominator", "alpha", {})):
        measure = f"fraction to flip by {ranking}"
        add(name, measure, fractions(ranking, None, **options), fractions(ranking, name, **options))
    for name, ranking, options in (
        ("tasc_ig", "integrated_gradients", quiet),
        ("tasc_grad_after_ig", "alpha_grad", {}),
    ):
        right = importance(fitted, examples, ranking, **options)
        wrong = importance(fitted, examples, ranking, quirks={name}, **options)
        tau = np.array([stats.kendall_tau(a, b) for a, b in zip(right, wrong, strict=True)])
        add(name, f"Kendall tau of {ranking} with the correct one", np.where(np.isnan(tau), np.nan, 1.0), tau)
    right, wrong = (single_removals(fitted, examples, seed=seed, quirks=q) for q in ((), {"serrano_r"}))
    for column in ("flip_other", "delta_js", "delta_alpha"):
        values = (
            frame[column].astype("Float64").to_numpy(dtype=float, na_value=np.nan) for frame in (right, wrong)
        )
        add("serrano_r", f"{column} of single removals", *values)
    curves = erasure_curves(fitted, examples, "alpha", level="attention")
    p = [curves[curves["removed"] == k]["probability"].to_numpy() for k in (0, 1)]
    true = stats.tvd(*(np.stack([x, 1 - x], -1) for x in p))
    add("wp_half_tvd", "total variation after removing the top weight", true, np.abs(p[0] - p[1]) / 2)
    return pd.DataFrame(rows)
