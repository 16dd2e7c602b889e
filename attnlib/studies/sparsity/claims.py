"""Claims of Meister et al. 2021, each with its rule: what it says, the effect, the border and the paper's number.

All rest on the models that learned something (`Results.learned`). Most speak of every encoder and corpus: one case
each, and a single failure refutes the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attnlib.stats.inference import NAN, Effect, contrast, effect
from attnlib.studies.beside import printed
from attnlib.studies.datasets import kin
from attnlib.studies.ledger import Printed, Rule
from attnlib.studies.sparsity import tables
from attnlib.studies.sparsity.grid import KEYS, Results
from attnlib.studies.sparsity.params import Params, models
from attnlib.studies.sparsity.tables import CELL, CHANGE, DUEL, FAR, KINDS, MODEL, NAMES, SHARE, TAU_GAP

HIGH = 0.45
"""Entropy of influence on hidden states that counts as high: the lowest mean the paper calls so is 0.46."""
OWN = 0.5
"""Share of the influence from which a state would owe more to its own word than to all others together."""
MARGIN = 0.05
"""A change of normalised entropy below this is no change."""
KEPT = 0.03
"""A loss of accuracy below this is none: the largest that the paper prints for an unfrozen adversary is 0.02."""
MOVED = 0.1
"""Share of influence (total variation) that may lie on other words where two measures of it "tell the same": a
tenth, so that a word's share is off by a fifth of itself on average. Entropy alone cannot tell: it stays equal when
the same shares go to other words."""

Cases = dict[str, Effect]


def case(*key: object) -> str:
    """The name of a case: `rotten_tomatoes, BiLSTM, softmax`."""
    return ", ".join(NAMES.get(str(part), str(part)) for part in key)


def each(frame: pd.DataFrame, by: Sequence[str], make: Callable[[pd.DataFrame], Effect]) -> Cases:
    """Case -> effect of its rows; no case without rows."""
    return {case(*key): make(part) for key, part in frame.groupby(list(by), sort=False)} if len(frame) else {}


def theirs(results: Results, by: Sequence[str], value: Callable[..., float], table: int) -> dict[str, Printed]:
    """Case -> the paper's number: that of its closest corpus, or else the mean over its corpora."""
    found = {}
    rows = tables.pair(results.labels)[list(by)].drop_duplicates()
    for row in rows.to_dict("records"):
        own, where = value(**row), f"Table {table}, {kin(row['dataset'])}"
        if np.isnan(own):
            rest = {key: name for key, name in row.items() if key != "dataset"}
            own, where = value(**rest), f"Table {table}, mean over its corpora"
        found[case(*row.values())] = Printed(own, where)
    return found


def dispersion(results: Results, column: str) -> Cases:
    """Mean over hidden states: the entropy of the influence on them, or the share of their own word."""
    return each(tables.states(tables.pair(results.learned.hidden), column), MODEL, partial(effect, bounds=SHARE))


def above_inputs(results: Results, kind: str) -> Cases:
    """Agreement with hidden states minus that with inputs, paired by text within a model."""
    sides = f"{kind}_hidden", f"{kind}_input"
    part = tables.pair(results.learned.agreement)
    part = part[part["importance"].isin(sides)]
    return each(part, MODEL, lambda rows: _contrast(rows, "importance", *sides, bounds=TAU_GAP))


def sparsemax_effect(results: Results, name: str, bounds: tuple[float, float] = CHANGE) -> Cases:
    """What sparsemax changes against softmax, paired by text and seed; `name`: a key of `tables.FOLLOWED`."""
    part = tables.pair(tables.followed(results.learned, name))
    return each(part, CELL, lambda rows: _contrast(rows, "projection", "sparsemax", "softmax", bounds=bounds))


def _contrast(rows: pd.DataFrame, column: str, a: str, b: str, **options: object) -> Effect:
    return contrast(rows, column, a, b, **options) if {a, b} <= set(rows[column]) else Effect(NAN)


def along(results: Results, name: str) -> Cases:
    """Trends along λ (a key of `tables.FOLLOWED`)."""
    return {case(*key): found for key, found in tables.trends(results, name).items()}


def cost(results: Results, base: str, variant: str) -> Cases:
    """Change of accuracy at the weakest push that moves attention far; without bounds where it decides nothing."""
    duels = results.learned.adversaries
    if duels.empty:
        return {}
    duels = duels[(duels["projection"] == base) & (duels["variant"] == variant)]
    found = {}
    for row in tables.least_push(duels).to_dict("records") if len(duels) else ():
        own = duels[(duels[DUEL] == [row[name] for name in DUEL]).all(axis=1)]
        change = effect(own.assign(value=own["change"]), bounds=CHANGE)
        name = case(row["dataset"], row["encoder"])
        if row["silent"]:
            name, change = f"{name}: {row['silent']}", replace(change, low=NAN, high=NAN)
        found[name] = change
    return found


def same_influence(results: Results) -> Cases:
    """Same words and same spread: total variation, and the difference of entropies on the same scale, both ways."""
    facets = results.learned.facets
    if facets.empty:
        return {}
    facets = tables.both_ways(facets)
    found = each(tables.states(facets, "apart"), CELL, partial(effect, bounds=SHARE))
    scale = MOVED / MARGIN
    for name, gap in each(tables.states(facets, "gap"), CELL, partial(effect, bounds=CHANGE)).items():
        found[f"{name}: entropy of the norm higher, times {scale:g}"] = gap.scaled(scale)
        found[f"{name}: entropy of the norm lower, times {scale:g}"] = gap.scaled(-scale)
    return found


EVERY = "for every encoder and corpus"
ROUNDED = "Changes of a probability are rounded to one millionth; before, only smaller changes counted as none."
TRAININGS = (
    "Judged first by intervals over the texts of one or two seeds, then from three seeds on with widened ones."
)
PATHS = (
    "Judged first by an interval over texts and seeds, then also by a permutation test, then by a jackknife over "
    "the models of all seeds. λ is chosen, not drawn, and each seed trains the whole path once, so the interval is "
    "now over seeds. By the jackknife, three seeds decided claims 1, 7 and 8 and left 9, 10 and 17 undetermined."
)
REACH = (
    "The path began at λ = -10, where a BiLSTM gives weight to two words in five, and was undetermined over three "
    "seeds; it now begins at attention over all words, as the paper's Figure 3 does."
)
TABLE_6 = (
    "Added after numbers had been seen: the trend along λ need not be a steady one, and Table 6 prints both ends."
)


def _paired(number: int, says: str, where: str, test: str, effect: Callable, **more: object) -> Rule:
    """A claim on softmax and sparsemax models, for every encoder and corpus; `printed`: by which columns, value."""
    if printed_by := more.pop("printed", None):
        more["paper"] = lambda results: theirs(results, *printed_by, 6)
    return Rule(f"sparsity-{number}", says, where, f"{test}, {EVERY}", effect, waits="pair_seeds", **more)


def _hidden_above_inputs(number: int, kind: str, where: str, history: str) -> Rule:
    return _paired(
        number,
        f"Attention agrees more with the {KINDS[kind]} importance of hidden states than with that of inputs",
        where, "paired difference of Kendall τ-b with softmax and with sparsemax", partial(above_inputs, kind=kind),
        printed=(MODEL, partial(tables.printed_gap, kind)), unit="τ-b", figure="agreement-gap", history=history,
    )  # fmt: skip


def _not_lower(number: int, kind: str, history: str) -> Rule:
    return _paired(
        number, f"Sparse attention, here sparsemax, does not make the {KINDS[kind]} importance of inputs sparse",
        "section 4, Figure 2",
        f"entropy of {KINDS[kind]} importance with sparsemax minus that with softmax, paired by text and seed",
        partial(sparsemax_effect, name=f"entropy_{kind}"),
        border=-MARGIN, unit="of the maximal entropy", figure="entropy-gap", history=history,
    )  # fmt: skip


def _agrees_less(number: int, kind: str) -> Rule:
    return _paired(
        number,
        f"With sparsemax, attention agrees less with the {KINDS[kind]} importance of inputs than with softmax",
        "section 1 (a decrease is observed), Table 6, whose numbers differ in sign",
        f"Kendall τ-b of attention and {KINDS[kind]} importance with sparsemax minus that with softmax, paired by "
        "text and seed",
        partial(sparsemax_effect, name=kind, bounds=TAU_GAP), direction="less",
        printed=(CELL, partial(tables.printed_change, kind)), unit="τ-b", figure="agreement-change",
        history=TABLE_6,
    )  # fmt: skip


def _along(number: int, name: str, direction: str, says: str, where: str, what: str, **more: object) -> Rule:
    history = f"{PATHS} {more.pop('history', '')}".strip()
    return Rule(
        f"sparsity-{number}",
        says,
        where,
        f"Kendall τ-b of λ (larger: sparser) with {what} over the models of a seed, {EVERY}",
        partial(along, name=name),
        direction,
        unit="τ-b",
        history=history,
        **more,
    )


def _duel(number: int, base: str, variant: str, says: str) -> Rule:
    frozen, soft = variant == "adversary_frozen", base == "softmax"
    value = partial(printed, "sparsity", 5, variant=variant, metric="delta_accuracy")
    history = (
        "Judged first at the largest push and over all bases together, now at the smallest push that moves "
        "attention far, on softmax bases as in the paper, with sparsemax apart, and with a control. " + TRAININGS
    )
    return Rule(
        f"sparsity-{number}",
        says,
        f"Table 5, {variant.replace('_', ' ')}" + ("" if soft else "; the paper's bases are softmax models"),
        f"accuracy of the adversary minus its {base} base's, {EVERY}, each at the weakest push (λ above 0) that "
        f"takes attention more than {FAR} nats from its base's on average (a case decides nothing where no push "
        "does, or where the control, λ = 0, initialised again and trained as long, loses accuracy too)",
        partial(cost, base=base, variant=variant),
        "less" if frozen else "greater",
        0.0 if frozen else -KEPT,
        paper=(lambda results: theirs(results, CELL, value, 5)) if soft else None,
        unit="of accuracy",
        figure="adversaries-judged",
        waits="adversary_seeds",
        history=history,
    )


RULES: Sequence[Rule] = (
    _along(
        1, "support", "less", "A larger λ gives sparser attention", "section 2, eq. 3",
        "the share of words that get any weight", figure="trend-support",
    ),
    Rule(
        "sparsity-2",
        "A hidden state depends on many inputs: the entropy of their influence is high",
        "section 4, Table 1",
        f"mean normalised entropy, {EVERY}, with softmax and sparsemax (the paper names no border: this is ours, "
        "just below the lowest mean that it prints and calls high)",
        partial(dispersion, column="value"),
        border=HIGH,
        paper=lambda results: theirs(results, MODEL, partial(printed, "sparsity", 1), 1),
        unit="of the maximal entropy",
        figure="hidden",
        waits="pair_seeds",
    ),
    Rule(
        "sparsity-3",
        "Inputs and hidden states are far from one-to-one: a state's own word has under half the influence",
        "section 4",
        f"mean share of the co-indexed word, in texts of two words or more, {EVERY}, with softmax and sparsemax "
        "(the paper measures no such share: the border is ours, since from half on a state would owe more to its "
        "own word than to all others together)",
        partial(dispersion, column="own"),
        "less",
        OWN,
        unit="of the influence",
        figure="own-word",
        waits="pair_seeds",
        history="A text of one word no longer counts.",
    ),
    _hidden_above_inputs(4, "gradient", "Figure 1, Table 6", ""),
    _hidden_above_inputs(5, "leave_one_out", "Figure 4, Table 6", ROUNDED),
    _not_lower(6, "gradient", TRAININGS),
    _not_lower(14, "leave_one_out", f"Gradients alone were judged first. {TRAININGS} {ROUNDED}"),
    _along(
        7, "entropy_gradient", "less",
        "As printed in the table: λ and the entropy of input importance correlate negatively",
        "Table 2", "the mean entropy of gradient importance", figure="lambda",
        paper=lambda results: theirs(results, CELL, partial(printed, "sparsity", 2), 2),
    ),
    _along(
        8, "entropy_gradient", "greater",
        "As the text has it: the entropy of input importance rises with the degree of sparsity",
        "section 4", "the mean entropy of gradient importance", figure="lambda",
    ),
    _along(
        9, "gradient", "less", "Attention agrees less with the gradient importance of inputs as λ grows",
        "section 4, Figure 3, of IMDb alone", "the mean agreement", figure="trend-agreement", history=REACH,
    ),
    _along(
        10, "leave_one_out", "less", "Attention agrees less with the leave-one-out importance of inputs as λ grows",
        "section 4, Figure 3, of IMDb alone", "the mean agreement", figure="trend-agreement",
        history=f"{REACH} {ROUNDED}",
    ),
    _agrees_less(18, "gradient"),
    _agrees_less(19, "leave_one_out"),
    _along(
        17, "hidden", "greater",
        "Sparser attention goes with more contextualised hidden states: the influence on them is more spread",
        "section 1, which says that it may",
        "the mean entropy of inputs' influence on a hidden state, averaged within each text first",
        figure="trend-hidden", history="A claim of its own, added after numbers had been seen.",
    ),
    _duel(11, "softmax", "adversary_frozen", "Other attention over the same hidden states costs accuracy"),
    _duel(
        12, "softmax", "adversary_unfrozen", "A model trained from scratch with other attention keeps the accuracy"
    ),
    _duel(
        15, "sparsemax", "adversary_frozen", "Other attention over a sparsemax model's hidden states costs accuracy"
    ),
    _duel(
        16, "sparsemax", "adversary_unfrozen",
        "A model trained from scratch with attention other than a sparsemax model's keeps the accuracy",
    ),
    Rule(
        "sparsity-13",
        "Influence on the norm of a hidden state tells the same as influence on its components",
        "Appendix A",
        f"mean total variation of the two distributions over words, {EVERY} (how much of the influence lies on "
        f"other words), and the mean difference of their entropies, of which {MARGIN} either way counts as much as "
        f"{MOVED} of the first",
        same_influence,
        "less",
        MOVED,
        unit="of the influence",
        figure="facets",
        history="Judged first by entropies alone, and on one seed and ten texts; now also by the words that hold "
        "the influence, on every softmax model of the run.",
    ),
)  # fmt: skip
"""The paper's claims. Its text (8) and its table (7) disagree; both are put to the same number."""


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the numbers say: name of the check -> whether it does."""
    agreement, entropy = results.agreement, results.entropies
    shares = entropy[entropy["metric"] == "support_share"].groupby("projection")["value"].min()
    bounded = entropy[entropy["metric"] != "support"]["value"].dropna()
    found = {
        "no run failed": results.grid.failures.empty,
        "every model read the same texts": _same_texts(agreement, params),
        "a correlation exists where there is an order, and nowhere else": (
            agreement["value"].notna() == (agreement["status"] == "ordered")
        ).all(),
        "correlations lie between -1 and 1": agreement["value"].dropna().abs().le(1 + 1e-9).all(),
        "entropies and shares lie between 0 and 1": bounded.between(0, 1).all(),
        "sparsemax leaves at least one word": shares["sparsemax"] > 0,
    }
    if len(results.adversaries):
        apart = results.adversaries["jsd"].dropna()
        found["divergences lie between 0 and ln 2"] = apart.between(0, np.log(2) + 1e-9).all()
    return {name: bool(passed) for name, passed in found.items()}


def _same_texts(agreement: pd.DataFrame, params: Params) -> bool:
    """Whether every model of the grid is there, with as many texts as the others of its corpus."""
    model = [*KEYS, "seed"]
    sizes = agreement.groupby([*model, "importance"], dropna=False).size().groupby("dataset").nunique()
    expected = sum(len(models(params, corpus)) for corpus in params.corpora)
    return sizes.eq(1).all() and len(agreement.groupby(model, dropna=False)) == expected
