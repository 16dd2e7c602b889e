"""Cells and rows that are made when they are asked for, a block at a time: a source of millions stays in arrow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")
BLOCK = 1024


class Blocks(Sequence[T]):
    """`size` items, of which `read(start, stop)` gives some; the block that was read last is kept."""

    def __init__(self, size: int, read: Callable[[int, int], list[T]]) -> None:
        self._size, self._read = size, read
        self._first, self._kept = 0, []

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[i] for i in range(self._size)[place]]
        i = range(self._size)[place]
        if not self._first <= i < self._first + len(self._kept):
            self._first = i - i % BLOCK
            self._kept = self._read(self._first, min(self._first + BLOCK, self._size))
        return self._kept[i - self._first]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, self._size, BLOCK):
            yield from self._read(start, min(start + BLOCK, self._size))


class Joined(Sequence[T]):
    """Several sequences, one after the other, without a copy."""

    def __init__(self, parts: Sequence[Sequence[T]]) -> None:
        self._parts, self._starts = [part for part in parts if len(part)], []
        self._size = 0
        for part in self._parts:
            self._starts.append(self._size)
            self._size += len(part)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[i] for i in range(self._size)[place]]
        i = range(self._size)[place]
        part = bisect_right(self._starts, i) - 1
        return self._parts[part][i - self._starts[part]]

    def __iter__(self) -> Iterator[T]:
        for part in self._parts:
            yield from part
