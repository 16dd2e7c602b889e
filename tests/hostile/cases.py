"""A case: an input, and the error it must meet or the corpus it must give."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hostile.watch import harmless

from attnlib.utils.errors import AttnlibError

Check = Callable[[Any], bool]
NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho chi tau psi".split()
)


def rows(n: int = 20) -> list[list[Any]]:
    return [[f"a {'fine' if i % 2 else 'dull'} film {NAMES[i]}", "pos" if i % 2 else "neg"] for i in range(n)]


def table(
    cells: Iterable[Sequence[Any]] | None = None, header: Sequence[str] | None = ("text", "label"), sep: str = ","
) -> bytes:
    """A csv as bytes."""
    out = io.StringIO()
    csv.writer(out, delimiter=sep).writerows([*([header] if header else []), *(rows() if cells is None else cells)])
    return out.getvalue().encode()


def column(name: str, value: Callable[[int], Any] | Any) -> bytes:
    """The good table with one column more; the value is the same in every row, or a function of the row."""
    return table([[*row, _at(value, i)] for i, row in enumerate(rows())], ("text", "label", name))


def texts(value: Callable[[int], str] | str) -> bytes:
    """The good table with other texts."""
    return table([[_at(value, i), label] for i, (_, label) in enumerate(rows())])


def jsonl(**changes: Callable[[int], Any] | Any) -> bytes:
    """The good rows as jsonl, with fields changed or added."""
    made = [
        {"text": text, "label": label} | {name: _at(value, i) for name, value in changes.items()}
        for i, (text, label) in enumerate(rows())
    ]
    return "\n".join(map(json.dumps, made)).encode()


def _at(value: Callable[[int], Any] | Any, i: int) -> Any:
    return value(i) if callable(value) else value


@dataclass
class Case:
    """A file of this name and content, loaded with these options.

    content  bytes, or a function that makes the file at a path
    says     a pattern of the error's message; or a check of the corpus, which must then be usable
    """

    id: str
    name: str
    content: bytes | Callable[[Path], Any]
    says: str | Check = lambda corpus: True
    options: dict[str, Any] = field(default_factory=dict)


def meets(call: Callable[[], Any], says: str | Check, folder: Path) -> Any:
    """The call gives what the check accepts, or an error of ours that says so; it harms nothing."""
    try:
        with harmless(folder):
            result = call()
    except AttnlibError as error:
        message = str(error)
        assert isinstance(says, str), message
        assert re.search(says, message, re.DOTALL), message
        assert 20 < len(message) < 1500, message
        assert "Traceback" not in message
        return None
    assert not isinstance(says, str), f"no error, but {result!r}"
    assert says(result), result
    return result
