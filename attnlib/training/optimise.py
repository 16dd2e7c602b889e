r"""Adam for models whose embedding matrix is most of their parameters.

Two ways to move word tables (the embedding, and TaSc's u and U), `TrainConfig.embedding_update`:

`dense` is standard Adam. Every row moves at every step: the moments of a word that the batch does
not contain decay and still push it, and weight decay, which Adam divides by the small moments of rare words,
pulls it towards zero. One fused pass over the whole table.

`lazy` gives each row its own Adam with its own step count, which runs only on steps whose batch contains the
word, so its cost follows the batch. It equals `dense` where every batch contains every word and differs
elsewhere, by design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from attnlib.config import PARTS, TrainConfig
from attnlib.utils.errors import ConfigError

TABLES = ("embedding", "scaling")
"""Parts that hold one row per word."""
SMALL = 2**16
"""Size up to which a parameter is `Joined`: on a CPU the calls for it cost more than its arithmetic."""


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


class Joined(nn.Parameter):
    """Small parameters of one group as one while a model trains: values and gradients, one after the other."""

    def __new__(cls, parameters: list[nn.Parameter]) -> Joined:
        joined = super().__new__(cls, torch.cat([p.detach().flatten() for p in parameters]))
        joined.members = parameters
        joined.grad = torch.zeros_like(joined)
        return joined

    def join(self) -> None:
        """The members become views of this tensor: their gradients add up in its own, their values follow it."""
        sizes = [p.numel() for p in self.members]
        for p, value, grad in zip(self.members, self.data.split(sizes), self.grad.split(sizes), strict=True):
            value.copy_(p.detach().flatten())
            p.data, p.grad = value.view_as(p), grad.view_as(p)

    def part(self) -> None:
        """Every member owns its values again."""
        for p in self.members:
            p.data, p.grad = p.data.clone(), None


class Optimisers:
    """The optimisers of one model: fused Adam, and RowAdam for word tables under lazy updates.

    Every part gets its own learning rate and weight decay; frozen parts get no gradients. Word tables
    give sparse gradients in both modes, so that the backward pass and clipping touch the batch's words alone.
    On a CPU small parameters are `Joined`: with a dozen of them, calls took as long as the arithmetic of a step.
    """

    def __init__(self, model: nn.Module, config: TrainConfig) -> None:
        freeze(model, config)
        self.clip_norm = config.clip_norm
        self.tables = list(_tables(model))
        self.lazy = config.embedding_update == "lazy"
        groups = parameter_groups(model, config)
        words = {id(table.weight) for table in self.tables} if self.lazy else set()
        dense = _only(groups, lambda p: id(p) not in words)
        rows = _only(groups, lambda p: id(p) in words)
        if not dense and not rows:
            raise ConfigError(
                f"Nothing is left to train: freeze={config.freeze}, train_embeddings={config.train_embeddings}. "
                "Free a part, or ask for epochs=0."
            )
        self.all: list[Optimizer] = []
        self.joined = [joined for group in dense for joined in _join(group, self.tables)]
        if dense:
            fused = dense[0]["params"][0].device.type in ("cpu", "cuda")
            self.all.append(Adam(dense, lr=config.learning_rate, amsgrad=config.amsgrad, fused=fused))
        if rows:
            self.all.append(RowAdam(rows, lr=config.learning_rate, amsgrad=config.amsgrad))
        self.parameters = [p for g in (*dense, *rows) for p in g["params"]]
        self.buffers = {} if self.lazy else {t.weight: torch.zeros_like(t.weight) for t in self.tables}

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Inside, the model is in training: word tables give sparse gradients, small parameters are joined."""
        for table in self.tables:
            table.sparse = True
        for joined in self.joined:
            joined.join()
        try:
            yield
        finally:
            for table in self.tables:
                table.sparse = False
            for joined in self.joined:
                joined.part()

    def zero_grad(self) -> None:
        for weight in self.parameters:
            if isinstance(weight, Joined):
                weight.grad.zero_()
            else:
                weight.grad = None

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
        if norm.device.type == "cpu" and norm <= self.clip_norm:
            return
        # elsewhere always multiplied, by at most one: reading the norm would wait for the device
        torch._foreach_mul_(gradients, torch.clamp(self.clip_norm / (norm + 1e-6), max=1.0))

    def step(self, step: Callable[[Optimizer], object] = lambda optimiser: optimiser.step()) -> None:
        """One update. `step` runs an optimiser, for example through a gradient scaler."""
        with self._dense_gradients():
            for optimiser in self.all:
                step(optimiser)

    @contextmanager
    def _dense_gradients(self) -> Iterator[None]:
        """Sparse gradients written into persistent buffers of zeros, for optimisers that need dense ones."""
        written = []
        for weight, buffer in self.buffers.items():
            if weight.grad is not None and weight.grad.is_sparse:
                gradient = weight.grad.coalesce()
                rows = gradient.indices()[0]
                weight.grad = buffer.index_copy_(0, rows, gradient.values())
                written.append((weight, rows))
        yield
        for weight, rows in written:
            self.buffers[weight].index_fill_(0, rows, 0.0)
            weight.grad = None

    @property
    def rate(self) -> float:
        """The learning rate now, of the first group."""
        return self.all[0].param_groups[0]["lr"]

    def scale_rates(self, factor: float) -> None:
        for optimiser in self.all:
            for group in optimiser.param_groups:
                group["lr"] *= factor


def parameter_groups(model: nn.Module, config: TrainConfig) -> list[dict]:
    """Parts with their own rates and weight decays, equal ones in one group (fewer, larger groups step faster).

    Parameters outside all parts take the defaults.
    """
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
    frozen = set(config.freeze) | (set() if config.train_embeddings else {"embedding"})
    parts = model.parts()
    for part in PARTS:
        if part in frozen and part in parts:
            parts[part].requires_grad_(False)


def _only(groups: list[dict], wanted: Callable[[nn.Parameter], bool]) -> list[dict]:
    kept = [group | {"params": [p for p in group["params"] if wanted(p)]} for group in groups]
    return [group for group in kept if group["params"]]


def _join(group: dict, tables: list[nn.Embedding]) -> list[Joined]:
    """Puts one parameter in the place of the small ones of a group, where that saves time."""
    words = {id(table.weight) for table in tables}
    small = [p for p in group["params"] if p.device.type == "cpu" and p.numel() <= SMALL and id(p) not in words]
    if len(small) < 2:
        return []
    known = {id(p) for p in small}
    joined = Joined(small)
    group["params"] = [joined, *(p for p in group["params"] if id(p) not in known)]
    return [joined]


def _tables(model: nn.Module) -> Iterator[nn.Embedding]:
    for part, module in model.parts().items():
        if part in TABLES:
            for table in module.modules():
                if isinstance(table, nn.Embedding) and table.weight.requires_grad:
                    yield table
