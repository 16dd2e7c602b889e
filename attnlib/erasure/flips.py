"""Erasure: what happens to a decision when parts of a text are removed, exactly and fast.

level="attention"  zero attention weights and renormalise the rest (Serrano & Smith 2019), or `reproject` a sparse
                   projection: closed form, no encoder pass beyond the first
level="input"      remove words from the text itself (Chrysostomou & Aletras 2021), by an `operator`: `pad` (the
                   default, what they run), `delete` (what they write), `mask`, `unk`

A `ranking` is the name of an importance method, or scores of your own: one array a text, one number a unit, as
`importance` returns. Units are removed from the highest score down; equal scores in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attnlib import quirks as quirk_names
from attnlib import stats
from attnlib.engine import attention, flips, orders
from attnlib.engine.select import input_eraser
from attnlib.erasure.ranked import LEVELS, Ranked, Ranking, Request, ranked, table, way
from attnlib.utils.errors import ConfigError, unknown

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.training.fitted import Fitted

__all__ = [
    "LEVELS",
    "erasure_curves",
    "fraction_to_flip",
    "single_removals",
    "summarise",
    "top_token_flips",
]

RANKING_QUIRKS = ("tasc_ig", "tasc_grad_after_ig")
FLIP_QUIRKS = ("tasc_nan_empty", "tasc_denominator", *RANKING_QUIRKS)


def fraction_to_flip(
    fitted: Fitted,
    examples: Iterable,
    ranking: Ranking,
    *,
    level: str = "input",
    operator: str | None = None,
    reproject: bool | None = None,
    target: str | None = None,
    seed: int = 0,
    batch_size: int = 256,
    on_bad: str = "raise",
    quirks: Iterable[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """Units removed until the decision first flips. One row a text, in the order given.

    id, length       the text; its number of units (words; at the attention level of a HAN, sentences)
    prediction       the class decided for
    flipped          whether any number of removals changes it
    removed          how many units were gone at the first flip (<NA>: never)
    fraction         removed / length; NaN where the decision never flips: how a mean treats those is your choice
                     (`summarise` makes it a stated one)
    only_when_empty  the first flip came when nothing was left to attend, so that the bias decided: the text was not
                     outweighed, it was gone. At the attention level nothing is left once the remaining units have
                     no weight, which under a sparse projection may be long before the last unit (see `reproject`)
    mass_removed     attention weight on the removed units at the flip
    after            the class after the flip
    status           `flipped`, `only_when_empty`, `never`, or what is wrong with the ranking of that text

    operator    at the input level: how words are removed, `pad` unless told otherwise
    reproject   at the attention level: apply a sparse projection again instead of renormalising
    on_bad      a ranking that does not fit (wrong length, NaN): `raise`, or `mark` the row and go on
    target, options   of the importance method, where `ranking` names one
    """
    request = _request(ranking, level, target, seed, batch_size, quirks, options, on_bad)
    return _first_flips(fitted, examples, request, "fraction to flip", way(level, operator, reproject))


def top_token_flips(
    fitted: Fitted,
    examples: Iterable,
    ranking: Ranking,
    *,
    level: str = "input",
    operator: str | None = None,
    reproject: bool | None = None,
    target: str | None = None,
    seed: int = 0,
    batch_size: int = 256,
    on_bad: str = "raise",
    quirks: Iterable[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """Whether removing the single top-ranked unit flips the decision. Columns as in `fraction_to_flip`.

    `removed` is 1 where it flips; `only_when_empty` marks texts of which the removal of one unit leaves nothing.
    """
    request = _request(ranking, level, target, seed, batch_size, quirks, options, on_bad)
    return _first_flips(fitted, examples, request, "top-token flips", way(level, operator, reproject), most=1)


def erasure_curves(
    fitted: Fitted,
    examples: Iterable,
    ranking: Ranking,
    *,
    level: str = "input",
    operator: str | None = None,
    reproject: bool | None = None,
    first: str = "most",
    target: str | None = None,
    seed: int = 0,
    batch_size: int = 256,
    quirks: Iterable[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """The predicted class's probability with k = 0, 1, …, n units removed: one row a text and k.

    text, id, length, removed, fraction (k / n), probability (of the class predicted for the whole text), flipped
    (whether the decision at k differs), mass_removed.

    first   `most`: the most important go first (comprehensiveness); `least`: the least important go first, so that
            row k keeps the n - k most important (sufficiency)
    """
    import pandas as pd

    if first not in ("most", "least"):
        raise ConfigError(unknown("first", first, ("most", "least")))
    request = _request(ranking, level, target, seed, batch_size, quirks, options, allowed=RANKING_QUIRKS)
    chosen = way(level, operator, reproject)
    examples = fitted.examples(examples)
    pieces = []
    for found in ranked(fitted, examples, request, "erasure curves"):
        found = found if first == "most" else found.turned()
        with torch.no_grad():
            logits = table(fitted, found, level, *chosen)
        predicted, lengths = found.trace.prediction, found.lengths
        index = predicted.reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
        steps = torch.arange(logits.shape[1], device=lengths.device)
        text, k = (steps <= lengths.unsqueeze(1)).nonzero(as_tuple=True)
        columns = {
            "text": found.batch.rows[text],
            "length": lengths[text],
            "removed": k,
            "probability": logits.softmax(-1).gather(-1, index).squeeze(-1)[text, k],
            "flipped": (logits.argmax(-1) != predicted.unsqueeze(1))[text, k],
            "mass_removed": found.mass()[text, k],
        }
        pieces.append({name: column.cpu().numpy() for name, column in columns.items()})
    frame = pd.DataFrame({name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]})
    frame.insert(1, "id", np.array([e.id for e in examples], dtype=object)[frame["text"]])
    frame.insert(4, "fraction", frame["removed"] / frame["length"])
    return frame.sort_values(["text", "removed"], kind="stable", ignore_index=True)


def single_removals(
    fitted: Fitted,
    examples: Iterable,
    ranking: Ranking = "alpha",
    *,
    reproject: bool = False,
    target: str | None = None,
    seed: int = 0,
    batch_size: int = 256,
    quirks: Iterable[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """Serrano & Smith's single-weight tests: the top unit i* against a random other r, at the attention level.

    id, length, prediction; top, other: positions of i* and r; alpha_top, alpha_other, delta_alpha; js_top,
    js_other: Jensen-Shannon divergence in nats of the output with and without that weight; delta_js; flip_top,
    flip_other: whether removing it changes the decision.
    status: `compared`; `one unit`, of a text without another, where what needs r is NaN or <NA>; `no weight left`,
    where either removal takes all the weight of a sparse projection, so that only the bias is left to decide
    (`reproject` gives the weight to others instead).
    """
    import pandas as pd

    allowed = ("serrano_r", *RANKING_QUIRKS)
    request = _request(ranking, "attention", target, seed, batch_size, quirks, options, allowed=allowed)
    examples = fitted.examples(examples)
    rows: list[dict | None] = [None] * len(examples)
    for found in ranked(fitted, examples, request, "single removals"):
        with torch.no_grad():
            logits = attention.single_logits(found.trace, reproject=reproject)
            emptied = attention.emptied_by_one(found.trace, reproject=reproject).cpu().numpy()
        whole = found.trace.logits.double().softmax(-1).unsqueeze(1)
        js = stats.jsd(whole.cpu().numpy(), logits.softmax(-1).cpu().numpy())
        flip = (logits.argmax(-1) != found.trace.prediction.unsqueeze(1)).cpu().numpy()
        alpha, units = found.trace.alpha.double().cpu().numpy(), found.units.cpu().numpy()
        for i, place in enumerate(found.batch.rows.tolist()):
            where, top = np.flatnonzero(units[i]), int(found.order[i, 0])
            other = _other(where, top, np.random.default_rng([seed, place]), "serrano_r" in request.quirks)
            row = {
                "id": examples[place].id,
                "length": len(where),
                "prediction": fitted.classes[int(found.trace.prediction[i])],
            }
            rows[place] = row | _compared(where, top, other, alpha[i], js[i], flip[i], emptied[i])
    return pd.DataFrame(rows).astype({"other": "Int64", "flip_other": "boolean"})


def summarise(
    frame: pd.DataFrame,
    *,
    never: str = "one",
    groups: Sequence | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Mean fraction of a `fraction_to_flip` frame with a bootstrap interval, and the shares that qualify it.

    never   what a text whose decision never flips counts as: `one` (Chrysostomou & Aletras) or `exclude` (Serrano &
            Smith). Rows marked as badly ranked are left out of everything and counted
    groups  a label a row, such as the seed of the model, for the interval
    """
    if never not in ("one", "exclude"):
        raise ConfigError(unknown("never", never, ("one", "exclude")))
    good = frame["status"].isin(["flipped", "only_when_empty", "never"]).to_numpy()
    fraction = frame["fraction"].to_numpy(dtype=float, copy=True)
    if never == "one":
        fraction[(frame["status"] == "never").to_numpy()] = 1.0
    labels = None if groups is None else np.asarray(groups)[good]
    interval = stats.bootstrap(fraction[good], groups=labels, resamples=resamples, seed=seed)
    share = lambda name: float((frame["status"][good] == name).mean()) if good.any() else float("nan")  # noqa: E731
    return {
        "mean": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "n": interval.n,
        "texts": int(good.sum()),
        "flipped": share("flipped") + share("only_when_empty"),
        "only_when_empty": share("only_when_empty"),
        "never": share("never"),
        "bad": int((~good).sum()),
        "never_counts_as": never,
    }


def _request(
    ranking, level, target, seed, batch_size, quirks, options, on_bad="raise", allowed=FLIP_QUIRKS
) -> Request:
    quirks = quirk_names.checked(quirks, allowed)
    if on_bad not in ("raise", "mark"):
        raise ConfigError(unknown("on_bad", on_bad, ("raise", "mark")))
    return Request(ranking, level, target, seed, batch_size, quirks, options, on_bad)


def _first_flips(fitted, examples, request: Request, what, chosen, most=None) -> pd.DataFrame:
    """The frame of `fraction_to_flip`, looking at the first `most` removals or at all."""
    import pandas as pd

    examples = fitted.examples(examples)
    rows: list[dict | None] = [None] * len(examples)
    for found in ranked(fitted, examples, request, what):
        with torch.no_grad():
            first = _flips(fitted, found, request, *chosen, most)
            empty = first.removed == found.lengths
            if request.level == "attention":
                emptied = attention.emptied(found.trace, found.order, reproject=chosen[1])
                empty = emptied.gather(1, first.removed.unsqueeze(1)).squeeze(1)
        told = _rows(fitted, found, first, empty, request.quirks)
        for place, row in zip(found.batch.rows.tolist(), told, strict=True):
            rows[place] = {"id": examples[place].id, **row}
    frame = pd.DataFrame(rows)
    flags = "boolean" if frame["flipped"].isna().any() else bool
    return frame.astype({"removed": "Int64", "flipped": flags, "only_when_empty": flags})


def _flips(fitted, found: Ranked, request: Request, operator, reproject, most) -> flips.Flips:
    trace, lengths = found.trace, found.lengths
    if request.level == "attention":
        logits = attention.prefix_logits(trace, found.order, reproject=reproject)
        return flips.from_table(logits[:, : None if most is None else most + 1], trace.prediction, lengths)
    eraser = input_eraser(fitted, found.batch, trace, operator)
    first = flips.first_flips(eraser, found.order, trace.prediction, most)
    if "tasc_nan_empty" in request.quirks and not eraser.operator.stays:
        # Flips before the end stand; at the end the authors' NaN reads as class 0.
        at_end = ((first.removed == 0) | (first.removed == lengths)) & (lengths <= (most or lengths.max()))
        removed = torch.where(at_end, torch.where(trace.prediction != 0, lengths, 0), first.removed)
        first = flips.Flips(removed, torch.where(at_end, 0, first.after))
    return first


def _rows(fitted, found: Ranked, first: flips.Flips, empty: torch.Tensor, quirks) -> Iterator[dict]:
    mass = found.mass().gather(1, first.removed.unsqueeze(1)).squeeze(1)
    whole = found.batch.lengths if "tasc_denominator" in quirks else found.lengths
    columns = (first.removed, first.after, empty, found.lengths, whole, found.trace.prediction, mass)
    values = (column.tolist() for column in columns)
    for why, removed, after, nothing, length, divisor, predicted, gone in zip(found.problems, *values, strict=True):
        good = why == orders.FITS
        flipped = removed > 0 and good
        alone = flipped and nothing
        status = ("only_when_empty" if alone else "flipped") if flipped else "never"
        yield {
            "length": length,
            "prediction": fitted.classes[predicted],
            "flipped": flipped if good else None,
            "removed": removed if flipped else None,
            "fraction": min(1.0, removed / divisor) if flipped else float("nan"),
            "only_when_empty": alone if good else None,
            "mass_removed": gone if flipped else float("nan"),
            "after": fitted.classes[after] if flipped else None,
            "status": status if good else why,
        }


def _compared(where: np.ndarray, top: int, other: int | None, alpha, js, flip, emptied) -> dict[str, Any]:
    """The columns of `single_removals` that compare the units at positions `top` and `other`."""
    values = {"top": int(np.searchsorted(where, top))}
    values["other"] = None if other is None else int(np.searchsorted(where, other))
    for name, table_ in (("alpha", alpha), ("js", js)):
        first = float(table_[top])
        second = float("nan") if other is None else float(table_[other])
        values |= {f"{name}_top": first, f"{name}_other": second, f"delta_{name}": first - second}
    values["flip_top"] = bool(flip[top])
    values["flip_other"] = None if other is None else bool(flip[other])
    if other is None:
        values["status"] = "one unit"
    else:
        values["status"] = "no weight left" if emptied[top] or emptied[other] else "compared"
    return values


def _other(units: np.ndarray, top: int, rng: np.random.Generator, authors: bool) -> int | None:
    """A random unit: any but the top one; with the authors' quirk, any but the first."""
    if len(units) < 2:
        return None
    if authors:
        return int(units[rng.integers(1, len(units))])
    return int(rng.choice(units[units != top]))
