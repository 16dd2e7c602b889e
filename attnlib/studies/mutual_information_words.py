"""Sentences of the notebook on attention ranks and information, computed from its frames; and its checks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib.claims import Claim
from attnlib.narrate import percent, plural
from attnlib.stats import bootstrap
from attnlib.studies.common import contrast, summarise
from attnlib.studies.mutual_information import NAMES, Params, Results, grid
from attnlib.studies.mutual_information_tables import (
    ESTIMATES,
    SAME,
    deltas,
    gumbel_pairs,
    plain,
    seed_differences,
    uniformity,
)


def setting(params: Params) -> str:
    """Corpora, models and seeds in one line, for the ledger."""
    encoders = ", ".join(NAMES[e] for e in params.encoders)
    attentions = ", ".join(NAMES[a] for a in params.attentions)
    tested = "all" if params.texts is None else f"{params.texts:,}"
    text = f"{', '.join(params.corpora)} with {encoders}"
    if params.query_corpora:
        text += f"; {', '.join(params.query_corpora)} with {', '.join(NAMES[e] for e in params.query_encoders)}"
    return f"{text}; {attentions}; {plural(len(params.seeds), 'seed')}, {tested} test texts"


def about_grid(results: Results) -> list[str]:
    """What was computed, and what is missing."""
    said = [results.grid.summary]
    for _, row in results.grid.failures.iterrows():
        said.append(f"**Missing:** {row['run']}: {row['error']}: {row['message']}")
    return said


def about_choices(taus: pd.DataFrame) -> list[str]:
    """k and N in words, and what the paper's condition meets."""
    part = plain(taus)
    lone = int((part["smallest"] < 2).sum())
    ks, ns = part["k"], part["clusters"]
    said = [
        f"**k** runs from {ks.min()} to {ks.max()} ranks and **N** from {ns.min()} to {ns.max()} clusters, over "
        f"{plural(len(part), 'model')}; N is one for all ranks of a model."
    ]
    if lone:
        said.append(
            f"In {lone} of them even the smallest N on offer leaves a cluster with one state at the first rank: "
            "the paper's condition cannot be met with so few test texts, and that N is used all the same."
        )
    return said


def about_curves(ranks: pd.DataFrame, dataset: str, encoder: str, seed: int) -> list[str]:
    """How information falls with the rank, above its floor."""
    part = plain(ranks)
    part = part[(part["dataset"] == dataset) & (part["encoder"] == encoder) & (part["seed"] == seed)]
    said = []
    for attention, own in part.groupby("attention", sort=False):
        own = own.sort_values("rank")
        first, last = own.iloc[0], own.iloc[-1]
        best = int(own.loc[own["information"].idxmax(), "rank"])
        said.append(
            f"{NAMES[attention]}: rank 1 carries **{first['information']:.2f}** nats (floor {first['floor']:.2f}) "
            f"at mean weight {first['alpha']:.2f}, rank {int(last['rank'])} carries {last['information']:.2f} "
            f"(floor {last['floor']:.2f}) at {last['alpha']:.3f}; the most informative rank is {best}."
        )
    return said


def about_taus(taus: pd.DataFrame) -> list[str]:
    """Attentions against each other, and the best cell."""
    part = plain(taus)
    means = part.groupby("attention", sort=False)["tau"].mean()
    said = ["Mean weighted τ: " + ", ".join(f"{NAMES[a]} **{value:.2f}**" for a, value in means.items()) + "."]
    for other in ("additive", "deep"):
        if {other, "dot"} <= set(part["attention"]):
            row = contrast(part, "attention", other, "dot", pair=["dataset", "encoder"]).iloc[0]
            said.append(f"{NAMES[other]} minus Dot: {_difference(row)}")
    cells = summarise(part, ["encoder", "attention"]).sort_values("value", ascending=False)
    top = cells.iloc[0]
    said.append(
        f"The highest mean has {NAMES[top['encoder']]} with {NAMES[top['attention']]} attention, "
        f"**{top['value']:.2f}** over {plural(int(top['n']), 'model')}."
    )
    return said


def _difference(row: pd.Series) -> str:
    where = "above zero" if row["low"] > 0 else "below zero" if row["high"] < 0 else "which covers zero"
    if np.isnan(row["low"]):
        return f"{row['estimate']:+.2f} (one pair, no interval)."
    return (
        f"**{row['estimate']:+.2f}** (95% interval {row['low']:+.2f} to {row['high']:+.2f}, {where}; "
        f"n = {row['n']} pairs of models)."
    )


def about_estimators(taus: pd.DataFrame) -> list[str]:
    """Whether the order of attentions survives another estimate."""
    part = plain(taus)
    orders = {c: tuple(part.groupby("attention")[c].mean().sort_values(ascending=False).index) for c in ESTIMATES}
    same = [c for c in ESTIMATES if orders[c] == orders["tau"]]
    order = " > ".join(NAMES[a] for a in orders["tau"])
    apart = (part["tau"] - part["tau_neighbours"]).abs()
    return [
        f"The order of the paper's estimate here is {order}; **{len(same)} of {len(ESTIMATES)}** estimates give "
        f"that order. Between clusters and neighbours, τ of a model differs by {apart.mean():.2f} on average and "
        f"by {apart.max():.2f} at most."
    ]


def about_deltas(taus: pd.DataFrame, variants: list[str]) -> list[str]:
    """What τ loses in a special setting, corpus by corpus."""
    said = []
    for _, row in deltas(taus, variants).iterrows():
        said.append(f"{row['dataset']}, {NAMES[row['variant']]}: τ loses {_difference(row)}")
    return said


def about_adversaries(apart: pd.DataFrame) -> list[str]:
    """How far the adversaries got."""
    said = []
    for dataset, part in apart.groupby("dataset", sort=False):
        said.append(
            f"{dataset}: the adversaries' attention is **{part['jsd'].mean():.2f}** nats (JSD, at most 0.69) from "
            f"their bases', their outputs differ by {part['tvd'].mean():.3f} (TVD), and accuracy goes from "
            f"{percent(part['right_base'].mean())} to {percent(part['right_adversary'].mean())}."
        )
    return said


def about_gumbel(taus: pd.DataFrame) -> list[str]:
    """N of M in words, and whether Gumbel-softmax is less uniform at all."""
    pairs = gumbel_pairs(taus)
    if not len(pairs):
        return ["No Gumbel models were part of this run."]
    found = bootstrap(pairs["kept"].astype(float).to_numpy())
    sharper = int((pairs["entropy_gumbel"] < pairs["entropy_softmax"]).sum())
    return [
        f"τ rises or stays (falls by less than {SAME}) in **{int(pairs['kept'].sum())} of {len(pairs)}** settings, "
        f"{percent(found.estimate)} (95% interval {percent(found.low)} to {percent(found.high)}); the mean change "
        f"is {pairs['change'].mean():+.2f}.",
        f"The paper's reason would be that attention gets less uniform. It does in **{sharper} of {len(pairs)}** "
        f"settings: mean normalised entropy {pairs['entropy_softmax'].mean():.2f} with softmax, "
        f"{pairs['entropy_gumbel'].mean():.2f} with Gumbel-softmax.",
    ]


def about_uniformity(taus: pd.DataFrame) -> list[str]:
    """τ against entropy."""
    found = uniformity(taus)
    return [
        f"Kendall τ-b between a model's τ and its entropy, within corpora: **{found.estimate:.2f}** (95% interval "
        f"{found.low:.2f} to {found.high:.2f}; n = {found.n} models)."
    ]


def about_stability(taus: pd.DataFrame) -> list[str]:
    """Seeds against each other, beside what texts alone do."""
    part = plain(taus)
    apart = [d for _, own in part.groupby(["dataset", "encoder", "attention"]) for d in seed_differences(own)]
    if not apart:
        return ["One seed: nothing to compare."]
    texts = ((part["high"] - part["low"]) / 2).median()
    return [
        f"Two seeds differ by **{np.mean(apart):.2f}** in τ on average and by {np.max(apart):.2f} at most (paper: "
        "0.02 and 0.05, BiLSTM with additive attention). Another sample of texts would move a typical τ by "
        f"±{texts:.2f}."
    ]


def about_claims(claims: list[Claim]) -> list[str]:
    """The count of verdicts."""
    kinds = ("reproduced", "not reproduced", "undetermined")
    counts = {kind: sum(claim.verdict == kind for claim in claims) for kind in kinds}
    return [f"Of {len(claims)} claims: " + ", ".join(f"**{n}** {kind}" for kind, n in counts.items()) + "."]


def checks(params: Params, results: Results) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    taus, ranks = results.taus, results.ranks
    expected = sum(run.task.endswith(":by_rank") for run in grid(params))
    by_model = ranks.groupby(["dataset", "encoder", "attention", "projection", "variant", "seed"])
    return {
        "every model of the grid was measured": len(taus) == expected and not len(results.grid.failures),
        "tau lies between -1 and 1": bool(taus["tau"].between(-1, 1).all()),
        "mean attention falls with the rank": all(own["alpha"].diff().max() <= 0.02 for _, own in by_model),
        "information is not negative": bool((ranks["information"] >= 0).all()),
        "a model has as many ranks as its k": bool((by_model.size().sort_index() == _ks(taus).sort_index()).all()),
        "the entropy of attention lies between 0 and 1": bool(taus["entropy"].between(0, 1).all()),
    }


def _ks(taus: pd.DataFrame) -> pd.Series:
    return taus.set_index(["dataset", "encoder", "attention", "projection", "variant", "seed"])["k"]
