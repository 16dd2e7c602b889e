"""Device: a parameter everywhere, decided in one place."""

from __future__ import annotations

import torch

from attnlib.utils.errors import ConfigError


def resolve(device: str | torch.device = "auto") -> torch.device:
    """`auto` picks cuda, then mps, then cpu; any other device is used as named, if the machine has it."""
    if isinstance(device, torch.device):
        return device
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(f"Unknown device {device!r}. Allowed: 'auto', 'cpu', 'cuda', 'cuda:0', 'mps'.") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"Device {device!r} was asked for, but this machine offers no CUDA. Use device='auto'.")
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError(f"Device {device!r} was asked for, but this machine offers no MPS. Use device='auto'.")
    return chosen
