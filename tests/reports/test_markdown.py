"""Markdown and maths without anything from outside."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from attnlib.reports.render import markdown, maths


def tags(html: str) -> list[str]:
    return [node.tag for node in ElementTree.fromstring(html).iter()]


def test_limits_stand_under_and_over_a_sum_of_its_own_line() -> None:
    assert "munderover" in tags(maths(r"\sum_{i=1}^T x_i", block=True))


@pytest.mark.parametrize("latex", [r"\nosuchthing{x}", r"a & b", r"\text{<img src=x onerror=alert(1)>}"])
def test_what_is_not_understood_is_shown_as_its_source(latex: str) -> None:
    from html import escape

    assert maths(latex) == f"<code>{escape(latex)}</code>"


def test_maths_is_found_in_markdown() -> None:
    html = markdown("a $x$ and\n\n$$y = \\sum_i x_i$$\n\n`$z$`", trusted=True)
    assert html.count("<math ") == 2
    assert '<math display="block">' in html
    assert "<code>$z$</code>" in html


def test_headings_have_anchors_that_are_unique_over_a_notebook() -> None:
    anchors = {"in-short"}
    first = markdown("# T\n\n## On $\\alpha$ & more", anchors, trusted=True)
    markdown("## On $\\alpha$ & more\n\n### `code`\n\n## ?", anchors, trusted=True)
    assert anchors == {"in-short", "t", "on-α-more", "on-α-more-2", "code", "section"}
    assert 'id="on-α-more"' in first
    assert 'href="#on-α-more"' in first


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[the paper](https://doi.org/10.1/x)", '<a href="https://doi.org/10.1/x">the paper</a>'),
        ("[next](01_tasc.ipynb)", '<span class="place">next</span>'),
        ("[x](javascript:alert(1))", '<span class="place">x</span>'),
        ("[up](#top)", '<a href="#top">up</a>'),
    ],
)
def test_links_lead_to_the_page_or_the_web_and_nowhere_else(source: str, shown: str) -> None:
    assert markdown(source, trusted=True) == f"<p>{shown}</p>\n"


def test_raw_html_passes_only_where_the_text_is_ours() -> None:
    assert "<b>x</b>" in markdown("<b>x</b>", trusted=True)
    assert "&lt;b&gt;x&lt;/b&gt;" in markdown("<b>x</b>", trusted=False)
