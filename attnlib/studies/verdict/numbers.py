"""The verdict: every number of the study, its tables and its claims.

A model is a design (encoder and four parts) trained once. What a part changes is a difference of means over the
design, in which parts are balanced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attnlib.measures.diagnosticity import preferred
from attnlib.stats.inference import NAN, Effect, effect, interval_texts
from attnlib.stats.jackknife import f1_values
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged
from attnlib.studies.quantity import SHARE, NotTested, Quantity, Table, required
from attnlib.studies.verdict.grid import CELL, MODEL, Results
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.params import Params

STRATUM = ["dataset", "encoder"]
PAIR = [*STRATUM, "seed", "test", "instance"]
"""What an honest and a deceptive model, or a true and a false ranking, are compared on."""
CHANCE = 0.5
NAMES = {name: test.name for name, test in TESTS.items()} | {
    "alpha": "α", "alpha_grad": "α∇α", "random": "random order", "inverted": "inverted order",
    "plausible": "plausible but wrong", "honesty": "deceptive model",
}  # fmt: skip
CHANGES = {
    "TaSc": ("scaling", "lin", "none"),
    "sparsemax": ("projection", "sparsemax", "softmax"),
    "tying": ("regulariser", "tying", "none"),
    "dot": ("attention", "dot", "additive"),
}
"""What a part is compared with: column, level, level that it replaces."""
prefers = Quantity("rankings", model=tuple(STRATUM), named=lambda key: ", ".join(NAMES[part] for part in key))
"""How often a test prefers the true ranking to a false one."""


def taus(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kendall's τ-b of all pairs of columns of (N, T) values: (T, T); without each row: (N, T, T)."""
    signs = np.sign(values[:, None, :] - values[None, :, :])
    products = signs[..., :, None] * signs[..., None, :]
    total = products.sum((0, 1))
    sums = np.concatenate([total[None], total - 2 * products.sum(1)])
    own = np.sqrt(np.diagonal(sums, axis1=-2, axis2=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = sums / (own[:, :, None] * own[:, None, :])
    return found[0], found[1:]


def _tau_values(results: Results) -> pd.DataFrame:
    """Jackknife pseudovalues of τ: one row per corpus, model and pair of tests.

    A model is a training. Tests that a corpus does not have (plausibility, without marked words) are left out.
    """
    frames = [pd.DataFrame(columns=["dataset", "model", "a", "b", "value", "point"])]
    for dataset, part in results.by_model.groupby("dataset", sort=False):
        tests = [test for test in TESTS if test in part and part[test].notna().all() and np.ptp(part[test]) > 0]
        if len(part) < 3:
            continue
        n, (whole, rest) = len(part), taus(part[tests].to_numpy(float))
        pseudo = n * whole - (n - 1) * rest
        for a, b in zip(*np.triu_indices(len(tests), 1), strict=True):
            said = {"dataset": dataset, "model": np.arange(n), "a": tests[a], "b": tests[b]}
            frames.append(pd.DataFrame({**said, "value": pseudo[:, a, b], "point": whole[a, b]}))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _over_models(values: pd.DataFrame) -> Effect:
    """Mean over corpora of a statistic from its pseudovalues; the sample are the models."""

    def told(found: Effect) -> Effect:
        again = None if found.again is None else lambda level: told(found.again(level))
        parts = {"from_trainings": found.from_texts, "from_texts": 0.0}
        return replace(found, trainings=found.texts, texts=0, again=again, **parts)

    return told(effect(values, ["dataset"], training=None, text="model", bounds=(-1, 1)))


def agreement(results: Results) -> pd.DataFrame:
    """τ of every pair of tests (a, b), mean over corpora, with its interval over models."""
    pairs = _tau_values(results).groupby(["a", "b"], sort=False)
    rows = [{"a": a, "b": b} | _over_models(part).row() for (a, b), part in pairs]
    return pd.DataFrame(rows, columns=["a", "b", *Effect(NAN).row()])


def mean_agreement(results: Results) -> Effect:
    """Mean τ over all pairs of tests, with its interval over models."""
    if len(results.by_model) < 8:
        raise NotTested("Fewer than eight models learned anything: too few to rank.")
    values = _tau_values(results).groupby(["dataset", "model"], as_index=False)
    return _over_models(values[["value", "point"]].mean())


def part_change(results: Results, part: str, test: str, reading: str = "alpha") -> Effect:
    """What a part changes (`CHANGES`) in a test, as its paper defines it, or in macro-F1: mean over the models with
    it minus mean over those without.

    Within every corpus and encoder, cells of the design count alike; so do corpora and encoders.
    """
    frame = results.learned.scores
    frame = frame[(frame["test"] == test) & (frame["importance"] == reading)]
    frame = f1_values(results.learned.labels, MODEL) if test == "f1" else frame
    column, *levels = CHANGES[part]
    strata = [own for _, own in required(frame)[CELL].drop_duplicates().groupby(STRATUM, sort=False)]
    strata = [own for own in strata if set(levels) <= set(own[column])]
    weights: dict[tuple, float] = {}
    for own in strata:
        for level, sign in zip(levels, (1, -1), strict=True):
            side = own[own[column] == level]
            weights |= dict.fromkeys(side.itertuples(index=False, name=None), sign / len(side) / len(strata))
    return effect(frame, CELL, weights=weights, text=_text(test)) if weights else Effect(NAN)


def part_changes(results: Results) -> pd.DataFrame:
    """What each part changes by each test, in standard deviations over models: more is better."""
    rows = []
    for part in CHANGES:
        for test in (test for test in TESTS if test in results.by_model):
            spread = results.by_model.groupby(STRATUM)[test].std().mean()
            found = part_change(results, part, test)
            if spread > 0 and not np.isnan(found.estimate):
                rows.append({"part": part, "test": NAMES[test]} | found.scaled(TESTS[test].better / spread).row())
    return pd.DataFrame(rows, columns=["part", "test", *Effect(NAN).row()])


def compared(results: Results) -> pd.DataFrame:
    """One row per test, comparison (`against`) and text: 1 where the test prefers the truth, 1/2 for a tie.

    `against`: a false ranking of the same text, or (`honesty`) the attention of a deceptive model.
    """
    part = results.honesty.reindex(columns=[*PAIR, "guide", "importance", "value"])
    part = part[(part["importance"] == "alpha") & (part["test"] != "plausibility")]  # it sees the guide itself
    sides = [part[part["guide"] == guide][[*PAIR, "value"]] for guide in ("honest", "deceptive")]
    both = sides[0].merge(sides[1], on=PAIR, suffixes=("", "_other"))
    better = both["test"].map({name: test.better for name, test in TESTS.items()})
    both["value"] = preferred(better * both["value"], better * both["value_other"])
    return pd.concat([both[[*PAIR, "value"]].assign(against="honesty"), results.rankings], ignore_index=True)


def _text(test: str) -> str | None:
    """The column of texts; information by rank has one number per model, and no texts."""
    return None if test == "information" else "instance"


def diagnosticity(results: Results) -> dict[tuple[str, str], Effect]:
    """(Test, what it is compared with) -> how often it prefers the truth."""
    groups = compared(results).groupby(["test", "against"], sort=False)
    return {key: effect(own, STRATUM, text=_text(key[0]), bounds=SHARE) for key, own in groups}


def honest(results: Results) -> dict[str, Effect]:
    """Test -> how often it prefers the honest model to the deceptive one."""
    found = {NAMES[test]: one for (test, against), one in diagnosticity(results).items() if against == "honesty"}
    return required(found)


def overall(results: Results) -> pd.DataFrame:
    """Diagnosticity of every test, the best first: of one that judges rankings against the three false ones, of
    another against deceptive models. `chance`: whether its interval reaches one half or less."""
    rows, every = [], compared(results)
    models = every["against"] == "honesty"
    rankings = every[~models].groupby(PAIR, as_index=False)["value"].mean()
    for test, one in TESTS.items():
        on, of = ("three false rankings", rankings) if one.ranks else ("a deceptive model", every[models])
        if len(own := of[of["test"] == test]):
            found = effect(own, STRATUM, text=_text(test), bounds=SHARE)
            rows.append({"test": test, "paper": one.paper, "judged on": on} | found.row())
    frame = pd.DataFrame(rows, columns=["test", "paper", "judged on", *Effect(NAN).row()])
    frame = frame.assign(chance=~(frame["low"] > CHANCE))
    return frame.sort_values(["judged on", "value"], ascending=[False, False], ignore_index=True)


RANGE = ["value", "low", "high"]
TABLES = [
    Table("overall", lambda results: overall(results)[["test", "paper", "judged on", *RANGE, "chance", "texts",
          "trainings"]], "The tests, the best first: share of comparisons in which the truth wins (tests of "
          "rankings: mean over the three false ones)."),
]  # fmt: skip
OWN = "all five papers use their own test"
MEAN = "mean over encoders, corpora and all other parts"
CLAIMS = [
    Claim("The papers' tests agree on which models have the better explanation in their attention.", OWN,
          "Kendall's τ of two tests over models, mean over all pairs of tests and over corpora", mean_agreement,
          unit="τ", figure="agreement"),
    # from this τ on, two tests order three of four pairs of models alike
    Claim("They agree so well that one can stand for another.", OWN, "the same mean τ", mean_agreement, border=0.5,
          unit="τ", figure="agreement"),
    Claim("TaSc helps: fewer tokens, ranked by α∇α, must be removed from the input until a decision flips.",
          "Chrysostomou & Aletras 2021, Table 4", f"fraction of tokens with Lin-TaSc minus without, {MEAN}",
          partial(part_change, part="TaSc", test="flips_input", reading="alpha_grad"), "less", unit="fraction",
          figure="parts"),
    Claim("TaSc costs no accuracy.", "Chrysostomou & Aletras 2021, Table 2", f"macro-F1 with Lin-TaSc minus "
          f"without, {MEAN} (a loss of less than {AS_ACCURATE:g} points counts as none)",
          partial(part_change, part="TaSc", test="f1"), border=-AS_ACCURATE / 100, unit="F1", figure="parts"),
    Claim("Sparsity does not make attention more faithful: comprehensiveness falls with sparsemax.",
          "Meister et al. 2021, section 5", f"comprehensiveness with sparsemax minus softmax, {MEAN}",
          partial(part_change, part="sparsemax", test="comprehensiveness"), "less", unit="probability",
          figure="parts"),
    Claim("Tying makes attention matter: permuting the weights changes outputs more.",
          "Tutek & Šnajder 2020, Table 1", f"TVD under permuted weights with tying minus without, {MEAN}",
          partial(part_change, part="tying", test="permuted"), unit="TVD", figure="parts"),
    Claim("Every test that judges a ranking prefers the true one to a false one more often than chance.",
          "Chan et al. 2022, section 4", "share of texts where the test prefers the truth (a tie is half), for "
          "each test and each false ranking", partial(prefers.each, by=["test", "against"]), border=CHANCE,
          unit="share", figure="diagnosticity"),
    Claim("Every test prefers attention on the decisive words to attention trained to stay off them.",
          "Pruthi et al. 2020", "share of texts where the test prefers the honest model (a tie is half), for each "
          "test", honest, border=CHANCE, unit="share", figure="diagnosticity"),
]  # fmt: skip


def answer(by: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: whether TaSc helps, which test to use, whether they agree, and the other parts."""
    judged = overall(results)
    ranked = judged[judged["judged on"] == "three false rankings"].assign(text=interval_texts)
    best, second = (ranked.iloc[k] for k in (0, 1))
    chance = [NAMES[test] for test in judged.loc[judged["chance"], "test"]]
    worst = f"Not clearly better than chance: **{', '.join(chance)}**." if chance else "Every test beats chance."
    alone = part_change(results, "TaSc", "flips_input")
    return [
        "**Does TaSc help?** Its paper asks what fraction of the tokens must be removed until a decision flips "
        f"(less is better). Ranked by α∇α, that it falls is {by[3]}. Ranked by α, by attention alone, it changes "
        f"by [{alone.text()}](#figure-parts). That it is as accurate, to {AS_ACCURATE:g} points, is {by[4]:%}.",
        f"**Which test should I use? {NAMES[best['test']].capitalize()}**: it prefers the true explanation to a "
        f"false one in [{best['text']}](#table-overall) of the texts; next is {NAMES[second['test']]} with "
        f"[{second['text']}](#table-overall). {worst}",
        f"That one test can stand for another (a mean τ over models above {by[2].border:g}) is {by[2]}.",
        f"That comprehensiveness falls with sparsemax is {by[5]}; that permuted attention changes outputs more "
        f"with tying, {by[6]}.",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpora: name of the check -> whether it does."""
    models, scores = len(results.labels[MODEL].drop_duplicates()), results.scores
    fractions = scores.loc[scores["test"].str.startswith("flips"), "value"]
    return {
        "every model faced every test": models == len(params.corpora) * len(params.seeds) * len(params.rows)
        and set(scores["test"]) >= set(TESTS) - {"plausibility"},
        "fractions to a flip are fractions": fractions.between(0, 1).all(),
        "correlations lie between −1 and 1": agreement(results)["value"].dropna().abs().le(1 + 1e-9).all(),
    }
