"""Errors that say what came, what fits and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AttnlibError(Exception):
    """Base of every error the kit raises on purpose: the message is meant for the user."""


class UnknownName(AttnlibError, KeyError):
    """A name that no registry holds."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class ConfigError(AttnlibError, ValueError):
    """A configuration, parameter or combination that cannot work."""


class DataError(AttnlibError, ValueError):
    """A corpus, file or text that cannot be used as it is."""


class TrainingError(AttnlibError, ArithmeticError):
    """A training run that failed on the way."""


def first_line(error: BaseException) -> str:
    """The message of a library's error, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def said(value: object) -> str:
    """What came, as a message shows it: a function by its name, anything else by its repr.

    >>> said("alhpa"), said(len), said(lambda text: 1.0)
    ("'alhpa'", 'the function len', 'a function without a name')
    """
    if not callable(value):
        return repr(value)
    name = getattr(value, "__name__", type(value).__name__)
    return "a function without a name" if name == "<lambda>" else f"the function {name}"


def nearest(name: object, options: Iterable[str]) -> str | None:
    """The option that `name` was probably meant to be, or None."""
    found = get_close_matches(str(name).lower(), list(options), n=1, cutoff=0.5)
    return found[0] if found else None


def one_of(kind: str, name: object, options: Iterable[str]) -> None:
    """Refuse a `name` that is not among the options, and suggest the nearest one."""
    if name not in (options := list(options)):
        raise ConfigError(unknown(kind, name, options))


def unknown(kind: str, name: object, options: Iterable[str], *, hint: str = "") -> str:
    """`Unknown corpus 'stt'. Did you mean 'sst'? Available: …`, for any kind of name."""
    options = sorted(options)
    text = f"Unknown {kind} {name!r}." if isinstance(name, str) else f"Unknown {kind}: {said(name)}."
    if guess := nearest(name, options):
        text += f" Did you mean {guess!r}?"
    return f"{text} Available: {', '.join(options)}. {hint}".rstrip()
