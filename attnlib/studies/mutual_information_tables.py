"""Tables of the study of attention ranks and information, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.data.types import Corpus
from attnlib.reference import reference
from attnlib.studies.common import contrast, interval_text, summarise
from attnlib.studies.corpora import kin
from attnlib.studies.mutual_information import CELL, MAIN, NAMES

SPECIAL = ("fix_attention", "fix_representation", "adversary_unfrozen")
ESTIMATES = {
    "tau": "as the paper: clusters, plug-in, weighted",
    "tau_plain": "unweighted",
    "tau_miller_madow": "bias corrected (Miller–Madow)",
    "tau_shuffled": "bias corrected (minus shuffled)",
    "tau_neighbours": "nearest neighbours, no clusters",
}
"""Ways to the same tau."""
SAME = 0.005
"""A change of tau below this is none: it vanishes at the two digits that the paper prints."""


def printed(table: str | int) -> pd.DataFrame:
    """A table of the paper with numbers as numbers: Table 5 holds counts such as 20/21, so the file holds text."""
    rows = reference("mutual_information", table)
    return rows.assign(value=pd.to_numeric(rows["value"]))


def plain(taus: pd.DataFrame) -> pd.DataFrame:
    """The softmax models as trained: the grid of Figure 2."""
    return taus[(taus["variant"] == "none") & (taus["projection"] == "softmax")]


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Encoders, attentions, projections and variants as readers know them."""
    columns = [c for c in ("encoder", "attention", "projection", "variant") if c in frame]
    return frame.assign(**{c: [NAMES.get(name, name) for name in frame[c]] for c in columns})


def corpus_table(corpora: Mapping[str, Corpus], taus: pd.DataFrame) -> pd.DataFrame:
    """Table 1: sizes and the accuracy of BiLSTM with additive attention, beside the paper's corpus or its kin."""
    paper = printed(1).pivot_table(index="dataset", columns="metric", values="value")
    mine = plain(taus).query("encoder == 'lstm' and attention == 'additive'").groupby("dataset")["accuracy"].mean()
    rows = []
    for name, corpus in corpora.items():
        found = corpus.stats().set_index("split")
        twin = kin(name)
        known = paper.loc[twin] if twin in paper.index else None
        rows.append(
            {
                "dataset": name,
                "|V|": len(corpus.vocabulary),
                "mean words": float(found["mean_words"]["train"]),
                "train": len(corpus.train),
                "test": len(corpus.test),
                "accuracy": mine.get(name, np.nan),
                "paper's corpus": twin if known is not None else "–",
                **{
                    f"paper: {short}": np.nan if known is None else known[metric]
                    for metric, short in (
                        ("vocabulary", "|V|"), ("avg_words", "mean words"), ("train", "train"), ("test", "test"),
                        ("accuracy", "accuracy"),
                    )
                },
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def choices_table(taus: pd.DataFrame) -> pd.DataFrame:
    """k and N of every model of the grid, as ranges over seeds, and whether the smallest cluster holds two."""
    rows = []
    for key, part in plain(taus).groupby(CELL, sort=False):
        row = dict(zip(CELL, key, strict=True))
        row |= {name: _range(part[column]) for name, column in (("k", "k"), ("N", "clusters"))}
        row |= {"smallest cluster": _range(part["smallest"]), "texts": int(part["n"].max()), "models": len(part)}
        rows.append(row)
    return named(pd.DataFrame(rows))


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low}–{high}"


def tau_table(taus: pd.DataFrame) -> pd.DataFrame:
    """Figure 2 in numbers: mean tau by cell with its 95 % interval over seeds; the width over texts beside it."""
    part = plain(taus)
    table = summarise(part, CELL)
    means = part.groupby(CELL, sort=False)
    table["tau"] = interval_text(table)
    over = [(g["high"] - g["low"]).mean() / 2 for _, g in means]
    table["± over texts"] = over
    table["entropy of α"] = means["entropy"].mean().to_numpy()
    table["accuracy"] = means["accuracy"].mean().to_numpy()
    table = table.rename(columns={"n": "models"})
    return named(table[[*CELL, "tau", "± over texts", "entropy of α", "accuracy", "models"]])


def average_table(taus: pd.DataFrame) -> pd.DataFrame:
    """The averages of section 4: by attention, and by encoder and attention, over corpora; the paper's beside."""
    part = plain(taus)
    by_attention = summarise(part, ["attention"]).assign(encoder="all")
    by_both = summarise(part, ["encoder", "attention"])
    table = pd.concat([by_attention, by_both], ignore_index=True)
    known = {
        (e if isinstance(e, str) else "all", a): v
        for e, a, v in printed("text")[["encoder", "attention", "value"]].to_numpy()
    }
    table["paper"] = [known.get((e, a), np.nan) for e, a in zip(table["encoder"], table["attention"], strict=True)]
    table["ours"] = interval_text(table)
    table = named(table.rename(columns={"n": "models"}))
    return table[["encoder", "attention", "ours", "paper", "models", "value", "low", "high"]]


def estimator_table(taus: pd.DataFrame) -> pd.DataFrame:
    """Mean tau by attention under every estimate, and how alike they order the models (tau-b with the first)."""
    part = plain(taus)
    rows = []
    for column, words in ESTIMATES.items():
        row = {"estimate": words}
        row |= {NAMES.get(a, a): g[column].mean() for a, g in part.groupby("attention", sort=False)}
        same = stats.kendall_tau(part["tau"], part[column]) if len(part) > 1 else np.nan
        rows.append(row | {"agreement with the first": same, "models": len(part)})
    return pd.DataFrame(rows)


def with_base(taus: pd.DataFrame, variant: str) -> pd.DataFrame:
    """BiLSTM with additive attention in a special setting, and as trained for the same corpora and seeds."""
    part = taus[(taus["projection"] == "softmax") & (taus["encoder"] == MAIN[0]) & (taus["attention"] == MAIN[1])]
    kept = part[part["variant"] == variant]
    wanted = set(zip(kept["dataset"], kept["seed"], strict=True))
    base = part[part["variant"] == "none"]
    base = base[[key in wanted for key in zip(base["dataset"], base["seed"], strict=True)]]
    return pd.concat([base, kept], ignore_index=True)


def deltas(taus: pd.DataFrame, variants: Sequence[str] = SPECIAL) -> pd.DataFrame:
    """tau as trained minus tau in a special setting, paired by seed, one row a corpus and setting (Tables 2, 4)."""
    frames = []
    for variant in variants:
        both = with_base(taus, variant)
        if len(both):
            frames.append(contrast(both, "variant", "none", variant, ["dataset"]).assign(variant=variant))
    if not frames:
        return pd.DataFrame()
    return pd.concat(frames, ignore_index=True).rename(columns={"a": "tau as trained", "b": "tau there"})


def delta_table(taus: pd.DataFrame, table: int, variants: Sequence[str]) -> pd.DataFrame:
    """Table 2 or 4: the differences beside the paper's for the same corpus or its kin."""
    found = deltas(taus, variants)
    paper = printed(table)
    paper = paper[paper["metric"] == "delta_weighted_kendall"].set_index(["dataset", "variant"])["value"]
    keys = [(kin(d), v) for d, v in zip(found["dataset"], found["variant"], strict=True)]
    found["paper"] = [paper.get(key, np.nan) for key in keys]
    found["paper's corpus"] = [key[0] if key in paper.index else "–" for key in keys]
    found["Δτ"] = interval_text(found.rename(columns={"estimate": "value"}))
    columns = ["dataset", "variant", "tau as trained", "tau there", "Δτ", "paper", "paper's corpus", "n"]
    return named(found[columns].rename(columns={"n": "models"}))


def adversary_table(apart: pd.DataFrame, lambdas: Mapping[str, float]) -> pd.DataFrame:
    """Table 3: accuracy of the adversary, TVD of outputs and JSD of attentions, beside the paper's."""
    paper = printed(3).set_index(["dataset", "metric"])["value"]
    rows = []
    for (dataset,), part in apart.groupby(["dataset"], sort=False):
        row = {"dataset": dataset, "λ": lambdas[dataset], "accuracy of base": part["right_base"].mean()}
        for name, column, metric in (
            ("accuracy", "right_adversary", "accuracy"),
            ("TVD", "tvd", "tvd"),
            ("JSD", "jsd", "jsd"),
        ):
            row[name] = part[column].mean()
            row[f"paper: {name}"] = paper.get((kin(dataset), metric), np.nan)
        rows.append(row | {"texts": part["instance"].nunique(), "models": part["seed"].nunique()})
    return pd.DataFrame(rows)


def gumbel_pairs(taus: pd.DataFrame) -> pd.DataFrame:
    """Model settings with softmax and with Gumbel-softmax, means over the seeds that have both."""
    part = taus[taus["variant"] == "none"]
    keys = [*CELL, "task", "seed"]
    wide = part.pivot_table(index=keys, columns="projection", values=["tau", "entropy"], sort=False)
    if "gumbel" not in set(part["projection"]):
        return pd.DataFrame(columns=[*CELL, "task", "softmax", "gumbel", "change", "kept", "seeds"])
    wide = wide.dropna()
    wide.columns = [f"{a}_{b}" for a, b in wide.columns]
    mean = wide.groupby(level=[*CELL, "task"], sort=False).mean().reset_index()
    mean = mean.rename(columns={"tau_softmax": "softmax", "tau_gumbel": "gumbel"})
    mean["change"] = mean["gumbel"] - mean["softmax"]
    mean["kept"] = mean["change"] > -SAME
    mean["seeds"] = wide.groupby(level=[*CELL, "task"], sort=False).size().to_numpy()
    return mean


def gumbel_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Table 5: N/M, settings whose tau rises or stays with Gumbel-softmax, by task and attention."""
    paper = reference("mutual_information", 5).set_index(["dataset", "attention"])["value"]
    rows = []
    for task, own in pairs.groupby("task", sort=False):
        row = {"task": task}
        for attention, part in own.groupby("attention", sort=False):
            name = NAMES[attention]
            row[name] = f"{int(part['kept'].sum())}/{len(part)}"
            row[f"paper: {name}"] = str(paper.get((task, attention), "–"))
        rows.append(row | {"all": f"{int(own['kept'].sum())}/{len(own)}", "mean change of τ": own["change"].mean()})
    return pd.DataFrame(rows).fillna("–")


def stability_table(taus: pd.DataFrame) -> pd.DataFrame:
    """Seeds against each other: mean and largest |difference| of tau over pairs of seeds, by cell."""
    rows = []
    for key, part in plain(taus).groupby(CELL, sort=False):
        apart = seed_differences(part)
        row = dict(zip(CELL, key, strict=True))
        largest = max(apart, default=np.nan)
        rows.append(
            row | {"mean |Δτ|": np.mean(apart) if apart else np.nan, "largest |Δτ|": largest, "pairs": len(apart)}
        )
    return named(pd.DataFrame(rows))


def seed_differences(part: pd.DataFrame) -> list[float]:
    """|difference| of tau for every pair of seeds of one cell."""
    values = part.sort_values("seed")["tau"].to_numpy(float)
    return [abs(float(a - b)) for i, a in enumerate(values) for b in values[i + 1 :]]


def uniformity(taus: pd.DataFrame, *, resamples: int = 1000, seed: int = 0) -> stats.Interval:
    """Kendall tau-b between a model's tau and the entropy of its attention, within corpora, averaged over them.

    95 % interval: settings (encoder, attention) are drawn anew within each corpus, with all their seeds.
    """
    part = plain(taus)
    groups = [
        [g[["tau", "entropy"]].to_numpy(float) for _, g in own.groupby(CELL)] for _, own in part.groupby("dataset")
    ]
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(resamples):
        drawn = [[own[i] for i in rng.integers(0, len(own), len(own))] for own in groups]
        draws.append(_within(drawn))
    low, high = np.nanquantile(draws, [0.025, 0.975]) if np.isfinite(draws).any() else (np.nan, np.nan)
    return stats.Interval(_within(groups), float(low), float(high), len(part))


def _within(groups: Iterable[Sequence[np.ndarray]]) -> float:
    found = []
    for cells in groups:
        rows = np.vstack(cells)
        found.append(stats.kendall_tau(rows[:, 0], rows[:, 1]) if len(rows) > 2 else np.nan)
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")
