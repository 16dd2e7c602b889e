"""Tables of the study of attention ranks and information, ours next to the paper's.

A tau is one number per model, so its intervals are over trainings, nested in cells (corpus, encoder, attention), on
the test texts at hand; what another sample of texts would do to a single tau is `over_texts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from attnlib import stats
from attnlib.data.types import Corpus
from attnlib.stats.inference import COUNTS, ENDS, contrast, contrasts, effects
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies import beside
from attnlib.studies.datasets import short
from attnlib.studies.mutual_information.grid import CELL, MAIN, NAME, NAMES, adversary_lambda

TAU = {"text": None, "bounds": (-1.0, 1.0)}
"""How a mean of tau gets its interval."""
CHANGE = {"text": None, "bounds": (-2.0, 2.0)}
"""How a difference of two taus gets its interval."""
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
MEASURED = {
    "accuracy of base": ("right_base", "", 1.0),
    "accuracy": ("right_adversary", "accuracy", 1.0),
    "TVD as trained": ("tvd_trained", "tvd", 1.0),
    "TVD": ("tvd", "", 1.0),
    "JSD": ("jsd", "jsd", float(np.log(2))),
}
"""Rows of Table 3: our column, the paper's name, the largest value. TVD is half the sum of |Δp| over the classes,
|Δp| where there are two. The code that the paper's lambdas come from has one output for two classes and halves its
|Δp|; the paper's own code is not released, so its TVD is shown next to that half. With more classes nothing is
halved."""


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The softmax models as trained: the grid of Figure 2."""
    return frame[(frame["variant"] == "none") & (frame["projection"] == "softmax")]


def of_main(frame: pd.DataFrame) -> pd.DataFrame:
    """Those of BiLSTM with additive attention."""
    return frame[(frame["encoder"] == MAIN[0]) & (frame["attention"] == MAIN[1])]


def shared(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The rows of corpora that have every setting of `columns` there is: means over them compare like with like."""
    settings = frame[["dataset", *columns]].drop_duplicates()
    every = len(settings[list(columns)].drop_duplicates())
    counts = settings.groupby("dataset").size()
    return frame[frame["dataset"].isin(counts.index[counts == every])]


def with_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """With `setting`: `BiLSTM with Additive`."""
    return frame.assign(setting=frame["encoder"].map(NAMES) + " with " + frame["attention"].map(NAMES))


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Encoders, attentions, projections and variants as readers know them; files by their stem."""
    frame = frame.assign(dataset=frame["dataset"].map(short)) if "dataset" in frame else frame
    return beside.named(frame, NAMES)


def corpus_table(corpora: Mapping[str, Corpus]) -> pd.DataFrame:
    """Table 1: sizes of the corpora next to those of the paper's, or of the closest."""
    return named(beside.corpus_table([replace(c, name=name) for name, c in corpora.items()], NAME, 1))


def accuracy_table(labels: pd.DataFrame) -> pd.DataFrame:
    """Table 1: accuracy of BiLSTM with additive attention, with its interval over trainings and texts."""
    part = of_main(plain(labels))
    part = part.assign(value=(part["truth"] == part["prediction"]).astype(float), metric="accuracy")
    found = beside.beside(effects(part, ["dataset", "metric"], bounds=(0.0, 1.0)), NAME, 1)
    return _beside(named(found), "dataset")


def choices_table(taus: pd.DataFrame) -> pd.DataFrame:
    """k and N of every model of the grid, as ranges over trainings, and whether the smallest cluster holds two.

    Occupied clusters: the range over trainings and ranks, N at most.
    """
    groups = plain(taus).groupby(CELL, sort=False)
    table = groups.agg(k=("k", span), N=("clusters", span))
    table["occupied clusters"] = groups[["occupied_least", "occupied_most"]].apply(span)
    told = groups.agg(smallest=("smallest", span), texts=("n", "max"), trainings=("seed", "size"))
    return named(table.join(told.rename(columns={"smallest": "smallest cluster"})).reset_index())


def span(values: pd.Series | pd.DataFrame) -> str:
    """`3`, or `3–5`."""
    low, high = int(np.min(values)), int(np.max(values))
    return str(low) if low == high else f"{low}–{high}"


def tau_table(taus: pd.DataFrame, learned: pd.DataFrame) -> pd.DataFrame:
    """Figure 2 in numbers: mean tau by cell with its interval over trainings; the width over texts next to it.

    Over the models that learned something; a cell without one keeps its row. Entropy and accuracy are of all.
    """
    groups = plain(taus).groupby(CELL, sort=False)
    table = groups.agg(entropy=("entropy", "mean"), accuracy=("accuracy", "mean"), models=("seed", "size"))
    part = plain(learned)
    table["± over texts"] = part.groupby(CELL, sort=False)["over_texts"].mean()
    table["left out"] = table.pop("models") - part.groupby(CELL).size().reindex(table.index, fill_value=0)
    found = effects(part, CELL, **TAU).drop(columns=["n", "texts", "p"])
    table = (
        table.reset_index().merge(found, on=CELL, how="left").fillna({"trainings": 0}).astype({"trainings": int})
    )
    columns = [*ENDS, "± over texts", "entropy", "accuracy", "trainings", "df", "left out"]
    return named(table[[*CELL, *columns]])


def average_table(learned: pd.DataFrame) -> pd.DataFrame:
    """The averages of section 5: by attention, and by encoder and attention; the paper's, and the difference.

    Each part is over the corpora that have all its rows (`shared`): else a row would be high or low for its texts.
    """
    part = plain(learned)
    frames = []
    for metric, keys in (
        ("weighted_kendall_mean_all", ["attention"]),
        ("weighted_kendall_mean", ["encoder", "attention"]),
    ):
        kept = shared(part, keys)
        found = effects(kept, keys, CELL, **TAU)
        paper = [beside.printed(NAME, "text", metric=metric, **row) for row in found[keys].to_dict("records")]
        frames.append(found.assign(paper=pd.Series(paper, dtype=float), corpora=kept["dataset"].nunique()))
    table = pd.concat(frames, ignore_index=True)
    table = table.assign(encoder=table["encoder"].fillna("all"), difference=table["value"] - table["paper"])
    return _beside(named(table), "encoder", "attention", "corpora")


def estimator_table(learned: pd.DataFrame) -> pd.DataFrame:
    """Mean tau by attention under every estimate, and how alike they order the models (tau-b with the first)."""
    part = plain(learned)
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
    part = of_main(taus[taus["projection"] == "softmax"]).dropna(subset=["value"])
    base, special = (part[part["variant"] == name] for name in ("none", variant))
    both = base[["dataset", "seed"]].merge(special[["dataset", "seed"]])
    return pd.concat([side.merge(both, on=["dataset", "seed"]) for side in (base, special)], ignore_index=True)


def delta_table(learned: pd.DataFrame, table: int, variants: Sequence[str]) -> pd.DataFrame:
    """Tables 2 and 4: tau as trained minus tau in a special setting, paired by training, next to the paper's."""
    frames = []
    for variant in variants:
        pairs = with_base(learned, variant)
        found = contrasts(pairs, "variant", "none", variant, ["dataset"], **CHANGE)
        frames.append(found.assign(variant=variant))
    found = beside.beside(pd.concat(frames, ignore_index=True), NAME, table)
    found = found.rename(columns={"a": "τ as trained", "b": "τ there"})
    return _beside(named(found), "dataset", "variant", "τ as trained", "τ there")


def adversary_table(apart: pd.DataFrame) -> pd.DataFrame:
    """Table 3, one row per corpus and quantity, with its interval over trainings and texts, next to the paper's."""
    frames = []
    for quantity, (column, metric, most) in MEASURED.items():
        found = effects(apart.assign(value=apart[column]), ["dataset"], bounds=(0.0, most))
        frames.append(found.assign(quantity=quantity, metric=metric))
    table = beside.beside(pd.concat(frames, ignore_index=True), NAME, 3)
    order = list(dict.fromkeys(apart["dataset"]))
    table = table.sort_values("dataset", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)
    lambdas = {dataset: adversary_lambda(dataset) for dataset in order}
    table["λ"] = [f"{lambdas[d][0]:g}" for d in table["dataset"]]
    table["λ from"] = [lambdas[d][1] for d in table["dataset"]]
    return _beside(named(table), "dataset", "λ", "λ from", "quantity")


def gumbel_pairs(learned: pd.DataFrame) -> pd.DataFrame:
    """Model settings with softmax and with Gumbel-softmax, means over the seeds that have both."""
    part = learned[learned["variant"] == "none"].dropna(subset=["value", "entropy"])
    keys = [*CELL, "task"]
    if not {"softmax", "gumbel"} <= set(part["projection"].unique()):
        return pd.DataFrame(columns=[*keys, "softmax", "gumbel", "change", "kept", "trainings"])
    wide = part.pivot_table(index=[*keys, "seed"], columns="projection", values=["value", "entropy"], sort=False)
    wide = wide.dropna()
    wide.columns = [b if a == "value" else f"{a}_{b}" for a, b in wide.columns]
    groups = wide.groupby(level=keys, sort=False)
    mean = groups.mean().assign(trainings=groups.size()).reset_index()
    mean["change"] = mean["gumbel"] - mean["softmax"]
    return mean.assign(kept=mean["change"] > -SAME)


def gumbel_table(learned: pd.DataFrame) -> pd.DataFrame:
    """Table 5: N/M, settings whose tau rises or stays with Gumbel-softmax, by task and attention, and in all.

    `value`: the mean change of tau over these settings, paired by training.
    """
    pairs = gumbel_pairs(learned)
    known = beside.reference(NAME, 5).fillna({"dataset": "all", "attention": "all"})
    paper = known.set_index(["dataset", "attention"])["value"]
    rows = []
    for task, own in [*pairs.groupby("task", sort=False), *([("all", pairs)] if len(pairs) else [])]:
        row = {"task": task}
        for attention, part in [*own.groupby("attention", sort=False), ("all", own)]:
            name = NAMES.get(attention, attention)
            row[name] = f"{int(part['kept'].sum())}/{len(part)}"
            row[f"paper: {name}"] = str(paper.get((task, attention), "–"))
        models = learned[(learned["variant"] == "none") & ((learned["task"] == task) | (task == "all"))]
        change = contrast(models, "projection", "gumbel", "softmax", CELL, **CHANGE).row()
        rows.append(row | {"change of τ" if k == "value" else k: change[k] for k in ENDS})
    table = pd.DataFrame(rows)
    texts = [c for c in table if table[c].dtype == object]
    return table.fillna(dict.fromkeys(texts, "–"))


def gap_values(taus: pd.DataFrame) -> pd.DataFrame:
    """How far two trainings of a cell lie apart, as one number per training whose mean and spread are those of it.

    The mean of |Δτ| over pairs of trainings (Gini's mean difference) is no mean over trainings, so each gets its
    jackknife value; for such a mean over pairs these average to it exactly. Cells of two trainings have none.
    """
    part = plain(taus).dropna(subset=["value"])
    part = part.groupby(CELL, sort=False).filter(lambda own: len(own) > 2)
    return pseudovalues(part, lambda own: pdist(own[["value"]]).mean(), CELL, text="seed").drop(columns="point")


def stability_table(learned: pd.DataFrame) -> pd.DataFrame:
    """Trainings against each other: mean and largest |difference| of tau over pairs of seeds, per cell."""
    rows = []
    for key, part in plain(learned).dropna(subset=["value"]).groupby(CELL, sort=False):
        if len(part) > 1:
            gaps = pdist(part[["value"]])
            told = {"value": gaps.mean(), "largest": gaps.max(), "pairs": len(gaps), "trainings": len(part)}
            rows.append(dict(zip(CELL, key, strict=True)) | told)
    if not rows:
        return pd.DataFrame()
    bounds = effects(gap_values(learned), CELL, text=None, bounds=(0.0, 2.0))[[*CELL, "low", "high"]]
    table = pd.DataFrame(rows).merge(bounds, on=CELL, how="left").astype({"low": float, "high": float})
    return named(table[[*CELL, *ENDS, "largest", "pairs", "trainings"]])


def _beside(table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """The columns of a table next to the paper's: what tells rows apart, the effect, the paper's, how many."""
    counts = COUNTS if table["texts"].any() else COUNTS[:2]  # a tau has trainings alone
    told = (*keys, *ENDS, "paper", "difference", "paper's corpus", *counts, "df")
    return table[[c for c in told if c in table]]
