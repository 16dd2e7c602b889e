"""Tables of the erasure study: frames in, ours next to the paper's out.

The cells of a table are the models (dataset, encoder such as han_rnn) and, where they differ, the rankings.
Intervals are over trainings and texts (`attnlib.stats.inference`); p-values are corrected after Holm over the rows
of a table. Tables without a text to tell of are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from attnlib.stats.inference import COUNTS, ENDS, contrasts, effect, effects, holm, interval_texts
from attnlib.studies.beside import beside, reference
from attnlib.studies.datasets import short
from attnlib.studies.erasure.grid import MODEL, common_set, compared, several
from attnlib.studies.erasure.measures import RANKINGS, TOPS

NAMES = {"random": "random", "alpha": "attention", "grad_alpha": "gradient", "alpha_grad": "product"}
"""The rankings in the paper's words."""
CELLS = {
    "percent_both_flip": "both flip",
    "percent_only_top_flips": "only the top item flips",
    "percent_only_random_flips": "only the random item flips",
    "percent_neither_flips": "neither flips",
}
"""The four cells of a contingency table, by the names of the reference file."""
STAND_INS = {
    "aclimdb": "eight stars; the paper's has ten",
    "hub:amazon_reviews_multi": "a smaller collection than the paper's",
    "hub:yelp_review_full": "the challenge of 2015; the paper's is that of 2017",
}
"""Corpora read in place of the paper's, under its name, and what they are: no difference is taken then."""
LARGE, CLOSE = 0.4, 0.05
"""A large difference in attention (section 4.1); a divergence close to zero, in nats (the text gives no number)."""
CONTEXTS = {"rnn": "an rnn", "conv": "convolutions", "noenc": "no encoder"}
SHARE, GAIN = (0.0, 1.0), (-1.0, 1.0)
PERCENT, POINTS = (0.0, 100.0), (-100.0, 100.0)
"""Between what values shares and their differences lie."""


def model_name(encoder: str) -> str:
    """`HANrnn` for han_rnn, as the paper writes it."""
    architecture, _, context = encoder.partition("_")
    return f"{architecture.upper()}{context}"


def data_table(data: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The paper's Table 1, one row per data set: ours first, then the paper's.

    sources: data set -> corpus that it is `read from`, where that differs from its name.
    """
    rows = []
    for source, frame in (("ours", data), ("paper", reference("erasure", 1))):
        for dataset, part in frame.groupby("dataset", sort=False):
            corpus = (sources or {}).get(dataset, dataset)
            told = f"{corpus} ({STAND_INS[corpus]})" if corpus in STAND_INS else short(corpus)
            row: dict[str, object] = {"source": source, "data set": short(dataset)}
            row["read from"] = told if source == "ours" and corpus != dataset else "–"
            for fact in part.itertuples():
                spread = "" if np.isnan(fact.std) else f" ({fact.std:,.1f})"
                digits = 0 if float(fact.value).is_integer() and not spread else 1
                row[fact.metric.replace("_", " ")] = f"{fact.value:,.{digits}f}{spread}"
            rows.append(row)
    return pd.DataFrame(rows)


def accuracy_table(labels: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The paper's Table 3: accuracy in percent, one row per model, next to the paper's on that data set."""
    found = effects(labels.assign(value=100 * labels["value"]), MODEL, bounds=PERCENT)
    table = _beside(found, 3, sources)[[*MODEL, *ENDS, *COUNTS, "paper", "difference"]]
    return _told(table).rename(columns={"value": "accuracy"})


def paper_accuracy() -> pd.DataFrame:
    """The paper's Table 3 as printed: one row per data set, one column per model."""
    printed = reference("erasure", 3)
    wide = printed.pivot_table(index="dataset", columns="encoder", values="value")
    wide = wide.loc[printed["dataset"].unique(), printed["encoder"].unique()]
    return wide.rename(columns=model_name).rename_axis(columns=None).reset_index(names="data set")


def single_table(single: pd.DataFrame) -> pd.DataFrame:
    """Section 4.1 in numbers, one row per model: how often the top item matters more than r, and when it does not.

    Shares are of texts with more than one item. `Δα` columns are medians; the last two columns tell how often a
    difference in attention of 0.4 or more leaves ΔJS below 0.05 nats, and how many such texts there are.
    """
    rows = []
    for key, part in compared(single, importance="alpha").groupby(MODEL, sort=False):
        below, large = part["delta_js"] < 0, part["delta_alpha"] >= LARGE
        more = effect(part.assign(value=(part["delta_js"] > 0).astype(float)), bounds=SHARE)
        rows.append(
            {
                **dict(zip(MODEL, key, strict=True)),
                "share ΔJS > 0": more.text(3),
                "share ΔJS < 0": float(below.mean()),
                "Δα where ΔJS < 0": part.loc[below, "delta_alpha"].median(),
                "Δα elsewhere": part.loc[~below, "delta_alpha"].median(),
                "ΔJS, median": part["delta_js"].median(),
                **{name: more.row()[name] for name in COUNTS},
                "share ΔJS < 0.05 where Δα ≥ 0.4": float((part.loc[large, "delta_js"] < CLOSE).mean()),
                "n, Δα ≥ 0.4": int(large.sum()),
            }
        )
    return _told(pd.DataFrame(rows))


def outcomes(single: pd.DataFrame, sampling: str = "any other") -> pd.DataFrame:
    """One row per text and cell of the 2 × 2 table: `metric` as in the reference, `value` 100 in the text's own."""
    kept = compared(single, sampling)
    top, other = kept["flip_top"].astype(bool), kept["flip_other"].astype(bool)
    inside = (top & other, top & ~other, ~top & other, ~top & ~other)
    frames = [kept.assign(metric=name, value=100.0 * cell) for name, cell in zip(CELLS, inside, strict=True)]
    return pd.concat(frames, ignore_index=True)


def contingency(
    single: pd.DataFrame,
    rankings: Sequence[str] = ("alpha",),
    sampling: str = "any other",
    by: Sequence[str] = MODEL,
) -> pd.DataFrame:
    """The paper's Table 2, Figures 9, 12 and 13: percent of texts in each cell, one row per model and ranking.

    `top minus random`: percent flipped by the top item minus percent flipped by r, paired, with its interval.
    """
    by = [*by, *(["importance"] if len(rankings) > 1 else [])]
    part = single[single["importance"].isin(rankings) & (single["sampling"] == sampling)]
    kept = compared(part, sampling)
    if kept.empty:
        return pd.DataFrame()
    shares = outcomes(part, sampling).pivot_table(index=by, columns="metric", values="value", sort=False)
    gap = kept["flip_top"].astype(float) - kept["flip_other"].astype(float)
    table = effects(kept.assign(value=100 * gap), by, bounds=POINTS).merge(shares.reset_index(), on=by)
    table["top minus random"], table["p_holm"] = interval_texts(table, 1), holm(table["p"])
    alone = part[part["status"] != "compared"].groupby(by).size()
    table["one item, left out"] = alone.reindex(pd.MultiIndex.from_frame(table[by]), fill_value=0).to_numpy()
    table = table[[*by, *CELLS, "top minus random", "p_holm", *COUNTS, "one item, left out"]]
    return _told(table.rename(columns=CELLS))


def paper_contingency(single: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The paper's Table 2 as printed (HANrnn), one row per data set and cell, next to ours with r drawn both ways.

    The printed numbers were drawn as the released code draws, so `difference` is that of our own drawn so. Empty
    where this run has no HANrnn on a data set of the paper's.
    """
    printed = reference("erasure", 2).rename(columns={"value": "paper"})
    cells = [*MODEL, "metric"]
    table = printed[[*cells, "paper"]]
    for name, column in (("any other", "ours, r another item"), ("authors", "ours, r as the code draws it")):
        found = effects(outcomes(single[single["importance"] == "alpha"], name), cells, bounds=PERCENT)
        found[column] = interval_texts(found, 1)
        kept = [*cells, column, *(["value", "n"] if name == "authors" else [])]
        table = table.merge(found[kept], on=cells, how="left")
    if table["value"].isna().all():
        return pd.DataFrame()
    same = table["dataset"].map(lambda dataset: _same(dataset, sources))
    table["difference"] = (table["value"] - table["paper"]).where(same)
    table["n"] = table.pop("n").fillna(0).astype(int)
    table = table.drop(columns="value").fillna(dict.fromkeys(table.filter(like="ours"), "–"))
    return _told(table.assign(metric=table["metric"].map(CELLS))).rename(columns={"metric": "cell"})


def top_flips(single: pd.DataFrame) -> pd.DataFrame:
    """The yes-rows of the paper's Figures 9, 12 and 13: percent of decisions that a ranking's first item flips.

    One row per model. Differences to attention are paired, with intervals.
    """
    kept = compared(single)
    if kept.empty:
        return pd.DataFrame()
    kept = kept.assign(value=100.0 * kept["flip_top"].astype(float))
    table = effects(kept[kept["importance"] == "alpha"], MODEL)[[*MODEL, *COUNTS]]
    for name in TOPS:
        means = kept[kept["importance"] == name].groupby(MODEL, sort=False)["value"].mean()
        table = table.merge(means.rename(NAMES[name]).reset_index(), on=MODEL, how="left")
    for name in TOPS[1:]:
        gap = contrasts(kept, "importance", name, "alpha", MODEL, bounds=POINTS)
        told = {f"{NAMES[name]} minus attention": interval_texts(gap, 1), f"p (Holm), {NAMES[name]}": gap["p_holm"]}
        table = table.merge(gap[MODEL].assign(**told), on=MODEL, how="left")
    return _told(table)


def fraction_table(fractions: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The paper's Figures 5, 6 and 10 in numbers: share of items removed at the first flip, by model and ranking.

    `mean`: over the texts that this ranking flips, as the paper has it; `mean, same texts`: over those that all
    four rankings flip. Texts of one item and texts that never flip are left out; `excluded_table` counts them.
    `% above 0.5`: first flips beyond one half of the items, next to the paper's where it prints one (Figure 6).
    """
    cells = [*MODEL, "importance"]
    kept = several(fractions)
    if kept.empty:
        return pd.DataFrame()
    table = effects(kept, cells, bounds=SHARE)
    table["mean"] = interval_texts(table)
    table["median"] = kept.groupby(cells, sort=False)["value"].median().to_numpy()
    late = effects(kept.assign(value=100.0 * beyond_half(kept["value"])), cells, bounds=PERCENT)
    late = _beside(late.assign(metric="percent_above_half"), "figure6", sources)
    late["% above 0.5"] = interval_texts(late, 1)
    shared = effects(common_set(fractions), cells, bounds=SHARE)
    shared = shared.assign(**{"mean, same texts": interval_texts(shared)}).rename(columns={"n": "n, same texts"})
    printed = ["paper", "difference"] if late["paper"].notna().any() else []
    table = table[[*cells, "mean", "median", *COUNTS]]
    table = table.merge(late[[*cells, "% above 0.5", *printed]], on=cells, validate="one_to_one")
    table = table.merge(shared[[*cells, "mean, same texts", "n, same texts"]], on=cells, how="left")
    table["n, same texts"] = table["n, same texts"].fillna(0).astype(int)
    table["mean, same texts"] = table["mean, same texts"].astype(object).fillna("–")
    return _told(table)


def context_table(fractions: pd.DataFrame) -> pd.DataFrame:
    """Share of items removed at the first flip by what the encoder sees, mean over its models that count alike.

    On the texts that all four rankings flip; one row per context, one column per ranking.
    """
    same = common_set(fractions)
    same = same.assign(context=[CONTEXTS[encoder.partition("_")[2]] for encoder in same["encoder"]])
    found = effects(same, ["context", "importance"], MODEL, bounds=SHARE)
    return _wide(found, "context").reset_index().rename(columns={"context": "encoder"})


def excluded_table(fractions: pd.DataFrame) -> pd.DataFrame:
    """What the comparisons leave out, one row per model: texts of one item, and what each ranking never flips.

    `items, median`: what the last attention layer sees of a text. The last column counts the flips by attention
    that came only when nothing was left.
    """
    longer = fractions["length"] > 1
    columns = {"items, median": fractions["length"].where(fractions["importance"] == "alpha")}
    counts = {"texts × trainings": True, "one item": ~longer}
    counts = {name: (fractions["importance"] == "alpha") & rows for name, rows in counts.items()}
    for name in RANKINGS:
        never = longer & (fractions["status"] == "never")
        counts[f"never, {NAMES[name]}"] = (fractions["importance"] == name) & never
    empty = longer & (fractions["status"] == "only_when_empty")
    counts["only when empty, attention"] = (fractions["importance"] == "alpha") & empty
    groups = fractions[MODEL].assign(**columns, **counts).groupby(MODEL, sort=False)
    return _told(groups.agg(dict.fromkeys(columns, "median") | dict.fromkeys(counts, "sum")).reset_index())


def duel(fractions: pd.DataFrame, a: str = "grad_alpha", b: str = "alpha") -> pd.DataFrame:
    """One row per text that at least one of two rankings flips: `faster` 1 where a removes fewer items than b.

    `slower` 1 where a removes more. A ranking that never flips the text counts as infinitely slow.
    """
    kept = several(fractions)
    keys = [c for c in (*MODEL, "variant", "seed", "instance") if c in kept]
    sides = [kept[kept["importance"] == name].set_index(keys)["removed"].astype(float) for name in (a, b)]
    both = pd.concat(sides, axis=1, keys=["a", "b"], join="inner").fillna(np.inf).reset_index()
    both = both[np.isfinite(both[["a", "b"]]).any(axis=1)].reset_index(drop=True)
    return both.assign(faster=(both["a"] < both["b"]).astype(float), slower=(both["a"] > both["b"]).astype(float))


def duel_table(fractions: pd.DataFrame) -> pd.DataFrame:
    """Section 5.4, one row per model: how often the gradient's flipping set is smaller than attention's, or larger.

    Shares are of the n texts that at least one of the two flips; `of all texts` is the share of all texts of more
    than one item where the gradient is faster. ratio: its texts divided by those where attention is.
    """
    both, kept = duel(fractions), several(fractions)
    rows = []
    for model, texts in kept[kept["importance"] == "alpha"].groupby(MODEL, sort=False).size().items():
        part = both[(both["dataset"] == model[0]) & (both["encoder"] == model[1])]
        faster, slower = part["faster"].sum(), part["slower"].sum()
        row = dict(zip(MODEL, model, strict=True)) | _shares(part)
        row |= {"equal": (part["faster"] == part["slower"]).mean(), "n": len(part)}
        row |= {"trainings": part["seed"].nunique(), "texts": part["instance"].nunique()}
        row["ratio"] = faster / slower if slower else np.inf if faster else np.nan
        rows.append(row | {"of all texts": faster / texts, "n, all texts": texts})
    return _told(pd.DataFrame(rows))


def ranking_contrasts(fractions: pd.DataFrame, value: str = "fraction", b: str = "alpha") -> pd.DataFrame:
    """Paired differences of every ranking to attention on the same texts, one row per model and ranking.

    a, b: the means of the two. p after Holm over the models, for each ranking.
    """
    same = common_set(fractions)
    same = same.assign(value=same[value].to_numpy(float))
    frames = [
        contrasts(same, "importance", name, b, MODEL, bounds=GAIN).assign(importance=name)
        for name in RANKINGS
        if name != b and len(same)
    ]
    if not frames:  # no text is flipped by all rankings
        return pd.DataFrame()
    table = pd.concat(frames, ignore_index=True)[[*MODEL, "importance", "a", "b", *ENDS, "p_holm", *COUNTS]]
    return _told(table).rename(columns={"value": "minus attention"})


def beyond_table(fractions: pd.DataFrame, single: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """The models of the other papers, one row each: accuracy, what it takes to flip a decision, and one removal.

    Under each ranking's name the share of words gone at the first flip, on the n texts that every ranking flips, as
    in the boxes; then single removals in percent, and which of gradient and attention flips with fewer words.
    """
    table = _wide(effects(common_set(fractions), ["variant", "importance"], bounds=SHARE), "variant")
    table = table.reindex(fractions["variant"].unique()).drop(columns="texts")
    table[["n", "trainings"]] = table[["n", "trainings"]].fillna(0).astype(int)
    table = table.astype({NAMES[name]: object for name in RANKINGS}).fillna("–")
    table["accuracy"] = 100 * labels.groupby("variant")["value"].mean()
    first = contingency(single, by=["variant"])
    if len(first):
        first = first.set_index("variant")
        table = table.join(first[["only the top item flips", "only the random item flips", "top minus random"]])
    both = duel(fractions)
    sides = {variant: _shares(both[both["variant"] == variant]) for variant in table.index}
    return table.join(pd.DataFrame(sides).T).rename_axis("variant").reset_index()


def _wide(found: pd.DataFrame, by: str) -> pd.DataFrame:
    """Effects by a column and by ranking as texts: one row per value of the column, one column per ranking."""
    found = found.assign(told=interval_texts(found), importance=found["importance"].map(NAMES))
    wide = found.pivot_table(index=by, columns="importance", values="told", aggfunc="first").reindex(
        columns=list(NAMES.values())
    )
    order = found[by].unique()
    return wide.rename_axis(columns=None).join(found.groupby(by)[COUNTS].first()).reindex(order)


def _same(dataset: str, sources: Mapping[str, str] | None) -> bool:
    """Whether a data set is the paper's own, and no other corpus that stands in for it."""
    return (sources or {}).get(dataset, dataset) not in STAND_INS


def _beside(found: pd.DataFrame, table: str | int, sources: Mapping[str, str] | None) -> pd.DataFrame:
    """A summary with the paper's value, and the difference where the data set is the paper's own."""
    joined = beside(found, "erasure", table)
    same = joined["dataset"].map(lambda dataset: _same(dataset, sources))
    return joined.assign(difference=joined["difference"].where(same))


def beyond_half(fraction: pd.Series) -> pd.Series:
    """1 where a first flip needs more than half of the items, NaN where there is none."""
    return (fraction > 0.5).astype(float).where(fraction.notna())


def _shares(both: pd.DataFrame) -> dict[str, str]:
    """How often the gradient, or attention, is the faster one (`duel`), with intervals."""
    sides = {"gradient faster": "faster", "attention faster": "slower"}
    return {
        name: effect(both.assign(value=both[column]), bounds=SHARE).text(3) if len(both) else "–"
        for name, column in sides.items()
    }


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """Names as readers know them: data set, HANrnn, attention."""
    told = {"dataset": short, "encoder": model_name, "importance": NAMES}
    table = table.assign(**{column: table[column].map(name) for column, name in told.items() if column in table})
    names = {"dataset": "data set", "encoder": "model", "importance": "ranking", "p_holm": "p (Holm)"}
    return table.rename(columns=names)
