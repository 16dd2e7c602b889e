"""The slow definitions: one text, one variant, one forward pass at a time, in plain Python.

Written to be obviously right, and without a line of the engine: erased texts are built from lists, every answer is
a forward pass of the model on a batch of one. Only the conventions are shared: equal scores keep the order of the
text, and where nothing is left the context is the zero vector.
"""

from __future__ import annotations

import numpy as np
import torch

from attnlib.data.batching import Batch


def single(fitted, example) -> Batch:
    """The text as a batch of one."""
    return fitted.vectoriser.batch(fitted.vectoriser.encode([example]))


def content(fitted, example) -> list[int]:
    """Positions that count, in order."""
    return [i for i, c in enumerate(single(fitted, example).content[0].tolist()) if c]


def logits(fitted, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        return fitted.model(batch).logits[0].double()


def traced(fitted, example):
    with torch.no_grad():
        return fitted.model(single(fitted, example))


def nothing_left(fitted, example) -> torch.Tensor:
    with torch.no_grad():
        trace = traced(fitted, example)
        return trace.decode(torch.zeros_like(trace.context))[0].double()


def without(fitted, example, removed: set[int], operator: str) -> torch.Tensor:
    """Logits of the text with the content positions `removed` taken out of the input."""
    batch = single(fitted, example)
    left = [i for i in content(fitted, example) if i not in removed]
    if not left and operator in ("pad", "delete"):
        return nothing_left(fitted, example)
    ids, mask = batch.ids[0].tolist(), batch.mask[0].tolist()
    attended, words = batch.content[0].tolist(), batch.words[0].tolist()
    sentences = None if batch.sentences is None else batch.sentences[0].tolist()
    if operator == "delete":
        kept = [i for i in range(len(ids)) if i not in removed]
        ids, mask, attended, words = ([x[i] for i in kept] for x in (ids, mask, attended, words))
        if sentences is not None:
            numbers = sorted({sentences[i] for i in kept})
            sentences = [numbers.index(sentences[i]) for i in kept]
    else:
        token = {
            "pad": fitted.vectoriser.pad_id,
            "unk": fitted.vectoriser.unk_id,
            "mask": fitted.vectoriser.mask_id,
        }[operator]
        for i in removed:
            ids[i] = token
            if operator == "pad":
                attended[i] = False
                mask[i] = fitted.model_config.encoder not in ("transformer", "bert")
    erased = Batch(
        ids=torch.tensor([ids]),
        mask=torch.tensor([mask]),
        content=torch.tensor([attended]),
        words=torch.tensor([words]),
        rows=torch.tensor([0]),
        query=batch.query,
        query_mask=batch.query_mask,
        sentences=None if sentences is None else torch.tensor([sentences]),
    )
    return logits(fitted, erased)


def reweighed(trace, removed: set[int], reproject: bool = False) -> torch.Tensor:
    """Logits with the attention weights at `removed` (indices into units) zeroed and the rest renormalised.

    trace: that of a batch of one.
    """
    with torch.no_grad():
        alpha = weights_without(trace, removed, reproject)
        weights = alpha if trace.scale is None else alpha * trace.scale
        context = sum(w * h for w, h in zip(weights[0], trace.hidden[0], strict=True))
        return trace.decode(context.unsqueeze(0))[0].double()


def weights_without(trace, removed: set[int], reproject: bool = False) -> torch.Tensor:
    """(1, T) attention weights without the units `removed`: they sum to one, or to zero where none is left."""
    units = trace.mask[0].nonzero().squeeze(1).tolist()
    gone = [units[i] for i in removed]
    if reproject:
        kept = trace.mask.clone()
        kept[0, gone] = False
        return trace.project(trace.scores, kept) if kept.any() else torch.zeros_like(trace.alpha)
    alpha = trace.alpha.clone()
    alpha[0, gone] = 0.0
    return alpha / alpha.sum() if alpha.sum() > 0 else alpha


def emptied(fitted, example, scores) -> list[bool]:
    """Whether no weight is left once the k top units are removed, k = 0, 1, …, n."""
    ranked, trace = order(scores), traced(fitted, example)
    steps = [weights_without(trace, set(ranked[:k])) for k in range(len(ranked) + 1)]
    return [float(weights.sum()) == 0 for weights in steps]


def order(scores: np.ndarray) -> list[int]:
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def curve(fitted, example, scores, level: str, operator: str = "pad", reproject: bool = False) -> torch.Tensor:
    """(n + 1, C) logits with the k top units removed, one pass each."""
    ranked = order(scores)
    out = [logits(fitted, single(fitted, example))]
    where = None if level == "attention" else content(fitted, example)
    trace = traced(fitted, example)
    for k in range(1, len(ranked) + 1):
        if level == "attention":
            out.append(reweighed(trace, set(ranked[:k]), reproject))
        else:
            out.append(without(fitted, example, {where[i] for i in ranked[:k]}, operator))
    return torch.stack(out)


def first_flip(curve: torch.Tensor) -> int:
    """Removals at the first change of decision, 0 if none."""
    answers = curve.argmax(-1).tolist()
    for k in range(1, len(answers)):
        if answers[k] != answers[0]:
            return k
    return 0


def omissions(fitted, example, operator: str) -> np.ndarray:
    """p(ŷ | x) - p(ŷ | x without x_i) for every content position."""
    whole = logits(fitted, single(fitted, example))
    k = int(whole.argmax())
    p = whole.softmax(-1)[k]
    values = []
    for i in content(fitted, example):
        values.append(float(p - without(fitted, example, {i}, operator).softmax(-1)[k]))
    return np.array(values)
