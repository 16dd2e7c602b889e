"""The battery: what an audit measures on a model that is there.

`measure` asks the model; what comes back is one number per text and objection (`Measured`), so that
`judging.judged` can turn any sample of texts into rows. Objections 1 and 8 need further trainings:
`attnlib.audit.trainings`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from attnlib.audit.probe import CHUNK, Erased, Probe, Scores
from attnlib.audit.rules import rules
from attnlib.engine.explainable import ATTENTION
from attnlib.importance.scores import readings as readings_of
from attnlib.measures.adversary import search
from attnlib.measures.perturbation import swap_attention
from attnlib.stats.inference import Effect, effect
from attnlib.utils.progress import progress
from attnlib.utils.text import percent

FREE = ("alpha_grad", "attention_grad", "input_x_grad")
"""Readings of the same model that cost a pass or two; attention must not be worse than the best of them."""
OTHERS = ("rollout", "value_norm")
"""Further readings of a transformer, for the table."""
SEARCH = {"restarts": 3, "steps": 150, "learning_rate": 0.05}
"""Of Jain & Wallace's search: fewer steps than theirs, each three times as long."""
SEARCHED = 200
"""Texts searched at most: the distances of texts differ little."""
ELSEWHERE = "about the model's attention, not about the scores under audit"
"""Why an objection does not apply to scores from elsewhere."""
RAISED = 1e-6
SWAPPED = ("uniform", "permuted")


@dataclass
class Measured:
    """One number per text of everything measured; removals from the input may cover fewer texts than the rest.

    subject   the ranking under audit: `alpha`, or scores from elsewhere
    right     (n,) whether the decision is right; `majority`: share of the largest class
    erased    operator -> what removals do
    inputs    the two operators of the input level
    raised    operator -> whether removing the top token raises the probability
    hidden    whether the most decisive token lies in the lower half of the ranking; NaN: no token decides
    moved     (n,) share of permutations of the weights that change the decision, or None
    distance  (n,) how far attention can move (0 to 1) without changing the output, or None; NaN: not measured
    cut       share of texts that the model cannot read to their end
    closed    whether weights were set to zero in a closed form, with no word missing for the encoder
    why       objection -> why it does not apply
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
    closed: bool = True
    why: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Texts from which words were removed."""
        return len(self.erased[self.inputs[0]])

    def take(self, rows: np.ndarray) -> Measured:
        """The same for some of the texts; rows may repeat."""
        some = {name: getattr(self, name) for name in ("right", "hidden", "moved", "distance")}
        return replace(
            self,
            **{name: None if values is None else values[rows] for name, values in some.items()},
            erased={name: found.take(rows) for name, found in self.erased.items()},
            raised={name: values[rows] for name, values in self.raised.items()},
        )

    def worst(self, values: Callable[[str], np.ndarray], *, largest: bool = False) -> tuple[str, Effect]:
        """The operator of the input level whose effect is smallest (or `largest`), and the effect."""
        both = {way: estimate(values(way), (0, 1) if largest else None) for way in self.inputs}
        way = (max if largest else min)(both, key=lambda w: both[w].estimate)
        return way, both[way]


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
    inputs_alone: bool = False,
    early: float = math.inf,
    left: Callable[[int], float] = lambda texts: math.inf,
) -> Measured:
    """Everything that can be asked of the model without a training.

    scores  the explanation under audit, one array per text; None: the model's attention
    deep    texts for the greedy search, see `Probe.erased`
    closed  whether logits are a closed form of the attention, as in models of the kit: what needs no more than
            that is asked first, of all texts if `early` seconds allow. In a transformer, weights set to zero are
            words not attended
    inputs_alone  only remove words
    left    texts done -> seconds that may still be spent on removing words
    """
    known = readings_of(probe.model)
    subject = ("alpha" if closed else "cls_last") if scores is None else "scores"
    if scores is not None:
        probe.rankings[subject] = list(scores)
    names = [subject, *(n for n in (*FREE, *OTHERS) if n in known and (n in FREE or not closed))]
    erased, moved, distance = {}, None, None
    if closed and scores is None and not inputs_alone:
        begun = time.monotonic()
        erased[ATTENTION] = probe.erased(
            ATTENTION, names, deep=deep, left=lambda n: early / 2 + begun - time.monotonic()
        )
        moved = _moved(probe, len(erased[ATTENTION]))
        distance = _distance(probe, len(moved), lambda n: early + begun - time.monotonic())
    erased |= probe.erased(probe.inputs, names, deep=deep, left=left)
    if not closed and scores is None:
        erased[ATTENTION] = erased[probe.inputs[-1]]
    alone = {way: erased[way].alone for way in probe.inputs}
    ranking = probe.rankings[subject][: len(alone[probe.inputs[0]])]
    tops = [int(np.argmax(values)) for values in ranking]
    counts = np.bincount(probe.labels, minlength=len(probe.model.classes))
    found = Measured(
        subject=subject,
        right=(probe.predicted == probe.labels).astype(float),
        majority=float(counts.max() / counts.sum()),
        erased=erased,
        inputs=probe.inputs,
        raised={
            way: np.array([float(drops[top] < -RAISED) for drops, top in zip(own, tops, strict=True)])
            for way, own in alone.items()
        },
        hidden=_hidden(ranking, alone[probe.inputs[-1]]),
        moved=moved,
        distance=distance,
        closed=closed,
    )
    if scores is not None:
        found.why |= dict.fromkeys(("order", "weights", "alternatives"), ELSEWHERE)
    elif not (inputs_alone or closed):
        some = probe.examples[: len(found)]
        changed = [swap_attention(probe.model, some, s).argmax(1) != probe.predicted[: len(some)] for s in SWAPPED]
        told = " and ".join(
            f"{s} attention in every layer changes {percent(c.mean())}"
            for s, c in zip(SWAPPED, changed, strict=True)
        )
        found.why["order"] = f"the residual stream goes round attention. For information: {told} of the decisions"
        found.why["alternatives"] = (
            "the output is no closed form of attention in several layers, so none can be searched"
        )
    return found


def _hidden(scores: Scores, alone: Sequence[np.ndarray], least: float = 0.05) -> np.ndarray:
    """(n,) 1 where the token that matters most lies in the lower half of the scores; NaN where none decides."""
    out = np.full(len(alone), math.nan)
    for i, (values, drops) in enumerate(zip(scores, alone, strict=True)):
        if len(drops) >= 4 and drops.max() >= least:
            above = (np.asarray(values) > values[int(drops.argmax())]).sum()
            out[i] = float(above >= len(drops) / 2)
    return out


def _moved(probe: Probe, n: int) -> np.ndarray:
    """(n,) share of permutations of the attention weights under which the decision changes."""
    draws, some = rules()["permutations"], probe.examples[:n]
    changed = [
        swap_attention(probe.model, some, "permuted", seed=probe.seed + d).argmax(1) != probe.predicted[:n]
        for d in progress(range(draws), "permuting weights", unit="draw")
    ]
    return np.mean(changed, 0)


def _distance(probe: Probe, n: int, left: Callable[[int], float]) -> np.ndarray:
    """(n,) JSD / ln 2 of the farthest attention whose output differs by at most epsilon; NaN: not searched."""
    out = np.full(n, math.nan)
    starts = range(0, min(n, SEARCHED), 4 * CHUNK)
    for start in progress(starts, "other attention", total=len(starts), unit="batch"):
        if left(start) <= 0:
            break
        for batch, trace in probe.model.traces(probe.examples[start : min(start + 4 * CHUNK, n)]):
            rows = (batch.rows + start).tolist()
            _, distance, _ = search(trace, epsilon=rules()["epsilon"], seed=probe.seed, rows=rows, **SEARCH)
            out[rows] = distance.double().cpu().numpy() / math.log(2)
    return out
