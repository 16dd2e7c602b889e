"""Names registered once, looked up with a helpful error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from attnlib.utils.errors import UnknownName, unknown

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A read-mostly mapping from name to object.

    >>> rankings = Registry("ranking")
    >>> @rankings.register("alpha")
    ... def alpha(trace): ...
    >>> rankings["alhpa"]
    Traceback (most recent call last):
    attnlib.utils.errors.UnknownName: Unknown ranking 'alhpa'. Did you mean 'alpha'? Available: alpha.
    """

    def __init__(self, kind: str, *, hint: str = "") -> None:
        self.kind = kind
        self.hint = hint
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: hold the decorated object under `name`."""

        def add(item: T) -> T:
            if name in self._items:
                raise ValueError(f"The {self.kind} {name!r} is registered twice.")
            self._items[name] = item
            return item

        return add

    def __getitem__(self, name: str) -> T:
        try:
            return self._items[name]
        except (KeyError, TypeError):
            raise UnknownName(unknown(self.kind, name, self._items, hint=self.hint)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
