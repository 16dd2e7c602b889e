"""The report as a page: complete, escaped, alone; and how it looks in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from attnlib.reports import render
from tests.browser import browser, needs_browser  # noqa: F401
from tests.reports.debris import debris


@pytest.fixture(scope="module")
def text(finished: Path) -> str:
    return (finished / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def test_no_debris(finished: Path) -> None:
    assert debris(finished / "report.html") == []


def test_texts_are_shown_as_texts(page: BeautifulSoup) -> None:
    main = page.find("main")
    assert main.find("script") is None
    for shown in ("<script>alert(1)</script>", "<script>alert(2)</script> other"):
        assert shown in main.get_text()
    told = " ".join(node.get_text() for node in main.select(".output, pre.text"))
    assert "warned" not in told, "standard error is for programmers, but for the kit's own warnings"
    assert "Slider(dead)" not in told, "a widget needs a static twin"
    assert "<script>alert(4)</script>" in main.get_text(), "markdown of an output is not trusted"
    assert "What <b>people</b> wrote" in [caption.get_text() for caption in main.find_all("figcaption")]
    assert "<u>claim</u> 0" in main.get_text()


def test_only_the_script_of_the_page_may_run(page: BeautifulSoup) -> None:
    import base64
    import hashlib

    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    (script,) = page.find_all("script")
    digest = base64.b64encode(hashlib.sha256(script.get_text().encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;"), "nothing is loaded"
    assert f"script-src 'sha256-{digest}'" in policy


def test_the_header_says_what_was_run(page: BeautifulSoup, finished: Path) -> None:
    facts = {div.dt.get_text(): div.dd.get_text() for div in page.select(".facts > div")}
    assert facts["Corpus"] == "other"
    assert facts["Sizes"] == "train 1,234"
    assert facts["Seeds"] == "0, 1, 2"
    assert facts["Device"] == "cpu"
    assert facts["Profile"] == "cpu"
    assert facts["Versions"].startswith("attnlib ")
    assert "torch " in facts["Versions"]
    assert {"Duration", "Date"} <= set(facts)
    changed = [row.th.get_text() for row in page.select(".parameters tr.changed")]
    assert changed == ["corpus", "rate", "seeds"]
    assert page.select_one(".byline a.paper")["href"] == "https://doi.org/10.1/x"
    assert "Paper_url" not in facts
    assert page.title.get_text() == "A demo of everything · cpu"
    assert page.select_one(".verdicts").get_text(" ", strip=True).split() == (
        "✓ 2 reproduced ✗ 1 not reproduced ? 1 undetermined".split()
    )


def test_the_answer_comes_first_and_contents_lead_to_sections(page: BeautifulSoup) -> None:
    main = page.find("main")
    links = [link["href"] for link in page.select(".toc a")]
    assert links == ["#in-short", "#ledger", "#tables", "#figures", "#figures-2"]
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)
    assert page.select_one("math[display=block] munderover") is not None
    order = [node.name if node.name == "h1" else node["id"] for node in main.find_all(["h1", "h2"])]
    assert order == ["h1", "in-short", "ledger", "tables", "figures", "figures-2"]
    sentences = [item.get_text() for item in main.select(".short li")]
    assert sentences == ["It <i>holds</i>.", "Really."]
    assert main.select_one(".short b").get_text() == "holds"
    assert len(main.select(".ledger tbody tr")) == 4


def test_claims_and_figures_link_to_each_other(page: BeautifulSoup) -> None:
    links = [row.select_one(".behind > a") for row in page.select(".ledger tbody tr")]
    assert [link and link["href"] for link in links] == ["#figure-first", "#figure-first", "#table-texts", None]
    assert all(page.find(id=link["href"][1:]) for link in links if link)
    back = {
        figure["id"]: [a["href"] for a in figure.select(".backlinks a")] for figure in page.select("figure[id]")
    }
    assert back == {"figure-first": ["#claim-c0", "#claim-c1"], "figure-second": [], "table-texts": ["#claim-c2"]}
    assert all(page.find(id=link[1:]) for links in back.values() for link in links)


def test_code_is_there_but_hidden_and_some_cells_are_left_out(page: BeautifulSoup) -> None:
    code = [cell.get_text() for cell in page.select(".input")]
    assert any("derived = " in source for source in code)
    assert not any("Parameters" in source and "other" in source for source in code), "injected by papermill"
    assert "left out" not in page.get_text()
    assert page.find(id="show-code") is not None
    style = page.find("style").get_text()
    assert ".input { display: none; }" in style
    assert "body:has(#show-code:checked) .input { display: block; }" in style


def test_a_failed_run_says_so(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "90_demo" / "cpu"
    shutil.copytree(finished, folder)
    run = json.loads((folder / "run.json").read_text())
    run |= {"status": "failed", "cell": 3, "total": 9, "error": "ValueError: <b>no</b>"}
    (folder / "run.json").write_text(json.dumps(run))
    alert = BeautifulSoup(render.report(folder), "html.parser").find(role="alert")
    assert "This run failed in cell 3 of 9." in alert.get_text(" ", strip=True)
    assert "ValueError: <b>no</b>" in alert.get_text()


SEEN = """(() => {
  const root = document.documentElement;
  const style = (query) => getComputedStyle(document.querySelector(query));
  const rights = [...document.querySelectorAll(".ledger td")].map((cell) => cell.getBoundingClientRect().right);
  const seen = { width: root.clientWidth, needed: root.scrollWidth, ledger: Math.max(...rights),
    code: style(".input").display, contents: style(".toc").display !== "none",
    paper: style("body").backgroundColor, chart: style("figure svg path").fill, letters: style("figure svg").fill };
  document.getElementById("show-code").click();
  document.getElementById("theme").click();
  return { ...seen, clicked: style(".input").display, theme: root.dataset.theme };
})()"""


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_in_a_browser(finished: Path, browser, width: int, dark: bool) -> None:  # noqa: F811
    colours = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.send("Emulation.setEmulatedMedia", features=[colours])
    browser.send("Emulation.setScrollbarsHidden", hidden=True)
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=dark)
    browser.open((finished / "report.html").as_uri())
    seen = browser.run(SEEN)
    assert seen["width"] == width
    assert seen["needed"] <= width, "nothing sticks out sideways"
    assert (seen["code"], seen["clicked"]) == ("none", "block")
    assert seen["contents"] == (width > 1000), "a column on a desk, folded away on a phone"
    assert seen["paper"] == ("rgb(20, 24, 30)" if dark else "rgb(255, 255, 255)")
    assert seen["theme"] == ("light" if dark else "dark"), "the button turns it round"
    assert seen["chart"] == seen["paper"], "a chart has the page's own ground"
    assert seen["letters"] == ("rgb(228, 232, 238)" if dark else "rgb(28, 36, 48)")
    assert 0 < seen["ledger"] <= width, "effect, interval and n are seen without scrolling"
