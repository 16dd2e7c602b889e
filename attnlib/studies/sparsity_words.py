"""Sentences of the notebook on sparse attention, computed from its frames."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib.claims import Claim
from attnlib.narrate import percent, plural
from attnlib.studies.common import contrast, interval_text, summarise
from attnlib.studies.sparsity import ENCODERS, Results
from attnlib.studies.sparsity_tables import PAIR, accuracy_change, labelled, trend


def about_grid(results: Results) -> list[str]:
    """What was computed, and what is missing."""
    said = [results.grid.summary]
    for _, row in results.grid.failures.iterrows():
        said.append(f"**Missing:** {row['run']}: {row['error']}: {row['message']}")
    return said


def about_support(entropies: pd.DataFrame) -> list[str]:
    """How many words the projections leave with weight."""
    part = labelled(entropies[entropies["metric"] == "support_share"])
    said = []
    for encoder, own in part.groupby("encoder", sort=False):
        means = own.groupby("model", sort=False)["value"].mean()
        least, soft = means.idxmin(), means.get("sparsemax", np.nan)
        said.append(
            f"{ENCODERS[encoder]}: softmax gives weight to every word, sparsemax to **{percent(soft)}** of them, "
            f"and {least} to {percent(means.min())}."
        )
    return [*said, _trend_words(part, "λ and the share of words with weight")]


def about_hidden(hidden: pd.DataFrame) -> list[str]:
    """Whether hidden states follow their own words."""
    table = summarise(hidden[hidden["projection"].isin(PAIR)], ["encoder", "projection"])
    least, most = table.loc[table["value"].idxmin()], table.loc[table["value"].idxmax()]
    both = hidden[hidden["projection"].isin(PAIR)].groupby(["encoder", "projection"])[["own", "even"]].mean()
    own, times = both["own"], both["own"] / both["even"]
    n = int(hidden["instance"].nunique())
    missing = int(table["missing"].sum())
    alone = f" {plural(missing, 'state')} of one-token texts have no entropy and are left out." if missing else ""
    return [
        f"Mean entropies run from **{least['value']:.2f}** ({ENCODERS[least['encoder']]}, {least['projection']}) "
        f"to **{most['value']:.2f}** ({ENCODERS[most['encoder']]}, {most['projection']}), on "
        f"{plural(n, 'text')}.{alone}",
        f"Entropy hides whose influence it is: the word at a state's own place has between {percent(own.min())} "
        f"and {percent(own.max())} of it on average, {times.min():.1f} to {times.max():.1f} times an even share.",
    ]


def about_agreement(agreement: pd.DataFrame, kind: str) -> list[str]:
    """Hidden states against inputs, model by model."""
    part = agreement[agreement["projection"].isin(PAIR)]
    found = contrast(part, "importance", f"{kind}_hidden", f"{kind}_input", ["encoder", "projection"])
    said = []
    for _, row in found.iterrows():
        where = "more" if row["low"] > 0 else "less" if row["high"] < 0 else "no more and no less"
        said.append(
            f"{ENCODERS[row['encoder']]}, {row['projection']}: attention agrees **{where}** with hidden states "
            f"(τ {row['a']:.2f}) than with inputs ({row['b']:.2f}); difference {row['estimate']:.2f}, 95% interval "
            f"{row['low']:.2f} to {row['high']:.2f}, Holm-corrected p = {row['p_holm']:.3f}, n = {row['n']:,}."
        )
    return said


def about_ties(agreement: pd.DataFrame) -> list[str]:
    """What had no order, and how much of the order is ties."""
    lost = int((agreement["status"] != "ordered").sum())
    frame = labelled(agreement)
    tied = frame.groupby("model", sort=False)["tied"].mean()
    return [
        f"{plural(lost, 'measurement')} of {len(agreement):,} had no order to compare. In the sparsest model, "
        f"{tied.idxmax()}, **{percent(tied.max())}** of all pairs of words have equal weight, mostly zero: tau-b "
        "then speaks of the few that are left; a high value says little more than that both sides name the same."
    ]


def about_entropy(entropies: pd.DataFrame) -> list[str]:
    """Does importance become sparse with attention?"""
    said = []
    for metric, words in (("entropy_gradient_input", "gradient"), ("entropy_leave_one_out_input", "leave-one-out")):
        part = entropies[entropies["metric"] == metric]
        found = contrast(part, "projection", "sparsemax", "softmax", ["encoder"])
        for _, row in found.iterrows():
            where = "higher" if row["low"] > 0 else "lower" if row["high"] < 0 else "neither higher nor lower"
            said.append(
                f"{ENCODERS[row['encoder']]}: the entropy of {words} importance is **{where}** with sparsemax "
                f"({row['a']:.2f}) than with softmax ({row['b']:.2f}); difference {row['estimate']:.3f}, 95% "
                f"interval {row['low']:.3f} to {row['high']:.3f}, n = {row['n']:,}."
            )
    return said


def about_lambda(entropies: pd.DataFrame) -> list[str]:
    """Table 2 in words, with its sign."""
    part = entropies[entropies["metric"] == "entropy_gradient_input"]
    return [
        "Sign: λ as in equation 3, so a **larger λ is sparser**. A negative value means that sparser attention "
        "goes with less spread importance, a positive one with more.",
        _trend_words(part, "λ and the entropy of gradient importance"),
    ]


def about_falling(agreement: pd.DataFrame) -> list[str]:
    """Figure 3 in words."""
    return [
        _trend_words(
            agreement[agreement["importance"] == f"{kind}_input"], f"λ and the agreement with {words} importance"
        )
        for kind, words in (("gradient", "gradient"), ("leave_one_out", "leave-one-out"))
    ]


def about_adversaries(duels: pd.DataFrame) -> list[str]:
    """What other attention costs, at the strongest push."""
    found = accuracy_change(duels)
    found = found[found["push"] == found["push"].max()]
    far = duels.groupby(["encoder", "projection", "variant", "push"])["jsd"].mean()
    said = []
    for _, row in found.iterrows():
        jsd = far[row["encoder"], row["projection"], row["variant"], row["push"]]
        kind = row["variant"].removeprefix("adversary_")
        said.append(
            f"{ENCODERS[row['encoder']]}, {row['projection']}, {kind}: attention {jsd:.2f} nats away, accuracy "
            f"{percent(row['b'])} → {percent(row['a'])} ({100 * row['estimate']:+.1f} points, 95% interval "
            f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}; n = {row['n']:,})."
        )
    return said


def about_claims(claims: list[Claim]) -> list[str]:
    """The count of verdicts."""
    kinds = ("reproduced", "not reproduced", "undetermined")
    counts = {kind: sum(claim.verdict == kind for claim in claims) for kind in kinds}
    return [f"Of {len(claims)} claims: " + ", ".join(f"**{n}** {kind}" for kind, n in counts.items()) + "."]


def _trend_words(part: pd.DataFrame, what: str) -> str:
    found = trend(part, ["encoder"])
    texts = interval_text(found)
    each = [
        f"{ENCODERS[row['encoder']]} **{text}**, over {row['points']} models"
        for (_, row), text in zip(found.iterrows(), texts, strict=True)
    ]
    return f"Kendall τ-b between {what}: " + "; ".join(each) + "."
