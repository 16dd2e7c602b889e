"""Coloured text: escaped, readable, honest about what it leaves out."""

import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from attnlib.utils.errors import DataError
from attnlib.viz.prose import Html
from attnlib.viz.textmap import BLUE, ORANGE, STRONGEST, Scale, number, text_heatmap


def opacity(css):
    return float(re.fullmatch(r"rgba\(\d+,\d+,\d+,([\d.]+)\)", css)[1])


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(rgb) / 255]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_a_scale_is_blue_upwards_and_orange_below_its_centre():
    growing = Scale(0.0, 0.4)
    assert [growing.strength(v) for v in (0.0, 0.1, 0.4, 0.9)] == pytest.approx([0, 0.25, 1, 1])
    chance = Scale.probability(4)
    assert [chance.strength(v) for v in (0.0, 0.125, 0.25, 0.625, 1.0)] == pytest.approx([-1, -0.5, 0, 0.5, 1])
    assert chance.colour(1.0).startswith("rgba(0,114,178")
    assert chance.colour(0.0).startswith("rgba(213,94,0")
    assert opacity(chance.colour(0.0)) == STRONGEST
    assert opacity(chance.colour(0.25)) == 0


def test_a_scale_fits_its_values():
    assert Scale.of(np.array([0.1, 0.7])) == Scale(0.0, 0.7)
    assert Scale.of(np.array([-2.0, 1.0])) == Scale(-2.0, 2.0, 0.0)
    assert Scale.of(np.array([np.nan])).strength(np.nan) == 0
    assert Scale.of(np.zeros(3)).strength(0.0) == 0


@pytest.mark.parametrize("colour", [BLUE, ORANGE])
@pytest.mark.parametrize(("page", "ink"), [((255,) * 3, (17,) * 3), ((17,) * 3, (238,) * 3)])
def test_the_strongest_colour_leaves_text_readable_on_light_and_dark_pages(colour, page, ink):
    shown = [STRONGEST * c + (1 - STRONGEST) * p for c, p in zip(colour, page, strict=True)]
    bright, dark = sorted((luminance(shown), luminance(ink)), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.41234, "0.412"), (-1.239, "−1.24"), (-0.0, "0"), (12.345, "12.35"), (0.0, "0"), (1, "1"), (np.nan, "–")],
)
def test_numbers_are_short(value, told):
    assert number(value) == told


def test_whatever_a_text_holds_shows_as_text():
    nasty = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&amp;", "'", "\n", " "]
    html = str(
        text_heatmap(nasty, {"<i>a</i>": np.ones(6), "b": np.ones(6)}, head="<u>head</u>")
        + text_heatmap(nasty, {"<i>w</i>": np.ones(6)})
    )
    page = BeautifulSoup(html, "html.parser")
    assert not page.find_all(["script", "img", "i", "u"])
    assert all(set(tag.attrs) <= {"style", "title", "role", "aria-label"} for tag in page.find_all(True))
    words = [tag.get_text() for tag in page.find_all("bdi")]
    assert words == [*nasty[:4], "⏎", "␣"] * 2
    assert "<u>head</u>" in page.get_text()


def test_every_number_is_in_a_tooltip_and_rows_print_theirs():
    page = BeautifulSoup(
        str(text_heatmap(["good", "film"], {"attention": [0.75, 0.25], "p": [0.9, 0.4]})), "html.parser"
    )
    assert [tag["title"] for tag in page.find_all(title=True)] == [
        "good: attention 0.750, p 0.900",
        "film: attention 0.250, p 0.400",
    ]
    assert "0.750" in page.get_text()
    one = BeautifulSoup(str(text_heatmap(["good", "film"], [0.75, 0.25])), "html.parser")
    assert one.find(title=True)["title"] == "good: weight 0.750"
    assert "0.250" not in one.get_text(), "one row colours the words and keeps its numbers in the tooltips"
    assert one.find(title=True)["style"].count(Scale(0, 0.75).colour(0.75)) == 1


def test_the_legend_names_both_ends():
    scales = {"weight": Scale.probability(2, "bad <", "good")}
    page = BeautifulSoup(str(text_heatmap(["a", "b"], [0.2, 0.6], scales=scales)), "html.parser")
    assert "weight: 0 (bad <)  1 (good)" in " ".join(page.get_text().split("\n")).replace("\xa0", " ")


def test_a_long_text_is_cut_and_says_by_how_much():
    alpha = np.full(400, 1 / 400)
    html = text_heatmap(["w"] * 400, {"attention": alpha, "grad": -np.ones(400)}, limit=100)
    text = BeautifulSoup(str(html), "html.parser").get_text()
    assert "300 more tokens with 75% of the attention" in text
    assert "of the grad" not in text
    assert str(html).count("<bdi>") == 100


def test_marked_and_unknown_words_look_different():
    html = str(text_heatmap(["a", "b", "c"], [1, 2, 3], marked=[0, 1, 0], unknown_words=[0, 0, 1]))
    page = BeautifulSoup(html, "html.parser")
    plain, marked, unknown = (tag["style"] for tag in page.find_all(title=True))
    assert "underline" in marked
    assert "dotted" in unknown
    assert not re.search("underline|dotted", plain)
    assert "marked as decisive" in page.get_text()
    assert "unknown to the model" in page.get_text()


def test_word_pieces_join_their_word():
    page = BeautifulSoup(str(text_heatmap(["play", "##ing", "well"], [1, 2, 3])), "html.parser")
    assert "playing well" in page.get_text()
    rows = BeautifulSoup(str(text_heatmap(["play", "##ing"], {"a": [1, 2], "b": [1, 2]})), "html.parser")
    assert [re.search(r"margin:[^;\"]*", tag["style"])[0][-2:] for tag in rows.find_all(title=True)] == ["em", " 0"]


def test_what_does_not_fit_is_named():
    with pytest.raises(DataError, match=r"'a' has the shape \(2,\), the text 3 tokens"):
        text_heatmap(["x", "y", "z"], {"a": [1, 2]})
    with pytest.raises(DataError, match="scores of row 'a' are no numbers"):
        text_heatmap(["x"], {"a": [10**400]})
    with pytest.raises(DataError, match="'marked' has the shape"):
        text_heatmap(["x", "y"], [1, 2], marked=[True])


def test_a_terminal_gets_text_and_html_adds_up():
    both = text_heatmap(["x"], [0.5], head="one") + Html("<b>two</b>", "two")
    assert repr(both) == "one\nweight: x[0.500]\ntwo"
    assert both._repr_html_().endswith("<b>two</b>")
    assert repr(Html("<b>")) == "Html(3 characters)"
