r"""What a model predicts: as it is, with its attention replaced, and from each token alone.

No encoder runs again: new weights multiply the hidden states (for a linear decoder, the token logits) of one Trace.
With all attention on token t the output is p_t (Tutek & Šnajder 2020, eq. 9).

.. math:: z = b + \sum_t \alpha_t s_t v_t = \sum_t \alpha_t (b + s_t v_t), \qquad
          p_t = \mathrm{softmax}(b + s_t v_t)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attnlib import stats
from attnlib.data.batching import Batch
from attnlib.data.types import Example
from attnlib.engine.explainable import Explainable
from attnlib.hf import network as inside
from attnlib.hf.classifier import HFClassifier
from attnlib.models.trace import Trace
from attnlib.stats.divergences import torch_tvd as tvd
from attnlib.training.fitted import Fitted, Text
from attnlib.utils.device import measuring
from attnlib.utils.errors import one_of


def decisions(fitted: Fitted, examples: Sequence[Example]) -> pd.DataFrame:
    """One row per text: `instance` (its id), `truth`, `prediction`, and `value`, 1 where the two agree."""
    truth = [fitted.classes[example.label] for example in examples]
    told = {"instance": [example.id for example in examples], "truth": truth}
    found = pd.DataFrame(told | {"prediction": list(fitted.predict(examples).labels)})
    return found.assign(value=(found["truth"] == found["prediction"]).astype(float))


def with_attention(trace: Trace, alpha: Tensor) -> Tensor:
    r"""Logits under other attention weights, :math:`z = W \sum_i \alpha'_i s_i h_i + b`.

    alpha (B, ..., T): any number of distributions per text -> (B, ..., C). TaSc's scale s stays as it is.
    """
    weights = alpha
    if trace.scale is not None:
        weights = alpha * trace.scale.reshape(len(alpha), *[1] * (alpha.dim() - 2), -1)
    values = trace.token_logits if trace.linear else trace.hidden
    mixed = torch.einsum("b...t,btk->b...k", weights.to(values.dtype), values)
    return mixed + trace.bias if trace.linear else trace.decode(mixed)


def uniform(mask: Tensor) -> Tensor:
    """(B, T): 1 / length at every attended position; all zero for a text without one."""
    return mask / mask.sum(-1, keepdim=True).clamp_min(1)


def permuted(alpha: Tensor, mask: Tensor, draws: int, *, seed: int, rows: Sequence[int] | None = None) -> Tensor:
    """(B, draws, T): weights shuffled over attended positions, by `seed` and `rows` (default: 0, 1, …)."""
    allowed = mask.cpu().numpy()
    order = np.tile(np.arange(mask.shape[1]), (len(allowed), draws, 1))
    for b, row in enumerate(range(len(allowed)) if rows is None else rows):
        positions = np.flatnonzero(allowed[b])
        keys = np.random.default_rng([seed, int(row)]).random((draws, len(positions)))
        order[b][:, positions] = positions[keys.argsort(-1)]
    spread = alpha.unsqueeze(1).expand(-1, draws, -1)
    return spread.gather(-1, torch.from_numpy(order).to(alpha.device))


def swap_attention(
    model: Explainable, texts: Iterable[Text], swap: str, *, seed: int = 0, batch_size: int = 256
) -> np.ndarray:
    """(n, C) logits with the attention replaced: `uniform`, `permuted` (one draw per text) or `zeroed`.

    In a model of attnlib the one pooling attention is replaced, in a Hugging Face classifier that of every layer,
    head and query over the keys it may look at: the two kinds of model do not compare.
    """
    one_of("swap", swap, ("uniform", "permuted", "zeroed"))
    examples = model.examples(texts)
    logits = np.empty((len(examples), len(model.classes)))
    way = _swapped_inside if isinstance(model, HFClassifier) else _swapped
    with measuring():
        for rows, values in way(model, examples, swap, seed, batch_size):
            logits[rows] = values.double().cpu().numpy()
    return logits


def _swapped(model, examples: Sequence[Example], swap: str, seed: int, size: int) -> Iterator[tuple[list, Tensor]]:
    """Numbers of texts and their logits, the pooling attention replaced."""
    for batch, trace in model.traces(examples, size):
        rows = batch.rows.tolist()
        if swap == "permuted":
            alpha = permuted(trace.alpha, trace.mask, 1, seed=seed, rows=rows).squeeze(1)
        else:
            alpha = uniform(trace.mask) if swap == "uniform" else torch.zeros_like(trace.alpha)
        yield rows, with_attention(trace, alpha)


def _swapped_inside(
    model: HFClassifier, examples: Sequence[Example], swap: str, seed: int, size: int
) -> Iterator[tuple[list, Tensor]]:
    """The same with the attention replaced in every layer."""
    network = model.model
    for batch in model.vectoriser.batches(examples, size):
        for _, pieces in network.slices(batch.pieces.to(model.device)):
            rows, lengths = pieces.rows.tolist(), pieces.mask.sum(1).tolist()
            new = {
                "uniform": lambda layer: uniform(layer.allowed),
                "zeroed": lambda layer: torch.zeros_like(layer.weights),
                "permuted": inside.permuted(seed, rows, lengths),
            }[swap]
            with inside.watching(network.network, inside.Watch(new)):
                yield rows, network(pieces).logits


@measuring()
def attention_swaps(
    fitted: Fitted, examples: Sequence[Example], *, permutations: int = 10, seed: int = 0, batch_size: int = 256
) -> pd.DataFrame:
    """Predictions with trained, uniform and permuted attention (Tutek & Šnajder 2020, Table 1), one row per text
    and draw; `change` is the total variation distance to the trained output."""
    pieces = []
    for batch, trace in fitted.traces(examples, batch_size):
        swaps = {
            "trained": trace.alpha.unsqueeze(1),
            "uniform": uniform(trace.mask).unsqueeze(1),
            "permuted": permuted(trace.alpha, trace.mask, permutations, seed=seed, rows=batch.rows.tolist()),
        }
        for swap, alpha in swaps.items():
            p = with_attention(trace, alpha).softmax(-1)
            draws = p.shape[1]
            columns = {
                "draw": torch.arange(draws, device=p.device).expand(p.shape[:2]),
                "prediction": p.argmax(-1),
                "change": tvd(p, trace.probabilities.unsqueeze(1)),
            }
            flat = {name: column.flatten().cpu().numpy() for name, column in columns.items()}
            texts = _texts(batch, trace, examples)
            pieces.append(texts.loc[texts.index.repeat(draws)].assign(swap=swap, **flat))
    return pd.concat(pieces).sort_values(["swap", "instance", "draw"], ignore_index=True)


def _texts(batch: Batch, trace: Trace, examples: Sequence[Example]) -> pd.DataFrame:
    """The texts of a batch: id, instance, length, label."""
    rows = batch.rows.cpu().numpy()
    told = {"id": [examples[i].id for i in rows], "instance": rows, "length": trace.lengths.cpu().numpy()}
    return pd.DataFrame(told | {"label": [examples[i].label for i in rows]})


def token_probabilities(trace: Trace) -> Tensor:
    """(B, T, C): class probabilities with all attention on one position; meaningless where masked."""
    alone = trace.hidden if trace.scale is None else trace.hidden * trace.scale.unsqueeze(-1)
    return trace.decode(alone).softmax(-1)


@measuring()
def token_table(fitted: Fitted, examples: Sequence[Example], *, batch_size: int = 256) -> pd.DataFrame:
    """One row per text, in the order given.

    id, instance, length, label, prediction; token_probability: mean over tokens of p_t of the predicted class (the
    paper's Table 3 averages it over correctly classified texts); entropy: that of the attention weights over its
    maximum ln T, NaN for a single token
    """
    frames = []
    for batch, trace in fitted.traces(examples, batch_size):
        picked = trace.prediction.view(-1, 1, 1).expand(-1, trace.mask.shape[1], 1)
        alone = token_probabilities(trace).gather(-1, picked).squeeze(-1)
        mean = alone.double().masked_fill(~trace.mask, 0.0).sum(1) / trace.lengths.clamp_min(1)
        frames.append(
            _texts(batch, trace, examples).assign(
                prediction=trace.prediction.cpu().numpy(),
                token_probability=np.where(trace.lengths.cpu() > 0, mean.cpu(), np.nan),
                entropy=stats.normalized_entropy(trace.alpha.double().cpu(), trace.mask.cpu()),
            )
        )
    return pd.concat(frames).sort_values("instance", ignore_index=True)
