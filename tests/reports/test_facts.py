"""What a page says of its run."""

from __future__ import annotations

import pytest

from attnlib.reports import facts


def test_papers_are_linked_by_web_addresses_alone() -> None:
    header = {"citation": ["A 2020", "B 2021", "C 2022"], "paper_url": ["https://a.org/1", "javascript:alert(1)"]}
    assert facts.papers({"header": header}) == [("A 2020", "https://a.org/1"), ("B 2021", ""), ("C 2022", "")]
    assert facts.papers({"header": {"citation": "A", "paper_url": "https://a.org"}}) == [("A", "https://a.org")]
    assert facts.papers({"header": {}}) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [({"train": 1234, "test": [3, 4]}, "train 1,234 · test 3, 4"), (None, "none"), ([0, 1], "0, 1")],
)
def test_values_read_as_a_reader_would_write_them(value: object, told: str) -> None:
    assert facts.words(value) == told
