"""What the erasure notebook says about its numbers: sentences computed from its frames, and its checks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import contrast, missing, summarise
from attnlib.studies.datasets import short
from attnlib.studies.erasure.grid import (
    ALONE,
    RANKINGS,
    TOPS,
    UNSHARED,
    Params,
    Results,
    common_set,
    compared,
    several,
)
from attnlib.studies.erasure.rules import idle
from attnlib.studies.erasure.tables import CLOSE, LARGE, MODEL, NAMES, STAND_INS, duel, model_name, outcomes
from attnlib.studies.reference import reference
from attnlib.utils.text import percent, plural
from attnlib.viz.prose import points, share


def about_grid(found: Results, params: Params) -> list[str]:
    """What was computed, what is missing, and what the texts look like to the last attention layer."""
    told = [found.grid.summary, *missing(found.grid)]
    lengths = found.fractions[found.fractions["importance"] == "alpha"]
    for (dataset, encoder), part in lengths.groupby(MODEL, sort=False):
        if encoder.endswith(params.encoders[0]):
            unit = "sentence" if encoder.startswith("han") else "word"
            alone = (part["length"] == 1).mean()
            seen = plural(round(part["length"].median()), unit)
            told.append(
                f"On **{short(dataset)}**, the last layer of the {encoder.partition('_')[0].upper()}s sees "
                f"{seen} in the median text; {percent(alone)} of the texts have a "
                f"single {unit} and are left out of every comparison, as in the paper."
            )
    if any("han" in a for a in params.trained.values()) and any("han" not in a for a in params.trained.values()):
        flat = [name for name, a in params.trained.items() if "han" not in a]
        length = found.data[found.data["metric"] == "avg_sentences"].set_index("dataset")["value"]
        rows = "; ".join(f"{short(d)} has {length[d]:.1f} sentences per text" for d in flat if d in length)
        names = ", ".join(map(short, flat))
        told.append(f"HAN, which attends to sentences, is not trained on {names} ({rows} on average).")
    return [*told, *about_idle(found)]


def about_idle(found: Results) -> list[str]:
    """The trainings that learned nothing, by model."""
    lazy = idle(found.right, found.data)
    if lazy.empty:
        return []
    names = [
        f"{model_name(e)} on {short(d)} ({plural(n, 'seed')})" for (d, e), n in lazy.groupby(MODEL).size().items()
    ]
    trainings = found.right.groupby([*MODEL, "seed"]).ngroups
    return [
        f"**{len(lazy)} of {plural(trainings, 'training')} learned nothing**, being not clearly more accurate than "
        f"always predicting the most frequent class: {', '.join(names)}. Figures and tables show them; the claims "
        "leave them out."
    ]


def setting(params: Params) -> str:
    """Data sets, models and seeds in one line, for the ledger."""
    names = ", ".join(map(short, params.corpora))
    return f"{names}; {plural(len(params.encoders), 'encoder')}, {plural(len(params.seeds), 'seed')}"


def about_data(params: Params) -> list[str]:
    """Which data sets bear a name of the paper and are read from another corpus."""
    rows = [(name, params.sources[name]) for name in params.corpora]
    other = "; ".join(
        f"**{name}** is {corpus}, {STAND_INS[corpus]}" for name, corpus in rows if corpus in STAND_INS
    )
    if not other:
        return ["No corpus stands in for one of the paper's under its name."]
    return [f"Not the paper's own: {other}. Our numbers are shown next to the paper's, without a difference."]


def about_accuracy(right: pd.DataFrame) -> list[str]:
    """The range of accuracies, and what the paper's say about ours."""
    means = right.groupby(MODEL, sort=False)["value"].mean()
    best, worst = means.idxmax(), means.idxmin()
    printed = reference("erasure", 3)["value"]
    return [
        f"Accuracy lies between **{percent(means.min())}** ({model_name(worst[1])} on {short(worst[0])}) and "
        f"**{percent(means.max())}** ({model_name(best[1])} on {short(best[0])}). The paper's models lie between "
        f"{printed.min():.1f}% and {printed.max():.1f}%, on five or ten classes. Decisions of a confident model "
        "are harder to flip, which matters for all that follows. The tests themselves do not use the true labels."
    ]


def about_single(single: pd.DataFrame) -> list[str]:
    """Section 4.1: how often ΔJS is positive, where it is not, and how small it can be."""
    kept = compared(single)
    kept = kept[kept["importance"] == "alpha"]
    if kept.empty:
        return [ALONE]
    more = _pooled(kept.assign(value=(kept["delta_js"] > 0).astype(float)))
    below = kept[kept["delta_js"] < 0]
    large = kept[kept["delta_alpha"] >= LARGE]
    told = [
        f"Over all models, removing the most attended item moves the output further than removing a random other "
        f"one in {share(more)} of the cases."
    ]
    if len(below):
        told.append(
            f"Where it does not ({plural(len(below), 'case')}), the two weights differ by "
            f"{below['delta_alpha'].median():.3f} in the median, against "
            f"{kept.loc[kept['delta_js'] >= 0, 'delta_alpha'].median():.3f} elsewhere; the median ΔJS is "
            f"{below['delta_js'].median():.1e} nats."
        )
    if len(large):
        told.append(
            f"A large gap in attention does not promise a large effect: of the {plural(len(large), 'case')} with "
            f"Δα of {LARGE} or more, {percent((large['delta_js'] < CLOSE).mean())} have a ΔJS below {CLOSE} nats "
            f"(the most there can be is {stats.LN2:.2f})."
        )
    return told


def about_flips(single: pd.DataFrame) -> list[str]:
    """Table 2 in words: the off-diagonal cells, the cases where nothing happens, and the three rankings."""
    kept = compared(single)
    alpha = kept[kept["importance"] == "alpha"]
    if alpha.empty:
        return [ALONE]
    cells = outcomes(single[single["importance"] == "alpha"]).groupby("metric")["value"].mean()
    items = [alpha.assign(item=i, value=alpha[f"flip_{i}"].astype(float)) for i in ("top", "other")]
    gap = contrast(pd.concat(items, ignore_index=True), "item", "top", "other", pair=MODEL).iloc[0]
    stays = 1 - alpha["flip_top"].astype(float).mean()
    tops = kept.groupby("importance")["flip_top"].agg(lambda x: x.astype(float).mean())
    rows = "; ".join(f"{NAMES[name]} {percent(tops[name])}" for name in TOPS)
    return [
        f"Only the most attended item flips **{cells['percent_only_top_flips']:.1f}%** of the decisions, only the "
        f"random one {cells['percent_only_random_flips']:.1f}%: a difference of {points(_difference(gap))}.",
        f"Yet in {percent(stays)} of the cases the decision stays the same without its most attended item.",
        f"Decisions flipped by a ranking's first item alone: {rows}.",
    ]


def about_quirk(single: pd.DataFrame) -> list[str]:
    """What the authors' way of drawing r does to the table."""
    kept = single[(single["importance"] == "alpha") & (single["status"] == "compared")]
    same = kept[kept["sampling"] == "authors"]
    if same.empty:
        return [ALONE]
    cells = {
        name: outcomes(single[single["importance"] == "alpha"], name).groupby("metric")["value"].mean()
        for name in ("any other", "authors")
    }
    both, only = "percent_both_flip", "percent_only_top_flips"
    return [
        f"Drawn as in the released code, r is i* itself in {percent((same['top'] == same['other']).mean())} of the "
        f"cases. The share of texts that both removals flip goes from {cells['any other'][both]:.1f}% to "
        f"**{cells['authors'][both]:.1f}%**, that of texts that only the top item flips from "
        f"{cells['any other'][only]:.1f}% to **{cells['authors'][only]:.1f}%**."
    ]


def about_fractions(fractions: pd.DataFrame) -> list[str]:
    """Figures 5, 6 and 10 in words, for each kind of context."""
    same = common_set(fractions)
    told = []
    for context, what in (("rnn", "an rnn"), ("conv", "convolutions"), ("noenc", "no encoder")):
        part = same[same["encoder"].str.endswith(f"_{context}")]
        if len(part):
            means = part.groupby("importance")["value"].mean()
            rows = ", ".join(f"{NAMES[name]} {percent(means[name])}" for name in RANKINGS)
            told.append(
                f"With **{what}**, this share of the items is gone at the first flip, on average over the texts "
                f"that all four rankings flip (n = {len(part) // len(RANKINGS):,}): {rows}."
            )
    if not told:
        told.append(UNSHARED)
    kept = several(fractions)
    never = kept[kept["importance"] == "alpha"]
    if never.empty:
        return [ALONE]
    told.append(
        f"By attention, {percent((never['status'] == 'never').mean())} of the decisions (n = {len(never):,}) never "
        f"flip and are left out; {percent((never['status'] == 'only_when_empty').mean())} flip only when nothing "
        "is left and the zero vector answers."
    )
    return told


def about_duel(fractions: pd.DataFrame) -> list[str]:
    """Section 5.4: gradient against attention, with encoders and without."""
    told = []
    both = duel(fractions)
    if both.empty:
        return ["Neither gradient nor attention flips a single decision: there is no duel."]
    bare = both["encoder"].str.endswith("noenc")
    for name, part in (("with encoders", both[~bare]), ("without encoders", both[bare])):
        if len(part):
            found = _pooled(part.assign(value=part["faster"]))
            slower = part["slower"].mean()
            ratio = f"a ratio of {found.estimate / slower:.1f}" if slower > 0 else "no ratio can be given"
            every = several(fractions).query("importance == 'alpha'")
            texts = every[every["encoder"].str.endswith("noenc") == (name == "without encoders")]
            told.append(
                f"In models **{name}**, the gradient finds a smaller flipping set than attention in {share(found)} "
                f"of the texts that at least one of them flips; attention finds the smaller one in "
                f"{percent(slower)}: {ratio}. Of all {len(texts):,} texts of more than one item, times seeds and "
                f"models, the gradient's share is {percent(part['faster'].sum() / len(texts))}."
            )
    return told


def about_mass(fractions: pd.DataFrame) -> list[str]:
    """Figure 11: attention mass removed at the first flip."""
    same = common_set(fractions)
    if same.empty:
        return [UNSHARED]
    means = same.groupby("importance")["mass_removed"].mean()
    rows = ", ".join(f"{NAMES[name]} {means[name]:.2f}" for name in RANKINGS)
    n = len(same) // len(RANKINGS)
    return [f"Mean attention mass removed at the first flip, on the same texts (n = {n:,}): {rows}."]


def checks(found: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    single, fractions = found.single, found.fractions
    models = sum(len(a) for a in params.trained.values()) * len(params.encoders) * len(params.seeds)
    texts = found.right.groupby("dataset")["instance"].nunique()
    erased = fractions.groupby("dataset")["instance"].nunique()
    own = compared(single)
    cells = outcomes(single).groupby([*MODEL, "seed", "importance", "instance"])["value"].sum()
    once = single[single["sampling"] == "any other"].set_index([*MODEL, "seed", "importance", "instance"])
    flips = fractions[fractions["importance"].isin(TOPS)].set_index([*MODEL, "seed", "importance", "instance"])
    one = (flips["removed"] == 1).fillna(False).astype(bool)
    alpha = several(fractions)
    alpha = alpha[(alpha["importance"] == "alpha") & alpha["value"].notna()]
    return {
        "no run is missing": not len(found.grid.failures),
        "every model answered every test text": len(found.right) == int(
            sum(texts[d] * len(a) for d, a in params.trained.items()) * len(params.encoders) * len(params.seeds)
        ),
        "every model met every ranking": len(fractions.groupby([*MODEL, "seed", "importance"])) == 4 * models,
        "no more texts were erased from than asked for": bool((erased <= (params.texts or np.inf)).all()),
        "r is never the top item": not bool((own["top"] == own["other"]).any()),
        "the top item by attention has the larger weight": bool(
            (own.loc[own["importance"] == "alpha", "delta_alpha"] >= 0).all()
        ),
        "each text is in one cell of its table": bool((cells == 100).all()),
        "both tests agree on the decisions that one item flips": bool(
            once["flip_top"].astype(bool).eq(one.reindex(once.index)).all()
        ),
        "removing all items removes all attention": bool(
            np.isclose(alpha.loc[alpha["value"] == 1, "mass_removed"].astype(float), 1.0, atol=1e-4).all()
        ),
    }  # fmt: skip


def _pooled(frame: pd.DataFrame) -> stats.Interval:
    row = summarise(frame.assign(all="all"), ["all"]).iloc[0]
    return stats.Interval(row["value"], row["low"], row["high"], int(row["n"]), int(row["missing"]))


def _difference(row: pd.Series) -> stats.Difference:
    return stats.Difference(*(row[name] for name in stats.Difference._fields))
