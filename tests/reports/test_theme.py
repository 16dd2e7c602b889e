"""What notebooks show: folders of the machine go, colours follow the page."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest

from attnlib.reports import theme
from attnlib.viz import plots
from tests.viz.test_heatmap import luminance


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


@pytest.mark.parametrize("page", ["#ffffff", "#14181e"])
def test_every_series_is_seen_on_light_and_dark_pages(page: str) -> None:
    assert page[:4] in theme.read("report.css")
    for colour in set(plots.CYCLE) - {"#000000"}:  # black follows the page
        low, high = sorted(luminance([int(one[at : at + 2], 16) for at in (1, 3, 5)]) for one in (page, colour))
        assert (high + 0.05) / (low + 0.05) >= 3, colour


def test_a_page_with_an_explorer_needs_no_model() -> None:
    code = "import sys; from attnlib.reports import theme; theme.assets(explorer=True); "
    code += "assert not {'torch', 'pandas', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
