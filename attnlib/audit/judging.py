"""From what was measured to rows of a card: the gates, the objections, the readings side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attnlib.audit.battery import FREE, RAISED, Measured, estimate
from attnlib.audit.probe import Erased, Probe
from attnlib.audit.rules import FAIL, OPEN, SKIPPED, Objection, Row, judge, not_applicable, rules, unmeasured
from attnlib.engine.explainable import ATTENTION
from attnlib.stats.inference import Effect
from attnlib.utils.text import percent, plural

NAMES = {
    "alpha": "attention", "cls_last": "attention", "alpha_grad": "attention × gradient",
    "attention_grad": "attention × gradient", "input_x_grad": "input × gradient", "rollout": "attention rollout",
    "value_norm": "attention × value norm", "leave-one-out": "leave-one-out", "random": "random order",
    "scores": "the scores given",
}  # fmt: skip
"""Rankings, and what a card calls them."""
REMOVED = {
    "unk": "replaced by an unknown word", "mask": "replaced by the mask token", "pad": "not attended",
    "delete": "deleted", ATTENTION: "weight set to zero",
}  # fmt: skip
INPUT = ("words", "sign", "reading")
"""Objections that remove words from the input."""
FLAT = 1e-3
"""Relevance of all words together below which the gradients of a model are called flat."""


@dataclass(frozen=True)
class Gate:
    """A condition under which the tests mean something.

    rows   objections that stay open where it does not hold
    cure   what to do then
    """

    name: str
    passed: bool
    said: str
    rows: tuple[str, ...] = ()
    cure: str = ""

    @property
    def told(self) -> str:
        """The cure as a sentence."""
        return f"{self.cure[0].upper()}{self.cure[1:]}, then audit again."


def gates(found: Measured) -> list[Gate]:
    """The conditions in order, each with the rows that rest on it."""
    border, n = rules()["gates"], len(found)
    every = tuple(o.id for o in rules().objections)
    removed = INPUT if found.closed else (*INPUT, "weights")
    good = estimate(found.right, (0, 1))
    kept = {way: retained(found, way) for way in found.inputs}
    reach = found.worst(lambda way: found.erased[way].attainable)[1]
    return [
        Gate(
            "enough texts",
            n >= border["texts"],
            f"words were removed from {plural(n, 'text')}; at least {border['texts']} are needed",
            removed,
            "give more minutes or more texts",
        ),
        Gate(
            "better than the majority class",
            good.low > found.majority,
            f"accuracy {good.text()}; always answering with the largest class gives {found.majority:.2f}",
            every,
            "train a better model",
        ),
        Gate(
            "texts read to their end",
            found.cut <= border["cut"],
            f"{percent(found.cut)} of the texts are longer than the model reads; at most {percent(border['cut'])}",
            every,
            "shorten the texts, or use a model that reads longer ones",
        ),
        Gate(
            "removals leave the model in its element",
            all(share >= border["retained"] for share in kept.values()),
            f"without a random {percent(max(rules()['shares']))} of the words it keeps, of its gain over the "
            "majority class, "
            + ", ".join(f"{percent(share)} with words {REMOVED[way]}" for way, share in kept.items())
            + f"; at least {percent(border['retained'])}",
            removed,
            "train or fine-tune with words masked at random",
        ),
        Gate(
            "something to explain",
            reach.low > border["attainable"],
            f"the best order of removal lowers the probability by {reach.text()} more than a random one; more than "
            f"{border['attainable']} is needed",
            removed,
            "no few words decide: explain by more than words",
        ),
    ]


def in_element(doors: Sequence[Gate]) -> bool:
    """Whether random removals leave the model in its element."""
    return next(gate.passed for gate in doors if gate.name.startswith("removals"))


def judged(found: Measured) -> list[Row]:
    """Rows 2 to 7 for these texts."""
    names = [o.id for o in rules().objections if o.id not in ("needed", "stable")]
    return behind([_row(found, name) for name in names] if len(found) > 1 else [], gates(found))


def behind(rows: Sequence[Row], doors: Sequence[Gate]) -> list[Row]:
    """The rows, those left open that rest on a gate which does not hold."""
    closed = {name: gate for gate in reversed(doors) if not gate.passed for name in gate.rows}
    return [
        row
        if (gate := closed.get(row.objection.id)) is None or row.status == SKIPPED
        else replace(row, status=OPEN, p=math.nan, settles=gate.told)
        for row in rows
    ]


def hides(found: Measured) -> Effect | None:
    """How often the most decisive token lies in the lower half of the ranking, where that is beyond its border.

    Chance is one half. A model that is trained to keep attention off the words it uses (Pruthi et al. 2020) goes
    far beyond it, while one whose attention means nothing stays there.
    """
    some = found.hidden[~np.isnan(found.hidden)]
    if len(some) < 20:
        return None
    share = estimate(some, (0, 1))
    return share if share.low > rules()["gates"]["hiding"] else None


def flat(probe: Probe) -> bool:
    """Whether attention × gradient of a transformer finds no slope to read: its decisions are saturated."""
    scores = probe.rankings.get("attention_grad")
    return bool(scores) and float(np.median([np.sum(values) for values in scores])) < FLAT


def readings(found: Measured, probe: Probe) -> pd.DataFrame:
    """One row per ranking: S at the input (stricter operator) and with weights removed, seconds per 100 texts."""
    rows = []
    for name in (n for n in found.erased[found.inputs[0]].drops if n not in ("random", "best")):
        way, share = found.worst(lambda w, name=name: found.erased[w].share(name))
        other = next(w for w in found.inputs if w != way)
        read = len(found) if name == "leave-one-out" else len(probe.rankings[name])
        at = found.erased.get(ATTENTION)
        row = {"ranking": name, "name": NAMES[name], "operator": way}
        row |= {"value": share.estimate, "low": share.low, "high": share.high}
        row |= {"other": found.erased[other].share(name).mean()}
        row |= {"weights": math.nan if at is None else at.share(name).mean()}
        row |= {"seconds": probe.seconds.get(name, math.nan) * 100 / read}
        rows.append(row)
    return pd.DataFrame(rows)


def retained(found: Measured, way: str) -> float:
    """Part of the gain over the majority class that survives random masking, of the share at which least does."""
    right = found.right[: len(found)].mean()
    gain = right - found.majority
    return float((found.erased[way].masked.mean(0).min() - found.majority) / gain) if gain > 0 else math.nan


def _row(found: Measured, name: str) -> Row:
    objection = rules().objection(name)
    if name in found.why:
        return not_applicable(objection, found.why[name])
    if name == "order":
        return judge(objection, estimate(found.moved, (0, 1)), control="unchanged weights: 0")
    if name == "alternatives":
        if np.isfinite(found.distance).sum() < 2:
            return unmeasured(objection, "Not measured within the budget: give more minutes.")
        return judge(objection, estimate(found.distance, (0, 1)), control="the model's own weights: 0")
    if name == "weights":
        return _weights(found, objection)
    if name == "sign":
        way, share = found.worst(found.raised.get, largest=True)
        random = np.mean([np.mean(alone < -RAISED) for alone in found.erased[way].alone])
        return judge(objection, share, control=f"a random word: {random:.2f}", note=_way(way))
    if name == "words":
        way, share = found.worst(lambda w: found.erased[w].share(found.subject))
        return judge(objection, share, control=_between(found.erased[way]), note=_way(way))

    def rival(way: str) -> str:
        at = found.erased[way]
        return max((r for r in FREE if r in at.drops), key=lambda r: np.nan_to_num(at.share(r).mean(), nan=-9))

    way, gap = found.worst(lambda w: found.erased[w].share(found.subject) - found.erased[w].share(rival(w)))
    share = found.erased[way].share(rival(way)).mean()
    return judge(objection, gap, control=f"{NAMES[rival(way)]}: a share of {share:.2f}", note=_way(way))


def _weights(found: Measured, objection: Objection) -> Row:
    at, border = found.erased[ATTENTION], rules()["gates"]["attainable"]
    reach = estimate(at.attainable)
    if reach.high < border:
        note = (
            f"no order of setting weights to zero lowers the probability by {border} more than a random order: the "
            "weights decide nothing. The value is that difference."
        )
        bad = replace(judge(replace(objection, passes=border, fails=border), reach), objection=objection)
        return replace(bad, status=FAIL if bad.status == FAIL else OPEN, note=note)
    if reach.low < border:
        note = "what setting weights to zero can change at most is about as small as the border of the gate"
        return Row(objection, OPEN, reach, note=note, settles="More texts would show whether weights matter.")
    return judge(objection, estimate(at.share(found.subject)), control=_between(at), note=_way(ATTENTION))


def _between(at: Erased) -> str:
    loo = at.share("leave-one-out").mean()
    random, best = (at.area(name).mean() for name in ("random", "best"))
    return f"random: 0 (drop {random:.2f}), leave-one-out: {loo:.2f}, best found: 1 (drop {best:.2f})"


def _way(way: str) -> str:
    return f"words {REMOVED[way]}" if way != ATTENTION else REMOVED[way]
