"""Sentences of the notebook on sparse attention, computed from its frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attnlib.reports.tabular import p_said
from attnlib.studies.common import DIFFERS, contrast, interval_text, missing, summarise
from attnlib.studies.datasets import kin
from attnlib.studies.f1 import about_idle
from attnlib.studies.sparsity.claims import MARGIN
from attnlib.studies.sparsity.grid import ENCODERS, KEYS, Results, unlearned
from attnlib.studies.sparsity.params import PAIR
from attnlib.studies.sparsity.tables import FAR, labelled, least_push
from attnlib.studies.sparsity.trainings import contrast_trainings
from attnlib.studies.sparsity.trends import LEVEL
from attnlib.utils.text import duration, percent, plural

FOLLOWED = {
    "support": "the share of words with weight",
    "hidden": "the entropy of inputs' influence on hidden states",
    "entropy": "the entropy of gradient importance",
    "gradient": "the agreement with gradient importance",
    "leave_one_out": "the agreement with leave-one-out importance",
}
"""The trends along lambda in words."""


def about_grid(results: Results) -> list[str]:
    """What was computed, what is missing, and which models learned nothing."""
    models = results.right[[*KEYS, "seed"]].drop_duplicates()
    return [results.grid.summary, *missing(results.grid), *about_idle(unlearned(results), len(models))]


def about_kin(datasets: Iterable[str]) -> list[str]:
    """Where a corpus is shown next to one of the paper's and is not the same."""
    return [DIFFERS[name] for name in dict.fromkeys(datasets) if name in DIFFERS]


def not_the_same(datasets: Iterable[str]) -> str:
    """For captions with a paper's column: whose values it has, where that is not the same corpus; else nothing."""
    pairs = [f"{name} and the paper's {kin(name)}" for name in dict.fromkeys(datasets) if name in DIFFERS]
    return f" Not the same texts: {', '.join(pairs)} (see the first table)." if pairs else ""


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
            f"({texts}), took **{_seconds(table.median())}** per model on {device} (median of "
            f"{plural(len(own), 'model')}, longest {_seconds(table.max())}); every reading of a model together "
            f"{_seconds(whole.median())}."
        )
    return said


def _seconds(seconds: float) -> str:
    """`0.42 s`, `7.3 s`, and minutes from sixty on."""
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def about_support(entropies: pd.DataFrame) -> list[str]:
    """How many words the projections leave with weight."""
    part = labelled(entropies[entropies["metric"] == "support_share"])
    said = []
    for _, own in part.groupby(["dataset", "encoder"], sort=False):
        means = own.groupby("model", sort=False)["value"].mean()
        least = means.idxmin()
        whole = own.loc[own["projection"] == "sparsemax", "value"].dropna().eq(1).mean()
        said.append(
            f"{_where(own.iloc[0])}: {_softmax(own)}, sparsemax to "
            f"**{percent(means.get('sparsemax', np.nan))}** of them"
            + (f", and {least} to {percent(means.min())}." if least not in PAIR else ".")
            + f" Sparsemax leaves {percent(whole)} of texts whole."
        )
    return said


def _softmax(shares: pd.DataFrame) -> str:
    """Softmax gives weight to every word, as far as single precision can write it."""
    own = shares.loc[shares["projection"] == "softmax", "value"].dropna()
    if own.eq(1).all():
        return "softmax gives weight to every word"
    share = percent(own.lt(1).mean())
    return f"softmax gives weight to every word, yet single precision rounds some to zero in {share} of texts"


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
        if np.isnan(row["estimate"]):
            said.append(
                f"{_where(row)}, {row['projection']}: no text has an order that attention could agree with."
            )
            continue
        where = "more" if row["low"] > 0 else "less" if row["high"] < 0 else "no more and no less"
        said.append(
            f"{_where(row)}, {row['projection']}: attention agrees **{where}** with hidden states "
            f"(τ {row['a']:z.2f}) than with inputs ({row['b']:z.2f}); difference {row['estimate']:z.2f}, 95% CI "
            f"[{row['low']:z.2f}, {row['high']:z.2f}], n = {row['n']:,}, Holm-corrected "
            f"{p_said(row['p_holm'])}."
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
        if np.isnan(tied):
            said.append(f"{dataset}: no text has two words, so there is no order to compare and nothing to tie.")
            continue
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
        found = contrast_trainings(part, "projection", "sparsemax", "softmax", ["dataset", "encoder"])
        said += [_entropy_words(row, words) for _, row in found.iterrows()]
    return said


def _entropy_words(row: pd.Series, words: str) -> str:
    """Sparsemax against softmax in one cell, with the margin that the ledger allows."""
    if np.isnan(row["estimate"]):
        return f"{_where(row)}: {words} importance has no entropy, for want of a text with two words or more."
    numbers = (
        f"difference {row['estimate']:.3f}, 95% interval {row['low']:.3f} to {row['high']:.3f}, n = {row['n']:,}, "
        f"{plural(row['seeds'], 'seed')}"
    )
    sides = f"with sparsemax ({row['a']:.2f}) than with softmax ({row['b']:.2f})"
    if row["silent"]:
        what = f"whether the entropy of {words} importance is lower {sides} is not decided, {row['note']}"
        return f"{_where(row)}: {what}; {numbers}."
    where = "higher" if row["low"] > 0 else "lower" if row["high"] < 0 else "neither higher nor lower"
    little = (
        f", by less than the {MARGIN} that the claim lets pass" if -MARGIN < row["low"] <= row["high"] < 0 else ""
    )
    return f"{_where(row)}: the entropy of {words} importance is **{where}** {sides}{little}; {numbers}."


def about_trends(trended: dict[str, pd.DataFrame], *names: str) -> list[str]:
    """The trends of these names (keys of FOLLOWED), a sentence each."""
    return [_trend_words(trended[name], f"λ and {FOLLOWED[name]}") for name in names]


def about_lambda(trended: dict[str, pd.DataFrame]) -> list[str]:
    """Table 2 in words, with its sign."""
    return [
        "Sign: λ as in equation 3, so a **larger λ is sparser**. A negative value means that sparser attention "
        "goes with less spread importance, a positive one with more.",
        *about_trends(trended, "entropy"),
    ]


def about_entmax(agreement: pd.DataFrame, entropies: pd.DataFrame) -> list[str]:
    """Agreement on the second path, between softmax and sparsemax."""
    by = ["dataset", "encoder", "alpha"]
    tau = agreement.pivot_table(index=by, columns="importance", values="value")
    share = entropies[(entropies["metric"] == "support_share") & entropies["alpha"].notna()]
    share = share.groupby(by, sort=False)["value"].mean()
    said = []
    for (dataset, encoder), own in tau.groupby(level=["dataset", "encoder"], sort=False):
        steps = [
            f"α = {place[-1]:g} ({percent(share[place])} of words with weight) {row['gradient_input']:z.2f} and "
            f"{row['leave_one_out_input']:z.2f}"
            for place, row in own.sort_index(level="alpha").iterrows()
        ]
        where = _where({"dataset": dataset, "encoder": encoder})
        said.append(f"{where}, along entmax: agreement with gradient and leave-one-out, " + "; ".join(steps) + ".")
    return said


def about_adversaries(duels: pd.DataFrame) -> list[str]:
    """What other attention costs, where the claims look: at the weakest push that moves it FAR."""
    if duels.empty:
        return ["There is no adversary: none was asked for, or every one failed."]
    said = [
        f"Each at the weakest push λ that takes attention more than {FAR} nats from its base's on average; where "
        "none does, at the one that takes it farthest, which decides nothing."
    ]
    return said + [_duel_words(row) for _, row in least_push(duels).iterrows()]


def _duel_words(row: pd.Series) -> str:
    """One adversary, with its control."""
    kind = row["variant"].removeprefix("adversary_")
    control = (
        " There is no control."
        if np.isnan(row["control"])
        else f" Its control, not pushed, is {row['control_jsd']:.2f} nats away and changes accuracy by "
        f"{_points(row, 'control', 'control_low', 'control_high')}."
    )
    quiet = " Nothing is decided." if row["silent"] else ""
    return (
        f"{_where(row)}, {row['projection']}, {kind}, {row['note']}: accuracy {percent(row['b'])} → "
        f"{percent(row['a'])} ({_points(row, 'estimate', 'low', 'high')}; n = {row['n']:,}).{control}{quiet}"
    )


def _points(row: pd.Series, value: str, low: str, high: str) -> str:
    """`-1.2 points, 95% interval -2.0 to -0.4`."""
    return f"{100 * row[value]:+.1f} points, 95% interval {100 * row[low]:+.1f} to {100 * row[high]:+.1f}"


def _trend_words(found: pd.DataFrame, what: str) -> str:
    if found.empty:
        return f"There is no trend between {what}: no model along λ learned anything."
    texts = interval_text(found)
    each = [
        f"{_where(row)} {row['note'] if np.isnan(row['value']) else f'**{text}**, ' + row['note']}"
        for (_, row), text in zip(found.iterrows(), texts, strict=True)
    ]
    least = found["least_p"].max()
    few = f" So few models cannot give a p below {least:.3f}, and no trend is decided." if least >= LEVEL else ""
    return f"Kendall τ-b between {what}: " + "; ".join(each) + f" (permutation test).{few}"


def _where(row: pd.Series | dict) -> str:
    """Corpus and encoder of a row: a run may have several corpora."""
    return f"{row['dataset']}, {ENCODERS[row['encoder']]}"
