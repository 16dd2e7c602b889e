"""The report as a page: complete, escaped, alone; and how it looks in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from attnlib.reports import execute, render, series, tabular
from attnlib.reports.plan import plans
from tests.browser import CHROMIUM, needs_browser
from tests.reports.debris import debris

ADDRESS = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


def external(text: str) -> list[str]:
    """Every address that a page would load or point to outside itself, but for the links to its papers."""
    page = BeautifulSoup(text, "html.parser")
    found = [
        f"{tag.name} {name}={value}"
        for tag in page.find_all(lambda tag: tag.get("class") != ["paper"])
        for name, value in tag.attrs.items()
        if name != "content"
        and tag.get("class") != ["paper"]
        and ADDRESS.match(value if isinstance(value, str) else " ".join(value))
    ]
    styles = [style.get_text() for style in page.find_all("style")]
    styles += [str(tag["style"]) for tag in page.find_all(style=True)]
    for style in styles:
        found += re.findall(r"@import[^;]*|url\(\s*['\"]?(?!#|data:)[^)]*\)", style)
    found += [str(tag) for tag in page.find_all(["iframe", "object", "embed", "base"])]
    found += [str(tag) for tag in page.find_all("link") if not tag.get("href", "").startswith("data:")]
    found += [str(tag) for tag in page.find_all("script") if tag.get("src")]
    return found


@pytest.fixture(scope="module")
def text(finished: Path) -> str:
    return (finished / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def test_the_finder_of_external_addresses_finds_them() -> None:
    loads = [
        '<img src="https://a.b/c.png">',
        "<link rel=stylesheet href='//a.b/c.css'>",
        '<script src="x.js"></script>',
        "<style>@import 'a.css';</style>",
        '<p style="background:url(http://a.b/c)">',
        '<svg><use xlink:href="https://a.b/c#d"></use></svg>',
        '<a href="https://a.b">a</a>',
        "<iframe></iframe>",
    ]
    for one in loads:
        assert external(one), one
    assert external('<a href="#x">https://a.b</a><img src="data:image/png;base64,//8=">') == []


def test_nothing_comes_from_outside(text: str, finished: Path) -> None:
    assert external(text) == []
    assert external(series.index(finished.parent.parent)) == []
    assert "spy" in text, "the image's words stay, its address goes"


def test_texts_are_shown_as_texts(page: BeautifulSoup) -> None:
    main = page.find("main")
    assert main.find("script") is None
    for shown in ("<script>alert(1)</script>", "<script>alert(2)</script> other", "<i>warned</i>"):
        assert shown in main.get_text()
    assert "<script>alert(4)</script>" in main.get_text(), "markdown of an output is not trusted"
    assert "What <b>people</b> wrote" in [caption.get_text() for caption in main.find_all("figcaption")]
    assert "<u>claim</u> 0" in main.get_text()


DIRTY = [
    ("code", "seed = 0", ["parameters"]),
    ("code", "from attnlib.reports.output import Output\noutput = Output.of('94_dirty')", []),
    ("markdown", "## Starts with -1.5", []),
    ("code", "import warnings, pandas as pd\nfor k in range(3): warnings.warn(f'lost {k} of 9')", []),
    ("code", "print('Corpus(texts)')\nprint('kept, between -1 and 1')", []),
    ("code", "print(pd.Series([1.5, 2]))", []),
    ("code", "object()", []),
    ("code", "pd.Series([1, 2])", []),
    ("code", "output.table(pd.DataFrame({'a': ['x', 'y'], 'b': [-0.25, 0.5]}), 'few', caption='At -3%.')", []),
    ("markdown", "## In short", []),
    ("code", "output.short(['By -0.2 [-0.3, -0.1], see `a-1`.'])\noutput.claims([])", []),
    ("markdown", "## The end", []),
]  # fmt: skip


def test_no_debris(series: Path, write_notebook: Any) -> None:
    write_notebook(series / "notebooks" / "94_dirty.ipynb", DIRTY)
    (one,) = plans(["94_dirty"], "smoke", [])
    file = execute.run(one, series / "reports", "serial", 1).report
    assert debris(file) == []
    page = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
    assert [h["id"] for h in page.find_all("h2")] == ["in-short", "starts-with-1-5"]
    assert "lost 0 of 9 (3 times" in page.select_one(".run").get_text()
    assert page.select_one("pre.text").get_text() == "kept, between −1 and 1\n"
    assert "−0.25" in page.select_one("td.number").get_text()
    assert "−0.2 [−0.3" in page.select_one(".short").get_text()
    assert page.select_one("footer").get_text().count("run.ipynb") == 1
    dirty = file.with_name("dirty.html")
    dirty.write_text(
        "<main><h2>Empty</h2><h2>A</h2><pre class='text stderr'>a.py:3: Odd: x</pre>"
        "<pre class='text'>Corpus(1)</pre><p>See Claims at the top of this report. The values below: -3. "
        "It used to be. <code>figures/x.svg</code></p></main>"
    )
    assert len(debris(dirty)) == 9


def test_only_the_script_of_the_page_may_run(page: BeautifulSoup) -> None:
    import base64
    import hashlib

    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    (script,) = page.find_all("script")
    digest = base64.b64encode(hashlib.sha256(script.get_text().encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
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


def test_the_answer_comes_first(page: BeautifulSoup) -> None:
    main = page.find("main")
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


def test_contents_lead_to_sections(page: BeautifulSoup) -> None:
    links = [link["href"] for link in page.select(".toc a")]
    assert links == ["#in-short", "#ledger", "#tables", "#figures", "#figures-2"]
    assert all(page.find(id=link[1:]) for link in links)


def test_ids_are_unique(page: BeautifulSoup) -> None:
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_maths_is_mathml(page: BeautifulSoup) -> None:
    assert len(page.find_all("math")) == 2
    assert page.select_one("math[display=block] munderover") is not None


def test_code_is_there_but_hidden_and_some_cells_are_left_out(page: BeautifulSoup) -> None:
    code = [cell.get_text() for cell in page.select(".input")]
    assert any("derived = " in source for source in code)
    assert not any("Parameters" in source and "other" in source for source in code), "injected by papermill"
    assert "left out" not in page.get_text()
    assert page.find(id="show-code") is not None
    style = page.find("style").get_text()
    assert ".input { display: none; }" in style
    assert "body:has(#show-code:checked) .input { display: block; }" in style


def test_widgets_without_a_static_twin_do_not_appear(page: BeautifulSoup) -> None:
    shown = [node.get_text() for node in page.select("main .output, main pre.text")]
    assert any("kept" in text for text in shown)
    assert not any("Slider(dead)" in text for text in shown)


def test_a_failed_run_says_so(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "90_demo" / "cpu"
    shutil.copytree(finished, folder)
    run = json.loads((folder / "run.json").read_text())
    run |= {"status": "failed", "cell": 3, "total": 9, "error": "ValueError: <b>no</b>"}
    (folder / "run.json").write_text(json.dumps(run))
    alert = BeautifulSoup(render.report(folder), "html.parser").find(role="alert")
    assert "This run failed in cell 3 of 9." in alert.get_text(" ", strip=True)
    assert "ValueError: <b>no</b>" in alert.get_text()


def browse(page: str, folder: Path, width: int, *flags: str) -> str:
    file = folder / f"page-{width}.html"
    file.write_text(page, encoding="utf-8")
    quiet = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    quiet += " disable-component-update disable-sync hide-scrollbars disable-dev-shm-usage"
    command = [CHROMIUM, *(f"--{flag}" for flag in quiet.split()), f"--user-data-dir={folder / 'profile'}"]
    command += [f"--window-size={width},844", *flags, file.as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ended.stdout


MEASURE = """<script>
addEventListener("load", function () {
  var root = document.documentElement, loaded = performance.getEntriesByType("resource").map(function (entry) {
    return entry.name; }).filter(function (name) { return name.slice(0, 5) !== "data:"; });
  var shown = function (query) { return getComputedStyle(document.querySelector(query)).display !== "none"; };
  var seen = { width: root.clientWidth, needed: root.scrollWidth, loaded: loaded, code: shown(".input"),
    contents: shown(".toc"), paper: getComputedStyle(document.body).backgroundColor,
    chart: getComputedStyle(document.querySelector("figure svg path")).fill,
    letters: getComputedStyle(document.querySelector("figure svg")).fill,
    ledger: Math.max.apply(null, Array.from(document.querySelectorAll(".ledger td")).map(function (cell) {
      return cell.getBoundingClientRect().right; })) };
  document.getElementById("show-code").click();
  seen.clicked = shown(".input");
  document.getElementById("theme").click();
  seen.theme = root.dataset.theme;
  parent.document.body.textContent = JSON.stringify(seen);
});
</script></body>"""


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_in_a_browser(text: str, tmp_path: Path, width: int, dark: bool) -> None:
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')  # it would forbid our measuring too
    flags = ["--blink-settings=preferredColorScheme=0"] if dark else []
    inner = html.escape(policy.sub("", text).replace("</body>", MEASURE))
    frame = f'<!DOCTYPE html><iframe width="{width}" height="844" style="border:0" srcdoc="{inner}"></iframe>'
    measured = browse(frame, tmp_path, 1400, "--dump-dom", *flags)  # a window itself is never narrower than 500
    seen = json.loads(html.unescape(re.search(r"<body[^>]*>(.*)</body>", measured, re.DOTALL)[1]))
    assert seen["width"] == width
    assert seen["needed"] <= width, "nothing sticks out sideways"
    assert seen["loaded"] == []
    assert (seen["code"], seen["clicked"]) == (False, True)
    assert seen["contents"] == (width > 1000), "a column on a desk, folded away on a phone"
    assert seen["paper"] == ("rgb(20, 24, 30)" if dark else "rgb(255, 255, 255)")
    assert seen["theme"] == ("light" if dark else "dark"), "the button turns it round"
    assert seen["chart"] == seen["paper"], "a chart has the page's own ground"
    assert seen["letters"] == ("rgb(228, 232, 238)" if dark else "rgb(28, 36, 48)")
    assert 0 < seen["ledger"] <= width, "effect, interval and n are seen without scrolling"


@needs_browser
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext")
def test_print_breaks_no_number(text: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({f"a longer name {k}": [1234.5678 + k, 98765.4321 * k] for k in range(13)})
    page = re.sub(r"(<main[^>]*>)", lambda found: found[1] + tabular.table_html(frame, "wide"), text)
    browse(page, tmp_path, 1280, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    read = ["pdftotext", "-layout", "-l", "1", str(tmp_path / "page.pdf"), "-"]
    words = subprocess.run(read, capture_output=True, text=True, check=True).stdout.split()
    assert {f"{98765.4321 * k:,.0f}" for k in range(1, 13)} <= set(words)


@needs_browser
def test_a_screenshot_and_a_print_are_not_blank(text: str, tmp_path: Path) -> None:
    from matplotlib.image import imread

    browse(text, tmp_path, 1280, f"--screenshot={tmp_path / 'page.png'}")
    picture = imread(tmp_path / "page.png")[..., :3].mean(-1)
    assert picture.shape == (844, 1280)
    ink = picture < 0.5
    assert 0.002 < ink.mean() < 0.4
    assert ink[:, :330].any(), "the contents"
    assert ink[:, 330:].any(), "the text"
    browse(text, tmp_path, 1280, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    data = (tmp_path / "page.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert len(data) > 20_000
