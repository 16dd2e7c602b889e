"""attnlib: is attention an explanation?

The public surface is what `__init__.pyi` names, for type checkers, editors and this module alike. A name is
imported when first used, so that `attnlib --help` and the check of a parameter file do not wait for torch.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_PUBLIC = {name.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for name in node.names}
_MODULES = ("stats", "plots")

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'attnlib' has no attribute {name!r}")
    if name in _MODULES:
        return import_module(f"{_PUBLIC[name]}.{name}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
