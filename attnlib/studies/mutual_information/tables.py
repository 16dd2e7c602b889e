"""Tables of the study of attention ranks and information, ours next to the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.data.types import Corpus
from attnlib.studies.beside import reference
from attnlib.studies.common import RESAMPLES, interval_text, spell_interval, summarise
from attnlib.studies.datasets import kin, short
from attnlib.studies.mutual_information.grid import CELL, NAMES, adversary_lambda
from attnlib.studies.mutual_information.intervals import (
    averaged,
    of_main,
    paired,
    plain,
    seed_differences,
    shared,
    without_idle,
)

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


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Encoders, attentions, projections and variants as readers know them; files by their stem."""
    columns = [c for c in ("encoder", "attention", "projection", "variant") if c in frame]
    told = {c: [NAMES.get(name, name) for name in frame[c]] for c in columns}
    return frame.assign(**told, **({"dataset": frame["dataset"].map(short)} if "dataset" in frame else {}))


def corpus_table(corpora: Mapping[str, Corpus], taus: pd.DataFrame) -> pd.DataFrame:
    """Table 1: sizes, accuracy of BiLSTM with additive attention; below each corpus the paper's, or the closest.

    The interval of accuracy draws seeds, then texts within each: which texts a model got right is not kept, so
    those of two seeds count as drawn apart.
    """
    paper = printed(1).pivot_table(index="dataset", columns="metric", values="value")
    mine = of_main(plain(taus))
    rows = []
    for name, corpus in corpora.items():
        words = float(corpus.stats().set_index("split")["mean_words"]["train"])
        own = mine[mine["dataset"] == name]
        found = _accuracy(own)
        row = {"dataset": short(name), "whose": "ours", "|V|": len(corpus.vocabulary), "mean words": f"{words:.1f}"}
        row |= {"train": len(corpus.train), "test": len(corpus.test), "accuracy": found, "difference": np.nan}
        rows.append(row | {"texts × models": f"{int(own['n'].max()):,} × {len(own)}" if len(own) else "–"})
        if (twin := kin(name)) not in paper.index:
            continue
        known = paper.loc[twin]
        rows[-1]["difference"] = own["accuracy"].mean() - known["accuracy"]
        row = {"dataset": short(name), "whose": f"paper: {twin}", "|V|": int(known["vocabulary"])}
        row |= {"mean words": f"{known['avg_words']:.1f}", "train": int(known["train"]), "test": int(known["test"])}
        rows.append(row | {"accuracy": f"{known['accuracy']:.2f}", "texts × models": "–"})
    return pd.DataFrame(rows)


def _accuracy(models: pd.DataFrame) -> str:
    """Mean accuracy with its interval over seeds and texts; a model's share of right answers is all it takes."""
    if not len(models):
        return "–"
    sizes = models["n"].to_numpy(int)
    right = np.rint(models["accuracy"].to_numpy(float) * sizes).astype(int)
    values = np.concatenate([np.arange(n) < r for n, r in zip(sizes, right, strict=True)]).astype(float)
    found = stats.bootstrap(values, groups=np.repeat(models["seed"].to_numpy(), sizes), resamples=RESAMPLES)
    return spell_interval(models["accuracy"].mean(), found.low, found.high)


def choices_table(taus: pd.DataFrame) -> pd.DataFrame:
    """k and N of every model of the grid, as ranges over seeds, and whether the smallest cluster holds two.

    Occupied clusters: the range over seeds and ranks, N at most.
    """
    rows = []
    for key, part in plain(taus).groupby(CELL, sort=False):
        row = dict(zip(CELL, key, strict=True))
        row |= {name: _range(part[column]) for name, column in (("k", "k"), ("N", "clusters"))}
        row["occupied clusters"] = _range(pd.concat([part["occupied_least"], part["occupied_most"]]))
        row |= {"smallest cluster": _range(part["smallest"]), "texts": int(part["n"].max()), "models": len(part)}
        rows.append(row)
    return named(pd.DataFrame(rows))


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low}–{high}"


def tau_table(taus: pd.DataFrame) -> pd.DataFrame:
    """Figure 2 in numbers: mean tau by cell with its 95% interval over seeds; the width over texts next to it.

    Over the models that learned something; a cell without one keeps its row.
    """
    part = plain(taus)
    learned = without_idle(part)
    table = part.groupby(CELL, sort=False)[["entropy", "accuracy"]].mean()
    table["all"] = part.groupby(CELL, sort=False).size()
    table["± over texts"] = learned.groupby(CELL, sort=False)["over_texts"].mean()
    means = averaged(learned, CELL) if len(learned) else pd.DataFrame(columns=[*CELL, "value", "low", "high", "n"])
    table = table.reset_index().merge(means, on=CELL, how="left").fillna({"n": 0})
    table["tau"] = interval_text(table)
    table["models"] = table["n"].astype(int)
    table["learned nothing"] = table["all"] - table["models"]
    table = table.rename(columns={"entropy": "entropy of α"})
    table = table[[*CELL, "tau", "± over texts", "entropy of α", "accuracy", "models", "learned nothing"]]
    return named(table.rename(columns={"learned nothing": "left out"}))


def average_table(taus: pd.DataFrame) -> pd.DataFrame:
    """The averages of section 4: by attention, and by encoder and attention; the paper's, and the difference.

    Each part is over the corpora that have all its rows (`shared`): else a row would be high or low for its texts.
    """
    part = plain(taus)
    if not len(part):
        return pd.DataFrame()
    frames = []
    for keys in (["attention"], ["encoder", "attention"]):
        kept = shared(part, keys)
        frames.append(averaged(kept, keys).assign(corpora=kept["dataset"].nunique()))
    table = pd.concat(frames, ignore_index=True)
    table["encoder"] = table["encoder"].fillna("all") if "encoder" in table else "all"
    known = {
        (e if isinstance(e, str) else "all", a): v
        for e, a, v in printed("text")[["encoder", "attention", "value"]].to_numpy()
    }
    table["paper"] = [known.get((e, a), np.nan) for e, a in zip(table["encoder"], table["attention"], strict=True)]
    table["difference"] = table["value"] - table["paper"]
    table["ours"] = interval_text(table)
    table = named(table.rename(columns={"n": "models"}))
    return table[["encoder", "attention", "ours", "paper", "difference", "corpora", "models"]]


def estimator_table(taus: pd.DataFrame) -> pd.DataFrame:
    """Mean tau by attention under every estimate, and how alike they order the models (tau-b with the first)."""
    part = plain(taus)
    rows = []
    for column, words in ESTIMATES.items():
        row = {"estimate": words}
        row |= {NAMES.get(a, a): g[column].mean() for a, g in part.groupby("attention", sort=False)}
        both = part[["tau", column]].dropna().to_numpy(float)  # a constant output has no tau
        same = stats.kendall_tau(both[:, 0], both[:, 1]) if len(both) > 1 else np.nan
        rows.append(row | {"agreement with the first": same, "models": len(both)})
    return pd.DataFrame(rows)


def with_base(taus: pd.DataFrame, variant: str) -> pd.DataFrame:
    """BiLSTM with additive attention in a special setting and as trained, where a corpus and seed has both."""
    part = of_main(taus[taus["projection"] == "softmax"])
    sides = [part[part["variant"] == name] for name in ("none", variant)]
    keys = [list(zip(side["dataset"], side["seed"], strict=True)) for side in sides]
    both = set(keys[0]) & set(keys[1])
    kept = [side[np.array([key in both for key in own], bool)] for side, own in zip(sides, keys, strict=True)]
    return pd.concat(kept, ignore_index=True)


def deltas(taus: pd.DataFrame, variants: Sequence[str] = SPECIAL) -> pd.DataFrame:
    """tau as trained minus tau in a special setting, by seed, one row per corpus and setting (Tables 2, 4)."""
    frames = []
    for variant in variants:
        both = with_base(taus, variant)
        if len(both):
            frames.append(paired(both, "variant", "none", variant, ["dataset"]).assign(variant=variant))
    if not frames:
        return pd.DataFrame()
    return pd.concat(frames, ignore_index=True).rename(columns={"a": "tau as trained", "b": "tau there"})


def beside(taus: pd.DataFrame, table: int, variants: Sequence[str]) -> pd.DataFrame:
    """`deltas` with the value of the paper's Table 2 or 4 for the same or closest corpus, and the difference."""
    found = deltas(taus, variants)
    if not len(found):
        return found
    paper = printed(table)
    paper = paper[paper["metric"] == "delta_weighted_kendall"].set_index(["dataset", "variant"])["value"]
    keys = [(kin(d), v) for d, v in zip(found["dataset"], found["variant"], strict=True)]
    found["paper"] = [paper.get(key, np.nan) for key in keys]
    found["paper's corpus"] = [key[0] if key in paper.index else "–" for key in keys]
    found["difference"] = found["estimate"] - found["paper"]
    return found


def delta_table(taus: pd.DataFrame, table: int, variants: Sequence[str]) -> pd.DataFrame:
    """Table 2 or 4: the differences of tau next to the paper's."""
    found = beside(taus, table, variants)
    if not len(found):
        return found
    found["Δτ"] = interval_text(found.rename(columns={"estimate": "value"}))
    columns = [
        "dataset",
        "variant",
        "tau as trained",
        "tau there",
        "Δτ",
        "paper",
        "difference",
        "paper's corpus",
        "n",
    ]
    found = found[columns]
    return named(found.rename(columns={"n": "models"}))


MEASURED = {
    "accuracy of base": ("right_base", None),
    "accuracy": ("right_adversary", "accuracy"),
    "TVD as trained": ("tvd_trained", "tvd"),
    "TVD": ("tvd", None),
    "JSD": ("jsd", "jsd"),
}
"""Rows of Table 3: our column, and the paper's name. TVD is half the sum of |Δp| over the classes, |Δp| where there
are two. The code that the paper's lambdas come from has one output for two classes and halves its |Δp|; the paper's
own code is not released, so its TVD is shown next to that half. With more classes nothing is halved."""


def adversary_table(apart: pd.DataFrame) -> pd.DataFrame:
    """Table 3, one row per corpus and quantity, with its interval over seeds and texts, next to the paper's."""
    paper = printed(3).set_index(["dataset", "metric"])["value"]
    rows = []
    for name, (column, metric) in MEASURED.items():
        found = summarise(apart.assign(value=apart[column]), ["dataset"])
        found["quantity"] = name
        found["paper"] = [paper.get((kin(d), metric), np.nan) for d in found["dataset"]]
        rows.append(found)
    table = pd.concat(rows, ignore_index=True)
    order = list(dict.fromkeys(apart["dataset"]))
    table = table.sort_values("dataset", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)
    lambdas = {dataset: adversary_lambda(dataset) for dataset in order}
    table["λ"] = [f"{lambdas[d][0]:g}" for d in table["dataset"]]
    table["λ from"] = [lambdas[d][1] for d in table["dataset"]]
    table["ours"] = interval_text(table, 3)
    table["difference"] = table["value"] - table["paper"]
    table["texts"] = table["dataset"].map(apart.groupby("dataset")["instance"].nunique())
    table = table.rename(columns={"seeds": "models"})
    table = table[["dataset", "λ", "λ from", "quantity", "ours", "paper", "difference", "texts", "models"]]
    return named(table)


def gumbel_pairs(taus: pd.DataFrame) -> pd.DataFrame:
    """Model settings with softmax and with Gumbel-softmax, means over the seeds that have both."""
    part = taus[taus["variant"] == "none"].dropna(subset=["tau", "entropy"])
    keys = [*CELL, "task", "seed"]
    if not {"softmax", "gumbel"} <= set(part["projection"]):
        return pd.DataFrame(columns=[*CELL, "task", "softmax", "gumbel", "change", "kept", "seeds"])
    wide = part.pivot_table(index=keys, columns="projection", values=["tau", "entropy"], sort=False).dropna()
    wide.columns = [f"{a}_{b}" for a, b in wide.columns]
    mean = wide.groupby(level=[*CELL, "task"], sort=False).mean().reset_index()
    mean = mean.rename(columns={"tau_softmax": "softmax", "tau_gumbel": "gumbel"})
    mean["change"] = mean["gumbel"] - mean["softmax"]
    mean["kept"] = mean["change"] > -SAME
    mean["seeds"] = wide.groupby(level=[*CELL, "task"], sort=False).size().to_numpy()
    return mean


def gumbel_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Table 5: N/M, settings whose tau rises or stays with Gumbel-softmax, by task and attention, and in all."""
    known = reference("mutual_information", 5).fillna({"dataset": "all", "attention": "all"})
    paper = known.set_index(["dataset", "attention"])["value"]
    rows = []
    for task, own in [*pairs.groupby("task", sort=False), ("all", pairs)]:
        row = {"task": task}
        for attention, part in [*own.groupby("attention", sort=False), ("all", own)]:
            name = NAMES.get(attention, attention)
            row[name] = f"{int(part['kept'].sum())}/{len(part)}"
            row[f"paper: {name}"] = str(paper.get((task, attention), "–"))
        rows.append(row | {"mean change of τ": own["change"].mean()})
    return pd.DataFrame(rows).fillna("–")


def paper_total() -> str:
    """`85 of 99`: the paper's count over all settings of Table 5."""
    known = reference("mutual_information", 5)
    return known.loc[known["dataset"].isna() & known["attention"].isna(), "value"].item().replace("/", " of ")


def stability_table(taus: pd.DataFrame) -> pd.DataFrame:
    """Seeds against each other: mean and largest |difference| of tau over pairs of seeds, per cell."""
    rows = []
    for key, part in plain(taus).groupby(CELL, sort=False):
        if not (apart := seed_differences(part)):
            continue
        row = dict(zip(CELL, key, strict=True))
        rows.append(row | {"mean |Δτ|": np.mean(apart), "largest |Δτ|": max(apart), "pairs": len(apart)})
    return named(pd.DataFrame(rows))
