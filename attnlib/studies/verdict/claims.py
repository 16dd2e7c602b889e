"""The rules of the verdict, and what must hold whatever the data.

Written before any run on real texts, but after the values of all tests, diagnosticity among them, had been printed
for one small generated corpus. Borders come from the papers, or are the value of pure chance.
"""

from __future__ import annotations

from functools import partial

from attnlib.stats.inference import Effect
from attnlib.studies.ledger import NotTested, Rule, required
from attnlib.studies.verdict import design, tables
from attnlib.studies.verdict.grid import CELL, Results
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.params import Params

WELL = 0.5
"""From this τ on, two tests order three of four pairs of models alike."""


def _agreement(results: Results) -> Effect:
    if len(results.by_model) < 8:
        raise NotTested("Fewer than eight models learned anything: too few to rank.")
    return tables.mean_agreement(results)


def _part(results: Results, part: str, test: str, reading: str = "alpha") -> Effect:
    return tables.part_effect(required(tables.scores_of(results, test, reading)), part)


def _f1(results: Results) -> Effect:
    return tables.part_effect(required(tables.f1(results)), "TaSc")


def _rankings(results: Results) -> dict[str, Effect]:
    found = {}
    for (test, against), part in required(results.rankings).groupby(["test", "against"], sort=False):
        found[f"{tables.NAMES[test]}, {tables.NAMES[against]}"] = tables.effect(
            part, ["dataset", "encoder"], **tables.SHARES
        )
    return found


def _honesty(results: Results) -> dict[str, Effect]:
    found = {}
    for test, part in required(tables.honesty(results)).groupby("test", sort=False):
        text = None if test == "information" else "instance"
        found[tables.NAMES[test]] = tables.effect(part, ["dataset", "encoder"], text=text, **tables.SHARES)
    return found


RULES = (
    Rule(
        "verdict-1",
        "The papers' tests agree on which models have the better explanation in their attention.",
        "all five papers use their own test",
        "Kendall's τ of two tests over models, mean over all pairs of tests and over corpora",
        _agreement,
        unit="τ",
        figure="agreement",
    ),
    Rule(
        "verdict-2",
        "They agree so well that one can stand for another.",
        "all five papers use their own test",
        "the same mean τ",
        _agreement,
        border=WELL,
        unit="τ",
        figure="agreement",
    ),
    Rule(
        "verdict-3",
        "TaSc helps: fewer tokens, ranked by α∇α, must be removed from the input until a decision flips.",
        "Chrysostomou & Aletras 2021, Table 4",
        "fraction of tokens with Lin-TaSc minus without, mean over encoders, corpora and all other parts",
        partial(_part, part="TaSc", test="flips_input", reading="alpha_grad"),
        direction="less",
        unit="fraction",
        figure="tasc",
    ),
    Rule(
        "verdict-4",
        "TaSc costs no accuracy.",
        "Chrysostomou & Aletras 2021, Table 2",
        "macro-F1 with Lin-TaSc minus without, mean over encoders, corpora and all other parts",
        _f1,
        border=-tables.LOSS,
        unit="F1",
        figure="pareto",
    ),
    Rule(
        "verdict-5",
        "Sparsity does not make attention more faithful: comprehensiveness falls with sparsemax.",
        "Meister et al. 2021, section 5",
        "comprehensiveness with sparsemax minus softmax, mean over encoders, corpora and all other parts",
        partial(_part, part="sparsemax", test="comprehensiveness"),
        direction="less",
        unit="probability",
        figure="parts",
    ),
    Rule(
        "verdict-6",
        "Tying makes attention matter: permuting the weights changes outputs more.",
        "Tutek & Šnajder 2020, Table 1",
        "TVD under permuted weights with tying minus without, mean over encoders, corpora and all other parts",
        partial(_part, part="tying", test="permuted"),
        unit="TVD",
        figure="parts",
    ),
    Rule(
        "verdict-7",
        "Every test that judges a ranking prefers the true one to a false one more often than chance.",
        "Chan et al. 2022, section 4",
        "share of texts where the test prefers the truth (a tie is half), for each test and each false ranking",
        _rankings,
        border=tables.CHANCE,
        unit="share",
        figure="diagnosticity",
        waits="guide_seeds",
    ),
    Rule(
        "verdict-8",
        "Every test prefers attention on the decisive words to attention trained to stay off them.",
        "Pruthi et al. 2020",
        "share of texts where the test prefers the honest model (a tie is half), for each test",
        _honesty,
        border=tables.CHANCE,
        unit="share",
        figure="diagnosticity",
        waits="guide_seeds",
    ),
)  # fmt: skip


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpora: name of the check -> whether it does."""
    models = results.labels[[*CELL, "seed"]].drop_duplicates()
    covered = set().union(*map(design.pairs, params.rows))
    possible = set().union(*map(design.pairs, params.model_copy(update={"design": "whole"}).rows))
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
