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
from attnlib.utils.text import percent, plural

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
        if self.status == OPEN and self.effect.texts < rules()["texts"]:
            return self.settles
        cure = f"{self.objection.cure}, then audit again."
        return f"{self.settles} Or {cure}" if self.settles else cure[0].upper() + cure[1:]

    def to_dict(self) -> dict[str, Any]:
        shown = ("status", "value", "low", "high", "texts", "settles")
        told = {name: value for name, value in super().to_dict().items() if name in shown}
        told |= {"name": self.name, "passed": self.passed, "said": self.note}
        return told | {"rows": self.rows, "cure": self.objection.cure}


def gates(found: Measured) -> list[Gate]:
    """The conditions in order, each with the rows that rest on it."""
    n, least, rule = len(found), rules()["texts"], rules()["gates"]
    gain = estimate(found.right - found.largest, (-1, 1))
    cut = estimate((np.arange(len(found.right)) < found.cut).astype(float), (0, 1))
    kept = {way: retained(found, way) for way in found.inputs}
    both = " and ".join(f"{_share(share)} ({REMOVED[way]})" for way, share in kept.items())
    reach = found.worst(lambda way: found.erased[way].attainable)[1]
    said = {
        "accuracy": f"accuracy {found.right.mean():.2f}, {gain.text()} more than always answering with the largest "
        "class",
        "cut": f"{_share(cut)} of the texts are longer than the model reads; at most {percent(rule['cut'].passes)}",
        "removals": f"with up to {percent(max(rules()['shares']))} of the words removed at random, the model keeps "
        f"{both} of its gain over the majority class; at least {percent(rule['removals'].passes)} is needed",
        "attainable": f"the best order of removal lowers the probability by {reach.text()} more than a random one; "
        f"at least {rule['attainable'].passes} is needed",
    }
    effects = {"accuracy": gain, "cut": cut, "attainable": reach}
    effects["removals"] = min(kept.values(), key=lambda share: share.estimate)
    rows = dict.fromkeys(("accuracy", "cut"), tuple(rules()["objections"]))
    removed = INPUT if found.closed else (*INPUT, "weights")
    enough = f"words were removed from {plural(n, 'text')}; at least {least} are needed"
    doors = [Gate(rule["texts"], PASS if n >= least else FAIL, Effect(n, texts=n), note=enough, rows=removed)]
    for name, told in said.items():
        row = judge(rule[name], effects[name], note=told)
        doors.append(Gate(**vars(row), rows=rows.get(name, removed)))
    return doors


def retained(found: Measured, way: str) -> Effect:
    """Part of the gain over the majority class that survives random masking, of the share at which least does.

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
        row
        if row.status == SKIPPED or row.objection.id not in closed
        else replace(row, status=OPEN, p=math.nan, settles=closed[row.objection.id])
        for row in rows
    ]


def judged(found: Measured) -> list[Row]:
    """The rows of all objections for these texts; those that need trainings are open."""
    return behind([_row(found, objection) for objection in rules()["objections"].values()], gates(found))


def hides(found: Measured, least: float = 0.05) -> Effect | None:
    """How often the most decisive token lies in the lower half of the ranking, where that is beyond its border.

    least   how far the probability must fall without a token that decides

    Chance is one half. A model that is trained to keep attention off the words it uses (Pruthi et al. 2020) goes
    far beyond it, while one whose attention means nothing stays there.
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
    """One row per ranking: S at the input (stricter operator) and with weights removed, seconds per 100 texts."""
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
        return _reading(found, objection)
    return Row(objection, OPEN, settles="Not measured within the budget: give more minutes.")


def _reading(found: Measured, objection: Objection) -> Row:
    def rival(way: str) -> str:
        at = found.erased[way]
        return max((r for r in FREE if r in at.drops), key=lambda r: np.nan_to_num(at.share(r).mean(), nan=-9))

    way, gap = found.worst(lambda w: found.erased[w].share(found.subject) - found.erased[w].share(rival(w)))
    share = found.erased[way].share(rival(way)).mean()
    return judge(objection, gap, control=f"{NAMES[rival(way)]}: a share of {share:.2f}", note=REMOVED[way])


def _weights(found: Measured, objection: Objection) -> Row:
    at, border = found.erased[ATTENTION], rules()["gates"]["attainable"].passes
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
    share = estimate(at.share(found.subject))
    return judge(objection, share, control=_between(at), note=REMOVED[ATTENTION])


def _between(at: Erased) -> str:
    loo = at.share("leave-one-out").mean()
    random, best = (at.area(name).mean() for name in ("random", "best"))
    return f"random: 0 (drop {random:.2f}), leave-one-out: {loo:.2f}, best found: 1 (drop {best:.2f})"


def _share(share: Effect) -> str:
    ends = "" if math.isnan(share.low) else f" [{percent(share.low)}, {percent(share.high)}]"
    return percent(share.estimate) + ends
