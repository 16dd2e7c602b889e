"""The engine against the slow definitions and against Captum.

Baselines are written as the papers' code runs them: `instance` answers one variant of one text at a time, `steps`
answers removal k of a whole batch at once, for every k, as both Serrano & Smith and Chrysostomou & Aletras do. All
models have the sizes of Chrysostomou & Aletras (300-dimensional words, 128 hidden units). Texts are planted ones
of given length, the models trained on such: how early decisions flip matters at the input level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial

import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.data.batching import Batch
from attnlib.engine import attention, flips, jacobian, orders
from attnlib.engine.select import input_eraser
from attnlib.importance.scores import importance
from attnlib.training.fit import fit
from tests.bench import Row, bench, compare

SIZES = {"embedding_size": 300, "hidden_size": 128}
STEPS = 20
"""Steps of a baseline that are run at most: each costs the same, so that some tell of all."""


@cache
def texts(length: int, n: int):
    """A corpus of texts of about so many words (short ones as unlike as those of SST), and n of its test texts."""
    shortest, longest = (length // 2, length * 3 // 2) if length < 50 else (length * 9 // 10, length * 11 // 10)
    train = max(40, 8000 // length)
    corpus = load_corpus("planted", n_train=train, n_dev=20, n_test=n, shortest=shortest, longest=longest, seed=1)
    return corpus, list(corpus.test)


@cache
def trained(encoder: str, length: int, n: int):
    config = ModelConfig(encoder=encoder, **SIZES, layers=2 if encoder == "transformer" else 1)
    return fit(texts(length, n)[0], config, TrainConfig(epochs=2, device="cpu"), seed=0)


def traced(encoder: str, length: int, n: int):
    """A model, a batch of all its test texts, their trace, and the order of their attention weights."""
    torch.set_num_threads(1)
    fitted = trained(encoder, length, n)
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
        every, some = steps(trace)
        slow, work = partial(step_loop, trace, order, some), (every, len(some))
        yield compare(f"{what} vs a step at a time", setting, ours, slow, goal=goals[1], work=work)
        yield compare(f"{what} vs a BiLSTM's pass", setting, ours, partial(forward, fitted, batch), goal=20)


def first_flips_of_weights(trace, order):
    with torch.no_grad():
        return flips.from_table(attention.prefix_logits(trace, order), trace.prediction, trace.lengths)


def forward(fitted, batch):
    with torch.no_grad():
        return fitted.model(batch)


@torch.no_grad()
def instance_loop(trace, order, n: int) -> list[int]:
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
    """First flips when words become padding, each text leaving at its flip."""
    for encoder, goal in (("lstm", 4), ("gru", None), ("mlp", 50), ("cnn", 10), ("transformer", 4)):
        for length, n in ((20, 128), (150, 16), (400, 4)):
            if length > {"lstm": 400, "gru": 20, "transformer": 20}.get(encoder, 150):
                continue
            found = traced(encoder, length, n)
            every, some = steps(found[2])
            yield compare(
                f"first flips, input level, {encoder}, vs a step at a time",
                f"T = {length}, {n} texts, pad",
                partial(first_flips_of_words, *found),
                partial(word_loop, *found, some),
                goal=goal if length == 20 else None,
                work=(every, len(some)),
            )


def steps(trace) -> tuple[int, range]:
    """How many steps a baseline takes for the longest text, and those of them that are run."""
    every = int(trace.lengths.max())
    return every, range(0, every, -(-every // STEPS))


def first_flips_of_words(fitted, batch, trace, order, operator: str = "pad"):
    with torch.no_grad():
        return flips.first_flips(input_eraser(fitted, batch, trace, operator), order, trace.prediction)


@torch.no_grad()
def word_loop(fitted, batch, trace, order, some: Iterable[int]) -> torch.Tensor:
    """Chrysostomou & Aletras: the k top words become padding, the whole batch runs again, for every k."""
    ids, content = batch.ids.clone(), batch.content.clone()
    hides = fitted.model_config.encoder == "transformer"
    first = torch.zeros(len(ids), dtype=torch.long)
    for k in some:
        ids.scatter_(1, order[:, : k + 1], 0)
        content.scatter_(1, order[:, : k + 1], False)
        mask = batch.mask & (content | ~batch.content) if hides else batch.mask
        erased = Batch(ids=ids, mask=mask, content=content, words=batch.words, rows=batch.rows)
        decision = fitted.model(erased).logits.argmax(-1)
        flipped = (decision != trace.prediction) & (k < trace.lengths) & (first == 0)
        first[flipped] = k + 1
    return first


@bench("leave_one_out")
def leave_one_out() -> Iterator[Row]:
    """Every word deleted once."""
    for encoder, goal in (("lstm", 3), ("mlp", None), ("cnn", None)):
        for length, n in ((20, 128), (150, 16), (400, 4)):
            fitted, batch, trace, _ = traced(encoder, length, n)
            every, some = steps(trace)
            yield compare(
                f"leave one out, {encoder}, vs a word of all texts at a time",
                f"T = {length}, {n} texts, delete",
                partial(singles, fitted, batch, trace),
                partial(deletion_loop, fitted, batch, some),
                goal=goal,
                work=(every, len(some)),
            )


def singles(fitted, batch, trace):
    with torch.no_grad():
        return input_eraser(fitted, batch, trace, "delete").singles()


@torch.no_grad()
def deletion_loop(fitted, batch, some: Iterable[int]) -> list[torch.Tensor]:
    """Jain & Wallace: word i of every text taken out, the whole batch run again, for every i."""
    found = []
    for i in some:
        kept = [j for j in range(batch.ids.shape[1]) if j != i]
        fields = {name: getattr(batch, name)[:, kept] for name in ("ids", "mask", "content", "words")}
        found.append(fitted.model(Batch(rows=batch.rows, **fields)).logits)
    return found


@bench("jacobian")
def influence() -> Iterator[Row]:
    """The gradient of every state's norm at every input."""
    sizes = (("lstm", 20, 16), ("lstm", 180, 4), ("lstm", 400, 1), ("gru", 60, 4), ("cnn", 180, 4))
    for encoder, length, n in (*sizes, ("transformer", 180, 1)):
        fitted, batch, _, _ = traced(encoder, length, n)
        yield compare(
            f"influence on states, {encoder}, vs a backward pass a position",
            f"T = {length}, {n} texts",
            partial(jacobian.influence, fitted.model, batch),
            partial(jacobian.by_loop, fitted.model, fitted.model.embed(batch), batch.mask),
            goal=3 if length == 180 and encoder in ("lstm", "transformer") else None,
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
            partial(importance, fitted, some, "integrated_gradients", on_gap="ignore"),
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
