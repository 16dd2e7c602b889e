"""Sparse attention (Meister et al. 2021): every number of the study, its tables and its claims.

Most claims speak of every encoder and corpus: one case each, and a single failure refutes the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attnlib.stats import LN2, kendall_tau
from attnlib.stats.inference import NAN, Effect, effect
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies.beside import Printed, nearest, printed
from attnlib.studies.datasets import short
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged
from attnlib.studies.quantity import SHARE, Quantity, Table, required
from attnlib.studies.results import Results
from attnlib.studies.sparsity.grid import KEYS, PAIR, models
from attnlib.studies.sparsity.params import Params

STUDY = "sparsity"
CELL = ("dataset", "encoder")
MODEL = (*CELL, "projection")
DUEL = (*CELL, "model", "variant", "push")  # what tells adversaries apart
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
    "push": "λ",
}
"""As the paper writes them: g gradient, D leave-one-out, of inputs x and hidden states I."""
KINDS = {"gradient": "gradient", "leave_one_out": "leave-one-out"}
FAR = 0.35  # nats of JSD from which attention counts as moved: half of ln 2, the most there is
HIGH = 0.45  # a high entropy: just below the lowest mean that the paper prints and calls high, 0.46
HALF = 0.5  # from here on a state would owe more to its own word than to all others together
MARGIN = 0.05  # a change of normalised entropy below this is no change
LOSS = AS_ACCURATE / 100  # of accuracy, up to which it is none
MOVED = 0.1  # share of influence that may lie on other words where two measures "tell the same"


def pair(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the softmax and sparsemax models, those of the paper's Tables 1 and 6."""
    return frame[frame["projection"].isin(PAIR)]


def states(column: str, hidden: pd.DataFrame) -> pd.DataFrame:
    """Means over hidden states, as one number per text: what `effect` takes.

    The mean of a model is that over all states of all texts, a ratio of two sums over texts.
    """
    model = [c for c in (*KEYS, "projection", "seed") if c in required(hidden)]
    texts = hidden.groupby([*model, "instance"], sort=False)[column]
    sums = texts.agg(total="sum", states="count").reset_index()

    def mean(part: pd.DataFrame) -> float:
        return part["total"].sum() / part["states"].sum()

    def without_each(part: pd.DataFrame) -> np.ndarray:
        rest = (part["states"].sum() - part["states"]).to_numpy(float)
        return (part["total"].sum() - part["total"]).to_numpy() / np.where(rest > 0, rest, np.nan)

    return pseudovalues(required(sums[sums["states"] > 0]), mean, model, without_each=without_each)


def case(key: tuple) -> str:
    """The name of a case: `rotten_tomatoes, BiLSTM, softmax`."""
    return ", ".join(NAMES.get(str(part), short(str(part))) for part in key)


correct = Quantity("labels", named=case, printed=(STUDY, 3, "accuracy"))
share = Quantity("spread", "share", named=case)
entropy = share.of(value="entropy")
agreement = Quantity("agreement", named=case, bounds=TAU, unit="τ-b")
follows = {kind: agreement.only(importance=f"{kind}_input") for kind in KINDS}
importance = {kind: of.of(value="entropy", bounds=SHARE) for kind, of in follows.items()}
hidden = Quantity("hidden", model=MODEL, named=case)
spread = hidden.of(rows=lambda f: states("value", pair(f)), printed=(STUDY, 1, "entropy_grad_fi_of_hidden"))
own_word = hidden.of(rows=lambda f: states("own", pair(f)))
apart = Quantity("facets", rows=partial(states, "apart"), named=case)
gap = apart.of(rows=partial(states, "gap"), bounds=TAU)
duels = Quantity("duels", "change", model=DUEL, bounds=TAU, named=tuple)
jsd = duels.of(value="jsd", bounds=(0, LN2))
ALONG = {
    "share of words with weight": share,
    "entropy of the influence on hidden states": hidden,
    "entropy of gradient importance": importance["gradient"],
    "agreement with gradient importance": follows["gradient"],
    "agreement with leave-one-out importance": follows["leave_one_out"],
}
"""What is followed along λ."""


def sparsemax_minus(quantity: Quantity) -> Quantity:
    """What sparsemax changes against softmax, paired by text and seed."""
    return quantity.where(pair).minus("projection", "sparsemax", "softmax")


def on_path(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the models along λ, of the seeds that trained all of it."""
    path = frame[frame["lam"].notna()]
    places, own = (path.groupby(by)["lam"].transform("nunique") for by in (list(CELL), [*CELL, "seed"]))
    return path[own == places]


def paths(name: str, results: Results) -> Iterator[tuple[tuple, pd.DataFrame, Effect]]:
    """Corpus and encoder, the means of their models (seeds in rows, λ in columns), and the trend along λ.

    That is Kendall's τ-b of λ and the means of a seed, averaged over seeds, the independent repetitions. Models
    that are all alike have a τ of 0; without a value at some place there is no trend.
    """
    quantity = ALONG[name]
    rows = required(quantity.rows(getattr(results, quantity.frame)), quantity.why)
    rows = required(rows[rows["lam"].notna()], quantity.why).assign(value=lambda path: path[quantity.value])
    for key, part in rows.groupby(list(CELL), sort=False):
        texts = on_path(part).groupby(["seed", "lam", "instance"])["value"].mean().reset_index()
        means, found = texts.pivot_table("value", "seed", "lam", dropna=False), Effect(NAN)
        if len(means) and means.notna().all(axis=None):
            taus = [kendall_tau(means.columns, row) for row in means.to_numpy()]
            found = effect(pd.DataFrame({"seed": means.index, "value": np.nan_to_num(taus)}), text=None, bounds=TAU)
            found = replace(found, n=means.size, texts=part["instance"].nunique())
        yield key, means, found


def trend(name: str, results: Results) -> dict[str, Effect]:
    """Trends along λ, one per corpus and encoder."""
    return {case(key): found for key, _, found in paths(name, results)}


def cost(base: str, variant: str, results: Results) -> dict[str, Effect]:
    """Change of accuracy at the weakest push that takes attention FAR on average; without bounds where none does.

    Nor is anything decided where the control (push 0) loses accuracy too: the loss is then not that of other
    attention.
    """
    of_base, found = duels.only(model=base, variant=variant), {}
    changes, reach = of_base.each(results), jsd.only(model=base, variant=variant).each(results)
    for cell in dict.fromkeys(key[:-1] for key in changes):
        pushed = sorted(key for key in changes if key[:-1] == cell and key[-1] > 0)
        far = [key for key in pushed if reach[key].estimate > FAR]
        lossy = (*cell, 0.0) in changes and changes[*cell, 0.0].high < 0
        if far and not lossy:
            found[case(cell[:2])] = changes[far[0]]
        elif pushed:
            chosen = far[0] if far else max(pushed, key=lambda key: reach[key].estimate)
            why = "the control loses accuracy too" if far else "too near"
            found[f"{case(cell[:2])}: {why}"] = replace(changes[chosen], low=NAN, high=NAN)
    return found


def same_influence(results: Results) -> dict[str, Effect]:
    """Same words and same spread: total variation, and, on its scale, the difference of entropies both ways."""
    found = apart.each(results)
    scale = MOVED / MARGIN
    for name, difference in gap.each(results).items():
        found[f"{name}: entropy of the norm higher, times {scale:g}"] = difference.scaled(scale)
        found[f"{name}: entropy of the norm lower, times {scale:g}"] = difference.scaled(-scale)
    return found


def softmax_alone(table: pd.DataFrame) -> pd.DataFrame:
    """The paper prints accuracies of softmax models, and of adversaries pushed away from these."""
    pushed = table["push"] > 0 if "push" in table else True
    paper = table.filter(like="paper: ").where((table["model"] == "softmax") & pushed)
    table = table.assign(**paper)
    return table.assign(push=[f"{push:g}" for push in table["push"]]) if "push" in table else table


def trends(results: Results) -> pd.DataFrame:
    """Trends along λ; `largest at λ` tells a rise and fall from a trend."""
    rows = []
    for name in ALONG:
        for (dataset, encoder), means, found in paths(name, results):
            row = {"λ and": name, "dataset": dataset, "encoder": encoder, "τ-b": found.text(), "p": found.p}
            row["largest at λ"] = means.mean().idxmax() if len(means) else NAN
            row["paper"] = printed(STUDY, 2, dataset=dataset, encoder=encoder) if name == ENTROPIES else NAN
            rows.append(row | {"seeds": found.trainings, "texts": found.texts})
    return pd.DataFrame(rows)


ENTROPIES = "entropy of gradient importance"
of_pair = agreement.where(pair).of(printed=(STUDY, 6, "kendall_tau_attention"))
TABLES = [
    Table("accuracy", {"accuracy": correct}, "Test accuracy with 95% intervals over trainings and "
          "texts, and the paper's Table 3, which has softmax models. n: texts × trainings.",
          [*CELL, "model"], shown=softmax_alone),
    Table("hidden", {"entropy": spread, "sd": (hidden.where(pair), "std"), "own word": own_word,
          "even share": (hidden.where(pair).of(value="even"), "mean")}, "After the paper's Table 1: "
          "entropy of inputs' influence on a hidden state (sd over texts, positions and "
          "trainings); the share of it that a state's own word has, and the share that it would "
          "have if all words counted alike.", MODEL),
    Table("facets", {"total variation": apart, "difference of entropies": gap, "τ over inputs":
          (apart.of(rows=lambda f: f, value="tau", bounds=None), "mean")}, "Influence on the norm "
          "of a hidden state and on its components: total variation of the two distributions over "
          "inputs, the paired difference of their entropies, and rank correlation.", CELL, 3),
    Table("agreement", {"τ-b": of_pair, "sd": (of_pair, "std"), "tied pairs":
          (of_pair.of(value="tied"), "mean"), "without an order":
          (of_pair.of(value=lambda f: f["status"] != "ordered"), "sum")}, "After "
          "the paper's Table 6: mean Kendall τ-b of attention with the importance of words, g(x) "
          "and D(x), and of hidden states, g(I) and D(I). sd over texts and trainings; the share "
          "of tied pairs in attention, and how many texts × trainings have no order.",
          [*MODEL, "importance"]),
    Table("trends", trends, "Kendall τ-b of λ (larger: sparser) with a model's mean, averaged over "
          "seeds, each of which trains the whole path; the interval is over seeds. Entropy next to "
          "the paper's Table 2.",
          otherwise="There is no trend: no model along λ learned anything."),
    Table("adversaries", {"JSD": jsd.of(printed=(STUDY, 5, "jsd_attention")), "accuracy": duels.of(
          value="right_adversary", bounds=SHARE, printed=(STUDY, 5, "accuracy")), "change":
          duels.of(printed=(STUDY, 5, "delta_accuracy"))}, "After the paper's Table 5: distance of an "
          "adversary's attention from its base's (nats), its accuracy, and the change against its "
          "base's, paired by text, with 95% intervals. λ 0: a control, not pushed.", DUEL,
          shown=softmax_alone, otherwise="There is no adversary: none was asked for, or all failed."),
]  # fmt: skip


def theirs(
    table: int, by: Sequence[str], results: Results, minus: Mapping[str, str] | None = None, **where: str
) -> dict[str, Printed]:
    """Case -> what the paper prints, or a difference: for its closest corpus, or the mean over all."""

    def value(**cell: str) -> float:
        own = printed(STUDY, table, **cell | where)
        return own if minus is None else own - printed(STUDY, table, **cell | where | minus)

    found = {}
    for row in pair(results.labels)[list(by)].drop_duplicates().to_dict("records"):
        own, corpus = nearest(value, **row)
        found[case(tuple(row.values()))] = Printed(own, f"Table {table}, {corpus}")
    return found


EVERY = "for every encoder and corpus"
WITH_BOTH = f"{EVERY}, with softmax and sparsemax"
ENTROPY = "of the maximal entropy"


def trending(id: str, says: str, where: str, name: str, **more) -> Claim:
    """A claim on a trend along λ."""
    test = f"Kendall τ-b of λ (larger: sparser) with the mean {name} over the models of a seed, {EVERY}"
    return Claim(says, where, test, partial(trend, name), unit="τ-b", figure="trends", id=id, **more)


def costs(id: str, says: str, where: str, base: str, kind: str, **more) -> Claim:
    """A claim on what other attention costs."""
    test = (
        f"accuracy of the adversary minus its {base} base's, {EVERY}, at the weakest λ above 0 that "
        f"takes attention more than {FAR} nats away on average (nothing is decided where none does, or "
        "where the control, λ = 0, initialised again and trained as long, loses accuracy too)"
    )
    effects = partial(cost, base, f"adversary_{kind}")
    return Claim(says, where, test, effects, unit="of accuracy", figure="adversaries", id=id, **more)


def of_importance(kind: str, words: str, ids: Sequence[str], figure: int) -> list[Claim]:
    """What the paper says of an importance."""
    inputs = {"importance": f"{kind}_input"}
    above = agreement.where(pair).of(model=MODEL).minus("importance", f"{kind}_hidden", f"{kind}_input")
    gaps = partial(theirs, 6, MODEL, importance=f"{kind}_hidden", minus=inputs)
    changes = partial(theirs, 6, CELL, projection="sparsemax", **inputs, minus={"projection": "softmax"})
    return [
        Claim(f"Attention agrees more with the {words} importance of hidden states than with that "
              f"of inputs", f"Figure {figure}, Table 6", f"paired difference of Kendall τ-b with "
              f"softmax and with sparsemax, {EVERY}", above.each, paper=gaps, unit="τ-b",
              figure="agreement", id=ids[0]),
        Claim(f"Sparse attention, here sparsemax, does not make the {words} importance of inputs "
              f"sparse", "section 4, Figure 2", f"entropy of {words} importance with sparsemax "
              f"minus that with softmax, paired by text and seed, {EVERY}",
              sparsemax_minus(importance[kind]).each, border=-MARGIN, unit=ENTROPY,
              figure=f"entropy-{words}", id=ids[1]),
        trending(ids[2], f"Attention agrees less with the {words} importance of inputs as λ grows",
                 "section 4, Figure 3, of IMDb alone", f"agreement with {words} importance",
                 direction="less"),
        Claim(f"With sparsemax, attention agrees less with the {words} importance of inputs than "
              f"with softmax", "section 1 (a decrease is observed), Table 6, whose numbers differ "
              "in sign", f"Kendall τ-b of attention and {words} importance with sparsemax minus "
              f"that with softmax, paired by text and seed, {EVERY}",
              sparsemax_minus(follows[kind]).each, "less", paper=changes, unit="τ-b",
              figure="agreement", id=ids[3]),
    ]  # fmt: skip


CLAIMS = [
    trending("1", "A larger λ gives sparser attention", "section 2, eq. 3", "share of words with weight",
             direction="less"),
    Claim("A hidden state depends on many inputs: the entropy of their influence is high",
          "section 4, Table 1", f"mean normalised entropy, {WITH_BOTH} (the border is ours: just "
          f"below the lowest mean that the paper prints and calls high)", spread.each, border=HIGH,
          paper=partial(theirs, 1, MODEL), unit=ENTROPY, figure="hidden", id="2"),
    Claim("Inputs and hidden states are far from one-to-one: a state's own word has under half the "
          "influence", "section 4", f"mean share of the co-indexed word, in texts of two words or "
          f"more, {WITH_BOTH} (the border is ours)", own_word.each, "less", HALF,
          unit="of the influence", figure="hidden", id="3"),
    *of_importance("gradient", "gradient", ["4", "6", "9", "18"], 1),
    *of_importance("leave_one_out", "leave-one-out", ["5", "14", "10", "19"], 4),
    trending("7", "As printed in the table: λ and the entropy of input importance correlate "
             "negatively", "Table 2", ENTROPIES, direction="less", paper=partial(theirs, 2, CELL)),
    trending("8", "As the text has it: the entropy of input importance rises with the degree of "
             "sparsity", "section 4", ENTROPIES),
    trending("17", "Sparser attention goes with more contextualised hidden states: the influence "
             "on them is more spread", "section 1, which says that it may",
             "entropy of the influence on hidden states"),
    costs("11", "Other attention over the same hidden states costs accuracy", "Table 5, adversary "
          "frozen", "softmax", "frozen", direction="less", paper=partial(theirs, 5, CELL,
          variant="adversary_frozen", metric="delta_accuracy")),
    costs("12", "A model trained from scratch with other attention keeps the accuracy",
          "Table 5, adversary unfrozen", "softmax", "unfrozen", border=-LOSS, paper=partial(theirs,
          5, CELL, variant="adversary_unfrozen", metric="delta_accuracy")),
    costs("15", "Other attention over a sparsemax model's hidden states costs accuracy",
          "Table 5, adversary frozen; the paper's bases are softmax models", "sparsemax", "frozen",
          direction="less"),
    costs("16", "A model trained from scratch with attention other than a sparsemax model's keeps "
          "the accuracy", "Table 5, adversary unfrozen; the paper's bases are softmax models",
          "sparsemax", "unfrozen", border=-LOSS),
    Claim("Influence on the norm of a hidden state tells the same as influence on its components",
          "Appendix A", f"mean total variation of the two distributions over words, {EVERY}, and "
          f"the mean difference of their entropies, of which {MARGIN} either way counts as much as "
          f"{MOVED} of the first", same_influence, "less", MOVED,
          unit="of the influence", figure="facets", id="13"),
]  # fmt: skip


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""
    return [
        "Sparse attention gives weight to a few words. That is a short explanation only if a hidden "
        "state stands for its own word, and if the words that matter become few with the weights.",
        f"A hidden state gathers from many words, by the entropy of their influence: {claims[2]}. "
        f"Attention agrees more with states than with words, in Kendall's τ-b: {claims[4]} by "
        f"gradients, {claims[5]} by leave-one-out.",
        f"The importance of words does not become sparse with attention: {claims[6]} by gradients, "
        f"{claims[14]} by leave-one-out. Attention agrees less with words as λ makes it sparser: "
        f"{claims[9]} and {claims[10]}.",
        f"Other attention over the same states costs accuracy: {claims[11]}. A model trained from "
        f"scratch with other attention keeps it, to {100 * LOSS:g} points: {claims[12]}.",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the numbers say: name of the check -> whether it does."""
    rows, spread, duels = results.agreement, results.spread, results.duels
    sizes = rows.groupby([*KEYS, "seed"]).size()
    told = len(sizes) == sum(len(models(params, corpus)) for corpus in params.corpora)
    order = rows["value"].notna() == (rows["status"] == "ordered")
    return {
        "every model read the same texts": told and sizes.groupby("dataset").nunique().eq(1).all(),
        "a correlation exists where there is an order, and nowhere else": order.all(),
        "sparsemax leaves at least one word": spread.loc[spread["model"] == "sparsemax", "share"].min() > 0,
        "divergences lie between 0 and ln 2": not len(duels) or duels["jsd"].dropna().between(0, LN2 + 1e-9).all(),
    }
