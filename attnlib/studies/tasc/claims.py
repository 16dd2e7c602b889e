"""The ledger of the TaSc study: the rules of `tasc_rules` applied to the frames.

Means are over the cells of corpus, encoder and attention of the setting, each of which counts alike; differences
are paired by model, seed and text. A claim that something holds for *each* of several things needs each of them
(`claims.together`), and shows the least favourable. Cells with a model that learned nothing (`tasc_tables.idle`)
are left out; where no models are left, a claim is not tested and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from attnlib.studies.common import FEWEST_TEXTS, RESAMPLES, claim, weights
from attnlib.studies.f1 import RULE
from attnlib.studies.ledger import Claim, Direction, judge, not_tested, together
from attnlib.studies.tasc.cells import CELL, contrast
from attnlib.studies.tasc.grid import BASELINES, FRACTION, PAPER, RANKINGS, TOP1, Results
from attnlib.studies.tasc.rules import MARGIN_F1, MARGIN_FRACTION, RULES, TRAININGS
from attnlib.studies.tasc.tables import NAMES, balanced, f1_changes, nothing_to_lose, without_idle
from attnlib.utils.text import plural

RECURRENT, PLAIN = ("lstm", "gru"), ("mlp", "cnn")
ABSENT = "The models it needs are not part of this run, or learned nothing."
IDLE = f"In every cell a model learned nothing ({RULE}), so what flips decisions says nothing about attention."
PARTIAL = "No encoder has models that learned something in every cell, so there is no mean over cells."
Said = Callable[[int], Mapping[str, Any]]


def claims(results: Results, setting: str, *, frozen: bool = False) -> list[Claim]:
    """The ledger of the study. `frozen`: the pretrained encoder was not fine-tuned."""
    said = sayer(setting)
    fewest = results.flips.groupby("dataset")["instance"].nunique().min()
    if fewest < FEWEST_TEXTS:
        why = f"A corpus has {plural(int(fewest), 'test text')}; a verdict needs at least {FEWEST_TEXTS}."
        return [not_tested(why, **said(k)) for k in RULES]
    flips = without_idle(results.flips, results.labels)
    if flips.empty:
        return [_f1(results.labels, said), *(not_tested(IDLE, **said(k)) for k in RULES if k > 1)]
    whole = balanced(flips)
    found = [
        _f1(results.labels, said),
        _every_encoder(flips, said),
        _beats_baselines(flips, said),
        _baselines_gain(flips, said),
        *_bert(flips, said, frozen),
    ]
    if whole.empty:
        found += [not_tested(PARTIAL, **said(k)) for k in (2, 3, 5, 6, 7, 8, 13)]
    else:
        found += [
            *(_lin_below_none(whole, ranking, k, said) for k, ranking in ((2, "grad_alpha"), (3, "alpha_grad"))),
            _dot_gains_most(whole, said),
            *_recurrent(whole, said),
            _best_ranking(whole, said),
            _narrower(whole, said),
        ]
    return sorted(found, key=lambda one: int(one.id.removeprefix("tasc-")))


def sayer(setting: str) -> Said:
    """What the ledger says of claim k, whatever its verdict."""
    common = {"paper": PAPER, "setting": setting, "n_of": "texts times models"}
    return lambda k: {"id": f"tasc-{k}", **common, **RULES[k]._asdict()}


def _f1(labels: pd.DataFrame, said: Said) -> Claim:
    """Judged for the encoders that were trained most often; the others are named with their numbers."""
    table = f1_changes(labels)
    if table.empty:
        return not_tested("Without TaSc no model learned anything, so there is no performance to lose.", **said(1))
    full = table["seeds"] == table["seeds"].max()
    judged, rest = table[full], table[~full]
    verdicts = [judge(row.low, row.high, "greater", -MARGIN_F1) for row in judged.itertuples()]
    worst = judged.loc[judged["estimate"].idxmin()]
    notes = [
        f"Not judged, since it rests on {plural(row.seeds, 'training')}: {NAMES[row.variant]} with "
        f"{NAMES.get(row.encoder, row.encoder)} {row.estimate:+.3f}."
        for row in rest.itertuples()
    ]
    gone = nothing_to_lose(labels)
    if len(gone):
        cells = ", ".join(sorted({" ".join(NAMES.get(k, k) for k in key) for key in gone[CELL].to_numpy()}))
        notes.append(f"Left out, since the model without TaSc learned nothing: {cells}.")
    shown = f"{NAMES[worst['variant']]}, {NAMES.get(worst['encoder'], worst['encoder'])}"
    told = {**said(1), "test": f"{said(1)['test']}; shown: {shown}", "note": " ".join(notes)}
    return claim(worst, "greater", -MARGIN_F1, verdict=together(verdicts), **told)


def _lin_below_none(flips: pd.DataFrame, ranking: str, k: int, said: Said) -> Claim:
    part = _fractions(flips, [ranking])
    return claim(contrast(part, "variant", "lin", "none", pair=CELL).iloc[0], "less", **said(k))


def _every_encoder(flips: pd.DataFrame, said: Said) -> Claim:
    part = _fractions(flips, ["alpha_grad"])
    table = contrast(part, "variant", "lin", "none", ["encoder"], pair=["dataset", "attention"])
    return _each(table, "encoder", "less", **said(4))


def _dot_gains_most(flips: pd.DataFrame, said: Said) -> Claim:
    part = flips[(flips["metric"] == TOP1) & (flips["importance"] == "alpha_grad")]
    gains = _gains(part, ["attention", "dataset", "encoder"])
    if set(gains["attention"]) < {"dot", "additive"}:
        return not_tested(ABSENT, **said(5))
    rows = contrast(gains, "attention", "dot", "additive", pair=["dataset", "encoder"])
    return claim(rows.iloc[0], "greater", **said(5))


def _recurrent(flips: pd.DataFrame, said: Said) -> list[Claim]:
    part = _fractions(flips, ["alpha_grad"])
    kinds = part["encoder"].map({**dict.fromkeys(RECURRENT, "recurrent"), **dict.fromkeys(PLAIN, "plain")})
    keys = ["dataset", "attention", "variant", "seed", "instance"]
    part = part.assign(kind=kinds).dropna(subset=["kind"]).groupby([*keys, "kind"], as_index=False)["value"].mean()
    if part["kind"].nunique() < 2:
        return [not_tested(ABSENT, **said(k)) for k in (6, 7)]
    rows = contrast(part, "kind", "recurrent", "plain", ["variant"], pair=["dataset", "attention"])
    rows = rows.set_index("variant")
    return [
        claim(rows.loc["none"], "greater", **said(6)),
        claim(rows.loc["lin"], "within", MARGIN_FRACTION, **said(7)),
    ]


def _best_ranking(flips: pd.DataFrame, said: Said) -> Claim:
    part = _fractions(flips, RANKINGS)
    tables = [
        contrast(part, "importance", "alpha_grad", other, ["variant"], pair=CELL).assign(other=NAMES[other])
        for other in ("alpha", "grad_alpha")
    ]
    table = pd.concat(tables, ignore_index=True)
    return _each(table.assign(case=table["other"] + ", " + table["variant"].map(NAMES)), "case", "less", **said(8))


def _beats_baselines(flips: pd.DataFrame, said: Said) -> Claim:
    part = _fractions(flips, (*BASELINES, "alpha_grad"))
    ours = part[(part["variant"] == "lin") & (part["importance"] == "alpha_grad")]
    theirs = part[(part["variant"] == "none") & part["importance"].isin(BASELINES)]
    return _share(_cellwise(ours, theirs), True, said(9))


def _baselines_gain(flips: pd.DataFrame, said: Said) -> Claim:
    part = _fractions(flips, BASELINES)
    lin, none = part[part["variant"] == "lin"], part[part["variant"] == "none"]
    keys = [*CELL, "seed", "instance", "importance"]
    both = lin.merge(none, on=keys, suffixes=("", "_other"))
    both["value"] -= both["value_other"]
    return _share(both, False, said(10))


def _bert(flips: pd.DataFrame, said: Said, frozen: bool) -> list[Claim]:
    part = _fractions(flips, ["alpha_grad"])
    told = [dict(said(k)) for k in (11, 12)]
    for entry in told if frozen else ():
        entry["claim"] = entry["claim"].removesuffix(".") + ", its encoder frozen here."
    trainings = part.loc[part["encoder"] == "bert", "seed"].nunique()
    plain = part[part["variant"] == "none"]
    others = [e for e in plain["encoder"].unique() if e != "bert"]
    if not trainings or not others:
        return [not_tested(ABSENT, **entry) for entry in told]
    if trainings < TRAININGS:
        how = " of a frozen encoder" if frozen else ""
        why = f"This run has {plural(trainings, 'training')}{how}; a claim about BERT needs {TRAININGS}."
        return [not_tested(why, **entry) for entry in told]
    # BERT may have been measured for fewer seeds, attentions and texts: only what it shares is compared
    shared = plain.merge(
        plain.loc[plain["encoder"] == "bert", ["dataset", "attention", "seed", "instance"]],
        on=["dataset", "attention", "seed", "instance"],
    )
    pair = ["dataset", "attention"]
    tables = [contrast(shared, "encoder", "bert", e, pair=pair).assign(other=NAMES.get(e, e)) for e in others]
    worst = _each(pd.concat(tables, ignore_index=True), "other", "greater", **told[0])
    gain = contrast(part[part["encoder"] == "bert"], "variant", "lin", "none", pair=pair).iloc[0]
    return [worst, claim(gain, "less", **told[1])]


def _narrower(flips: pd.DataFrame, said: Said) -> Claim:
    """Standard deviations over texts within a model, and their difference, with texts and seeds resampled."""
    part = _fractions(flips, ["alpha_grad"])
    draws, estimates, n = [], [], 0
    for _, cell in part[part["variant"].isin(["none", "lin"])].groupby(CELL, sort=False):
        sides = [_spread(cell[cell["variant"] == v]) for v in ("lin", "none")]
        draws.append(sides[0][1:] - sides[1][1:])
        estimates.append(sides[0][0] - sides[1][0])
        n += int((cell["variant"] == "lin").sum())
    low, high = np.quantile(np.mean(draws, 0), [0.025, 0.975])
    return claim({"estimate": float(np.mean(estimates)), "low": low, "high": high, "n": n}, "less", **said(13))


def _spread(cell: pd.DataFrame) -> np.ndarray:
    """Standard deviation over texts, mean over seeds: the estimate, then its resamples."""
    values, texts, seeds = _shares(cell)
    variance = (texts @ values**2 - (texts @ values) ** 2).clip(0)
    return (np.sqrt(variance) * seeds).sum(1)


def _means(part: pd.DataFrame) -> np.ndarray:
    """Mean over seeds and texts: the estimate, then its resamples."""
    values, texts, seeds = _shares(part)
    return (texts @ values * seeds).sum(1)


def _shares(cell: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (texts, seeds) and the shares of texts and of seeds: equal ones, then resamples."""
    values = cell.pivot_table(index="instance", columns="seed", values="value").sort_index().to_numpy(float)
    texts, seeds = weights(*values.shape)
    return values, texts / values.shape[0], seeds / values.shape[1]


def _cellwise(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Our value minus each of theirs for the same cell, seed and text."""
    keys = [*CELL, "seed", "instance"]
    both = theirs.merge(ours[[*keys, "value"]], on=keys, suffixes=("_theirs", ""))
    both["value"] -= both["value_theirs"]
    return both


def _share(differences: pd.DataFrame, every: bool, said: Mapping[str, Any]) -> Claim:
    """Share of cells where the mean difference is below 0, for `every` importance at once or for each alone."""
    if differences.empty:
        return not_tested(ABSENT, **said)
    by = CELL if every else [*CELL, "importance"]
    cells = []
    for _, cell in differences.groupby(by, sort=False):
        below = np.ones(RESAMPLES + 1, dtype=bool)
        for _, part in cell.groupby("importance", sort=False):
            below &= _means(part) < 0
        cells.append(below)
    shares = np.mean(cells, 0)
    low, high = np.quantile(shares[1:], [0.025, 0.975])
    row = {"estimate": shares[0], "low": low, "high": high, "n": len(cells)}
    return claim(row, "greater", 0.5, **{**said, "n_of": "cells"})


def _gains(part: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Lin-TaSc minus no TaSc for every cell, seed and text."""
    keys = [*keys, "seed", "instance"]
    lin, none = (part.loc[part["variant"] == v, [*keys, "value"]] for v in ("lin", "none"))
    both = lin.merge(none, on=keys, suffixes=("", "_none"))
    return both.assign(value=both["value"] - both["value_none"]).drop(columns="value_none")


def _fractions(flips: pd.DataFrame, rankings) -> pd.DataFrame:
    return flips[(flips["metric"] == FRACTION) & flips["importance"].isin(rankings)]


def _each(table: pd.DataFrame, column: str, direction: Direction, **said) -> Claim:
    """A claim about every row of a table; its least favourable row is shown."""
    verdicts = [judge(row.low, row.high, direction) for row in table.itertuples()]
    worst = table.loc[table["estimate"].idxmax() if direction == "less" else table["estimate"].idxmin()]
    name = NAMES.get(worst[column], worst[column])
    told = {**said, "test": f"{said['test']}; shown: {name}"}
    return claim(worst, direction, verdict=together(verdicts), **told)
