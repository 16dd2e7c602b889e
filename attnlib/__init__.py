"""attnlib: is attention an explanation?

The names below are the public surface; `__init__.pyi` gives type checkers and editors the same. They are imported
when first used, so that `attnlib --help` and the check of a parameter file do not wait for torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_PUBLIC: dict[str, str] = {
    "ModelConfig": "attnlib.config",
    "DataConfig": "attnlib.config",
    "TrainConfig": "attnlib.config",
    "Example": "attnlib.data",
    "Corpus": "attnlib.data",
    "load_corpus": "attnlib.data",
    "Trace": "attnlib.models",
    "fit": "attnlib.training.fit",
    "Fitted": "attnlib.training.fitted",
    "load_model": "attnlib.hf.loading",
    "erase": "attnlib.engine.explainable",
    "importance": "attnlib.importance.scores",
    "fraction_to_flip": "attnlib.erasure.flips",
    "top_token_flips": "attnlib.erasure.flips",
    "erasure_curves": "attnlib.erasure.flips",
    "comprehensiveness": "attnlib.measures.faithfulness",
    "sufficiency": "attnlib.measures.faithfulness",
    "aopc": "attnlib.measures.faithfulness",
    "plausibility": "attnlib.measures.rationales",
    "audit": "attnlib.audit.run",
    "FitSpec": "attnlib.store.specs",
    "MeasureSpec": "attnlib.store.specs",
    "run_grid": "attnlib.store.grid",
    "Store": "attnlib.store.entries",
    "heatmap": "attnlib.viz.heatmap",
    "explore": "attnlib.viz.explorer",
}
_MODULES: dict[str, str] = {"stats": "attnlib.stats", "plots": "attnlib.viz.plots"}

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(_MODULES[name])
    raise AttributeError(f"module 'attnlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Importing the package `attnlib.importance` must not replace the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
