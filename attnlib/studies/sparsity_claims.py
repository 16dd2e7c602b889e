"""Claims of Meister et al. 2021, each with a rule fixed before real text was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.claims import Claim, Direction, judge, together
from attnlib.studies.common import contrast, summarise
from attnlib.studies.sparsity import PAPER, Results
from attnlib.studies.sparsity_tables import PAIR, accuracy_change, distances, trend, with_distance

HIGH = 0.45
"""Entropy of influence on hidden states that counts as high: the lowest mean the paper calls so is 0.46."""
MARGIN = 0.05
"""A change of normalised entropy below this is no change."""
KEPT = 0.03
"""A loss of accuracy below this is none: the largest that the paper prints for an unfrozen adversary is 0.02."""
FAR = 0.35
"""Distance (JSD, nats) from which attention counts as moved: half of ln 2, the most there is. An adversary that
stays nearer shows nothing about the price of moving."""

MOVED = 0.1
"""Share of influence (total variation) that may lie on other words where two measures of it "tell the same": a
tenth, so that a word's share is off by a fifth of itself on average. Entropy alone cannot tell: it stays equal when
the same shares go to other words."""


def claims(results: Results, setting: str) -> list[Claim]:
    """The ledger of the study."""
    said = {"paper": PAPER, "setting": setting}
    found = [_sparser(results.entropies, said), _dispersed(results.hidden, said), _own(results.hidden, said)]
    found += [_hidden_above_inputs(results.agreement, kind, said) for kind in ("gradient", "leave_one_out")]
    found += [_not_lower(results.entropies, said), *_signs(results.entropies, said)]
    found += [_falls(results.agreement, kind, said) for kind in ("gradient", "leave_one_out")]
    if len(results.adversaries):
        found += _adversaries(results.adversaries, said)
    if len(results.facets):
        found.append(_appendix(results.facets, said))
    return found


def every(
    rows: pd.DataFrame,
    direction: Direction,
    border: float,
    said: Mapping[str, Any],
    *,
    n_of: str = "texts",
    **own: Any,
) -> Claim:
    """A claim about every row (estimate or value, low, high, n): one failure refutes it; the weakest is reported.

    Rows with a true `silent` decide nothing and leave the claim undetermined.
    """
    rows = rows.rename(columns={"value": "estimate"}) if "estimate" not in rows else rows
    slack = {"greater": rows["estimate"], "less": -rows["estimate"], "within": -rows["estimate"].abs()}[direction]
    weakest = rows.loc[slack.fillna(-np.inf).idxmin()]
    silent = rows["silent"] if "silent" in rows else [False] * len(rows)
    verdicts = [
        "undetermined" if quiet else judge(low, high, direction, border)
        for low, high, quiet in zip(rows["low"], rows["high"], silent, strict=True)
    ]
    name = ", ".join(str(weakest[c]) for c in ("dataset", "encoder", "projection") if c in rows)
    cells = f"; the weakest of {len(rows)} cells is shown{name and f' ({name})'}" if len(rows) > 1 else ""
    return Claim(
        effect=float(weakest["estimate"]),
        low=float(weakest["low"]),
        high=float(weakest["high"]),
        n=int(weakest["n"]),
        verdict=together(verdicts),
        n_of=n_of,
        **{**said, "setting": f"{said['setting']}{cells}", **own},
    )


def _sparser(entropies: pd.DataFrame, said: dict) -> Claim:
    part = entropies[entropies["metric"] == "support_share"]
    return every(
        trend(part, ["dataset", "encoder"]),
        "less",
        0.0,
        said,
        id="sparsity-1",
        claim="A larger λ gives sparser attention",
        where="section 2, eq. 3",
        test="Kendall τ-b of λ with the share of words that get any weight is below 0 for every encoder and corpus",
    )


def _dispersed(hidden: pd.DataFrame, said: dict) -> Claim:
    part = hidden[hidden["projection"].isin(PAIR)]
    return every(
        summarise(part, ["dataset", "encoder", "projection"]),
        "greater",
        HIGH,
        said,
        id="sparsity-2",
        claim="A hidden state depends on many inputs: the entropy of their influence is high",
        where="section 4, Table 1",
        test=f"mean normalised entropy is above {HIGH} for every encoder and corpus, with softmax and sparsemax",
        n_of="hidden states",
    )


def _own(hidden: pd.DataFrame, said: dict) -> Claim:
    part = hidden[hidden["projection"].isin(PAIR)]
    return every(
        summarise(part.assign(value=part["own"]), ["dataset", "encoder", "projection"]),
        "less",
        0.5,
        said,
        id="sparsity-3",
        claim="Inputs and hidden states are far from one-to-one: a state's own word has under half the influence",
        where="section 4",
        test="mean share of the co-indexed word is below 0.5 for every encoder and corpus, with softmax and with "
        "sparsemax",
        n_of="hidden states",
    )


def _hidden_above_inputs(agreement: pd.DataFrame, kind: str, said: dict) -> Claim:
    part = agreement[agreement["projection"].isin(PAIR)]
    sides = f"{kind}_hidden", f"{kind}_input"
    by = ["dataset", "encoder", "projection"]
    number, where = {"gradient": (4, "Figure 1, Table 6"), "leave_one_out": (5, "Figure 4, Table 6")}[kind]
    words = {"gradient": "gradient", "leave_one_out": "leave-one-out"}[kind]
    return every(
        contrast(part, "importance", *sides, by),
        "greater",
        0.0,
        said,
        id=f"sparsity-{number}",
        claim=f"Attention agrees more with the {words} importance of hidden states than with that of inputs",
        where=where,
        test="paired difference of Kendall τ-b is above 0 for every encoder and corpus, with softmax and sparsemax",
    )


def _not_lower(entropies: pd.DataFrame, said: dict) -> Claim:
    part = entropies[entropies["metric"] == "entropy_gradient_input"]
    return every(
        contrast(part, "projection", "sparsemax", "softmax", ["dataset", "encoder"]),
        "greater",
        -MARGIN,
        said,
        id="sparsity-6",
        claim="Sparse attention does not make the importance of inputs sparse",
        where="section 4, Figure 2",
        test=f"entropy of gradient importance with sparsemax is less than {MARGIN} below that with softmax",
    )


def _signs(entropies: pd.DataFrame, said: dict) -> list[Claim]:
    """Text and table of the paper disagree; both are put to the same number."""
    part = entropies[entropies["metric"] == "entropy_gradient_input"]
    found = trend(part, ["dataset", "encoder"])
    rule = (
        "Kendall τ-b of λ (larger: sparser) with the mean entropy of gradient importance is {} 0 for every encoder "
        "and corpus"
    )
    return [
        every(
            found,
            "less",
            0.0,
            said,
            id="sparsity-7",
            claim="As printed in the table: λ and the entropy of input importance correlate negatively",
            where="Table 2",
            test=rule.format("below"),
        ),
        every(
            found,
            "greater",
            0.0,
            said,
            id="sparsity-8",
            claim="As the text has it: the entropy of input importance rises with the degree of sparsity",
            where="section 4",
            test=rule.format("above"),
        ),
    ]


def _falls(agreement: pd.DataFrame, kind: str, said: dict) -> Claim:
    part = agreement[agreement["importance"] == f"{kind}_input"]
    number, words = {"gradient": (9, "gradient"), "leave_one_out": (10, "leave-one-out")}[kind]
    return every(
        trend(part, ["dataset", "encoder"]),
        "less",
        0.0,
        said,
        id=f"sparsity-{number}",
        claim=f"Attention agrees less with the {words} importance of inputs as λ grows",
        where="section 4, Figure 3",
        test="Kendall τ-b of λ with the mean agreement is below 0 for every encoder and corpus",
    )


def _adversaries(adversaries: pd.DataFrame, said: dict) -> list[Claim]:
    change = accuracy_change(adversaries)
    push = change["push"].max()
    change = change[change["push"] == push]
    change = with_distance(change, adversaries)
    change["silent"] = ~(change["jsd"] > FAR)
    seeds = adversaries["seed"].nunique()
    said = {**said, "setting": f"{said['setting']}; adversaries with λ = {push:g}, {seeds} seed(s)"}
    return [
        every(
            change[change["variant"] == "adversary_frozen"],
            "less",
            0.0,
            said,
            id="sparsity-11",
            claim="Other attention over the same hidden states costs accuracy",
            where="Table 5, adversary frozen",
            test="accuracy of the adversary minus that of its base is below 0 for every base and corpus, at the "
            f"top λ; an adversary whose attention is within {FAR} nats of its base decides nothing",
        ),
        every(
            change[change["variant"] == "adversary_unfrozen"],
            "greater",
            -KEPT,
            said,
            id="sparsity-12",
            claim="A model trained anew with other attention keeps the accuracy",
            where="Table 5, adversary unfrozen",
            test=f"accuracy of the adversary is less than {KEPT} below its base's for every base and corpus, at "
            f"the top λ; one whose attention is within {FAR} nats of its base decides nothing",
        ),
    ]


def _appendix(facets: pd.DataFrame, said: dict) -> Claim:
    """Same spread and same words: the entropies are close, and so are the two distributions over words."""
    by = ["dataset", "encoder"]
    spread = summarise(facets.assign(value=facets["of_norm"] - facets["of_facets"]), by)
    apart = every(
        summarise(facets.assign(value=distances(facets)), by),
        "less",
        MOVED,
        said,
        id="sparsity-13",
        claim="Influence on the norm of a hidden state tells the same as influence on its components",
        where="Appendix A",
        test=f"mean total variation of the two distributions over words is below {MOVED} (less than a tenth of the "
        "influence lies on other words; a word's share is then off by under a fifth of itself on average), and the "
        f"mean difference of their entropies is within {MARGIN} of 0, for every encoder and corpus; the effect "
        "shown is the total variation",
        n_of="hidden states",
    )
    entropies = [
        judge(low, high, "within", MARGIN) for low, high in zip(spread["low"], spread["high"], strict=True)
    ]
    return replace(apart, verdict=together([apart.verdict, *entropies]))
