"""Claims of Meister et al. 2021, each with its rule; the notebook says which changed after numbers were seen.

They rest on the models that learned something (`sparsity.learned`). A claim without any is not tested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.studies.common import claim as from_row
from attnlib.studies.common import contrast, summarise
from attnlib.studies.f1 import RULE as RULE_LEARNED
from attnlib.studies.ledger import Claim, Direction, judge, not_tested, together
from attnlib.studies.sparsity.grid import PAPER, Results, learned
from attnlib.studies.sparsity.params import PAIR
from attnlib.studies.sparsity.tables import FAR, distances, least_push
from attnlib.studies.sparsity.trainings import RULE, contrast_trainings
from attnlib.studies.sparsity.trends import LEVEL, rows_of, trends
from attnlib.utils.text import plural

HIGH = 0.45
"""Entropy of influence on hidden states that counts as high: the lowest mean the paper calls so is 0.46."""
MARGIN = 0.05
"""A change of normalised entropy below this is no change."""
KEPT = 0.03
"""A loss of accuracy below this is none: the largest that the paper prints for an unfrozen adversary is 0.02."""
MOVED = 0.1
"""Share of influence (total variation) that may lie on other words where two measures of it "tell the same": a
tenth, so that a word's share is off by a fifth of itself on average. Entropy alone cannot tell: it stays equal when
the same shares go to other words."""
NOTHING = (
    "No model of this run can answer it: those that it needs are not part of the run, learned nothing "
    f"({RULE_LEARNED}), or met no text to measure."
)
WORDS = {"gradient": "gradient", "leave_one_out": "leave-one-out"}
SIDES = {"less": "below", "greater": "above"}
CHANCE = (
    f"; a cell decides nothing unless shuffling λ among the models of each seed gives p < {LEVEL} (two-sided "
    "permutation test of the mean τ-b: every λ is a training of its own)"
)
"""What every rule on a trend adds."""


def claims(results: Results, trended: dict[str, pd.DataFrame] | None = None) -> list[Claim]:
    """The ledger of the study. `trended`: what `trends(results)` gave, where it is there already."""
    trended = trends(results) if trended is None else trended
    results = learned(results)
    found = [_along(results, trended, 1), _dispersed(results.hidden), _own(results.hidden)]
    found += [_hidden_above_inputs(results.agreement, kind) for kind in WORDS]
    found += [_not_lower(results.entropies, kind) for kind in WORDS]
    found += [_along(results, trended, number) for number in (7, 8, 9, 10, 17)]
    return [*found, *_adversaries(results.adversaries), _appendix(results.facets)]


def setting(frame: pd.DataFrame) -> str:
    """Corpora with their texts, and seeds, of the rows that a claim rests on."""
    if frame.empty:
        return "no model"
    texts = frame.groupby("dataset", sort=False)["instance"].nunique()
    corpora = ", ".join(f"{name}: {plural(int(n), 'test text')}" for name, n in texts.items())
    return f"{corpora}; {plural(frame['seed'].nunique(), 'seed')}"


def per_seed(frame: pd.DataFrame, what: str) -> str:
    """What the n of a mean over texts and seeds counts."""
    return f"{what} × seeds" if len(set(frame.get("seed", ()))) > 1 else what


def every(
    rows: pd.DataFrame, direction: Direction, border: float, frame: pd.DataFrame, *, n_of: str, **own: Any
) -> Claim:
    """A claim about every row (estimate or value, low, high, n) made of `frame`: one failure refutes it.

    Rows that measured nothing (n = 0) do not count, and without another the claim is not tested. Rows with a true
    `silent` decide nothing and leave it undetermined. Shown is the weakest of the rows that
    decided: those whose verdict is the joint one, silent ones last. `note` is what else to say of a row.
    """
    measured = rows[rows["n"] > 0] if len(rows) else rows
    if measured.empty:
        return not_tested(NOTHING, paper=PAPER, setting=setting(frame), n_of=n_of, **own)
    lost, rows = len(rows) - len(measured), measured
    rows = rows.rename(columns={"value": "estimate"}) if "estimate" not in rows else rows
    rows = rows.assign(silent=rows["silent"].astype(bool) if "silent" in rows else False)
    verdicts = pd.Series(
        [
            "undetermined" if quiet else judge(low, high, direction, border)
            for low, high, quiet in zip(rows["low"], rows["high"], rows["silent"], strict=True)
        ],
        rows.index,
    )
    verdict = together(verdicts)
    deciding = rows[verdicts == verdict]
    weakest = _weakest(deciding, direction)
    said = [str(weakest[c]) for c in ("dataset", "encoder", "projection", "note") if c in rows and weakest[c]]
    said += ["silent"] if weakest["silent"] else []
    cells = f"of {len(rows)} cells {len(deciding)} {verdict}, the weakest of these shown" if len(rows) > 1 else ""
    parts = [setting(frame), f"{plural(lost, 'cell')} not tested" if lost else "", cells, ", ".join(said)]
    said = {"paper": PAPER, "setting": "; ".join(part for part in parts if part), "n_of": n_of, **own}
    return from_row(weakest, direction, border, verdict=verdict, **said)


def _weakest(rows: pd.DataFrame, direction: Direction) -> pd.Series:
    """The row with the least room on the claimed side, silent ones last."""
    heard = rows[~rows["silent"]]
    shown = heard if len(heard) else rows
    effect = shown["estimate"]
    slack = {"greater": effect, "less": -effect, "within": -effect.abs()}[direction]
    return shown.loc[slack.fillna(-np.inf).idxmin()]


def _dispersed(hidden: pd.DataFrame) -> Claim:
    part = hidden[hidden["projection"].isin(PAIR)]
    return every(
        summarise(part, ["dataset", "encoder", "projection"]),
        "greater",
        HIGH,
        part,
        n_of=per_seed(part, "hidden states"),
        id="sparsity-2",
        claim="A hidden state depends on many inputs: the entropy of their influence is high",
        where="section 4, Table 1",
        test=f"mean normalised entropy is above {HIGH} for every encoder and corpus, with softmax and sparsemax; "
        "the paper names no border: this is ours, just below 0.46, the lowest mean that it prints and calls high",
    )


def _own(hidden: pd.DataFrame) -> Claim:
    part = hidden[hidden["projection"].isin(PAIR)]
    return every(
        summarise(part.assign(value=part["own"]), ["dataset", "encoder", "projection"]),
        "less",
        0.5,
        part,
        n_of=per_seed(part, "hidden states"),
        id="sparsity-3",
        claim="Inputs and hidden states are far from one-to-one: a state's own word has under half the influence",
        where="section 4",
        test="mean share of the co-indexed word, in texts of two words or more, is below 0.5 for every encoder and "
        "corpus, with softmax and with sparsemax; the paper measures no such share: the border is ours, since from "
        "half on a state would owe more to its own word than to all others together",
    )


def _hidden_above_inputs(agreement: pd.DataFrame, kind: str) -> Claim:
    sides = f"{kind}_hidden", f"{kind}_input"
    part = agreement[agreement["projection"].isin(PAIR) & agreement["importance"].isin(sides)]
    number, where = {"gradient": (4, "Figure 1, Table 6"), "leave_one_out": (5, "Figure 4, Table 6")}[kind]
    return every(
        contrast(part, "importance", *sides, ["dataset", "encoder", "projection"]) if len(part) else part,
        "greater",
        0.0,
        part,
        n_of=per_seed(part, "texts"),
        id=f"sparsity-{number}",
        claim=f"Attention agrees more with the {WORDS[kind]} importance of hidden states than with that of inputs",
        where=where,
        test="paired difference of Kendall τ-b is above 0 for every encoder and corpus, with softmax and sparsemax",
    )


def _not_lower(entropies: pd.DataFrame, kind: str) -> Claim:
    part = entropies[(entropies["metric"] == f"entropy_{kind}_input") & entropies["projection"].isin(PAIR)]
    number = {"gradient": 6, "leave_one_out": 14}[kind]
    return every(
        contrast_trainings(part, "projection", "sparsemax", "softmax", ["dataset", "encoder"]),
        "greater",
        -MARGIN,
        part,
        n_of=per_seed(part, "texts"),
        id=f"sparsity-{number}",
        claim=f"Sparse attention, here sparsemax, does not make the {WORDS[kind]} importance of inputs sparse",
        where="section 4, Figure 2",
        test=f"entropy of {WORDS[kind]} importance with sparsemax is less than {MARGIN} below that with softmax, "
        "paired by text and seed, for every encoder and corpus" + RULE,
    )


ALONG: dict[int, tuple[str, Direction, str, str, str]] = {
    1: (
        "support",
        "less",
        "A larger λ gives sparser attention",
        "section 2, eq. 3",
        "the share of words that get any weight",
    ),
    7: (
        "entropy",
        "less",
        "As printed in the table: λ and the entropy of input importance correlate negatively",
        "Table 2",
        "the mean entropy of gradient importance",
    ),
    8: (
        "entropy",
        "greater",
        "As the text has it: the entropy of input importance rises with the degree of sparsity",
        "section 4",
        "the mean entropy of gradient importance",
    ),
    9: (
        "gradient",
        "less",
        "Attention agrees less with the gradient importance of inputs as λ grows",
        "section 4, Figure 3",
        "the mean agreement",
    ),
    10: (
        "leave_one_out",
        "less",
        "Attention agrees less with the leave-one-out importance of inputs as λ grows",
        "section 4, Figure 3",
        "the mean agreement",
    ),
    17: (
        "hidden",
        "greater",
        "Sparser attention goes with more contextualised hidden states: the influence on them is more spread",
        "section 1, which says that it may",
        "the mean entropy of inputs' influence on a hidden state, averaged within each text first",
    ),
}
"""Claims along λ: number -> trend, direction, claim, where, what is correlated. Text (8) and table (7) of the paper
disagree; both are put to the same number."""


def _along(results: Results, trended: dict[str, pd.DataFrame], number: int) -> Claim:
    name, direction, claim, where, what = ALONG[number]
    return every(
        trended[name],
        direction,
        0.0,
        rows_of(results, name),
        n_of="texts",
        id=f"sparsity-{number}",
        claim=claim,
        where=where,
        test=f"Kendall τ-b of λ (larger: sparser) with {what} is {SIDES[direction]} 0 for every encoder and corpus"
        + CHANCE,
    )


ADVERSARIAL = {
    ("softmax", "adversary_frozen"): (11, "Other attention over the same hidden states costs accuracy"),
    ("softmax", "adversary_unfrozen"): (12, "A model trained from scratch with other attention keeps the accuracy"),
    ("sparsemax", "adversary_frozen"): (
        15,
        "Other attention over a sparsemax model's hidden states costs accuracy",
    ),
    ("sparsemax", "adversary_unfrozen"): (
        16,
        "A model trained from scratch with attention other than a sparsemax model's keeps the accuracy",
    ),
}
"""Claims about adversaries, by base and kind: number and claim. Softmax bases are the paper's."""


def _adversaries(adversaries: pd.DataFrame) -> list[Claim]:
    chosen = least_push(adversaries) if len(adversaries) else adversaries
    found = []
    for (base, variant), (number, claim) in ADVERSARIAL.items():
        rows, part = (
            f[(f["projection"] == base) & (f["variant"] == variant)] if len(f) else f for f in (chosen, adversaries)
        )
        found.append(_duel(rows, part, base, variant, number, claim))
    return found


def _duel(rows: pd.DataFrame, part: pd.DataFrame, base: str, variant: str, number: int, claim: str) -> Claim:
    direction, border = ("less", 0.0) if variant == "adversary_frozen" else ("greater", -KEPT)
    ours = "" if base == "softmax" else "; the paper's bases are softmax models"
    return every(
        rows,
        direction,
        border,
        part,
        n_of=per_seed(part, "texts"),
        id=f"sparsity-{number}",
        claim=claim,
        where=f"Table 5, {variant.replace('_', ' ')}{ours}",
        test=f"accuracy of the adversary minus its {base} base's is {SIDES[direction]} {border:g} for every "
        f"encoder and corpus, each judged at the weakest push (λ above 0) that takes attention more than {FAR} "
        "nats from its base's on average; a cell decides nothing where no push does, or where the control (λ = 0: "
        f"initialised again and trained as long, not pushed) loses accuracy too{RULE}",
    )


def _appendix(facets: pd.DataFrame) -> Claim:
    """Same spread and same words: the entropies are close, and so are the two distributions over words."""
    by = ["dataset", "encoder"]
    spread = summarise(facets.assign(value=facets["of_norm"] - facets["of_facets"]), by) if len(facets) else facets
    apart = every(
        summarise(facets.assign(value=distances(facets)), by) if len(facets) else facets,
        "less",
        MOVED,
        facets,
        n_of=per_seed(facets, "hidden states"),
        id="sparsity-13",
        claim="Influence on the norm of a hidden state tells the same as influence on its components",
        where="Appendix A",
        test=f"mean total variation of the two distributions over words is below {MOVED} (less than a tenth of the "
        "influence lies on other words; a word's share is then off by under a fifth of itself on average), and the "
        f"mean difference of their entropies is within {MARGIN} of 0, for every encoder and corpus; the effect "
        "shown is the total variation",
    )
    if apart.verdict == "not tested":
        return apart
    entropies = [
        judge(low, high, "within", MARGIN) for low, high in zip(spread["low"], spread["high"], strict=True)
    ]
    verdict = together([apart.verdict, *entropies])
    decided = "" if verdict == apart.verdict else "; the difference of entropies decides"
    return replace(apart, verdict=verdict, setting=f"{apart.setting}{decided}")
