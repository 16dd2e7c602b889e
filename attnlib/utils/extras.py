"""Packages that only some uses need: imported late, and missed in words that say how to get them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from attnlib.utils.errors import AttnlibError


class MissingPackage(AttnlibError, ImportError):
    """A package of an extra that is not installed."""


def needs(package: str, extra: str) -> ModuleType:
    """The module `package`; where it is not installed, an error that names the extra which brings it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise  # it is there, and lacks something of its own
        raise MissingPackage(
            f"This needs the package {error.name!r}, which is not installed. Say: pip install 'attnlib[{extra}]'."
        ) from None
