"""Claims of Wen et al. 2022, each with its rule, and what must hold whatever the data.

A tau is one number per model, so its interval is over trainings (`tables.TAU`); claims 8 and 9 are about settings
(corpus, encoder, attention) and claim 12 is about corpora, and those are what is drawn there. Models that learned
nothing, or were measured on too few texts, decide nothing: they are left out, with their pairs. Verdicts rest on
the paper's estimate of information; `by_estimates` gives the same effects by two others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, contrast, effect, exact_share
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies.beside import printed, reference
from attnlib.studies.datasets import kin
from attnlib.studies.learned import NOTHING
from attnlib.studies.ledger import NotTested, Printed, Rule, judged, required
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

KEPT = 0.1
"""A change of tau below this is none: the largest the paper still calls so is 0.09 (Table 4)."""
STABLE = 0.05
"""The largest difference between seeds that the paper reports."""
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
HISTORY = (
    "Changed after results on real texts had been seen: models that learned nothing decide nothing (now by the "
    "rule of all studies; first, if no more accurate than the most frequent class); information is compared to "
    "nine decimals, with at most half as many clusters as texts, and equal states share a cluster."
)
MOST = (
    f"{HISTORY} Until it was noticed that the paper says most of the time, its mean τ had to be above that of each "
    "of the eight rivals."
)
ADDED = f"Added after results on real texts had been seen. {HISTORY}"
AVERAGES = "section 5, means over its corpora and encoders"
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


def _tracks(results: Results) -> Effect:
    needed = "models with additive attention"
    part = _learned(results, needed, lambda taus: plain(taus[taus["attention"] == "additive"]))
    return over_texts(effect(part, CELL, **TAU), part)


def _above(results: Results, better: str, worse: str) -> Effect:
    """The mean difference of two attentions over the corpora and encoders that have both."""
    needed = f"models with {better} and with {worse} attention on one corpus"
    sides = _learned(results, needed, lambda taus: plain(taus[taus["attention"].isin((better, worse))]))
    part = required(shared(sides, ["attention"]) if sides["attention"].nunique() == 2 else sides[:0], needed)
    found = contrast(part, "attention", better, worse, CELL[:2], paired=False, **CHANGE)
    return over_texts(found, *(part[part["attention"] == side] for side in (better, worse)))


def _best(results: Results) -> Effect:
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


def _loss(results: Results, variant: str) -> Effect:
    """tau as trained minus tau in a special setting, paired by training, over the corpora that have both."""
    pairs = _pairs(results, variant)
    found = contrast(pairs, "variant", "none", variant, ["dataset"], **CHANGE)
    return over_texts(found, *(pairs[pairs["variant"] == side] for side in ("none", variant)))


def _there(results: Results, variant: str) -> Effect:
    """Mean tau in a special setting: what was never above 0 cannot drop."""
    pairs = _pairs(results, variant)
    own = pairs[pairs["variant"] == variant]
    return over_texts(effect(own, ["dataset"], **TAU), own)


def _printed_loss(results: Results, variant: str) -> Printed:
    """The paper's loss for the same or closest corpora; its mean for a corpus that is close to none of its own."""
    table, names, values = TABLES[variant], [], []
    for dataset in _pairs(results, variant)["dataset"].unique():
        own = printed(NAME, table, variant=variant, dataset=dataset)
        known = own == own
        values.append(own if known else printed(NAME, table, variant=variant))
        names.append(kin(dataset) if known else "mean over its corpora")
    return Printed(float(np.mean(values)), f"Table {table}, {', '.join(dict.fromkeys(names))}")


def _gumbel(results: Results) -> Effect:
    kept = _learned(results, "pairs of models with softmax and with Gumbel-softmax", gumbel_pairs)["kept"]
    return exact_share(int(kept.sum()), len(kept))


def _counted(results: Results) -> Printed:
    rows = reference(NAME, 5)
    total = rows.loc[rows["dataset"].isna() & rows["attention"].isna(), "value"].item()
    return Printed(float(Fraction(total)), f"Table 5, {total.replace('/', ' of ')} settings")


def _uniform(results: Results) -> Effect:
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


def _stable(results: Results) -> Effect:
    needed = f"three trainings of {BEST} attention on one corpus"
    values = _learned(results, needed, lambda taus: gap_values(of_main(taus)))
    return effect(values, CELL, text=None, bounds=(0.0, 2.0))


def _queries(results: Results) -> Effect:
    """Corpora to classify minus corpora with a query, each by its mean over the settings that both kinds have."""
    part = with_setting(_learned(results, "models of one kind on texts to classify and on texts with a query"))
    part = part.assign(kind=np.where(part["task"] == "classification", "classification", "query"))
    both = set.intersection(*(set(own["setting"]) for _, own in part.groupby("kind")))
    cells = part[part["setting"].isin(both)].groupby(["kind", "dataset", "setting"])["value"].mean()
    means = cells.groupby(level=["kind", "dataset"]).mean().reset_index()
    if means["kind"].value_counts().reindex(["classification", "query"], fill_value=0).min() < 2:
        raise NotTested("It compares corpora, and needs two to classify and two with a query, with models alike.")
    return contrast(means, "kind", "classification", "query", paired=False, training="dataset", **CHANGE)


def _average(results: Results, *attentions: str) -> Printed:
    """The paper's mean tau of an attention, or the first minus the second."""
    means = [printed(NAME, "text", metric="weighted_kendall_mean_all", attention=a) for a in attentions]
    return Printed(means[0] - sum(means[1:]), AVERAGES)


def _order(number: int, better: str, worse: str, history: str = HISTORY) -> Rule:
    return Rule(
        f"mutual-information-{number}",
        f"{NAMES[better]} attention follows information better than {worse} attention",
        where="section 5, averages",
        test="difference of mean τ over the corpora and encoders that have both",
        effect=partial(_above, better=better, worse=worse),
        paper=lambda results: _average(results, better, worse),
        figure="tau_averages",
        history=history,
    )


RULES = (
    Rule(
        "mutual-information-1",
        "The more attention a state receives, the more it tells about the output (additive attention)",
        where="section 5, Figure 2",
        test="mean weighted τ over corpora, encoders and trainings",
        effect=_tracks,
        paper=lambda results: _average(results, "additive"),
        figure="tau_averages",
        history=HISTORY,
    ),
    _order(2, "additive", "dot"),
    _order(3, "deep", "dot"),
    Rule(
        "mutual-information-4",
        "BiLSTM with additive attention has the highest τ most of the time",
        where="section 5, Figure 2",
        test="the share of rounds in which no other is above it at the paper's two digits, by its exact binomial "
        "interval; a round is one training of every encoder with every attention on a corpus that has them all",
        effect=_best,
        border=0.5,
        figure="figure2_tau",
        history=MOST,
    ),
    Rule(
        "mutual-information-5",
        "With attention fixed at random, τ drops: the encoder does not bring information to the weights",
        where="section 5.1, Table 2, Fix Attn",
        test="τ as trained minus τ with frozen attention, paired by training, mean over corpora",
        effect=partial(_loss, variant="fix_attention"),
        paper=partial(_printed_loss, variant="fix_attention"),
        figure="ablations",
        waits="ablation_seeds",
        history=HISTORY,
    ),
    Rule(
        "mutual-information-6",
        "With the representation fixed and attention learned again, τ does not drop",
        where="section 5.1, Table 2, Fix Rep",
        test="mean τ with frozen embedding and encoder is above 0, and τ as trained minus that τ, paired by "
        "training, mean over corpora",
        effect=partial(_loss, variant="fix_representation"),
        direction="less",
        border=KEPT,
        also=partial(_there, variant="fix_representation"),
        paper=partial(_printed_loss, variant="fix_representation"),
        figure="ablations",
        waits="ablation_seeds",
        history=f"{HISTORY} Also since then: there must be a τ above 0 to keep.",
    ),
    Rule(
        "mutual-information-7",
        "Adversarial attention still follows information",
        where="section 5.2, Table 4",
        test=f"over the corpora whose adversaries moved their attention (mean JSD {MOVED} at least), stayed close "
        f"in their outputs (mean TVD, halved with two classes, at most {CLOSE}, a bound of ours) and kept their "
        f"accuracy (mean loss below {LOST}): mean τ of the adversaries is above 0, and τ of the base minus that of "
        "its adversary, paired by training, mean over corpora",
        effect=partial(_loss, variant="adversary_unfrozen"),
        direction="less",
        border=KEPT,
        also=partial(_there, variant="adversary_unfrozen"),
        paper=partial(_printed_loss, variant="adversary_unfrozen"),
        figure="adversaries",
        waits="adversary_seeds",
        history=f"{HISTORY} Also since then: adversaries must have moved their attention, kept their accuracy and "
        "stayed close in their outputs (halved with two classes only, over the texts that τ is measured on), and "
        "there must be a τ above 0 to keep.",
    ),
    Rule(
        "mutual-information-8",
        "Gumbel-softmax raises τ, or leaves it, in most settings",
        where="section 5.3, Table 5",
        test="the share of settings (corpus, encoder, attention) whose mean τ does not fall, by its exact binomial "
        "interval; settings of one corpus are not independent, so that the interval is rather too narrow",
        effect=_gumbel,
        border=0.5,
        paper=_counted,
        figure="gumbel",
        waits="gumbel_seeds",
        history=HISTORY,
    ),
    Rule(
        "mutual-information-9",
        "Models with more uniform attention follow information less",
        where="section 5.3",
        test="Kendall τ-b of τ with the mean normalised entropy of attention over the models of a corpus, mean "
        f"over the corpora with {LEAST_ORDERED} settings (encoder, attention) at least; settings are what is drawn",
        effect=_uniform,
        direction="less",
        figure="uniformity",
        history=f"{HISTORY} Also since then: {LEAST_ORDERED} settings at least.",
    ),
    Rule(
        "mutual-information-10",
        "τ of BiLSTM with additive attention hardly depends on the seed",
        where="section 5",
        test="mean absolute difference of τ between two trainings, mean over corpora",
        effect=_stable,
        direction="less",
        border=STABLE,
        paper=lambda _: Printed(
            printed(NAME, "text", metric="weighted_kendall_between_seeds_mean"), "section 5, mean over seeds"
        ),
        figure="seeds",
        history=HISTORY,
    ),
    _order(11, "additive", "deep", ADDED),
    Rule(
        "mutual-information-12",
        "τ is lower for questions and inference than for classification",
        where="section 5, Figure 2",
        test="mean τ of the corpora to classify minus that of the corpora with a query, over the settings "
        "(encoder, attention) that both have; corpora are what is drawn, two of each kind at least",
        effect=_queries,
        figure="figure2_tau",
        history=ADDED,
    ),
)


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
