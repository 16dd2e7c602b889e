"""Fine-tuning a Hugging Face classifier with words masked at random: what makes removals familiar to it."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from attnlib.data.types import Example
from attnlib.hf.classifier import HFClassifier, removal
from attnlib.hf.network import Network
from attnlib.utils.errors import ConfigError
from attnlib.utils.progress import bar

WARM = 0.1
"""Part of the steps in which the learning rate rises; it falls to zero in the others."""


def masked_finetuning(
    model: HFClassifier,
    examples: Sequence[Example],
    operators: Sequence[str],
    *,
    seconds: float,
    epochs: float = 2.0,
    learning_rate: float = 3e-5,
    batch_size: int = 16,
    most: float = 0.5,
    seed: int = 0,
) -> HFClassifier:
    """A copy of the classifier, trained on with words removed at random (Madsen et al. 2024).

    Every other text of a batch stays whole; of the others a share of the words, between 0 and `most`, is removed,
    batch by batch by one of the `operators`.

    seconds  to spend at most: the first steps are timed, and the learning rate falls to zero over what fits
    """
    if len(examples) < batch_size:
        raise ConfigError(f"Fine-tuning needs at least {batch_size} texts; {len(examples)} were given.")
    ways = [removal(model, name) for name in operators]
    inner = copy.deepcopy(model.model.network)
    network = Network(inner, model.model.order.tolist()).to(model.device)
    rng = np.random.default_rng([seed, 2024])
    optimiser = torch.optim.AdamW(inner.parameters(), learning_rate, weight_decay=0.01)
    steps, begun = max(4, round(epochs * len(examples) / batch_size)), time.monotonic()
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices), torch.enable_grad(), bar("fine-tuning", total=steps, unit="step") as line:
        torch.manual_seed(seed)
        inner.train()
        order, step = np.empty(0, dtype=int), 0
        while step < steps and (step < 4 or time.monotonic() - begun < 1.2 * seconds):
            order = order if len(order) >= batch_size else rng.permutation(len(examples))
            chosen, order = order[:batch_size], order[batch_size:]
            batch = model.vectoriser.batch([examples[i] for i in chosen]).to(model.device)
            shares = rng.uniform(0, most, (len(chosen), 1)) * (np.arange(len(chosen)) % 2)[:, None]
            gone = torch.from_numpy(rng.random(batch.content.shape) < shares).to(model.device) & batch.content
            risen = min(1.0, (step + 1) / max(1.0, WARM * steps), (steps - step) / max(1.0, (1 - WARM) * steps))
            for group in optimiser.param_groups:
                group["lr"] = learning_rate * risen
            optimiser.zero_grad()
            logits = network(ways[step % len(ways)](batch, gone)).logits
            nn.functional.cross_entropy(logits, batch.labels).backward()
            nn.utils.clip_grad_norm_(inner.parameters(), 1.0)
            optimiser.step()
            step += 1
            line.update()
            if step == 3:
                steps = min(steps, max(4, int(seconds / ((time.monotonic() - begun) / step))))
    inner.eval()
    return HFClassifier(network, model.vectoriser, model.classes, query=model.query)
