"""What every importance method shares: the registry, the Spec of a method, and the Case it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from attnlib.data.batching import Batch
from attnlib.engine.explainable import Answers, Explainable
from attnlib.hf.network import per_word
from attnlib.models.trace import Trace
from attnlib.utils.registry import Registry

Run = Callable[..., Tensor] | None
LEVELS = ("input", "hidden")
TARGETS = ("logit", "probability")


@dataclass(frozen=True)
class Spec:
    """A method: what it is called, where it applies, what it needs.

    levels   of `input` and `hidden`;  quirks: the authors' deviations it can reproduce
    needs    `trace` (one forward pass), `gradient` (one backward pass), `variants` (answers to changed texts),
             `self-attention` (a transformer inside)
    run, hf  what computes it for a model of attnlib and for a Hugging Face classifier; None: it does not apply
    target   what it explains unless told otherwise: the predicted class's logit or probability; None: neither
    graph    whether it reads gradients off a trace that kept its graph, instead of running the model again
    """

    name: str
    levels: tuple[str, ...]
    summary: str
    needs: str
    run: Run
    hf: Run = None
    target: str | None = None
    quirks: tuple[str, ...] = ()
    graph: bool = False
    options: tuple[str, ...] = ()

    @property
    def models(self) -> str:
        """Which models it applies to, in words."""
        inside = "attnlib models with a transformer inside" if self.needs == "self-attention" else "attnlib models"
        return " and ".join(
            [inside] * (self.run is not None) + ["Hugging Face classifiers"] * (self.hf is not None)
        )


METHODS: Registry[Spec] = Registry("importance method")


@dataclass
class Case:
    """One traced batch to score. Methods return (B, T) scores; those at `units` count."""

    fitted: Explainable
    batch: Batch
    trace: Answers
    level: str
    target: str | None
    seed: int
    quirks: frozenset[str] = frozenset()

    @property
    def model(self) -> nn.Module:
        return self.fitted.model

    @property
    def at_once(self) -> int:
        """Positions of a pass that keeps its graph. On a CPU few, so that the graph stays in the cache."""
        ours = 2_048 if self.batch.ids.device.type == "cpu" else 16_384
        return ours if isinstance(self.trace, Trace) else 1_024

    @property
    def flat(self) -> bool:
        """Whether the units are those of the final attention layer: always, but for the words of a HAN."""
        return self.level == "hidden" or self.trace.words is None

    @property
    def units(self) -> Tensor:
        """(B, T) bool: the positions that get a number."""
        return self.batch.content if self.level == "input" else self.trace.mask

    def cut(self, texts: Tensor) -> Batch:
        """Some texts of the batch, rows may repeat, without the padding that none of them needs."""
        batch = self.batch.select(texts)
        whole = not isinstance(self.trace, Trace) or self.trace.words is not None
        return batch if whole else batch.until(int(batch.lengths.max()))

    def explained(self, logits: Tensor, texts: Tensor | slice = slice(None)) -> Tensor:
        """The explained number of logits (B, ..., C): the predicted class's logit or probability, (B, ...)."""
        predicted = self.trace.prediction[texts]
        values = logits.softmax(-1) if self.target == "probability" else logits
        index = predicted.reshape(-1, *[1] * (logits.dim() - 1)).expand(*logits.shape[:-1], 1)
        return values.gather(-1, index).squeeze(-1)


def method(
    *,
    summary: str | None = None,
    levels: tuple[str, ...] = LEVELS,
    needs: str = "trace",
    models: str = "attnlib",
    **more,
) -> Callable:
    """Decorator: register a function `(case, **options) -> (B, T)` as an importance method of its name; see `Spec`.

    summary  default: the first line of the function's docstring
    models   whose: `attnlib`, `hf`, `both`; `pieces` (both) and `hf pieces`: those of Hugging Face piece by piece,
             summed to words
    """

    def add(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
        name, said = run.__name__, summary or inspect.getdoc(run).splitlines()[0]
        options = tuple(p for p in inspect.signature(run).parameters if p != "case")
        own = None if models.startswith("hf") else run
        other = _by_pieces(run) if models.endswith("pieces") else None if models == "attnlib" else run
        METHODS.register(name)(Spec(name, levels, said, needs, own, other, options=options, **more))
        return run

    return add


def _by_pieces(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A method that scores pieces, for the words of a Hugging Face classifier."""

    def summed(case: Case, **options) -> Tensor:
        pieces = case.batch.pieces
        trace = replace(case.trace, mask=pieces.content, batch=pieces)
        return per_word(run(replace(case, batch=pieces, trace=trace, level="input"), **options), case.batch)

    return summed


def has_self_attention(model: nn.Module) -> bool:
    """Whether a model of attnlib is flat and its encoder shows what its words look at."""
    return hasattr(getattr(model, "encoder", None), "self_attention")


def normalised(scores: Tensor, units: Tensor) -> Tensor:
    """Non-negative scores divided by their sum over the units; a text of zeros keeps its zeros."""
    scores = scores.masked_fill(~units, 0.0)
    total = scores.sum(1, keepdim=True)
    return scores / torch.where(total > 0, total, 1.0)


def pieces(texts: int, positions_each: int, most: int = 16_384) -> Iterator[slice]:
    """Slices of the texts of a batch with at most `most` positions each, so that graphs stay small."""
    step = max(1, most // max(1, positions_each))
    for start in range(0, texts, step):
        yield slice(start, min(start + step, texts))
