"""What every study does with its frames: means with intervals, paired contrasts, ours next to the paper's.

A frame holds one row per measurement: the columns that name its cell (dataset, encoder, attention, projection,
variant, importance, metric), `seed`, `instance` and `value`. Seeds and instances are crossed: the same texts meet
every seed, so a bootstrap draws both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from attnlib import stats
from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.data.selection import sampled
from attnlib.studies.beside import beside
from attnlib.studies.datasets import kin
from attnlib.studies.ledger import Claim, Direction, Verdict, judge
from attnlib.utils.errors import DataError
from attnlib.utils.text import plural

if TYPE_CHECKING:
    from attnlib.store.grid import GridResult

__all__ = [
    "CPU_DATA", "CPU_MODEL", "CPU_SEEDS", "CPU_TEXTS", "CPU_TRAIN", "DIFFERS", "FEWEST_TEXTS", "RESAMPLES",
    "beside_paper", "bounds", "claim", "contrast", "exact", "interval_text", "missing", "relative",
    "sampled", "spell_interval", "summarise", "weights", "wide_enough", "widened", "with_width",
]  # fmt: skip

RESAMPLES = 1000
FEWEST_TEXTS = 20
"""Test texts that a verdict needs: over fewer, a share of 0 or 1 has an interval without width."""
WIDTH = 1e-9
"""An interval narrower than this has no width but for rounding."""

CPU_DATA = DataConfig(corpus="rotten_tomatoes")
"""The data of every study's cpu profile: film reviews of one sentence, 6,826 / 852 / 852 texts."""
CPU_MODEL = ModelConfig(vectors="glove", hidden_size=128)
"""The model they start from; `CPU_MODEL.replace(encoder="mlp", scaling="lin")` makes a point of a grid."""
CPU_TRAIN = TrainConfig(epochs=5, patience=2, monitor="loss", amsgrad=True, train_embeddings=False)
"""How they train: Adam with amsgrad, rate 1e-3, batches of 32, the epoch with the lowest dev loss. Word vectors
stay as GloVe has them: two thirds of the words occur at most twice here, too rarely to learn one."""
CPU_SEEDS = (0, 1, 2)
CPU_TEXTS = 400
"""How many test texts costly measures look at: `sampled(corpus.test, CPU_TEXTS)`. A measure imports it
from `attnlib.data.selection`: what a measure imports is part of its result's key, and this module changes often."""


DIFFERS = {
    "20news": "20news is not the paper's 20 Newsgroups: here posts are split by date, subject lines and quotes are "
    "kept, digits and punctuation are gone; the paper's (Jain & Wallace's) are all posts without headers, footers "
    "and quotes, split at random. A difference to the paper's value is also a difference of texts.",
    "imdb": "imdb is the paper's in part: the packaged file holds the official train half alone, and test texts "
    "are cut from it.",
    "rotten_tomatoes": "rotten_tomatoes is shown next to the paper's SST, which is made of the same sentences and "
    "is not the same: here a sentence has the verdict of its review; in SST readers labelled each sentence, and "
    "neutral ones are left out. A difference to the paper's value is also a difference of texts.",
}
"""What sets a corpus of ours apart from the papers' of the same name, or from the closest that they have."""


def summarise(frame: pd.DataFrame, by: Sequence[str], *, resamples: int = RESAMPLES) -> pd.DataFrame:
    """One row per cell: mean `value` with its 95% interval over seeds and instances, n, seeds, missing."""
    _need(frame, [*by, "value"])
    rows = []
    for key, part in frame.groupby(list(by), sort=False, dropna=False, observed=True):
        found = stats.bootstrap(part["value"].to_numpy(float), **_crossed(part), resamples=resamples)
        row = dict(zip(by, key, strict=True))
        row |= {
            "value": found.estimate,
            "low": found.low,
            "high": found.high,
            "n": found.n,
            "missing": found.missing,
        }
        row["seeds"] = part["seed"].nunique() if "seed" in part else 1
        rows.append(row)
    return pd.DataFrame(rows)


def contrast(
    frame: pd.DataFrame,
    column: str,
    a: str,
    b: str,
    by: Sequence[str] = (),
    *,
    pair: Sequence[str] = (),
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Paired differences between two values of a column, mean(a) - mean(b), one row per cell of `by`.

    Rows are paired by seed, instance and the columns named in `pair` (cells to average over, such as dataset). A
    measurement that lacks its partner is left out, of the means `a` and `b` too, and counted in `missing`. `p_holm`
    corrects over the rows.
    """
    _need(frame, [column, *by, *pair, "value"])
    keys = [*by, *pair, *(k for k in ("seed", "instance") if k in frame)]
    sides = [frame[frame[column] == side].set_index(keys)["value"] for side in (a, b)]
    for side, values in zip((a, b), sides, strict=True):
        if values.empty:
            raise DataError(f"No row has {column} = {side!r}; the frame has {sorted(frame[column].unique())}.")
        if values.index.has_duplicates:
            raise DataError(
                f"Several rows share {keys} where {column} = {side!r}; name what tells them apart in `pair`."
            )
    both = pd.concat(sides, axis=1, keys=["a", "b"]).reset_index()
    rows = []
    for key, part in both.groupby(list(by), sort=False) if by else [((), both)]:
        found = stats.paired_bootstrap(
            part["a"].to_numpy(float), part["b"].to_numpy(float), **_crossed(part), resamples=resamples
        )
        row = dict(zip(by, key, strict=True))
        means = part[["a", "b"]].dropna().mean()
        row |= {"contrast": f"{a} - {b}", "a": means["a"], "b": means["b"]}
        rows.append(row | found._asdict())
    table = pd.DataFrame(rows)
    table["p_holm"] = stats.holm(table["p"])
    return table


def missing(grid: GridResult) -> list[str]:
    """What failed, one sentence per cause: the first run, how many more, and why."""
    said = []
    for told, own in grid.failures.groupby(["error", "message"], sort=False) if len(grid.failures) else ():
        more = f" and {plural(len(own) - 1, 'more run')}" if len(own) > 1 else ""
        said.append(f"**Missing:** {own['run'].iloc[0]}{more}: {': '.join(told)}")
    return said


@lru_cache(maxsize=1)
def weights(texts: int, seeds: int, resamples: int = RESAMPLES, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """How often each text and each seed counts: once in the first row, then as `stats.bootstrap` draws them.

    For what is no mean over rows, and so is computed again for each row of weights. Draws depend on the numbers
    alone, so that cells of the same texts and seeds are paired.
    """
    return tuple(
        np.vstack([np.ones(drawn.shape[1]), drawn]) for drawn in stats.draws(texts, seeds, resamples, seed)
    )


def bounds(draws: np.ndarray) -> dict[str, float]:
    """95% interval (`low`, `high`) and two-sided `p` of a difference, from its resamples; NaN does not count."""
    draws = draws[~np.isnan(draws)]
    low, high = np.quantile(draws, [0.025, 0.975])
    tail = min((draws <= 0).sum(), (draws >= 0).sum())
    return {"low": float(low), "high": float(high), "p": float(min(1.0, 2 * (tail + 1) / (len(draws) + 1)))}


def claim(
    row: pd.Series | dict | stats.Interval | stats.Difference,
    direction: Direction,
    border: float = 0.0,
    *,
    verdict: Verdict | None = None,
    **said: object,
) -> Claim:
    """A ledger entry from a row of `summarise` or `contrast` (estimate or value, low, high, n).

    verdict  where more than this row decides (`claims.together`)
    """
    values = row._asdict() if hasattr(row, "_asdict") else dict(row)
    effect = values.get("estimate", values.get("value"))
    low, high = float(values["low"]), float(values["high"])
    return Claim(
        effect=float(effect),
        low=low,
        high=high,
        n=int(values["n"]),
        verdict=verdict or judge(low, high, direction, border),
        **said,
    )


def interval_text(frame: pd.DataFrame, digits: int = 2) -> pd.Series:
    """`0.41 [0.38, 0.44]` for every row with value, low and high."""
    rows = frame[["value", "low", "high"]].to_numpy(float)
    return pd.Series([spell_interval(*row, digits) for row in rows], index=frame.index, dtype=object)


def spell_interval(value: float, low: float, high: float, digits: int = 2) -> str:
    """`0.41 [0.38, 0.44]`; without bounds the value alone."""
    if np.isnan(value):
        return "–"
    return f"{value:z.{digits}f}" + ("" if np.isnan(low) else f" [{low:z.{digits}f}, {high:z.{digits}f}]")


def exact(hits: int, n: int) -> tuple[float, float]:
    """95 % bounds of a share by the binomial distribution (Clopper & Pearson 1934)."""
    bounds = scipy_stats.binomtest(hits, n).proportion_ci(method="exact")
    return float(bounds.low), float(bounds.high)


def with_width(value: float, low: float, high: float, n: int, least: float = -1.0) -> tuple[float, float]:
    """Bounds of a mean over n texts of values between `least` and 1, which have a width also where all texts agree.

    A bootstrap of equal values has no width, however few they are. The share of texts that differ, though none was
    seen, may be as large as the exact binomial bound of none in n, and such a text may have any value in the range.
    """
    if not (high - low < WIDTH and n):
        return low, high
    unseen = exact(0, n)[1]
    return value - unseen * (value - least), value + unseen * (1.0 - value)


def wide_enough(
    table: pd.DataFrame, frame: pd.DataFrame, by: Sequence[str], *, least: float = 0.0, most: float = 1.0
) -> pd.DataFrame:
    """A table of `summarise` or `contrast`, cells `by` of `frame`, with the bounds of `with_width`.

    For values between `least` and `most` that no construction holds in place, such as shares of texts.
    """
    if table.empty:
        return table
    texts = frame.groupby(list(by), sort=False, dropna=False)["instance"].nunique()
    keys = table[list(by)].itertuples(index=False, name=None)
    counts = [texts[key if len(by) > 1 else key[0]] for key in keys]
    means = table["value"] if "value" in table else table["estimate"]
    rows = zip(means / most, table["low"] / most, table["high"] / most, counts, strict=True)
    low, high = zip(*(with_width(*row, least / most) for row in rows), strict=True)
    return table.assign(low=most * np.array(low), high=most * np.array(high))


def widened(value: float, low: float, high: float, n: int, least: float = 0.0) -> tuple[float, float]:
    """Bounds of a mean over n texts, wide enough for few (`stats.widened`) and unanimous ones (`with_width`)."""
    if high - low < WIDTH and n:
        return with_width(value, low, high, n, least)
    bounds = stats.widened(value, low, high, n)
    return tuple(float(np.clip(bound, least, 1.0)) for bound in bounds)


def beside_paper(summary: pd.DataFrame, paper: str, table: str | int, digits: int = 2) -> pd.DataFrame:
    """A summary with the paper's value and the difference, ours written with its interval.

    A data set is looked up by the paper's name for it, or for the closest one the paper has (`corpora.kin`).
    """
    names = summary["dataset"].to_numpy() if "dataset" in summary else None
    joined = beside(summary if names is None else summary.assign(dataset=list(map(kin, names))), paper, table)
    joined = joined if names is None else joined.assign(dataset=names)
    return joined.assign(ours=interval_text(joined, digits))


def relative(frame: pd.DataFrame, column: str, base: str, by: Sequence[str]) -> pd.DataFrame:
    """`frame` with `relative`: value divided by that of the row where `column` is `base`, within the cell `by`."""
    _need(frame, [column, *by, "value"])
    bases = frame[frame[column] == base][[*by, "value"]].rename(columns={"value": "base"})
    joined = (
        frame.merge(bases, on=list(by), how="left", validate="many_to_one")
        if by
        else frame.assign(base=bases["base"].iloc[0])
    )
    joined["relative"] = joined["value"] / joined["base"].where(joined["base"] != 0)
    return joined.drop(columns="base")


def _crossed(part: pd.DataFrame) -> dict[str, np.ndarray | None]:
    """Labels for the bootstrap: seeds as groups, and instances, which differ between data sets."""
    labels: dict[str, np.ndarray | None] = {"groups": None, "instances": None}
    if "seed" in part:
        labels["groups"] = part["seed"].to_numpy()
    if "instance" in part:
        text = [c for c in ("dataset", "instance") if c in part]
        labels["instances"] = part.groupby(text, sort=False, dropna=False).ngroup().to_numpy()
    return labels


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    absent = [c for c in columns if c not in frame]
    if absent:
        raise DataError(f"The frame lacks the columns {absent}; it has {list(frame.columns)}.")
