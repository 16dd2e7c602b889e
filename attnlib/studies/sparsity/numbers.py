"""Sparse attention (Meister et al. 2021): every number of the study, its tables and its claims.

Most claims speak of every encoder and corpus: one case each, and a single failure refutes the claim. A trend along
λ has an interval over seeds: the places on the path are chosen, and each seed trains the whole path once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attnlib.measures.agreement import STATUSES
from attnlib.stats.inference import NAN, Effect, effect, interval_texts
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies.beside import Printed, nearest, printed
from attnlib.studies.beside import named as spelled
from attnlib.studies.datasets import short
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged
from attnlib.studies.quantity import Quantity, Table, required
from attnlib.studies.results import Results
from attnlib.studies.sparsity.grid import KEYS
from attnlib.studies.sparsity.params import PAIR, Params, models

STUDY = "sparsity"
CELL = ("dataset", "encoder")
MODEL = (*CELL, "projection")
TAU = (-1.0, 1.0)
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
KINDS = {"gradient": "gradient", "leave_one_out": "leave-one-out"}
SPREAD = "entropy_grad_fi_of_hidden"
DUEL = ("dataset", "encoder", "projection", "variant", "push")
"""The columns that tell adversaries apart."""
FAR = 0.35
"""Distance (JSD, nats) from which attention counts as moved: half of ln 2, the most there is. An adversary that
stays nearer shows nothing about the price of moving."""
HIGH = 0.45
"""A high entropy: just below the lowest mean that the paper prints and calls high, 0.46."""
HALF = 0.5
"""From here on a state would owe more to its own word than to all others together."""
MARGIN = 0.05
"""A change of normalised entropy below this is no change."""
LOSS = AS_ACCURATE / 100
"""A loss of accuracy up to this is none; it is also the largest that the paper prints for an unfrozen adversary."""
MOVED = 0.1
"""Share of influence (total variation) that may lie on other words where two measures of it "tell the same": a
tenth, so that a word's share is off by a fifth of itself on average. Entropy alone cannot tell: it stays equal when
the same shares go to other words."""

# rows -----------------------------------------------------------------------------------------------


def pair(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the softmax and sparsemax models, those of the paper's Tables 1 and 6."""
    return frame[frame["projection"].isin(PAIR)]


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a column `model`: `softmax`, `entmax 1.5`, `sparsegen −10`, `sparsemax`."""
    places = frame[["projection", "lam", "alpha"]].drop_duplicates()
    options = {"sparsegen": places["lam"], "entmax": places["alpha"]}
    places["model"] = [
        f"{name} {options[name][k]:g}".replace("-", "−") if name in options else name
        for k, name in places["projection"].items()
    ]
    return frame.merge(places, on=["projection", "lam", "alpha"], how="left")


def states(column: str, hidden: pd.DataFrame) -> pd.DataFrame:
    """Means over hidden states, as one number per text: what `effect` takes.

    A text has as many states as words, and the mean of a model is that over all states of all texts, a ratio of two
    sums over texts: `value` is the jackknife's pseudovalue of a text, `point` the mean of the training.
    """
    model = [c for c in (*KEYS, "metric", "seed") if c in hidden]
    texts = hidden.groupby([*model, "instance"], sort=False, dropna=False)[column]
    sums = texts.agg(total="sum", states="count").reset_index()

    def mean(part: pd.DataFrame) -> float:
        return part["total"].sum() / part["states"].sum()

    def without_each(part: pd.DataFrame) -> np.ndarray:
        rest = (part["states"].sum() - part["states"]).to_numpy(float)
        return (part["total"].sum() - part["total"]).to_numpy() / np.where(rest > 0, rest, np.nan)

    return pseudovalues(required(sums[sums["states"] > 0]), mean, model, without_each=without_each)


def on_path(frame: pd.DataFrame, x: str = "lam") -> pd.DataFrame:
    """Rows of the models on a path, of the seeds that trained all of it.

    Softmax and sparsemax may have further seeds; a path is compared within a seed. Where no seed has it all, every
    row stays: there is no trend then.
    """
    path = frame[frame[x].notna()]
    cell = list(CELL)
    places = path.groupby(cell)[x].transform("nunique")
    whole = path.groupby([*cell, "seed"])[x].transform("nunique") == places
    none = ~whole.groupby([path[c] for c in cell]).transform("any")
    return path[whole | none]


def both_ways(facets: pd.DataFrame) -> pd.DataFrame:
    """The two ways of Appendix A against each other: `apart`, their total variation, and `gap`, of entropies.

    Neither where a text has one word or no input moves the state: there is nothing to spread, and they agree for
    nothing.
    """
    gap = facets["of_norm"] - facets["of_facets"]
    return facets.assign(apart=facets["distance"].where(gap.notna()), gap=gap)


# numbers --------------------------------------------------------------------------------------------


def case(key: tuple) -> str:
    """The name of a case: `rotten_tomatoes, BiLSTM, softmax`."""
    return ", ".join(NAMES.get(str(part), short(str(part))) for part in key)


correct = Quantity("labels", rows=labelled, named=case, printed=(STUDY, 3, "accuracy"))
entropies = Quantity("entropies", named=case)
share, entropy = (entropies.only(metric=m) for m in ("support_share", "entropy_attention"))
importance = {kind: entropies.only(metric=f"entropy_{kind}_input") for kind in KINDS}
agreement = Quantity("agreement", named=case, bounds=TAU, unit="τ-b", printed=(STUDY, 6, "kendall_tau_attention"))
follows = {kind: agreement.only(importance=f"{kind}_input") for kind in KINDS}
hidden = Quantity("hidden", rows=partial(states, "value"), model=MODEL, named=case)
spread = hidden.of(rows=lambda f: states("value", pair(f)), printed=(STUDY, 1, SPREAD))
own_word = hidden.of(rows=lambda f: states("own", pair(f)))
apart = Quantity("facets", rows=lambda f: states("apart", both_ways(required(f))), named=case)
gap = apart.of(rows=lambda f: states("gap", both_ways(required(f))), bounds=TAU)
duels = Quantity("adversaries", "change", model=DUEL, bounds=TAU, named=case)


def above_inputs(kind: str) -> Quantity:
    """Agreement with hidden states minus that with inputs, paired by text within a model."""
    return agreement.where(pair).of(model=MODEL).minus("importance", f"{kind}_hidden", f"{kind}_input")


def sparsemax_minus(quantity: Quantity) -> Quantity:
    """What sparsemax changes against softmax, paired by text and seed."""
    return quantity.where(pair).of(printed=None).minus("projection", "sparsemax", "softmax")


def ordered(values: np.ndarray) -> np.ndarray:
    """τ-b of the last axis with its places, strictly ascending; NaN where one is missing or all are equal."""
    first, second = np.triu_indices(values.shape[-1], 1)
    sign = np.sign(values[..., second] - values[..., first])
    untied = (sign != 0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = sign.sum(-1) / np.sqrt(len(first) * untied)
    return np.where(np.isnan(values).any(-1) | (untied == 0), np.nan, tau)


def path_means(part: pd.DataFrame, x: str = "lam") -> pd.DataFrame:
    """Mean `value` of every model on a path: seeds in rows, places in columns, softest first."""
    texts = part.groupby(["seed", x, "instance"])["value"].mean().reset_index()
    return texts.pivot_table(index="seed", columns=x, values="value", dropna=False)


def trend(part: pd.DataFrame, x: str = "lam") -> Effect:
    """Kendall τ-b between `x` and the mean `value` of a seed's models, averaged over seeds; rows of one cell.

    The places on the path are chosen, not drawn; what chance decides is each model of it. A seed trains the whole
    path once, so seeds are the independent repetitions, and the interval is over them. Texts are the same for all
    models and enter through the means (of hidden states: means within each text first). Models that are all alike
    have no order, and a τ of 0; without a value at some place there is no trend.
    """
    means = path_means(part, x)
    if means.isna().any(axis=None):
        return Effect(NAN)
    values = pd.DataFrame({"seed": means.index, "value": np.nan_to_num(ordered(means.to_numpy(float)))})
    found = effect(values, text=None, bounds=TAU)
    return replace(found, n=means.size, texts=part["instance"].nunique())


ALONG = {
    "support": (share, "share of words with weight"),
    "hidden": (Quantity("hidden").only(metric=SPREAD), "entropy of the influence on hidden states"),
    "entropy_gradient": (importance["gradient"], "entropy of gradient importance"),
    "gradient": (follows["gradient"], "agreement with gradient importance"),
    "leave_one_out": (follows["leave_one_out"], "agreement with leave-one-out importance"),
}
"""What is followed along λ, and how readers call it."""


def paths(name: str, results: Results) -> list[tuple[tuple, pd.DataFrame]]:
    """The rows of the models on the path by corpus and encoder; a missing value is kept, since it breaks the "
    "trend."""
    quantity = ALONG[name][0]
    rows = quantity.rows(required(getattr(results, quantity.frame), quantity.why))
    return list(on_path(required(rows, quantity.why)).groupby(list(CELL), sort=False))


def along(name: str, results: Results) -> dict[str, Effect]:
    """Trends along λ, one per corpus and encoder."""
    return {case(key): trend(part) for key, part in paths(name, results)}


def changes(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Change of accuracy of every adversary, and `jsd`, how far its attention is from its base's on average."""
    from types import SimpleNamespace

    table = duels.table(SimpleNamespace(adversaries=adversaries))
    means = {"jsd": "jsd", "base": "right_base", "adversary": "right_adversary"}
    more = adversaries.groupby(list(DUEL), sort=False).agg(**{k: (v, "mean") for k, v in means.items()})
    return table.merge(more.reset_index(), on=list(DUEL))


def least_push(adversaries: pd.DataFrame) -> pd.DataFrame:
    """One row per base and kind of adversary: the weakest push that moves attention FAR on average, and its cost.

    A push beyond that only buys accuracy for distance that nobody asked for; where no push reaches FAR, the row is
    that of the farthest. The control (push 0) is never chosen: `control`, `control_low` and `control_high` are its
    change of accuracy, `control_jsd` its distance, NaN without one. `silent` says why a row can decide nothing:
    attention stayed too near, or the control loses accuracy too, and the loss is then not that of other attention.
    """
    table, duel = changes(adversaries), list(DUEL[:-1])
    taken = {"value": "control", **{c: f"control_{c}" for c in ("low", "high", "jsd")}}
    controls = table.loc[table["push"] == 0, [*duel, *taken]].rename(columns=taken)
    pushed = table[table["push"] > 0].merge(controls, on=duel, how="left")
    rows = []
    for _, own in pushed.groupby(duel, sort=False):
        far = own[own["jsd"] > FAR]
        rows.append(far["push"].idxmin() if len(far) else own["jsd"].fillna(-1.0).idxmax())
    chosen = pushed.loc[rows].reset_index(drop=True)
    near, lossy = ~(chosen["jsd"] > FAR), chosen["control_high"] < 0
    return chosen.assign(silent=np.where(near, "too near", np.where(lossy, "the control loses accuracy too", "")))


def cost(base: str, variant: str, results: Results) -> dict[str, Effect]:
    """Change of accuracy at the weakest push that moves attention far; without bounds where it decides nothing."""
    rows = required(results.adversaries)
    rows = required(rows[(rows["projection"] == base) & (rows["variant"] == variant)])
    found = {}
    for row in least_push(rows).to_dict("records"):
        own = rows[(rows[list(DUEL)] == [row[name] for name in DUEL]).all(axis=1)]
        change = effect(own.assign(value=own["change"]), bounds=TAU)
        name = case((row["dataset"], row["encoder"]))
        if row["silent"]:
            name, change = f"{name}: {row['silent']}", replace(change, low=NAN, high=NAN)
        found[name] = change
    return found


def same_influence(results: Results) -> dict[str, Effect]:
    """Same words and same spread: total variation, and the difference of entropies on the same scale, both ways."""
    found = apart.each(results)
    scale = MOVED / MARGIN
    for name, difference in gap.each(results).items():
        found[f"{name}: entropy of the norm higher, times {scale:g}"] = difference.scaled(scale)
        found[f"{name}: entropy of the norm lower, times {scale:g}"] = difference.scaled(-scale)
    return found


# tables ---------------------------------------------------------------------------------------------


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Encoders, importances and adversaries as the paper writes them."""
    return spelled(table, NAMES).rename(columns={"importance": "with"})


def softmax_alone(table: pd.DataFrame) -> pd.DataFrame:
    """The paper prints the accuracy of softmax models."""
    paper = [column for column in table if column.startswith("paper: ")]
    return named(table.assign(**{column: table[column].where(table["model"] == "softmax") for column in paper}))


def ties(results: Results) -> pd.DataFrame:
    """How many measurements have no order to compare and why; how many pairs of words are tied in attention."""
    frame = labelled(results.agreement)
    by = [frame[column] for column in (*CELL, "model")]
    counts = {status: (frame["status"] == status).groupby(by, sort=False).sum() for status in STATUSES}
    tied = frame["tied"].groupby(by, sort=False).mean().rename("share of tied pairs")
    return named(pd.concat(counts, axis=1).join(tied).reset_index())


def trends(names: Sequence[str], results: Results) -> pd.DataFrame:
    """Trends along λ, a larger λ being sparser; that of entropy next to the paper's Table 2.

    `largest at λ` tells a rise and fall from a steady trend.
    """
    rows = []
    for name in names:
        for key, part in paths(name, results.learned):
            found = trend(part)
            paper = printed(STUDY, 2, dataset=key[0], encoder=key[1]) if name == "entropy_gradient" else NAN
            rows.append({
                "λ and": ALONG[name][1], **dict(zip(CELL, key, strict=True)), "τ-b": found.text(), "p": found.p,
                "largest at λ": path_means(part).mean().idxmax(), "paper": paper, "seeds": found.trainings,
                "texts": found.texts,
            })  # fmt: skip
    return named(pd.DataFrame(rows))


def push_label(push: float) -> str:
    """A push as it was given, 0.0005 and not 5.0e-04; `control` where there is none."""
    return f"{push:g}" if push else "control"


def every_adversary(results: Results) -> pd.DataFrame:
    """Table 5: distance of an adversary's attention from its base's (JSD in nats), its accuracy, and the change.

    Each next to the paper's, whose adversaries attack softmax models.
    """
    table = changes(required(results.adversaries))
    attacked = (table["projection"] == "softmax") & (table["push"] > 0)
    for column, metric in {"jsd": "jsd_attention", "adversary": "accuracy", "change": "delta_accuracy"}.items():
        rows = table[["dataset", "encoder", "variant"]].to_dict("records")
        found = pd.Series([printed(STUDY, 5, metric=metric, **row) for row in rows], table.index)
        table[f"paper: {column}"] = found.where(attacked)
    table["push"] = table["push"].map(push_label)
    table = table.assign(change=interval_texts(table))
    columns = ["jsd", "paper: jsd", "base", "adversary", "paper: adversary", "change", "paper: change"]
    return named(table)[[*DUEL, *columns, "trainings", "texts"]].rename(columns={"push": "λ"})


def judged_adversaries(results: Results) -> pd.DataFrame:
    """The adversaries that the claims look at, with their controls: `least_push` for readers."""
    table = least_push(required(results.adversaries)).rename(columns={"push": "λ", "silent": "decides nothing"})
    ends = {"value": "control", "low": "control_low", "high": "control_high"}
    control = table[list(ends.values())].set_axis(list(ends), axis=1)
    table = table.assign(change=interval_texts(table), control=interval_texts(control))
    columns = ["λ", "jsd", "base", "adversary", "change", "control", "control_jsd", "decides nothing"]
    return named(table)[[*DUEL[:-1], *columns, "trainings", "texts"]]


def _columns(metrics: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: quantity.where(labelled) for name, quantity in metrics.items()}


NO_TREND = "There is no trend: no model along λ learned anything."
TREND = "averaged over seeds, each of which trains the whole path; the interval is over seeds"
RAW = {"sd": (hidden.of(rows=pair), "std"), "states": (hidden.of(rows=pair), "count")}
BY_MODEL = [*CELL, "model"]
WITH = [*MODEL, "importance"]
TABLES = [
    Table("accuracy", {"accuracy": correct}, "Test accuracy with 95% intervals over trainings and "
          "texts, and the paper's Table 3, which has softmax models. n: texts × trainings.",
          BY_MODEL, shown=softmax_alone),
    Table("support", _columns({"words with weight": entropies.only(metric=
          "support").of(bounds=None), "share of words": share, "entropy of attention": entropy}),
          "Number of words with weight, their share, and entropy of attention relative to its "
          "maximum, with 95% intervals. n: texts × trainings.", BY_MODEL, shown=named),
    Table("trend-support", partial(trends, ["support"]), f"Kendall τ-b of λ (larger: sparser) with "
          f"a model's mean share of words with weight, {TREND}.", otherwise=NO_TREND),
    Table("hidden", {"entropy": spread, **RAW}, "After the paper's Table 1: entropy of inputs' "
          "influence on a hidden state. sd over texts, positions and trainings.", MODEL,
          shown=named),
    Table("own-word", {"own word": own_word, "even share": (hidden.of(rows=pair,
          value="even"), "mean")}, "Share of the influence on a hidden state that its own word "
          "has, with 95% intervals, and the share that it would have if all words counted alike.",
          MODEL, shown=named),
    Table("trend-hidden", partial(trends, ["hidden"]), f"Kendall τ-b of λ (larger: sparser) with a "
          f"model's mean entropy of the influence on hidden states, {TREND}.", otherwise=NO_TREND),
    Table("facets", {"total variation": apart, "difference of entropies": gap, **{name:
          (apart.of(rows=both_ways, value=column, bounds=None), how) for name, column, how in
          (("entropy, norm", "of_norm", "mean"), ("entropy, components", "of_facets", "mean"),
          ("τ over inputs", "tau", "mean"), ("mean ‖h‖", "norm", "mean"), ("sd of ‖h‖", "norm",
          "std"))}}, "Total variation of the two distributions over inputs, the paired difference "
          "of their entropies, rank correlation over inputs, and the length of the states.",
          digits=3, shown=named, otherwise="Appendix A was left out of this run (`facet_texts`)."),
    Table("agreement-gap", {f"{words}: states minus inputs": above_inputs(kind) for kind, words in
          KINDS.items()}, "Agreement with hidden states minus agreement with inputs, paired by "
          "text, with 95% intervals over texts and trainings. p after Holm's correction over the "
          "rows of an importance.", MODEL, shown=named),
    Table("agreement", {"τ-b": agreement.where(pair), "sd": (agreement.where(pair), "std")},
          "After the paper's Table 6: mean Kendall τ-b of attention with the importance of words, "
          "g(x) and D(x), and of hidden states, g(I) and D(I). sd over texts and trainings; n: "
          "texts × trainings with an order; the next table counts the others.", WITH, shown=named),
    Table("ties", ties, "Measurements (texts × trainings × 4 importances) with an order, without "
          "one and why, and the share of ties."),
    Table("entropy-gap", {f"{KINDS[kind]}": sparsemax_minus(q) for kind, q in importance.items()},
          "Entropy of the importance of words with sparsemax minus that with softmax, paired by "
          "text and seed, with 95% intervals over texts and trainings.", CELL, 3, shown=named),
    Table("lambda", partial(trends, ["entropy_gradient"]), f"After the paper's Table 2: Kendall "
          f"τ-b of λ (larger: sparser) with a model's mean entropy of gradient importance, "
          f"{TREND}. Largest at: the λ with the highest mean.", otherwise=NO_TREND),
    Table("trend-agreement", partial(trends, list(KINDS)), f"Kendall τ-b of λ (larger: sparser) "
          f"with a model's mean agreement with the importance of words, {TREND}.",
          otherwise=NO_TREND),
    Table("agreement-change", {f"{KINDS[kind]}": sparsemax_minus(q) for kind, q in follows.items()},
          "Agreement of attention with the importance of words: sparsemax minus softmax, paired by "
          "text and seed, with 95% intervals over texts and trainings.", CELL, shown=named),
    Table("adversaries-judged", judged_adversaries, f"The adversaries that the claims look at: "
          f"each at the weakest λ that takes attention more than {FAR} nats (jsd) from its base's "
          f"on average, or at the farthest where none does. Accuracy of base and adversary, and "
          f"the change with its 95% interval over texts and trainings; the same of the control, "
          f"not pushed.", otherwise="There is no adversary: none was asked for, or every one "
          "failed."),
    Table("adversaries", every_adversary, "After the paper's Table 5: distance of an adversary's "
          "attention from its base's (JSD in nats), accuracy of base and adversary, and the "
          "change, paired by text, with its 95% interval over texts and trainings. Control: not "
          "pushed.", otherwise="There is no adversary in this run."),
]  # fmt: skip

# claims ---------------------------------------------------------------------------------------------


def theirs(by: Sequence[str], value: Callable[..., float], table: int, results: Results) -> dict[str, Printed]:
    """Case -> the paper's number: that of its closest corpus, or else the mean over its corpora."""
    found = {}
    for row in pair(results.labels)[list(by)].drop_duplicates().to_dict("records"):
        own, where = nearest(value, **row)
        found[case(tuple(row.values()))] = Printed(own, f"Table {table}, {where}")
    return found


def printed_gap(kind: str, **where: str) -> float:
    """Table 6: agreement with hidden states minus that with inputs; NaN where the paper prints none."""
    return np.subtract(*(printed(STUDY, 6, importance=f"{kind}_{k}", **where) for k in ("hidden", "input")))


def printed_change(kind: str, **where: str) -> float:
    """Table 6: agreement with inputs of sparsemax minus that of softmax; NaN where the paper prints none."""
    where |= {"importance": f"{kind}_input"}
    return np.subtract(*(printed(STUDY, 6, projection=name, **where) for name in reversed(PAIR)))


def in_table(table: int, by: Sequence[str], **where: str) -> Callable[[Results], dict[str, Printed]]:
    """What a table of the paper prints for each case."""
    return partial(theirs, by, partial(printed, STUDY, table, **where), table)


EVERY = "for every encoder and corpus"
OF_SEED = f"over the models of a seed, {EVERY}"
WITH_BOTH = f"{EVERY}, with softmax and sparsemax"
WEAKEST = (
    f"each at the weakest push (λ above 0) that takes attention more than {FAR} nats from its base's on average (a "
    f"case "
    "decides nothing where no push does, or where the control, λ = 0, initialised again and trained as long, loses "
    "accuracy too)"
)
ENTROPY = "of the maximal entropy"


def trending(id: str, says: str, where: str, of: str, name: str, figure: str, **more) -> Claim:
    """A claim on a trend along λ."""
    test = f"Kendall τ-b of λ (larger: sparser) with {of} {OF_SEED}"
    return Claim(says, where, test, partial(along, name), unit="τ-b", figure=figure, id=id, **more)


def costs(id: str, says: str, where: str, base: str, kind: str, **more) -> Claim:
    """A claim on what other attention costs."""
    test = f"accuracy of the adversary minus its {base} base's, {EVERY}, {WEAKEST}"
    effects = partial(cost, base, f"adversary_{kind}")
    return Claim(says, where, test, effects, unit="of accuracy", figure="adversaries-judged", id=id, **more)


TABLE5 = {"by": CELL, "metric": "delta_accuracy"}
CLAIMS = [
    trending("1", "A larger λ gives sparser attention", "section 2, eq. 3", "the share of words "
             "that get any weight", "support", "trend-support", direction="less"),
    Claim("A hidden state depends on many inputs: the entropy of their influence is high",
          "section 4, Table 1", f"mean normalised entropy, {WITH_BOTH} (the paper names no border: "
          f"this is ours, just below the lowest mean that it prints and calls high)", spread.each,
          border=HIGH, paper=in_table(1, MODEL), unit=ENTROPY, figure="hidden", id="2"),
    Claim("Inputs and hidden states are far from one-to-one: a state's own word has under half the "
          "influence", "section 4", f"mean share of the co-indexed word, in texts of two words or "
          f"more, {WITH_BOTH} (the paper measures no such share: the border is ours, since from "
          f"half on a state would owe more to its own word than to all others together)",
          own_word.each, "less", HALF, unit="of the influence", figure="own-word", id="3"),
    *(Claim(f"Attention agrees more with the {KINDS[kind]} importance of hidden states than with "
            f"that of inputs", f"Figure {figure}, Table 6", f"paired difference of Kendall τ-b "
            f"with softmax and with sparsemax, {EVERY}", above_inputs(kind).each,
            paper=partial(theirs, MODEL, partial(printed_gap, kind), 6), unit="τ-b",
            figure="agreement-gap", id=id) for id, kind, figure in (("4", "gradient", 1),
            ("5", "leave_one_out", 4))),
    *(Claim(f"Sparse attention, here sparsemax, does not make the {KINDS[kind]} importance of "
            f"inputs sparse", "section 4, Figure 2", f"entropy of {KINDS[kind]} importance with "
            f"sparsemax minus that with softmax, paired by text and seed, {EVERY}",
            sparsemax_minus(importance[kind]).each, border=-MARGIN, unit=ENTROPY,
            figure="entropy-gap", id=id) for id, kind in (("6", "gradient"), ("14",
            "leave_one_out"))),
    trending("7", "As printed in the table: λ and the entropy of input importance correlate "
             "negatively", "Table 2", "the mean entropy of gradient importance", "entropy_gradient",
             "lambda", direction="less", paper=in_table(2, CELL)),
    trending("8", "As the text has it: the entropy of input importance rises with the degree of "
             "sparsity", "section 4", "the mean entropy of gradient importance", "entropy_gradient",
             "lambda"),
    *(trending(id, f"Attention agrees less with the {KINDS[kind]} importance of inputs as λ grows",
      "section 4, Figure 3, of IMDb alone", "the mean agreement", kind, "trend-agreement",
      direction="less") for id, kind in (("9", "gradient"), ("10", "leave_one_out"))),
    *(Claim(f"With sparsemax, attention agrees less with the {KINDS[kind]} importance of inputs "
            f"than with softmax", "section 1 (a decrease is observed), Table 6, whose numbers "
            "differ in sign", f"Kendall τ-b of attention and {KINDS[kind]} importance with "
            f"sparsemax minus that with softmax, paired by text and seed, {EVERY}",
            sparsemax_minus(follows[kind]).each, "less", paper=partial(theirs, CELL,
            partial(printed_change, kind), 6), unit="τ-b", figure="agreement-change", id=id) for id,
            kind in (("18", "gradient"), ("19", "leave_one_out"))),
    trending("17", "Sparser attention goes with more contextualised hidden states: the influence "
             "on them is more spread", "section 1, which says that it may", "the mean entropy of "
             "inputs' influence on a hidden state, averaged within each text first", "hidden",
             "trend-hidden"),
    costs("11", "Other attention over the same hidden states costs accuracy", "Table 5, adversary "
          "frozen", "softmax", "frozen", direction="less", paper=in_table(5, variant=
          "adversary_frozen", **TABLE5)),
    costs("12", "A model trained from scratch with other attention keeps the accuracy",
          "Table 5, adversary unfrozen", "softmax", "unfrozen", border=-LOSS, paper=in_table(5,
          variant="adversary_unfrozen", **TABLE5)),
    costs("15", "Other attention over a sparsemax model's hidden states costs accuracy",
          "Table 5, adversary frozen; the paper's bases are softmax models", "sparsemax", "frozen",
          direction="less"),
    costs("16", "A model trained from scratch with attention other than a sparsemax model's keeps "
          "the accuracy", "Table 5, adversary unfrozen; the paper's bases are softmax models",
          "sparsemax", "unfrozen", border=-LOSS),
    Claim("Influence on the norm of a hidden state tells the same as influence on its components",
          "Appendix A", f"mean total variation of the two distributions over words, {EVERY} (how "
          f"much of the influence lies on other words), and the mean difference of their "
          f"entropies, of which {MARGIN} either way counts as much as {MOVED} of the first",
          same_influence, "less", MOVED, unit="of the influence", figure="facets", id="13"),
]  # fmt: skip


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""
    said = {k: f"**{c.verdict}**" for k, c in claims.items()}
    size = {k: c.text() for k, c in claims.items()}
    gathered = {claims[k].verdict for k in (2, 3, 4)} == {"reproduced"}
    meaning = " So a short list of states with weight is no short list of words." if gathered else ""
    return [
        "Sparse attention gives weight to a few words and none to the others. That is a short explanation only if "
        "a hidden state stands for its own word, and if the words that matter become few along with the weights.",
        f"A hidden state gathers from many words: {said[2]}. In the least favourable case the entropy of their "
        f"influence is "
        f"{size[2]} of its maximum, and a state's own word has {size[3]} of the influence. Attention agrees more "
        f"with states than with words: {said[4]} by gradients (a gap of {size[4]} in Kendall's τ-b), {said[5]} by "
        f"leave-one-out ({size[5]}).{meaning}",
        f"The importance of words does not become sparse with attention: {said[6]} by gradients (entropy changes "
        f"by "
        f"{size[6]} from softmax to sparsemax), {said[14]} by leave-one-out ({size[14]}). Attention agrees less "
        f"with words "
        f"as λ makes it sparser: {said[9]} and {said[10]} (τ-b with λ {size[9]} and {size[10]}); with sparsemax "
        f"less than with softmax: {said[18]} and {said[19]} ({size[18]} and {size[19]}).",
        f"Other attention over the same states costs accuracy: {said[11]} ({size[11]}). A model trained from "
        f"scratch with "
        f"other attention keeps it, which means that it loses less than {100 * LOSS:g} points: {said[12]} "
        f"({size[12]}).",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the numbers say: name of the check -> whether it does."""
    rows, spreads = results.agreement, results.entropies
    shares = spreads[spreads["metric"] == "support_share"].groupby("projection")["value"].min()
    bounded = spreads[spreads["metric"] != "support"]["value"].dropna()
    model = [*KEYS, "seed"]
    sizes = rows.groupby([*model, "importance"], dropna=False).size().groupby("dataset").nunique()
    expected = sum(len(models(params, corpus)) for corpus in params.corpora)
    found = {
        "no run failed": results.grid.failures.empty,
        "every model read the same texts": sizes.eq(1).all() and len(rows.groupby(model, dropna=False)) == expected,
        "a correlation exists where there is an order, and nowhere else": (
            rows["value"].notna() == (rows["status"] == "ordered")
        ).all(),
        "correlations lie between −1 and 1": rows["value"].dropna().abs().le(1 + 1e-9).all(),
        "entropies and shares lie between 0 and 1": bounded.between(0, 1).all(),
        "sparsemax leaves at least one word": shares["sparsemax"] > 0,
    }
    if len(results.adversaries):
        jsd = results.adversaries["jsd"].dropna()
        found["divergences lie between 0 and ln 2"] = jsd.between(0, np.log(2) + 1e-9).all()
    return {name: bool(passed) for name, passed in found.items()}
