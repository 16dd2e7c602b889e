"""Claims of Wen et al. 2022, each with its rule, and what must hold whatever the data.

A tau is one number per model, so its interval is over trainings (`tables.TAU`); claims 8 and 9 are about settings
(corpus, encoder, attention) and claim 12 is about corpora, and those are what is drawn there. Models that learned
nothing, or were measured on too few texts, decide nothing: they are left out, with their pairs. Verdicts rest on
the paper's estimate of information; `by_estimates` gives the same effects by two others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, contrast, effect, exact_share
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies import beside
from attnlib.studies.learned import NOTHING
from attnlib.studies.ledger import NotTested, Printed, judged, required
from attnlib.studies.mutual_information.grid import CELL, MAIN, MODEL, NAME, NAMES, Results, grid
from attnlib.studies.mutual_information.params import Params
from attnlib.studies.mutual_information.tables import (
    CHANGE,
    SAME,
    TAU,
    gap_values,
    gumbel_pairs,
    of_main,
    plain,
    shared,
    with_base,
    with_setting,
)  # fmt: skip
from attnlib.studies.rules import read_rules

MOVED = 0.19
"""Distance (mean JSD, nats) from which the attention of adversaries counts as moved: the paper's lowest is 0.194
(Table 3, ADR). Attention that stayed where it was follows information because its base does."""
LOST = 0.03
"""A mean loss of accuracy below this is none: the paper's largest is 0.02 (20 Newsgroups, Tables 1 and 3). A model
that lost more no longer gives its base's outputs."""
CLOSE = 0.1
"""Outputs of mean TVD, halved with two classes, up to this are close. A bound of ours: the largest in the paper is
0.037 (Table 3)."""
LEAST_ORDERED = 5
"""The fewest settings that a rank correlation is judged by: chance puts four in perfect order once in twelve."""
BEST = " with ".join(NAMES[name] for name in MAIN)
TABLES = {"fix_attention": 2, "fix_representation": 2, "adversary_unfrozen": 4}
"""Where the paper prints what tau loses in a special setting."""
OTHERS = {"tau": "paper's estimate", "tau_shuffled": "minus shuffled", "tau_neighbours": "nearest neighbours"}
"""Estimates of information that the claims on the level or order of tau are shown by."""
Z = 1.96
"""`over_texts` of a model is so many standard errors wide (`measures.rank_information`)."""


def _learned(results: Results, needed: str, kept: Callable[[pd.DataFrame], pd.DataFrame] = plain) -> pd.DataFrame:
    """What `kept` makes of the models that may decide; where that is nothing, the claim is not tested."""
    if results.taus["thin"].all():
        raise NotTested("Every corpus of this run has too few test texts for the numbers of clusters asked for.")
    found = kept(required(results.learned, NOTHING).dropna(subset=["value"]))
    return required(found, f"Not in this run, or learned nothing: {needed}.")


def over_texts(found: Effect, *sides: pd.DataFrame) -> Effect:
    """The effect with what another sample of texts would do to it, from the standard errors of single taus.

    All models of a corpus read the same texts, so their errors do not average out within it; those of two sides of
    a difference are added, which is more than they can be.
    """
    variance, texts = 0.0, 0
    for side in sides:
        errors = side.groupby("dataset")["over_texts"].mean() / Z
        variance += float((errors**2).sum()) / len(errors) ** 2
        texts = max(texts, int(side.groupby("dataset")["n"].max().sum()))
    return found.widened(variance, texts, (TAU if len(sides) == 1 else CHANGE)["bounds"])


def tracks(results: Results) -> Effect:
    """Mean tau of additive attention."""
    needed = "models with additive attention"
    part = _learned(results, needed, lambda taus: plain(taus[taus["attention"] == "additive"]))
    return over_texts(effect(part, CELL, **TAU), part)


def above(results: Results, better: str, worse: str) -> Effect:
    """The mean difference of two attentions over the corpora and encoders that have both."""
    needed = f"models with {better} and with {worse} attention on one corpus"
    sides = _learned(results, needed, lambda taus: plain(taus[taus["attention"].isin((better, worse))]))
    part = required(shared(sides, ["attention"]) if sides["attention"].nunique() == 2 else sides[:0], needed)
    found = contrast(part, "attention", better, worse, CELL[:2], paired=False, **CHANGE)
    return over_texts(found, *(part[part["attention"] == side] for side in (better, worse)))


def best(results: Results) -> Effect:
    """The share of rounds in which no rival is above BiLSTM with additive attention by `SAME`.

    A round is one training of every encoder with every attention of the run, `LEAST_ORDERED` of them at least.
    """
    part = shared(_learned(results, f"{BEST} attention, and rivals"), CELL[1:])
    rounds = with_setting(part).pivot_table(index=["dataset", "seed"], columns="setting", values="value").dropna()
    if BEST not in rounds or rounds.shape[1] < LEAST_ORDERED or rounds.empty:
        raise NotTested(f"No corpus has {BEST} attention and {LEAST_ORDERED - 1} rivals at least.")
    wins = rounds[BEST] > rounds.drop(columns=BEST).max(axis=1) - SAME
    return exact_share(int(wins.sum()), len(wins))


def true_adversaries(results: Results) -> list[str]:
    """The corpora whose adversaries are adversaries: attention moved, outputs close, accuracy kept, on average."""
    if results.apart.empty:
        return []
    columns = ["jsd", "tvd_trained", "right_base", "right_adversary"]
    means = results.apart.groupby("dataset", sort=False)[columns].mean()
    lost = means["right_base"] - means["right_adversary"]
    return list(means.index[(means["jsd"] >= MOVED) & (means["tvd_trained"] <= CLOSE) & (lost < LOST)])


def _pairs(results: Results, variant: str) -> pd.DataFrame:
    """Models as trained and in a special setting; adversaries only of corpora where they are adversaries."""
    needed = f"pairs of {BEST} attention as trained and as {NAMES[variant]}"
    pairs = _learned(results, needed, lambda taus: with_base(taus, variant))
    if variant == "adversary_unfrozen":
        why = "No corpus has adversaries that moved attention, with outputs close and accuracy kept."
        pairs = required(pairs[pairs["dataset"].isin(true_adversaries(results))], why)
    return pairs


def loss(results: Results, variant: str) -> Effect:
    """tau as trained minus tau in a special setting, paired by training, over the corpora that have both."""
    pairs = _pairs(results, variant)
    found = contrast(pairs, "variant", "none", variant, ["dataset"], **CHANGE)
    return over_texts(found, *(pairs[pairs["variant"] == side] for side in ("none", variant)))


def there(results: Results, variant: str) -> Effect:
    """Mean tau in a special setting: what was never above 0 cannot drop."""
    pairs = _pairs(results, variant)
    own = pairs[pairs["variant"] == variant]
    return over_texts(effect(own, ["dataset"], **TAU), own)


def printed_loss(results: Results, variant: str) -> Printed:
    """The paper's loss for the same or closest corpora; its mean for a corpus that is close to none of its own."""
    table, datasets = TABLES[variant], _pairs(results, variant)["dataset"].unique()
    value = partial(beside.printed, NAME, table, variant=variant)
    values, names = zip(*(beside.nearest(value, dataset) for dataset in datasets), strict=True)
    return Printed(float(np.mean(values)), f"Table {table}, {', '.join(dict.fromkeys(names))}")


def gumbel(results: Results) -> Effect:
    """The share of settings whose tau Gumbel-softmax does not lower."""
    kept = _learned(results, "pairs of models with softmax and with Gumbel-softmax", gumbel_pairs)["kept"]
    return exact_share(int(kept.sum()), len(kept))


def counted(results: Results) -> Printed:
    """That share in the paper's Table 5."""
    rows = beside.reference(NAME, 5)
    total = rows.loc[rows["dataset"].isna() & rows["attention"].isna(), "value"].item()
    return Printed(float(Fraction(total)), f"Table 5, {total.replace('/', ' of ')} settings")


def uniform(results: Results) -> Effect:
    """Kendall tau-b of tau with the entropy of attention over the models of a corpus, averaged over corpora.

    Settings are drawn, each with all its trainings: the jackknife leaves out one at a time.
    """
    part = with_setting(_learned(results, "models with a τ and an entropy")).dropna(subset=["entropy"])
    groups = part.groupby(["dataset", "setting"], sort=False)[["value", "entropy"]]
    settings = pd.DataFrame([{"dataset": d, "setting": s, "models": own.to_numpy()} for (d, s), own in groups])
    settings = settings.groupby("dataset", sort=False).filter(lambda own: len(own) >= LEAST_ORDERED)
    required(settings, f"No corpus has {LEAST_ORDERED} settings (encoder, attention) to correlate over.")
    values = pseudovalues(settings, _agreement, ["dataset"], text="setting")
    found = effect(values, ["dataset"], training=None, text="setting", bounds=(-1.0, 1.0))
    return replace(found, trainings=found.texts, texts=0, from_trainings=found.from_texts, from_texts=0.0)


def _agreement(settings: pd.DataFrame) -> float:
    return stats.kendall_tau(*np.vstack(settings["models"].to_list()).T)


def stable(results: Results) -> Effect:
    """How far two trainings of BiLSTM with additive attention lie apart (`gap_values`)."""
    needed = f"three trainings of {BEST} attention on one corpus"
    values = _learned(results, needed, lambda taus: gap_values(of_main(taus)))
    return effect(values, CELL, text=None, bounds=(0.0, 2.0))


def queries(results: Results) -> Effect:
    """Corpora to classify minus corpora with a query, each by its mean over the settings that both kinds have."""
    part = with_setting(_learned(results, "models of one kind on texts to classify and on texts with a query"))
    part = part.assign(kind=np.where(part["task"] == "classification", "classification", "query"))
    both = set.intersection(*(set(own["setting"]) for _, own in part.groupby("kind")))
    cells = part[part["setting"].isin(both)].groupby(["kind", "dataset", "setting"])["value"].mean()
    means = cells.groupby(level=["kind", "dataset"]).mean().reset_index()
    if means["kind"].value_counts().reindex(["classification", "query"], fill_value=0).min() < 2:
        raise NotTested("It compares corpora, and needs two to classify and two with a query, with models alike.")
    return contrast(means, "kind", "classification", "query", paired=False, training="dataset", **CHANGE)


def average(results: Results, attentions: Sequence[str]) -> Printed:
    """The paper's mean tau of an attention, or the first minus the second."""
    means = [beside.printed(NAME, "text", metric="weighted_kendall_mean_all", attention=a) for a in attentions]
    return Printed(means[0] - sum(means[1:]), "section 5, means over its corpora and encoders")


RULES = read_rules(__file__, globals())


def by_estimates(results: Results) -> pd.DataFrame:
    """The claims on the level or order of tau by the paper's estimate of information and by two others."""
    rows = []
    for rule in (rule for rule in RULES if rule.figure in ("tau_averages", "figure2_tau")):
        row = {"claim": rule.says}
        for column, name in OTHERS.items():
            taus = results.taus.assign(value=results.taus[column])
            row[name] = judged(rule, replace(results, taus=taus), paper="", setting="").effect
        rows.append(row)
    table = pd.DataFrame(rows).dropna(subset=[OTHERS["tau"]]).reset_index(drop=True)
    signs = np.sign(table[list(OTHERS.values())].to_numpy(float))
    return table.assign(**{"same sign": np.where((signs == signs[:, :1]).all(1), "yes", "no")})


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    taus, ranks = results.taus, results.ranks
    expected = sum(run.task.endswith(":by_rank") for run in grid(params))
    by_model = ranks.groupby(MODEL)
    sizes, ks = by_model.size().sort_index(), taus.set_index(MODEL)["k"].sort_index()
    return {
        "every model of the grid was measured": len(taus) == expected and not len(results.grid.failures),
        "tau lies between -1 and 1": bool(taus["tau"].dropna().between(-1, 1).all()),
        "mean attention falls with the rank": all(own["alpha"].diff().max() <= 0.02 for _, own in by_model),
        "information is not negative": bool((ranks["information"] >= 0).all()),
        "a model has as many ranks as its k": bool((sizes == ks).all()),
        "the entropy of attention lies between 0 and 1": bool(taus["entropy"].dropna().between(0, 1).all()),
    }
