"""The ledger as a matrix: what a row says, what it folds away, what its picture shows."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from attnlib.reports import matrix
from attnlib.viz.prose import MARGIN, WIDTH

CLAIM = {
    "id": "a",
    "paper": "P & Q",
    "claim": "<i>more</i> is more",
    "where": "Table 2",
    "setting": "planted",
    "effect": -0.0191,
    "low": -0.0451,
    "high": 0.0072,
    "n": 12000,
    "verdict": "undetermined",
}
NEW = {
    "test": "the interval lies below zero",
    "size": "smaller",
    "paper_effect": -0.1521,
    "paper_where": "Table 4",
    "border": 0.0,
    "direction": "less",
    "unit": "fraction",
    "trainings": 36,
    "texts": 852,
    "df": 11.31,
    "p": 0.0132,
    "settles": "14 trainings per cell",
    "figure": "rise",
}


def rows(claims: list[dict], **options: object) -> list[BeautifulSoup]:
    return BeautifulSoup(matrix.matrix_html(claims, **options), "html.parser").select("tbody tr")


def told(node: BeautifulSoup, query: str) -> str:
    return " ".join(node.select_one(query).get_text(" ", strip=True).split())


def test_a_row_says_verdict_size_effect_and_what_it_is_from() -> None:
    (row,) = rows([CLAIM | NEW])
    assert row["id"] == "claim-a"
    assert told(row, ".answers") == "? undetermined < smaller"
    assert told(row, ".claim p") == "1. <i>more</i> is more"
    assert row.find("i") is None
    assert told(row, ".estimate") == "-0.019 [-0.045, 0.007]"
    assert told(row, ".aside") == "fraction · paper -0.152"
    assert told(row, ".from") == "852 texts × 36 trainings"


def test_rules_and_settings_fold_away_with_the_answer_first() -> None:
    (row,) = rows([CLAIM | NEW])
    assert told(row, "summary") == "What would settle it"
    assert [(d.dt.get_text(), d.dd.get_text()) for d in row.select("dl div")] == [
        ("What would settle it", "14 trainings per cell"),
        ("Decided by", "the interval lies below zero"),
        ("Measured on", "planted"),
        ("The paper's value", "-0.152 (Table 4)"),
        ("Test", "df = 11.3, p = 0.013"),
    ]


def test_a_claim_without_more_has_a_row_too() -> None:
    (row,) = rows([CLAIM | {"n_of": "pairs"}])
    assert told(row, ".answers") == "? undetermined"
    assert told(row, ".from") == "12,000 pairs"
    assert told(row, "summary") == "How it was decided"
    (row,) = rows([CLAIM | {"effect": None, "low": None, "high": None, "verdict": "not tested", "note": "no BERT"}])
    assert row.find("svg") is None
    assert told(row, "summary") == "Why not tested"
    assert row.select_one(".from").get_text() == ""


@pytest.mark.parametrize(
    ("anchors", "link"),
    [
        ({"figure-rise", "table-rise"}, "#figure-rise"),
        ({"table-rise"}, "#table-rise"),
        ({"figure-other"}, None),
    ],
)
def test_a_claim_links_to_its_figure_or_table_where_the_page_has_it(anchors: set[str], link: str | None) -> None:
    (row,) = rows([CLAIM | NEW], anchors=anchors)
    found = row.select_one(".behind > a")
    assert (found and found["href"]) == link


def marks(**options: object) -> BeautifulSoup:
    claim = {"effect": 0.1, "low": 0.0, "high": 0.2, "paper_effect": 0.4, "border": 0.0, "direction": "greater"}
    return rows([CLAIM | claim | options])[0].select_one(".picture")


def test_a_picture_holds_every_mark_on_one_axis() -> None:
    svg = marks(verdict="reproduced")
    left, right = MARGIN, WIDTH - MARGIN
    assert float(svg.select_one(".border")["x1"]) == left
    assert svg.select_one("path.paper")["d"].startswith(f"M{right:.1f} ")
    assert float(svg.select_one(".dot")["cx"]) == pytest.approx(left + 0.25 * (right - left), abs=0.1)
    assert [float(svg.select_one(".ours")[end]) for end in ("x1", "x2")] == [left, pytest.approx(75, abs=0.1)]
    assert "reproduced" in svg.svg["class"]
    assert svg.svg["aria-label"] == "effect 0.10, 95% CI [0.00, 0.20], border 0, the paper's 0.40"


@pytest.mark.parametrize(
    ("direction", "border", "start", "end"),
    [
        ("greater", 0.0, MARGIN, WIDTH),
        ("less", 0.4, 0, WIDTH - MARGIN),
        ("within", 0.4, MARGIN, WIDTH - MARGIN),
    ],
)
def test_the_claimed_side_is_shaded(direction: str, border: float, start: float, end: float) -> None:
    side = marks(direction=direction, border=border).select_one(".claimed")
    assert float(side["x"]) == start
    assert float(side["x"]) + float(side["width"]) == end


def test_a_picture_needs_an_effect_and_nothing_else() -> None:
    assert marks(effect=None).select_one("svg") is None
    bare = marks(low=None, high=None, paper_effect=None, direction=None)
    assert bare.select_one(".dot") is not None
    assert not bare.select(".ours, path.paper, .claimed")
    assert marks(effect=0.0, low=0.0, high=0.0, paper_effect=None).select_one(".dot") is not None, "a span of zero"


def test_the_studies_know_the_same_verdicts() -> None:
    from typing import get_args

    from attnlib.studies.ledger import Verdict

    assert get_args(Verdict) == tuple(matrix.VERDICTS)
