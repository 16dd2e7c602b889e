"""Device: a parameter everywhere, decided in one place; and what single precision means there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from attnlib.utils.errors import ConfigError


def resolve(device: str | torch.device = "auto") -> torch.device:
    """`auto` picks cuda, then cpu; another device is used as named, if the machine has it.

    Scores, orders and losses are float64 on the device, which Apple's MPS has not: it is refused.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(f"Unknown device {device!r}. Allowed: 'auto', 'cpu', 'cuda', 'cuda:0'.") from None
    if chosen.type == "mps":
        raise ConfigError(
            f"Device {str(device)!r} has no float64, which attnlib computes with. Use device='cpu' or 'cuda'."
        )
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            f"Device {str(device)!r} was asked for, but this machine offers no CUDA. Use device='auto'."
        )
    return chosen


@contextmanager
def measuring(*, grad: bool = False) -> Iterator[None]:
    """Whole single precision for what is measured, with a graph or without; torch is left as it was found.

    TF32 (cuDNN's default for recurrent layers and convolutions) on one side of a comparison alone would change
    orders. cuDNN cannot differentiate a recurrent layer in eval mode, so it is off where there is a graph.
    """
    with single("ieee", cudnn=not grad), torch.set_grad_enabled(grad):
        yield


@contextmanager
def single(kind: Literal["ieee", "tf32"], *, cudnn: bool = True) -> Iterator[None]:
    """What float32 means meanwhile: `ieee`, all 24 bits; `tf32`, faster products of 11 bits on CUDA."""
    backends = torch.backends
    cuda, cpu = (backends.cuda.matmul, backends.cudnn), ()
    name, value = "allow_tf32", kind == "tf32"
    if hasattr(backends, "fp32_precision"):  # one precision per operation, since torch 2.9
        cuda = (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn)
        cpu = (backends.mkldnn.matmul, backends.mkldnn.conv, backends.mkldnn.rnn)
        name, value = "fp32_precision", kind
    wanted = [(part, name, value) for part in cuda] + [(part, name, "ieee") for part in cpu]
    if not cudnn:
        wanted.append((backends.cudnn, "enabled", False))
    found = [(part, name, getattr(part, name)) for part, name, _ in wanted]
    try:
        for part, name, value in wanted:
            setattr(part, name, value)
        yield
    finally:
        for part, name, value in found:
            setattr(part, name, value)
