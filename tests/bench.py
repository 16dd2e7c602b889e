"""Speed, as ratios of processor time: the engine against its own generic path, against Captum, and against a loop
as the papers' code has it. `python -m tests.bench` runs every benchmark, `python -m tests.bench input` one.

A shortcut of the engine stays if it is 1.5 times as fast as the generic path on a shape that the studies run: word
vectors of 50 numbers and 64 hidden units (profile cpu), of 300 and 128 (profile paper). Texts are planted ones of
given length, the models trained on such: how early decisions flip matters at the input level.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.engine import attention, jacobian, orders
from attnlib.engine.select import input_eraser
from attnlib.rankings.scores import importance
from attnlib.training.fit import fit

CPU, PAPER = (50, 64), (300, 128)
"""Widths of word vectors and encoder."""
WORTH = 1.5
STEPS = 20
"""Steps of a loop that are run at most: each costs the same, so that some tell of all."""
WIDTHS = (60, 44, 9, 9, 8, 11)


@dataclass(frozen=True)
class Row:
    """ours, baseline: median seconds of processor time; ratio: of the two; goal: the ratio asked for, if any."""

    what: str
    setting: str
    ours: float
    baseline: float
    ratio: float
    goal: float = 0.0

    @property
    def reached(self) -> bool:
        return self.ratio >= self.goal

    def __str__(self) -> str:
        goal = "" if not self.goal else f"{self.goal:g}" + ("" if self.reached else " missed")
        seconds = (f"{self.ours:.3g} s", f"{self.baseline:.3g} s")
        return line(self.what, self.setting, *seconds, f"{self.ratio:.2f}", goal)


def line(*cells: str) -> str:
    """Cells in columns of fixed width, since later rows are not known yet."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def compare(
    what: str,
    setting: str,
    ours: Callable[[], object],
    baseline: Callable[[], object],
    *,
    goal: float = 0.0,
    repeats: int = 3,
    work: float = 1.0,
) -> Row:
    """Time both ways in turn, so that whatever else the machine does hits both; medians of `repeats`.

    work  how many times as much as the baseline ours gets done (texts, say): the ratio is of work per second
    """
    ours(), baseline()  # the first call pays for imports and caches
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for way, found in zip((ours, baseline), times, strict=True):
            found.append(seconds(way))
    mine, plain = (statistics.median(found) for found in times)
    ratio = statistics.median(b / o for o, b in zip(*times, strict=True)) * work
    return Row(what, setting, mine, plain, ratio, goal)


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call: what else the machine does counts less than on the clock."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


@cache
def texts(length: int, n: int):
    """A corpus of texts of about so many words (short ones as unlike as those of SST), and n of its test texts."""
    shortest, longest = (length // 2, length * 3 // 2) if length < 50 else (length * 9 // 10, length * 11 // 10)
    train = max(40, 8000 // length)
    corpus = load_corpus("planted", n_train=train, n_dev=20, n_test=n, shortest=shortest, longest=longest, seed=1)
    return corpus, list(corpus.test)


@cache
def traced(encoder: str, length: int, n: int, widths: tuple[int, int] = PAPER):
    """A model, a batch of all its test texts, their trace, and the order of their attention weights."""
    torch.set_num_threads(1)
    corpus, some = texts(length, n)
    config = ModelConfig(encoder=encoder, embedding_size=widths[0], hidden_size=widths[1])
    fitted = fit(corpus, config, TrainConfig(epochs=2, device="cpu"), seed=0)
    batch = next(iter(fitted.vectoriser.batches(some, n, labels=False, max_tokens=10**9)))
    with torch.no_grad():
        trace = fitted.model(batch)
    return fitted, batch, trace, orders.descending(trace.alpha, batch.content)


def attention_level() -> Iterator[Row]:
    """All prefixes of a ranking by closed form, against a pass of the decoder for every removal."""
    for length, n in ((20, 512), (150, 128), (400, 64)):
        _, _, trace, order = traced("lstm", length, n)
        every = int(trace.lengths.max())
        some = range(0, every, -(-every // STEPS))
        ours, slow = partial(first_flips_of_weights, trace, order), partial(serrano_smith_loop, trace, order, some)
        what = "first flips, attention level, vs Serrano & Smith's loop"
        yield compare(what, f"T = {length}, {n} texts", ours, slow, work=every / len(some))


@torch.no_grad()
def first_flips_of_weights(trace, order):
    return orders.from_table(attention.prefix_logits(trace, order), trace.prediction, trace.lengths)


@torch.no_grad()
def serrano_smith_loop(trace, order, some: Iterable[int]) -> torch.Tensor:
    """As their code does: removal k of a whole batch at once, for every k."""
    alpha = trace.alpha.clone()
    first = torch.zeros(len(alpha), dtype=torch.long)
    for k in some:
        alpha.scatter_(1, order[:, : k + 1], 0.0)
        mass = alpha.sum(1, keepdim=True)
        context = ((alpha / mass.clamp_min(1e-30)).unsqueeze(-1) * trace.hidden).sum(1)
        flipped = (trace.decode(context).argmax(-1) != trace.prediction) & (k < trace.lengths) & (first == 0)
        first[flipped] = k + 1
    return first


def input_level() -> Iterator[Row]:
    """Shortcuts against the generic path: variants as rows of a batch, as every other model is run."""
    ways = {
        "first flips": lambda eraser, order: orders.first_flips(eraser, order, eraser.trace.prediction),
        "every word left out": lambda eraser, _: eraser.singles(),
    }
    for encoder in ("mlp", "cnn"):
        for widths, length, n in ((CPU, 20, 128), (PAPER, 20, 64), (PAPER, 150, 8)):
            *made, order = traced(encoder, length, n, widths)
            for what, way in ways.items():

                @torch.no_grad()
                def run(*, generic: bool, way=way, made=tuple(made), order=order):
                    way(input_eraser(*made, "pad", generic=generic), order)

                setting = f"{widths[0]} to {widths[1]}, T = {length}, {n} texts"
                ours, slow = partial(run, generic=False), partial(run, generic=True)
                yield compare(f"{what}, {encoder}, vs the generic path", setting, ours, slow, goal=WORTH)


def influence() -> Iterator[Row]:
    """The gradient of every state's norm at every input, against its definition."""
    for encoder in ("lstm", "gru"):
        for widths, length, n in ((CPU, 20, 16), (PAPER, 180, 2)):
            fitted, batch, _, _ = traced(encoder, length, n, widths)
            what = f"influence on states, {encoder}, vs the generic path"
            setting = f"{widths[0]} to {widths[1]}, T = {length}, {n} texts"
            ours = partial(jacobian.influence, fitted.model, batch)
            slow = partial(jacobian.by_loop, fitted.model, fitted.model.embed(batch), batch.mask)
            yield compare(what, setting, ours, slow, goal=WORTH, repeats=2)


def against_captum() -> Iterator[Row]:
    """Where Captum has the method. Both start from the texts and end in an array per text; Captum is told the class
    that ours has to predict."""
    from captum.attr import FeatureAblation, IntegratedGradients

    path = {"n_steps": 50, "method": "riemann_middle", "internal_batch_size": 100}
    for length, n in ((20, 32), (150, 4), (400, 2)):
        fitted, _, trace, _ = traced("lstm", length, n)
        some, setting = texts(length, n)[1], f"lstm, T = {length}, {n} texts"
        ours = partial(importance, fitted, some, "integrated_gradients", tolerance=None)
        theirs = partial(attributed, fitted, some, trace.prediction, IntegratedGradients, **path)
        yield compare("integrated gradients, 50 steps, vs Captum", setting, ours, theirs, goal=1, repeats=2)
        ours = partial(importance, fitted, some, "omission")
        theirs = partial(ablated, fitted, some, trace.prediction, FeatureAblation)
        yield compare("leave one out vs Captum's FeatureAblation", setting, ours, theirs, goal=1, repeats=1)


def attributed(fitted, some, target, explainer, **options):
    """What a method of Captum says of texts: an array per text with a number per word, as ours does."""
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode(some))
    embedded = fitted.model.embed(batch).detach().requires_grad_()
    found = explainer(partial(logits, fitted, batch)).attribute(embedded, target=target, **options)
    scores = found.detach().sum(-1).double().numpy()
    return [row[:n] for row, n in zip(scores, batch.lengths.tolist(), strict=True)]


@torch.no_grad()
def ablated(fitted, some, target, explainer):
    """The same for the removal of one word at a time."""
    width = fitted.model.embedding.embedding_dim
    words = torch.arange(max(map(len, some))).reshape(1, -1, 1).expand(1, -1, width)
    return attributed(fitted, some, target, explainer, feature_mask=words, perturbations_per_eval=8)


def logits(fitted, batch, embedded):
    """Logits of embeddings that Captum stacked, copies of the batch one after the other."""
    rows = torch.arange(len(embedded)) % len(batch)
    return fitted.model(batch.select(rows), embedded=embedded).logits


BENCHES: dict[str, Callable[[], Iterable[Row]]] = {
    "attention": attention_level,
    "input": input_level,
    "jacobian": influence,
    "captum": against_captum,
}


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Ratios of processor time.")
    parser.add_argument("names", nargs="*", help=f"benchmarks to run, of {', '.join(BENCHES)}; all by default")
    names = parser.parse_args(arguments).names or list(BENCHES)
    if unknown := [name for name in names if name not in BENCHES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    reached = True
    print(line("what", "setting", "ours", "baseline", "ratio", "goal"))
    for name in names:
        for row in BENCHES[name]():
            print(row, flush=True)
            reached &= row.reached
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
