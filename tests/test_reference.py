"""The reference: every public name with an example and its formulas, on one page that needs no network."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import FunctionType

import pytest
from bs4 import BeautifulSoup

import attnlib as al
from attnlib.utils import paths
from tests import reference

NAMES = {anchor: thing for entries in reference.public().values() for anchor, thing in entries.items()}


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    return reference.write(tmp_path_factory.mktemp("site") / "reference").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def soup(page) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def section(soup: BeautifulSoup, anchor: str) -> str:
    """What the page says between the heading of a name and the next."""
    heading = soup.find(id=anchor)
    parts = [str(heading)]
    for part in heading.find_next_siblings():
        if part.name in ("h2", "h3"):
            break
        parts.append(str(part))
    return "".join(parts)


def test_the_public_surface_is_there():
    stub = ast.parse(Path(al.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = {name.name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert named - {"stats", "plots"} == {anchor for anchor in NAMES if "." not in anchor}
    told = {f"stats.{name}" for name in al.stats.__all__} - set(NAMES)
    assert all(f"`{name.removeprefix('stats.')}`" in al.stats.__doc__ for name in told), "constants, in the text"
    assert {"plots.training_curve", "plots.histogram"} <= set(NAMES)


@pytest.mark.parametrize("anchor", NAMES)
def test_a_name_has_an_entry_with_an_example_that_calls_it(anchor, soup):
    entry = BeautifulSoup(section(soup, anchor), "html.parser")
    examples = [example.get_text() for example in entry.select("pre.example")]
    assert examples, f"{anchor} has no example"
    if anchor not in ("Corpus", "Trace", "Fitted", "plots.Chart"):  # what a function gives: nobody makes them
        assert any(f"al.{anchor}(" in example or f"al.{anchor}." in example for example in examples)
    if isinstance(NAMES[anchor], FunctionType):
        assert f"def {anchor.rpartition('.')[2]}(" in entry.select_one("pre.head").get_text()


def test_formulas_are_mathml(page, soup):
    assert ".. math::" not in page
    assert ":math:" not in page
    assert soup.find(id="stats.jsd").find_next("math")["display"] == "block"
    assert "<math" in section(soup, "stats.kl")
    shown = [span for span in soup.select("span.maths") if not span.find("math")]
    assert not shown, "a formula that the converter does not know"


def test_nothing_comes_from_elsewhere(page, soup):
    for node in soup.find_all(True):
        for attribute in ("src", "href", "srcset", "data", "action", "poster"):
            value = node.get(attribute, "")
            assert not re.match(r"\s*(\w+:)?//", value) or node.name == "a", node
    assert not re.search(r"@import|url\(", page)
    assert "default-src 'none'" in soup.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]


def test_links_and_anchors_fit(soup):
    ids = [node["id"] for node in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in soup.select("a[href^='#']")} <= set(ids)


def test_a_docstring_is_text():
    html = reference.docstring(
        """Removes <b>all</b> & *more*: `x < y`, :math:`a_i < b`, `fit`, h_i * 2 * k.

        <i>name</i>  <script>alert(1)</script>
                     goes on
        other        more
        and a closing line

        .. math:: \\sum_i p_i

        >>> "<br>"
        '<br>'
        """
    )
    soup = BeautifulSoup(html, "html.parser")
    assert not soup.find(["b", "i", "script", "br"])
    assert [node.name for node in soup.find_all(recursive=False)] == ["p", "dl", "p", "span", "pre"]
    assert soup.em.get_text() == "more"
    assert soup.find("a", href="#fit").code.get_text() == "fit"
    assert [dd.get_text() for dd in soup.find_all("dd")] == ["<script>alert(1)</script> goes on", "more"]
    assert "h_i * 2 * k." in soup.p.get_text()
    assert "&lt;br&gt;" in html


def test_a_config_shows_its_fields(soup):
    text = BeautifulSoup(section(soup, "ModelConfig"), "html.parser").get_text()
    assert "projection: Literal['softmax', 'sparsemax', 'sparsegen', 'entmax', 'gumbel'] = 'softmax'" in text
    assert "Hidden layers of deep attention." in text
    assert "def replace(self, **changes: Any) -> Self" in text


def test_the_reference_of_the_repository_is_not_stale(soup):
    site = paths.workplace() / "reports" / "gallery" / "reference" / "index.html"
    if not site.is_file():
        pytest.skip("there is no reference in this checkout")
    held = BeautifulSoup(site.read_text(encoding="utf-8"), "html.parser")
    for what in ("[id]", "pre.example"):
        found, kept = ([node.get("id", node.get_text()) for node in one.select(what)] for one in (soup, held))
        assert kept == found, "make docs"
