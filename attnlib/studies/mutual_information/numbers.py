"""Attention and information (Wen et al. 2022): every number of the study, its tables and its claims.

A τ is one number per model, so its intervals are over trainings, nested in cells (corpus, encoder, attention), on
the test texts at hand; what another sample of texts would do to a single τ is `over_texts`, which widens the
intervals of claims. Claims 8 and 9 are about settings (corpus, encoder, attention) and claim 12 is about corpora,
and those are what is drawn there. Models that learned nothing, or were measured on too few texts, decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from attnlib import stats
from attnlib.stats.inference import COUNTS, ENDS, Effect, contrast, effect, effects, exact_share
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies import beside
from attnlib.studies.beside import Printed
from attnlib.studies.datasets import short
from attnlib.studies.ledger import Claim, Judged, judged
from attnlib.studies.mutual_information.grid import CELL, MODEL, NAME, NAMES, adversary_lambda, grid
from attnlib.studies.mutual_information.params import MAIN, Params
from attnlib.studies.quantity import NotTested, Quantity, Table, required
from attnlib.studies.results import NOTHING, Results
from attnlib.utils.text import plural

SAME = 0.005
"""A change of τ below this is none: it vanishes at the two digits that the paper prints."""
KEPT = 0.1
"""A loss of τ below this is none: the largest that the paper still calls so is 0.09 (Table 4)."""
BETWEEN_SEEDS = 0.05
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
PRINTED = {"fix_attention": 2, "fix_representation": 2, "adversary_unfrozen": 4}
"""Where the paper prints what τ loses in a special setting."""
ESTIMATES = {
    "tau": "as the paper: clusters, plug-in, weighted",
    "tau_plain": "unweighted",
    "tau_miller_madow": "bias corrected (Miller–Madow)",
    "tau_shuffled": "bias corrected (minus shuffled)",
    "tau_neighbours": "nearest neighbours, no clusters",
}
"""Ways to the same τ."""
AVERAGES = ["encoder", "attention", "corpora", *ENDS, "paper"]
OTHERS = {"tau": "paper's estimate", "tau_shuffled": "minus shuffled", "tau_neighbours": "nearest neighbours"}
"""Estimates of information that the claims on the level or order of τ are shown by."""
Z = 1.96
"""`over_texts` of a model is so many standard errors wide (`measures.rank_information`)."""

# rows -----------------------------------------------------------------------------------------------


def decisive(taus: pd.DataFrame) -> pd.DataFrame:
    """The models that learned something, on texts enough: what means, differences and counts are taken over."""
    if len(taus) and taus["thin"].all():
        raise NotTested("Every corpus of this run has too few test texts for the numbers of clusters asked for.")
    return required(taus[~(taus["idle"] | taus["thin"])], NOTHING)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The softmax models as trained: the grid of Figure 2."""
    return frame[(frame["variant"] == "none") & (frame["projection"] == "softmax")]


def of_main(frame: pd.DataFrame) -> pd.DataFrame:
    """Those of BiLSTM with additive attention."""
    return frame[(frame["encoder"] == MAIN[0]) & (frame["attention"] == MAIN[1])]


def shared(columns: Sequence[str], frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of corpora that have every setting of `columns` there is: means over them compare like with like."""
    settings = frame[["dataset", *columns]].drop_duplicates()
    every = len(settings[list(columns)].drop_duplicates())
    counts = settings.groupby("dataset").size()
    return frame[frame["dataset"].isin(counts.index[counts == every])]


def with_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """With `setting`: `BiLSTM with Additive`."""
    return frame.assign(setting=frame["encoder"].map(NAMES) + " with " + frame["attention"].map(NAMES))


def with_base(variant: str, taus: pd.DataFrame) -> pd.DataFrame:
    """BiLSTM with additive attention in a special setting and as trained, where a corpus and seed has both."""
    part = of_main(taus[taus["projection"] == "softmax"]).dropna(subset=["value"])
    base, special = (part[part["variant"] == name] for name in ("none", variant))
    both = base[["dataset", "seed"]].merge(special[["dataset", "seed"]])
    return pd.concat([side.merge(both, on=["dataset", "seed"]) for side in (base, special)], ignore_index=True)


def gumbel_pairs(taus: pd.DataFrame) -> pd.DataFrame:
    """Model settings with softmax and with Gumbel-softmax, means over the seeds that have both."""
    part = taus[taus["variant"] == "none"].dropna(subset=["value", "entropy"])
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


def gap_values(taus: pd.DataFrame) -> pd.DataFrame:
    """How far two trainings of a cell lie apart, as one number per training whose mean and spread are those of it.

    The mean of |Δτ| over pairs of trainings (Gini's mean difference) is no mean over trainings, so each gets its
    jackknife value; for such a mean over pairs these average to it exactly. Cells of two trainings have none.
    """
    part = taus.dropna(subset=["value"])
    part = part.groupby(CELL, sort=False).filter(lambda own: len(own) > 2)
    return pseudovalues(part, lambda own: pdist(own[["value"]]).mean(), CELL, text="seed").drop(columns="point")


# numbers --------------------------------------------------------------------------------------------


def absent(needed: str) -> str:
    """Why a claim is not tested."""
    return f"Not in this run, or learned nothing: {needed}."


measured = Quantity("taus", rows=decisive, model=tuple(CELL), bounds=(-1, 1), unit="τ", text=None)
tau = measured.where(plain)
additive = tau.only(attention="additive").of(why=absent("models with additive attention"))
right = Quantity("labels", lambda f: f["truth"] == f["prediction"], lambda f: of_main(plain(f)), ("dataset",))
between_seeds = (
    tau.where(of_main)
    .where(gap_values)
    .of(bounds=(0, 2), why=absent(f"three trainings of {BEST} attention on one corpus"))
)


def above(better: str, worse: str) -> Quantity:
    """The mean difference of two attentions over the corpora and encoders that have both."""
    sides = tau.only(attention=[better, worse]).where(partial(shared, ["attention"]))
    why = absent(f"models with {better} and with {worse} attention on one corpus")
    return sides.of(model=("dataset", "encoder"), paired=False, why=why).minus("attention", better, worse)


def special(variant: str) -> Quantity:
    """Models as trained and in a special setting; adversaries only of corpora where they are adversaries."""
    why = absent(f"pairs of {BEST} attention as trained and as {NAMES[variant]}")
    if variant == "adversary_unfrozen":
        why += " Or no corpus has adversaries that moved attention, with outputs close and accuracy kept."
    return measured.where(partial(with_base, variant)).of(model=("dataset",), why=why)


def loss(variant: str) -> Quantity:
    """τ as trained minus τ in a special setting, paired by training, over the corpora that have both."""
    return special(variant).minus("variant", "none", variant)


def widened(quantity: Quantity, results: Results) -> Effect:
    """The mean, with what another sample of texts would do to it, from the standard errors of single τ.

    All models of a corpus read the same texts, so their errors do not average out within it; those of two sides of
    a difference are added, which is more than they can be.
    """
    results = true_adversaries(results)
    found, rows = quantity.mean(results), quantity.values(results)
    column, *sides = quantity.sides or ("", None)
    variance, texts = 0.0, 0
    for side in sides:
        part = rows if side is None else rows[rows[column] == side]
        errors = part.groupby("dataset")["over_texts"].mean() / Z
        variance += float((errors**2).sum()) / len(errors) ** 2
        texts = max(texts, int(part.groupby("dataset")["n"].max().sum()))
    return found.widened(variance, texts, (-1, 1) if quantity.sides is None else (-2, 2))


def adversaries_of(results: Results) -> list[str]:
    """The corpora whose adversaries are adversaries: attention moved, outputs close, accuracy kept, on average."""
    if results.apart.empty:
        return []
    columns = ["jsd", "tvd_trained", "right_base", "right_adversary"]
    means = results.apart.groupby("dataset", sort=False)[columns].mean()
    lost = means["right_base"] - means["right_adversary"]
    return list(means.index[(means["jsd"] >= MOVED) & (means["tvd_trained"] <= CLOSE) & (lost < LOST)])


def true_adversaries(results: Results) -> Results:
    """The results without the adversaries that are none."""
    taus = results.taus
    none = (taus["variant"] == "adversary_unfrozen") & ~taus["dataset"].isin(adversaries_of(results))
    return results.replace(taus=taus[~none])


def best(results: Results) -> Effect:
    """The share of rounds in which no rival is above BiLSTM with additive attention by `SAME`.

    A round is one training of every encoder with every attention of the run, `LEAST_ORDERED` of them at least.
    """
    part = shared(CELL[1:], tau.values(results))
    rounds = with_setting(part).pivot_table(index=["dataset", "seed"], columns="setting", values="value").dropna()
    if BEST not in rounds or rounds.shape[1] < LEAST_ORDERED or rounds.empty:
        raise NotTested(f"No corpus has {BEST} attention and {LEAST_ORDERED - 1} rivals at least.")
    wins = rounds[BEST] > rounds.drop(columns=BEST).max(axis=1) - SAME
    return exact_share(int(wins.sum()), len(wins))


def gumbel_keeps(results: Results) -> Effect:
    """The share of settings whose τ Gumbel-softmax does not lower."""
    why = absent("pairs of models with softmax and with Gumbel-softmax")
    kept = required(gumbel_pairs(decisive(results.taus)), why)["kept"]
    return exact_share(int(kept.sum()), len(kept))


def uniform(results: Results) -> Effect:
    """Kendall τ-b of τ with the entropy of attention over the models of a corpus, averaged over corpora.

    Settings are drawn, each with all its trainings: the jackknife leaves out one at a time.
    """
    part = with_setting(tau.values(results).dropna(subset=["entropy"]))
    groups = part.groupby(["dataset", "setting"], sort=False)[["value", "entropy"]]
    settings = pd.DataFrame([{"dataset": d, "setting": s, "models": own.to_numpy()} for (d, s), own in groups])
    settings = settings.groupby("dataset", sort=False).filter(lambda own: len(own) >= LEAST_ORDERED)
    required(settings, f"No corpus has {LEAST_ORDERED} settings (encoder, attention) to correlate over.")
    values = pseudovalues(settings, _agreement, ["dataset"], text="setting")
    found = effect(values, ["dataset"], training=None, text="setting", bounds=(-1.0, 1.0))
    return replace(found, trainings=found.texts, texts=0, from_trainings=found.from_texts, from_texts=0.0)


def _agreement(settings: pd.DataFrame) -> float:
    return stats.kendall_tau(*np.vstack(settings["models"].to_list()).T)


def queries(results: Results) -> Effect:
    """Corpora to classify minus corpora with a query, each by its mean over the settings that both kinds have."""
    part = with_setting(tau.values(results))
    part = part.assign(kind=np.where(part["task"] == "classification", "classification", "query"))
    both = set.intersection(*(set(own["setting"]) for _, own in part.groupby("kind")))
    cells = part[part["setting"].isin(both)].groupby(["kind", "dataset", "setting"])["value"].mean()
    means = cells.groupby(level=["kind", "dataset"]).mean().reset_index()
    if means["kind"].value_counts().reindex(["classification", "query"], fill_value=0).min() < 2:
        raise NotTested("It compares corpora, and needs two to classify and two with a query, with models alike.")
    sides = ("kind", "classification", "query")
    return contrast(means, *sides, paired=False, training="dataset", text=None, bounds=(-2.0, 2.0))


# tables ---------------------------------------------------------------------------------------------


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Encoders, attentions, projections and variants as readers know them; files by their stem."""
    frame = frame.assign(dataset=frame["dataset"].map(short)) if "dataset" in frame else frame
    return beside.named(frame, NAMES)


def span(values: pd.Series | pd.DataFrame) -> str:
    """`3`, or `3–5`."""
    low, high = int(np.min(values)), int(np.max(values))
    return str(low) if low == high else f"{low}–{high}"


def choices(results: Results) -> pd.DataFrame:
    """k and N of every model of the grid, as ranges over trainings, and whether the smallest cluster holds two."""
    groups = plain(results.taus).groupby(CELL, sort=False)
    table = groups.agg(k=("k", span), N=("clusters", span))
    table["occupied clusters"] = groups[["occupied_least", "occupied_most"]].apply(span)
    told = groups.agg(smallest=("smallest", span), texts=("n", "max"), trainings=("seed", "size"))
    return table.join(told.rename(columns={"smallest": "smallest cluster"})).reset_index()


def uneven(results: Results) -> str:
    """In how many models the paper's condition on clusters cannot be met, or their number changes."""
    part = plain(results.taus)
    few, changing = (part["smallest"] < 2).sum(), (part["occupied_least"] < part["occupied_most"]).sum()
    return (
        "Models in which even the smallest N on offer leaves a cluster with one state at the first rank: "
        f"**{few} of {len(part)}** (that N is used all the same). Models whose number of occupied clusters changes "
        f"with the rank: **{changing} of {len(part)}**."
    )


def averages(results: Results) -> pd.DataFrame:
    """The averages of section 5: by attention, and by encoder and attention, next to the paper's.

    Each part is over the corpora that have all its rows (`shared`): else a row would be high or low for its texts.
    """
    frames = []
    for metric, keys in (("_all", ["attention"]), ("", ["encoder", "attention"])):
        part = tau.where(partial(shared, keys))
        try:
            found = part.table(results, keys, CELL)
        except NotTested:
            continue
        where = {"metric": f"weighted_kendall_mean{metric}"}
        paper = [beside.printed(NAME, "text", **where, **row) for row in found[keys].to_dict("records")]
        corpora = part.values(results)["dataset"].nunique()
        frames.append(found.assign(paper=pd.Series(paper, dtype=float), corpora=corpora))
    table = pd.concat(required(frames), ignore_index=True).reindex(columns=[*AVERAGES, *COUNTS[:2]])
    return named(table.assign(encoder=table["encoder"].astype(object).fillna("all")))


def by_estimate(results: Results) -> pd.DataFrame:
    """Mean τ by attention under every estimate, and how alike they order the models (τ-b with the first)."""
    part = plain(decisive(results.taus))
    rows = []
    for column, words in ESTIMATES.items():
        row = {"estimate": words}
        row |= {NAMES.get(a, a): g[column].mean() for a, g in part.groupby("attention", sort=False)}
        both = part[["tau", column]].dropna().to_numpy(float)  # a constant output has no τ
        same = stats.kendall_tau(both[:, 0], both[:, 1]) if len(both) > 1 else np.nan
        rows.append(row | {"agreement with the first": same, "models": len(both)})
    return pd.DataFrame(rows)


def claims_by_estimate(results: Results) -> pd.DataFrame:
    """The claims on the level or order of τ by the paper's estimate of information and by two others."""
    rows = []
    for claim in (claim for claim in CLAIMS if claim.figure in ("tau_averages", "figure2_tau")):
        row: dict[str, object] = {"claim": claim.says}
        for column, name in OTHERS.items():
            taus = results.taus.assign(value=results.taus[column])
            row[name] = judged(claim, results.replace(taus=taus)).effect
        rows.append(row)
    table = pd.DataFrame(rows).dropna(subset=[OTHERS["tau"]]).reset_index(drop=True)
    signs = np.sign(table[list(OTHERS.values())].to_numpy(float))
    return table.assign(**{"same sign": np.where((signs == signs[:, :1]).all(1), "yes", "no")})


def losses(variants: Sequence[str], results: Results) -> pd.DataFrame:
    """Tables 2 and 4: τ as trained minus τ in a special setting, paired by training, next to the paper's."""
    frames = []
    for variant in variants:
        found = loss(variant).table(results).assign(variant=variant)
        frames.append(beside.beside(found, NAME, PRINTED[variant]))
    table = pd.concat(frames, ignore_index=True).rename(columns={"a": "τ as trained", "b": "τ there"})
    return named(table)[["dataset", "variant", "τ as trained", "τ there", *ENDS, "paper", *COUNTS[:2]]]


def with_lambda(table: pd.DataFrame) -> pd.DataFrame:
    """With the λ of each corpus, and whose it is."""
    found = [adversary_lambda(dataset) for dataset in table["dataset"]]
    return named(table.assign(λ=[f"{lam:g}" for lam, _ in found], **{"λ from": [told for _, told in found]}))


def gumbel_table(results: Results) -> pd.DataFrame:
    """Table 5: N/M, settings whose τ rises or stays with Gumbel-softmax, by task and attention, and in all.

    `change of τ`: its mean over these settings, paired by training.
    """
    taus = decisive(results.taus)
    pairs = required(gumbel_pairs(taus))
    known = beside.reference(NAME, 5).fillna({"dataset": "all", "attention": "all"})
    paper = known.set_index(["dataset", "attention"])["value"]
    rows = []
    for task, own in [*pairs.groupby("task", sort=False), ("all", pairs)]:
        row = {"task": task}
        for attention, part in [*own.groupby("attention", sort=False), ("all", own)]:
            name = NAMES.get(attention, attention)
            row[name] = f"{int(part['kept'].sum())}/{len(part)}"
            row[f"paper: {name}"] = str(paper.get((task, attention), "–"))
        change = measured.where(lambda f: f[f["variant"] == "none"]).minus("projection", "gumbel", "softmax")
        change = change if task == "all" else change.only(task=task)
        rows.append(row | {"change of τ": change.mean(results).text()})
    return pd.DataFrame(rows).fillna("–")


def sharper(results: Results) -> str:
    """Whether Gumbel-softmax spreads the weights apart."""
    pairs = gumbel_pairs(decisive(results.taus))
    share = (pairs["entropy_gumbel"] < pairs["entropy_softmax"]).mean()
    spread = {side: pairs[f"entropy_{side}"].mean() for side in ("softmax", "gumbel")}
    return (
        f"Attention gets less uniform in **{share:.1%}** of {plural(len(pairs), 'setting')}: mean normalised "
        f"entropy {spread['softmax']:.2f} with softmax, {spread['gumbel']:.2f} with Gumbel-softmax."
    )


def seeds(results: Results) -> pd.DataFrame:
    """Trainings against each other: mean and largest |difference| of τ over pairs of seeds, per cell."""
    rows = []
    for key, part in tau.values(results).groupby(CELL, sort=False):
        if len(part) > 1:
            gaps = pdist(part[["value"]])
            told = {"value": gaps.mean(), "largest": gaps.max(), "pairs": len(gaps), "trainings": len(part)}
            rows.append(dict(zip(CELL, key, strict=True)) | told)
    table = required(pd.DataFrame(rows))
    bounds = effects(gap_values(tau.values(results)), CELL, text=None, bounds=(0.0, 2.0))[[*CELL, "low", "high"]]
    table = table.merge(bounds, on=CELL, how="left").astype({"low": float, "high": float})
    return named(table[[*CELL, *ENDS, "largest", "pairs", "trainings"]])


def over_texts(results: Results) -> str:
    """How far another sample of texts would move a τ."""
    return f"Another sample of texts would move a typical τ by ±{plain(results.taus)['over_texts'].median():.2f}."


def is_adversary(results: Results) -> str:
    """What counts as an adversary, and which corpora have them."""
    return (
        f"Adversaries are those with a mean JSD of {MOVED} at least, a TVD as trained of {CLOSE} at most (a bound "
        f"of ours) and a loss of accuracy below {LOST}. Corpora that have them: "
        f"{', '.join(map(short, adversaries_of(results))) or 'none'}."
    )


def notes(results: Results) -> list[str]:
    """What the summary of a run says besides: corpora that are too small, or have no ablations."""
    taus, params = results.taus, results.params
    thin = taus[taus["thin"]].groupby("dataset", sort=False)["n"].max()
    told = [
        f"**{short(name)} has {plural(int(n), 'test text')}**, fewer than two for each cluster asked for: it is "
        f"measured "
        "with fewer clusters and shown; means, differences, counts and claims leave it out."
        for name, n in thin.items()
    ]
    ablated = set(taus.loc[taus["variant"] == "fix_attention", "dataset"])
    bare = [name for name in params.all_corpora if params.ablation_seeds and name not in ablated]
    return told + [
        f"**No ablations for {short(name)}:** {BEST} attention is not among its models." for name in bare
    ]


DISTANCES = {
    "accuracy of base": ("right_base", "", 1.0),
    "accuracy": ("right_adversary", "accuracy", 1.0),
    "TVD as trained": ("tvd_trained", "tvd", 1.0),
    "TVD": ("tvd", "", 1.0),
    "JSD": ("jsd", "jsd", float(np.log(2))),
}
"""Columns of Table 3: ours, the paper's name, the largest value. TVD is half the sum of |Δp| over the classes, |Δp|
where there are two. The code that the paper's λ come from has one output for two classes and halves its |Δp|; the
paper's own code is not released, so its TVD is shown next to that half."""
BY_TEXT = {
    name: Quantity("apart", column, bounds=(0, most), printed=(NAME, 3, metric) if metric else None)
    for name, (column, metric, most) in DISTANCES.items()
}
ABLATIONS = ("fix_attention", "fix_representation")
DELTA = "value is Δτ = τ as trained − τ in the special setting, paired by training, with its 95% interval"
TABLES = [
    Table("table1_accuracy", {"accuracy": right.of(printed=(NAME, 1, "accuracy"))}, "After the "
          "paper's Table 1: accuracy of BiLSTM with additive attention, with 95% intervals over "
          "trainings and texts.", ["dataset"], shown=named),
    Table("choices", choices, "k and N as chosen, ranges over trainings; occupied clusters: over "
          "trainings and ranks.", shown=named, says=uneven),
    Table("averages", averages, "The averages of section 5 in numbers. Rows of one encoder are "
          "over the corpora measured with all of them; the paper's are over eleven.",
          otherwise="No model learned anything, so there is no τ to compare."),
    Table("tau_by_cell", {"τ": tau, "± over texts": (tau.of(value="over_texts"), "mean"), "entropy":
          (tau.of(value="entropy"), "mean"), "accuracy": (tau.of(value="accuracy"), "mean")},
          "After the paper's Figure 2, in numbers: τ of the models that learned something, with "
          "its interval over trainings; how far another sample of texts would move a τ; entropy of "
          "attention and accuracy.", CELL, shown=named),
    Table("estimators", by_estimate, "Mean τ by attention under five estimates. Agreement: Kendall "
          "τ-b over models with the first row."),
    Table("claims_by_estimate", claims_by_estimate, "The effects of the claims on the level or "
          "order of τ by other estimates of information. Verdicts rest on the paper's.",
          otherwise="No claim on the level or order of τ is tested in this run."),
    Table("ablations", partial(losses, ABLATIONS), f"After the paper's Table 2: {DELTA}.",
          otherwise="This run has no ablations to compare."),
    Table("table3_adversaries", BY_TEXT, "After the paper's Table 3: our adversaries next to the "
          "paper's; means with 95% intervals over trainings and the test texts that τ is measured "
          "on. TVD as trained: halved with two classes.", ["dataset"], shown=with_lambda,
          says=is_adversary, otherwise="This run has no adversaries."),
    Table("adversaries", partial(losses, ["adversary_unfrozen"]), f"After the paper's Table 4: "
          f"{DELTA}.", otherwise="This run has no adversaries to compare."),
    Table("gumbel", gumbel_table, f"After the paper's Table 5: N of M settings whose τ does not "
          f"fall (by {SAME} or more); all: what the paper calls averages, as printed (its Dot "
          f"column adds up to 26, not 25). Change of τ: paired by training.", says=sharper,
          otherwise="This run has no Gumbel models to compare."),
    Table("seeds", seeds, "Absolute differences of τ between two trainings of one setting: mean "
          "with its 95% interval (three trainings at least), and the largest.", says=over_texts,
          otherwise="No setting has two trainings to compare."),
]  # fmt: skip

# claims ---------------------------------------------------------------------------------------------


def average(*attentions: str) -> Callable[[Results], Printed]:
    """The paper's mean τ of an attention, or the first minus the second."""
    means = [beside.printed(NAME, "text", metric="weighted_kendall_mean_all", attention=a) for a in attentions]
    return lambda _: Printed(means[0] - sum(means[1:]), "section 5, means over its corpora and encoders")


def printed_loss(variant: str, results: Results) -> Printed:
    """The paper's loss for the same or closest corpora; its mean for a corpus that is close to none of its own."""
    datasets = loss(variant).values(true_adversaries(results))["dataset"].unique()
    value = partial(beside.printed, NAME, PRINTED[variant], variant=variant)
    values, names = zip(*(beside.nearest(value, dataset) for dataset in datasets), strict=True)
    return Printed(float(np.mean(values)), f"Table {PRINTED[variant]}, {', '.join(dict.fromkeys(names))}")


def counted(_: Results) -> Printed:
    """The share of the paper's Table 5."""
    rows = beside.reference(NAME, 5)
    total = rows.loc[rows["dataset"].isna() & rows["attention"].isna(), "value"].item()
    return Printed(float(Fraction(total)), f"Table 5, {total.replace('/', ' of ')} settings")


def follows(better: str, worse: str) -> Claim:
    """A claim that one attention follows information better than another."""
    return Claim(
        f"{NAMES[better]} attention follows information better than {worse} attention", "section 5, averages",
        "difference of mean τ over the corpora and encoders that have both", partial(widened, above(better, worse)),
        paper=average(better, worse), unit="τ", figure="tau_averages",
    )  # fmt: skip


def keeps(variant: str, says: str, where: str, test: str, figure: str) -> Claim:
    """A claim that τ does not drop, where there is a τ above 0 to keep."""
    there = special(variant).only(variant=variant)
    return Claim(
        says, where, test, partial(widened, loss(variant)), "less", KEPT, partial(printed_loss, variant), "τ",
        figure, also=partial(widened, there),
    )  # fmt: skip


LOSES = "τ as trained minus that τ, paired by training, mean over corpora"
CLAIMS = [
    Claim("The more attention a state receives, the more it tells about the output (additive "
          "attention)", "section 5, Figure 2", "mean weighted τ over corpora, encoders and "
          "trainings", partial(widened, additive), paper=average("additive"), unit="τ",
          figure="tau_averages"),
    follows("additive", "dot"),
    follows("deep", "dot"),
    Claim("BiLSTM with additive attention has the highest τ most of the time", "section 5, Figure "
          "2", "the share of rounds in which no other is above it at the paper's two digits, on "
          "these corpora and texts, by its exact binomial interval; a round is one training of "
          "every encoder with every attention on a corpus that has them all", best, border=0.5,
          figure="figure2_tau"),
    Claim("With attention fixed at random, τ drops: the encoder does not bring information to the "
          "weights", "section 5.1, Table 2, Fix Attn", "τ as trained minus τ with frozen "
          "attention, paired by training, mean over corpora", partial(widened, loss(
          "fix_attention")), paper=partial(printed_loss, "fix_attention"), unit="τ",
          figure="ablations"),
    keeps("fix_representation", "With the representation fixed and attention learned again, τ does "
          "not drop", "section 5.1, Table 2, Fix Rep", f"mean τ with frozen embedding and encoder "
          f"is above 0, and {LOSES}", "ablations"),
    keeps("adversary_unfrozen", "Adversarial attention still follows information", "section 5.2, "
          "Table 4", f"over the corpora whose adversaries moved their attention (mean JSD {MOVED} "
          f"at least), stayed close in their outputs (mean TVD, halved with two classes, at most "
          f"{CLOSE}, a bound of ours) and kept their accuracy (mean loss below {LOST}): mean τ of "
          f"the adversaries is above 0, and {LOSES}", "adversaries"),
    Claim("Gumbel-softmax raises τ, or leaves it, in most settings", "section 5.3, Table 5",
          "the share of settings (corpus, encoder, attention) whose mean τ does not fall, on these "
          "corpora and texts, by its exact binomial interval; settings of one corpus are not "
          "independent, so that the interval is rather too narrow", gumbel_keeps, border=0.5,
          paper=counted, figure="gumbel"),
    Claim("Models with more uniform attention follow information less", "section 5.3",
          f"Kendall τ-b of τ with the mean normalised entropy of attention over the models of a "
          f"corpus, mean over the corpora with {LEAST_ORDERED} settings (encoder, attention) at "
          f"least; settings are what is drawn", uniform, "less", figure="uniformity"),
    Claim("τ of BiLSTM with additive attention hardly depends on the seed", "section 5",
          "mean absolute difference of τ between two trainings, mean over corpora", between_seeds,
          "less", BETWEEN_SEEDS, lambda results: beside.quoted(results, NAME,
          "weighted_kendall_between_seeds_mean", "section 5, mean over seeds"), "τ", "seeds"),
    follows("additive", "deep"),
    Claim("τ is lower for questions and inference than for classification", "section 5, Figure 2",
          "mean τ of the corpora to classify minus that of the corpora with a query, over the "
          "settings (encoder, attention) that both have; corpora are what is drawn, two of each "
          "kind at least", queries, unit="τ", figure="figure2_tau"),
]  # fmt: skip


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""
    words = {"reproduced": "Yes", "not reproduced": "No", "undetermined": "Not settled", "not tested": "Not tested"}
    sizes = {"smaller": ", and less than in the paper", "larger": ", and more than in the paper"}
    reply = {n: words[c.verdict] + sizes.get(c.size, "") for n, c in claims.items()}
    paper = {n: f" (paper: {c.paper_effect:.2f})" if c.paper_where else "" for n, c in claims.items()}
    ours = {n: c.text() + paper[n] for n, c in claims.items()}
    return [
        f"**Do hidden states that receive more attention tell more about the model's output?** {reply[1]}: with "
        f"additive "
        f"attention, the rank correlation τ is {ours[1]}, where 1 means always and 0 no relation. Brackets hold "
        f"95% "
        "intervals.",
        f"**Does additive attention do so better than dot attention?** {reply[2]}: the difference of τ is "
        f"{ours[2]}. **And better than deep attention?** {reply[11]}: the difference is {ours[11]}.",
        f"**Is it attention that learns this, and not the encoder?** {reply[5]}: with attention fixed at random, τ "
        f"falls by {ours[5]}. With attention learned again on fixed states, it falls by {ours[6]}.",
        f"**Does Gumbel-softmax keep or raise τ in most settings?** {reply[8]}: the share is {ours[8]}. **Does τ "
        f"hardly depend on the seed?** {reply[10]}: two trainings differ by {ours[10]}.",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    taus, ranks = results.taus, results.ranks
    expected = sum(run.task.endswith(":by_rank") for run in grid(params))
    by_model = ranks.groupby(MODEL)
    sizes, ks = by_model.size().sort_index(), taus.set_index(MODEL)["k"].sort_index()
    return {
        "every model of the grid was measured": len(taus) == expected and not len(results.grid.failures),
        "tau lies between −1 and 1": bool(taus["tau"].dropna().between(-1, 1).all()),
        "mean attention falls with the rank": all(own["alpha"].diff().max() <= 0.02 for _, own in by_model),
        "information is not negative": bool((ranks["information"] >= 0).all()),
        "a model has as many ranks as its k": bool((sizes == ks).all()),
        "the entropy of attention lies between 0 and 1": bool(taus["entropy"].dropna().between(0, 1).all()),
    }
