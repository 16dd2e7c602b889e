"""Which device is picked, and which are refused."""

from __future__ import annotations

import pytest
import torch

from attnlib.utils.device import resolve
from attnlib.utils.errors import ConfigError


@pytest.fixture
def apple(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with MPS and without CUDA."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("apple")
def test_auto_is_never_a_device_without_float64() -> None:
    assert resolve("auto") == torch.device("cpu")


@pytest.mark.usefixtures("apple")
@pytest.mark.parametrize("named", ["mps", "mps:0", torch.device("mps")])
def test_a_device_without_float64_is_refused_whatever_form_it_has(named: str | torch.device) -> None:
    with pytest.raises(ConfigError, match=r"mps.*has no float64.*device='cpu'"):
        resolve(named)


def test_auto_is_cuda_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve("auto").type == "cuda"


@pytest.mark.usefixtures("apple")
def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="offers no CUDA"):
        resolve("cuda:1")
    with pytest.raises(ConfigError, match="Unknown device 'gpu'"):
        resolve("gpu")
