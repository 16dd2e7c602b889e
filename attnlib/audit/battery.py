"""The battery: what an audit measures on a model that is there, and the gates that come before a verdict.

`measure` asks the model; what comes back is one number per text and objection (`Measured`), so that `judged` can
turn any sample of texts into rows. Objections 1 and 8 need further trainings: `attnlib.audit.trainings`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from attnlib.audit.probe import CHUNK, Erased, Probe, Scores
from attnlib.audit.rules import FAIL, OPEN, Row, judge, not_applicable, rules, unmeasured
from attnlib.engine.explainable import ATTENTION
from attnlib.importance.scores import readings as readings_of
from attnlib.measures.adversary import search
from attnlib.measures.perturbation import swap_attention
from attnlib.stats.inference import Effect, effect
from attnlib.utils.progress import progress
from attnlib.utils.text import percent, plural

FREE = ("alpha_grad", "attention_grad", "input_x_grad")
"""Readings of the same model that cost a pass or two; attention must not be worse than the best of them."""
OTHERS = ("rollout", "value_norm")
"""Further readings of a transformer, for the table."""
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
ERASURE = ("weights", "words", "sign", "reading")
"""Objections that need removals to leave the model in its element."""
SEARCH = {"restarts": 3, "steps": 150, "learning_rate": 0.05}
"""Of Jain & Wallace's search: fewer steps than theirs, each three times as long."""
RAISED = 1e-6
SWAPPED = ("uniform", "permuted")


@dataclass(frozen=True)
class Gate:
    """A condition under which the tests mean something."""

    name: str
    passed: bool
    said: str


@dataclass
class Measured:
    """One number per text of everything measured; n texts.

    subject   the ranking under audit: `alpha`, or scores from elsewhere
    right     (n,) whether the decision is right; `majority`: share of the largest class
    erased    operator -> what removals do
    moved     (n,) share of permutations of the weights that change the decision, or None
    distance  (n,) how far attention can move (0 to 1) without changing the output, or None
    hidden    (n,) whether the most decisive token lies in the lower half of the ranking; NaN: no token decides
    inputs    the two operators of the input level
    cut       share of texts that the model cannot read to their end
    why       objection -> why it does not apply
    late      objections that were not measured within the budget
    """

    subject: str
    right: np.ndarray
    majority: float
    erased: dict[str, Erased]
    inputs: tuple[str, str]
    raised: dict[str, np.ndarray]
    hidden: np.ndarray
    moved: np.ndarray | None = None
    distance: np.ndarray | None = None
    cut: float = 0.0
    why: dict[str, str] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.right)

    def take(self, rows: np.ndarray) -> Measured:
        """The same for some of the texts; rows may repeat."""
        some = {name: getattr(self, name) for name in ("right", "hidden", "moved", "distance")}
        return replace(
            self,
            **{name: None if values is None else values[rows] for name, values in some.items()},
            erased={name: found.take(rows) for name, found in self.erased.items()},
            raised={name: values[rows] for name, values in self.raised.items()},
        )


def estimate(values: np.ndarray, bounds: tuple[float, float] | None = None) -> Effect:
    """The mean over texts with an interval of the rules' level; the models are given."""
    frame = pd.DataFrame({"value": values, "instance": np.arange(len(values))})
    return effect(frame, training=None, bounds=bounds, level=rules()["level"])


def measure(
    probe: Probe,
    scores: Scores | None = None,
    *,
    deep: int | None = None,
    closed: bool = True,
    left: Callable[[int], float] = lambda texts: math.inf,
) -> Measured:
    """Everything that can be asked of the model without a training.

    scores  the explanation under audit, one array per text; None: the model's attention
    deep    texts for the greedy search, see `Probe.erased`
    closed  whether logits are a closed form of the attention, as in models of the kit
    left    texts done -> seconds that may still be spent here: where removals are slower than was forecast, texts
            are left out, and where nothing is left the search for other attention is
    """
    known = readings_of(probe.model)
    subject = ("alpha" if closed else "cls_last") if scores is None else "scores"
    if scores is not None:
        probe.rankings[subject] = scores
    rankings: dict[str, Scores] = {subject: probe.read(subject)}
    rankings |= {
        name: probe.read(name) for name in (*FREE, *OTHERS) if name in known and (name in FREE or not closed)
    }
    ways = [*probe.inputs, *([ATTENTION] if scores is None else [])]
    erased: dict[str, Erased] = {}
    for done, way in enumerate(ways):
        # weights of a model of the kit are a closed form: they take little of the time
        share, begun = sum(0.3 if w == ATTENTION and closed else 1.0 for w in ways[done:]), time.monotonic()

        def own(texts: int, share: float = max(share, 1.0), begun: float = begun) -> float:
            spent = time.monotonic() - begun
            return (left(texts) + spent) / share - spent  # the rest is for the operators to come

        erased[way] = probe.erased(way, rankings, deep=deep, left=own)
        n = len(erased[way].alone)
        if n < len(probe):  # slower than was forecast: go on with fewer texts
            probe.keep(n)
            rankings = {name: scores[:n] for name, scores in rankings.items()}
            erased = {name: found.take(np.arange(n)) for name, found in erased.items()}
    tops = np.array([int(np.argmax(ranking)) for ranking in rankings[subject]])
    raised = {
        way: np.array([float(alone[top] < -RAISED) for alone, top in zip(erased[way].alone, tops, strict=True)])
        for way in probe.inputs
    }
    counts = np.bincount(probe.labels, minlength=len(probe.model.classes))
    found = Measured(
        subject=subject,
        right=(probe.predicted == probe.labels).astype(float),
        majority=float(counts.max() / counts.sum()),
        erased=erased,
        inputs=probe.inputs,
        raised=raised,
        hidden=_hidden(rankings[subject], erased[probe.inputs[-1]].alone),
    )
    if scores is not None:
        given = "about the model's attention, not about the scores under audit"
        found.why |= dict.fromkeys(("order", "weights", "alternatives"), given)
    elif closed:
        found.moved = _moved(probe)
        found.distance = _distance(probe, left)
        if np.isfinite(found.distance).sum() < 2:
            found.late.add("alternatives")
    else:
        changed = [
            swap_attention(probe.model, probe.examples, swap).argmax(1) != probe.predicted for swap in SWAPPED
        ]
        told = " and ".join(
            f"{s} attention in every layer changes {percent(c.mean())}"
            for s, c in zip(SWAPPED, changed, strict=True)
        )
        found.why["order"] = f"the residual stream goes round attention. For information: {told} of the decisions"
        found.why["alternatives"] = (
            "the output is no closed form of attention in several layers, so none can be searched"
        )
    return found


def gates(found: Measured) -> list[Gate]:
    """The conditions in order; `judged` leaves rows open that rest on one that does not hold."""
    border, n = rules()["gates"], len(found)
    told = [
        Gate("enough texts", n >= border["texts"], f"{plural(n, 'text')}; at least {border['texts']} are needed")
    ]
    good = estimate(found.right, (0, 1))
    told.append(
        Gate(
            "better than the majority class",
            good.low > found.majority,
            f"accuracy {good.text()}; always answering with the largest class gives {found.majority:.2f}",
        )
    )
    cut = f"{percent(found.cut)} of the texts are longer than the model reads; at most {percent(border['cut'])}"
    told.append(Gate("texts read to their end", found.cut <= border["cut"], cut))
    left = {way: _retained(found, way) for way in found.inputs}
    told.append(
        Gate(
            "removals leave the model in its element",
            all(kept >= border["retained"] for kept in left.values()),
            f"without a random share of the words (up to {percent(max(rules()['shares']))}) it keeps, of its gain "
            "over the majority class, "
            + ", ".join(f"{percent(kept)} with words {REMOVED[way]}" for way, kept in left.items())
            + f"; at least {percent(border['retained'])}",
        )
    )
    reach = [estimate(found.erased[way].attainable) for way in found.inputs]
    least = min(reach, key=lambda e: e.estimate)
    told.append(
        Gate(
            "something to explain",
            least.low > border["attainable"],
            f"the best order of removal lowers the probability by {least.text()} more than a random one; more than "
            f"{border['attainable']} is needed",
        )
    )
    return told


def judged(found: Measured) -> list[Row]:
    """Rows 2 to 7 for these texts."""
    if len(found) < 2:
        return []
    names = [o.id for o in rules().objections if o.id not in ("needed", "stable")]
    rows = [_row(found, name) for name in names]
    if not next(gate for gate in gates(found) if gate.name.startswith("removals")).passed:
        why = "out of distribution: random removals alone make the model fail, so they say little about the ranking"
        rows = [
            replace(
                row, status=OPEN, note=why, settles="Train or fine-tune with masking, then audit again.", p=math.nan
            )
            if row.objection.id in ERASURE and row.objection.id != "weights" and row.objection.id not in found.why
            else row
            for row in rows
        ]
    return rows


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


def readings(found: Measured, probe: Probe) -> pd.DataFrame:
    """One row per ranking: S at the input (the worse operator) and with weights removed, seconds per 100 texts."""
    rows = []
    for name in (n for n in found.erased[found.inputs[0]].drops if n not in ("random", "best")):
        shares = {way: estimate(found.erased[way].share(name)) for way in found.erased}
        way = min(found.inputs, key=lambda w: shares[w].estimate)
        row = {"ranking": name, "name": NAMES[name], "operator": way}
        row |= {"value": shares[way].estimate, "low": shares[way].low, "high": shares[way].high}
        row["other"] = next(shares[w].estimate for w in found.inputs if w != way)
        row["weights"] = shares[ATTENTION].estimate if ATTENTION in shares else math.nan
        row["random"], row["best"] = (float(found.erased[way].area(r).mean()) for r in ("random", "best"))
        row["seconds"] = probe.seconds.get(name, math.nan) * 100 / len(probe)
        rows.append(row)
    return pd.DataFrame(rows)


def _row(found: Measured, name: str) -> Row:
    objection = rules().objection(name)
    if name in found.why:
        return not_applicable(objection, found.why[name])
    if name in found.late:
        return unmeasured(objection, "Not measured within the budget: give more minutes.")
    if name == "order":
        return judge(objection, estimate(found.moved, (0, 1)), control="unchanged weights: 0")
    if name == "alternatives":
        return judge(objection, estimate(found.distance, (0, 1)), control="the model's own weights: 0")
    if name == "weights":
        return _weights(found, objection)
    if name == "sign":
        both = {way: estimate(found.raised[way], (0, 1)) for way in found.inputs}
        way = max(both, key=lambda w: both[w].estimate)
        random = np.mean([np.mean(alone < -RAISED) for alone in found.erased[way].alone])
        return judge(objection, both[way], control=f"a random word: {random:.2f}", note=_way(way))
    if name == "words":
        both = {way: estimate(found.erased[way].share(found.subject)) for way in found.inputs}
        way = min(both, key=lambda w: both[w].estimate)
        return judge(objection, both[way], control=_between(found.erased[way]), note=_way(way))
    differences = {}
    for way in found.inputs:
        at = found.erased[way]
        free = [name for name in FREE if name in at.drops]
        other = max(free, key=lambda r, at=at: np.nan_to_num(at.share(r).mean(), nan=-9))
        differences[way] = estimate(at.share(found.subject) - at.share(other)), other
    way = min(differences, key=lambda w: differences[w][0].estimate)
    best, other = differences[way]
    share = found.erased[way].share(other).mean()
    return judge(objection, best, control=f"{NAMES[other]}: S = {share:.2f}", note=_way(way))


def _weights(found: Measured, objection) -> Row:
    at = found.erased[ATTENTION]
    reach, border = estimate(at.attainable), rules()["gates"]["attainable"]
    if reach.high < border:
        note = (
            f"no order of setting weights to zero lowers the probability by {border} more than a random order "
            "does: "
            "the weights decide nothing. The value is that difference."
        )
        bad = replace(judge(replace(objection, passes=border, fails=border), reach), objection=objection)
        return replace(bad, status=FAIL, note=note, settles="")
    if reach.low < border:
        note = "what setting weights to zero can change at most is about as small as the border of the gate"
        return Row(
            objection, OPEN, reach, note=note, settles="More texts would show whether weights matter at all."
        )
    return judge(objection, estimate(at.share(found.subject)), control=_between(at), note=_way(ATTENTION))


def _retained(found: Measured, way: str) -> float:
    """Part of the gain over the majority class that survives random masking, of the share at which least does."""
    gain = found.right.mean() - found.majority
    return float((found.erased[way].masked.mean(0).min() - found.majority) / gain) if gain > 0 else math.nan


def _between(at: Erased) -> str:
    loo = at.share("leave-one-out").mean()
    random, best = (at.area(name).mean() for name in ("random", "best"))
    return f"random: 0 (drop {random:.2f}), leave-one-out: {loo:.2f}, best found: 1 (drop {best:.2f})"


def _way(way: str) -> str:
    return f"words {REMOVED[way]}" if way != ATTENTION else REMOVED[way]


def _hidden(scores: Scores, alone: Sequence[np.ndarray], least: float = 0.05) -> np.ndarray:
    """(n,) 1 where the token that matters most lies in the lower half of the scores; NaN where none decides."""
    out = np.full(len(alone), math.nan)
    for i, (values, drops) in enumerate(zip(scores, alone, strict=True)):
        if len(drops) >= 4 and drops.max() >= least:
            above = (np.asarray(values) > values[int(drops.argmax())]).sum()
            out[i] = float(above >= len(drops) / 2)
    return out


def _moved(probe: Probe) -> np.ndarray:
    """(n,) share of permutations of the attention weights under which the decision changes."""
    draws = rules()["permutations"]
    changed = [
        swap_attention(probe.model, probe.examples, "permuted", seed=probe.seed + d).argmax(1) != probe.predicted
        for d in progress(range(draws), "permuting weights", unit="draw")
    ]
    return np.mean(changed, 0)


def _distance(probe: Probe, left: Callable[[int], float]) -> np.ndarray:
    """(n,) JSD / ln 2 of the farthest attention whose output differs by at most epsilon; NaN: no time left."""
    out = np.full(len(probe), math.nan)
    starts = range(0, len(probe), CHUNK)
    for start in progress(starts, "other attention", total=len(starts), unit="batch"):
        if left(start) <= 0:
            break
        for batch, trace in probe.model.traces(probe.examples[start : start + CHUNK]):
            rows = (batch.rows + start).tolist()
            _, distance, _ = search(trace, epsilon=rules()["epsilon"], seed=probe.seed, rows=rows, **SEARCH)
            out[rows] = distance.double().cpu().numpy() / math.log(2)
    return out
