"""The effects behind the rules of `claims.yaml`, and what must hold whatever the data.

All rest on the models that learned something (`Results.learned`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attnlib.stats.inference import NAN, Effect, contrast, effect
from attnlib.studies.beside import nearest, printed
from attnlib.studies.ledger import Printed
from attnlib.studies.rules import read_rules
from attnlib.studies.sparsity import tables
from attnlib.studies.sparsity.grid import KEYS, Results
from attnlib.studies.sparsity.params import Params, models
from attnlib.studies.sparsity.tables import CELL, CHANGE, DUEL, KINDS, MODEL, NAMES, SHARE, TAU_GAP

MARGIN = 0.05
"""A change of normalised entropy below this is no change."""
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
        own, where = nearest(value, **row)
        found[case(*row.values())] = Printed(own, f"Table {table}, {where}")
    return found


def printed_mean(results: Results, table: int, by: Sequence[str], **where: str) -> dict[str, Printed]:
    """Case -> what a table of the paper prints there."""
    return theirs(results, by, partial(printed, "sparsity", table, **where), table)


def printed_gaps(results: Results, kind: str) -> dict[str, Printed]:
    """Case -> agreement with hidden states minus that with inputs (Table 6)."""
    return theirs(results, MODEL, partial(tables.printed_gap, kind), 6)


def printed_changes(results: Results, kind: str) -> dict[str, Printed]:
    """Case -> agreement with inputs of sparsemax minus that of softmax (Table 6)."""
    return theirs(results, CELL, partial(tables.printed_change, kind), 6)


def dispersion(results: Results, column: str) -> Cases:
    """Mean over hidden states: the entropy of the influence on them, or the share of their own word."""
    return each(tables.states(tables.pair(results.learned.hidden), column), MODEL, partial(effect, bounds=SHARE))


def above_inputs(results: Results, kind: str) -> Cases:
    """Agreement with hidden states minus that with inputs, paired by text within a model."""
    sides = f"{kind}_hidden", f"{kind}_input"
    part = tables.pair(results.learned.agreement)
    part = part[part["importance"].isin(sides)]
    return each(part, MODEL, lambda rows: _contrast(rows, "importance", *sides, bounds=TAU_GAP))


def sparsemax_effect(results: Results, name: str) -> Cases:
    """What sparsemax changes against softmax, paired by text and seed; `name`: a key of `tables.FOLLOWED`."""
    bounds = TAU_GAP if name in KINDS else CHANGE
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


RULES = read_rules(__file__, globals())


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
