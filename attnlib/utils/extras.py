"""Packages that only some uses of the kit need: imported where they are used, named with their extra when missing.

notebooks   papermill, nbclient, nbconvert, jinja2, anywidget …: run notebooks and write reports
cluster     distributed: `--executor dask:ADDRESS`
hub         datasets, transformers: corpora and models of the Hugging Face hub
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module, metadata
from types import ModuleType

from attnlib.utils.errors import AttnlibError

GRAMMAR = "rfc3987_syntax"
"""A package that jsonschema, and with it nbformat, imports where it is there. It compiles the grammar of
international web addresses, which takes longer than all else that they import, and that no notebook needs."""


def versions(*packages: str) -> dict[str, str]:
    """The versions of those packages that are installed; nothing is imported."""
    found = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


class MissingPackage(AttnlibError, ImportError):
    """An optional package that is not installed."""


def needs(package: str, extra: str) -> ModuleType:
    """Import `package` (or a module of it), or say which extra provides it: `needs("distributed", "cluster")`."""
    try:
        with _without(GRAMMAR):
            return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package.split(".")[0]:
            raise  # the package is installed, and lacks something itself
        raise MissingPackage(
            f"This needs the package {package.split('.')[0]!r}, which is not installed. It comes with the extra "
            f"{extra!r}: pip install 'attnlib[{extra}]'."
        ) from None


@contextmanager
def _without(package: str) -> Iterator[None]:
    """Imports of this optional package fail meanwhile, unless it has been imported before."""
    hidden = package not in sys.modules
    if hidden:
        sys.modules[package] = None  # type: ignore[assignment]  what Python documents for this
    try:
        yield
    finally:
        if hidden:
            sys.modules.pop(package, None)
