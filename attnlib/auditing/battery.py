"""The battery: what an audit measures on a model that is there, one number per text (`Measured`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from attnlib.auditing.probe import CHUNK, Erased, Probe, Scores
from attnlib.auditing.rules import rules
from attnlib.engine.explainable import ATTENTION
from attnlib.measures.adversary import search
from attnlib.measures.perturbation import swap_attention
from attnlib.rankings.scores import readings as readings_of
from attnlib.stats.inference import Effect, effect, exact_share
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
"""Why an objection does not apply to scores from elsewhere."""
RAISED = 1e-6


@dataclass
class Measured:
    """One number per text of everything measured; words may be removed from fewer texts than the rest.

    subject    the ranking under audit: `alpha`, or `scores` from elsewhere; `ranking`: its scores
    right      (n,) whether the decision is right; `largest`: whether the label is that of most texts
    erased     operator -> what removals do; `inputs`: the two operators of the input level
    moved      (n,) share of permutations of the weights that change the decision
    distance   (n,) how far attention can move (0 to 1) without changing the output; NaN: not measured
    cut        number of texts that the model cannot read to their end
    closed     whether weights were set to zero in a closed form, with no word missing for the encoder
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
    closed: bool = True
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


def estimate(values: np.ndarray, bounds: tuple[float, float] | None = None) -> Effect:
    """The mean over texts with an interval of the rules' level."""
    frame = pd.DataFrame({"value": values, "instance": np.arange(len(values))})
    return effect(frame, training=None, bounds=bounds, level=rules()["level"])


def agreed(found: Effect, unit: float = 1.0) -> Effect:
    """With an interval where all texts agree: the share that may yet differ is bounded.

    unit   what the number would change by, were all texts to differ, is 1 / unit
    """
    if not math.isnan(found.low) or math.isnan(found.estimate):
        return found
    far = exact_share(0, found.texts, rules()["level"]).high / unit
    return replace(found, low=found.estimate - far, high=found.estimate + far, se=0.0)


def measure(
    probe: Probe,
    scores: Scores | None = None,
    *,
    deep: int | None = None,
    closed: bool = True,
    inputs_alone: bool = False,
    until: Callable[[float], Callable[[int], bool]] = lambda share: lambda done: True,
) -> Measured:
    """Everything that can be asked of the model without a training.

    scores  the explanation under audit, one array per text; None: the model's attention
    deep    texts for the greedy search, see `Probe.erased`
    closed  whether logits are a closed form of the attention; else a weight of zero is a word not attended
    inputs_alone  only remove words
    until   see `trainings.Clock.until`
    """
    known = readings_of(probe.model)
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
    n = len(erased[probe.inputs[0]])
    if scores is not None:
        why = dict.fromkeys(("order", "weights", "alternatives"), ELSEWHERE)
    elif not closed:
        erased[ATTENTION] = erased[probe.inputs[-1]]
        why = {} if inputs_alone else _in_every_layer(probe, n)
    right = (probe.predicted == probe.labels).astype(float)
    largest = (probe.labels == np.bincount(probe.labels).argmax()).astype(float)
    ranking = probe.rankings[subject][:n]
    return Measured(subject, right, largest, erased, probe.inputs, ranking, moved, distance, closed=closed, why=why)


def _in_every_layer(probe: Probe, n: int) -> dict[str, str]:
    """Why two objections do not apply to a transformer, with what other attention does to n decisions."""
    changed = {
        way: swap_attention(probe.model, probe.examples[:n], way).argmax(1) != probe.predicted[:n]
        for way in ("uniform", "permuted")
    }
    told = " and ".join(f"{way} attention in every layer changes {one.mean():.0%}" for way, one in changed.items())
    return {
        "order": f"the residual stream goes round attention. For information: {told} of the decisions",
        "alternatives": "with several layers the output is no closed form of attention, to be searched",
    }


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
