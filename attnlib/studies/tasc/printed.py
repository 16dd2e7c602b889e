"""What the paper prints of the effects that its claims are judged by."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib.studies.beside import printed, reference
from attnlib.studies.datasets import kin
from attnlib.studies.ledger import Printed
from attnlib.studies.tasc.claim_effects import learned, name, rivals
from attnlib.studies.tasc.grid import BASELINES, CELL, Results
from attnlib.studies.tasc.tables import NAMES, compared

MEAN = "mean over its corpora and encoders"


def performance(results: Results) -> dict[str, Printed]:
    """The changes of the paper's Table 2, for the same encoder and attentions and the closest corpora."""
    found = {}
    for encoder in results.labels["encoder"].unique():
        rows, where = _closest(2, results.labels[results.labels["encoder"] == encoder])
        means = rows.groupby("variant")["value"].mean()
        for variant in means.index.drop("none"):
            found[f"{NAMES[variant]}, {name(encoder)}"] = Printed(means[variant] - means["none"], where)
    return found


def gain(results: Results, ranking: str = "alpha_grad", encoder: str | None = None) -> Printed:
    """What Lin-TaSc changes in the paper's Table 4, with the attentions of the run, or of one encoder in it."""
    flips = results.flips if encoder is None else results.flips[results.flips["encoder"] == encoder]
    return _changed(4, flips, ("lin", ranking), ("none", ranking))


def gains(results: Results) -> dict[str, Printed]:
    """The same for each encoder, with the attentions that it has in the run."""
    return {name(e): gain(results, encoder=e) for e in results.flips["encoder"].unique()}


def gain_of_dot(results: Results) -> Printed:
    """The gain of Dot minus that of Tanh in the paper's Table 3."""
    dot, tanh = (
        _changed(3, results.flips[results.flips["attention"] == a], ("lin", "alpha_grad"), ("none", "alpha_grad"))
        for a in ("dot", "additive")
    )
    return Printed(dot.value - tanh.value, dot.where)


def rankings(results: Results, table: int) -> dict[str, Printed]:
    """The differences between rankings in the paper's Table 3 or 4."""
    return {
        case: _changed(table, results.flips, (variant, "alpha_grad"), (variant, other))
        for case, variant, other in rivals(results)
    }


def alpha(results: Results) -> dict[str, Printed]:
    """What each variant changes for α in the paper's Table 3."""
    return {
        NAMES[v]: _changed(3, results.flips, (v, "alpha"), ("none", "alpha"))
        for v in results.flips["variant"].unique()
        if v != "none"
    }


def tanh(results: Results) -> Printed:
    """Tanh minus Dot without TaSc in the paper's Table 3, mean over the rankings."""
    tanh, dot = (printed("tasc", 3, variant="none", attention=a) for a in ("additive", "dot"))
    return Printed(tanh - dot, f"Table 3, {MEAN}")


def wins(results: Results) -> Printed:
    """The share of cells in the paper's Table 5 where α∇α with Lin-TaSc has the smallest fraction.

    Cells that are equal at the two digits printed count neither way.
    """
    rows, where = _closest(5, compared(learned(results)))
    wide = rows.pivot_table(index=CELL, columns="importance", values="value")
    gap = wide["alpha_grad"] - wide[list(BASELINES)].min(axis=1)
    return Printed((gap[gap != 0] < 0).mean(), f"{where}, ties left out")


def _changed(table: int, flips: pd.DataFrame, a: tuple[str, str], b: tuple[str, str]) -> Printed:
    """A variant and ranking minus another in the paper's Table 3 or 4, mean over the attentions of a frame."""
    sides = [
        np.mean(
            [printed("tasc", table, attention=one, variant=v, importance=r) for one in flips["attention"].unique()]
        )
        for v, r in (a, b)
    ]
    return Printed(float(sides[0] - sides[1]), f"Table {table}, {MEAN}")


def _closest(table: int, found: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of a table of the paper for the cells of a frame, as far as it has them, and how to cite them."""
    rows, means = reference("tasc", table), []
    for column, every in (("dataset", "corpora"), ("encoder", "encoders"), ("attention", "attentions")):
        ours = {kin(name) if column == "dataset" else name for name in found[column].unique()}
        if ours.isdisjoint(rows[column]):
            means.append(every)
        else:
            rows = rows[rows[column].isin(ours)]
    corpora = ", ".join(rows["dataset"].unique()).upper()
    return rows, f"Table {table}, " + (f"mean over its {' and '.join(means)}" if means else corpora)
