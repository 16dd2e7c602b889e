"""Sentences of the notebook on sparse attention, computed from its frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attnlib.claims import Claim
from attnlib.forecast import spell
from attnlib.narrate import percent, plural
from attnlib.studies.common import contrast, interval_text, summarise
from attnlib.studies.sparsity import ENCODERS, Results
from attnlib.studies.sparsity_tables import FAR, PAIR, labelled, least_push
from attnlib.studies.sparsity_trends import LEVEL, chance, trend

DIFFERS = {
    "20news": "20news is not the paper's 20 Newsgroups: here posts are split by date, subject lines and quotes are "
    "kept, digits and punctuation are gone; the paper's (Jain & Wallace's) are all posts without headers, footers "
    "and quotes, split at random. A difference to the paper's value is also a difference of texts.",
    "imdb": "imdb is the paper's in part: the packaged file holds the official train half alone, and test texts "
    "are cut from it.",
}
"""What sets a corpus of ours apart from the paper's of the same name."""


def about_grid(results: Results) -> list[str]:
    """What was computed, and what is missing."""
    said = [results.grid.summary]
    for _, row in results.grid.failures.iterrows():
        said.append(f"**Missing:** {row['run']}: {row['error']}: {row['message']}")
    return said


def about_kin(datasets: Iterable[str]) -> list[str]:
    """Where a corpus bears the name of the paper's and is not the same."""
    return [DIFFERS[name] for name in dict.fromkeys(datasets) if name in DIFFERS]


def about_time(times: pd.DataFrame, right: pd.DataFrame) -> list[str]:
    """How long Table 1 took, and all readings of a model together, when they were computed."""
    said = []
    for (dataset, _, device), own in times.groupby(["dataset", "encoder", "device"], sort=False):
        read, states = int(own["texts"].max()), int(own["states"].max())
        all_texts = right.loc[right["dataset"] == dataset, "instance"].nunique()
        texts = f"all {all_texts:,} test texts" if read == all_texts else f"{read:,} of {all_texts:,} test texts"
        table, whole = own["hidden_seconds"], own["seconds"]
        said.append(
            f"{_where(own.iloc[0])}: Table 1, the influence of all words on {plural(states, 'hidden state')} "
            f"({texts}), took **{_seconds(table.median())}** a model on {device} (median of "
            f"{plural(len(own), 'model')}, longest {_seconds(table.max())}); every reading of a model together "
            f"{_seconds(whole.median())}."
        )
    return said


def _seconds(seconds: float) -> str:
    """`0.42 s`, `7.3 s`, and minutes from sixty on."""
    return f"{seconds:.2g} s" if seconds < 10 else spell(seconds)


def about_support(entropies: pd.DataFrame) -> list[str]:
    """How many words the projections leave with weight."""
    part = labelled(entropies[entropies["metric"] == "support_share"])
    said = []
    for _, own in part.groupby(["dataset", "encoder"], sort=False):
        means = own.groupby("model", sort=False)["value"].mean()
        least = means.idxmin()
        whole = own.loc[own["projection"] == "sparsemax", "value"].dropna().eq(1).mean()
        said.append(
            f"{_where(own.iloc[0])}: softmax gives weight to every word, sparsemax to "
            f"**{percent(means.get('sparsemax', np.nan))}** of them"
            + (f", and {least} to {percent(means.min())}." if least not in PAIR else ".")
            + f" Sparsemax leaves {percent(whole)} of texts whole."
        )
    return [*said, _trend_words(part, "λ and the share of words with weight")]


def about_hidden(hidden: pd.DataFrame) -> list[str]:
    """Whether hidden states follow their own words, corpus by corpus."""
    said = []
    for dataset, part in hidden[hidden["projection"].isin(PAIR)].groupby("dataset", sort=False):
        table = summarise(part, ["encoder", "projection"])
        if table["value"].isna().all():
            said.append(f"{dataset}: no hidden state has an entropy, for want of a text with two words or more.")
            continue
        least, most = table.loc[table["value"].idxmin()], table.loc[table["value"].idxmax()]
        both = part.groupby(["encoder", "projection"])[["own", "even"]].mean()
        own, times = both["own"], both["own"] / both["even"]
        missing = int(table["missing"].sum())
        alone = (
            f" States of one-token texts, or that no word moves, have no entropy and are left out: {missing:,}."
            if missing
            else ""
        )
        said += [
            f"{dataset}: mean entropies run from **{least['value']:.2f}** ({ENCODERS[least['encoder']]}, "
            f"{least['projection']}) to **{most['value']:.2f}** ({ENCODERS[most['encoder']]}, "
            f"{most['projection']}), on {plural(int(part['instance'].nunique()), 'text')}.{alone}",
            f"Entropy hides whose influence it is: in {dataset} the word at a state's own place has between "
            f"{percent(own.min())} and {percent(own.max())} of it on average, {times.min():.1f} to "
            f"{times.max():.1f} times an even share.",
        ]
    return said


def about_agreement(agreement: pd.DataFrame, kind: str) -> list[str]:
    """Hidden states against inputs, model by model."""
    part = agreement[agreement["projection"].isin(PAIR)]
    by = ["dataset", "encoder", "projection"]
    found = contrast(part, "importance", f"{kind}_hidden", f"{kind}_input", by)
    said = []
    for _, row in found.iterrows():
        where = "more" if row["low"] > 0 else "less" if row["high"] < 0 else "no more and no less"
        said.append(
            f"{_where(row)}, {row['projection']}: attention agrees **{where}** with hidden states "
            f"(τ {row['a']:.2f}) than with inputs ({row['b']:.2f}); difference {row['estimate']:.2f}, 95% interval "
            f"{row['low']:.2f} to {row['high']:.2f}, Holm-corrected {chance(row['p_holm'])}, n = {row['n']:,}."
        )
    return said


def about_ties(agreement: pd.DataFrame, entropies: pd.DataFrame) -> list[str]:
    """What had no order, and how much of the order is ties in the model with the fewest words that have weight."""
    share = labelled(entropies[entropies["metric"] == "support_share"])
    support = share.groupby(["dataset", "model"], sort=False)["value"].mean()
    said = []
    for dataset, frame in labelled(agreement).groupby("dataset", sort=False):
        lost = int((frame["status"] != "ordered").sum())
        sparsest = support[dataset].idxmin()
        tied = frame.loc[frame["model"] == sparsest, "tied"].mean()
        pairs = f"**{percent(tied)}** of pairs of words have equal weight" if tied else "no pair of words is tied"
        said.append(
            f"{dataset}: {plural(lost, 'measurement')} of {len(frame):,} had no order to compare. In the sparsest "
            f"model, {sparsest}, {pairs}."
        )
    return [
        *said,
        "Where most pairs are tied, tau-b speaks of the few that are left; a high value says little more than that "
        "both sides name the same.",
    ]


def about_entropy(entropies: pd.DataFrame) -> list[str]:
    """Does importance become sparse with attention?"""
    said = []
    for metric, words in (("entropy_gradient_input", "gradient"), ("entropy_leave_one_out_input", "leave-one-out")):
        part = entropies[entropies["metric"] == metric]
        found = contrast(part, "projection", "sparsemax", "softmax", ["dataset", "encoder"])
        for _, row in found.iterrows():
            where = "higher" if row["low"] > 0 else "lower" if row["high"] < 0 else "neither higher nor lower"
            said.append(
                f"{_where(row)}: the entropy of {words} importance is **{where}** with sparsemax "
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
    """What other attention costs, where the claims look: at the weakest push that moves it FAR."""
    if duels.empty:
        return ["There is no adversary: none was asked for, or every one failed."]
    said = [
        f"Each at the weakest push λ that takes attention more than {FAR} nats from its base's on average; where "
        "none does, at the one that takes it farthest, which decides nothing."
    ]
    for _, row in least_push(duels).iterrows():
        kind = row["variant"].removeprefix("adversary_")
        quiet = " Too near to decide anything." if row["silent"] else ""
        said.append(
            f"{_where(row)}, {row['projection']}, {kind}, {row['note']}: accuracy {percent(row['b'])} → "
            f"{percent(row['a'])} ({100 * row['estimate']:+.1f} points, 95% interval {100 * row['low']:+.1f} to "
            f"{100 * row['high']:+.1f}; n = {row['n']:,}).{quiet}"
        )
    return said


def about_claims(claims: list[Claim]) -> list[str]:
    """The count of verdicts."""
    kinds = ("reproduced", "not reproduced", "undetermined")
    counts = {kind: sum(claim.verdict == kind for claim in claims) for kind in kinds}
    return [f"Of {len(claims)} claims: " + ", ".join(f"**{n}** {kind}" for kind, n in counts.items()) + "."]


def _trend_words(part: pd.DataFrame, what: str) -> str:
    found = trend(part, ["dataset", "encoder"])
    texts = interval_text(found)
    each = [
        f"{_where(row)} **{text}**, {row['note']}" for (_, row), text in zip(found.iterrows(), texts, strict=True)
    ]
    least = found["least_p"].max()
    few = f" So few models cannot give a p below {least:.3f}, and no trend is decided." if least >= LEVEL else ""
    return f"Kendall τ-b between {what}: " + "; ".join(each) + f" (permutation test).{few}"


def _where(row: pd.Series) -> str:
    """Corpus and encoder of a row: two corpora may stand side by side."""
    return f"{row['dataset']}, {ENCODERS[row['encoder']]}"
