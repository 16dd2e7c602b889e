"""Speed, as ratios of processor time: the engine against its own generic path, loops as the papers' code runs them,
and Captum. `python -m tests.bench` runs every benchmark, `python -m tests.bench input` some.

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
from attnlib.utils.errors import UnknownName
from attnlib.utils.registry import Registry

Bench = Callable[[], Iterable["Row"]]
BENCHES: Registry[Bench] = Registry("benchmark")
bench = BENCHES.register
CPU, PAPER = (50, 64), (300, 128)
"""Widths of word vectors and encoder."""
WORTH = 1.5
STEPS = 20
"""Steps of a loop that are run at most: each costs the same, so that some tell of all."""
HEADER = ("what", "setting", "ours", "baseline", "ratio", "goal")
WIDTHS = (60, 44, 9, 9, 8, 11)


@dataclass(frozen=True)
class Row:
    """ours, baseline: median seconds of processor time; ratio: of the two; goal: the ratio asked for, if any."""

    what: str
    setting: str
    ours: float
    baseline: float
    ratio: float
    goal: float | None = None

    @property
    def reached(self) -> bool:
        return self.goal is None or self.ratio >= self.goal


def compare(
    what: str,
    setting: str,
    ours: Callable[[], object],
    baseline: Callable[[], object],
    *,
    goal: float | None = None,
    repeats: int = 3,
    work: tuple[float, float] = (1.0, 1.0),
) -> Row:
    """Time both ways in turn, so that whatever else the machine does hits both; medians of `repeats`.

    work  what either call gets done (tokens, say), where it is not the same: the ratio is of work a second
    """
    ours(), baseline()  # the first call pays for imports and caches
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for way, found in zip((ours, baseline), times, strict=True):
            found.append(seconds(way))
    mine, plain = (statistics.median(found) for found in times)
    ratio = statistics.median(b / o for o, b in zip(*times, strict=True)) * work[0] / work[1]
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
def trained(encoder: str, widths: tuple[int, int], length: int, n: int):
    sizes = {"embedding_size": widths[0], "hidden_size": widths[1], "layers": 1 + (encoder == "transformer")}
    config = TrainConfig(epochs=2, device="cpu")
    return fit(texts(length, n)[0], ModelConfig(encoder=encoder, **sizes), config, seed=0)


def traced(encoder: str, length: int, n: int, widths: tuple[int, int] = PAPER):
    """A model, a batch of all its test texts, their trace, and the order of their attention weights."""
    torch.set_num_threads(1)
    fitted = trained(encoder, widths, length, n)
    batch = next(iter(fitted.vectoriser.batches(texts(length, n)[1], n, labels=False, max_tokens=10**9)))
    with torch.no_grad():
        trace = fitted.model(batch)
    return fitted, batch, trace, orders.descending(trace.alpha, batch.content)


@bench("attention")
def attention_level() -> Iterator[Row]:
    """All prefixes of a ranking by closed form; 5 % of a forward pass is a ratio of 20."""
    for length, n, few, goals in ((20, 512, 64, (35, 15)), (150, 128, 4, (None, None)), (400, 64, 2, (250, 500))):
        fitted, batch, trace, order = traced("lstm", length, n)
        ours = partial(first_flips_of_weights, trace, order)
        what, setting = "first flips, attention level,", f"T = {length}, {n} texts"
        slow = partial(instance_loop, trace, order, few)
        yield compare(f"{what} vs a text and a step at a time", setting, ours, slow, goal=goals[0], work=(n, few))
        every = int(trace.lengths.max())
        some = range(0, every, -(-every // STEPS))
        slow, work = partial(step_loop, trace, order, some), (every, len(some))
        yield compare(f"{what} vs Serrano & Smith's loop", setting, ours, slow, goal=goals[1], work=work)
        yield compare(f"{what} vs a BiLSTM's pass", setting, ours, partial(forward, fitted, batch), goal=20)


def first_flips_of_weights(trace, order):
    with torch.no_grad():
        return orders.from_table(attention.prefix_logits(trace, order), trace.prediction, trace.lengths)


def forward(fitted, batch):
    with torch.no_grad():
        return fitted.model(batch)


@torch.no_grad()
def instance_loop(trace, order, n: int) -> list[int]:
    """One variant of one text at a time."""
    found = []
    for b in range(n):
        alpha, hidden, length = trace.alpha[b].clone(), trace.hidden[b], int(trace.lengths[b])
        decision, first = int(trace.prediction[b]), 0
        for k in range(length):
            alpha[order[b, k]] = 0.0
            mass = alpha.sum()
            context = (alpha / mass if mass > 0 else alpha) @ hidden
            if int(trace.decode(context.unsqueeze(0)).argmax()) != decision:
                first = k + 1
                break
        found.append(first)
    return found


@torch.no_grad()
def step_loop(trace, order, some: Iterable[int]) -> torch.Tensor:
    """Removal k of a whole batch at once, for every k."""
    alpha = trace.alpha.clone()
    first = torch.zeros(len(alpha), dtype=torch.long)
    for k in some:
        alpha.scatter_(1, order[:, : k + 1], 0.0)
        mass = alpha.sum(1, keepdim=True)
        context = ((alpha / mass.clamp_min(1e-30)).unsqueeze(-1) * trace.hidden).sum(1)
        flipped = (trace.decode(context).argmax(-1) != trace.prediction) & (k < trace.lengths) & (first == 0)
        first[flipped] = k + 1
    return first


@bench("input")
def input_level() -> Iterator[Row]:
    """Shortcuts against variants as rows of a batch, the path of every other model."""
    ways = {
        "first flips": (lambda eraser, order: orders.first_flips(eraser, order, eraser.trace.prediction), "pad"),
        "every word left out": (lambda eraser, _: eraser.singles(), "pad"),
    }
    for encoder in ("mlp", "cnn"):
        for widths, length, n in ((CPU, 20, 128), (PAPER, 20, 64), (PAPER, 150, 8)):
            fitted, batch, trace, order = traced(encoder, length, n, widths)
            for what, (way, operator) in ways.items():

                def run(*, generic: bool, way=way, operator=operator, made=(fitted, batch, trace), order=order):
                    with torch.no_grad():
                        way(input_eraser(*made, operator, generic=generic), order)

                yield compare(
                    f"{what}, {encoder}, vs the generic path",
                    f"{widths[0]} to {widths[1]}, T = {length}, {n} texts, {operator}",
                    partial(run, generic=False),
                    partial(run, generic=True),
                    goal=WORTH,
                )


@bench("jacobian")
def influence() -> Iterator[Row]:
    """The gradient of every state's norm at every input."""
    sizes = ((CPU, 20, 16), (PAPER, 180, 2))
    for encoder in ("lstm", "gru"):
        for widths, length, n in sizes:
            fitted, batch, _, _ = traced(encoder, length, n, widths)
            yield compare(
                f"influence on states, {encoder}, vs a backward pass per position",
                f"{widths[0]} to {widths[1]}, T = {length}, {n} texts",
                partial(jacobian.influence, fitted.model, batch),
                partial(jacobian.by_loop, fitted.model, fitted.model.embed(batch), batch.mask),
                goal=WORTH,
                repeats=2,
            )


@bench("captum")
def against_captum() -> Iterator[Row]:
    """Where Captum has the method. Both start from the texts and end in an array per text; Captum is told the class
    that ours has to predict."""
    from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients

    for length, n in ((20, 32), (150, 4), (400, 2)):
        fitted, _, trace, _ = traced("lstm", length, n)
        some, setting = texts(length, n)[1], f"lstm, T = {length}, {n} texts"
        path = {"n_steps": 50, "method": "riemann_middle", "internal_batch_size": 100}
        theirs = partial(attributed, fitted, some, trace.prediction)
        yield compare(
            "integrated gradients, 50 steps, vs Captum",
            setting,
            partial(importance, fitted, some, "integrated_gradients", tolerance=None),
            partial(theirs, IntegratedGradients, **path),
            goal=1,
            repeats=2,
        )
        yield compare(
            "input × gradient vs Captum",
            setting,
            partial(importance, fitted, some, "input_x_grad"),
            partial(theirs, InputXGradient),
            goal=1,
            repeats=9,
        )
        yield compare(
            "leave one out vs Captum's FeatureAblation",
            setting,
            partial(importance, fitted, some, "omission"),
            partial(ablated, fitted, some, trace.prediction, FeatureAblation),
            goal=1,
            repeats=1,
        )


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


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 where a goal is missed, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Ratios of processor time.")
    parser.add_argument("names", nargs="*", help="benchmarks to run; all by default")
    options = parser.parse_args(arguments)
    try:
        chosen = {name: BENCHES[name] for name in options.names or sorted(BENCHES)}
    except UnknownName as error:
        print(error, file=sys.stderr)
        return 2
    reached = True
    print(line(HEADER))
    for name, run in chosen.items():
        start = time.perf_counter()
        for row in run():
            print(line(_cells(row)), flush=True)
            reached &= row.reached
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return 0 if reached else 1


def line(cells: Iterable[str]) -> str:
    """Cells in columns of fixed width, since later rows are not known yet."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    goal = "" if row.goal is None else f"{row.goal:g}" + ("" if row.reached else " missed")
    return row.what, row.setting, f"{row.ours:.3g} s", f"{row.baseline:.3g} s", f"{row.ratio:.2f}", goal


if __name__ == "__main__":
    sys.exit(main())
