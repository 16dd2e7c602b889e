r"""Adam for models whose embedding matrix is most of their parameters.

Two ways to move word tables (the embedding, and TaSc's u and U), `TrainConfig.embedding_update`:

`dense` is Adam as everybody runs it. Every row moves at every step: the moments of a word that the batch does
not hold decay and still push it, and weight decay, which Adam divides by the small moments of rare words,
pulls it towards zero. One fused pass over the whole table.

`lazy` gives each row an Adam of its own, with its own step count, that runs on the steps whose batch holds the
word, and costs what the batch costs. It equals `dense` where every batch holds every word and differs
elsewhere, by design.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from attnlib.config import PARTS, TrainConfig
from attnlib.errors import ConfigError

TABLES = ("embedding", "scaling")
"""Parts that hold one row a word."""


class RowAdam(Optimizer):
    r"""Adam on the rows that have a gradient; the others stay as they are (Kingma & Ba 2015, row by row).

    For each row r of the gradient, with n_r the number of steps that had r so far, this one included,

    .. math::
        g \leftarrow g + \lambda w_r, \quad m_r \leftarrow \beta_1 m_r + (1-\beta_1) g, \quad
        v_r \leftarrow \beta_2 v_r + (1-\beta_2) g^2, \quad
        w_r \leftarrow w_r - \eta \frac{m_r / (1-\beta_1^{n_r})}{\sqrt{v_r / (1-\beta_2^{n_r})} + \epsilon}

    Parameters are matrices (V, D) with sparse gradients, as `nn.Embedding(sparse=True)` gives. `torch.optim.
    SparseAdam` counts all steps for every row, which makes the first step of a late word about three times too
    large, and knows neither weight decay nor amsgrad.
    """

    def __init__(
        self,
        params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad))

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group)

    def _update(self, weight: Tensor, group: dict) -> None:
        # a table that is also used as a matrix gets a dense gradient: its rows without any are left alone too
        gradient = weight.grad.coalesce() if weight.grad.is_sparse else weight.grad.to_sparse(1)
        rows, g = gradient.indices()[0], gradient.values()
        if not len(rows):
            return
        state = self.state[weight]
        if not state:
            state["count"] = torch.zeros(len(weight), dtype=torch.float32, device=weight.device)
            state["mean"], state["square"] = torch.zeros_like(weight), torch.zeros_like(weight)
            if group["amsgrad"]:
                state["largest"] = torch.zeros_like(weight)
        first, second = group["betas"]
        old = weight.index_select(0, rows)
        if group["weight_decay"]:
            g = g.add(old, alpha=group["weight_decay"])
        count = state["count"].index_select(0, rows).add_(1)
        mean = state["mean"].index_select(0, rows).lerp_(g, 1 - first)
        square = state["square"].index_select(0, rows).mul_(second).addcmul_(g, g, value=1 - second)
        state["count"].index_copy_(0, rows, count)
        state["mean"].index_copy_(0, rows, mean)
        state["square"].index_copy_(0, rows, square)
        if group["amsgrad"]:
            square = torch.maximum(state["largest"].index_select(0, rows), square)
            state["largest"].index_copy_(0, rows, square)
        # corrections in float64: 1 - 0.999^n loses digits in float32
        count = count.double()
        step_size = (group["lr"] / (1 - first**count)).to(weight.dtype).unsqueeze(1)
        correction = (1 - second**count).sqrt().to(weight.dtype).unsqueeze(1)
        weight.index_copy_(0, rows, old - step_size * mean / (square.sqrt() / correction + group["eps"]))


class Optimisers:
    """The optimisers of one model: fused Adam, and RowAdam for word tables under lazy updates.

    Every part gets its own learning rate and weight decay; frozen parts stop asking for gradients.
    """

    def __init__(self, model: nn.Module, config: TrainConfig) -> None:
        freeze(model, config)
        self.lazy = list(_tables(model)) if config.embedding_update == "lazy" else []
        self.clip_norm = config.clip_norm
        lazy = {id(module.weight) for module in self.lazy}
        groups = parameter_groups(model, config)
        rows = [g | {"params": [p for p in g["params"] if id(p) in lazy]} for g in groups]
        dense = [g | {"params": [p for p in g["params"] if id(p) not in lazy]} for g in groups]
        rows, dense = [g for g in rows if g["params"]], [g for g in dense if g["params"]]
        if not rows and not dense:
            raise ConfigError(
                f"Nothing is left to train: freeze={config.freeze}, train_embeddings={config.train_embeddings}. "
                "Free a part, or ask for epochs=0."
            )
        self.all: list[Optimizer] = []
        if dense:
            fused = next(iter(dense[0]["params"])).device.type in ("cpu", "cuda")
            self.all.append(Adam(dense, lr=config.learning_rate, amsgrad=config.amsgrad, fused=fused))
        if rows:
            self.all.append(RowAdam(rows, lr=config.learning_rate, amsgrad=config.amsgrad))
        self.parameters = [p for g in (*dense, *rows) for p in g["params"]]

    @contextmanager
    def sparse_gradients(self) -> Iterator[None]:
        """Word tables give sparse gradients inside, where they are updated lazily."""
        for module in self.lazy:
            module.sparse = True
        try:
            yield
        finally:
            for module in self.lazy:
                module.sparse = False

    def zero_grad(self) -> None:
        for optimiser in self.all:
            optimiser.zero_grad(set_to_none=True)

    def clip(self) -> None:
        """Scale all gradients together so that their joint norm is at most `clip_norm`."""
        if self.clip_norm is None:
            return
        gradients = []
        for weight in self.parameters:
            if weight.grad is None:
                continue
            if weight.grad.is_sparse:
                weight.grad = weight.grad.coalesce()  # repeated words add up before the norm is taken
                gradients.append(weight.grad.values())
            else:
                gradients.append(weight.grad)
        norm = nn.utils.get_total_norm(gradients)
        # always multiplied, by at most one: no wait for the device
        torch._foreach_mul_(gradients, torch.clamp(self.clip_norm / (norm + 1e-6), max=1.0))

    def step(self) -> None:
        for optimiser in self.all:
            optimiser.step()

    @property
    def rate(self) -> float:
        """The learning rate now, of the first part that trains."""
        return self.all[0].param_groups[0]["lr"]

    def scale_rates(self, factor: float) -> None:
        for optimiser in self.all:
            for group in optimiser.param_groups:
                group["lr"] *= factor


def parameter_groups(model: nn.Module, config: TrainConfig) -> list[dict]:
    """One group a part, with its own rate and weight decay; parameters outside all parts take the defaults."""
    seen: set[int] = set()
    groups = []
    for part, module in (*model.parts().items(), ("rest", model)):
        params = [p for p in module.parameters() if p.requires_grad and id(p) not in seen]
        seen.update(id(p) for p in params)
        if params:
            rate = config.learning_rates.get(part, config.learning_rate)
            decay = config.weight_decays.get(part, config.weight_decay)
            groups.append({"part": part, "params": params, "lr": rate, "weight_decay": decay})
    return groups


def freeze(model: nn.Module, config: TrainConfig) -> None:
    """Stop gradients of the parts that `config` keeps as they are."""
    frozen = set(config.freeze) | (set() if config.train_embeddings else {"embedding"})
    parts = model.parts()
    for part in PARTS:
        if part in frozen and part in parts:
            parts[part].requires_grad_(False)


def _tables(model: nn.Module) -> Iterator[nn.Embedding]:
    for part, module in model.parts().items():
        if part in TABLES:
            for table in module.modules():
                if isinstance(table, nn.Embedding) and table.weight.requires_grad:
                    yield table
