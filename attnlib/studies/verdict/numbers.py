"""The verdict: every number of the study, its tables and its claims.

A model is a design (encoder and four parts) trained once. What a part changes is a difference of means over the
design, in which parts are balanced; how often a test prefers the truth is a mean over corpora and encoders. Models
that learned nothing are left out throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from attnlib.measures.diagnosticity import preferred
from attnlib.stats.inference import NAN, Effect, effect, effects, interval_texts
from attnlib.stats.jackknife import f1_values
from attnlib.stats.judge import holds
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged
from attnlib.studies.quantity import SHARE, NotTested, Quantity, Table, required
from attnlib.studies.verdict.grid import CELL, MODEL, PARTS, Results
from attnlib.studies.verdict.measures import READINGS, TESTS
from attnlib.studies.verdict.params import Params, pairs
from attnlib.utils.text import plural

STRATUM = ["dataset", "encoder"]
PAIR = [*STRATUM, "seed", "test", "instance"]
"""What an honest and a deceptive model, or a true and a false ranking, are compared on."""
CHANCE = 0.5
LOSS = AS_ACCURATE / 100
"""F1 that a more faithful design may cost to be recommended: less than that counts as none."""
NAMES = {name: test.name for name, test in TESTS.items()} | {
    "alpha": "α", "alpha_grad": "α∇α", "none": "none", "lin": "Lin-TaSc", "random": "random order",
    "inverted": "inverted order", "plausible": "plausible but wrong", "honesty": "deceptive model",
}  # fmt: skip
PLAIN = dict(zip(PARTS, ("additive", "softmax", "none", "none"), strict=True))
"""Attention without any of the papers' parts."""
CHANGES = {
    "TaSc": ("scaling", "lin", "none"),
    "sparsemax": ("projection", "sparsemax", "softmax"),
    "tying": ("regulariser", "tying", "none"),
    "dot": ("attention", "dot", "additive"),
}
"""What a part is compared with: column, level, level that it replaces."""
prefers = Quantity("rankings", model=tuple(STRATUM), named=lambda key: ", ".join(NAMES[part] for part in key))
"""How often a test prefers the true ranking to a false one."""
RANKS = [test for test, one in TESTS.items() if one.ranks]
"""Tests that judge any ranking."""


def taus(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kendall's τ-b of every pair of columns of (N, T) values: (T, T), and (N, T, T) without each row in turn."""
    signs = np.sign(values[:, None, :] - values[None, :, :])
    products = signs[..., :, None] * signs[..., None, :]
    total = products.sum((0, 1))
    return _tau(total), _tau(total - 2 * products.sum(1))


def _tau(sums: np.ndarray) -> np.ndarray:
    own = np.sqrt(np.diagonal(sums, axis1=-2, axis2=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / (own[..., :, None] * own[..., None, :])


def _over_models(values: pd.DataFrame) -> Effect:
    """Mean over corpora of a statistic of the models, from its pseudovalues; the sample are the models."""

    def told(found: Effect) -> Effect:
        again = None if found.again is None else lambda level: told(found.again(level))
        parts = {"from_trainings": found.from_texts, "from_texts": 0.0}
        return replace(found, trainings=found.texts, texts=0, again=again, **parts)

    return told(effect(values, ["dataset"], training=None, text="model", bounds=(-1, 1)))


def agreement(results: Results) -> pd.DataFrame:
    """τ over models of every pair of tests, one row per pair: a, b, and the effect with its interval over models.

    A model is a training; τ is computed within each corpus and averaged over corpora. Tests that a corpus does not
    have (plausibility, without marked words) are left out there.
    """
    rows = [
        {"a": a, "b": b} | _over_models(part).row()
        for (a, b), part in _tau_values(results).groupby(["a", "b"], sort=False)
    ]
    return pd.DataFrame(rows, columns=["a", "b", *Effect(NAN).row()])


def mean_agreement(results: Results) -> Effect:
    """Mean τ over all pairs of tests, with its interval over models."""
    if len(results.by_model) < 8:
        raise NotTested("Fewer than eight models learned anything: too few to rank.")
    values = _tau_values(results).groupby(["dataset", "model"], as_index=False)
    return _over_models(values[["value", "point"]].mean())


def _tau_values(results: Results) -> pd.DataFrame:
    """Jackknife pseudovalues of τ: one row per corpus, model and pair of tests."""
    frames = []
    for dataset, part in results.by_model.groupby("dataset", sort=False):
        tests = [test for test in TESTS if test in part and part[test].notna().all() and np.ptp(part[test]) > 0]
        values = part[tests].to_numpy(float)
        n, (first, second) = len(values), np.triu_indices(len(tests), 1)
        if n < 3:
            continue
        whole, rest = taus(values)
        pseudo = n * whole - (n - 1) * rest
        for a, b in zip(first, second, strict=True):
            said = {"dataset": dataset, "model": np.arange(n), "a": tests[a], "b": tests[b]}
            frames.append(pd.DataFrame({**said, "value": pseudo[:, a, b], "point": whole[a, b]}))
    columns = ["dataset", "model", "a", "b", "value", "point"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def part_effect(frame: pd.DataFrame, part: str, *, text: str | None = "instance") -> Effect:
    """What a part changes (`CHANGES`): mean over the models with it minus mean over those without.

    Within every corpus and encoder, cells of the design count alike; so do corpora and encoders.
    """
    column, *levels = CHANGES[part]
    strata = [own for _, own in frame[CELL].drop_duplicates().groupby(STRATUM, sort=False)]
    strata = [own for own in strata if set(levels) <= set(own[column])]
    weights = {}
    for own in strata:
        for sign, level in zip((1, -1), levels, strict=True):
            side = own[own[column] == level]
            weights |= dict.fromkeys(side.itertuples(index=False, name=None), sign / len(side) / len(strata))
    return effect(frame, CELL, weights=weights, text=text) if weights else Effect(NAN)


def scores_of(results: Results, test: str, reading: str = "alpha") -> pd.DataFrame:
    """The values of a test as its paper defines them."""
    return _where(results.learned.scores, {"test": test, "importance": reading})


def part_effects(results: Results) -> pd.DataFrame:
    """What each part changes by each test, in standard deviations over models, signed: more is better."""
    rows = []
    for part in CHANGES:
        for test in TESTS:
            if test not in results.by_model:
                continue
            own = _where(results.signed, {"test": test, "importance": "alpha"})
            spread = results.by_model.groupby(STRATUM)[test].std().mean()
            found = part_effect(own, part, text=_text(test))
            if spread > 0 and not np.isnan(found.estimate):
                rows.append({"part": part, "test": NAMES[test]} | found.scaled(1 / spread).row())
    return pd.DataFrame(rows, columns=["part", "test", *Effect(NAN).row()])


def tasc(results: Results) -> pd.DataFrame:
    """What Lin-TaSc changes in the fraction of tokens to a flip at the input, by reading and encoder."""
    rows = []
    for reading in READINGS:
        frame = scores_of(results, "flips_input", reading)
        for name, own in [("all", frame), *frame.groupby("encoder", sort=False)]:
            rows.append({"reading": NAMES[reading], "encoder": name} | part_effect(own, "TaSc").row())
    return pd.DataFrame(rows, columns=["reading", "encoder", *Effect(NAN).row()])


def f1(results: Results) -> pd.DataFrame:
    """Pseudovalues of macro-F1, one row per model and text."""
    return f1_values(results.learned.labels, MODEL)


def diagnosticity(results: Results) -> pd.DataFrame:
    """How often each test prefers the truth, by what it is compared with; one row per test and false explanation.

    `against`: a false ranking of the same text, or (`honesty`) the attention of a deceptive model; `passes`: of the
    encoder, per text of mean length.
    """
    frames = [prefers.table(results, ["test", "against"], STRATUM)]
    for test, part in honesty(results).groupby("test", sort=False):
        frames.append(pd.DataFrame([{"test": test, "against": "honesty"} | preference(part, test).row()]))
    return _costed(pd.concat(frames, ignore_index=True), results)


def preference(part: pd.DataFrame, test: str) -> Effect:
    """How often a test prefers the truth."""
    return effect(part, STRATUM, text=_text(test), bounds=SHARE)


def _text(test: str) -> str | None:
    """The column of texts; information by rank has one number per model, and no texts."""
    return None if test == "information" else "instance"


def overall(results: Results) -> pd.DataFrame:
    """Diagnosticity of every test, the best first: of one that judges rankings against the three false ones, of
    another against deceptive models. `chance`: whether its interval reaches one half or less."""
    rankings = results.rankings.groupby(PAIR, as_index=False)["value"].mean()
    rows, honest = [], honesty(results)
    for test in TESTS:
        on, pairs = ("three false rankings", rankings) if TESTS[test].ranks else ("a deceptive model", honest)
        if len(own := pairs[pairs["test"] == test]):
            rows.append({"test": test, "judged on": on} | preference(own, test).row())
    frame = _costed(pd.DataFrame(rows, columns=["test", "judged on", *Effect(NAN).row()]), results)
    papers = [TESTS[test].paper for test in frame["test"]]
    frame = frame.assign(chance=~(frame["low"] > CHANCE), paper=papers)
    return frame.sort_values(["judged on", "value"], ascending=[False, False], ignore_index=True)


def _costed(frame: pd.DataFrame, results: Results) -> pd.DataFrame:
    length = float(results.rankings["length"].mean()) if len(results.rankings) else NAN
    return frame.assign(passes=[TESTS[test].passes(length) for test in frame["test"]])


def honesty(results: Results) -> pd.DataFrame:
    """One row per test, pair of guided models and text: 1 where the test prefers the honest model."""
    part = results.honesty
    if part.empty:
        return pd.DataFrame(columns=[*PAIR, "value"])
    part = part[(part["importance"] == "alpha") & (part["test"] != "plausibility")]  # it sees the guide itself
    sides = [part[part["guide"] == guide][[*PAIR, "value"]] for guide in ("honest", "deceptive")]
    both = sides[0].merge(sides[1], on=PAIR, suffixes=("", "_other"))
    better = both["test"].map({name: test.better for name, test in TESTS.items()})
    both["value"] = preferred(better * both["value"], better * both["value_other"])
    return both[[*PAIR, "value"]]


def best_test(results: Results) -> str:
    """The test that judges rankings and prefers the truth most often."""
    return next((test for test in overall(results)["test"] if test in RANKS), "comprehensiveness")


def designs(results: Results, test: str) -> pd.DataFrame:
    """Every design of corpus, encoder and parts: its F1, its faithfulness by a test, with the better reading, and
    whether no other design of that corpus and encoder is better in both (`front`)."""
    own = results.signed[results.signed["test"] == test]
    found = effects(own, [*CELL, "importance"]).rename(columns={"importance": "reading"})
    found = found.sort_values("value", ascending=False).drop_duplicates(CELL)
    f1s = effects(f1(results), CELL)[[*CELL, "value"]].rename(columns={"value": "f1"})
    found = found.merge(f1s, on=CELL)
    rivals = found.merge(found, on=STRATUM, suffixes=("", "_other"))
    beaten = rivals[(rivals["f1_other"] > rivals["f1"]) & (rivals["value_other"] > rivals["value"])]
    front = ~pd.MultiIndex.from_frame(found[CELL]).isin(pd.MultiIndex.from_frame(beaten[CELL]))
    return found.assign(front=front)[[*CELL, "reading", "f1", "value", "low", "high", "n", "front"]]


def recommended(results: Results, test: str) -> pd.DataFrame:
    """For each corpus and encoder, the most faithful design that loses at most `LOSS` F1 to the best.

    `gain`: its faithfulness minus that of plain attention (`PLAIN`) read as α.
    """
    rows = []
    for (dataset, encoder), part in designs(results, test).groupby(STRATUM, sort=False):
        able = part[part["f1"] >= part["f1"].max() - LOSS]
        best = able.sort_values("value", ascending=False).iloc[0]
        stratum = _where(results.signed, {"test": test, "dataset": dataset, "encoder": encoder})
        sides = ({**best[PARTS], "importance": best["reading"]}, {**PLAIN, "importance": "alpha"})
        own, plain = (_where(stratum, side).assign(side=k) for k, side in enumerate(sides))
        both = pd.concat([own, plain])
        gain = effect(both, ["side"], weights={(0,): 1.0, (1,): -1.0}) if len(plain) else Effect(NAN)
        told = {"test": test, "faithfulness": best["value"], "low": best["low"], "high": best["high"]}
        told |= {"gain": gain.estimate, "gain low": gain.low, "gain high": gain.high, "f1": best["f1"]}
        told["f1 change"] = best["f1"] - _where(part, PLAIN)["f1"].mean()
        rows.append({"task": dataset, "encoder": encoder, **best[[*PARTS, "reading"]], **told})
    return pd.DataFrame(rows)


def _where(frame: pd.DataFrame, values: Mapping[str, object]) -> pd.DataFrame:
    return frame[np.logical_and.reduce([frame[name] == value for name, value in values.items()])]


def contradiction(results: Results) -> tuple[pd.Series, pd.Series, pd.Series]:
    """The two tests of rankings that agree least (a row of `agreement`), and the model and its text that show it.

    The model is the one that they rank most differently, with its rank by each (1: best) `of` those of its corpus;
    the text is that on which they differ most, with its values by each.
    """
    pairs = agreement(results)
    pairs = pairs[pairs["a"].isin(RANKS) & pairs["b"].isin(RANKS)]
    least = required(pairs, "Too few models learned anything to compare tests.").sort_values("value").iloc[0]
    models, tests = results.by_model, [least["a"], least["b"]]
    ranks = models.groupby("dataset")[tests].rank(ascending=False)
    sizes = models.groupby("dataset")[tests[0]].transform("size")
    place = _apart(ranks.div(sizes, axis=0))
    model = pd.concat([models.loc[place, MODEL], ranks.loc[place].round().astype(int)])
    part = _where(results.signed, {**model[MODEL], "importance": "alpha"})
    wide = part[part["test"].isin(tests)].pivot_table(index="instance", columns="test", values="value").dropna()
    text = _apart(wide[tests].rank(pct=True))
    model["of"] = int(sizes[place])
    return least, model, wide.loc[text, tests].rename(text)


def _apart(ranks: pd.DataFrame) -> Any:
    """The row in which the two columns differ most."""
    return (ranks.iloc[:, 0] - ranks.iloc[:, 1]).abs().idxmax()


# tables -------------------------------------------------------------------------------------------


def told(table: pd.DataFrame) -> pd.DataFrame:
    """Tests as readers know them."""
    named = {column: table[column].map(NAMES) for column in ("test", "a", "b") if column in table}
    return table.assign(**named)


ORDER = ["test", "paper", "judged on", "value", "low", "high", "passes", "chance", "texts", "trainings"]
TABLES = [
    Table("claims", lambda results: results.series.frame, "All claims in one table, to download.", folded=True,
          otherwise="No report of this profile lies next to this one."),
    Table("agreement", lambda results: agreement(results).sort_values("value")[["a", "b", "value", "low", "high"]],
          "The same in numbers, the strongest contradiction first.", shown=told, folded=True),
    Table("overall", lambda results: overall(results)[ORDER], "The tests, the best first: share of comparisons in "
          "which the truth wins (tests of rankings: mean over the three false ones), and passes of the encoder per "
          "text. An adversary also takes many decodings.", shown=told, keep=("chance",)),
    Table("recommendations", lambda results: recommended(results, best_test(results)), "Recommended designs and "
          f"readings: the most faithful of those as accurate as the best (they lose at most {AS_ACCURATE:g} points "
          "of macro-F1), and what each gains over plain attention."),
    Table("designs", lambda results: designs(results, best_test(results)), "All designs.", folded=True),
]  # fmt: skip

# claims -------------------------------------------------------------------------------------------


def part_change(results: Results, part: str, test: str, reading: str = "alpha") -> Effect:
    """What a part changes by a test."""
    return part_effect(required(scores_of(results, test, reading)), part)


def f1_change(results: Results) -> Effect:
    """What TaSc changes in macro-F1."""
    return part_effect(required(f1(results)), "TaSc")


def honest(results: Results) -> dict[str, Effect]:
    """How often each test prefers the honest model to the deceptive one."""
    groups = required(honesty(results)).groupby("test", sort=False)
    return {NAMES[test]: preference(own, test) for test, own in groups}


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
          figure="tasc"),
    Claim("TaSc costs no accuracy.", "Chrysostomou & Aletras 2021, Table 2", f"macro-F1 with Lin-TaSc minus "
          f"without, {MEAN} (a loss of less than {AS_ACCURATE:g} points counts as none)", f1_change, border=-LOSS,
          unit="F1", figure="pareto"),
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


def notes(results: Results) -> list[str]:
    """What faced the tests."""
    params, models = results.params, len(results.labels[MODEL].drop_duplicates())
    more = len(params.corpora) * len(params.guide_seeds) * len(params.guides)
    return [
        f"**{plural(models, 'model')}** of {len(params.rows)} designs per corpus face {len(TESTS)} tests; {more} "
        "further models test the tests."
    ]


def answer(by: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: the two questions that most readers come with, then the rest."""
    judged = overall(results)
    ranked = judged[judged["test"].isin(RANKS)].assign(text=lambda t: interval_texts(t))
    best, second = (ranked.iloc[k] for k in (0, 1))
    chance = [NAMES[test] for test in judged.loc[judged["chance"], "test"]]
    worst = f"Not clearly better than chance: **{', '.join(chance)}**." if chance else "Every test beats chance."
    use = (
        f"**Which test should I use? {NAMES[best['test']].capitalize()}**: it prefers the true explanation to a "
        f"false one in [{best['text']}](#table-overall) of the texts, for {best['passes']:.0f} passes per text; "
        f"next is {NAMES[second['test']]} with [{second['text']}](#table-overall). {worst}"
    )
    agree = (
        f"The tests agree with each other by a mean τ of [{by[1].text()}](#figure-agreement) over models: that one "
        f"can stand for another (τ above {by[2].border:g}) is **{by[2].verdict}**."
    )
    parts = (
        f"Sparsemax changes comprehensiveness by [{by[5].text()}](#figure-parts); tying changes outputs under "
        f"permuted attention by [{by[6].text()}](#figure-parts) TVD."
    )
    return [helps(by[3], by[4], results), use, agree, parts]


def helps(product: Judged, cost: Judged, results: Results) -> str:
    """Whether TaSc helps: by both readings, in this study's models and in those of 01_tasc, each by its own."""
    yes = {"reproduced": "yes", "not reproduced": "no", "undetermined": "undecided", "not tested": "not tested"}
    said = "hardly" if product.size == "negligible" else yes[product.verdict]
    by_alpha = part_effect(scores_of(results, "flips_input"), "TaSc")
    helped = {True: "it helps", False: "it hurts", None: "undecided"}[holds(by_alpha.low, by_alpha.high, "less")]
    theirs = results.series.told(
        "tasc-3",
        " In the models of [{report}]({link}) ({setting}) it changes by {effect}: that it falls is {verdict}.",
    )
    weights = results.series.told(
        "tasc-17",
        " In the models of [{report}]({link}) the share of decisions that the top token flips changes by {effect} "
        "{unit} with the variant of TaSc that loses least: that each variant **hurts** α is {verdict}.",
    )
    return (
        "**Does TaSc help?** It scales attention by a learned number per word; its paper asks what fraction of the "
        "tokens must be removed until a decision flips (less is better). "
        f"**Ranked by α∇α: {said}.** In this report's own models Lin-TaSc changes the fraction by "
        f"[{product.text()}](#figure-tasc).{theirs} "
        f"**Ranked by α alone, by attention itself:** in this report's own models "
        f"[{by_alpha.text()}](#figure-tasc), {helped}.{weights} "
        f"Macro-F1 changes by [{cost.text(1, 100)}](#figure-pareto) points in this report's own models: that TaSc "
        f"is as accurate, a loss of less than {AS_ACCURATE:g} points, is **{cost.verdict}**."
    )


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpora: name of the check -> whether it does."""
    models = results.labels[[*CELL, "seed"]].drop_duplicates()
    covered = set().union(*map(pairs, params.rows))
    possible = set().union(*map(pairs, params.model_copy(update={"design": "whole"}).rows))
    shares = results.rankings["value"] if len(results.rankings) else None
    tau = agreement(results)["value"]
    return {
        "every pair of parts is trained": covered == possible,
        "every model faced every test": results.grid.failures.empty
        and len(models) == len(params.corpora) * len(params.seeds) * len(params.rows)
        and set(results.scores["test"]) >= set(TESTS) - {"plausibility"},
        "fractions to a flip are fractions": bool(
            results.scores.loc[results.scores["test"].str.startswith("flips"), "value"].between(0, 1).all()
        ),
        "preferences are 0, a half or 1": shares is None or bool(shares.dropna().isin([0.0, 0.5, 1.0]).all()),
        "correlations lie between −1 and 1": bool(tau.dropna().between(-1 - 1e-9, 1 + 1e-9).all()),
    }
