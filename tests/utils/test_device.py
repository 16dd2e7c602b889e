"""Which device is picked, and which are refused."""

from __future__ import annotations

import pytest
import torch

from attnlib.utils.device import resolve
from attnlib.utils.errors import ConfigError


def test_auto_is_cuda_where_there_is_one_and_never_a_device_without_float64(monkeypatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    for there, kind in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert resolve("auto").type == kind


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("mps:0", r"mps.*has no float64.*device='cpu'"),
        (torch.device("mps"), r"mps.*has no float64.*device='cpu'"),
        ("cuda:1", "offers no CUDA"),
        ("gpu", "Unknown device 'gpu'"),
    ],
)
def test_what_is_not_there_or_cannot_compute_is_refused(monkeypatch, device: str | torch.device, said: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=said):
        resolve(device)
