"""What the TaSc paper says, and the rule by which each sentence is judged. The rules were fixed before the runs.

Means are over the cells of corpus, encoder and attention of the setting, each of which counts alike; differences
are paired by model, seed and text. A claim that something holds for *each* of several things needs each of them
(`claims.together`), and shows the least favourable. Two rules were mended later, towards what their sentence says:
tasc-8 asks every variant where it used to pool them, and cells count alike where larger corpora used to weigh more.
Cells with a model that learned nothing count for F1 alone (`tasc_tables.idle`).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib.claims import Claim, Direction, judge, together
from attnlib.errors import DataError
from attnlib.studies.common import RESAMPLES, claim, weights
from attnlib.studies.tasc import BASELINES, FRACTION, PAPER, RANKINGS, TOP1, Results
from attnlib.studies.tasc_cells import CELL, contrast
from attnlib.studies.tasc_tables import NAMES, balanced, f1_changes, without_idle

MARGIN_F1 = 0.02
"""How much F1 may be lost and still count as none sacrificed: two of the paper's standard deviations."""
MARGIN_FRACTION = 0.05
"""Mean fractions that differ by less count as comparable."""
RECURRENT, PLAIN = ("lstm", "gru"), ("mlp", "cnn")


def claims(results: Results, setting: str) -> list[Claim]:
    """The ledger of the study."""
    flips = without_idle(results.flips, results.labels)
    if flips.empty:
        raise DataError("No cell has models that learned something with every variant: nothing can be judged.")
    whole = balanced(flips)
    said = {"paper": PAPER, "setting": setting, "n_of": "texts times models"}
    return [
        _f1(results.labels, said),
        *(_lin_below_none(whole, ranking, k, said) for k, ranking in ((2, "grad_alpha"), (3, "alpha_grad"))),
        _every_encoder(flips, said),
        _dot_gains_most(whole, said),
        *_recurrent(whole, said),
        _best_ranking(whole, said),
        _beats_baselines(flips, said),
        _baselines_gain(flips, said),
        *_bert(flips, said),
        _narrower(whole, said),
    ]


def _f1(labels: pd.DataFrame, said: dict) -> Claim:
    table = f1_changes(labels)
    verdicts = [judge(row.low, row.high, "greater", -MARGIN_F1) for row in table.itertuples()]
    worst = table.loc[table["estimate"].idxmin()]
    return _of(
        worst,
        together(verdicts),
        id="tasc-1",
        claim="TaSc does not sacrifice predictive performance.",
        where="section 6.2, Table 2",
        test=f"macro-F1 of each variant minus that without TaSc is above -{MARGIN_F1}; "
        f"shown: {NAMES[worst['variant']]}",
        **said,
    )


def _lin_below_none(flips: pd.DataFrame, ranking: str, k: int, said: dict) -> Claim:
    part = _fractions(flips, [ranking])
    return claim(
        contrast(part, "variant", "lin", "none", pair=CELL).iloc[0],
        "less",
        id=f"tasc-{k}",
        claim=f"With Lin-TaSc, fewer tokens ranked by {NAMES[ranking]} must go until the decision flips.",
        where="section 6.4, Table 4",
        test=f"fraction to flip by {NAMES[ranking]}, Lin-TaSc minus no TaSc, is below 0",
        **said,
    )


def _every_encoder(flips: pd.DataFrame, said: dict) -> Claim:
    table = contrast(
        _fractions(flips, ["alpha_grad"]), "variant", "lin", "none", ["encoder"], pair=["dataset", "attention"]
    )
    return _each(
        table,
        "encoder",
        "less",
        id="tasc-4",
        claim="Lin-TaSc lowers the fraction to flip (α∇α) with every encoder.",
        where="section 6.4, Figure 2",
        test="Lin-TaSc minus no TaSc is below 0 for each encoder",
        **said,
    )


def _dot_gains_most(flips: pd.DataFrame, said: dict) -> Claim:
    part = flips[(flips["metric"] == TOP1) & (flips["importance"] == "alpha_grad")]
    gains = _gains(part, ["attention", "dataset", "encoder"])
    if set(gains["attention"]) < {"dot", "additive"}:
        return _missing(said, "tasc-5", "Dot gains more from TaSc than Tanh.", "section 6.3, Table 3")
    return claim(
        contrast(gains, "attention", "dot", "additive", pair=["dataset", "encoder"]).iloc[0],
        "greater",
        id="tasc-5",
        claim="Dot attention gains more from TaSc than Tanh (decisions flipped by the top token, α∇α).",
        where="section 6.3, Table 3",
        test="gain of Lin-TaSc with Dot minus gain with Tanh, in percentage points, is above 0",
        **said,
    )


def _recurrent(flips: pd.DataFrame, said: dict) -> list[Claim]:
    part = _fractions(flips, ["alpha_grad"])
    kinds = part["encoder"].map({**dict.fromkeys(RECURRENT, "recurrent"), **dict.fromkeys(PLAIN, "plain")})
    keys = ["dataset", "attention", "variant", "seed", "instance"]
    part = part.assign(kind=kinds).dropna(subset=["kind"]).groupby([*keys, "kind"], as_index=False)["value"].mean()
    texts = {
        "none": "Without TaSc, MLP and CNN need a smaller fraction (α∇α) than recurrent encoders.",
        "lin": "With Lin-TaSc, recurrent encoders become comparable to MLP and CNN (α∇α).",
    }
    where = "section 6.4, Figure 2"
    if part["kind"].nunique() < 2:
        return [_missing(said, f"tasc-{k}", text, where) for k, text in zip((6, 7), texts.values(), strict=True)]
    rows = contrast(part, "kind", "recurrent", "plain", ["variant"], pair=["dataset", "attention"])
    rows = rows.set_index("variant")
    return [
        claim(
            rows.loc["none"],
            "greater",
            id="tasc-6",
            claim=texts["none"],
            where=where,
            test="fraction with recurrent encoders minus that with MLP and CNN is above 0",
            **said,
        ),
        claim(
            rows.loc["lin"],
            "within",
            MARGIN_FRACTION,
            id="tasc-7",
            claim=texts["lin"],
            where=where,
            test=f"the same difference with Lin-TaSc lies within ±{MARGIN_FRACTION}",
            **said,
        ),
    ]


def _best_ranking(flips: pd.DataFrame, said: dict) -> Claim:
    part = _fractions(flips, RANKINGS)
    tables = [
        contrast(part, "importance", "alpha_grad", other, ["variant"], pair=CELL).assign(other=NAMES[other])
        for other in ("alpha", "grad_alpha")
    ]
    table = pd.concat(tables, ignore_index=True)
    return _each(
        table.assign(case=table["other"] + ", " + table["variant"].map(NAMES)),
        "case",
        "less",
        id="tasc-8",
        claim="Of the three attention rankings α∇α is the best, with TaSc or without.",
        where="sections 6.3 and 6.4",
        test="fraction by α∇α minus that by each other ranking, without TaSc and with each variant, is below 0",
        **said,
    )


def _beats_baselines(flips: pd.DataFrame, said: dict) -> Claim:
    text = "Lin-TaSc with α∇α flips decisions with fewer tokens than WO, x∇x and IG without TaSc in most cells."
    part = _fractions(flips, (*BASELINES, "alpha_grad"))
    ours = part[(part["variant"] == "lin") & (part["importance"] == "alpha_grad")]
    theirs = part[(part["variant"] == "none") & part["importance"].isin(BASELINES)]
    differences = _cellwise(ours, theirs)
    return _share(differences, True, text, "tasc-9", "section 7, Table 5", said)


def _baselines_gain(flips: pd.DataFrame, said: dict) -> Claim:
    text = "TaSc lowers the fraction of WO, x∇x and IG too, in most cells."
    part = _fractions(flips, BASELINES)
    lin, none = part[part["variant"] == "lin"], part[part["variant"] == "none"]
    keys = [*CELL, "seed", "instance", "importance"]
    both = lin.merge(none, on=keys, suffixes=("", "_other"))
    both["value"] -= both["value_other"]
    return _share(both, False, text, "tasc-10", "section 7, Appendix E", said)


def _bert(flips: pd.DataFrame, said: dict) -> list[Claim]:
    part = _fractions(flips, ["alpha_grad"])
    texts = (
        "Without TaSc, BERT needs the largest fraction (α∇α) of all encoders.",
        "Lin-TaSc lowers BERT's fraction (α∇α).",
    )
    where = "section 6.4, Figure 2"
    if "bert" not in set(part["encoder"]):
        return [_missing(said, f"tasc-{k}", text, where) for k, text in zip((11, 12), texts, strict=True)]
    plain = part[part["variant"] == "none"]
    # BERT may have been measured for fewer seeds, attentions and texts: only what it shares is compared
    others = [e for e in plain["encoder"].unique() if e != "bert"]
    shared = plain.merge(
        plain.loc[plain["encoder"] == "bert", ["dataset", "attention", "seed", "instance"]],
        on=["dataset", "attention", "seed", "instance"],
    )
    pair = ["dataset", "attention"]
    tables = [contrast(shared, "encoder", "bert", e, pair=pair).assign(other=NAMES.get(e, e)) for e in others]
    worst = _each(
        pd.concat(tables, ignore_index=True),
        "other",
        "greater",
        id="tasc-11",
        claim=texts[0],
        where=where,
        test="fraction with BERT minus that with each other encoder, without TaSc, is above 0",
        **said,
    )
    gain = contrast(part[part["encoder"] == "bert"], "variant", "lin", "none", pair=pair).iloc[0]
    test = "fraction with BERT, Lin-TaSc minus no TaSc, is below 0"
    return [worst, claim(gain, "less", id="tasc-12", claim=texts[1], where=where, test=test, **said)]


def _narrower(flips: pd.DataFrame, said: dict) -> Claim:
    """Standard deviations over texts within a model, and their difference, with texts and seeds resampled."""
    part = _fractions(flips, ["alpha_grad"])
    draws, estimates, n = [], [], 0
    for _, cell in part[part["variant"].isin(["none", "lin"])].groupby(CELL, sort=False):
        sides = [_spread(cell[cell["variant"] == v]) for v in ("lin", "none")]
        draws.append(sides[0][1:] - sides[1][1:])
        estimates.append(sides[0][0] - sides[1][0])
        n += int((cell["variant"] == "lin").sum())
    low, high = np.quantile(np.mean(draws, 0), [0.025, 0.975])
    return claim(
        {"estimate": float(np.mean(estimates)), "low": low, "high": high, "n": n},
        "less",
        id="tasc-13",
        claim="With Lin-TaSc the fraction to flip (α∇α) varies less from text to text.",
        where="section 6.5, Figure 3",
        test="standard deviation over texts, Lin-TaSc minus no TaSc, mean over cells, is below 0",
        **said,
    )


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


def _share(differences: pd.DataFrame, every: bool, text: str, id_: str, where: str, said: dict) -> Claim:
    """Share of cells where the mean difference is below 0, for `every` importance at once or for each alone."""
    if differences.empty:
        return _missing(said, id_, text, where)
    by = CELL if every else [*CELL, "importance"]
    cells = []
    for _, cell in differences.groupby(by, sort=False):
        below = np.ones(RESAMPLES + 1, dtype=bool)
        for _, part in cell.groupby("importance", sort=False):
            below &= _means(part) < 0
        cells.append(below)
    shares = np.mean(cells, 0)
    low, high = np.quantile(shares[1:], [0.025, 0.975])
    beaten = "each of the three" if every else "the mean difference"
    return claim(
        {"estimate": shares[0], "low": low, "high": high, "n": len(cells)},
        "greater",
        0.5,
        id=id_,
        claim=text,
        where=where,
        test=f"share of cells where {beaten} is {'beaten' if every else 'below 0'}, above one half",
        **{**said, "n_of": "cells"},
    )


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
    return _of(worst, together(verdicts), **{**said, "test": f"{said['test']}; shown: {name}"})


def _of(row: pd.Series, verdict: str, **said) -> Claim:
    numbers = {"effect": float(row["estimate"]), "low": float(row["low"]), "high": float(row["high"])}
    return Claim(**numbers, n=int(row["n"]), verdict=verdict, **said)


def _missing(said: dict, id_: str, text: str, where: str) -> Claim:
    nan = float("nan")
    test = "not measured: the models it needs are not part of this setting, or learned nothing"
    return Claim(
        id=id_,
        claim=text,
        where=where,
        test=test,
        effect=nan,
        low=nan,
        high=nan,
        n=0,
        verdict="undetermined",
        **said,
    )
