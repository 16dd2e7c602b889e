r"""Adversaries: the same predictions from other attention?

Two ways, both from the literature the five papers build on:

- `search` (Jain & Wallace 2019): for each text alone, attention weights as far as possible from the model's own
  that keep the output within epsilon. Needs one Trace and no encoder.
- `adversary` (Wiegreffe & Pinter 2019; Tutek & Šnajder 2020, eq. 6): a model of the same architecture,
  trained to imitate the base's outputs while its attention moves away,

  .. math:: L = \frac1B \sum TVD(\hat y_a, \hat y_b) - \lambda\, D(\alpha_a, \alpha_b)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attnlib import quirks as quirk_names
from attnlib import stats
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.batching import Batch
from attnlib.data.types import Corpus, Example
from attnlib.measures.perturbation import with_attention
from attnlib.models.projections import softmax
from attnlib.models.trace import Trace
from attnlib.stats.divergences import DIVERGENCES
from attnlib.stats.divergences import torch_jsd as jsd
from attnlib.stats.divergences import torch_tvd as tvd
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted
from attnlib.utils.device import measuring
from attnlib.utils.errors import ConfigError, one_of

ATTENTION_ALONE = ("embedding", "encoder", "scaling", "decoder")
"""Parts a frozen adversary keeps from its base: only attention may move (Meister et al. 2021, section 5)."""


def adversary(
    corpus: Corpus,
    model: ModelConfig,
    train: TrainConfig,
    seed: int,
    *,
    warm_start: Fitted,
    lam: float,
    divergence: str = "kl_adv_base",
    frozen: bool = False,
    texts: int | None = None,
    quirks: Iterable[str] = (),
) -> Fitted:
    """The trainer of a grid for an adversary of the base `warm_start`, trained on its outputs for `corpus.train`.

    model       of the adversary. A regulariser in it adds its loss, so for eq. 6 alone leave out tying and mlm
    lam         weight of the divergence; 0 only imitates the base
    divergence  kl_adv_base, KL(α_a ‖ α_b), as Wiegreffe & Pinter; jsd, as Tutek & Šnajder
    frozen      start from the base and train its attention alone, drawn from `seed` again (the base itself is a
                local minimum of the loss for every lam). Otherwise a fresh model from `seed`
    texts       train on a sample of this many training texts, drawn with `seed`; None: on all
    quirks      `wp_half_tvd`: with two classes the TVD is halved, so that lambda is Wiegreffe & Pinter's
    """
    halved = "wp_half_tvd" in quirk_names.checked(quirks, ("wp_half_tvd",)) and len(corpus.classes) == 2
    one_of("divergence", divergence, DIVERGENCES)
    if warm_start.model_config.hierarchical:
        raise ConfigError("Adversaries are defined for flat attention; this base is hierarchical.")
    # the vocabulary stays that of the whole corpus: the adversary reads what its base reads
    some = replace(corpus.sample(texts, seed=seed, splits=("train",)), known=corpus.vocabulary) if texts else corpus
    outputs, weights = _targets(warm_start, some.train)

    def objective(trace: Trace, batch: Batch) -> dict[str, Tensor]:
        rows = batch.rows.tolist()
        expected = outputs[rows].to(trace.logits)
        attended = _padded([weights[i] for i in rows], trace.alpha)
        apart = tvd(trace.probabilities, expected).mean()
        return {
            "tvd": apart / 2 if halved else apart,
            "divergence": -lam * DIVERGENCES[divergence](trace.alpha, attended).mean(),
        }

    start = {}
    if frozen:
        train = train.replace(freeze=ATTENTION_ALONE, train_embeddings=False)
        start = {"warm_start": warm_start, "warm_parts": ATTENTION_ALONE}
    return fit(some, model, train, seed, objective=objective, **start)


def compare(base: Fitted, adversary: Fitted, examples: Sequence[Example]) -> pd.DataFrame:
    """One row per text: both predictions, `tvd` of outputs, `jsd` of attentions (nats), 1 where each is right."""
    outputs, weights = _targets(base, examples)
    others, moved = _targets(adversary, examples)
    pairs = zip(weights, moved, strict=True)
    frame = pd.DataFrame(
        {
            "id": [e.id for e in examples],
            "instance": np.arange(len(examples)),
            "length": [len(w) for w in weights],
            "label": [e.label for e in examples],
            "prediction_base": outputs.argmax(-1).numpy(),
            "prediction_adversary": others.argmax(-1).numpy(),
            "tvd": stats.tvd(outputs.numpy(), others.numpy()),
            "jsd": [float(stats.jsd(a, b)) if len(a) else float("nan") for a, b in pairs],
        }
    )
    right = {s: (frame[f"prediction_{s}"] == frame["label"]).astype(float) for s in ("base", "adversary")}
    return frame.assign(right_base=right["base"], right_adversary=right["adversary"])


def search(
    trace: Trace,
    *,
    epsilon: float = 0.05,
    restarts: int = 5,
    steps: int = 500,
    learning_rate: float = 0.01,
    seed: int = 0,
    rows: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Adversarial attention for each text of a trace (Jain & Wallace 2019, section 4.2.2).

    `restarts` distributions per text start from softmax(3 N(0, 1)) and climb for `steps` of Adam (amsgrad) on
    JSD to the trained attention plus mean JSD to each other, minus 500 max(0, TVD of outputs - epsilon). Of all
    that were met within `epsilon` the farthest counts; where none was, the trained attention itself, at distance
    zero. (The authors' code penalises from 0.01 on, whatever epsilon is.)

    rows  the number of each text, such as `batch.rows` (default: its place in the trace): what a text starts from
          depends on `seed` and this number alone

    Returns alpha (B, T), its jsd (B,) in nats and the tvd of the outputs (B,).
    """
    dtype, trace = trace.alpha.dtype, _detached(trace)
    allowed = trace.mask.unsqueeze(1)
    scores = _starts(trace.mask, restarts, seed, rows).to(trace.alpha).requires_grad_()
    own, output = trace.alpha.unsqueeze(1), trace.probabilities.unsqueeze(1)
    optimiser = torch.optim.Adam([scores], lr=learning_rate, amsgrad=True)
    chosen, best, change = trace.alpha, torch.zeros_like(trace.alpha[:, 0]), torch.zeros_like(trace.alpha[:, 0])
    with measuring(grad=True):
        for step in range(steps + 1):
            alpha = softmax(scores, allowed)
            apart = tvd(with_attention(trace, alpha).softmax(-1), output)
            far = jsd(alpha, own)
            near, one = far.detach().masked_fill(apart > epsilon, -1.0).max(1)
            better, at = near > best, (torch.arange(len(one), device=one.device), one)
            chosen = torch.where(better.unsqueeze(-1), alpha.detach()[at], chosen)
            change = torch.where(better, apart.detach()[at], change)
            best = torch.where(better, near, best)
            if step < steps:
                loss = 500 * (apart - epsilon).relu() - far - _spread(alpha)
                optimiser.zero_grad()
                loss.sum().backward()
                optimiser.step()
    return chosen.to(dtype), best.to(dtype), change.to(dtype)


def _starts(mask: Tensor, restarts: int, seed: int, rows: Sequence[int] | None) -> Tensor:
    """(B, restarts, T) float64: 3 N(0, 1) at attended positions, drawn for each text alone."""
    out = torch.zeros(len(mask), restarts, mask.shape[1], dtype=torch.float64)
    for b, row in enumerate(range(len(mask)) if rows is None else rows):
        places = mask[b].nonzero().squeeze(1).cpu()
        drawn = np.random.default_rng([seed, int(row)]).standard_normal((len(places), restarts))
        out[b][:, places] = 3 * torch.from_numpy(drawn).T
    return out


def _spread(alpha: Tensor) -> Tensor:
    """(B, K): mean JSD of each of K distributions to the others; zero for one alone."""
    k = alpha.shape[1]
    if k == 1:
        return torch.zeros_like(alpha[..., 0])
    return jsd(alpha.unsqueeze(2), alpha.unsqueeze(1)).sum(2) / (k - 1)


def _detached(trace: Trace) -> Trace:
    """The trace without its graph; in float64 where the decoder is linear: rounding must not steer the search."""
    found = {f.name: getattr(trace, f.name) for f in fields(trace)}
    found = {name: value.detach() for name, value in found.items() if isinstance(value, Tensor)}
    if trace.linear:
        found = {name: value.double() if value.is_floating_point() else value for name, value in found.items()}
    return replace(trace, **found)


@measuring()
def _targets(fitted: Fitted, examples: Sequence[Example]) -> tuple[Tensor, list[np.ndarray]]:
    """Outputs (n, C) and, for each text, attention over its positions up to the last attended one."""
    outputs = torch.empty(len(examples), len(fitted.classes), dtype=torch.float64)
    weights: list[np.ndarray] = [np.empty(0)] * len(examples)
    for batch, trace in fitted.traces(examples):
        outputs[batch.rows.cpu()] = trace.probabilities.double().cpu()
        alpha = trace.alpha.double().cpu().numpy()
        for k, (row, length) in enumerate(zip(batch.rows.tolist(), batch.lengths.tolist(), strict=True)):
            weights[row] = alpha[k, :length]
    return outputs, weights


def _padded(weights: list[np.ndarray], like: Tensor) -> Tensor:
    out = np.zeros(tuple(like.shape))
    for k, values in enumerate(weights):
        out[k, : len(values)] = values
    return torch.from_numpy(out).to(like)
