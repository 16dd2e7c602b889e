"""Tables of the erasure study: frames in, ours next to the paper's out.

The cells of a table are the models (dataset, encoder such as han_rnn) and, where they differ, the rankings.
Intervals are over seeds and texts; p-values are corrected after Holm over the rows of a table. Tables
without a text to tell of are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from attnlib.studies.beside import beside, reference
from attnlib.studies.common import contrast, interval_text, summarise, wide_enough
from attnlib.studies.datasets import short
from attnlib.studies.erasure.grid import RANKINGS, common_set, compared, several

MODEL = ["dataset", "encoder"]
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
}
"""Corpora read in place of the paper's, under its name, and what they are: no difference is taken then."""
LARGE, CLOSE = 0.4, 0.05
"""A large difference in attention (section 4.1); a divergence close to zero, in nats (the text gives no number)."""


def model_name(encoder: str) -> str:
    """`HANrnn` for han_rnn, as the paper writes it."""
    architecture, _, context = encoder.partition("_")
    return f"{architecture.upper()}{context}"


def data_table(data: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Table 1, one row per data set: ours first, then the paper's; `read from` names the corpus behind ours.

    sources: data set -> corpus, where that differs from its name.
    """
    rows = []
    data = data[data["metric"] != "commonest_class"]
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


def accuracy_table(right: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Table 3: accuracy in percent with its interval, one row per model, next to the paper's on that data set."""
    found = wide_enough(summarise(right.assign(value=100 * right["value"]), MODEL), right, MODEL, most=100.0)
    table = _beside(found, 3, sources)
    table.insert(2, "accuracy", interval_text(table, 1))
    return _told(table[[*MODEL, "accuracy", "n", "paper", "difference"]])


def paper_accuracy() -> pd.DataFrame:
    """Table 3 as printed: one row per data set, one column per model."""
    printed = reference("erasure", 3)
    wide = printed.pivot_table(index="dataset", columns="encoder", values="value")
    wide = wide.loc[printed["dataset"].unique(), printed["encoder"].unique()]
    return wide.rename(columns=model_name).rename_axis(columns=None).reset_index(names="data set")


def single_table(single: pd.DataFrame) -> pd.DataFrame:
    """Section 4.1 in numbers, one row per model: how often the top item matters more than r, and when it does not.

    Shares are of texts with more than one item. `Δα` columns are medians; the last two columns tell how often a
    difference in attention of 0.4 or more leaves ΔJS below 0.05 nats, and how many such texts there are.
    """
    kept = compared(single)
    kept = kept[kept["importance"] == "alpha"]
    if kept.empty:
        return pd.DataFrame()
    more = wide_enough(summarise(kept.assign(value=(kept["delta_js"] > 0).astype(float)), MODEL), kept, MODEL)
    rows = []
    for row, (_, part) in zip(more.itertuples(), kept.groupby(MODEL, sort=False), strict=True):
        below, large = part["delta_js"] < 0, part["delta_alpha"] >= LARGE
        rows.append(
            {
                "dataset": row.dataset,
                "encoder": row.encoder,
                "n": row.n,
                "share ΔJS < 0": float(below.mean()),
                "Δα where ΔJS < 0": part.loc[below, "delta_alpha"].median(),
                "Δα elsewhere": part.loc[~below, "delta_alpha"].median(),
                "ΔJS, median": part["delta_js"].median(),
                "share ΔJS < 0.05 where Δα ≥ 0.4": float((part.loc[large, "delta_js"] < CLOSE).mean()),
                "n, Δα ≥ 0.4": int(large.sum()),
            }
        )
    table = pd.DataFrame(rows)
    table.insert(3, "share ΔJS > 0", interval_text(more, 3))
    return _told(table)


def outcomes(single: pd.DataFrame, sampling: str = "any other") -> pd.DataFrame:
    """One row per text and cell of the 2 × 2 table: `metric` as in the reference, `value` 100 in the text's own."""
    kept = compared(single, sampling)
    top, other = kept["flip_top"].astype(bool), kept["flip_other"].astype(bool)
    inside = (top & other, top & ~other, ~top & other, ~top & ~other)
    frames = [kept.assign(metric=name, value=100.0 * cell) for name, cell in zip(CELLS, inside, strict=True)]
    return pd.concat(frames, ignore_index=True)


def contingency(
    single: pd.DataFrame, importance: str = "alpha", sampling: str = "any other", by: Sequence[str] = MODEL
) -> pd.DataFrame:
    """Table 2, Figures 9, 12 and 13: percent of texts in each cell, one row per model.

    `top minus random`: percent flipped by the top item minus percent flipped by r, paired, with its interval.
    """
    by = list(by)
    part = single[single["importance"] == importance]
    if compared(part, sampling).empty:
        return pd.DataFrame()
    found = outcomes(part, sampling)
    found = found.pivot_table(index=by, columns="metric", values="value", sort=False).reset_index()
    kept = compared(part, sampling)
    both = [kept.assign(item=item, value=100.0 * kept[f"flip_{item}"].astype(float)) for item in ("top", "other")]
    gap = contrast(pd.concat(both, ignore_index=True), "item", "top", "other", by)
    gap = wide_enough(gap, kept, by, least=-100.0, most=100.0)
    gap["value"] = gap["estimate"]
    gap["top minus random"] = interval_text(gap, 1)
    alone = part[(part["status"] != "compared") & (part["sampling"] == sampling)].groupby(by).size()
    table = found.merge(gap[[*by, "top minus random", "p_holm", "n"]], on=by, validate="one_to_one")
    table["one item, left out"] = [
        int(alone.get(tuple(key) if len(by) > 1 else key[0], 0)) for key in table[by].to_numpy()
    ]
    table = table[[*by, *CELLS, "top minus random", "p_holm", "n", "one item, left out"]]
    return _told(table.rename(columns=CELLS))


def contingencies(single: pd.DataFrame, rankings: Sequence[str] = ("grad_alpha", "alpha_grad")) -> pd.DataFrame:
    """Figures 12 and 13: the tables of several rankings, one below the other; p after Holm within a ranking."""
    frames = {name: contingency(single, name) for name in rankings}
    for name, frame in frames.items():
        if len(frame):
            frame.insert(2, "ranking", NAMES[name])
    return pd.concat(frames.values(), ignore_index=True)


def paper_contingency(single: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Table 2 as printed (HANrnn), one row per data set and cell, next to ours with r drawn both ways.

    The printed numbers were drawn as the released code draws, so `difference` is that of our own drawn so. Empty
    where this run has no HANrnn on a data set of the paper's.
    """
    printed = reference("erasure", 2).rename(columns={"value": "paper"})
    table = printed[[*MODEL, "metric", "paper"]]
    for name, column in (("any other", "ours, r another item"), ("authors", "ours, r as the code draws it")):
        found = summarise(outcomes(single[single["importance"] == "alpha"], name), [*MODEL, "metric"])
        found = found.reindex(columns=[*MODEL, "metric", "value", "low", "high", "n"])
        found[column] = interval_text(found, 1)
        kept = [*MODEL, "metric", column, *(["value", "n"] if name == "authors" else [])]
        table = table.merge(found[kept], on=[*MODEL, "metric"], how="left")
    if table["value"].isna().all():
        return pd.DataFrame()
    same = table["dataset"].map(lambda dataset: _same(dataset, sources))
    table["difference"] = (table["value"] - table["paper"]).where(same)
    table["n"] = table["n"].fillna(0).astype(int)
    table = table.drop(columns="value").fillna(dict.fromkeys(table.filter(like="ours"), "–"))
    order = [c for c in table if c not in ("difference", "n")]
    table = table[[*order, "difference", "n"]].assign(metric=table["metric"].map(CELLS))
    return _told(table).rename(columns={"metric": "cell"})


def top_flips(single: pd.DataFrame) -> pd.DataFrame:
    """The yes-rows of Figures 9, 12 and 13: percent of decisions that a ranking's first item flips.

    One row per model. Differences to attention are paired, with intervals.
    """
    kept = compared(single)
    if kept.empty:
        return pd.DataFrame()
    kept = kept.assign(value=100.0 * kept["flip_top"].astype(float))
    table = summarise(kept[kept["importance"] == "alpha"], MODEL)[[*MODEL, "n"]]
    for name in ("alpha", "grad_alpha", "alpha_grad"):
        means = kept[kept["importance"] == name].groupby(MODEL, sort=False)["value"].mean()
        table[NAMES[name]] = means.to_numpy()
    for name in ("grad_alpha", "alpha_grad"):
        gap = wide_enough(contrast(kept, "importance", name, "alpha", MODEL), kept, MODEL, least=-100.0, most=100.0)
        table[f"{NAMES[name]} minus attention"] = interval_text(gap.assign(value=gap["estimate"]), 1)
        table[f"p (Holm), {NAMES[name]}"] = gap["p_holm"].to_numpy()
    return _told(table)


def fraction_table(fractions: pd.DataFrame, sources: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Figures 5, 6 and 10 in numbers: share of items removed at the first flip, one row per model and ranking.

    `mean`: over the texts that this ranking flips, as the paper has it; `mean, same texts`: over those that all
    four rankings flip. Texts of one item and texts that never flip are left out; `excluded_table` counts them.
    `% above 0.5`: first flips beyond one half of the items, next to the paper's where it prints one (Figure 6).
    """
    cells = [*MODEL, "importance"]
    kept = several(fractions)
    if kept.empty:
        return pd.DataFrame()
    table = summarise(kept, cells)
    table["mean"] = interval_text(table)
    table["median"] = kept.groupby(cells, sort=False)["value"].median().to_numpy()
    late = kept.assign(value=(100.0 * (kept["value"] > 0.5)).where(kept["value"].notna()))
    share = wide_enough(summarise(late, cells), late, cells, most=100.0)
    late = _beside(share.assign(metric="percent_above_half"), "figure6", sources)
    late["% above 0.5"] = interval_text(late, 1)
    shared = summarise(common_set(fractions), cells).reindex(columns=[*cells, "value", "low", "high", "n"])
    shared["mean, same texts"] = interval_text(shared)
    shared = shared.rename(columns={"n": "n, same texts"})
    printed = ["paper", "difference"] if late["paper"].notna().any() else []
    table = table[[*cells, "mean", "median", "n"]]
    table = table.merge(late[[*cells, "% above 0.5", *printed]], on=cells, validate="one_to_one")
    table = table.merge(shared[[*cells, "mean, same texts", "n, same texts"]], on=cells, how="left")
    table["n, same texts"] = table["n, same texts"].fillna(0).astype(int)
    return _told(table.fillna({"mean, same texts": "–"}))


def excluded_table(fractions: pd.DataFrame) -> pd.DataFrame:
    """What the comparisons leave out, one row per model: texts of one item, and what each ranking never flips.

    The last column counts the flips by attention that came only when nothing was left.
    """
    rows = []
    for (dataset, encoder), part in fractions.groupby(MODEL, sort=False):
        once = part[part["importance"] == "alpha"]
        row = {"dataset": dataset, "encoder": encoder, "texts × seeds": len(once)}
        row["one item"] = int((once["length"] == 1).sum())
        longer = part[part["length"] > 1]
        for name in RANKINGS:
            never = (longer["importance"] == name) & (longer["status"] == "never")
            row[f"never, {NAMES[name]}"] = int(never.sum())
        empty = (longer["importance"] == "alpha") & (longer["status"] == "only_when_empty")
        rows.append(row | {"only when empty, attention": int(empty.sum())})
    table = pd.DataFrame(rows)
    return _told(table)


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
    both = duel(fractions)
    rows = []
    for model, texts in _texts(fractions, MODEL).items():
        part = both[(both["dataset"] == model[0]) & (both["encoder"] == model[1])]
        faster, slower = part["faster"].sum(), part["slower"].sum()
        row = dict(zip(MODEL, model, strict=True))
        row |= {"gradient faster": _share(part, "faster"), "attention faster": _share(part, "slower")}
        row |= {"equal": (part["faster"] == part["slower"]).mean(), "n": len(part)}
        row["ratio"] = faster / slower if slower else np.inf if faster else np.nan
        rows.append(row | {"of all texts": faster / texts, "n, all texts": texts})
    return _told(pd.DataFrame(rows)) if rows else pd.DataFrame()


def ranking_contrasts(fractions: pd.DataFrame, value: str = "fraction", b: str = "alpha") -> pd.DataFrame:
    """Paired differences of every ranking to attention on the same texts, one row per model and ranking.

    p after Holm over the models, for each ranking.
    """
    same = common_set(fractions)
    same = same.assign(value=same[value].to_numpy(float))
    frames = []
    for name in RANKINGS:
        if name != b and len(same):
            found = contrast(same, "importance", name, b, MODEL)
            frames.append(found.assign(importance=name, value=found["estimate"]))
    kept = [*MODEL, "importance", "a", "b", "minus attention", "p_holm", "n"]
    if not frames:  # no text is flipped by all rankings
        return pd.DataFrame()
    table = pd.concat(frames, ignore_index=True)
    table["minus attention"] = interval_text(table, 3)
    return _told(table[kept])


def beyond_table(fractions: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Share of words gone at the first flip for the models of the other papers, and their accuracy in percent.

    One row per model, one column per ranking. All means of a row are over the same n texts, those that every
    ranking flips, as in the boxes.
    """
    means = summarise(common_set(fractions), ["variant", "importance"])
    means = means.reindex(columns=["variant", "importance", "value", "low", "high", "n"])
    means["told"] = interval_text(means)
    wide = means.pivot_table(index="variant", columns="importance", values="told", aggfunc="first")
    wide = wide.reindex(index=fractions["variant"].unique(), columns=list(RANKINGS))
    counts = means.groupby("variant")["n"].first().reindex(wide.index).fillna(0).astype(int)
    table = wide.astype(object).fillna("–").rename(columns=NAMES).assign(n=counts).rename_axis(columns=None)
    table["accuracy"] = 100 * right.groupby("variant")["value"].mean()
    return _told(table.reset_index())


def beyond_flips(single: pd.DataFrame, fractions: pd.DataFrame) -> pd.DataFrame:
    """Single removals and the duel of gradient and attention for the same models, one row per model.

    n: texts of more than one word; `n, duel`: those that gradient or attention flips.
    """
    first = contingency(single, by=["variant"])
    if first.empty:
        return first
    first = first[["variant", "only the top item flips", "only the random item flips", "top minus random", "n"]]
    both, rows = duel(fractions), []
    for variant in first["variant"]:
        part = both[both["variant"] == variant]
        row = {"gradient faster": _share(part, "faster"), "attention faster": _share(part, "slower")}
        rows.append({"variant": variant} | row | {"n, duel": len(part)})
    return _told(first.merge(pd.DataFrame(rows), on="variant", validate="one_to_one"))


def _same(dataset: str, sources: Mapping[str, str] | None) -> bool:
    """Whether a data set is the paper's own, and no other corpus that stands in for it."""
    return (sources or {}).get(dataset, dataset) not in STAND_INS


def _beside(found: pd.DataFrame, table: str | int, sources: Mapping[str, str] | None) -> pd.DataFrame:
    """A summary with the paper's value, and the difference where the data set is the paper's own."""
    joined = beside(found, "erasure", table)
    same = joined["dataset"].map(lambda dataset: _same(dataset, sources))
    return joined.assign(difference=joined["difference"].where(same))


def _texts(fractions: pd.DataFrame, by: Sequence[str]) -> pd.Series:
    """How many texts of more than one item there are, times seeds, in each cell of `by`."""
    kept = several(fractions)
    return kept[kept["importance"] == "alpha"].groupby(list(by), sort=False).size()


def _share(frame: pd.DataFrame, column: str) -> str:
    """The mean of a column with its interval, as text."""
    if frame.empty:
        return "–"
    named = frame.assign(all="all", value=frame[column])
    return interval_text(wide_enough(summarise(named, ["all"]), named, ["all"]), 3).item()


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """Names as readers know them: data set, HANrnn, attention."""
    told = {"dataset": short, "encoder": model_name, "importance": NAMES}
    table = table.assign(**{column: table[column].map(name) for column, name in told.items() if column in table})
    names = {"dataset": "data set", "encoder": "model", "importance": "ranking", "p_holm": "p (Holm)"}
    return table.rename(columns=names)
