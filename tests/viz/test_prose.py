"""Sentences: escaped, with interval and n."""

import pytest
from bs4 import BeautifulSoup

from attnlib.stats import Difference, Interval
from attnlib.viz.prose import points, say, share

NAN = float("nan")


def test_saying_escapes_and_makes_bold():
    said = say("a **<script>** b", "x < y & z")
    page = BeautifulSoup(str(said), "html.parser")
    assert [p.get_text() for p in page.find_all("p")] == ["a <script> b", "x < y & z"]
    assert page.b.get_text() == "<script>"
    assert not page.find_all("script")
    assert repr(said) == "a <script> b\nx < y & z"


def test_a_share_carries_its_interval_and_n():
    assert share(Interval(0.5, 0.4, 0.61, 1200)) == "**50.0%** (95% interval 40.0% to 61.0%; n = 1,200)"
    assert share(Interval(1.0, NAN, NAN, 1)) == "**100.0%** (n = 1, too few for an interval)"


@pytest.mark.parametrize(
    ("low", "high", "where"),
    [(0.01, 0.2, "above zero"), (-0.2, -0.01, "below zero"), (-0.1, 0.1, "which covers zero")],
)
def test_a_difference_says_on_which_side_of_zero_it_lies(low, high, where):
    told = points(Difference((low + high) / 2, low, high, 30, 0, 0.5))
    assert f"95% interval {100 * low:.1f} to {100 * high:.1f}, {where}; n = 30" in told


def test_a_difference_without_an_interval_claims_nothing():
    assert "too few for an interval" in points(Difference(0.5, NAN, NAN, 1, 0, NAN))
