"""From what was measured to rows of a card: the gates, the objections, the readings side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.auditing.battery import FREE, RAISED, Measured, agreed, estimate
from attnlib.auditing.probe import Erased, Probe, share_values
from attnlib.auditing.rules import FAIL, OPEN, PASS, SKIPPED, Objection, Row, judge, rules
from attnlib.engine.explainable import ATTENTION
from attnlib.stats.inference import Effect

NAMES = {
    "alpha": "attention", "cls_last": "attention", "alpha_grad": "attention × gradient",
    "attention_grad": "attention × gradient", "input_x_grad": "input × gradient", "rollout": "attention rollout",
    "value_norm": "attention × value norm", "leave-one-out": "leave-one-out", "random": "random order",
    "scores": "the scores given",
}  # fmt: skip
"""Rankings, and what a card calls them."""
REMOVED = {
    "unk": "words replaced by an unknown word", "mask": "words replaced by the mask token",
    "pad": "words not attended", "delete": "words deleted", ATTENTION: "weight set to zero",
}  # fmt: skip
INPUT = ("words", "sign", "reading")
"""Objections that remove words from the input."""
FLAT = 1e-3
"""Relevance of all words together below which the gradients of a model are called flat."""


@dataclass(frozen=True)
class Gate(Row):
    """A condition under which the tests mean something, judged like an objection; `note` is what was found.

    rows   objections that stay open where it does not pass
    """

    rows: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.objection.says

    @property
    def passed(self) -> bool:
        return self.status == PASS

    @property
    def told(self) -> str:
        """What to do, as a sentence."""
        cure = f"{self.objection.cure}, then audit again."
        return f"{self.settles} Or {cure}" if self.settles else cure[0].upper() + cure[1:]

    def to_dict(self) -> dict[str, Any]:
        told = {"name": self.name, "passed": self.passed, "said": self.note}
        return super().to_dict() | told | {"rows": self.rows, "cure": self.objection.cure}


def gates(found: Measured) -> list[Gate]:
    """The conditions in order, each with the rows that rest on it."""
    n, every = len(found), tuple(rules()["objections"])
    removed = INPUT if found.closed else (*INPUT, "weights")
    effects = {
        "texts": Effect(n, texts=n),
        "accuracy": estimate(found.right - found.largest, (-1, 1)),
        "cut": estimate((np.arange(len(found.right)) < found.cut).astype(float), (0, 1)),
        "removals": min((retained(found, way) for way in found.inputs), key=lambda share: share.estimate),
        "attainable": found.worst(lambda way: found.erased[way].attainable)[1],
    }
    doors = []
    for name, effect in effects.items():
        rule = rules()["gates"][name]
        needed = f"{'at least' if rule.direction == 'greater' else 'at most'} {rule.passes:g}"
        note = f"{rule.effect}: {effect.text(0 if name == 'texts' else 2)}, where {needed} is needed"
        row = judge(rule, effect, note=note)
        if name == "texts":
            row = replace(row, status=PASS if n >= rule.passes else FAIL, note=note)
        doors.append(Gate(**vars(row), rows=every if name in ("accuracy", "cut") else removed))
    return doors


def retained(found: Measured, way: str) -> Effect:
    """Part of the gain over the majority class that survives random masking, where least of it does.

    A ratio of two means over the same texts, so that its interval is that of `share_values`.
    """
    right, largest = found.right[: len(found)], found.largest[: len(found)]
    parts = [share_values(values, largest, right) for values in found.erased[way].masked.T]
    return agreed(estimate(min(parts, key=np.mean)), unit=(right - largest).mean())


def in_element(doors: Sequence[Gate]) -> bool | None:
    """Whether random removals leave the model in its element; None: not decided."""
    status = next(gate.status for gate in doors if gate.objection.id == "removals")
    return None if status == OPEN else status == PASS


def behind(rows: Sequence[Row], doors: Sequence[Gate]) -> list[Row]:
    """The rows, those left open that rest on a gate which does not pass."""
    closed = {name: gate.told for gate in reversed(doors) if not gate.passed for name in gate.rows}
    return [
        replace(row, status=OPEN, p=math.nan, settles=closed[row.objection.id])
        if row.objection.id in closed and row.status != SKIPPED
        else row
        for row in rows
    ]


def judged(found: Measured) -> list[Row]:
    """The rows of all objections for these texts; those that need trainings are open."""
    return behind([_row(found, objection) for objection in rules()["objections"].values()], gates(found))


def hides(found: Measured, least: float = 0.05) -> Effect | None:
    """How often the most decisive token lies in the lower half of the ranking, if beyond its border.

    Chance is one half. A model that is trained to keep attention off the words it uses (Pruthi et al. 2020) goes
    far beyond it. least: how far the probability must fall without a token that decides.
    """
    both = zip(found.ranking, found.erased[found.inputs[-1]].alone, strict=True)
    telling = [(scores, drops) for scores, drops in both if len(drops) >= 4 and drops.max() >= least]
    above = [np.mean(np.asarray(scores) > scores[int(drops.argmax())]) for scores, drops in telling]
    share = estimate((np.array(above) >= 0.5).astype(float), (0, 1)) if len(above) >= 20 else None
    return share if share is not None and share.low > rules()["hiding"] else None


def flat(probe: Probe) -> bool:
    """Whether attention × gradient of a transformer finds no slope to read: its decisions are saturated."""
    scores = probe.rankings.get("attention_grad")
    return bool(scores) and float(np.median([np.sum(values) for values in scores])) < FLAT


def readings(found: Measured, probe: Probe) -> pd.DataFrame:
    """One row per ranking: S at the input and with weights removed, seconds per 100 texts."""
    rows, at = [], found.erased.get(ATTENTION)
    for name in (n for n in found.erased[found.inputs[0]].drops if n not in ("random", "best")):
        way, share = found.worst(lambda w, name=name: found.erased[w].share(name))
        other = next(w for w in found.inputs if w != way)
        read = len(found) if name == "leave-one-out" else len(probe.rankings[name])
        rows.append(
            {
                "ranking": name, "name": NAMES[name], "operator": way,
                "value": share.estimate, "low": share.low, "high": share.high,
                "other": found.erased[other].share(name).mean(),
                "weights": math.nan if at is None else at.share(name).mean(),
                "seconds": probe.seconds.get(name, math.nan) * 100 / read,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _row(found: Measured, objection: Objection) -> Row:
    name = objection.id
    if name in found.why:
        return Row(objection, SKIPPED, note=found.why[name])
    if name == "order":
        return judge(objection, estimate(found.moved, (0, 1)), control="unchanged weights: 0")
    if name == "alternatives" and np.isfinite(found.distance).sum() > 1:
        return judge(objection, estimate(found.distance, (0, 1)), control="the model's own weights: 0")
    if name == "weights":
        return _weights(found, objection)
    if name == "sign":
        way, share = found.worst(found.raised, largest=True)
        random = np.mean([np.mean(alone < -RAISED) for alone in found.erased[way].alone])
        return judge(objection, share, control=f"a random word: {random:.2f}", note=REMOVED[way])
    if name == "words":
        way, share = found.worst(lambda w: found.erased[w].share(found.subject))
        return judge(objection, share, control=_between(found.erased[way]), note=REMOVED[way])
    if name == "reading":
        best = {way: _best_of(FREE, found.erased[way]) for way in found.inputs}
        way, gap = found.worst(lambda w: found.erased[w].share(found.subject) - found.erased[w].share(best[w]))
        control = f"{NAMES[best[way]]}: a share of {found.erased[way].share(best[way]).mean():.2f}"
        return judge(objection, gap, control=control, note=REMOVED[way])
    return Row(objection, OPEN, settles="Not measured within the budget: give more minutes.")


def _weights(found: Measured, objection: Objection) -> Row:
    """Where weights may decide nothing at all, what they can change at most is judged instead."""
    at, border = found.erased[ATTENTION], rules()["gates"]["attainable"].passes
    reach = estimate(at.attainable)
    if reach.low < border:
        note = f"the value is how much more than a random order any order of the weights can do; border {border}"
        row = judge(replace(objection, passes=border, fails=border), reach, note=note)
        row = replace(row, objection=objection)
        return row if row.status == FAIL else replace(row, status=OPEN, p=math.nan)
    return judge(objection, estimate(at.share(found.subject)), control=_between(at), note=REMOVED[ATTENTION])


def _best_of(names: Sequence[str], at: Erased) -> str:
    return max((r for r in names if r in at.drops), key=lambda r: np.nan_to_num(at.share(r).mean(), nan=-9))


def _between(at: Erased) -> str:
    loo = at.share("leave-one-out").mean()
    random, best = (at.area(name).mean() for name in ("random", "best"))
    return f"random: 0 (drop {random:.2f}), leave-one-out: {loo:.2f}, best found: 1 (drop {best:.2f})"
