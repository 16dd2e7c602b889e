"""The rules of `claims.yaml`, what the paper prints of each effect of `claim_effects`, and the checks."""

from __future__ import annotations

import pandas as pd

from attnlib.stats.jackknife import f1_values
from attnlib.studies import beside
from attnlib.studies.datasets import kin
from attnlib.studies.ledger import Printed, ledger
from attnlib.studies.rules import read_rules
from attnlib.studies.tasc import claim_effects as effects
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, TOP1, Results, cells, unbalanced_cells
from attnlib.studies.tasc.params import Params
from attnlib.studies.tasc.tables import NAMES, compared

MEAN = "mean over its corpora and encoders"
BY_CORPUS = ("tasc-3", "tasc-9", "tasc-10", "tasc-13")
"""Claims that may hang on the balance of the classes."""


def performance(results: Results) -> dict[str, Printed]:
    """The changes of the paper's Table 2, for the same encoder and attentions and the closest corpora."""
    found = {}
    for encoder, labels in results.labels.groupby("encoder", sort=False):
        rows, where = _closest(2, labels)
        means = rows.groupby("variant")["value"].mean()
        for variant in means.index.drop("none"):
            found[f"{NAMES[variant]}, {effects.name(encoder)}"] = Printed(means[variant] - means["none"], where)
    return found


def gain(results: Results, ranking: str = "alpha_grad", encoder: str | None = None) -> Printed:
    """What Lin-TaSc changes in the paper's Table 4, with the attentions of the run, or of one encoder in it."""
    flips = results.flips if encoder is None else results.flips[results.flips["encoder"] == encoder]
    return _changed(4, flips, ("lin", ranking), ("none", ranking))


def gains(results: Results) -> dict[str, Printed]:
    """The same for each encoder, with the attentions that it has in the run."""
    return {effects.name(e): gain(results, encoder=e) for e in results.flips["encoder"].unique()}


def gain_of_dot(results: Results) -> Printed:
    """The gain of Dot minus that of Tanh in the paper's Table 3."""
    sides = {"attention": "dot"}, {"attention": "additive"}
    options = {"importance": ["alpha_grad"]}
    lin, none = (beside.printed_minus("tasc", 3, *sides, variant=[v], **options) for v in ("lin", "none"))
    return Printed(lin - none, f"Table 3, {MEAN}")


def rankings(results: Results, table: int) -> dict[str, Printed]:
    """The differences between rankings in the paper's Table 3 or 4."""
    return {
        case: _changed(table, results.flips, (variant, "alpha_grad"), (variant, other))
        for case, variant, other in effects.rivals(results)
    }


def alpha(results: Results) -> dict[str, Printed]:
    """What each variant changes for α in the paper's Table 3."""
    variants = [v for v in results.flips["variant"].unique() if v != "none"]
    return {NAMES[v]: _changed(3, results.flips, (v, "alpha"), ("none", "alpha")) for v in variants}


def tanh(results: Results) -> Printed:
    """Tanh minus Dot without TaSc in the paper's Table 3, mean over the rankings."""
    value = beside.printed_minus("tasc", 3, {"attention": "additive"}, {"attention": "dot"}, variant=["none"])
    return Printed(value, f"Table 3, {MEAN}")


def wins(results: Results) -> Printed:
    """The share of cells in the paper's Table 5 where α∇α with Lin-TaSc has the smallest fraction.

    Cells that are equal at the two digits printed count neither way.
    """
    rows, where = _closest(5, compared(effects.learned(results)))
    wide = rows.pivot_table(index=CELL, columns="importance", values="value")
    gap = wide["alpha_grad"] - wide[list(BASELINES)].min(axis=1)
    return Printed((gap[gap != 0] < 0).mean(), f"{where}, ties left out")


def _changed(table: int, flips: pd.DataFrame, a: tuple[str, str], b: tuple[str, str]) -> Printed:
    """A variant and ranking minus another in the paper's Table 3 or 4, mean over the attentions of a frame."""
    sides = [{"variant": variant, "importance": ranking} for variant, ranking in (a, b)]
    value = beside.printed_minus("tasc", table, *sides, attention=flips["attention"].unique())
    return Printed(value, f"Table {table}, {MEAN}")


def _closest(table: int, found: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of a table of the paper for the cells of a frame, as far as it has them, and how to cite them."""
    rows, means = beside.reference("tasc", table), []
    for column, every in (("dataset", "corpora"), ("encoder", "encoders"), ("attention", "attentions")):
        ours = {kin(name) if column == "dataset" else name for name in found[column].unique()}
        if ours.isdisjoint(rows[column]):
            means.append(every)
        else:
            rows = rows[rows[column].isin(ours)]
    corpora = ", ".join(rows["dataset"].unique()).upper()
    return rows, f"Table {table}, " + (f"mean over its {' and '.join(means)}" if means else corpora)


RULES = read_rules(__file__, globals())


def by_corpus(results: Results) -> pd.DataFrame:
    """The claims of `BY_CORPUS` judged on every corpus alone, those with few texts of a class among them."""
    rows = []
    for part in filter(None, (results, results.unbalanced)):
        for dataset in part.labels["dataset"].unique():
            own = part.of(dataset)
            share = own.labels.groupby("dataset")["truth"].value_counts(normalize=True).min()
            scores = f1_values(own.labels, [*CELL, "variant", "seed"]).groupby("variant")["point"].mean()
            row = {
                "dataset": dataset,
                "rarer class": share,
                "F1, No-TaSc": scores["none"],
                "F1, Lin-TaSc": scores["lin"],
            }
            for claim in ledger([rule for rule in RULES if rule.id in BY_CORPUS], own, paper="", setting=""):
                found = {"effect": claim.effect, "low": claim.low, "high": claim.high, "verdict": claim.verdict}
                counts = {"trainings": claim.trainings, "texts": claim.texts}
                rows.append(
                    {**row, "claim": claim.id.removeprefix("tasc-"), "measured": claim.test, **found, **counts}
                )
    return pd.DataFrame(rows)


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips, sizes = results.flips, results.parameters
    fraction, top = (flips[flips["metric"] == metric] for metric in (FRACTION, TOP1))
    tested = filter(None, (results, results.unbalanced))
    models = sum(len(part.labels[[*CELL, "variant", "seed"]].drop_duplicates()) for part in tested)
    expected = len(cells(params)) + len(unbalanced_cells(params))
    one = (fraction["value"].to_numpy() * fraction["length"].to_numpy()).round(6) == 1
    one &= (fraction["status"] != "never").to_numpy()
    empty = fraction.loc[fraction["status"] == "only_when_empty", "value"]
    linear = sizes[sizes["variant"] == "lin"]
    found = {
        "every model of the grid was measured": models == expected and results.grid.failures.empty,
        "a fraction lies above 0 and is 1 at most": fraction["value"].between(0, 1, inclusive="right").all(),
        "what flips only when empty has the fraction 1": params.quirks or (empty == 1).all(),
        "the top token flips a text where the fraction is one token": params.quirks
        or (one == (top["value"] == 100).to_numpy()).all(),
        "Lin-TaSc adds one number per word": (linear["scaling"] == linear["vocabulary"]).all(),
    }
    return {name: bool(holds) for name, holds in found.items()}
