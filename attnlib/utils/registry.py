"""Names registered in one place, looked up with a helpful error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Generic, TypeVar

from attnlib.utils.errors import UnknownName, unknown

T = TypeVar("T")
Name = tuple[str, str]
"""Of a part: the kind of its registry, and its own."""


class Registry(Mapping[str, T], Generic[T]):
    """A read-mostly mapping from name to object.

    kinds  every registry of this process, by its kind
    home   the module that made this one, which others import to have it

    >>> rankings = Registry("ranking")
    >>> @rankings.register("alpha")
    ... def alpha(trace): ...
    >>> rankings["alhpa"]
    Traceback (most recent call last):
    attnlib.utils.errors.UnknownName: Unknown ranking 'alhpa'. Did you mean 'alpha'? Available: alpha.
    """

    kinds: ClassVar[dict[str, Registry]] = {}
    _watch: ClassVar[ContextVar[set[Name] | None]] = ContextVar("watch", default=None)

    def __init__(self, kind: str, *, hint: str = "") -> None:
        self.kind = kind
        self.hint = hint
        self.home = sys._getframe(1).f_globals["__name__"]
        self._items: dict[str, T] = {}
        Registry.kinds[kind] = self

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: hold the decorated object under `name`, in place of an earlier one (a cell is run twice)."""

        def add(item: T) -> T:
            self._items[name] = item
            return item

        return add

    def __getitem__(self, name: str) -> T:
        try:
            item = self._items[name]
        except (KeyError, TypeError):
            raise UnknownName(unknown(self.kind, name, self._items, hint=self.hint)) from None
        if (asked := Registry._watch.get()) is not None:
            asked.add((self.kind, name))
        return item

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


@contextmanager
def watched() -> Iterator[set[Name]]:
    """The names that are looked up meanwhile, in any registry."""
    token = Registry._watch.set(asked := set())
    try:
        yield asked
    finally:
        Registry._watch.reset(token)


@contextmanager
def lent(parts: Mapping[Name, Any]) -> Iterator[None]:
    """Hold these parts meanwhile, in place of what has their names."""
    before = {(kind, name): Registry.kinds[kind]._items.get(name) for kind, name in parts}
    for (kind, name), part in parts.items():
        Registry.kinds[kind]._items[name] = part
    try:
        yield
    finally:
        for (kind, name), part in before.items():
            if part is None:
                del Registry.kinds[kind]._items[name]
            else:
                Registry.kinds[kind]._items[name] = part
