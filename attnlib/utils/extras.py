"""Packages that only some uses of the kit need: imported there, and named with their extra when missing."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module, metadata
from types import ModuleType

from attnlib.utils.errors import AttnlibError


class MissingPackage(AttnlibError, ImportError):
    """An optional package that is not installed."""


def versions(*packages: str) -> dict[str, str]:
    """The versions of those packages that are installed; nothing is imported."""
    found = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def needs(package: str, extra: str) -> ModuleType:
    """Import `package` (or a module of it), or say which extra provides it: `needs("distributed", "cluster")`."""
    top = package.split(".")[0]
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != top:
            raise  # the package is installed, and lacks something itself
        how = f"It comes with the extra {extra!r}: pip install 'attnlib[{extra}]'."
        raise MissingPackage(f"This needs the package {top!r}, which is not installed. {how}") from None
