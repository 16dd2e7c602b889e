r"""Adam, with a choice of how word tables move (the embedding, and TaSc's u and U): `TrainConfig.embedding_update`.

`dense` is standard Adam: every row moves at every step, by its moments and by weight decay. `lazy` gives each row
its own Adam with its own step count, which runs only on steps whose batch contains the word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from attnlib.config import TrainConfig
from attnlib.utils.errors import ConfigError

TABLES = ("embedding", "scaling")
"""Parts that hold one row per word."""
FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants, those of torch."""


class RowAdam(Optimizer):
    r"""Adam on the rows that have a gradient; the others stay as they are (Kingma & Ba 2015, row by row).

    For each row r of the gradient, with n_r the number of steps that had r so far, this one included,

    .. math::
        g \leftarrow g + \lambda w_r, \quad m_r \leftarrow \beta_1 m_r + (1-\beta_1) g, \quad
        v_r \leftarrow \beta_2 v_r + (1-\beta_2) g^2, \quad
        w_r \leftarrow w_r - \eta \frac{m_r / (1-\beta_1^{n_r})}{\sqrt{v_r / (1-\beta_2^{n_r})} + \epsilon}

    `torch.optim.SparseAdam` counts all steps for every row, and knows neither weight decay nor amsgrad.
    """

    def __init__(self, params, lr: float = 1e-3, weight_decay: float = 0.0, amsgrad: bool = False) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "amsgrad": amsgrad})

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
            state |= {name: torch.zeros_like(weight) for name in ("mean", "square", "largest")}
        old = weight.index_select(0, rows)
        if group["weight_decay"]:
            g = g.add(old, alpha=group["weight_decay"])
        moved = {name: values.index_select(0, rows) for name, values in state.items()}
        count = moved["count"].add_(1).double()  # corrections in float64: 1 - 0.999^n loses digits in float32
        mean, square = moved["mean"].lerp_(g, 1 - FIRST), moved["square"].mul_(SECOND)
        square.addcmul_(g, g, value=1 - SECOND)
        largest = torch.maximum(moved["largest"], square, out=moved["largest"])
        for name, values in moved.items():
            state[name].index_copy_(0, rows, values)
        step_size = (group["lr"] / (1 - FIRST**count)).to(weight.dtype).unsqueeze(1)
        correction = (1 - SECOND**count).sqrt().to(weight.dtype).unsqueeze(1)
        spread = (largest if group["amsgrad"] else square).sqrt()
        weight.index_copy_(0, rows, old - step_size * mean / (spread / correction + EPSILON))


class Optimisers:
    """Fused Adam, and RowAdam for word tables under lazy updates; their gradients are sparse."""

    def __init__(self, model: nn.Module, config: TrainConfig) -> None:
        freeze(model, config)
        self.clip_norm = config.clip_norm
        self.lazy = config.embedding_update == "lazy"
        held = [module for part, module in model.parts().items() if part in TABLES]
        tables = [t for module in held for t in module.modules() if isinstance(t, nn.Embedding)]
        self.tables = [table for table in tables if table.weight.requires_grad]
        self.all: list[Optimizer] = []
        by_row = {id(table.weight) for table in self.tables} if self.lazy else set()
        groups = parameter_groups(model, config)
        for kind, options in ((Adam, {"fused": True}), (RowAdam, {})):
            chosen = [[p for p in g["params"] if (id(p) in by_row) == (kind is RowAdam)] for g in groups]
            own = [group | {"params": params} for group, params in zip(groups, chosen, strict=True) if params]
            if own:
                self.all.append(kind(own, lr=config.learning_rate, amsgrad=config.amsgrad, **options))
        if not self.all:
            raise ConfigError(
                f"Nothing is left to train: freeze={config.freeze}. Free a part, or ask for epochs=0."
            )
        self.groups = [group for optimiser in self.all for group in optimiser.param_groups]
        self.parameters = [p for group in self.groups for p in group["params"]]

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Inside, word tables give sparse gradients."""
        for table in self.tables:
            table.sparse = True
        try:
            yield
        finally:
            for table in self.tables:
                table.sparse = False

    def zero_grad(self) -> None:
        for weight in self.parameters:
            weight.grad = None

    def clip(self) -> None:
        """Scale all gradients together so that their joint norm is at most `clip_norm`."""
        if self.clip_norm is None:
            return
        gradients = []
        for weight in (w for w in self.parameters if w.grad is not None):
            if weight.grad.is_sparse:
                weight.grad = weight.grad.coalesce()  # repeated words add up before the norm is taken
            gradients.append(weight.grad.values() if weight.grad.is_sparse else weight.grad)
        norm = nn.utils.get_total_norm(gradients)
        # always multiplied, by at most one: reading the norm would wait for the device
        torch._foreach_mul_(gradients, torch.clamp(self.clip_norm / (norm + 1e-6), max=1.0))

    def step(self, step: Callable[[Optimizer], object] = lambda optimiser: optimiser.step()) -> None:
        """One update. `step` runs an optimiser, for example through a gradient scaler."""
        for table in self.tables if not self.lazy else ():
            if table.weight.grad is not None and table.weight.grad.is_sparse:
                table.weight.grad = table.weight.grad.coalesce().to_dense()
        for optimiser in self.all:
            step(optimiser)


def parameter_groups(model: nn.Module, config: TrainConfig) -> list[dict]:
    """Parts with their own rates and weight decays, equal ones in one group; others take the defaults."""
    seen: set[int] = set()
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for part, module in (*model.parts().items(), ("rest", model)):
        params = [p for p in module.parameters() if p.requires_grad and id(p) not in seen]
        seen.update(id(p) for p in params)
        rate = config.learning_rates.get(part, config.learning_rate)
        decay = config.weight_decays.get(part, config.weight_decay)
        if params:
            groups.setdefault((rate, decay), []).extend(params)
    return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]


def freeze(model: nn.Module, config: TrainConfig) -> None:
    """Stop the gradients of the parts that `config` freezes."""
    frozen = {*config.freeze, *(() if config.train_embeddings else ("embedding",))}
    for part, module in model.parts().items():
        if part in frozen:
            module.requires_grad_(False)
