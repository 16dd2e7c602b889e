"""The rules of `claims.yaml`, each with its effect of `claim_effects`, and what must hold whatever the data."""

from __future__ import annotations

import pandas as pd

from attnlib.stats.jackknife import f1_values
from attnlib.studies import beside
from attnlib.studies.ledger import ledger
from attnlib.studies.rules import read_rules
from attnlib.studies.tasc import claim_effects as effects
from attnlib.studies.tasc import printed
from attnlib.studies.tasc.grid import CELL, FRACTION, TOP1, Results, cells, unbalanced_cells
from attnlib.studies.tasc.params import Params

BY_CORPUS = ("tasc-3", "tasc-9", "tasc-10", "tasc-13")
"""Claims that may hang on the balance of the classes."""
RULES = read_rules(__file__, {"effects": effects, "printed": printed, "beside": beside})


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
