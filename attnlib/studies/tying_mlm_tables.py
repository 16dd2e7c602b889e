"""Tables of the study of word-level objectives: frames in, frames out, ours beside the paper's. F1 in percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.errors import DataError
from attnlib.measures.information import ESTIMATORS, mutual_information
from attnlib.reference import reference
from attnlib.studies.common import RESAMPLES, beside_paper, contrast, summarise
from attnlib.studies.corpora import kin
from attnlib.studies.f1 import resampled_f1
from attnlib.studies.tying_mlm import VARIANTS, main

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.studies.tying_mlm import Params

CELL = ["dataset", "attention", "variant"]
SWAPPED = ("uniform", "permuted")
METRICS = {"f1_trained": "F1", "delta_f1_uniform": "Δ uniform", "delta_f1_permuted": "Δ permuted"}
"""Metrics of Tables 1 and 6, as the reference names them -> as a reader sees them."""
DROPS = ("delta_f1_uniform", "delta_f1_permuted")
TOKENS = "per_token_probability"
NAMES = {"mi_most_frequent": "MF", "mi_random_sample": "RS", "mlm": "MLM", TOKENS: "per token"}


JOINED = "\u00a0"
"""A space at which no line breaks."""


class Resampled(NamedTuple):
    """A score of one cell: its bootstrap draws over texts and seeds, the estimate, texts, seeds and data set."""

    draws: np.ndarray
    estimate: float
    n: int
    seeds: int
    dataset: str

    def minus(self, other: Resampled) -> Resampled:
        """The difference, draw by draw."""
        if self.dataset != other.dataset:
            raise DataError(
                f"Scores of {self.dataset!r} and {other.dataset!r} share no texts and cannot be paired."
            )
        seeds = min(self.seeds, other.seeds)
        return Resampled(self.draws - other.draws, self.estimate - other.estimate, self.n, seeds, self.dataset)

    def row(self) -> dict[str, float]:
        """value, low, high, n, seeds."""
        low, high = np.quantile(self.draws, [0.025, 0.975])
        return {"value": self.estimate, "low": low, "high": high, "n": self.n, "seeds": self.seeds}


def f1_of(swaps: pd.DataFrame, resamples: int = RESAMPLES) -> dict[str, Resampled]:
    """F1 of the positive class with trained attention, and its change under the others, for the models of one cell.

    In percent. Permuted attention counts with the mean F1 over its draws. Texts and seeds are drawn alike for all
    cells that have as many, so that differences between cells are paired.
    """
    datasets = swaps["dataset"].unique()
    if len(datasets) != 1:
        raise DataError(f"A cell holds the texts of one data set; got those of {sorted(datasets) or 'none'}.")
    found = {}
    for swap, part in swaps.groupby("swap"):
        draws = [resampled_f1(one, positive=1, resamples=resamples) for _, one in part.groupby("draw")]
        scores, estimates, texts = zip(*draws, strict=True)
        mean, estimate = 100 * np.mean(scores, 0), 100 * float(np.mean(estimates))
        found[swap] = Resampled(mean, estimate, texts[0], part["seed"].nunique(), datasets[0])
    missing = {"trained", *SWAPPED} - set(found)
    if missing:
        raise DataError(f"The cell lacks attention {sorted(missing)}; it has {sorted(found)}.")
    own = found["trained"]
    return {"f1_trained": own, **{f"delta_f1_{swap}": found[swap].minus(own) for swap in SWAPPED}}


def f1_long(swaps: pd.DataFrame, by: Sequence[str], resamples: int = RESAMPLES) -> pd.DataFrame:
    """One row a cell and metric: value, low, high, n (texts), seeds."""
    rows = []
    for key, part in swaps.groupby(list(by), sort=False):
        cell = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        rows += [cell | {"metric": name, **score.row()} for name, score in f1_of(part, resamples).items()]
    return pd.DataFrame(rows)


def f1_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Table 1, long: every cell of the main grid and metric, ours with its interval beside the paper's."""
    found = f1_long(main(swaps), CELL)
    return _beside(_ordered(found, CELL), 1)


def layer_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Table 6, long: the same by number of layers, additive attention, chosen weights."""
    part = swaps[swaps["chosen"] & (swaps["attention"] == "additive")]
    found = f1_long(part, ["dataset", "attention", "variant", "layers"])
    found["encoder"] = [f"lstm-{depth}layer" for depth in found["layers"]]
    return _beside(_ordered(found, ["dataset", "variant", "layers"]), 6)


def ablation_table(swaps: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Weights δ of tying and η of MLM: F1, drops and per-token probability, additive attention.

    Of the weights of Table 1 only the seeds that the other weights have, so that all rows rest on as many.
    """
    seeds = set(swaps.loc[~swaps["chosen"], "seed"]) or set(swaps["seed"])
    chosen = [
        frame[
            (frame["attention"] == "additive")
            & (frame["layers"] == 1)
            & frame["seed"].isin(seeds)
            & frame["variant"].isin(["tying", "mlm"])
        ]
        for frame in (swaps, texts)
    ]
    keys = ["dataset", "variant", "strength"]
    found = pd.concat([f1_long(chosen[0], keys), probability(chosen[1], keys)], ignore_index=True)
    return _ordered(found, keys)


def probability(texts: pd.DataFrame, by: Sequence[str] = CELL) -> pd.DataFrame:
    """Mean over correctly classified texts of the mean per-token probability of the predicted class."""
    return summarise(correct(texts), by).assign(metric=TOKENS)


def correct(texts: pd.DataFrame) -> pd.DataFrame:
    """Correctly classified texts, `value` their mean per-token probability."""
    right = texts[texts["prediction"] == texts["label"]]
    return right.assign(value=right["token_probability"])


def probability_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Table 3: per-token probability of the main grid, beside the paper's."""
    return _beside(_ordered(probability(main(texts)), CELL), 3, digits=3)


def information_table(information: pd.DataFrame) -> pd.DataFrame:
    """Table 2: mutual information by variant and sample of words, mean over seeds, beside the paper's.

    floor: what shuffled labels give, the bias of the estimate; above: value minus floor; ceiling: entropy of the
    words; within: mean half-width of the bootstrap interval over occurrences of a single model.
    """
    keys = [*CELL, "metric"]
    found = summarise(information, keys)
    within = information.assign(within=(information["high"] - information["low"]) / 2)
    extra = within.groupby(keys, sort=False)[["floor", "ceiling", "within", "words", "k"]].mean().reset_index()
    extra = extra.astype({"words": int, "k": int})
    occurring = information.groupby(keys, sort=False)["n"].max().rename("occurrences").reset_index()
    found = found.merge(extra, on=keys).merge(occurring, on=keys)
    found["above"] = found["value"] - found["floor"]
    return _beside(_ordered(found, ["dataset", "metric", "variant"]), 2)


def fragility_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Each variant minus base: F1 and its changes, paired over texts and seeds; Holm over all rows."""
    part = main(swaps)
    rows = []
    for (dataset, attention), cell in part.groupby(["dataset", "attention"], sort=False):
        found = {name: f1_of(one) for name, one in cell.groupby("variant", sort=False)}
        for variant in [v for v in VARIANTS if v in found and v != "base"]:
            for metric in METRICS:
                gap = difference([(found[variant][metric], found["base"][metric])])
                row = {"dataset": dataset, "attention": attention, "variant": variant, "metric": metric}
                rows.append(row | gap._asdict())
    table = pd.DataFrame(rows)
    table["p_holm"] = stats.holm(table["p"])
    return table.drop(columns="missing")


def readable(table: pd.DataFrame, columns: Sequence[str] = ()) -> pd.DataFrame:
    """The named columns (all by default) with metrics as a reader sees them."""
    kept = table[list(columns)] if columns else table
    return kept.assign(metric=kept["metric"].map(lambda name: METRICS.get(name, NAMES.get(name, name))))


def difference(pairs: Iterable[tuple[Resampled, Resampled]]) -> stats.Difference:
    """Mean over pairs of a - b with its interval and two-sided bootstrap p; n: texts, summed over data sets."""
    gaps = [a.minus(b) for a, b in pairs]
    if not gaps:
        raise DataError("There is no pair of cells to compare.")
    draws, estimate = np.mean([g.draws for g in gaps], 0), float(np.mean([g.estimate for g in gaps]))
    low, high = np.quantile(draws, [0.025, 0.975])
    tail = min((draws <= 0).sum(), (draws >= 0).sum())
    p = min(1.0, 2 * (tail + 1) / (len(draws) + 1))
    n = sum({g.dataset: g.n for g in gaps}.values())
    return stats.Difference(estimate, float(low), float(high), n, 0, float(p))


def initialisation_table(swaps: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """App. C: normalised entropy of dot attention and the change of F1 by the initialisation of the query."""
    keys = ["dataset", "init"]
    f1 = f1_long(_dot(swaps), keys)
    entropy = summarise(entropies(texts), keys).assign(metric="normalised entropy")
    return pd.concat([entropy, f1], ignore_index=True)[[*keys, "metric", "value", "low", "high", "n", "seeds"]]


def entropies(texts: pd.DataFrame) -> pd.DataFrame:
    """Base models with dot attention: `value` is the normalised entropy of a text's weights (one word: NaN)."""
    part = _dot(texts)
    return part.assign(value=part["entropy"])


def _dot(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["attention"] == "dot") & (frame["variant"] == "base") & (frame["layers"] == 1)]


def frontier_table(distances: pd.DataFrame) -> pd.DataFrame:
    """Figure 1 in numbers: mean JSD and TVD of every adversary, with intervals over texts."""
    rows = []
    for (dataset, variant, lam), part in distances.groupby(["dataset", "variant", "lam"], sort=False):
        row = {"dataset": dataset, "variant": variant, "λ": lam}
        for name in ("jsd", "tvd"):
            found = stats.bootstrap(part[name].to_numpy(float), resamples=RESAMPLES)
            row |= {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}
        same = (part["prediction_base"] == part["prediction_adversary"]).mean()
        rows.append(row | {"same decision": same, "n": len(part)})
    return pd.DataFrame(rows)


def frontier_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`frontier_table` as it is shown: every λ in full, however small, and intervals beside their means."""
    shown = table.assign(**{"λ": [f"{lam:g}" for lam in table["λ"]]})
    for name in ("jsd", "tvd"):
        ends = table.rename(columns={name: "value", f"{name}_low": "low", f"{name}_high": "high"})
        shown[name.upper()] = [_with_interval(row, 3) for row in ends.to_dict("records")]
    return shown[["dataset", "variant", "λ", "JSD", "TVD", "same decision", "n"]]


def frontier_gap(distances: pd.DataFrame, a: str, b: str, *, levels: int = 50, resamples: int = RESAMPLES):
    """TVD that adversaries of `a` pay beyond those of `b` at equal JSD, averaged over the JSD both reach.

    Each curve joins its adversaries' mean (JSD, TVD) in order of JSD. The interval resamples texts, the same for
    both curves. NaN where the curves share no JSD.
    """
    gaps, n = [], 0
    for _, part in distances.groupby("dataset", sort=False):
        sides = [_curve(part[part["variant"] == name]) for name in (a, b)]
        texts = sides[0][0].shape[1]
        n += texts
        weights = np.random.default_rng(0).multinomial(texts, np.full(texts, 1 / texts), resamples) / texts
        weights = np.vstack([np.full(texts, 1 / texts), weights])
        means = [[np.nan_to_num(values) @ weights.T for values in side] for side in sides]
        gaps.append(
            [_apart(*(side[k][:, r] for side in means for k in (0, 1)), levels) for r in range(len(weights))]
        )
    found = np.mean(gaps, 0)
    if np.isnan(found[0]) or np.isnan(found).mean() > 0.05:
        return stats.Difference(float("nan"), float("nan"), float("nan"), n, 0, float("nan"))
    low, high = np.nanquantile(found[1:], [0.025, 0.975])
    tail = min((found[1:] <= 0).sum(), (found[1:] >= 0).sum())
    p = min(1.0, 2 * (tail + 1) / (resamples + 1))
    return stats.Difference(float(found[0]), float(low), float(high), n, int(np.isnan(found).sum()), p)


def _curve(part: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """(L, N) JSD and TVD: a row an adversary, a column a text."""
    wide = [part.pivot_table(index="lam", columns="instance", values=name) for name in ("jsd", "tvd")]
    if wide[0].empty:
        raise DataError("An adversary's base is missing from the frame of distances.")
    return wide[0].to_numpy(), wide[1].to_numpy()


def _apart(far_a, cost_a, far_b, cost_b, levels: int) -> float:
    low, high = max(far_a.min(), far_b.min()), min(far_a.max(), far_b.max())
    if not low < high:
        return float("nan")
    at = np.linspace(low, high, levels)
    curves = [
        np.interp(at, far[order], cost[order])
        for far, cost in ((far_a, cost_a), (far_b, cost_b))
        for order in [np.argsort(far, kind="stable")]
    ]
    return float((curves[0] - curves[1]).mean())


def estimator_table(k: int, n: int, *, seed: int = 0) -> pd.DataFrame:
    """What each estimator makes of `n` samples of variables whose mutual information is known, in nats.

    Independent labels share nothing; equal labels their entropy, ln k; a Gaussian pair with correlation 0.9, cut
    into k equally likely bins, at most -ln(1 - 0.81) / 2.
    """
    rng = np.random.default_rng(seed)
    x, noise = rng.standard_normal((2, n))
    cut = [np.clip((stats.ranks(-v) - 1) * k // n, 0, k - 1).astype(int) for v in (x, 0.9 * x + 0.19**0.5 * noise)]
    labels = rng.integers(0, k, (2, n))
    cases = {
        "independent": (labels[0], labels[1], 0.0),
        "a Gaussian pair, correlation 0.9": (*cut, -0.5 * np.log(1 - 0.81)),
        "equal": (labels[0], labels[0], float(np.log(k))),
    }
    rows = []
    for name, (first, second, truth) in cases.items():
        values = {e: mutual_information(first, second, estimator=e) for e in ESTIMATORS}
        rows.append({"variables": name, "labels a side": k, "samples": n, "known": truth} | values)
    return pd.DataFrame(rows)


def corpus_table(corpora: Iterable[Corpus]) -> pd.DataFrame:
    """Table 5: mean words and |V|, with the paper's numbers for the corpus of that name or its child."""
    printed = reference("tying_mlm", 5).pivot_table(index="dataset", columns="metric", values="value")
    rows = []
    for corpus in corpora:
        twin = kin(corpus.name)
        known = printed.loc[twin] if twin in printed.index else {"avg_words": np.nan, "vocabulary": np.nan}
        found = corpus.stats().set_index("split")
        row = {"dataset": corpus.name, "train / dev / test": " / ".join(f"{n:,}" for n in found["texts"])}
        row |= {"mean words": found["mean_words"]["train"], "|V|": len(corpus.vocabulary)}
        row["paper's corpus"] = twin if twin in printed.index else "–"
        rows.append(row | {"paper: mean words": known["avg_words"], "paper: |V|": known["vocabulary"]})
    return pd.DataFrame(rows)


def wide(long: pd.DataFrame, keys: Sequence[str], digits: int = 1) -> pd.DataFrame:
    """A long table as readers like it: a row a cell, a column a metric.

    A cell reads `ours [interval]`, then, where the paper prints one, its value and ours minus that:
    `paper 84.2 (-1.3)`. Each of the two stays on one line, so that a narrow window sets them below each other.
    """
    rows = []
    for key, part in long.groupby(list(keys), sort=False):
        row = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True))
        part = part.set_index("metric")
        for metric in part.index:
            name, one = (METRICS | NAMES)[metric], part.loc[metric]
            row[name] = _with_interval(one, 3 if metric == TOKENS else digits)
            if not np.isnan(one.get("paper", np.nan)):
                printed = f"paper {one['paper']:.{digits}f} ({one['difference']:+.{digits}f})"
                row[name] += " " + printed.replace(" ", JOINED)
        rows.append(row | {"n": int(part["n"].iloc[0]), "seeds": int(part["seeds"].iloc[0])})
    return pd.DataFrame(rows)


def information_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`information_table` as it is shown: ours with its interval over seeds, the paper's, and the difference.

    ± one model: half the interval over occurrences of a single model; n: occurrences.
    """
    shown = readable(table).rename(columns={"metric": "sample", "within": "± one model", "ours": "text"})
    shown["ours"] = [_with_interval(row, 2) for row in shown.to_dict("records")]
    shown["n"] = shown["occurrences"]
    first = ["dataset", "sample", "variant", "ours", "paper", "difference"]
    return shown[[*first, "± one model", "floor", "ceiling", "n", "seeds"]]


def hyperparameter_table(params: Params) -> pd.DataFrame:
    """Table 4 and what sections 3 and 4 state beside it: the paper's values and those of this run."""
    model = {v: params.model(params.corpora[0], v, "additive") for v in ("base", "mlm")}
    train = params.training
    decays = sorted({train.weight_decay, *train.weight_decays.values()}, reverse=True)
    rows = [
        ("width of word vectors", "300", _listed([model["base"].embedding_size])),
        ("width of the LSTM, each direction", "150", _listed([model["base"].hidden_size // 2])),
        ("learning rate", "0.001", _listed([train.learning_rate])),
        ("gradients clipped at norm", "5", _listed([train.clip_norm])),
        ("batch", "32", _listed([train.batch_size])),
        ("weight decay", "1e-05", f"{decays[0]:g}" + ("; attention 0" if 0.0 in decays else "")),
        ("share of masked words", "0.15", _listed([model["mlm"].mlm_probability])),
        ("weights η of MLM", "0.1, 0.3, 1, 3, 5", _listed(params.etas)),
        ("weights δ of tying", "10, 20, 30 (section 3: also 1)", _listed(params.deltas)),
        ("η, δ of the other tables", "the best", _chosen(params)),
        ("epochs", "–", f"at most {params.epochs}"),
        ("runs", "5", _listed([len(params.seeds)])),
        ("words, clusters of mutual information", "1000, 1000", _listed([params.mi_words, params.mi_clusters])),
        ("batch of k-means", "100", _listed([params.mi_batch])),
        (
            "occurrences at most",
            "1,000,000",
            "all" if params.mi_occurrences is None else f"{params.mi_occurrences:,}",
        ),
    ]
    return pd.DataFrame(rows, columns=["parameter", "paper", "this run"])


def _listed(values: Iterable[float | None]) -> str:
    return ", ".join("none" if value is None else f"{value:g}" for value in values) or "none"


def _chosen(params: Params) -> str:
    special = "".join(f", {name} {value:g}" for name, value in params.eta_of.items())
    return f"η {params.eta:g}{special}; δ {params.delta:g}"


def _with_interval(row: Mapping[str, float], digits: int) -> str:
    """`73.1 [70.0, 76.2]`, on one line of its cell."""
    text = f"{row['value']:.{digits}f}"
    if not np.isnan(row["low"]):
        text += f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
    return text.replace(" ", JOINED)


def changes(frame: pd.DataFrame, variants: Sequence[str], pair: Sequence[str] = ()) -> pd.DataFrame:
    """Each variant minus base over a frame with `value`, averaged over data sets and `pair`; Holm over the rows."""
    present = [v for v in variants if (frame["variant"] == v).any()]
    table = pd.concat(
        [contrast(frame, "variant", v, "base", pair=["dataset", "attention", *pair]) for v in present],
        ignore_index=True,
    )
    table["p_holm"] = stats.holm(table["p"])
    return table


def _ordered(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows in the paper's order of variants."""
    order = {name: k for k, name in enumerate((*VARIANTS, "additive", "dot"))}

    def rank(column: pd.Series) -> pd.Series:
        return column.map(order) if column.name in ("variant", "attention") else column

    return frame.sort_values(list(keys), key=rank, kind="stable", ignore_index=True)


def _beside(found: pd.DataFrame, table: int, digits: int = 1) -> pd.DataFrame:
    """A summary by cell with the paper's value for its corpus, or for the nearest one it has."""
    twins = found.assign(dataset=found["dataset"].map(kin))
    joined = beside_paper(twins, "tying_mlm", table, digits)
    joined["dataset"] = found["dataset"].to_numpy()
    return joined.drop(columns=[c for c in ("missing",) if c in joined])
