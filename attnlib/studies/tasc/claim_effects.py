"""What the claims about TaSc are judged by: results in, effects out.

Means are over the cells of corpus, encoder and attention of the run, each of which counts alike. Models with TaSc
and without are paired: they share a training (seed) and the texts. Different encoders and attentions are trainings
of their own and share the texts alone. Trainings with a model that learned nothing are left out
(`Results.learned`); a mean over encoders needs those that have every cell (`Results.whole`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from attnlib.stats.inference import Effect, contrast, effect
from attnlib.stats.jackknife import f1_values, spread_values
from attnlib.studies.learned import RULE as NOTHING
from attnlib.studies.ledger import NotTested, required
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, POOLS, RANKINGS, TOP1, Results
from attnlib.studies.tasc.tables import NAMES, RANGE, compared, of
from attnlib.utils.text import plural

TRAININGS = 3
"""Trainings of BERT that a claim about it needs."""
BLOCKS = 10
"""Groups of texts that are left out in turn, where a number is no mean over texts."""
TRAINING = [*CELL, "seed"]
RECURRENT, PLAIN = ("lstm", "gru"), ("mlp", "cnn")

Cases = dict[str, Effect]


def performance(results: Results) -> Cases:
    """Macro-F1 of each variant minus that without TaSc, for each encoder."""
    why = "Without TaSc no model learned anything, so there is no performance to lose."
    values = f1_values(required(results.comparable_labels, why), [*CELL, "variant", "seed"])
    return {
        f"{case}, {name(encoder)}": found
        for encoder, part in values.groupby("encoder", sort=False)
        for case, found in _variants(part, 1).items()
    }


def gain(results: Results, ranking: str) -> Effect:
    """The fraction with Lin-TaSc minus that without, mean over all cells."""
    return _lin(of(_whole(results), FRACTION, ranking))


def gain_by_encoder(results: Results) -> Cases:
    """The same by α∇α, for each encoder."""
    part = of(learned(results), FRACTION, "alpha_grad")
    return {name(encoder): _lin(own) for encoder, own in part.groupby("encoder", sort=False)}


def gain_of_dot(results: Results) -> Effect:
    """How many more decisions Lin-TaSc lets the top token flip, with Dot minus with Tanh."""
    part = _both_attentions(of(_whole(results), TOP1, "alpha_grad"))
    lin, none = (part[part["variant"] == v] for v in ("lin", "none"))
    gains = lin.merge(none, on=[*TRAINING, "instance"], suffixes=("", "_none"))
    gains = gains.assign(value=gains["value"] - gains["value_none"])
    return contrast(gains, "attention", "dot", "additive", CELL[:2], paired=False, bounds=(-200, 200))


def recurrent(results: Results, variant: str) -> Effect:
    """The fraction by α∇α with recurrent encoders minus that with MLP and CNN; encoders of a kind count alike."""
    part = of(_whole(results), FRACTION, "alpha_grad")
    part = part[part["variant"] == variant]
    kinds = [[e for e in kind if e in part["encoder"].unique()] for kind in (RECURRENT, PLAIN)]
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


def best_ranking(results: Results, metric: str) -> Cases:
    """What α∇α gives minus what each other ranking does, for each variant."""
    part, end = of(_whole(results), metric), RANGE[metric][1]
    return {
        case: contrast(part[part["variant"] == v], "importance", "alpha_grad", other, CELL, bounds=(-end, end))
        for case, v, other in rivals(results)
    }


def cases_won(results: Results, metric: str) -> Effect:
    """The share of rankings and variants in which TaSc is better than no TaSc, mean over trainings."""
    sign = 1 if metric == TOP1 else -1  # flips are gained, fractions are saved

    def won(means: pd.DataFrame) -> pd.Series:
        gains = sign * means.drop(columns="none", level=0).sub(means["none"], level=1)
        return (gains > 0).mean(axis=1)

    return _by_training(of(_whole(results), metric), won)


def lin_leads(results: Results) -> Effect:
    """The share of rankings in which Lin-TaSc needs no larger a fraction than Feat- and Conv-TaSc, over trainings.

    Comparable is what the paper's ratios, of one digit, do not tell apart: 0.05 of the fraction without TaSc.
    """
    part = of(_whole(results), FRACTION)
    others = [v for v in ("feat", "conv") if v in part["variant"].unique()]
    if not others:
        raise NotTested

    def leads(means: pd.DataFrame) -> pd.Series:
        least = np.fmin.reduce([means[v] for v in others]) + 0.05 * means["none"]
        return (means["lin"] < least).mean(axis=1)

    return _by_training(part, leads)


def tanh_above_dot(results: Results) -> Effect:
    """Decisions flipped by the top token without TaSc, Tanh minus Dot, mean over the three rankings."""
    part = _both_attentions(of(_whole(results), TOP1))
    part = part[part["variant"] == "none"].groupby([*TRAINING, "instance"], sort=False)["value"].mean()
    sides = ("attention", "additive", "dot", CELL[:2])
    return contrast(part.reset_index(), *sides, paired=False, bounds=(-100, 100))


def alpha_loses(results: Results) -> Cases:
    """Decisions flipped by the top token by α alone, each variant minus no TaSc."""
    return _variants(of(_whole(results), TOP1, "alpha"), 100)


def medians(results: Results) -> Cases:
    """The median over texts of the fraction, Lin-TaSc minus no TaSc, mean over cells, by ∇α and by α∇α."""
    part = of(_whole(results), FRACTION, "grad_alpha", "alpha_grad").groupby("importance", sort=False)
    options = {"bounds": (-1, 1), "within": "median"}
    return {NAMES[r]: _by_training(own, lambda m: (m["lin"] - m["none"]).squeeze(1), **options) for r, own in part}


def sum_pools_best(results: Results) -> Cases:
    """Macro-F1 of Lin-TaSc that sums the scaled embedding minus that of each other pooling."""
    if results.pooling_labels is None or results.pooling_labels.empty:
        raise NotTested
    values = f1_values(results.pooling_labels, [*CELL, "pool", "seed"])
    return {pool: contrast(values, "pool", "sum", pool, CELL, bounds=(-1, 1)) for pool in POOLS if pool != "sum"}


def beats_baselines(results: Results) -> Effect:
    """The share of trainings where α∇α with Lin-TaSc needs fewer tokens than each of WO, x∇x and IG without."""
    part = required(compared(learned(results)))
    return _by_training(part, lambda m: m["lin", "alpha_grad"] < m["none"][list(BASELINES)].min(axis=1))


def baselines_gain(results: Results) -> Effect:
    """The share of WO, x∇x and IG whose fraction Lin-TaSc lowers, mean over trainings."""
    part = required(of(learned(results), FRACTION, *BASELINES))
    return _by_training(part, lambda means: (means["lin"] < means["none"]).mean(axis=1))


def bert_needs_most(results: Results) -> Cases:
    """The fraction by α∇α without TaSc, BERT minus each other encoder, in BERT's cells and on its texts."""
    part = of(_bert(results), FRACTION, "alpha_grad")
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
    part = of(_bert(results), FRACTION, "alpha_grad")
    return _lin(part[part["encoder"] == "bert"])


def narrower(results: Results) -> Effect:
    """The standard deviation over texts of the fraction by α∇α, Lin-TaSc minus no TaSc, mean over cells."""
    part = of(_whole(results), FRACTION, "alpha_grad")
    return _lin(spread_values(part[part["variant"].isin(["none", "lin"])], [*CELL, "variant", "seed"]))


def learned(results: Results) -> pd.DataFrame:
    """The flips of the trainings in which every model learned something."""
    why = f"In every cell a model learned nothing ({NOTHING}), so there is nothing to explain."
    return required(results.learned, why)


def _whole(results: Results) -> pd.DataFrame:
    learned(results)
    why = "No encoder has models that learned something in every cell: there is no mean over cells."
    return required(results.whole, why)


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


def _both_attentions(part: pd.DataFrame) -> pd.DataFrame:
    if not {"dot", "additive"} <= set(part["attention"].unique()):
        raise NotTested
    return part


def _by_training(
    part: pd.DataFrame,
    statistic: Callable[[pd.DataFrame], pd.Series],
    bounds: tuple[float, float] = (0, 1),
    within: str = "mean",
) -> Effect:
    """The mean over trainings of a statistic that is one number per training and no mean over texts.

    statistic  one row per training, one column per variant and ranking: what the values of its texts are `within`
               it (their mean or median) -> one number per training

    What its texts add to the variance is estimated by leaving out a tenth of them in turn (a grouped
    jackknife, which holds for medians too).
    """

    columns = ["variant", "importance"]
    groups = part.groupby([*TRAINING, *columns])
    number, names = groups.ngroup().to_numpy(), groups.size().index
    value = part["value"].to_numpy(float)

    def values(kept: np.ndarray) -> pd.DataFrame:
        own = pd.Series(value[kept]).groupby(number[kept]).agg(within)
        rows = own.set_axis(names[own.index]).rename("value").reset_index()
        wide = rows.pivot_table(index=TRAINING, columns=columns, values="value")
        return statistic(wide).astype(float).rename("value").reset_index()

    texts = part.groupby(["dataset", "instance"], sort=False).ngroup()
    block = texts.to_numpy() % BLOCKS
    means = [values(block != k)["value"].mean() for k in range(BLOCKS)]
    found = replace(effect(values(block >= 0), CELL, text=None, bounds=bounds), n=len(part))
    if math.isnan(found.low):
        return replace(found, texts=texts.nunique())
    return found.widened((BLOCKS - 1) * float(np.var(means)), texts.nunique(), bounds)


def _lin(part: pd.DataFrame) -> Effect:
    """Lin-TaSc minus no TaSc, paired by training and text, mean over cells."""
    return contrast(part, "variant", "lin", "none", CELL, bounds=(-1, 1))


def _variants(part: pd.DataFrame, end: float) -> Cases:
    """Each variant minus no TaSc likewise; values lie between 0 and `end`."""
    return {
        NAMES[v]: contrast(part, "variant", v, "none", CELL, bounds=(-end, end))
        for v in part["variant"].unique()
        if v != "none"
    }


def rivals(results: Results) -> list[tuple[str, str, str]]:
    """A name, the variant and the other ranking, for every comparison of α∇α with another ranking."""
    variants = results.flips["variant"].unique()
    return [(f"{NAMES[r]}, {NAMES[v]}", v, r) for v in variants for r in RANKINGS if r != "alpha_grad"]


def name(encoder: str) -> str:
    return NAMES.get(encoder, encoder)
