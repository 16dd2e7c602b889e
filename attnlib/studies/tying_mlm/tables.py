"""Tables of the study of word-level objectives: frames in, frames out, ours next to the paper's.

Every interval is one of `attnlib.stats.inference`: trainings (`seed`) nested in cells, test texts crossed with
them. Accuracy and F1 enter as one number per model and text (`scores`), in percent; F1 is no mean over texts, so
these are its pseudovalues.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.measures.information import ESTIMATORS, mutual_information
from attnlib.stats.inference import COUNTS, Effect, contrasts, effect, effects, interval_text, interval_texts
from attnlib.stats.jackknife import f1_values, pseudovalues
from attnlib.studies.beside import beside
from attnlib.studies.tying_mlm.params import REGULARISED, VARIANTS
from attnlib.utils.errors import DataError

STUDY = "tying_mlm"
CELL = ["dataset", "attention", "variant"]
MODEL = [*CELL, "layers", "strength", "init", "seed"]
"""The columns that tell trainings apart."""
SCORES = {"f1": "F1", "macro": "macro-F1", "accuracy": "accuracy"}
"""F1 of the positive class, as the paper has it; its mean over both classes; share of correct decisions."""
SWAPPED = ("uniform", "permuted")
TOKENS, ENTROPY, DEV = "per_token_probability", "entropy", "dev"
NAMES = {DEV: "macro-F1 on dev", "mi_most_frequent": "MF", "mi_random_sample": "RS", ENTROPY: "normalised entropy"}
for _score, _name in SCORES.items():
    NAMES |= {f"{_score}_trained": _name, **{f"delta_{_score}_{s}": f"{_name}, Δ {s}" for s in SWAPPED}}
NAMES[TOKENS] = "per token"
"""Metrics, as the paper's tables name them -> as readers see them."""
SHARES = (TOKENS, ENTROPY)
"""Metrics between 0 and 1, which need more digits than percentages do."""
POINTS = (-100.0, 100.0)
"""The range of a difference of scores."""
LEVELS = 50
"""Places along the JSD that two curves of adversaries share at which their TVD is compared."""


def scores(swaps: pd.DataFrame) -> pd.DataFrame:
    """Every score of every model, with its own attention and as a change under the others, text by text.

    One row per model, metric and text: the columns of the model, score, metric, instance, `value` (whose mean and
    spread over texts are those of the score) and `point`, the score of the model; percent and points. Permuted
    attention counts with its mean over draws.
    """
    rows = []
    for key, model in swaps.groupby([*MODEL, "chosen"], sort=False, dropna=False):
        if missing := {"trained", *SWAPPED} - set(model["swap"].unique()):
            raise DataError(f"A model lacks attention {sorted(missing)}; it has {sorted(model['swap'].unique())}.")
        found = {}
        for score, values in _by_text(model).items():
            means = 100 * values.groupby(["swap", "instance"], sort=False)[["value", "point"]].mean()
            own = means.loc["trained"]
            found[score, f"{score}_trained"] = own
            found |= {(score, f"delta_{score}_{swap}"): means.loc[swap] - own for swap in SWAPPED}
        labels = dict(zip((*MODEL, "chosen"), key, strict=True))
        rows.append(pd.concat(found, names=["score", "metric"]).reset_index().assign(**labels))
    return pd.concat(rows, ignore_index=True)


def _by_text(model: pd.DataFrame) -> dict[str, pd.DataFrame]:
    by = ["swap", "draw"]
    right = model.assign(value=(model["truth"] == model["prediction"]).astype(float))
    right["point"] = right.groupby(by)["value"].transform("mean")
    return {"f1": f1_values(model, by, positive=1), "macro": f1_values(model, by), "accuracy": right}


def drops(found: pd.DataFrame, score: str) -> pd.DataFrame:
    """The change of a score when attention is replaced, mean over both replacements: one row per model and text."""
    part = found[(found["score"] == score) & found["metric"].str.startswith("delta")]
    keys = [*MODEL, "chosen", "instance"]
    return part.groupby(keys, sort=False, dropna=False)[["value", "point"]].mean().reset_index()


def main(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 1's models: one layer, the chosen weights, the normal query."""
    return frame[frame["chosen"] & (frame["layers"] == 1) & (frame["init"] != "kaiming")]


def summary(found: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Scores by cell: one row per group of `by` and metric with value, low, high, n, trainings, texts."""
    change = found["metric"].str.startswith("delta")
    parts = [
        effects(part, [*by, "score", "metric"], bounds=(least, POINTS[1]))
        for least, part in ((0.0, found[~change]), (POINTS[0], found[change]))
    ]
    return _ordered(pd.concat(parts, ignore_index=True), [*by, "metric"])


def f1_table(found: pd.DataFrame) -> pd.DataFrame:
    """Table 1, long: F1 and its changes in every cell of the main grid, next to the paper's."""
    return beside(summary(main(found[found["score"] == "f1"]), CELL), STUDY, 1, digits=1)


def score_table(found: pd.DataFrame) -> pd.DataFrame:
    """The same models by macro-F1 and accuracy, which the paper does not print."""
    return summary(main(found[found["score"] != "f1"]), CELL)


def layer_table(found: pd.DataFrame) -> pd.DataFrame:
    """Table 6, long: F1 and macro-F1 by number of layers, additive attention, chosen weights."""
    part = found[found["chosen"] & (found["attention"] == "additive") & (found["score"] != "accuracy")]
    table = summary(part, [*CELL, "layers"])
    return beside(table.assign(encoder=[f"lstm-{depth}layer" for depth in table["layers"]]), STUDY, 6, digits=1)


def ablation_table(found: pd.DataFrame, texts: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Weights δ of tying and η of MLM: F1, macro-F1, their changes and per-token probability, additive attention.

    First macro-F1 on dev (`kept`), which chooses the weight of Table 1. Of that weight only the seeds that the
    others have, so that all rows rest on as many trainings.
    """
    kept = kept.assign(value=100 * kept["dev_f1_macro"])
    parts = [_weighed(frame) for frame in (kept, found[found["score"] != "accuracy"], texts)]
    dev, scored, read = (frame[frame["variant"].isin(REGULARISED)] for frame in parts)
    if scored.empty:
        return pd.DataFrame()
    keys = ["dataset", "variant", "strength"]
    chosen = effects(dev, keys, text=None, bounds=(0.0, 100.0)).assign(metric=DEV)
    return _ordered(pd.concat([chosen, summary(scored, keys), probability(read, keys)]), [*keys, "metric"])


def _weighed(frame: pd.DataFrame) -> pd.DataFrame:
    """Additive attention, one layer, the seeds that all weights of a loss have."""
    seeds = set(frame.loc[~frame["chosen"], "seed"].unique()) or set(frame["seed"].unique())
    return frame[(frame["attention"] == "additive") & (frame["layers"] == 1) & frame["seed"].isin(seeds)]


def fragility_table(found: pd.DataFrame) -> pd.DataFrame:
    """Each variant minus base by F1 and macro-F1, paired over texts and seeds; Holm over all rows."""
    variants, keys = [v for v in VARIANTS if v != "base"], ["dataset", "attention", "metric"]
    part = main(found[found["score"] != "accuracy"])
    return _ordered(contrasts(part, "variant", variants, "base", keys, bounds=POINTS), [*CELL, "metric"])


def probability_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Table 3: per-token probability of the main grid, next to the paper's."""
    return beside(_ordered(probability(main(texts), CELL), CELL), STUDY, 3, digits=3)


def probability(texts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Mean over correctly classified texts of the mean per-token probability of the predicted class."""
    return effects(correct(texts), by, bounds=(0.0, 1.0)).assign(metric=TOKENS)


def correct(texts: pd.DataFrame) -> pd.DataFrame:
    """Correctly classified texts, `value` their mean per-token probability."""
    right = texts[texts["prediction"] == texts["label"]]
    return right.assign(value=right["token_probability"])


def initialisation_table(found: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """App. C: normalised entropy of dot attention and the scores by the initialisation of the query."""
    keys = ["dataset", "init"]
    even = effects(entropies(texts), keys, bounds=(0.0, 1.0)).assign(metric=ENTROPY)
    return pd.concat([even, summary(_dot(found[found["score"] != "accuracy"]), keys)], ignore_index=True)


def entropies(texts: pd.DataFrame) -> pd.DataFrame:
    """Base models with dot attention: `value` is the normalised entropy of a text's weights (one word: NaN)."""
    part = _dot(texts)
    return part.assign(value=part["entropy"])


def _dot(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["attention"] == "dot") & (frame["variant"] == "base") & (frame["layers"] == 1)]


def information_table(information: pd.DataFrame) -> pd.DataFrame:
    """Table 2: mutual information by variant and sample of words, over trainings, next to the paper's.

    floor: what shuffled labels give, the bias of the estimate; ceiling: entropy of the words; kept: value as a
    share of the way from floor to ceiling; occurrences of the words at most.
    """
    keys = [*CELL, "metric"]
    found = effects(information, keys, text=None)
    extra = information.groupby(keys, sort=False).agg(
        floor=("floor", "mean"), ceiling=("ceiling", "mean"), words=("words", "max"), k=("k", "max"),
        occurrences=("n", "max"),
    )  # fmt: skip
    found = found.merge(extra.reset_index(), on=keys)
    found["kept"] = (found["value"] - found["floor"]) / (found["ceiling"] - found["floor"])
    return beside(_ordered(found, ["dataset", "metric", "variant"]), STUDY, 2)


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
        rows.append({"variables": name, "labels per side": k, "samples": n, "known": truth} | values)
    return pd.DataFrame(rows)


def information_gaps(information: pd.DataFrame) -> pd.DataFrame:
    """Each variant minus base in nats, mean over both samples of words of a model; Holm over the rows."""
    variants = ["residual", *REGULARISED]
    return contrasts(known(information), "variant", variants, "base", [], ["dataset", "attention"], text=None)


def known(information: pd.DataFrame) -> pd.DataFrame:
    """Mutual information of every model: the mean over both samples of words, which are no trainings apart."""
    return information.groupby(MODEL, sort=False, dropna=False)["value"].mean().reset_index()


def agreement(table: pd.DataFrame) -> dict[str, float]:
    """Our changes of F1 and the paper's: how many it prints (`n`), how many have its sign, and Kendall's τ."""
    part = table[table["metric"].str.startswith("delta_f1") & table["paper"].notna()]
    same = int((np.sign(part["value"]) == np.sign(part["paper"])).sum())
    tau = stats.kendall_tau(part["value"], part["paper"]) if len(part) > 1 else float("nan")
    return {"n": len(part), "same": same, "tau": tau}


def wide(long: pd.DataFrame, keys: Sequence[str], digits: int = 1) -> pd.DataFrame:
    """A long table as readers like it: one row per cell, one column per metric.

    A cell reads `ours [interval]`, then, where the paper prints one, its value: `paper 84.2`; where that is of the
    same corpus, ours minus it too: `paper 84.2 (-1.3)`.
    """
    rows = []
    for key, part in long.groupby(list(keys), sort=False):
        row = dict(zip(keys, key, strict=True))
        row |= {name: f"{row[name]:g}" for name in row if name == "strength"}
        for one in part.to_dict("records"):
            name = NAMES[one["metric"]]
            row[name] = interval_text(
                one["value"], one["low"], one["high"], 3 if one["metric"] in SHARES else digits
            )
            if not np.isnan(one.get("paper", np.nan)):
                row[name] += f" paper {one['paper']:.{digits}f}"
                row[name] += "" if np.isnan(one["difference"]) else f" ({one['difference']:+.{digits}f})"
        rows.append(row | {name: int(part[name].max()) for name in COUNTS[1:]})
    return pd.DataFrame(rows)[lambda frame: [*frame.columns.difference(COUNTS, sort=False), *COUNTS[1:]]]


def spelled(table: pd.DataFrame, columns: Sequence[str], name: str = "ours", digits: int = 1) -> pd.DataFrame:
    """The named columns, metrics as a reader sees them, and `name` for the value with its interval."""
    rows = table.reindex(columns=["value", "low", "high", "metric"]).itertuples(index=False)
    told = table.assign(**{name: [interval_text(*ends, 3 if m in SHARES else digits) for *ends, m in rows]})
    if "metric" in told:
        told["metric"] = told["metric"].map(NAMES)
    return told[list(columns)].rename(columns={"p_holm": "p (Holm)"})


def frontier_table(distances: pd.DataFrame) -> pd.DataFrame:
    """Figure 1 in numbers: JSD and TVD of the adversaries of every base and λ, with intervals."""
    keys = ["dataset", "variant", "lam"]
    if distances.empty:
        return pd.DataFrame()
    found = distances.assign(same=distances["prediction_base"] == distances["prediction_adversary"])
    table = found.groupby(keys, sort=False)["same"].mean().rename("same decision").reset_index()
    for name, most in (("tvd", 1.0), ("jsd", stats.LN2)):
        part = effects(distances.assign(value=distances[name]), keys, bounds=(0.0, most))
        names = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        counts = COUNTS if name == "jsd" else []
        table = table.merge(part.rename(columns=names)[[*keys, *names.values(), *counts]], on=keys)
    return table.rename(columns={"lam": "λ"})


def frontier_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`frontier_table` as it is shown: every λ in full, however small, and intervals next to their means."""
    shown = table.assign(**{"λ": [f"{lam:g}" for lam in table["λ"]]})
    for name in ("jsd", "tvd"):
        ends = {name: "value", f"{name}_low": "low", f"{name}_high": "high"}
        shown[name.upper()] = interval_texts(table.rename(columns=ends), 3)
    return shown[["dataset", "variant", "λ", "JSD", "TVD", "same decision", *COUNTS]]


def frontier_gap(distances: pd.DataFrame, a: str, b: str) -> Effect:
    """TVD that adversaries of `a` have beyond those of `b` at equal JSD, averaged over the JSD that both reach.

    A curve joins the mean (JSD, TVD) of the adversaries of one training in order of JSD; both sides share the seed.
    NaN where no two curves share a JSD.
    """
    both = distances[distances["variant"].isin([a, b])].dropna(subset="jsd")
    text = ["dataset", "seed", "instance"]
    points = both.pivot_table(index=text, columns=["variant", "lam"], values=["jsd", "tvd"])
    sides = [[c for c in points if c[:2] == (name, side)] for side in (a, b) for name in ("jsd", "tvd")]
    columns, cuts = list(chain(*sides)), np.cumsum([len(side) for side in sides])[:-1]
    points.columns = points.columns.to_flat_index()

    def gap(means: np.ndarray) -> float:
        far_a, cost_a, far_b, cost_b = (side[~np.isnan(side)] for side in np.split(means, cuts))
        if not (len(far_a) and len(far_b)):
            return float("nan")
        low, high = max(far_a.min(), far_b.min()), min(far_a.max(), far_b.max())
        if not low < high:
            return float("nan")
        at = np.linspace(low, high, LEVELS)
        i, j = (np.argsort(far, kind="stable") for far in (far_a, far_b))
        return float((np.interp(at, far_a[i], cost_a[i]) - np.interp(at, far_b[j], cost_b[j])).mean())

    def statistic(part: pd.DataFrame) -> float:
        return gap(part[columns].to_numpy(float).mean(0))

    def without_each(part: pd.DataFrame) -> np.ndarray:
        values = part[columns].to_numpy(float)
        return np.array([gap(rest) for rest in (values.sum(0) - values) / (len(values) - 1)])

    values = pseudovalues(points.reset_index(), statistic, ["dataset", "seed"], without_each=without_each)
    return effect(values, ["dataset"], bounds=(-1.0, 1.0))


def _ordered(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows in the paper's order of variants and metrics, and the run's of data sets."""
    order = {name: k for k, name in enumerate((*VARIANTS, "additive", "dot", *NAMES))}

    def rank(column: pd.Series) -> pd.Series:
        if column.name == "dataset":
            return pd.Series(pd.factorize(column)[0], index=column.index)
        return column.map(order) if column.name in ("variant", "attention", "metric") else column

    return frame.sort_values(list(keys), key=rank, kind="stable", ignore_index=True)
