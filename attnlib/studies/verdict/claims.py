"""The rules of the verdict (`claims.yaml`), and what must hold whatever the data."""

from __future__ import annotations

from attnlib.stats.inference import Effect
from attnlib.studies.ledger import NotTested, required
from attnlib.studies.rules import read_rules
from attnlib.studies.verdict import tables
from attnlib.studies.verdict.grid import CELL, Results
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.params import Params, pairs
from attnlib.studies.verdict.tables import NAMES


def agreement(results: Results) -> Effect:
    """Mean τ over all pairs of tests."""
    if len(results.by_model) < 8:
        raise NotTested("Fewer than eight models learned anything: too few to rank.")
    return tables.mean_agreement(results)


def part_change(results: Results, part: str, test: str, reading: str = "alpha") -> Effect:
    """What a part changes by a test."""
    return tables.part_effect(required(tables.scores_of(results, test, reading)), part)


def f1_change(results: Results) -> Effect:
    """What TaSc changes in macro-F1."""
    return tables.part_effect(required(tables.f1(results)), "TaSc")


def rankings(results: Results) -> dict[str, Effect]:
    """How often each test prefers the true ranking to each false one."""
    groups = required(results.rankings).groupby(["test", "against"], sort=False)
    return {f"{NAMES[test]}, {NAMES[against]}": tables.preference(own, test) for (test, against), own in groups}


def honesty(results: Results) -> dict[str, Effect]:
    """How often each test prefers the honest model to the deceptive one."""
    groups = required(tables.honesty(results)).groupby("test", sort=False)
    return {NAMES[test]: tables.preference(own, test) for test, own in groups}


RULES = read_rules(__file__, globals())


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpora: name of the check -> whether it does."""
    models = results.labels[[*CELL, "seed"]].drop_duplicates()
    covered = set().union(*map(pairs, params.rows))
    possible = set().union(*map(pairs, params.model_copy(update={"design": "whole"}).rows))
    shares = results.rankings["value"] if len(results.rankings) else None
    tau = tables.agreement(results)["value"]
    return {
        "every pair of parts is trained": covered == possible,
        "every model faced every test": results.grid.failures.empty
        and len(models) == len(params.corpora) * len(params.seeds) * len(params.rows)
        and set(results.scores["test"]) >= set(TESTS) - {"plausibility"},
        "fractions to a flip are fractions": bool(
            results.scores.loc[results.scores["test"].str.startswith("flips"), "value"].between(0, 1).all()
        ),
        "preferences are 0, a half or 1": shares is None or bool(shares.dropna().isin([0.0, 0.5, 1.0]).all()),
        "correlations lie between -1 and 1": bool(tau.dropna().between(-1 - 1e-9, 1 + 1e-9).all()),
    }
