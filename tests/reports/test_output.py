"""What a notebook leaves behind: saved, shown, escaped."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from matplotlib.figure import Figure

from attnlib.reports import output as report
from attnlib.utils.errors import ConfigError
from tests.reports.test_matrix import CLAIM as MADE_UP

CLAIM = MADE_UP | {"effect": np.float64(0.25), "low": 0.1, "high": 0.4, "n": np.int64(12000)}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[BeautifulSoup]:
    """What was displayed."""
    pages: list[BeautifulSoup] = []
    monkeypatch.setattr(
        report, "_show", lambda html, text, **mark: pages.append(BeautifulSoup(html, "html.parser"))
    )
    return pages


@pytest.fixture
def output(tmp_path: Path) -> report.Output:
    return report.Output(tmp_path)


def rows(page: BeautifulSoup) -> list[list[str]]:
    return [[cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")]


def test_a_table_is_saved_and_shown_escaped(
    output: report.Output, shown: list[BeautifulSoup], tmp_path: Path
) -> None:
    frame = pd.DataFrame(
        {
            "text": ["<script>alert(1)</script>", None],
            "mean_value": [0.123456, float("nan")],
            "tiny": [1e-9, 0.0],
            "n": [12345, 2],
            "flipped": [True, False],
            "models": pd.array([3, None], dtype="Int64"),
        }
    )
    output.table(frame, "flips", caption="A & <b>")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "tables" / "flips.parquet"), frame)
    (page,) = shown
    assert page.find("script") is None
    assert page.figcaption.get_text() == "A & <b>"
    assert rows(page) == [
        ["text", "mean value", "tiny", "n", "flipped", "models"],
        ["<script>alert(1)</script>", "0.123", "1.0e-09", "12,345", "yes", "3"],
        ["–", "–", "0.000", "2", "no", "–"],
    ]


def test_columns_that_say_nothing_are_named_below(
    output: report.Output, shown: list[BeautifulSoup], tmp_path: Path
) -> None:
    frame = pd.DataFrame(
        {
            "dataset": ["a", "a", "a"],
            "encoder": ["x", "x", "x"],
            "n": [80, 80, 80],
            "ours": [0.5, 0.5, 0.5],
            "paper": [np.nan] * 3,
            "paper's corpus": ["–"] * 3,
            "seed": [0, 1, 2],
        }
    )
    output.table(frame, "short")
    assert rows(shown[0])[0] == ["dataset", "ours", "seed"], "the first column and results stay"
    assert "encoder x; n 80." in shown[0].find(class_="note").get_text()
    assert list(pd.read_parquet(tmp_path / "tables" / "short.parquet")) == list(frame)
    assert b"paper" in base64.b64decode(shown[0].find("a")["href"].partition("base64,")[2])
    output.table(frame.head(2), "two_rows")
    assert rows(shown[1])[0] == ["dataset", "encoder", "n", "ours", "seed"], "they may agree by chance"
    output.table(frame.assign(encoder=["x", "y", "z"]), "told_apart")
    assert rows(shown[2])[0] == ["encoder", "ours", "seed"], "another column tells the rows apart"


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("|V|", [13686.0, np.nan, 12.0], ["13,686", "–", "12"]),
        ("share", [1.0, 0.0, 1.0], ["1.000", "0.000", "1.000"]),
        ("mean words", [22.406, 3.5, 104.25], ["22.4", "3.5", "104.2"]),
        ("texts", [1234.5, 2.25, 0.5], ["1,234", "2", "0"]),
        ("ours", [0.12345, -9.5, np.inf], ["0.123", "-9.500", "∞"]),
        ("p", [0.002, 0.0304, 1.0], ["0.002", "0.030", "1.00"]),
        ("p_holm", [0.0002, 0.0179, 0.34], ["< 0.001", "0.018", "0.34"]),
        ("p (Holm)", [0.0005, 0.01234, np.nan], ["< 0.001", "0.012", "–"]),
    ],
)
def test_numbers_have_the_digits_that_count(
    output: report.Output, shown: list[BeautifulSoup], name: str, values: list[float], told: list[str]
) -> None:
    output.table(pd.DataFrame({"row": ["a", "b", "c"], name: values}), "digits")
    assert [row[1] for row in rows(shown[0])[1:]] == told


def test_the_download_holds_the_whole_table(output: report.Output, shown: list[BeautifulSoup]) -> None:
    frame = pd.DataFrame({"x": range(120)})
    output.table(frame, "long")
    (page,) = shown
    assert len(rows(page)) == 51
    assert "50 of 120 rows" in page.get_text()
    link = page.find("a")
    assert link["download"] == "long.csv"
    data = base64.b64decode(link["href"].partition("base64,")[2])
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(data)), frame)


def test_an_index_with_a_name_is_kept(output: report.Output, shown: list[BeautifulSoup], tmp_path: Path) -> None:
    output.table(pd.DataFrame({"f1": [0.5]}, index=pd.Index(["lstm"], name="encoder")), "named")
    assert rows(shown[0]) == [["encoder", "f1"], ["lstm", "0.500"]]
    assert list(pd.read_parquet(tmp_path / "tables" / "named.parquet")) == ["encoder", "f1"]


def draw() -> Figure:
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1])
    return figure


def test_a_figure_is_saved_and_shown_with_words(
    output: report.Output, shown: list[BeautifulSoup], tmp_path: Path
) -> None:
    output.figure(draw(), "rise", caption="It <rises>", alt='A line "up"')
    output.figure(draw(), "again")
    assert (tmp_path / "figures" / "rise.svg").read_text().startswith("<?xml")
    first, second = shown
    assert first.svg["aria-label"] == 'A line "up"'
    assert first.svg["role"] == "img"
    assert first.figcaption.get_text() == "It <rises>"
    ids = [[tag["id"] for tag in page.find_all(id=True)] for page in shown]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1]), "two figures of a page share no id"
    used = {tag["href"] for tag in first.find_all("use")}
    assert used
    assert used <= {f"#{i}" for i in ids[0]}
    assert "http" not in str(second)


def test_claims_are_written_as_plain_json_and_shown(
    output: report.Output, shown: list[BeautifulSoup], tmp_path: Path
) -> None:
    nothing = {name: float("nan") for name in ("effect", "low", "high")}
    output.claims([CLAIM, {**CLAIM, **nothing, "id": "b", "verdict": "undetermined"}])
    first, second = json.loads((tmp_path / "claims.json").read_text())
    assert first == {**CLAIM, "effect": 0.25, "n": 12000}
    assert second["effect"] is None
    (page,) = shown
    assert "<i>more</i> is more" in page.get_text()
    assert page.find("style") is not None, "a notebook has no style sheet of ours"


def test_in_short_is_written_and_shown_escaped(
    output: report.Output, shown: list[BeautifulSoup], tmp_path: Path
) -> None:
    output.short(["**Yes**, by 0.12 <script>", "No."])
    assert json.loads((tmp_path / "short.json").read_text()) == ["**Yes**, by 0.12 <script>", "No."]
    assert [item.get_text() for item in shown[0].find_all("li")] == ["Yes, by 0.12 <script>", "No."]
    for wrong in ("one text", ["", "x"], [3]):
        with pytest.raises(ConfigError, match="a list of sentences"):
            output.short(wrong)


@pytest.mark.parametrize(
    ("rows", "folded", "kept"), [(21, None, True), (20, None, False), (21, False, False), (1, True, True)]
)
def test_a_long_table_is_folded(
    output: report.Output, shown: list[BeautifulSoup], rows: int, folded: bool | None, kept: bool
) -> None:
    output.table(pd.DataFrame({"x": range(rows)}), "some", caption="c", folded=folded)
    assert (shown[0].find("details") is not None) is kept
    assert shown[0].figcaption.find_parent("details") is None, "the caption is always seen"


@pytest.mark.parametrize("name", ["../up", "a/b", "", "a b", ".hidden"])
def test_a_name_is_no_path(output: report.Output, name: str) -> None:
    with pytest.raises(ConfigError, match="letters, digits"):
        output.table(pd.DataFrame({"x": [1]}), name)


def test_where_a_run_writes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNLIB_OUT", str(tmp_path / "run"))
    assert report.Output.of("00_x").folder == tmp_path / "run"
    monkeypatch.delenv("ATTNLIB_OUT")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("ATTNLIB_NOTEBOOKS", str(tmp_path / "notebooks"))
    assert report.Output.of("00_x").folder == tmp_path / "reports" / "00_x" / "interactive"
