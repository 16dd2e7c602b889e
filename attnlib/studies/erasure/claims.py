"""The rules of `claims.yaml`, each with its effect of `claim_effects`, and what must hold whatever the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from attnlib.studies.beside import closest, printed, reference
from attnlib.studies.erasure import claim_effects as effects
from attnlib.studies.erasure.grid import MODEL, Results, compared, several
from attnlib.studies.erasure.measures import RANKINGS, TOPS
from attnlib.studies.erasure.params import Params
from attnlib.studies.erasure.tables import outcomes
from attnlib.studies.ledger import Printed
from attnlib.studies.rules import read_rules


def table2(results: Results, of: Sequence[str], among: Sequence[str] = ()) -> Printed:
    """What cells of the paper's Table 2 hold of all texts, or of other cells; mean over the run's data sets."""
    rows = reference("erasure", 2)
    names, where = closest("erasure", 2, results.single["dataset"].unique())
    kept = rows if names == [None] else rows[rows["dataset"].isin(names)]
    made = []
    for _, table in kept.groupby("dataset"):
        cells = table.set_index("metric")["value"] / 100
        made.append(sum(cells[name] for name in of) / (sum(cells[name] for name in among) if among else 1))
    return Printed(float(np.mean(made)), f"{where}, HANrnn")


def counted(results: Results, metric: str, total: str) -> Printed:
    """A number of models that the paper's text gives, as a share."""
    count, models = (printed("erasure", "text", metric=name) for name in (metric, total))
    return Printed(count / models, f"{count:g} of {models:g} models")


def figure6(results: Results) -> dict[str, Printed]:
    """How much rarer late flips are with the next ranking."""
    shares = {name: printed("erasure", "figure6", importance=name) / 100 for name in RANKINGS}
    return {effects.step(a, b): Printed(shares[a] - shares[b], "Figure 6") for a, b in pairwise(RANKINGS)}


RULES = read_rules(__file__, globals())


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    single, fractions = results.single, results.fractions
    keys = [*MODEL, "seed", "importance", "instance"]
    models = {d: len(a) * len(params.encoders) * len(params.seeds) for d, a in params.trained.items()}
    texts = results.labels.groupby("dataset")["instance"].nunique()
    erased = fractions.groupby("dataset")["instance"].nunique()
    own = compared(single)
    cells = outcomes(single).groupby(keys)["value"].sum()
    once = single[single["sampling"] == "any other"].set_index(keys)["flip_top"].astype(bool)
    flips = fractions[fractions["importance"].isin(TOPS)].set_index(keys)["removed"]
    alpha = several(fractions)
    alpha = alpha[(alpha["importance"] == "alpha") & alpha["value"].notna()]
    gone = alpha.loc[alpha["value"] == 1, "mass_removed"].astype(float)
    return {
        "no run is missing": not len(results.grid.failures),
        "every model answered every test text": len(results.labels) == sum(texts[d] * n for d, n in models.items()),
        "every model met every ranking": fractions.groupby(keys[:-1]).ngroups
        == len(RANKINGS) * sum(models.values()),
        "no more texts were erased from than asked for": bool((erased <= (params.texts or np.inf)).all()),
        "r is never the top item": not bool((own["top"] == own["other"]).any()),
        "the top item by attention has the larger weight": bool(
            (own.loc[own["importance"] == "alpha", "delta_alpha"] >= 0).all()
        ),
        "each text is in one cell of its table": bool((cells == 100).all()),
        "both tests agree on the decisions that one item flips": bool(
            once.eq((flips == 1).fillna(False).astype(bool).reindex(once.index)).all()
        ),
        "removing all items removes all attention": bool(np.isclose(gone, 1.0, atol=1e-4).all()),
    }
