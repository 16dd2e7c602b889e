"""What happens to a decision when parts of a text are removed, exactly and fast.

All functions are called as `f(fitted, examples, ranking, *, level=…, operator=…, …)`: the fields of `Erasure` say
what is removed and how, and options of the importance method may follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import torch

from attnlib import stats
from attnlib.engine import attention, flips, orders
from attnlib.engine.explainable import explained
from attnlib.erasure.request import LEVELS, RANKING_QUIRKS, Erasure, How, RankedBatch, Ranking, ranked
from attnlib.utils.errors import ConfigError, one_of

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.engine.explainable import Explainable

__all__ = ["FLIP_QUIRKS", "LEVELS", "erasure_curves", "fraction_to_flip", "single_removals", "top_token_flips"]

FLIP_QUIRKS = ("tasc_nan_empty", "tasc_denominator", *RANKING_QUIRKS)


def fraction_to_flip(
    fitted: Explainable,
    examples: Iterable,
    ranking: Ranking,
    *,
    percent: Sequence[float] | None = None,
    **how: Unpack[How],
) -> pd.DataFrame:
    """Units removed until the decision first flips. One row per text, in the order given.

    id, length       the text; its number of units (words; at the attention level of a HAN, sentences)
    prediction       the class decided for
    flipped          whether any number of removals changes it
    removed          how many units were gone at the first flip (<NA>: never)
    fraction         removed / length; NaN where the decision never flips: how a mean treats those is your choice
    only_when_empty  the first flip came when nothing was left to attend, so that the bias decided: the text was not
                     outweighed, it was gone. At the attention level nothing is left once the remaining units have
                     no weight, which under a sparse projection can be long before the last unit (see `reproject`)
    mass_removed     attention weight on the removed units at the flip
    after            the class after the flip
    status           `flipped`, `only_when_empty`, `never`, or what is wrong with the ranking of that text
    percent          the grid, where one was given

    percent  None: the exact first flip. A grid such as (1, 2, 5, 10, 20, 50, 100) looks only there, at input level:
             ⌈p n / 100⌉ units gone. `removed` is then that of the first point of the grid at which the decision
             differs, and `never` means at none of them. For texts of a thousand words and more, whose exact first
             flip takes seconds each; DeYoung et al. 2020 (ERASER) use 1, 5, 10, 20 and 50
    how    level, operator, reproject, target, seed, batch_size, on_bad, quirks (see `Erasure`), and options of the
           importance method that `ranking` names

    >>> flips = al.fraction_to_flip(fitted, corpus.test, "alpha", level="input")
    >>> random = al.fraction_to_flip(fitted, corpus.test, "random", level="input")
    >>> bool(flips["flipped"].mean() > 0.3), bool(flips["fraction"].mean() < random["fraction"].mean())
    (True, True)
    >>> coarse = al.fraction_to_flip(fitted, corpus.test, "alpha", percent=(10, 20, 50, 100))
    >>> bool((coarse["removed"] >= flips["removed"]).where(coarse["flipped"], True).all())
    True
    """
    request = Erasure.of(ranking, how, quirks=FLIP_QUIRKS)
    if percent is None:
        return _first_flips(fitted, examples, request, "fraction to flip")
    percent = tuple(percent)
    if request.level != "input" or "tasc_nan_empty" in request.quirks:
        raise ConfigError(
            "percent looks at some removals at the input level; at level 'attention' the exact first flip costs no "
            "more, and quirk 'tasc_nan_empty' is about all of them. Leave percent out."
        )
    if not percent or list(percent) != sorted(set(percent)) or not 0 < percent[0] <= percent[-1] <= 100:
        raise ConfigError(f"percent must rise within (0, 100], such as (1, 5, 10, 20, 50); got {percent}.")
    frame = _first_flips(fitted, examples, request, "fraction to flip", percent=percent)
    return frame.assign(percent=", ".join(f"{p:g}" for p in percent))


def top_token_flips(fitted: Explainable, examples: Iterable, ranking: Ranking, **how: Unpack[How]) -> pd.DataFrame:
    """Whether removing the single top-ranked unit flips the decision. Columns and `how` as in `fraction_to_flip`.

    `removed` is 1 where it flips; `only_when_empty` marks texts of which the removal of one unit leaves nothing.

    >>> single = al.top_token_flips(fitted, corpus.test, "omission", level="input")
    >>> single["removed"].dropna().unique().tolist()
    [1]
    """
    request = Erasure.of(ranking, how, quirks=FLIP_QUIRKS)
    return _first_flips(fitted, examples, request, "top-token flips", most=1)


def erasure_curves(
    fitted: Explainable, examples: Iterable, ranking: Ranking, *, first: str = "most", **how: Unpack[How]
) -> pd.DataFrame:
    """The predicted class's probability with k = 0, 1, …, n units removed: one row per text and k.

    text, id, length, removed, fraction (k / n), probability (of the class predicted for the whole text), decision
    (the class at k), flipped (whether it differs), mass_removed.

    first   `most`: the most important go first (comprehensiveness); `least`: the least important go first, so that
            row k keeps the n - k most important (sufficiency)
    how     as in `fraction_to_flip`, without on_bad

    >>> curve = al.erasure_curves(fitted, corpus.test[:1], "alpha")
    >>> length = len(corpus.test[0].tokens)
    >>> list(curve["removed"]) == list(range(length + 1))
    True
    """
    import pandas as pd

    one_of("first", first, ("most", "least"))
    request = Erasure.of(ranking, how, without=("on_bad",))
    examples = explained(fitted, examples)
    pieces = []
    for found in ranked(fitted, examples, request, "erasure curves"):
        found = found if first == "most" else found.turned()
        with torch.no_grad():
            logits = found.table(fitted, request)
        predicted, lengths = found.trace.prediction, found.lengths
        index = predicted.reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
        steps = torch.arange(logits.shape[1], device=lengths.device)
        text, k = (steps <= lengths.unsqueeze(1)).nonzero(as_tuple=True)
        columns = {
            "text": found.batch.rows[text],
            "length": lengths[text],
            "removed": k,
            "probability": logits.softmax(-1).gather(-1, index).squeeze(-1)[text, k],
            "decision": logits.argmax(-1)[text, k],
            "flipped": (logits.argmax(-1) != predicted.unsqueeze(1))[text, k],
            "mass_removed": found.mass()[text, k],
        }
        pieces.append({name: column.cpu().numpy() for name, column in columns.items()})
    frame = pd.DataFrame({name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]})
    frame.insert(1, "id", np.array([e.id for e in examples], dtype=object)[frame["text"]])
    frame.insert(4, "fraction", frame["removed"] / frame["length"])
    frame["decision"] = np.array(fitted.classes, dtype=object)[frame["decision"]]
    return frame.sort_values(["text", "removed"], kind="stable", ignore_index=True)


def single_removals(
    fitted: Explainable, examples: Iterable, ranking: Ranking = "alpha", **how: Unpack[How]
) -> pd.DataFrame:
    """Serrano & Smith's single-weight tests: the top unit i* against a random other r, at the attention level.

    id, length, prediction; top, other: positions of i* and r; alpha_top, alpha_other, delta_alpha; js_top,
    js_other: Jensen-Shannon divergence in nats of the output with and without that weight; delta_js; flip_top,
    flip_other: whether removing it changes the decision.
    status: `compared`; `one unit`, of a text without another, where what needs r is NaN or <NA>; `no weight left`,
    where either removal takes all the weight of a sparse projection, so that only the bias is left to decide
    (`reproject` gives the weight to others instead).

    how     reproject, target, seed, batch_size, quirks, and options of the importance method
    """
    import pandas as pd

    quirks = ("serrano_r", *RANKING_QUIRKS)
    request = Erasure.of(ranking, how, quirks=quirks, without=("operator", "on_bad"), level="attention")
    examples = explained(fitted, examples)
    rows: list[dict | None] = [None] * len(examples)
    for found in ranked(fitted, examples, request, "single removals"):
        with torch.no_grad():
            logits = attention.single_logits(found.trace, reproject=request.reproject)
            emptied = attention.emptied_by_one(found.trace, reproject=request.reproject).cpu().numpy()
        whole = found.trace.logits.double().softmax(-1).unsqueeze(1)
        js = stats.jsd(whole.cpu().numpy(), logits.softmax(-1).cpu().numpy())
        flip = (logits.argmax(-1) != found.trace.prediction.unsqueeze(1)).cpu().numpy()
        alpha, units = found.trace.alpha.double().cpu().numpy(), found.units.cpu().numpy()
        for i, place in enumerate(found.batch.rows.tolist()):
            where, top = np.flatnonzero(units[i]), int(found.order[i, 0])
            other = _other(where, top, np.random.default_rng([request.seed, place]), "serrano_r" in request.quirks)
            row = {
                "id": examples[place].id,
                "length": len(where),
                "prediction": fitted.classes[int(found.trace.prediction[i])],
            }
            rows[place] = row | _compared(where, top, other, alpha[i], js[i], flip[i], emptied[i])
    return pd.DataFrame(rows).astype({"other": "Int64", "flip_other": "boolean"})


def _first_flips(
    fitted: Explainable,
    examples: Iterable,
    request: Erasure,
    what: str,
    most: int | None = None,
    percent: tuple[float, ...] = (),
) -> pd.DataFrame:
    """The frame of `fraction_to_flip`, looking at the first `most` removals, at a grid of them or at all."""
    import pandas as pd

    examples = explained(fitted, examples)
    rows: list[dict | None] = [None] * len(examples)
    for found in ranked(fitted, examples, request, what):
        with torch.no_grad():
            if percent:
                share = torch.tensor(percent, dtype=torch.float64, device=found.lengths.device) / 100
                # a hair less before rounding up: 5% of 20 is one unit
                counts = (found.lengths.unsqueeze(1) * share - 1e-9).ceil().long()
                eraser = request.eraser(fitted, found.batch, found.trace)
                first = flips.coarse_flips(eraser, found.order, found.trace.prediction, counts)
            else:
                first = _flips(fitted, found, request, most)
            empty = first.removed == found.lengths
            if request.closed(found.trace):
                emptied = attention.emptied(found.trace, found.order, reproject=request.reproject)
                empty = emptied.gather(1, first.removed.unsqueeze(1)).squeeze(1)
        told = _rows(fitted, found, first, empty, request.quirks)
        for place, row in zip(found.batch.rows.tolist(), told, strict=True):
            rows[place] = {"id": examples[place].id, **row}
    frame = pd.DataFrame(rows)
    flags = "boolean" if frame["flipped"].isna().any() else bool
    return frame.astype({"removed": "Int64", "flipped": flags, "only_when_empty": flags})


def _flips(fitted: Explainable, found: RankedBatch, request: Erasure, most: int | None) -> flips.Flips:
    trace, lengths = found.trace, found.lengths
    if request.closed(trace):
        logits = attention.prefix_logits(trace, found.order, reproject=request.reproject)
        return flips.from_table(logits[:, : None if most is None else most + 1], trace.prediction, lengths)
    eraser = request.eraser(fitted, found.batch, trace)
    first = flips.first_flips(eraser, found.order, trace.prediction, most)
    if "tasc_nan_empty" in request.quirks and not eraser.operator.stays:
        # Flips before the end stand; at the end the authors' NaN reads as class 0.
        at_end = ((first.removed == 0) | (first.removed == lengths)) & (lengths <= (most or lengths.max()))
        removed = torch.where(at_end, torch.where(trace.prediction != 0, lengths, 0), first.removed)
        first = flips.Flips(removed, torch.where(at_end, 0, first.after))
    return first


def _rows(fitted, found: RankedBatch, first: flips.Flips, empty: torch.Tensor, quirks) -> Iterator[dict]:
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
