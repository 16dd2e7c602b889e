"""Tables of the study of sparse attention: frames in, frames out, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.measures.agreement import STATUSES
from attnlib.reference import reference
from attnlib.studies.common import RESAMPLES, beside_paper, contrast, interval_text, summarise
from attnlib.studies.sparsity import ENCODERS, KEYS

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

NAMES = {
    "gradient_input": "gradient, inputs: g(x)",
    "leave_one_out_input": "leave-one-out, inputs: D(x)",
    "gradient_hidden": "gradient, hidden states: g(I)",
    "leave_one_out_hidden": "leave-one-out, hidden states: D(I)",
    "adversary_frozen": "frozen",
    "adversary_unfrozen": "unfrozen",
    **ENCODERS,
}
"""Our names as readers of the paper know them."""
PAPER_CORPORA = {"rotten_tomatoes": "sst", "aclimdb": "imdb", "hub:imdb": "imdb"}
"""Where a corpus of ours stands beside one of another name in the paper. Rotten Tomatoes is the parent of SST: the
nearest thing in the paper, and not the same texts."""
PAIR = ("softmax", "sparsemax")
"""The projections of Tables 1 and 6."""


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
    """`summary` (dataset, …, value, low, high, n) beside a table of the paper, by its name for the corpus."""
    ours = summary["dataset"]
    joined = beside_paper(summary.assign(dataset=ours.replace(PAPER_CORPORA)), "sparsity", table)
    known = joined["paper"].notna()
    return joined.assign(dataset=ours.to_numpy(), paper_corpus=joined["dataset"].where(known, "–"))


def corpus_table(corpora: Iterable[Corpus]) -> pd.DataFrame:
    """Table 3, left: sizes, beside those of the paper's corpus of that name or kin."""
    printed = reference("sparsity", 3)
    rows = []
    for corpus in corpora:
        twin = PAPER_CORPORA.get(corpus.name, corpus.name)
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
    return named(table)[["dataset", "encoder", "model", "ours", "paper", "n", "seeds"]].reset_index(drop=True)


def hidden_table(hidden: pd.DataFrame) -> pd.DataFrame:
    """Table 1: entropy of inputs' influence on a hidden state, mean and sd over texts and positions."""
    part = hidden[hidden["projection"].isin(PAIR)]
    by = ["dataset", "encoder", "projection", "metric"]
    table = against_paper(summarise(part, by), 1)
    more = part.groupby(by, sort=False)[["value", "own", "even"]].agg(
        {"value": "std", "own": "mean", "even": "mean"}
    )
    more = more.rename(columns={"value": "sd", "own": "own word's share", "even": "even share"}).reset_index()
    table = table.merge(more, on=by)
    columns = ["dataset", "encoder", "projection", "ours", "sd", "paper", "paper_corpus", "own word's share"]
    return named(table)[[*columns, "even share", "n", "missing", "seeds"]]


def agreement_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Table 6: mean Kendall tau-b of attention with the four importances; sd over texts; texts without an order."""
    part = agreement[agreement["projection"].isin(PAIR)]
    by = ["dataset", "encoder", "projection", "importance", "metric"]
    table = against_paper(summarise(part, by), 6)
    deviation = part.groupby(by, sort=False)["value"].std().rename("sd").reset_index()
    table = table.merge(deviation, on=by)
    columns = ["dataset", "encoder", "projection", "importance", "ours", "sd", "paper", "paper_corpus"]
    return named(table)[[*columns, "n", "missing", "seeds"]]


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
    """Kendall tau-b between `x` and the mean `value` of a model, over all models (places and seeds) of a cell.

    The interval draws seeds and texts anew and works out all means and the correlation each time. `within` is the
    same correlation inside each text, averaged over texts: trends of single texts, which a mean can hide.
    """
    rows = []
    for key, part in frame[frame[x].notna()].groupby(list(by), sort=False):
        cube, places = _cube(part, x)
        rng = np.random.default_rng(seed)
        n_seeds, n_texts = cube.shape[1:]
        draws = np.array(
            [
                _tau(
                    cube[:, rng.integers(0, n_seeds, n_seeds)],
                    places,
                    rng.multinomial(n_texts, np.full(n_texts, 1 / n_texts)),
                )
                for _ in range(resamples)
            ]
        )
        draws = draws[~np.isnan(draws)]
        low, high = np.quantile(draws, [0.025, 0.975]) if len(draws) else (np.nan, np.nan)
        row = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        inside = [stats.kendall_tau(places[ok], v[ok]) for v in cube.mean(1).T if (ok := ~np.isnan(v)).sum() > 1]
        row |= {"value": _tau(cube, places, np.ones(n_texts)), "low": low, "high": high, "n": n_texts}
        row |= {"points": cube.shape[0] * n_seeds, "seeds": n_seeds, "within": float(np.nanmean(inside))}
        rows.append(row)
    return pd.DataFrame(rows)


def _cube(part: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Values (places, seeds, texts), NaN where there is none, and the places."""
    wide = part.pivot_table(index=[x, "seed"], columns="instance", values="value", dropna=False, aggfunc="mean")
    places, seeds = sorted(part[x].unique()), sorted(part["seed"].unique())
    wide = wide.reindex(pd.MultiIndex.from_product([places, seeds]))
    return wide.to_numpy(float).reshape(len(places), len(seeds), -1), np.array(places, float)


def _tau(cube: np.ndarray, places: np.ndarray, weights: np.ndarray) -> float:
    real = ~np.isnan(cube)
    total = (real * weights).sum(-1)
    means = (np.where(real, cube, 0.0) * weights).sum(-1) / np.where(total > 0, total, np.nan)
    at = np.repeat(places, cube.shape[1])
    known = ~np.isnan(means.ravel())
    return stats.kendall_tau(at[known], means.ravel()[known]) if known.sum() > 1 else float("nan")


def lambda_table(entropies: pd.DataFrame) -> pd.DataFrame:
    """Table 2: tau-b between lambda and the entropy of gradient importance; a larger lambda is sparser."""
    part = entropies[entropies["metric"] == "entropy_gradient_input"]
    found = trend(part, ["dataset", "encoder"])
    found = found.assign(metric="corr_lambda_vs_entropy_grad_fi_of_input")
    table = against_paper(found, 2)
    table["within texts"] = table["within"]
    columns = ["dataset", "encoder", "ours", "paper", "paper_corpus", "within texts", "points", "seeds", "n"]
    return named(table)[columns]


def adversary_table(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Table 5: distance of attentions (JSD, nats) and accuracy of adversaries, beside their bases."""
    by = ["dataset", "encoder", "projection", "variant", "push"]
    parts = {
        "jsd_attention": summarise(adversaries.assign(value=adversaries["jsd"]), by),
        "accuracy": summarise(adversaries.assign(value=adversaries["right_adversary"]), by),
    }
    table = parts["accuracy"][by].copy()
    for metric, summary in parts.items():
        summary = against_paper(summary.assign(metric=metric), 5)
        soft = summary["projection"] == "softmax"  # the paper's adversaries attack softmax models
        name = {"jsd_attention": "JSD", "accuracy": "accuracy"}[metric]
        table[name], table[f"paper: {name}"] = summary["ours"], summary["paper"].where(soft)
    change = accuracy_change(adversaries)
    shown = change.rename(columns={"estimate": "value"})
    shown = shown.assign(change=interval_text(shown))[[*by, "change", "p_holm", "n"]]
    base = adversaries.groupby(by, sort=False)["right_base"].mean().rename("base accuracy").reset_index()
    table = table.merge(base, on=by).merge(shown, on=by).rename(columns={"push": "λ of the loss"})
    front = ["dataset", "encoder", "projection", "variant", "λ of the loss", "JSD", "paper: JSD"]
    return named(table)[[*front, "base accuracy", "accuracy", "paper: accuracy", "change", "p_holm", "n"]]


def accuracy_change(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each adversary minus that of its base, paired by text."""
    keys = ["dataset", "encoder", "projection", "variant", "push", "seed", "instance"]
    sides = [
        adversaries[keys].assign(side=side, value=adversaries[f"right_{side}"]) for side in ("base", "adversary")
    ]
    return contrast(pd.concat(sides, ignore_index=True), "side", "adversary", "base", keys[:5])


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
    more = facets.groupby(["dataset", "encoder"], sort=False)[["tau", "distance"]].mean().reset_index()
    table = table.merge(more, on=["dataset", "encoder"])
    table = table.rename(columns={"a": "entropy, norm", "b": "entropy, components", "tau": "τ over inputs"})
    table = table.rename(columns={"distance": "total variation"})
    columns = ["dataset", "encoder", "entropy, norm", "entropy, components", "difference", "τ over inputs"]
    return named(table)[[*columns, "total variation", "n", "missing"]]
