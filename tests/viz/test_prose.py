"""Sentences: escaped, with interval and n."""

import pytest
from bs4 import BeautifulSoup

from attnlib.viz.prose import emphasised, say

NAN = float("nan")


def test_saying_escapes_and_makes_bold():
    said = say("a **<script>** b", "x < y & z")
    page = BeautifulSoup(str(said), "html.parser")
    assert [p.get_text() for p in page.find_all("p")] == ["a <script> b", "x < y & z"]
    assert page.b.get_text() == "<script>"
    assert not page.find_all("script")
    assert repr(said) == "a <script> b\nx < y & z"


@pytest.mark.parametrize(
    ("low", "high", "where"),
    [(0.01, 0.2, "above zero"), (-0.2, -0.01, "below zero"), (-0.1, 0.1, "which covers zero")],
)
def test_an_interval_stays_on_one_line():
    assert emphasised("by **0.12** [0.05, 0.19] <b>") == "by <b>0.12</b> [0.05,\N{NO-BREAK SPACE}0.19] &lt;b&gt;"
