"""Claims of Meister et al. 2021, each with its rule; the notebook says which changed after numbers were seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.claims import Claim, Direction, judge, together
from attnlib.narrate import plural
from attnlib.studies.common import contrast, summarise
from attnlib.studies.sparsity import PAPER, Results
from attnlib.studies.sparsity_tables import FAR, PAIR, distances, least_push
from attnlib.studies.sparsity_trends import LEVEL, trend

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
WORDS = {"gradient": "gradient", "leave_one_out": "leave-one-out"}
SIDES = {"less": "below", "greater": "above"}
CHANCE = (
    f"; a cell decides nothing unless shuffling λ among the models of each seed gives p < {LEVEL} (two-sided "
    "permutation test of the mean τ-b: every λ is a training of its own)"
)
"""What every rule on a trend adds."""


def claims(results: Results) -> list[Claim]:
    """The ledger of the study."""
    found = [_sparser(results.entropies), _dispersed(results.hidden), _own(results.hidden)]
    found += [_hidden_above_inputs(results.agreement, kind) for kind in WORDS]
    found += [_not_lower(results.entropies, kind) for kind in WORDS]
    found += _signs(results.entropies)
    found += [_falls(results.agreement, kind) for kind in WORDS]
    if len(results.adversaries):
        found += _adversaries(results.adversaries)
    if len(results.facets):
        found.append(_appendix(results.facets))
    return found


def setting(frame: pd.DataFrame) -> str:
    """Corpora with their texts, and seeds, of the rows that a claim rests on."""
    texts = frame.groupby("dataset", sort=False)["instance"].nunique()
    corpora = ", ".join(f"{name}: {plural(int(n), 'test text')}" for name, n in texts.items())
    return f"{corpora}; {plural(frame['seed'].nunique(), 'seed')}"


def per_seed(frame: pd.DataFrame, what: str) -> str:
    """What the n of a mean over texts and seeds counts."""
    return f"{what} × seeds" if len(frame["seed"].unique()) > 1 else what


def every(
    rows: pd.DataFrame, direction: Direction, border: float, frame: pd.DataFrame, *, n_of: str, **own: Any
) -> Claim:
    """A claim about every row (estimate or value, low, high, n) made of `frame`: one failure refutes it.

    Rows with a true `silent` decide nothing and leave the claim undetermined. Shown is the weakest of the rows that
    decided: those whose verdict is the joint one, silent ones last. `note` is what else to say of a row.
    """
    rows = rows.rename(columns={"value": "estimate"}) if "estimate" not in rows else rows
    silent = rows["silent"].astype(bool) if "silent" in rows else pd.Series(False, rows.index)
    verdicts = pd.Series(
        [
            "undetermined" if quiet else judge(low, high, direction, border)
            for low, high, quiet in zip(rows["low"], rows["high"], silent, strict=True)
        ],
        rows.index,
    )
    verdict = together(verdicts)
    deciding = rows[verdicts == verdict]
    heard = deciding[~silent[deciding.index]]
    shown = heard if len(heard) else deciding
    slack = {"greater": shown["estimate"], "less": -shown["estimate"], "within": -shown["estimate"].abs()}[
        direction
    ]
    weakest = shown.loc[slack.fillna(-np.inf).idxmin()]
    said = [str(weakest[c]) for c in ("dataset", "encoder", "projection", "note") if c in rows]
    said += ["silent"] if silent[weakest.name] else []
    cells = f"of {len(rows)} cells {len(deciding)} {verdict}, the weakest of these shown" if len(rows) > 1 else ""
    parts = [setting(frame), cells, ", ".join(said)]
    return Claim(
        paper=PAPER,
        setting="; ".join(part for part in parts if part),
        effect=float(weakest["estimate"]),
        low=float(weakest["low"]),
        high=float(weakest["high"]),
        n=int(weakest["n"]),
        verdict=verdict,
        n_of=n_of,
        **own,
    )


def _sparser(entropies: pd.DataFrame) -> Claim:
    part = entropies[entropies["metric"] == "support_share"]
    return every(
        trend(part, ["dataset", "encoder"]),
        "less",
        0.0,
        _on_path(part),
        n_of="texts",
        id="sparsity-1",
        claim="A larger λ gives sparser attention",
        where="section 2, eq. 3",
        test="Kendall τ-b of λ with the share of words that get any weight is below 0 for every encoder and corpus"
        + CHANCE,
    )


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
        test=f"mean normalised entropy is above {HIGH} for every encoder and corpus, with softmax and sparsemax",
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
        "corpus, with softmax and with sparsemax",
    )


def _hidden_above_inputs(agreement: pd.DataFrame, kind: str) -> Claim:
    sides = f"{kind}_hidden", f"{kind}_input"
    part = agreement[agreement["projection"].isin(PAIR) & agreement["importance"].isin(sides)]
    number, where = {"gradient": (4, "Figure 1, Table 6"), "leave_one_out": (5, "Figure 4, Table 6")}[kind]
    return every(
        contrast(part, "importance", *sides, ["dataset", "encoder", "projection"]),
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
        contrast(part, "projection", "sparsemax", "softmax", ["dataset", "encoder"]),
        "greater",
        -MARGIN,
        part,
        n_of=per_seed(part, "texts"),
        id=f"sparsity-{number}",
        claim=f"Sparse attention does not make the {WORDS[kind]} importance of inputs sparse",
        where="section 4, Figure 2",
        test=f"entropy of {WORDS[kind]} importance with sparsemax is less than {MARGIN} below that with softmax, "
        "paired by text, for every encoder and corpus",
    )


def _signs(entropies: pd.DataFrame) -> list[Claim]:
    """Text and table of the paper disagree; both are put to the same number."""
    part = entropies[entropies["metric"] == "entropy_gradient_input"]
    found = trend(part, ["dataset", "encoder"])
    rule = (
        "Kendall τ-b of λ (larger: sparser) with the mean entropy of gradient importance is {} 0 for every encoder "
        "and corpus" + CHANCE
    )
    said = {
        "less": {
            "id": "sparsity-7",
            "claim": "As printed in the table: λ and the entropy of input importance correlate negatively",
            "where": "Table 2",
            "test": rule.format("below"),
        },
        "greater": {
            "id": "sparsity-8",
            "claim": "As the text has it: the entropy of input importance rises with the degree of sparsity",
            "where": "section 4",
            "test": rule.format("above"),
        },
    }
    return [every(found, side, 0.0, _on_path(part), n_of="texts", **own) for side, own in said.items()]


def _falls(agreement: pd.DataFrame, kind: str) -> Claim:
    part = agreement[agreement["importance"] == f"{kind}_input"]
    number = {"gradient": 9, "leave_one_out": 10}[kind]
    return every(
        trend(part, ["dataset", "encoder"]),
        "less",
        0.0,
        _on_path(part),
        n_of="texts",
        id=f"sparsity-{number}",
        claim=f"Attention agrees less with the {WORDS[kind]} importance of inputs as λ grows",
        where="section 4, Figure 3",
        test="Kendall τ-b of λ with the mean agreement is below 0 for every encoder and corpus" + CHANCE,
    )


def _on_path(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["lam"].notna()]


def _adversaries(adversaries: pd.DataFrame) -> list[Claim]:
    """Softmax bases, which are the paper's; sparsemax ones are claims of their own."""
    chosen = least_push(adversaries)
    rule = (
        " for every encoder and corpus, each judged at the weakest push (λ) that takes attention more than "
        f"{FAR} nats from its base's on average; where no push does, the cell decides nothing"
    )
    said = {
        ("softmax", "adversary_frozen"): (11, "Other attention over the same hidden states costs accuracy"),
        ("softmax", "adversary_unfrozen"): (12, "A model trained anew with other attention keeps the accuracy"),
        ("sparsemax", "adversary_frozen"): (
            15,
            "Other attention over a sparsemax model's hidden states costs accuracy",
        ),
        ("sparsemax", "adversary_unfrozen"): (
            16,
            "A model trained anew with attention other than a sparsemax model's keeps the accuracy",
        ),
    }
    found = []
    for (base, variant), (number, claim) in said.items():
        rows, part = (f[(f["projection"] == base) & (f["variant"] == variant)] for f in (chosen, adversaries))
        direction, border = ("less", 0.0) if variant == "adversary_frozen" else ("greater", -KEPT)
        if len(rows):
            one = every(
                rows,
                direction,
                border,
                part,
                n_of=per_seed(part, "texts"),
                id=f"sparsity-{number}",
                claim=claim,
                where=f"Table 5, {variant.replace('_', ' ')}"
                + ("" if base == "softmax" else "; the paper's bases are softmax models"),
                test=f"accuracy of the adversary minus its {base} base's is {SIDES[direction]} {border:g}{rule}",
            )
            found.append(one)
    return found


def _appendix(facets: pd.DataFrame) -> Claim:
    """Same spread and same words: the entropies are close, and so are the two distributions over words."""
    by = ["dataset", "encoder"]
    spread = summarise(facets.assign(value=facets["of_norm"] - facets["of_facets"]), by)
    apart = every(
        summarise(facets.assign(value=distances(facets)), by),
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
    entropies = [
        judge(low, high, "within", MARGIN) for low, high in zip(spread["low"], spread["high"], strict=True)
    ]
    verdict = together([apart.verdict, *entropies])
    decided = "" if verdict == apart.verdict else "; the difference of entropies decides"
    return replace(apart, verdict=verdict, setting=f"{apart.setting}{decided}")
