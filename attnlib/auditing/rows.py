"""What an audit measures on a model that is there, one number per text (`Measured`), and the rows made of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from attnlib.auditing.probe import CHUNK, Erased, Probe, Scores, share_values
from attnlib.auditing.rules import FAIL, OPEN, PASS, SKIPPED, Objection, Row, agreed, estimate, judge, rules
from attnlib.engine.explainable import ATTENTION
from attnlib.measures.adversary import search
from attnlib.measures.perturbation import swap_attention
from attnlib.rankings.scores import readings as readings_of
from attnlib.stats.inference import Effect
from attnlib.training.fitted import Fitted
from attnlib.utils.progress import progress

FREE = ("alpha_grad", "attention_grad", "input_x_grad")
"""Readings of the same model that cost a pass or two; attention must not be worse than the best of them."""
OTHERS = ("rollout", "value_norm")
"""Further readings of a transformer, for the table."""
SEARCH = {"restarts": 3, "steps": 150, "learning_rate": 0.05}
"""Of Jain & Wallace's search: fewer steps than theirs, each three times as long."""
SEARCHED = 200
"""Texts searched at most: the distances of texts differ little."""
ELSEWHERE = "about the model's attention, not about the scores under audit"
TRAINED = dict.fromkeys(("needed", "stable"), "it takes trainings, and the kit trains its own pooled models alone")
LAYERED = TRAINED | {
    "order": "the residual stream goes round attention, so that permuted weights say little",
    "alternatives": "with several layers the output is no closed form of attention, to be searched",
}
"""Why objections do not apply: to scores from elsewhere, to a model of sentences, to a transformer."""
RAISED = 1e-6
"""A probability that rises by less has not risen."""
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


@dataclass
class Measured:
    """One number per text of everything measured; words may be removed from fewer texts than the rest.

    subject    the ranking under audit: `alpha`, or `scores` from elsewhere; `ranking`: its scores
    right      (n,) whether the decision is right; `largest`: whether the label is that of most texts
    erased     operator -> what removals do; `inputs`: the two operators of the input level
    moved      (n,) share of permutations of the weights that change the decision
    distance   (n,) how far attention can move (0 to 1) without changing the output; NaN: not measured
    cut        number of texts that the model cannot read to their end
    why        objection -> why it does not apply
    """

    subject: str
    right: np.ndarray
    largest: np.ndarray
    erased: dict[str, Erased]
    inputs: tuple[str, str]
    ranking: Scores
    moved: np.ndarray | None = None
    distance: np.ndarray | None = None
    cut: int = 0
    why: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Texts from which words were removed."""
        return len(self.erased[self.inputs[0]])

    def raised(self, way: str) -> np.ndarray:
        """(n,) whether removing the top token by an operator raises the probability."""
        both = zip(self.ranking, self.erased[way].alone, strict=True)
        return np.array([float(drops[int(np.argmax(scores))] < -RAISED) for scores, drops in both])

    def worst(self, values: Callable[[str], np.ndarray], *, largest: bool = False) -> tuple[str, Effect]:
        """The operator of the input level whose effect is smallest (or `largest`), and the effect."""
        both = {way: estimate(values(way), (0, 1) if largest else None) for way in self.inputs}
        way = (max if largest else min)(both, key=lambda w: both[w].estimate)
        return way, both[way]


def measure(
    probe: Probe,
    scores: Scores | None = None,
    *,
    deep: int | None = None,
    inputs_alone: bool = False,
    until: Callable[[float], Callable[[int], bool]] = lambda share: lambda done: True,
) -> Measured:
    """Everything that can be asked of the model without a training.

    scores  the explanation under audit, one array per text; None: the model's attention
    deep    texts for the greedy search, see `Probe.erased`
    inputs_alone  only remove words
    until   `trainings.Clock.until`
    """
    known, closed = readings_of(probe.model), isinstance(probe.model, Fitted)
    subject = "scores" if scores is not None else "alpha" if closed else "cls_last"
    if scores is not None:
        probe.rankings[subject] = list(scores)
    names = [subject, *(n for n in (*FREE, *OTHERS) if n in known and (n in FREE or not closed))]
    erased, moved, distance, why = {}, None, None, {}
    if closed and scores is None and not inputs_alone:
        erased = probe.erased((ATTENTION,), names, deep=deep, go=until(0.1))
        moved = _moved(probe, len(erased[ATTENTION]))
        distance = _distance(probe, len(moved), until(0.1))
    erased |= probe.erased(probe.inputs, names, deep=deep, go=until(0.5))
    if scores is not None:
        why = dict.fromkeys((*LAYERED, "weights"), ELSEWHERE)
    elif not closed:
        erased[ATTENTION] = erased[probe.inputs[-1]]
        why = LAYERED
    elif probe.model.hierarchical:
        why = TRAINED
    right = (probe.predicted == probe.labels).astype(float)
    largest = (probe.labels == np.bincount(probe.labels).argmax()).astype(float)
    ranking = probe.rankings[subject][: len(erased[probe.inputs[0]])]
    return Measured(subject, right, largest, erased, probe.inputs, ranking, moved, distance, why=why)


def _moved(probe: Probe, n: int) -> np.ndarray:
    """(n,) share of permutations of the attention weights under which the decision changes."""
    some, draws = probe.examples[:n], progress(range(rules()["permutations"]), "permuting weights", unit="draw")
    said = [swap_attention(probe.model, some, "permuted", seed=probe.seed + d).argmax(1) for d in draws]
    return np.mean([one != probe.predicted[:n] for one in said], 0)


def _distance(probe: Probe, n: int, go: Callable[[int], bool]) -> np.ndarray:
    """(n,) JSD / ln 2 of the farthest attention with an output within epsilon; NaN: not searched."""
    out = np.full(n, math.nan)
    starts = range(0, min(n, SEARCHED), 4 * CHUNK)
    for start in progress(starts, "other attention", total=len(starts), unit="batch"):
        if not go(start):
            break
        for batch, trace in probe.model.traces(probe.examples[start : min(start + 4 * CHUNK, n)]):
            rows = (batch.rows + start).tolist()
            _, distance, _ = search(trace, epsilon=rules()["epsilon"], seed=probe.seed, rows=rows, **SEARCH)
            out[rows] = distance.double().cpu().numpy() / math.log(2)
    return out


def gates(found: Measured) -> list[Row]:
    """The conditions in order, each with the rows that rest on it."""
    n, every = len(found), tuple(rules()["objections"])
    removed = (*INPUT, "weights") if found.subject == "cls_last" else INPUT
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
        doors.append(replace(row, rows=every if name in ("accuracy", "cut") else removed))
    return doors


def retained(found: Measured, way: str) -> Effect:
    """Part of the gain over the majority class that survives random masking, where least of it does."""
    right, largest = found.right[: len(found)], found.largest[: len(found)]
    parts = [share_values(values, largest, right) for values in found.erased[way].masked.T]
    return agreed(estimate(min(parts, key=np.mean)), unit=(right - largest).mean())


def behind(rows: Sequence[Row], doors: Sequence[Row]) -> list[Row]:
    """The rows, those left open that rest on a gate which does not pass."""
    closed = {name: gate.told for gate in reversed(doors) if gate.status != PASS for name in gate.rows}
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

    Chance is one half; training that keeps attention off the words in use (Pruthi et al. 2020) goes far beyond it.
    least: how far the probability must fall without a token that decides.
    """
    both = zip(found.ranking, found.erased[found.inputs[-1]].alone, strict=True)
    telling = [(scores, drops) for scores, drops in both if len(drops) >= 4 and drops.max() >= least]
    above = [np.mean(np.asarray(scores) > scores[int(drops.argmax())]) for scores, drops in telling]
    share = estimate((np.array(above) >= 0.5).astype(float), (0, 1)) if len(above) >= 20 else None
    return share if share is not None and share.low > rules()["hiding"] else None


def readings(found: Measured) -> pd.DataFrame:
    """One row per ranking: S at the input, by the stricter operator and the other, and with weights removed."""
    rows, at = [], found.erased.get(ATTENTION)
    for name in (n for n in found.erased[found.inputs[0]].drops if n not in ("random", "best")):
        way, share = found.worst(lambda w, name=name: found.erased[w].share(name))
        other = next(w for w in found.inputs if w != way)
        rows.append(
            {
                "ranking": name, "name": NAMES[name], "operator": way,
                "value": share.estimate, "low": share.low, "high": share.high,
                "other": found.erased[other].share(name).mean(),
                "weights": math.nan if at is None else at.share(name).mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _row(found: Measured, objection: Objection) -> Row:
    name = objection.id
    if name in found.why:
        return Row(objection, SKIPPED, note=found.why[name])
    if name == "order":
        return judge(objection, estimate(found.moved, (0, 1)), control="unchanged weights: 0")
    if name == "alternatives":
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
