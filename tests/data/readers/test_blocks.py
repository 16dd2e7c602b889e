"""Blocks: what they hold, and how little of it they read."""

import pytest

from attnlib.data.readers.base import BLOCK, Blocks


def numbers(n):
    """0 … n - 1, and the list of what was read."""
    read = []

    def block(start, stop):
        read.append((start, stop))
        return list(range(start, stop))

    return Blocks(n, block), read


def test_blocks_are_the_items_in_order():
    items, _ = numbers(2 * BLOCK + 3)
    assert list(items) == list(range(2 * BLOCK + 3))
    assert items[-1] == 2 * BLOCK + 2
    assert items[3:6] == [3, 4, 5]
    with pytest.raises(IndexError):
        items[2 * BLOCK + 3]


def test_a_block_is_read_once_while_it_is_used():
    items, read = numbers(10 * BLOCK)
    assert [items[i] for i in range(BLOCK + 1)] == list(range(BLOCK + 1))
    assert read == [(0, BLOCK), (BLOCK, 2 * BLOCK)]
    assert items[9 * BLOCK] == 9 * BLOCK
    assert read[2:] == [(9 * BLOCK, 9 * BLOCK + 1)], "one of a draw at random"
