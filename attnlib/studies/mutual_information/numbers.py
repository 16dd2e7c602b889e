"""Attention and information (Wen et al. 2022): every number of the study, its tables and its claims.

A τ is one number per model, so its intervals are over trainings, nested in cells (corpus, encoder, attention). Of
claims they are widened by `over_texts`, what another sample of texts would do to a single τ. Claims 8 and 9 draw
settings, claim 12 corpora. Models that learned nothing, or were measured on too few texts, decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from attnlib import stats
from attnlib.stats.inference import Effect, contrast, effect, exact_share
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies import beside
from attnlib.studies.beside import Printed
from attnlib.studies.datasets import short
from attnlib.studies.ledger import Claim, Judged
from attnlib.studies.mutual_information.grid import CELL, MAIN, MODEL, NAME, adversary_lambda, grid
from attnlib.studies.mutual_information.params import Params
from attnlib.studies.quantity import NotTested, Quantity, Table, required
from attnlib.studies.results import NOTHING, Results

NAMES = {
    "lstm": "BiLSTM", "cnn": "CNN", "mlp": "MLP", "additive": "Additive", "deep": "Deep", "dot": "Dot",
    "fix_attention": "Fix Attn", "fix_representation": "Fix Rep", "adversary_unfrozen": "adversary",
}  # fmt: skip
"""How tables name things."""
SAME = 0.005  # a change of τ below this vanishes at the two digits that the paper prints
KEPT = 0.1  # a loss of τ below this is none: the largest that the paper still calls so is 0.09 (Table 4)
BETWEEN_SEEDS = 0.05  # the largest difference between seeds that the paper reports
MOVED, CLOSE, LOST = 0.19, 0.1, 0.03
"""An adversary moved attention by this mean JSD (the paper's lowest is 0.194), stayed within this mean TVD (a bound
of ours; the paper's largest is 0.037) and lost less accuracy than this (the paper's largest is 0.02): Table 3."""
LEAST_ORDERED = 5  # settings that a rank correlation needs: chance puts four in perfect order once in twelve
PRINTED = {"fix_attention": 2, "fix_representation": 2, "adversary_unfrozen": 4}
"""Where the paper prints what τ loses in a special setting."""


def decisive(taus: pd.DataFrame) -> pd.DataFrame:
    """The models that learned something, on texts enough: what all effects are taken over."""
    if len(taus) and taus["thin"].all():
        raise NotTested("Every corpus of this run has too few test texts for the numbers of clusters asked for.")
    return required(taus[~(taus["idle"] | taus["thin"])], NOTHING)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The softmax models as trained: the grid of Figure 2."""
    return frame[(frame["variant"] == "none") & (frame["projection"] == "softmax")]


def shared(columns: Sequence[str], frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of corpora that have every setting of `columns`: means compare like with like."""
    settings = frame[["dataset", *columns]].drop_duplicates()
    every = len(settings[list(columns)].drop_duplicates())
    counts = settings.groupby("dataset").size()
    return frame[frame["dataset"].isin(counts.index[counts == every])]


def pairs_with(variant: str, taus: pd.DataFrame) -> pd.DataFrame:
    """Softmax models as trained and in a special setting, where a corpus and training has both."""
    part = taus[(taus["projection"] == "softmax") & taus["variant"].isin(["none", variant])]
    return part.dropna(subset=["value"]).groupby(["dataset", "seed"], sort=False).filter(lambda own: len(own) == 2)


def gap_values(taus: pd.DataFrame) -> pd.DataFrame:
    """The mean |Δτ| of two trainings of a cell, a mean over pairs, as one number per training."""
    several = taus.dropna(subset=["value"]).groupby(CELL, sort=False).filter(lambda own: len(own) > 2)
    return pseudovalues(several, lambda own: pdist(own[["value"]]).mean(), CELL, text="seed").drop(columns="point")


OF_MAIN = dict(zip(CELL[1:], MAIN, strict=True))
measured = Quantity("taus", rows=decisive, model=tuple(CELL), bounds=(-1, 1), unit="τ", text=None)
tau = measured.where(plain)
right = Quantity("labels", lambda f: f["truth"] == f["prediction"], plain, ("dataset",)).only(**OF_MAIN)
between_seeds = tau.only(**OF_MAIN).where(gap_values).of(bounds=(0, 2))


def special(variant: str) -> Quantity:
    """τ of BiLSTM with additive attention as trained and in a special setting, where there are both."""
    why = f"No corpus has this model as trained and as {NAMES[variant]}, or its adversaries are none (Table 3)."
    return measured.only(**OF_MAIN).where(partial(pairs_with, variant)).of(model=("dataset",), why=why)


def loss(variant: str) -> Quantity:
    """τ as trained minus τ in a special setting, paired by training, next to the paper's."""
    printed = (NAME, PRINTED[variant], {"variant": variant})
    return special(variant).minus("variant", "none", variant, printed=printed)


def widened(quantity: Quantity, results: Results) -> Effect:
    """The mean, its interval widened by what another sample of texts would do, from the errors of single τ.

    All models of a corpus read the same texts, so their errors do not average out; those of two sides are added.
    """
    results = true_adversaries(results)
    found, rows = quantity.mean(results), quantity.values(results)
    column, *sides = quantity.sides or ("", None)
    variance, texts = 0.0, 0
    for side in sides:
        part = rows if side is None else rows[rows[column] == side]
        errors = part.groupby("dataset")["over_texts"].mean() / 1.96  # it is so many standard errors wide
        variance += float((errors**2).sum()) / len(errors) ** 2
        texts = max(texts, int(part.groupby("dataset")["n"].max().sum()))
    return found.widened(variance, texts, (-1, 1) if quantity.sides is None else (-2, 2))


def true_adversaries(results: Results) -> Results:
    """The results without the adversaries of corpora where they are none, on average (`MOVED`)."""
    taus, texts = results.taus, results.apart
    others = taus["variant"] != "adversary_unfrozen"
    if not texts.empty:
        means = texts.groupby("dataset")[["jsd", "tvd_trained", "right_base", "right_adversary"]].mean()
        lost = means["right_base"] - means["right_adversary"]
        true = means[(means["jsd"] >= MOVED) & (means["tvd_trained"] <= CLOSE) & (lost < LOST)]
        others |= taus["dataset"].isin(true.index)
    return results.replace(taus=taus[others])


def best(results: Results) -> Effect:
    """The share of rounds (a training of every setting of the run) in which no rival is above `MAIN` by `SAME`."""
    part = shared(CELL[1:], tau.values(results))
    rounds = part.pivot_table(index=["dataset", "seed"], columns=CELL[1:], values="value").dropna()
    if MAIN not in rounds or rounds.shape[1] < LEAST_ORDERED or rounds.empty:
        raise NotTested(f"No corpus has that model and {LEAST_ORDERED - 1} rivals at least.")
    wins = rounds[MAIN] > rounds.drop(columns=[MAIN]).max(axis=1) - SAME
    return exact_share(int(wins.sum()), len(wins))


def gumbel_pairs(results: Results) -> pd.DataFrame:
    """τ of settings with softmax and with Gumbel-softmax, over the same trainings; `kept`: not lower."""
    part = measured.only(variant="none").values(results)
    keys = ["task", *CELL]
    wide = part.pivot_table(index=[*keys, "seed"], columns="projection", values="value", sort=False)
    wide = required(wide.reindex(columns=["softmax", "gumbel"]).dropna(), "No model has a Gumbel-softmax twin.")
    mean = wide.groupby(level=keys, sort=False).mean().reset_index()
    return mean.assign(kept=mean["gumbel"] - mean["softmax"] > -SAME)


def uniform(results: Results) -> Effect:
    """Kendall τ-b of τ with the entropy of attention, mean over corpora; the jackknife leaves out a setting."""

    def agreement(settings: pd.DataFrame) -> float:
        return stats.kendall_tau(*np.vstack(settings["models"].to_list()).T)

    groups = tau.values(results).dropna(subset=["entropy"]).groupby(CELL, sort=False)[["value", "entropy"]]
    rows = [(dataset, f"{encoder}, {attention}", own.to_numpy()) for (dataset, encoder, attention), own in groups]
    settings = pd.DataFrame(rows, columns=["dataset", "setting", "models"])
    settings = settings.groupby("dataset", sort=False).filter(lambda own: len(own) >= LEAST_ORDERED)
    required(settings, f"No corpus has {LEAST_ORDERED} settings (encoder, attention) to correlate over.")
    values = pseudovalues(settings, agreement, ["dataset"], text="setting")
    found = effect(values, ["dataset"], training=None, text="setting", bounds=(-1.0, 1.0))
    return replace(found, trainings=found.texts, texts=0, from_trainings=found.from_texts, from_texts=0.0)


def queries(results: Results) -> Effect:
    """Corpora to classify minus corpora with a query, over the settings that both kinds have."""
    part = tau.values(results)
    part = part.assign(kind=np.where(part["task"] == "classification", "classification", "query"))
    wide = part.pivot_table(index=CELL[1:], columns=["kind", "dataset"], values="value")
    both = wide.notna().T.groupby(level="kind").any().all()
    means = wide[both].mean().dropna().rename("value").reset_index()
    if means["kind"].value_counts().reindex(["classification", "query"], fill_value=0).min() < 2:
        raise NotTested("It compares corpora, and needs two to classify and two with a query, with models alike.")
    sides = ("kind", "classification", "query")
    return contrast(means, *sides, paired=False, training="dataset", text=None, bounds=(-2.0, 2.0))


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Encoders, attentions and variants as readers know them; files by their stem."""
    frame = frame.assign(dataset=frame["dataset"].map(short)) if "dataset" in frame else frame
    return beside.named(frame, NAMES)


def gumbel_table(results: Results) -> pd.DataFrame:
    """Table 5 by task and attention: settings whose τ rises or stays with Gumbel-softmax, of how many."""
    groups = gumbel_pairs(results).groupby(["task", "attention"], sort=False)["kept"]
    theirs = beside.reference(NAME, 5).rename(columns={"dataset": "task", "value": "paper"})
    found = groups.agg(kept="sum", settings="size").reset_index()
    return named(found.merge(theirs[["task", "attention", "paper"]], how="left"))


def losses(*variants: str) -> dict[str, Quantity]:
    """The columns of Tables 2 and 4."""
    there = {f"τ, {NAMES[v]}": special(v).only(variant=v) for v in variants}
    return there | {f"Δτ, {NAMES[v]}": loss(v) for v in variants}


def mean_tau(*keys: str, **printed: Any) -> Table:
    """The averages of section 5, next to the paper's: over the corpora that have all rows of the table."""
    quantity = tau.where(partial(shared, keys)).of(printed=(NAME, "text", printed))
    caption = "After section 5 of the paper: mean τ, with 95% intervals, on the corpora that have all rows."
    return Table(f"tau_by_{keys[0]}", {"τ": quantity}, caption, keys, cells=CELL, shown=named)


DISTANCES = {
    "accuracy of base": Quantity("apart", "right_base"),
    "accuracy": Quantity("apart", "right_adversary", printed=(NAME, 3, "accuracy")),
    "TVD": Quantity("apart", "tvd_trained", printed=(NAME, 3, "tvd")),
    "JSD": Quantity("apart", "jsd", bounds=(0, float(np.log(2))), printed=(NAME, 3, "jsd")),
}
"""Columns of Table 3. As in the code that the λ come from, TVD is halved with two classes."""
DELTA = "τ in the special setting, and Δτ = τ as trained − that τ, paired by training, with 95% intervals"
TABLES = [
    Table("table1_accuracy", {"accuracy": right.of(printed=(NAME, 1, "accuracy"))},
          "After the paper's Table 1: accuracy of BiLSTM with additive attention, with 95% intervals "
          "over trainings and texts.", ["dataset"], shown=named),
    mean_tau("attention", metric="weighted_kendall_mean_all", encoder=None),
    mean_tau("encoder", "attention", metric="weighted_kendall_mean"),
    Table("ablations", losses("fix_attention", "fix_representation"),
          f"After the paper's Table 2: {DELTA}.", ["dataset"], shown=named,
          otherwise="This run has no ablations to compare."),
    Table("table3_adversaries", DISTANCES, "After the paper's Table 3: adversaries, with 95% "
          f"intervals. The claim counts those with a mean JSD of {MOVED} at least, a TVD (halved "
          f"with two classes) of {CLOSE} at most (a bound of ours) and a loss of accuracy below {LOST}.",
          ["dataset"], otherwise="This run has no adversaries.", shown=lambda rows:
          named(rows.assign(λ=rows["dataset"].map(adversary_lambda).map("{:g}".format)))),
    Table("adversaries", losses("adversary_unfrozen"), f"After the paper's Table 4: {DELTA}.",
          ["dataset"], shown=named, otherwise="This run has no adversaries to compare."),
    Table("gumbel", gumbel_table, f"After the paper's Table 5: settings (corpus, encoder, "
          f"attention) whose τ does not fall (by {SAME} or more) with Gumbel-softmax; the paper: "
          "85 of 99 in all.", otherwise="This run has no Gumbel models to compare."),
]  # fmt: skip


def average(*attentions: str) -> Callable[[Results], Printed]:
    """The paper's mean τ of an attention, or the first minus the second."""
    means = [beside.printed(NAME, "text", metric="weighted_kendall_mean_all", attention=a) for a in attentions]
    return lambda _: Printed(means[0] - sum(means[1:]), "section 5, means over its corpora and encoders")


def printed_loss(variant: str, results: Results) -> Printed:
    """The paper's loss for the same or closest corpora; its mean where none is close."""
    datasets = loss(variant).values(true_adversaries(results))["dataset"].unique()
    value = partial(beside.printed, NAME, PRINTED[variant], variant=variant)
    values, names = zip(*(beside.nearest(value, dataset) for dataset in datasets), strict=True)
    return Printed(float(np.mean(values)), f"Table {PRINTED[variant]}, {', '.join(dict.fromkeys(names))}")


def follows(better: str, worse: str) -> Claim:
    """A claim that one attention follows information better than another, where a corpus and encoder has both."""
    sides = tau.only(attention=[better, worse]).where(partial(shared, ["attention"]))
    above = sides.of(model=("dataset", "encoder"), paired=False).minus("attention", better, worse)
    return Claim(
        f"{NAMES[better]} attention follows information better than {worse} attention", "section 5, averages",
        "difference of mean τ over the corpora and encoders that have both", partial(widened, above),
        paper=average(better, worse), unit="τ", figure="tau_by_attention",
    )  # fmt: skip


def drops(variant: str, says: str, where: str, table: str, **kept: object) -> Claim:
    """A claim on what τ loses in a special setting; `kept`: nothing, where there is a τ above 0 to keep."""
    test = "τ as trained minus that τ, paired by training, mean over corpora"
    if kept:
        kept["also"] = partial(widened, special(variant).only(variant=variant))
        test = f"mean τ there is above 0, and {test}"
    paper = partial(printed_loss, variant)
    return Claim(says, where, test, partial(widened, loss(variant)), paper=paper, unit="τ", figure=table, **kept)


CLAIMS = [
    Claim("The more attention a state receives, the more it tells about the output (additive "
          "attention)", "section 5, Figure 2", "mean weighted τ over corpora, encoders and trainings",
          partial(widened, tau.only(attention="additive")), paper=average("additive"), unit="τ",
          figure="tau_by_attention"),
    follows("additive", "dot"),
    follows("deep", "dot"),
    Claim("BiLSTM with additive attention has the highest τ most of the time",
          "section 5, Figure 2", "share of rounds (a training of every encoder with every attention on a corpus) "
          "in which no other is above it at the paper's two digits", best, border=0.5, figure="figure2_tau"),
    drops("fix_attention", "With attention fixed at random, τ drops: the encoder does not bring "
          "information to the weights", "section 5.1, Table 2, Fix Attn", "ablations"),
    drops("fix_representation", "With the representation fixed and attention learned again, τ does "
          "not drop", "section 5.1, Table 2, Fix Rep", "ablations", direction="less", border=KEPT),
    drops("adversary_unfrozen", "Adversarial attention still follows information",
          "section 5.2, Table 4", "adversaries", direction="less", border=KEPT),
    Claim("Gumbel-softmax raises τ, or leaves it, in most settings", "section 5.3, Table 5",
          "share of settings (corpus, encoder, attention) whose mean τ does not fall; those of one "
          "corpus are not independent, so that the interval is rather too narrow",
          lambda results: exact_share(*gumbel_pairs(results)["kept"].agg(["sum", "size"]).astype(int)),
          border=0.5, paper=lambda _: Printed(85 / 99, "Table 5, 85 of 99 settings"), figure="gumbel"),
    Claim("Models with more uniform attention follow information less", "section 5.3",
          f"Kendall τ-b of τ with the mean normalised entropy of attention over the models of a "
          f"corpus with {LEAST_ORDERED} settings at least, mean over corpora", uniform, "less",
          figure="uniformity"),
    Claim("τ of BiLSTM with additive attention hardly depends on the seed", "section 5",
          "mean absolute difference of τ between two trainings, mean over corpora", between_seeds,
          "less", BETWEEN_SEEDS, partial(beside.quoted, study=NAME,
          metric="weighted_kendall_between_seeds_mean", where="section 5, mean over seeds"), "τ", "figure2_tau"),
    follows("additive", "deep"),
    Claim("τ is lower for questions and inference than for classification", "section 5, Figure 2",
          "mean τ of the corpora to classify minus that of the corpora with a query, over the "
          "settings (encoder, attention) that both have", queries, unit="τ", figure="figure2_tau"),
]  # fmt: skip


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""
    words = {"reproduced": "Yes", "not reproduced": "No", "undetermined": "Not settled", "not tested": "Not tested"}
    reply = {n: words[claim.verdict] for n, claim in claims.items()}
    ours = {n: claim.text() + claim.against(digits=2) for n, claim in claims.items()}
    return [
        f"**Do states that receive more attention tell more about the output?** {reply[1]}: the "
        f"rank correlation τ of additive attention with information is {ours[1]} (1: always, 0: no "
        "relation; 95% intervals).",
        f"**Does additive attention do so better than dot attention?** {reply[2]}: τ differs by {ours[2]}.",
        f"**Is it attention that learns this, and not the encoder?** {reply[5]}: with attention "
        f"fixed at random, τ falls by {ours[5]}.",
        f"**Does Gumbel-softmax keep or raise τ in most settings?** {reply[8]}: in a share of {ours[8]}.",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    taus, by_model = results.taus, results.ranks.groupby(MODEL)
    expected = sum(run.task.endswith(":by_rank") for run in grid(params))
    return {
        "every model of the grid was measured": len(taus) == expected and not len(results.grid.failures),
        "tau lies between −1 and 1": bool(taus["tau"].dropna().between(-1, 1).all()),
        "mean attention falls with the rank": all(own["alpha"].diff().max() <= 0.02 for _, own in by_model),
        "information is not negative": bool((results.ranks["information"] >= 0).all()),
    }
