"""What happens to a decision when parts of a text are removed: `f(fitted, examples, ranking, *, level=…, …)`.

The fields of `Erasure` say what is removed and how; options of the importance method may follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Unpack

import numpy as np
import torch

from attnlib import stats
from attnlib.engine import attention, orders
from attnlib.engine.explainable import explained
from attnlib.erasure.request import RANKING_QUIRKS, Erasure, How, RankedBatch, Ranking, ranked
from attnlib.utils.device import measuring
from attnlib.utils.errors import one_of

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.engine.explainable import Explainable

FLIP_QUIRKS = ("tasc_nan_empty", "tasc_denominator", *RANKING_QUIRKS)


def fraction_to_flip(fitted: Explainable, examples: Iterable, ranking: Ranking, **how: Unpack[How]) -> pd.DataFrame:
    """Units removed until the decision first flips. One row per text, in the order given.

    id, length       the text; its number of units (words; at the attention level of a HAN, sentences)
    prediction       the class decided for
    flipped          whether any number of removals changes it
    removed          how many units were gone at the first flip (<NA>: never)
    fraction         removed / length; NaN where the decision never flips: how a mean treats those is your choice
    only_when_empty  the first flip came when nothing was left to attend, so that the bias decided. At the attention
                     level that is once what remains has no weight (the support of a sparse projection is gone)
    mass_removed     attention weight on the removed units at the flip
    after            the class after the flip
    status           `flipped`, `only_when_empty` or `never`

    how    level, operator, target, seed, batch_size, quirks (see `Erasure`), and options of the
           importance method that `ranking` names

    >>> flips = al.fraction_to_flip(fitted, corpus.test, "alpha", level="input")
    >>> random = al.fraction_to_flip(fitted, corpus.test, "random", level="input")
    >>> bool(flips["flipped"].mean() > 0.3), bool(flips["fraction"].mean() < random["fraction"].mean())
    (True, True)
    """
    request = Erasure.of(ranking, how, quirks=FLIP_QUIRKS)
    return _first_flips(fitted, examples, request, "fraction to flip")


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
    how     as in `fraction_to_flip`

    >>> curve = al.erasure_curves(fitted, corpus.test[:1], "alpha")
    >>> length = len(corpus.test[0].tokens)
    >>> list(curve["removed"]) == list(range(length + 1))
    True
    """
    import pandas as pd

    one_of("first", first, ("most", "least"))
    request = Erasure.of(ranking, how)
    examples = explained(fitted, examples)
    pieces = []
    for found in ranked(fitted, examples, request, "erasure curves"):
        found = found if first == "most" else found.turned()
        with measuring():
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
    where either removal takes all the weight of a sparse projection, so that only the bias is left to decide.

    how     target, seed, batch_size, quirks, and options of the importance method
    """
    import pandas as pd

    quirks = ("serrano_r", *RANKING_QUIRKS)
    request = Erasure.of(ranking, how, quirks=quirks, without=("operator",), level="attention")
    examples = explained(fitted, examples)
    frames = []
    for found in ranked(fitted, examples, request, "single removals"):
        with measuring():
            logits = attention.single_logits(found.trace)
            emptied = attention.emptied_by_one(found.trace).cpu().numpy()
        whole = found.trace.logits.double().softmax(-1).unsqueeze(1).cpu().numpy()
        js = stats.jsd(whole, logits.softmax(-1).cpu().numpy())
        flip = (logits.argmax(-1) != found.trace.prediction.unsqueeze(1)).cpu().numpy()
        alpha, units = found.trace.alpha.double().cpu().numpy(), found.units.cpu().numpy()
        rows, top = found.batch.rows.cpu().numpy(), found.order[:, 0].cpu().numpy()
        other = np.array([
            _other(np.flatnonzero(one), first, np.random.default_rng([request.seed, row]), request.quirks)
            for one, first, row in zip(units, top, rows.tolist(), strict=True)
        ])  # fmt: skip
        alone, texts, index = units.sum(1) < 2, np.arange(len(rows)), units.cumsum(1) - 1
        columns = {"place": rows, "id": [examples[row].id for row in rows], "length": units.sum(1)}
        columns["prediction"] = [fitted.classes[k] for k in found.trace.prediction.tolist()]
        columns |= {"top": index[texts, top], "other": pd.array(index[texts, other], dtype="Int64")}
        for name, table in (("alpha", alpha), ("js", js)):
            first, second = table[texts, top], np.where(alone, np.nan, table[texts, other])
            columns |= {f"{name}_top": first, f"{name}_other": second, f"delta_{name}": first - second}
        columns |= {"flip_top": flip[texts, top], "flip_other": pd.array(flip[texts, other], dtype="boolean")}
        gone = emptied[texts, top] | emptied[texts, other]
        columns["status"] = np.select([alone, gone], ["one unit", "no weight left"], "compared").astype(object)
        frame = pd.DataFrame(columns)
        frame.loc[alone, ["other", "flip_other"]] = pd.NA
        frames.append(frame)
    return pd.concat(frames).sort_values("place", ignore_index=True).drop(columns="place")


def _first_flips(
    fitted: Explainable, examples: Iterable, request: Erasure, what: str, most: int | None = None
) -> pd.DataFrame:
    """The frame of `fraction_to_flip`, looking at the first `most` removals or at all."""
    import pandas as pd

    examples = explained(fitted, examples)
    rows: list[dict | None] = [None] * len(examples)
    for found in ranked(fitted, examples, request, what):
        with measuring():
            first = _flips(fitted, found, request, most)
            empty = first.removed == found.lengths
            if request.closed(found.trace):
                emptied = attention.emptied(found.trace, found.order)
                empty = emptied.gather(1, first.removed.unsqueeze(1)).squeeze(1)
        told = _rows(fitted, found, first, empty, request.quirks)
        for place, row in zip(found.batch.rows.tolist(), told, strict=True):
            rows[place] = {"id": examples[place].id, **row}
    return pd.DataFrame(rows).astype({"removed": "Int64", "flipped": bool, "only_when_empty": bool})


def _flips(fitted: Explainable, found: RankedBatch, request: Erasure, most: int | None) -> orders.Flips:
    trace, lengths = found.trace, found.lengths
    if request.closed(trace):
        logits = attention.prefix_logits(trace, found.order)
        return orders.from_table(logits[:, : None if most is None else most + 1], trace.prediction, lengths)
    eraser = request.eraser(fitted, found.batch, trace)
    first = orders.first_flips(eraser, found.order, trace.prediction, most)
    if "tasc_nan_empty" in request.quirks and not eraser.operator.stays:
        # Flips before the end stand; at the end the authors' NaN reads as class 0.
        at_end = ((first.removed == 0) | (first.removed == lengths)) & (lengths <= (most or lengths.max()))
        removed = torch.where(at_end, torch.where(trace.prediction != 0, lengths, 0), first.removed)
        first = orders.Flips(removed, torch.where(at_end, 0, first.after))
    return first


def _rows(fitted, found: RankedBatch, first: orders.Flips, empty: torch.Tensor, quirks) -> Iterator[dict]:
    mass = found.mass().gather(1, first.removed.unsqueeze(1)).squeeze(1)
    whole = found.batch.lengths if "tasc_denominator" in quirks else found.lengths
    columns = (first.removed, first.after, empty, found.lengths, whole, found.trace.prediction, mass)
    values = zip(*(column.tolist() for column in columns), strict=True)
    for removed, after, nothing, length, divisor, predicted, gone in values:
        flipped = removed > 0
        alone = flipped and nothing
        yield {
            "length": length,
            "prediction": fitted.classes[predicted],
            "flipped": flipped,
            "removed": removed if flipped else None,
            "fraction": min(1.0, removed / divisor) if flipped else float("nan"),
            "only_when_empty": alone,
            "mass_removed": gone if flipped else float("nan"),
            "after": fitted.classes[after] if flipped else None,
            "status": "only_when_empty" if alone else "flipped" if flipped else "never",
        }


def _other(units: np.ndarray, top: int, rng: np.random.Generator, quirks: frozenset[str]) -> int:
    """A random unit: any but the top one, unless it is alone; with the authors' quirk, any but the first."""
    if len(units) < 2:
        return int(top)
    if "serrano_r" in quirks:
        return int(units[rng.integers(1, len(units))])
    return int(rng.choice(units[units != top]))
