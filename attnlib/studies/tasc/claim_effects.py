"""What the claims about TaSc are judged by: results in, effects out.

Means are over the cells of corpus, encoder and attention of the run, each of which counts alike. Models with TaSc
and without are paired: they share a training (seed) and the texts. Different encoders and attentions are trainings
of their own and share the texts alone. Trainings with a model that learned nothing are left out
(`Results.learned`); a mean over encoders needs those that have every cell (`Results.whole`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attnlib.stats.inference import Effect, contrast, effect
from attnlib.stats.jackknife import f1_values, spread_values
from attnlib.studies.learned import RULE as NOTHING
from attnlib.studies.ledger import NotTested, required
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, POOLS, RANKINGS, TOP1, Results
from attnlib.studies.tasc.tables import NAMES, RANGE, compared
from attnlib.utils.text import plural

TRAININGS = 3
"""Trainings of BERT that a claim about it needs."""
BLOCKS = 10
"""Groups of texts that are left out in turn, where a number is no mean over texts."""
TRAINING = [*CELL, "seed"]
RECURRENT, PLAIN = ("lstm", "gru"), ("mlp", "cnn")


def performance(results: Results) -> dict[str, Effect]:
    """Macro-F1 of each variant minus that without TaSc, for each encoder."""
    labels = results.comparable_labels
    if labels.empty:
        raise NotTested("Without TaSc no model learned anything, so there is no performance to lose.")
    values = f1_values(labels, [*CELL, "variant", "seed"])
    return {
        f"{NAMES[variant]}, {name(encoder)}": contrast(part, "variant", variant, "none", CELL, bounds=(-1, 1))
        for encoder, part in values.groupby("encoder", sort=False)
        for variant in part["variant"].unique()
        if variant != "none"
    }


def gain(results: Results, ranking: str) -> Effect:
    """The fraction with Lin-TaSc minus that without, mean over all cells."""
    return _lin(_fractions(_whole(results), ranking))


def gain_by_encoder(results: Results) -> dict[str, Effect]:
    """The same by α∇α, for each encoder."""
    part = _fractions(learned(results))
    return {name(encoder): _lin(own) for encoder, own in part.groupby("encoder", sort=False)}


def gain_of_dot(results: Results) -> Effect:
    """How many more decisions Lin-TaSc lets the top token flip, with Dot minus with Tanh."""
    part = _both_attentions(_of(_whole(results), TOP1, "alpha_grad"))
    lin, none = (part[part["variant"] == v] for v in ("lin", "none"))
    gains = lin.merge(none, on=[*CELL, "seed", "instance"], suffixes=("", "_none"))
    gains = gains.assign(value=gains["value"] - gains["value_none"])
    sides = ("attention", "dot", "additive")
    return contrast(gains, *sides, ["dataset", "encoder"], paired=False, bounds=(-200, 200))


def recurrent(results: Results, variant: str) -> Effect:
    """The fraction by α∇α with recurrent encoders minus that with MLP and CNN; encoders of a kind count alike."""
    part = _fractions(_whole(results))
    part = part[part["variant"] == variant]
    kinds = [[e for e in kind if e in set(part["encoder"])] for kind in (RECURRENT, PLAIN)]
    if not all(kinds):
        raise NotTested
    shared = part[["dataset", "attention"]].drop_duplicates()
    weights = {
        (dataset, encoder, attention): sign / len(kind) / len(shared)
        for dataset, attention in shared.itertuples(index=False, name=None)
        for sign, kind in zip((1, -1), kinds, strict=True)
        for encoder in kind
    }
    return effect(part, CELL, weights=weights, bounds=(-1, 1))


def best_ranking(results: Results, metric: str) -> dict[str, Effect]:
    """What α∇α gives minus what each other ranking does, for each variant."""
    part, end = _of(_whole(results), metric, *RANKINGS), RANGE[metric][1]
    return {
        case: contrast(part[part["variant"] == v], "importance", "alpha_grad", other, CELL, bounds=(-end, end))
        for case, v, other in rivals(results)
    }


def cases_won(results: Results, metric: str) -> Effect:
    """The share of rankings and variants in which TaSc is better than no TaSc, mean over trainings."""
    sign = 1 if metric == TOP1 else -1  # flips are gained, fractions are saved

    def won(means: pd.DataFrame) -> pd.Series:
        gains = sign * means.drop(columns="none").sub(means["none"], axis=0)
        return (gains > 0).mean(axis=1).groupby(TRAINING, sort=False).mean()

    return _share_of_cases(_of(_whole(results), metric, *RANKINGS), won)


def lin_leads(results: Results) -> Effect:
    """The share of rankings in which Lin-TaSc needs no larger a fraction than Feat- and Conv-TaSc, over trainings.

    Comparable is what the paper's ratios, of one digit, do not tell apart: 0.05 of the fraction without TaSc.
    """

    def leads(means: pd.DataFrame) -> pd.Series:
        least = means[others].min(axis=1) + 0.05 * means["none"]
        return (means["lin"] < least).groupby(TRAINING, sort=False).mean()

    part = _fractions(_whole(results), *RANKINGS)
    others = [v for v in ("feat", "conv") if v in set(part["variant"])]
    if not others:
        raise NotTested
    return _share_of_cases(part, leads)


def tanh_above_dot(results: Results) -> Effect:
    """Decisions flipped by the top token without TaSc, Tanh minus Dot, mean over the three rankings."""
    part = _both_attentions(_of(_whole(results), TOP1, *RANKINGS))
    part = part[part["variant"] == "none"].groupby([*CELL, "seed", "instance"], sort=False)["value"].mean()
    sides = ("attention", "additive", "dot", ["dataset", "encoder"])
    return contrast(part.reset_index(), *sides, paired=False, bounds=(-100, 100))


def alpha_loses(results: Results) -> dict[str, Effect]:
    """Decisions flipped by the top token by α alone, each variant minus no TaSc."""
    part = _of(_whole(results), TOP1, "alpha")
    sides = {NAMES[v]: v for v in part["variant"].unique() if v != "none"}
    return {name: contrast(part, "variant", v, "none", CELL, bounds=(-100, 100)) for name, v in sides.items()}


def medians(results: Results) -> dict[str, Effect]:
    """The median over texts of the fraction, Lin-TaSc minus no TaSc, mean over cells, by ∇α and by α∇α."""
    part = _fractions(_whole(results), "grad_alpha", "alpha_grad")

    def changed(own: pd.DataFrame) -> pd.DataFrame:
        table = own.pivot_table(index=[*CELL, "seed"], columns="variant", values="value", aggfunc="median")
        return (table["lin"] - table["none"]).rename("value").reset_index()

    return {
        NAMES[r]: _by_training(own, changed, CELL, (-1, 1)) for r, own in part.groupby("importance", sort=False)
    }


def sum_pools_best(results: Results) -> dict[str, Effect]:
    """Macro-F1 of Lin-TaSc that sums the scaled embedding minus that of each other pooling."""
    if results.pooling_labels is None or results.pooling_labels.empty:
        raise NotTested
    values = f1_values(results.pooling_labels, [*CELL, "pool", "seed"])
    return {pool: contrast(values, "pool", "sum", pool, CELL, bounds=(-1, 1)) for pool in POOLS if pool != "sum"}


def beats_baselines(results: Results) -> Effect:
    """The share of trainings where α∇α with Lin-TaSc needs fewer tokens than each of WO, x∇x and IG without."""

    def won(part: pd.DataFrame) -> pd.DataFrame:
        means = part.pivot_table(index=TRAINING, columns=["variant", "importance"], values="value")
        found = means["lin", "alpha_grad"] < means["none"][list(BASELINES)].min(axis=1)
        return found.astype(float).rename("value").reset_index()

    return _by_training(required(compared(learned(results))), won, CELL, (0, 1))


def baselines_gain(results: Results) -> Effect:
    """The share of WO, x∇x and IG whose fraction Lin-TaSc lowers, mean over trainings."""

    def lowered(means: pd.DataFrame) -> pd.Series:
        return (means["lin"] < means["none"]).groupby(TRAINING, sort=False).mean()

    return _share_of_cases(required(_fractions(learned(results), *BASELINES)), lowered)


def bert_needs_most(results: Results) -> dict[str, Effect]:
    """The fraction by α∇α without TaSc, BERT minus each other encoder, in BERT's cells and on its texts."""
    part = _fractions(_bert(results))
    part = part[part["variant"] == "none"]
    shared = ["dataset", "attention", "instance"]
    part = part.merge(part.loc[part["encoder"] == "bert", shared].drop_duplicates(), on=shared)
    return {
        name(other): contrast(part, "encoder", "bert", other, shared[:2], paired=False, bounds=(-1, 1))
        for other in part["encoder"].unique()
        if other != "bert"
    }


def gain_of_bert(results: Results) -> Effect:
    """The fraction by α∇α with Lin-TaSc minus that without, with BERT."""
    part = _fractions(_bert(results))
    return _lin(part[part["encoder"] == "bert"])


def narrower(results: Results) -> Effect:
    """The standard deviation over texts of the fraction by α∇α, Lin-TaSc minus no TaSc, mean over cells."""
    part = _fractions(_whole(results))
    return _lin(spread_values(part[part["variant"].isin(["none", "lin"])], [*CELL, "variant", "seed"]))


def learned(results: Results) -> pd.DataFrame:
    if results.learned.empty:
        raise NotTested(f"In every cell a model learned nothing ({NOTHING}), so there is nothing to explain.")
    return results.learned


def _whole(results: Results) -> pd.DataFrame:
    if learned(results).empty or results.whole.empty:
        raise NotTested("No encoder has models that learned something in every cell: there is no mean over cells.")
    return results.whole


def _bert(results: Results) -> pd.DataFrame:
    flips = learned(results)
    trainings = flips.loc[flips["encoder"] == "bert", "seed"].nunique()
    if not trainings or flips["encoder"].nunique() < 2:
        raise NotTested
    if results.frozen:
        raise NotTested("The pretrained encoder of this run is frozen; the claim is about one that is fine-tuned.")
    if trainings < TRAININGS:
        raise NotTested(f"This run has {plural(trainings, 'training')}; a claim about BERT needs {TRAININGS}.")
    return flips


def _of(flips: pd.DataFrame, metric: str, *rankings: str) -> pd.DataFrame:
    """Rows of a metric by the rankings."""
    return flips[(flips["metric"] == metric) & flips["importance"].isin(rankings)]


def _fractions(flips: pd.DataFrame, *rankings: str) -> pd.DataFrame:
    """Rows of the fraction to flip by the rankings, or by α∇α where none is named."""
    return _of(flips, FRACTION, *(rankings or ["alpha_grad"]))


def _both_attentions(part: pd.DataFrame) -> pd.DataFrame:
    if not {"dot", "additive"} <= set(part["attention"]):
        raise NotTested
    return part


def _share_of_cases(part: pd.DataFrame, hits: Callable[[pd.DataFrame], pd.Series]) -> Effect:
    """Mean over trainings of a share of cases; `hits` gets the mean of each ranking, columns by variant."""

    def shares(own: pd.DataFrame) -> pd.DataFrame:
        means = own.pivot_table(index=[*TRAINING, "importance"], columns="variant", values="value")
        return hits(means).rename("value").reset_index()

    return _by_training(part, shares, CELL, (0, 1))


def _by_training(
    part: pd.DataFrame,
    statistic: Callable[[pd.DataFrame], pd.DataFrame],
    cells: Sequence[str],
    bounds: tuple[float, float],
) -> Effect:
    """The mean of a statistic that is one number per training and no mean over texts.

    What its texts add to the variance is estimated by leaving out a tenth of them in turn (a grouped
    jackknife, which holds for medians too).
    """
    texts = part.groupby(["dataset", "instance"], sort=False).ngroup()
    means = [statistic(part[texts % BLOCKS != block])["value"].mean() for block in range(BLOCKS)]
    found = effect(statistic(part), cells, text=None, bounds=bounds)
    found = replace(found, n=len(part))
    if math.isnan(found.low):
        return replace(found, texts=texts.nunique())
    return found.widened((BLOCKS - 1) * float(np.var(means)), texts.nunique(), bounds)


def _lin(part: pd.DataFrame) -> Effect:
    """Lin-TaSc minus no TaSc, paired by training and text, mean over cells."""
    return contrast(part, "variant", "lin", "none", CELL, bounds=(-1, 1))


def rivals(results: Results) -> list[tuple[str, str, str]]:
    """A name, the variant and the other ranking, for every comparison of α∇α with another ranking."""
    variants = results.flips["variant"].unique()
    return [(f"{NAMES[r]}, {NAMES[v]}", v, r) for v in variants for r in ("alpha", "grad_alpha")]


def name(encoder: str) -> str:
    return NAMES.get(encoder, encoder)
