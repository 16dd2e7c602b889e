"""Tables of the study of sparse attention: frames in, frames out, ours beside the paper's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.measures.agreement import STATUSES
from attnlib.reference import KEYS as JOIN
from attnlib.reference import reference
from attnlib.studies.common import RESAMPLES, beside_paper, contrast, interval_text, summarise
from attnlib.studies.corpora import kin
from attnlib.studies.sparsity import KEYS

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
TITLES = {"paper_sd": "paper: sd", "push": "λ", "p_holm": "p (Holm)", "importance": "with"}
DUELS = {
    "jsd_attention": "distance of its attention from the base's (JSD in nats, at most 0.69)",
    "accuracy": "its accuracy",
    "delta_accuracy": "its accuracy minus that of its base, paired by text",
}
"""The three numbers that Table 5 prints of an adversary."""
DUEL = ["dataset", "encoder", "projection", "variant", "push"]
"""The columns that tell adversaries apart."""
PAIR = ("softmax", "sparsemax")
"""The projections of Tables 1 and 6."""


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
    """The frame with readable names of encoders, importances and adversaries, and intervals that do not break."""
    columns = [c for c in ("encoder", "importance", "variant") if c in frame]
    frame = frame.assign(**{c: frame[c].map(lambda name: NAMES.get(name, name)) for c in columns})
    texts = [c for c in frame if frame[c].astype(str).str.contains("[", regex=False).any()]
    return frame.assign(**{c: frame[c].astype(str).str.replace(" ", "\N{NO-BREAK SPACE}") for c in texts})


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
    """`summary` (dataset, …, value, low, high, n) beside a table of the paper, by its name for the corpus."""
    ours = summary["dataset"]
    theirs = summary.assign(dataset=ours.map(kin))
    joined = beside_paper(theirs, "sparsity", table)
    printed = reference("sparsity", table)
    keys = [k for k in JOIN if k in theirs and printed[k].notna().any()]
    deviation = theirs[keys].merge(printed[[*keys, "std"]], on=keys, how="left")["std"]
    return joined.assign(dataset=ours.to_numpy(), paper_sd=deviation.to_numpy())


def corpus_table(corpora: Iterable[Corpus]) -> pd.DataFrame:
    """Table 3, left: sizes, beside those of the paper's corpus of that name or kin."""
    printed = reference("sparsity", 3)
    rows = []
    for corpus in corpora:
        twin = kin(corpus.name)
        theirs = printed[printed["dataset"] == twin].set_index("metric")["value"]
        sizes = {split: len(getattr(corpus, split)) for split in ("train", "dev", "test")}
        words = float(np.mean([len(example) for example in corpus.test]))
        row = {"dataset": corpus.name, **sizes, "words a test text": words, "|V|": len(corpus.vocabulary)}
        row |= {"paper's corpus": twin if len(theirs) else "–"}
        rows.append(row | {f"paper: {split}": theirs.get(split, np.nan) for split in ("train", "test")})
    return pd.DataFrame(rows)


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
    """How much of the influence on a hidden state its own word has, beside an even share of it."""
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
    """Mean with interval of every metric for every projection: one row a model, one column a metric."""
    kind = "metric" if "importance" not in frame else "importance"
    part = labelled(frame[frame[kind].isin(metrics)])
    summary = summarise(part, ["dataset", "encoder", "model", kind])
    summary["text"] = interval_text(summary)
    wide = summary.pivot_table(
        index=["dataset", "encoder", "model"], columns=kind, values="text", aggfunc="first", sort=False
    )
    n = summary.groupby(["dataset", "encoder", "model"], sort=False)["n"].max()
    wide = wide[[m for m in metrics if m in wide]].rename(columns=NAMES)
    return named(wide.assign(n=n).reset_index()).rename_axis(columns=None)


def trend(
    frame: pd.DataFrame, by: Sequence[str], x: str = "lam", *, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Kendall tau-b between `x` and the mean `value` of a seed's models, averaged over seeds; one row a cell.

    The interval draws seeds and texts anew and works out all means and correlations each time. `within` is the
    same correlation inside each text, averaged over texts: trends of single texts, which a mean can hide.
    """
    rows = []
    for key, part in frame[frame[x].notna()].groupby(list(by), sort=False):
        cube = _cube(part, x)
        places, n_seeds, n_texts = cube.shape
        rng = np.random.default_rng(seed)
        weights = rng.multinomial(n_texts, np.full(n_texts, 1 / n_texts), size=resamples)
        drawn = rng.integers(0, n_seeds, (resamples, n_seeds))
        taus = np.take_along_axis(_ordered(_means(cube, weights)), drawn, 1)
        draws = taus.mean(1)[~np.isnan(taus).any(1)]
        low, high = np.quantile(draws, [0.025, 0.975]) if len(draws) else (np.nan, np.nan)
        found = _ordered(_means(cube, np.ones((1, n_texts))))[0]
        each = _ordered(cube.transpose(2, 1, 0))
        row = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        row |= {"value": float(np.mean(found)), "low": float(low), "high": float(high), "n": n_texts}
        inside = float(np.nanmean(each)) if (~np.isnan(each)).any() else np.nan
        rows.append(row | {"points": places * n_seeds, "seeds": n_seeds, "within": inside})
    return pd.DataFrame(rows)


def _cube(part: pd.DataFrame, x: str) -> np.ndarray:
    """Values (places in ascending order, seeds, texts), NaN where there is none."""
    text = [c for c in ("dataset", "instance") if c in part]  # corpora may give their texts the same names
    part = part.assign(text=part.groupby(text, sort=False).ngroup())
    wide = part.pivot_table(index=[x, "seed"], columns="text", values="value", dropna=False, aggfunc="mean")
    places, seeds = sorted(part[x].unique()), sorted(part["seed"].unique())
    wide = wide.reindex(pd.MultiIndex.from_product([places, seeds]))
    return wide.to_numpy(float).reshape(len(places), len(seeds), -1)


def _means(cube: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted means over texts, (draws, seeds, places); texts without a value are left out."""
    real = ~np.isnan(cube)
    total = np.tensordot(weights, real.astype(float), (1, 2))
    means = np.tensordot(weights, np.where(real, cube, 0.0), (1, 2)) / np.where(total > 0, total, np.nan)
    return means.transpose(0, 2, 1)


def _ordered(values: np.ndarray) -> np.ndarray:
    """Tau-b of the last axis with its places, strictly ascending; NaN where one is missing or all are equal."""
    first, second = np.triu_indices(values.shape[-1], 1)
    sign = np.sign(values[..., second] - values[..., first])
    untied = (sign != 0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = sign.sum(-1) / np.sqrt(len(first) * untied)
    return np.where(np.isnan(values).any(-1) | (untied == 0), np.nan, tau)


def lambda_table(entropies: pd.DataFrame) -> pd.DataFrame:
    """Table 2: tau-b between lambda and the entropy of gradient importance; a larger lambda is sparser."""
    part = entropies[entropies["metric"] == "entropy_gradient_input"]
    found = trend(part, ["dataset", "encoder"])
    found = found.assign(metric="corr_lambda_vs_entropy_grad_fi_of_input")
    table = against_paper(found, 2)
    table["within texts"] = table["within"]
    columns = ["dataset", "encoder", "ours", "paper", "difference", "within texts", "points", "seeds", "n"]
    return named(table)[columns]


def adversary_table(adversaries: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Table 5, one number of an adversary (a key of DUELS). The paper's adversaries attack softmax models."""
    values = {"jsd_attention": "jsd", "accuracy": "right_adversary"}
    if metric == "delta_accuracy":
        summary = accuracy_change(adversaries).rename(columns={"estimate": "value", "b": "base"})
    else:
        summary = summarise(adversaries.assign(value=adversaries[values[metric]]), DUEL)
    table = against_paper(summary.assign(metric=metric), 5)
    soft = table["projection"] == "softmax"
    table = table.assign(paper=table["paper"].where(soft), difference=table["difference"].where(soft))
    table["push"] = [f"{push:g}" for push in table["push"]]  # as it was given: 0.0005 is no 5.0e-04
    more = ["p_holm"] if metric == "delta_accuracy" else []
    front = [*DUEL, "base"] if metric == "delta_accuracy" else DUEL
    return named(table)[[*front, "ours", "paper", "difference", *more, "n"]].rename(columns=TITLES)


def accuracy_change(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each adversary minus that of its base, paired by text."""
    keys = [*DUEL, "seed", "instance"]
    sides = [
        adversaries[keys].assign(side=side, value=adversaries[f"right_{side}"]) for side in ("base", "adversary")
    ]
    return contrast(pd.concat(sides, ignore_index=True), "side", "adversary", "base", DUEL)


def with_distance(change: pd.DataFrame, adversaries: pd.DataFrame) -> pd.DataFrame:
    """Rows of `accuracy_change` with `jsd`, how far each adversary's attention is from its base's on average."""
    return change.merge(adversaries.groupby(DUEL, sort=False)["jsd"].mean().reset_index(), on=DUEL)


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
    tau = facets.groupby(by, sort=False)["tau"].mean().reset_index()
    table = table.merge(tau, on=by).merge(apart, on=by)
    table = table.rename(columns={"a": "entropy, norm", "b": "entropy, components", "tau": "τ over inputs"})
    columns = ["dataset", "encoder", "entropy, norm", "entropy, components", "difference", "τ over inputs"]
    return named(table)[[*columns, "total variation", "n", "missing"]]
