"""What notebooks show: addresses, folders of the machine and bare objects go, colours follow the page."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest

from attnlib.reports import theme
from attnlib.viz import plots


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        ('<img src="https://a.b/c" alt="x">', '<img alt="x">'),
        ("<img src='//a.b/c' alt=x>", "<img alt=x>"),
        ("<img src=http://a.b/c alt=x>", "<img alt=x>"),
        ('<a href="#here">https://a.b</a>', '<a href="#here">https://a.b</a>'),
        ('<svg xmlns="http://www.w3.org/2000/svg" width="3">', '<svg width="3">'),
        ('<img src="data:image/png;base64,//8=">', '<img src="data:image/png;base64,//8=">'),
        ('text src="https://a.b" text', 'text src="https://a.b" text'),
    ],
)
def test_offline_takes_addresses_out_of_tags(tag: str, kept: str) -> None:
    assert theme.offline(tag) == kept


def test_notes_say_each_kind_once_and_name_no_folder_of_the_machine() -> None:
    said = "imdb: 3 of 212 test texts are training texts\n"
    library = "/x/lib/python3.11/site-packages/torch/nn.py:3: UserWarning: dropout\n  warnings.warn(\n"
    ours = f"/home/x/attnlib/spec.py:178: Unfinished: {said}  self.loaded = load(config)\n"
    more = said.replace("212", "1,300")
    found = theme.notes(
        [f"{library}{ours}and/or more\n{library}", f"{more}in /home/x/runs, see https://a.org/b/c\n"]
    )
    assert found == [(said.strip(), 2), ("and/or more", 1), ("in runs, see https://a.org/b/c", 1)]


@pytest.mark.parametrize("shown", ["<Axes: >", "[<m.Line2D at 0x7f0a>]", "Text(0.5, 1.0, 'a')", "0.75"])
def test_what_python_says_of_an_object_is_left_out(shown: str) -> None:
    from nbformat.v4 import new_output

    assert not theme.says_something(new_output("execute_result", {"text/plain": shown}))
    assert theme.says_something(new_output("display_data", {"text/plain": shown, "text/html": "<p>told</p>"}))


@pytest.mark.parametrize(
    ("html", "told"),
    [
        ("<p title='-1'>-1.5 [-.2, -3], (-4) x=-∞</p>", "<p title='-1'>−1.5 [−.2, −3], (−4) x=−∞</p>"),
        ("10-20, a-1, --2, 1e-05, 2026-01-02", "10-20, a-1, --2, 1e-05, 2026-01-02"),
        ("<code>-1</code><style>a{b:-1}</style> -1", "<code>-1</code><style>a{b:-1}</style> −1"),
    ],
)
def test_negative_numbers_have_a_minus(html: str, told: str) -> None:
    assert theme.minus(html) == told


def test_a_chart_follows_the_colours_of_its_page() -> None:
    frame = pd.DataFrame({"what": ["a", "b"], "value": [0.1, 0.9], "low": [0.0, 0.8], "high": [0.2, 1.0]})
    figure = plots.intervals(frame, "what", title="t", x="x")
    page = theme.inline_svg(figure.svg(), "x")
    fixed = set(re.findall(r"(?:fill|stroke): (#\w+)", page))
    assert fixed == {plots.COLOURS["blue"].lower()}, "nothing but the series has a colour of its own"
    assert "fill:currentColor" in page, "letters"
    assert "--jp-layout-color0" in page, "in JupyterLab too"
    assert "#ffffff" in figure.svg(), "the file stays as it was drawn"


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("page", ["#ffffff", "#14181e"])
def test_every_series_is_seen_on_light_and_dark_pages(page: str) -> None:
    assert page[:4] in theme.read("report.css")
    for colour in set(plots.CYCLE) - {"#000000"}:  # black follows the page
        low, high = sorted((luminance(page), luminance(colour)))
        assert (high + 0.05) / (low + 0.05) >= 3, colour


def test_a_page_with_an_explorer_needs_no_model() -> None:
    code = "import sys; from attnlib.reports import theme; theme.assets(explorer=True); "
    code += "assert not {'torch', 'pandas', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
