"""Sentences of the notebook on attention ranks and information, computed from its frames; and its checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from attnlib.studies.common import missing, summarise
from attnlib.studies.datasets import short
from attnlib.studies.mutual_information.claims import CLOSE, LOST, MOVED, silent_adversaries
from attnlib.studies.mutual_information.grid import LAMBDA, MAIN, NAMES, Params, Results, adversary_lambda, grid
from attnlib.studies.mutual_information.intervals import (
    averaged,
    idle,
    of_main,
    paired,
    plain,
    seed_gap,
    share,
    shared,
    uniformity,
    without_idle,
)
from attnlib.studies.mutual_information.tables import ESTIMATES, SAME, deltas, gumbel_pairs, paper_total
from attnlib.utils.text import percent, plural

MODEL = ("dataset", "encoder", "attention", "projection", "variant")


def setting(params: Params) -> str:
    """Corpora, models and seeds in one line, for the ledger."""
    attentions = ", ".join(NAMES[a] for a in params.attentions)
    tested = "all" if params.texts is None else f"at most {params.texts:,}"
    lists = [
        f"{', '.join(map(short, names))} with {', '.join(NAMES[e] for e in encoders)}"
        for names, encoders in _lists(params)
    ]
    return f"{'; '.join(lists)}; {attentions}; {plural(len(params.seeds), 'seed')}, {tested} test texts"


def _lists(params: Params) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The two lists of corpora with their encoders, without an empty one."""
    both = ((params.corpora, params.encoders), (params.query_corpora, params.query_encoders))
    return [(names, encoders) for names, encoders in both if names]


def about_grid(params: Params, results: Results) -> list[str]:
    """What was asked for and computed, what is missing, and which models learned nothing."""
    said = []
    for names, encoders in _lists(params):
        kinds = f"{plural(len(encoders), 'encoder')} × {plural(len(params.attentions), 'attention')}"
        query = ", with a query" if names == params.query_corpora else ""
        said.append(f"{kinds} for {', '.join(map(short, names))}{query}.")
    said = [" ".join([*said, results.grid.summary]), *about_ablated(params)]
    return [*said, *missing(results.grid), *about_thin(results.taus), *about_idle(results.taus)]


def about_thin(taus: pd.DataFrame) -> list[str]:
    """The corpora with too few test texts for the numbers of clusters asked for."""
    return [
        f"**{short(name)} has {plural(int(own['n'].max()), 'test text')}**, fewer than two for each cluster asked "
        f"for. It is measured with {plural(int(own['clusters'].max()), 'cluster')} and shown; means, differences, "
        "counts and claims leave it out."
        for name, own in taus[taus["thin"]].groupby("dataset", sort=False)
    ]


def about_ablated(params: Params) -> list[str]:
    """The corpora whose list has no model to ablate, or to train adversaries against, though seeds ask for it."""
    name = f"{NAMES[MAIN[0]]} with {NAMES[MAIN[1]].lower()} attention"
    said = []
    for names, encoders in _lists(params):
        if params.ablation_seeds and MAIN[0] not in encoders:
            said.append(f"**No ablations for {', '.join(map(short, names))}:** {name} is not among their models.")
    if params.adversary_seeds and (not params.corpora or MAIN[0] not in params.encoders):
        said.append(f"**No adversaries:** they are of {name}, for texts to classify, and this run has none.")
    return said


def about_idle(taus: pd.DataFrame, named: int = 6) -> list[str]:
    """The models that learned nothing, the first of them by name."""
    flat = taus[idle(taus)]
    if not len(flat):
        return []
    return [
        f"**{len(flat)} of {plural(len(taus), 'model')} learned nothing** (no more accurate than always predicting "
        f"the most frequent class, or one output for all texts): {_names(flat, MODEL, named)}. Figures show them; "
        "means, differences, counts and the ledger leave them out, and their pairs."
    ]


def _names(models: pd.DataFrame, columns: Sequence[str], named: int) -> str:
    """The first of the models by name, and how many more there are."""
    names = [
        " ".join(NAMES.get(row[c], short(row[c])) for c in columns) + f" (seed {row['seed']})"
        for _, row in models.head(named).iterrows()
    ]
    return "; ".join(names) + (f"; and {len(models) - named} more" if len(models) > named else "")


def left_out(taus: pd.DataFrame) -> str:
    """For captions: how many models are not part of a table, since they learned nothing or have too few texts."""
    n = len(taus) - len(without_idle(taus))
    why = "learned nothing or had too few test texts" if taus["thin"].any() else "learned nothing"
    return f" Without {plural(n, 'model')} of {len(taus):,} that {why}." if n else ""


def _span(counts: pd.Series) -> str:
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


def about_choices(taus: pd.DataFrame, named: int = 6) -> list[str]:
    """k and N in words, what the paper's condition meets, and where fewer clusters than N are occupied."""
    part = plain(taus)
    lone = int((part["smallest"] < 2).sum())
    ks, ns = part["k"], part["clusters"]
    said = [
        f"**k** is {_span(ks)} ranks and **N** {_span(ns)} clusters at most, over {plural(len(part), 'model')}; N "
        "is one for all ranks of a model."
    ]
    if lone:
        said.append(
            f"In {lone} of them even the smallest N on offer leaves a cluster with one state at the first rank: "
            "the paper's condition cannot be met with so few test texts, and that N is used all the same."
        )
    uneven = part[part["occupied_least"] < part["occupied_most"]]
    if len(uneven):
        said.append(
            f"In **{len(uneven)} of {plural(len(part), 'model')}** the number of occupied clusters changes with "
            f"the rank, by {_span(uneven['occupied_most'] - uneven['occupied_least'])}, and the bias with it: "
            f"{_names(uneven, MODEL[:3], named)}. For them the row “minus shuffled” of the estimates is the one to "
            "read."
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
    """Attentions against each other, and the best cell on the corpora that have all of them."""
    part = plain(taus)
    if not len(part):
        return ["No model learned anything, so there is no τ to compare."]
    alike = shared(part, ["attention"])
    means = alike.groupby("attention", sort=False)["tau"].mean()
    said = ["Mean weighted τ: " + ", ".join(f"{NAMES[a]} **{value:.2f}**" for a, value in means.items()) + "."]
    for other in ("additive", "deep"):
        if {other, "dot"} <= set(part["attention"]):
            row = paired(part, "attention", other, "dot", pair=["dataset", "encoder"]).iloc[0]
            said.append(f"{NAMES[other]} minus Dot: {_difference(row)}")
    full = shared(part, ["encoder", "attention"])
    if not len(full):
        return [*said, "No corpus has every encoder with every attention: cells are compared by corpus alone."]
    cells = averaged(full, ["encoder", "attention"])
    if len(cells) < 2:
        return said
    top = cells.sort_values("value", ascending=False).iloc[0]
    names = ", ".join(map(short, dict.fromkeys(full["dataset"])))
    said.append(
        f"On {names}, measured with every encoder and attention, the highest mean has "
        f"{NAMES[top['encoder']]} with {NAMES[top['attention']]} attention: **{top['value']:.2f}**"
        f"{_between(top['low'], top['high'])} over {plural(int(top['n']), 'model')}."
    )
    return said


def _between(low: float, high: float, digits: int = 2) -> str:
    return "" if np.isnan(low) else f" (95% interval {low:z.{digits}f} to {high:z.{digits}f})"


def _difference(row: pd.Series) -> str:
    if not row["n"]:
        return "no pair of models has a τ on both sides."
    if np.isnan(row["low"]):
        return f"{row['estimate']:+z.2f} ({plural(int(row['n']), 'pair')} of models: too few for an interval)."
    where = "above zero" if row["low"] > 0 else "below zero" if row["high"] < 0 else "which covers zero"
    return (
        f"**{row['estimate']:+z.2f}** (95% interval {row['low']:+z.2f} to {row['high']:+z.2f}, {where}; "
        f"n = {plural(int(row['n']), 'pair')} of models)."
    )


def about_estimators(taus: pd.DataFrame) -> list[str]:
    """Whether the order of attentions survives another estimate."""
    part = plain(taus)
    apart = (part["tau"] - part["tau_neighbours"]).abs()
    told = (
        f"Between clusters and neighbours, τ of a model differs by {apart.mean():.2f} on average and by "
        f"{apart.max():.2f} at most."
    )
    if apart.isna().all():
        return ["No model has a τ to compare."]
    if part["attention"].nunique() < 2:
        return [told]
    orders = {c: tuple(part.groupby("attention")[c].mean().sort_values(ascending=False).index) for c in ESTIMATES}
    same = [c for c in ESTIMATES if orders[c] == orders["tau"]]
    order = " > ".join(NAMES[a] for a in orders["tau"])
    return [
        f"The order of the paper's estimate here is {order}; **{len(same)} of {len(ESTIMATES)}** estimates give "
        f"that order. {told}"
    ]


def about_deltas(taus: pd.DataFrame, variants: list[str]) -> list[str]:
    """What τ loses in a special setting, corpus by corpus."""
    said: list[str] = []
    for _, row in deltas(taus, variants).iterrows():
        name = "Δτ = " if row["n"] else ""  # a loss, as in the tables; "loses -0.02" would be read twice
        said.append(f"{short(row['dataset'])}, {NAMES[row['variant']]}: {name}{_difference(row)}")
    kind = "adversaries" if "adversary_unfrozen" in variants else "ablations"
    return said or [f"This run has no {kind} to compare."]


def about_adversaries(apart: pd.DataFrame) -> list[str]:
    """How far the adversaries got, and whether they are adversaries at all."""
    if not len(apart):
        return []
    silent = silent_adversaries(apart)
    jsd, tvd = (summarise(apart.assign(value=apart[c]), ["dataset"]) for c in ("jsd", "tvd_trained"))
    said = []
    for (dataset, part), far, near in zip(
        apart.groupby("dataset", sort=False), jsd.itertuples(), tvd.itertuples(), strict=True
    ):
        right = [percent(part[f"right_{side}"].mean()) for side in ("base", "adversary")]
        said.append(
            f"{short(dataset)}: the adversaries' attention is **{far.value:.3f}** nats"
            f"{_between(far.low, far.high, 3)} (JSD, at most 0.69) from their bases', their outputs differ by "
            f"{near.value:.3f} (TVD as trained), and accuracy goes from {right[0]} to {right[1]}; "
            f"n = {part['instance'].nunique():,} texts × {plural(part['seed'].nunique(), 'model')}."
        )
        if silent[dataset]:
            said.append(
                f"These are no adversaries in the paper's sense (JSD {MOVED} at least, TVD as trained at most "
                f"{CLOSE}, a loss of accuracy below {LOST}): what τ does on {short(dataset)} decides nothing about "
                "the claim."
            )
    return said + about_lambdas(apart["dataset"].unique())


def about_lambdas(datasets: Iterable[str]) -> list[str]:
    """The corpora for which the paper has no λ, and whose is used."""
    known = {name: adversary_lambda(name) for name in datasets}
    lone = [short(name) for name, (_, whose) in known.items() if not whose.startswith("paper: ")]
    return (
        [f"The paper has no λ for {', '.join(lone)}: its most frequent one, {LAMBDA:g}, is used."] if lone else []
    )


def about_gumbel(taus: pd.DataFrame) -> list[str]:
    """N of M in words, and whether Gumbel-softmax is less uniform at all."""
    pairs = gumbel_pairs(taus)
    if not len(pairs):
        return ["This run has no Gumbel models to compare."]
    found = share(pairs["kept"])
    between = f" (exact 95% interval {percent(found.low)} to {percent(found.high)})"
    sharper = int((pairs["entropy_gumbel"] < pairs["entropy_softmax"]).sum())
    return [
        f"τ rises or stays (falls by less than {SAME}) in **{int(pairs['kept'].sum())} of {len(pairs)}** settings "
        f"(paper: {paper_total()}), {percent(found.estimate)}{between}; the mean change is "
        f"{pairs['change'].mean():+.2f}.",
        f"The paper's reason would be that attention gets less uniform. It does in **{sharper} of {len(pairs)}** "
        f"settings: mean normalised entropy {pairs['entropy_softmax'].mean():.2f} with softmax, "
        f"{pairs['entropy_gumbel'].mean():.2f} with Gumbel-softmax.",
    ]


def about_uniformity(taus: pd.DataFrame) -> list[str]:
    """τ against entropy."""
    found = uniformity(taus)
    if np.isnan(found.estimate):
        return ["Too few models of a corpus to compare their τ with their entropy."]
    return [
        f"Kendall τ-b between a model's τ and its entropy, within corpora: **{found.estimate:.2f}**"
        f"{_between(found.low, found.high)}; n = {plural(found.n, 'setting')}."
    ]


def about_stability(taus: pd.DataFrame) -> list[str]:
    """Seeds against each other, in the paper's setting and in all, and what texts alone do."""
    part = plain(taus)
    said = []
    for name, own, paper in (
        (f"{NAMES[MAIN[0]]} with {NAMES[MAIN[1]].lower()} attention", of_main(part), " (paper: 0.02 and 0.05)"),
        ("All encoders and attentions", part, ""),
    ):
        mean, largest = seed_gap(own)
        if mean.n:
            said.append(
                f"{name}: two seeds differ by **{mean.estimate:.2f}**{_between(mean.low, mean.high)} in τ on "
                f"average and by {largest:.2f} at most{paper}; n = {plural(mean.n, 'pair')} of seeds."
            )
    if not said:
        return ["No two seeds of one setting to compare."]
    texts = part["over_texts"].median()
    return [*said, f"Another sample of texts would move a typical τ by ±{texts:.2f}."]


def about_start(params: Params) -> list[str]:
    """How the learned query vector of dot attention starts, where there is one."""
    if "dot" not in params.attentions:
        return []
    how = {
        "kaiming": "as torch draws a linear layer, as in the code the paper builds on",
        "normal": "from the normal distribution N(0, 1), which is not what the code the paper builds on does",
    }
    return [f"Without a query, the vector q of dot attention starts here {how[params.dot_init]}."]


def checks(params: Params, results: Results) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    taus, ranks = results.taus, results.ranks
    expected = sum(run.task.endswith(":by_rank") for run in grid(params))
    by_model = ranks.groupby(["dataset", "encoder", "attention", "projection", "variant", "seed"])
    return {
        "every model of the grid was measured": len(taus) == expected and not len(results.grid.failures),
        "tau lies between -1 and 1": bool(taus["tau"].dropna().between(-1, 1).all()),
        "mean attention falls with the rank": all(own["alpha"].diff().max() <= 0.02 for _, own in by_model),
        "information is not negative": bool((ranks["information"] >= 0).all()),
        "a model has as many ranks as its k": bool((by_model.size().sort_index() == _ks(taus).sort_index()).all()),
        "the entropy of attention lies between 0 and 1": bool(taus["entropy"].dropna().between(0, 1).all()),
    }


def _ks(taus: pd.DataFrame) -> pd.Series:
    return taus.set_index(["dataset", "encoder", "attention", "projection", "variant", "seed"])["k"]
