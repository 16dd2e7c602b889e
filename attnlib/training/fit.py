"""fit: a corpus and a point of the model space in, a trained model out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from attnlib.config import PARTS, ModelConfig, TrainConfig
from attnlib.data.corpora import load_corpus
from attnlib.data.types import Corpus
from attnlib.training.fitted import Fitted, scores
from attnlib.training.initial import initial_model, known_states, make_vectoriser, warm, word_vectors
from attnlib.training.optimise import Optimisers
from attnlib.utils.device import resolve, single
from attnlib.utils.errors import ConfigError, DataError, TrainingError
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.batching import Batch
    from attnlib.models.trace import Trace

Objective = Callable[["Trace", "Batch"], dict[str, Tensor]]
"""A trace and its batch to named losses (means over the batch) whose sum is minimised."""

DEV_COLUMNS = ("dev_accuracy", "dev_f1_macro", "dev_f1_positive", "dev_auc", "dev_loss")
STEP_TOKENS = 32_768
"""Padded positions that go through the model at once; gradients of the slices of a larger batch add up."""


def fit(
    corpus: Any,
    model_config: ModelConfig | None = None,
    train_config: TrainConfig | None = None,
    seed: int = 0,
    *,
    warm_start: Fitted | None = None,
    warm_parts: Iterable[str] = PARTS,
    objective: Objective | None = None,
) -> Fitted:
    """Train a model on `corpus.train`, keep the epoch that does best on `corpus.dev`.

    `corpus` is a Corpus, or whatever `al.load_corpus` takes: a name, a path, a mapping, a frame.

    The seed decides everything: initial values, batches, dropout, masking, Gumbel noise. Two fits with the same
    seed agree bit for bit on one CPU. The test texts are never read.

    warm_start  start from the parameters of another model where names and shapes agree; what could not be copied is
                listed in `fitted.notes`. warm_parts: the parts to copy
    objective   what to minimise in place of the cross-entropy with the labels; `batch.rows` are positions in
                `corpus.train`. Regularisers of the model are added to it

    >>> scaled = al.fit(corpus, config.replace(scaling="lin"), al.TrainConfig(epochs=1), seed=7)
    >>> scaled
    Fitted(mlp, additive, softmax, scaling lin, regulariser none; epoch 1 of 1, seed 7, classes: negative, positive)
    """
    model_config, train_config = model_config or ModelConfig(), train_config or TrainConfig()
    if not (isinstance(model_config, ModelConfig) and isinstance(train_config, TrainConfig)):
        kinds = type(model_config).__name__, type(train_config).__name__
        raise ConfigError(f"fit takes a ModelConfig, then a TrainConfig; got {', '.join(kinds)}.")
    corpus, device = load_corpus(corpus), resolve(train_config.device)
    check(corpus, train_config, device, seed)
    with torch.random.fork_rng(), single("tf32" if train_config.precision == "tf32" else "ieee"):
        torch.manual_seed(seed)
        query, classes = corpus.task == "query", corpus.classes
        vectoriser = make_vectoriser(corpus, model_config)
        vectors = word_vectors(vectoriser, model_config, seed)
        model = initial_model(model_config, vectoriser, len(classes), vectors=vectors, query=query)
        model.to(device, torch.float64 if train_config.precision == "float64" else torch.float32)
        fitted = Fitted(model, vectoriser, model_config, train_config, classes, _history([]), seed, query=query)
        if warm_start is not None:
            fitted.notes += warm(fitted, warm_start, warm_parts)
        if train_config.epochs:
            objective = objective or cross_entropy(corpus, train_config, device)
            fitted.history = _Run(fitted, corpus, objective).all_epochs()
    fitted.model.zero_grad(set_to_none=True)
    fitted.model.requires_grad_(True)  # freezing is for training; a loaded model has nothing frozen either
    fitted.model.eval()
    return fitted


def check_seed(seed: int) -> None:
    """Refuse what no random generator starts from."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed must be a whole number, 0 or more; got {seed!r}.")


def check(corpus: Corpus, config: TrainConfig, device: torch.device, seed: int = 0) -> None:
    """Refuse what cannot work before any work is done."""
    check_seed(seed)
    if not corpus.train:
        raise DataError(f"Corpus {corpus.name!r} has no training texts.")
    if config.precision not in ("float32", "float64") and device.type != "cuda":
        raise ConfigError(
            f"precision {config.precision!r} needs a CUDA device; this run is on {device.type!r}. "
            "Use precision='float32'."
        )
    if not config.epochs or config.monitor == "train_loss":
        return
    if not corpus.dev:
        raise DataError(
            f"Corpus {corpus.name!r} has no dev texts, and training picks its epoch by the dev {config.monitor}. "
            "Give it a dev split (a split column that says 'dev' for some rows), or choose monitor='train_loss'."
        )
    among = {example.label for example in corpus.dev}
    if config.monitor == "auc" and (len(corpus.classes) != 2 or len(among) != 2):
        raise ConfigError(
            f"monitor 'auc' needs two classes, both among the dev texts; corpus {corpus.name!r} has "
            f"{len(corpus.classes)}, {len(among)} of them in dev. Use monitor='f1', 'accuracy' or 'loss'."
        )


def cross_entropy(corpus: Corpus, config: TrainConfig, device: torch.device) -> Objective:
    r"""The default objective: -log p(label), weighted by N / (C n_c) for `class_weights`."""
    weights = None
    if config.class_weights:
        counts = np.bincount([e.label for e in corpus.train], minlength=len(corpus.classes))
        each = len(corpus.train) / (len(counts) * counts.clip(1))
        weights = torch.tensor(each, dtype=torch.float64, device=device)

    def objective(trace: Trace, batch: Batch) -> dict[str, Tensor]:
        logits = trace.logits if trace.logits.dtype == torch.float64 else trace.logits.float()
        weight = None if weights is None else weights.to(logits.dtype)
        return {"cross_entropy": F.cross_entropy(logits, batch.labels, weight)}

    return objective


class _Run:
    """The epochs of one fit: state that the steps share."""

    def __init__(self, fitted: Fitted, corpus: Corpus, objective: Objective) -> None:
        self.fitted, self.model, self.config = fitted, fitted.model, fitted.train_config
        self.objective = objective
        self.optimisers = Optimisers(self.model, self.config)
        self.device = fitted.device
        self.mixed = getattr(torch, self.config.precision) if "16" in self.config.precision else None
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.config.precision == "float16")
        vectoriser = fitted.vectoriser
        self.train, dev = vectoriser.encode(corpus.train), vectoriser.encode(corpus.dev)
        self.dev = [b.to(self.device) for b in vectoriser.batches(dev, 256)] if dev else []
        self.known, self.known_dev = (known_states(fitted, [] if self.mixed else t) for t in (self.train, dev))
        self.seeds = np.random.default_rng(fitted.seed).integers(2**31, size=self.config.epochs).tolist()

    def all_epochs(self) -> pd.DataFrame:
        """Train, stop early, restore the best epoch."""
        rows: list[dict[str, Any]] = []
        best, kept = 0, {}
        frozen = {name for name, p in self.model.named_parameters() if not p.requires_grad}
        with bar("fit", total=self.config.epochs, unit="epoch") as line, self.optimisers.attached():
            for number in range(self.config.epochs):
                start = time.perf_counter()
                row = {"epoch": number + 1, **self.epoch(number + 1), **self.dev_scores()}
                row |= {"learning_rate": self.optimisers.groups[0]["lr"], "best": False}
                if not rows or self.score(row) > self.score(rows[best]):
                    best, state = number, self.model.state_dict()
                    kept = {name: value.detach().clone() for name, value in state.items() if name not in frozen}
                elif self.config.schedule == "plateau":
                    for group in self.optimisers.groups:
                        group["lr"] *= 0.5
                rows.append(row | {"seconds": time.perf_counter() - start})
                line.update()
                line.set_postfix({k: f"{row[k]:.3f}" for k in ("loss", "dev_accuracy")})
                if self.config.patience is not None and number - best >= self.config.patience:
                    break
        rows[best]["best"] = True
        self.model.load_state_dict(kept, strict=False)
        return _history(rows)

    def epoch(self, number: int) -> dict[str, float]:
        """One pass over the training texts; mean losses per text, the sum and each term."""
        self.model.train()
        names, losses, sizes = [], [], []
        seed = self.seeds[number - 1] if self.config.shuffle else None
        for batch in self.fitted.vectoriser.batches(self.train, self.config.batch_size, shuffle_seed=seed):
            terms = self.step(batch.to(self.device))
            names = list(terms)
            losses.append(torch.stack([term.detach().double() for term in terms.values()]))
            sizes.append(len(batch))
        losses = torch.stack(losses)
        if len(bad := (~losses.isfinite()).nonzero()):  # asked once: a GPU waits for the answer
            step, term = bad[0].tolist()
            raise TrainingError(
                f"The training loss is no longer finite: {names[term]} is {losses[step, term].item()} in epoch "
                f"{number}, step {step + 1}. Try a smaller learning_rate (now {self.config.learning_rate}) or "
                f"clip_norm (now {self.config.clip_norm})."
            )
        weights = torch.tensor(sizes, dtype=torch.float64, device=self.device)
        means = (losses * weights[:, None]).sum(0) / weights.sum()
        return {"loss": means.sum().item(), **dict(zip(names, means.tolist(), strict=True))}

    def step(self, batch: Batch) -> dict[str, Tensor]:
        """One update; returns the terms of the loss. A batch of long texts is sliced to bound the memory."""
        terms: dict[str, Tensor] = {}
        self.optimisers.zero_grad()
        slices = max(1, min(len(batch), -(-batch.ids.numel() // STEP_TOKENS)))
        for rows in torch.arange(len(batch), device=self.device).tensor_split(slices):
            share = len(rows) / len(batch)
            part = batch if share == 1 else batch.select(rows)
            with torch.autocast(self.device.type, self.mixed) if self.mixed else nullcontext():
                trace = self.model(part, **self.known(part))
                found = self.objective(trace, part) | self.model.regularisation(trace, part)
            found = {name: term * share for name, term in found.items()} if share < 1 else found
            self.scaler.scale(sum(found.values())).backward()
            terms = {name: terms.get(name, 0) + term.detach() for name, term in found.items()}
        for optimiser in self.optimisers.all:
            self.scaler.unscale_(optimiser)
        self.optimisers.clip()
        self.optimisers.step(self.scaler.step)
        self.scaler.update()
        return terms

    def dev_scores(self) -> dict[str, float]:
        if not self.dev:
            return dict.fromkeys(DEV_COLUMNS, float("nan"))
        with self.fitted.evaluating():
            logits = torch.cat([self.model(batch, **self.known_dev(batch)).logits for batch in self.dev])
        labels = torch.cat([batch.labels for batch in self.dev])
        found = scores(labels.cpu().numpy(), logits.double().cpu().numpy())
        return {name: found[name.removeprefix("dev_")] for name in DEV_COLUMNS}

    def score(self, row: dict[str, float]) -> tuple[float, float]:
        """Larger is better; the dev loss decides between equals."""
        if "loss" in self.config.monitor:
            return -row["loss" if self.config.monitor == "train_loss" else "dev_loss"], 0.0
        name = "dev_f1_macro" if self.config.monitor == "f1" else f"dev_{self.config.monitor}"
        return row[name], -row["dev_loss"]


def _history(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    names = ("epoch", "loss", "cross_entropy", *DEV_COLUMNS, "learning_rate", "best", "seconds")
    return pd.DataFrame(rows) if rows else pd.DataFrame({name: [] for name in names})
