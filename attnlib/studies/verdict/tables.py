"""Tables of the verdict: frames in, frames out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attnlib.measures.diagnosticity import preferred
from attnlib.stats.inference import NAN, Effect, effect, effects
from attnlib.stats.jackknife import f1_values
from attnlib.studies.learned import without
from attnlib.studies.verdict.grid import CELL, MODEL, PARTS, Results
from attnlib.studies.verdict.measures import READINGS, TESTS

SHARES: dict = {"bounds": (0.0, 1.0)}
STRATUM = ["dataset", "encoder"]
PAIR = [*STRATUM, "seed", "test", "instance"]
"""What an honest and a deceptive model, or a true and a false ranking, are compared on."""
CHANCE = 0.5
LOSS = 0.02
"""F1 that a more faithful design may cost to be recommended: the border of 01_tasc."""
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


def mean_agreement(results: Results, tests: Sequence[str] = ()) -> Effect:
    """Mean τ over all pairs of tests (of those named), with its interval over models."""
    values = _tau_values(results)
    if tests:
        values = values[values["a"].isin(tests) & values["b"].isin(tests)]
    return _over_models(values.groupby(["dataset", "model"], as_index=False)[["value", "point"]].mean())


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
    """The values of a test as its paper defines them, of models that learned something."""
    return _where(without(results.scores, results.idle), {"test": test, "importance": reading})


def part_effects(results: Results) -> pd.DataFrame:
    """What each part changes by each test, in standard deviations over models, signed: more is better."""
    rows = []
    for part in CHANGES:
        for test in TESTS:
            if test not in results.by_model:
                continue
            own = _where(results.learned, {"test": test, "importance": "alpha"})
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
    """Pseudovalues of macro-F1 of the models that learned something, one row per model and text."""
    return f1_values(without(results.labels, results.idle), MODEL)


def diagnosticity(results: Results) -> pd.DataFrame:
    """How often each test prefers the truth, by what it is compared with; one row per test and false explanation.

    `against`: a false ranking of the same text, or (`honesty`) the attention of a deceptive model; `passes`: of the
    encoder, per text of mean length.
    """
    frames = [effects(results.rankings, ["test", "against"], STRATUM, **SHARES)]
    for test, part in honesty(results).groupby("test", sort=False):
        frames.append(pd.DataFrame([{"test": test, "against": "honesty"} | preference(part, test).row()]))
    return _costed(pd.concat(frames, ignore_index=True), results)


def preference(part: pd.DataFrame, test: str) -> Effect:
    """How often a test prefers the truth."""
    return effect(part, STRATUM, text=_text(test), **SHARES)


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
    frame = frame.assign(chance=~(frame["low"] > CHANCE))
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
    return next((test for test in overall(results)["test"] if TESTS[test].ranks), "comprehensiveness")


def designs(results: Results, test: str) -> pd.DataFrame:
    """Every design of corpus, encoder and parts: its F1, its faithfulness by a test, with the better reading, and
    whether no other design of that corpus and encoder is better in both (`front`)."""
    own = results.learned[results.learned["test"] == test]
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
        stratum = _where(results.learned, {"test": test, "dataset": dataset, "encoder": encoder})
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


def disagreement(results: Results, a: str, b: str) -> pd.Series:
    """The model that two tests rank most differently, with its rank by each (1: best) among those of its corpus."""
    table = results.by_model
    ranks = table.groupby("dataset")[[a, b]].rank(ascending=False)
    ranks = ranks / table.groupby("dataset")[a].transform("size").to_numpy()[:, None]
    place = (ranks[a] - ranks[b]).abs().idxmax()
    size = int((table["dataset"] == table.loc[place, "dataset"]).sum())
    places = (ranks.loc[place] * size).round().astype(int)
    return pd.concat([table.loc[place, MODEL], places, pd.Series({"of": size})])


def telling(results: Results, model: pd.Series, a: str, b: str) -> pd.Series:
    """The text of that model on which the two tests differ most, with its values by each."""
    part = _where(results.learned, {**model[MODEL], "importance": "alpha"})
    wide = part[part["test"].isin([a, b])].pivot_table(index="instance", columns="test", values="value").dropna()
    ranks = wide.rank(pct=True)
    place = (ranks[a] - ranks[b]).abs().idxmax()
    return pd.Series({"instance": place, a: wide.loc[place, a], b: wide.loc[place, b]})
