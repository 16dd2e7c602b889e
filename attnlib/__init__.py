"""attnlib: is attention an explanation?

The names below are the public surface. They are imported when first used, so that `attnlib --help` and the
check of a parameter file do not wait for torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "ModelConfig": "attnlib.config",
    "DataConfig": "attnlib.config",
    "TrainConfig": "attnlib.config",
    "Example": "attnlib.data",
    "Corpus": "attnlib.data",
    "load_corpus": "attnlib.data",
    "Trace": "attnlib.models",
    "fit": "attnlib.training",
    "Fitted": "attnlib.fitted",
    "load": "attnlib.fitted",
    "importance": "attnlib.importance",
    "fraction_to_flip": "attnlib.erasure",
    "top_token_flips": "attnlib.erasure",
    "erasure_curves": "attnlib.erasure",
    "Fit": "attnlib.spec",
    "measure": "attnlib.spec",
    "run_grid": "attnlib.grid",
    "Store": "attnlib.runs",
    "heatmap": "attnlib.heatmap",
    "explore": "attnlib.widgets",
}
_MODULES = ("stats", "plots", "report")

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(f"attnlib.{name}")
    raise AttributeError(f"module 'attnlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Importing the module `attnlib.heatmap` must not put it in the place of the function `attnlib.heatmap`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
