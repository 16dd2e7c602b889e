"""How a claim of the erasure study is decided: by a mean, a paired difference, every model, or most models.

Each rule returns what is left to make a `Claim` once its id and setting are known. n counts texts or models, never
rows. Every interval is wide enough for few or unanimous texts. Where there is nothing to decide by, the claim is
not tested, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.studies.common import contrast, exact, summarise, widened
from attnlib.studies.datasets import short
from attnlib.studies.erasure.tables import MODEL, model_name
from attnlib.studies.f1 import without
from attnlib.studies.ledger import Claim, judge, not_tested, together
from attnlib.utils.text import percent, plural

if TYPE_CHECKING:
    from attnlib.studies.erasure.grid import Results

Made = Callable[..., Claim]
EMPTIED = 0.5
"""The largest share of texts that may flip only when nothing is left where the attention mass removed is compared.
Once everything is removed so is all attention, whatever the ranking: beyond one half, a model shows that and little
else (claims 17 and 18)."""
BOUNDS = ["value", "low", "high", "n"]
NOTHING = {"estimate": np.nan, "low": np.nan, "high": np.nan, "n": 0}


def idle(right: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """The trainings (dataset, encoder, seed) that learned nothing: not clearly above the most frequent class.

    Clearly: by the lower of the exact binomial bounds. Of several models that guess, about half are a little more
    accurate by chance.
    """
    common = data[data["metric"] == "commonest_class"].set_index("dataset")["value"]
    found = right.groupby([*MODEL, "seed"], sort=False)["value"].agg(["sum", "size"]).reset_index()
    least = [exact(int(hits), int(n))[0] for hits, n in zip(found["sum"], found["size"], strict=True)]
    return found.loc[least <= found["dataset"].map(common), [*MODEL, "seed"]]


def without_idle(found: Results) -> Results:
    """The results of the trainings that learned something."""
    models = idle(found.right, found.data)
    return replace(found, **{name: without(getattr(found, name), models) for name in ("single", "fractions")})


def lacking(frame: pd.DataFrame, encoders: Iterable[str], otherwise: str) -> str:
    """Why a claim about these models is not tested: they are not in the run, or else for the reason given."""
    absent = [model_name(e) for e in encoders if e not in set(frame["encoder"])]
    return f"Not in this run, or learned nothing: {', '.join(absent)}." if absent else otherwise


def mean(frame: pd.DataFrame, direction: str, border: float, *, why: str, **said: str) -> Made:
    """A claim on the mean over all texts given, of values between 0 and 1."""
    kept = frame[frame["value"].notna()]
    if kept.empty:
        return partial(not_tested, why, **said)
    return _decided(summarise(kept.assign(all="all"), ["all"]).iloc[0], kept, direction, border, 0.0, said)


def gap(
    frame: pd.DataFrame,
    sides: tuple[str, str, str],
    direction: str,
    border: float = 0.0,
    *,
    why: str,
    pair: Sequence[str] = MODEL,
    **said: str,
) -> Made:
    """A claim on a paired difference between two values of a column, such as ("importance", "alpha", "random")."""
    column, a, b = sides
    kept = frame[frame[column].isin((a, b)) & frame["value"].notna()]
    kept = kept[kept.groupby([*pair, "seed", "instance"])[column].transform("nunique") == 2]
    if kept.empty:
        return partial(not_tested, why, **said)
    row = contrast(kept, column, a, b, pair=list(pair)).iloc[0].rename({"estimate": "value"})
    return _decided(row, kept, direction, border, -1.0, said)


def _decided(row: pd.Series, kept: pd.DataFrame, direction: str, border: float, least: float, said: dict) -> Made:
    """One number over texts and trainings, and its verdict."""
    texts, trainings = (kept.groupby(keys).ngroups for keys in (["dataset", "instance"], [*MODEL, "seed"]))
    low, high = widened(row["value"], row["low"], row["high"], texts, least)
    return partial(
        Claim,
        effect=float(row["value"]),
        low=float(low),
        high=float(high),
        n=texts,
        n_of=f"{'text' if texts == 1 else 'texts'} × {plural(trainings, 'training')}",
        verdict=judge(low, high, direction, border),
        **said,
    )


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Means of values between 0 and 1, one row per model."""
    found = summarise(frame, MODEL) if len(frame) else pd.DataFrame(columns=BOUNDS)
    return _widened(found, frame, 0.0)


def contrasts(frame: pd.DataFrame, a: str, b: str, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """Paired differences of two rankings, one row per model."""
    if not {a, b} <= set(frame["importance"]):
        return pd.DataFrame(columns=BOUNDS)
    found = contrast(frame, "importance", a, b, by)
    return _widened(found.assign(value=found["estimate"]), frame, -1.0)


def _widened(found: pd.DataFrame, frame: pd.DataFrame, least: float) -> pd.DataFrame:
    if found.empty:
        return found
    texts = frame[frame["value"].notna()].groupby(MODEL)["instance"].nunique()
    rows = zip(*(found[c] for c in ("value", "low", "high", *MODEL)), strict=True)
    bounds = [widened(v, low, high, int(texts.get(tuple(key), 0)), least) for v, low, high, *key in rows]
    return found.assign(low=[low for low, _ in bounds], high=[high for _, high in bounds])


def every(
    table: pd.DataFrame, direction: str, border: float = 0.0, *, why: str, n_of: str = "model", **said: str
) -> Made:
    """A claim on every model: effect and interval are those of the model that supports it least."""
    known = table[table["value"].notna()]
    if known.empty:
        return partial(not_tested, why, **said)
    verdict = together(judge(row.low, row.high, direction, border) for row in table.itertuples())
    worst = known.loc[known["value"].idxmin() if direction == "greater" else known["value"].idxmax()]
    effect = {name: float(worst[name]) for name in ("low", "high")} | {"effect": float(worst["value"])}
    if n_of == "model":
        said["test"] += "; the effect shown is the least favourable model's"
    return partial(Claim, **effect, **_counted(len(known), n_of), verdict=verdict, **said)


def count(
    table: pd.DataFrame, direction: str, border: float = 0.0, *, why: str, note: str = "", **said: str
) -> Made:
    """A claim on most models: the share of models beyond the border, with exact binomial bounds.

    The lower bound counts the models whose whole interval lies beyond the border, the upper one those that may.
    """
    table = table[table["value"].notna()]
    if table.empty:
        return partial(not_tested, why, **said)
    n, sign = len(table), 1 if direction == "greater" else -1
    near, far = ("low", "high") if sign > 0 else ("high", "low")
    beyond = {side: sign * table[side] > sign * border for side in ("value", near, far)}
    possible = beyond[far] | table[far].isna()  # one text gives no interval: anything is possible
    low, high = exact(int(beyond[near].sum()), n)[0], exact(int(possible.sum()), n)[1]
    said["test"] += (
        "; bounds are exact binomial ones, the lower over the models where that is certain, the upper over those "
        "where it is possible"
    )
    verdict = judge(low, high, "greater", 0.5)
    effect = float(beyond["value"].mean())
    return partial(
        Claim, effect=effect, low=low, high=high, verdict=verdict, note=note, **_counted(n, "model"), **said
    )


def _counted(n: int, noun: str) -> dict[str, int | str]:
    return {"n": n, "n_of": noun if n == 1 else f"{noun}s"}


def emptied(same: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Share of texts that ranking a or b flips only when nothing is left, by model."""
    both = same[same["importance"].isin((a, b))]
    empty = both["status"].eq("only_when_empty").groupby([both[k] for k in (*MODEL, "seed", "instance")]).any()
    return empty.groupby(level=MODEL).mean()


def unforced(same: pd.DataFrame, a: str, b: str) -> tuple[pd.DataFrame, str]:
    """The models whose mass removed is not settled by emptying the text (`EMPTIED`); and which were left out."""
    shares = emptied(same, a, b)
    full = shares[shares > EMPTIED]
    kept = same[~pd.MultiIndex.from_frame(same[MODEL]).isin(full.index)]
    names = ", ".join(
        f"{model_name(encoder)} on {short(d)} ({percent(share)})" for (d, encoder), share in full.items()
    )
    told = "flip more than half of their texts only when nothing is left, so that all attention is removed anyway"
    return kept, f"Left out, since the rankings {told}: {names}." if names else ""
