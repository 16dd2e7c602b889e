"""Tables of the study of sparse attention: frames in, frames out, ours next to the paper's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.measures.agreement import STATUSES
from attnlib.studies.beside import KEYS as JOIN
from attnlib.studies.beside import reference
from attnlib.studies.common import beside_paper, contrast, interval_text, summarise
from attnlib.studies.datasets import kin
from attnlib.studies.sparsity.grid import KEYS
from attnlib.studies.sparsity.params import PAIR
from attnlib.studies.sparsity.trainings import contrast_trainings

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

NAMES = {
    "gradient_input": "g(x)",
    "leave_one_out_input": "D(x)",
    "gradient_hidden": "g(I)",
    "leave_one_out_hidden": "D(I)",
    "adversary_frozen": "frozen",
    "adversary_unfrozen": "unfrozen",
    "lstm": "BiLSTM",
    "transformer": "Transformer",
}
"""Our names as the paper writes them: g gradient, D leave-one-out, of inputs x and hidden states I."""
TITLES = {"paper_sd": "paper: sd", "push": "λ", "importance": "with"}
METRICS = {
    "support": "words with weight",
    "support_share": "share of words",
    "entropy_attention": "entropy of attention",
}
DUELS = {
    "jsd_attention": "distance of its attention from the base's (JSD in nats, at most 0.69)",
    "accuracy": "its accuracy",
    "delta_accuracy": "its accuracy minus that of its base, paired by text",
}
"""The three numbers that Table 5 prints of an adversary."""
DUEL = ["dataset", "encoder", "projection", "variant", "push"]
"""The columns that tell adversaries apart."""
FAR = 0.35
"""Distance (JSD, nats) from which attention counts as moved: half of ln 2, the most there is. An adversary that
stays nearer shows nothing about the price of moving."""


def by_corpus(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Name of each corpus, a name for its files (letters, digits and hyphens), and its rows."""
    taken: set[str] = set()
    for name, part in frame.groupby("dataset", sort=False):
        plain = file = re.sub(r"[^A-Za-z0-9]+", "-", str(name)).strip("-") or "corpus"
        while file in taken:
            file = f"{plain}-{len(taken)}"
        taken.add(file)
        yield str(name), file, part.reset_index(drop=True)


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with readable names of encoders, importances and adversaries."""
    columns = [c for c in ("encoder", "importance", "variant") if c in frame]
    return frame.assign(**{c: frame[c].map(lambda name: NAMES.get(name, name)) for c in columns})


def projection_label(row: pd.Series | dict) -> str:
    """`softmax`, `entmax 1.5`, `sparsegen -10`, `sparsemax`."""
    if row["projection"] == "sparsegen":
        return f"sparsegen {row['lam']:g}"
    return f"entmax {row['alpha']:g}" if row["projection"] == "entmax" else str(row["projection"])


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a column `model` that names the projection and its option."""
    places = frame[["projection", "lam", "alpha"]].drop_duplicates()
    places["model"] = [projection_label(row) for _, row in places.iterrows()]
    return frame.merge(places, on=["projection", "lam", "alpha"], how="left")


def against_paper(summary: pd.DataFrame, table: int) -> pd.DataFrame:
    """`summary` (dataset, …, value, low, high, n) next to a table of the paper, by its name for the corpus."""
    theirs = summary.assign(dataset=summary["dataset"].map(kin))
    printed = reference("sparsity", table)
    keys = [k for k in JOIN if k in theirs and printed[k].notna().any()]
    deviation = theirs[keys].merge(printed[[*keys, "std"]], on=keys, how="left")["std"]
    return beside_paper(summary, "sparsity", table).assign(paper_sd=deviation.to_numpy())


def corpus_table(corpora: Iterable[Corpus]) -> pd.DataFrame:
    """Table 3, left: sizes, next to those of the paper's corpus of that name, or the closest."""
    printed = reference("sparsity", 3)
    rows = []
    for corpus in corpora:
        twin = kin(corpus.name)
        theirs = printed[printed["dataset"] == twin].set_index("metric")["value"]
        sizes = {split: len(getattr(corpus, split)) for split in ("train", "dev", "test")}
        words = float(np.mean([len(example) for example in corpus.test]))
        row = {"dataset": corpus.name, **sizes, "words per test text": words, "|V|": len(corpus.vocabulary)}
        row |= {"paper's corpus": twin if len(theirs) else "–"}
        rows.append(row | {f"paper: {split}": theirs.get(split, np.nan) for split in ("train", "test")})
    return pd.DataFrame(rows).astype({f"paper: {split}": "Int64" for split in ("train", "test")})


def accuracy_table(right: pd.DataFrame) -> pd.DataFrame:
    """Table 3, right: test accuracy of every model; the paper prints those with softmax."""
    summary = labelled(summarise(right, [*KEYS, "metric"]))
    soft = summary["projection"] == "softmax"
    table = pd.concat([against_paper(summary[soft], 3), summary[~soft]], ignore_index=True)
    table["ours"] = interval_text(table)
    order = {name: k for k, name in enumerate(labelled(right)["model"].unique())}
    table = table.sort_values(
        ["dataset", "encoder", "model"], key=lambda c: c.map(order) if c.name == "model" else c, kind="stable"
    )
    return named(table)[["dataset", "encoder", "model", "ours", "paper", "difference", "n", "seeds"]].reset_index(
        drop=True
    )


def hidden_table(hidden: pd.DataFrame) -> pd.DataFrame:
    """Table 1: entropy of inputs' influence on a hidden state, mean and sd over texts and positions."""
    part = hidden[hidden["projection"].isin(PAIR)]
    by = ["dataset", "encoder", "projection", "metric"]
    table = against_paper(summarise(part, by), 1)
    deviation = part.groupby(by, sort=False)["value"].std().rename("sd").reset_index()
    table = table.merge(deviation, on=by)
    columns = ["dataset", "encoder", "projection", "ours", "sd", "paper", "paper_sd", "difference", "n", "missing"]
    return named(table)[columns].rename(columns=TITLES)


def own_table(hidden: pd.DataFrame) -> pd.DataFrame:
    """How much of the influence on a hidden state its own word has, next to an even share of it."""
    part = hidden[hidden["projection"].isin(PAIR)]
    by = ["dataset", "encoder", "projection"]
    table = summarise(part.assign(value=part["own"]), by)
    table = table.assign(**{"own word's share": interval_text(table)})
    even = part.groupby(by, sort=False)["even"].mean().rename("even share").reset_index()
    return named(table.merge(even, on=by))[[*by, "own word's share", "even share", "n", "seeds"]]


def agreement_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Table 6: mean Kendall tau-b of attention with the four importances; sd over texts; texts without an order."""
    part = agreement[agreement["projection"].isin(PAIR)]
    by = ["dataset", "encoder", "projection", "importance", "metric"]
    table = against_paper(summarise(part, by), 6)
    deviation = part.groupby(by, sort=False)["value"].std().rename("sd").reset_index()
    table = table.merge(deviation, on=by)
    columns = ["dataset", "encoder", "projection", "importance", "ours", "sd", "paper", "paper_sd"]
    return named(table)[[*columns, "difference", "n", "missing"]].rename(columns=TITLES)


def status_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """How many measurements have no order to compare and why; how many pairs of words are tied in attention."""
    frame = labelled(agreement)
    by = ["dataset", "encoder", "model"]
    counts = pd.concat(
        {s: (frame["status"] == s).groupby([frame[c] for c in by], sort=False).sum() for s in STATUSES}, axis=1
    )
    tied = frame.groupby(by, sort=False)["tied"].mean().rename("share of tied pairs")
    return named(counts.join(tied).reset_index())


def path_table(frame: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Mean with interval of every metric for every projection: one row per model, one column per metric."""
    kind = "metric" if "importance" not in frame else "importance"
    part = labelled(frame[frame[kind].isin(metrics)])
    summary = summarise(part, ["dataset", "encoder", "model", kind])
    summary["text"] = interval_text(summary)
    wide = summary.pivot_table(
        index=["dataset", "encoder", "model"], columns=kind, values="text", aggfunc="first", sort=False
    )
    n = summary.groupby(["dataset", "encoder", "model"], sort=False)["n"].max()
    wide = wide[[m for m in metrics if m in wide]].rename(columns=NAMES | METRICS)
    return named(wide.assign(n=n).reset_index()).rename_axis(columns=None)


def lambda_table(found: pd.DataFrame) -> pd.DataFrame:
    """Table 2, from the trend of the entropy of gradient importance along lambda; a larger lambda is sparser."""
    table = against_paper(found.assign(metric="corr_lambda_vs_entropy_grad_fi_of_input"), 2)
    table = table.rename(columns={"within": "within texts"})
    columns = ["dataset", "encoder", "ours", "paper", "difference", "p", "within texts", "points", "seeds", "n"]
    return named(table)[columns]


def adversary_table(adversaries: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Table 5, one number of an adversary (a key of DUELS). The paper's adversaries attack softmax models."""
    values = {"jsd_attention": "jsd", "accuracy": "right_adversary"}
    if metric == "delta_accuracy":
        summary = accuracy_change(adversaries).rename(columns={"estimate": "value", "b": "base"})
    else:
        summary = summarise(adversaries.assign(value=adversaries[values[metric]]), DUEL)
    table = against_paper(summary.assign(metric=metric), 5)
    theirs = (table["projection"] == "softmax") & (table["push"] > 0)
    table = table.assign(paper=table["paper"].where(theirs), difference=table["difference"].where(theirs))
    table["push"] = table["push"].map(push_label)
    front = [*DUEL, "base"] if metric == "delta_accuracy" else DUEL
    return named(table)[[*front, "ours", "paper", "difference", "n", "seeds"]].rename(columns=TITLES)


def push_label(push: float) -> str:
    """A push as it was given, 0.0005 and not 5.0e-04; `control` where there is none."""
    return f"{push:g}" if push else "control"


def accuracy_change(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each adversary minus that of its base, paired by text and seed: a difference of trainings."""
    keys = [*DUEL, "seed", "instance"]
    sides = [
        adversaries[keys].assign(side=side, value=adversaries[f"right_{side}"]) for side in ("base", "adversary")
    ]
    return contrast_trainings(pd.concat(sides, ignore_index=True), "side", "adversary", "base", DUEL)


def with_distance(change: pd.DataFrame, adversaries: pd.DataFrame) -> pd.DataFrame:
    """Rows of `accuracy_change` with `jsd`, how far each adversary's attention is from its base's on average."""
    return change.merge(adversaries.groupby(DUEL, sort=False)["jsd"].mean().reset_index(), on=DUEL)


def least_push(adversaries: pd.DataFrame) -> pd.DataFrame:
    """One row per base and kind of adversary: the weakest push that moves attention FAR on average, and its cost.

    A push beyond that only buys accuracy for distance that nobody asked for; where no push reaches FAR, the row is
    that of the farthest. The control (push 0) is never chosen: `control`, `control_low` and `control_high` are its
    change of accuracy, `control_jsd` its distance, NaN without one. `silent`, with the reason in `note`: too near,
    too few seeds, or a control that loses accuracy too, since the loss is then not that of other attention.
    """
    table = with_distance(accuracy_change(adversaries), adversaries)
    controls = table[table["push"] == 0][[*DUEL[:-1], "estimate", "low", "high", "jsd"]]
    controls = controls.rename(
        columns={"estimate": "control", **{c: f"control_{c}" for c in ("low", "high", "jsd")}}
    )
    pushed = table[table["push"] > 0].merge(controls, on=DUEL[:-1], how="left")
    rows = []
    for _, own in pushed.groupby(DUEL[:-1], sort=False):
        far = own[own["jsd"] > FAR]
        rows.append(far["push"].idxmin() if len(far) else own["jsd"].fillna(-1.0).idxmax())
    chosen = pushed.loc[rows].reset_index(drop=True)
    reasons = pd.DataFrame(
        {
            "too near": ~(chosen["jsd"] > FAR),
            "the control loses accuracy too": chosen["control_high"] < 0,
        }
    )
    chosen["silent"] |= reasons.any(axis=1)
    chosen["note"] = [
        ", ".join(filter(None, [f"λ = {push:g}, {jsd:.2f} nats away", *reasons.columns[marks], note]))
        for push, jsd, marks, note in zip(
            chosen["push"], chosen["jsd"], reasons.to_numpy(), chosen["note"], strict=True
        )
    ]
    return chosen


def distances(facets: pd.DataFrame) -> pd.Series:
    """Total variation of the two ways of Appendix A; none where a text has one word or no input moves the state:
    there is nothing to spread, and the two agree for nothing."""
    return facets["distance"].where(facets["of_norm"].notna() & facets["of_facets"].notna())


def facets_table(facets: pd.DataFrame) -> pd.DataFrame:
    """Appendix A: both entropies, their difference, and how alike the two distributions over inputs are."""
    long = pd.concat(
        [
            facets.assign(way=way, value=facets[way])[
                ["dataset", "encoder", "seed", "instance", "position", "way", "value"]
            ]
            for way in ("of_norm", "of_facets")
        ]
    )
    table = contrast(long, "way", "of_norm", "of_facets", ["dataset", "encoder"], pair=["position"])
    table["difference"] = interval_text(table.rename(columns={"estimate": "value"}), 3)
    by = ["dataset", "encoder"]
    apart = summarise(facets.assign(value=distances(facets)), by)
    apart = apart.assign(**{"total variation": interval_text(apart, 3)})[[*by, "total variation"]]
    more = facets.groupby(by, sort=False).agg(
        tau=("tau", "mean"), **{"mean ‖h‖": ("norm", "mean"), "sd of ‖h‖": ("norm", "std")}
    )
    table = table.merge(more.reset_index(), on=by).merge(apart, on=by)
    table = table.rename(columns={"a": "entropy, norm", "b": "entropy, components", "tau": "τ over inputs"})
    columns = ["dataset", "encoder", "entropy, norm", "entropy, components", "difference", "τ over inputs"]
    return named(table)[[*columns, "total variation", "mean ‖h‖", "sd of ‖h‖", "n", "missing"]]
