"""All runs together: the index, and the links between reports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from attnlib.reports import series
from attnlib.utils import paths
from attnlib.utils.errors import DataError
from tests.reports.debris import debris


def copied(finished: Path, folder: Path, **changed: object) -> Path:
    """A run like the finished one in another folder, with other values in its `run.json`."""
    shutil.copytree(finished, folder)
    run = json.loads((folder / "run.json").read_text()) | {"notebook": folder.parent.name} | changed
    (folder / "run.json").write_text(json.dumps(run))
    return folder


def test_the_index_lists_finished_folders_alone(finished: Path, tmp_path: Path) -> None:
    for name in ("cpu", "paper.part-0123abcd-12", "cpu.old-0123abcd-12"):
        shutil.copytree(finished, tmp_path / "90_demo" / name)
    listed = BeautifulSoup(series.index(tmp_path), "html.parser").select(".runs > li")
    (card,) = listed
    assert card.a["href"] == "90_demo/cpu/report.html"
    assert card.a.get_text() == "A demo of everything"
    said = " ".join(card.get_text(" ", strip=True).split())
    assert "✓ 2 reproduced ✗ 1 not reproduced ? 1 undetermined" in said
    assert re.search(r"90_demo · cpu ?\d+ .* UTC · ", said)


def test_a_damaged_folder_does_not_cost_the_index(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "90_demo" / "smoke")
    shutil.copytree(finished, tmp_path / "90_demo" / "broken")
    (tmp_path / "90_demo" / "broken" / "run.json").write_text('{"notebook": ')
    with pytest.warns(UserWarning, match="left out of the index"):
        page = series.index(tmp_path)
    assert len(BeautifulSoup(page, "html.parser").select(".runs > li")) == 1


def test_the_index_shows_every_claim_once_and_links_to_it(finished: Path, tmp_path: Path) -> None:
    for notebook, profile in (("90_demo", "smoke"), ("90_demo", "cpu"), ("92_more", "cpu")):
        copied(finished, tmp_path / notebook / profile, profile=profile, own=[])
    copied(finished, tmp_path / "90_demo" / "paper-mine", profile="paper", own=["seed"])
    page = BeautifulSoup(series.index(tmp_path), "html.parser")
    links = [link["href"] for link in page.select(".ledger .claim a")]
    assert links == [f"{name}/cpu/report.html#claim-c{k}" for name in ("90_demo", "92_more") for k in range(4)]
    assert [link["href"] for link in page.select(".glance a")] == links
    assert page.select_one(".glance a")["title"].startswith("reproduced: ")
    assert all(page.select(".ledger .answers .verdict"))
    assert "4 reproduced, 2 not reproduced, 2 undetermined" in page.select_one(".tally").get_text()


def test_the_index_answers_with_in_short_whose_links_lead_into_the_reports(finished: Path, tmp_path: Path) -> None:
    why, other = "**Partly.** See [why](#claim-c0).", "[0.2](#figure-flips), [b](../../91_b/cpu/report.html)."
    for notebook, said in (("90_demo", [why]), ("92_more", [other])):
        folder = copied(finished, tmp_path / notebook / "cpu", profile="cpu", own=[])
        (folder / "short.json").write_text(json.dumps(said))
    page = BeautifulSoup(series.index(tmp_path), "html.parser")
    assert page.select_one(".answer").get_text() == "Partly. See why."
    assert page.select_one(".answer").a["href"] == "90_demo/cpu/report.html#claim-c0"
    links = [link["href"] for link in page.select(".found > p a")]
    assert links[-2:] == ["92_more/cpu/report.html#figure-flips", "91_b/cpu/report.html"]


def test_papers_are_linked_by_web_addresses_alone() -> None:
    header = {"citation": ["A 2020", "B 2021", "C 2022"], "paper_url": ["https://a.org/1", "javascript:alert(1)"]}
    assert series.papers({"header": header}) == [("A 2020", "https://a.org/1"), ("B 2021", ""), ("C 2022", "")]
    assert series.papers({"header": {"citation": "A", "paper_url": "https://a.org"}}) == [("A", "https://a.org")]
    assert series.papers({"header": {}}) == []


RUN = {"title": "A study", "status": "done", "profile": "cpu", "date": "2026-01-01T00:00:00+00:00", "seconds": 3.0}
EXPLORER = '<div class="attnlib-explorer" id="explorer-1"><div class="ax-place"></div></div>'


def write_run(out, notebook="00_quickstart", profile="cpu", status="done", page="<p>page</p>"):
    folder = out / notebook / profile
    folder.mkdir(parents=True)
    run = RUN | {"notebook": notebook, "profile": profile, "status": status, "parameters": {"seeds": [0]}}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "claims.json").write_text("[]")
    (folder / "report.html").write_text(page)
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1}
    cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": EXPLORER}}]
    note = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (folder / "run.ipynb").write_text(json.dumps(note))
    (folder / "secret.parquet").write_text("not for the site")


def test_reports_are_copied_with_an_index_and_an_explorer(tmp_path):
    write_run(tmp_path / "out")
    write_run(tmp_path / "out", "01_tasc")
    write_run(tmp_path / "out", "01_tasc", profile="smoke")
    write_run(tmp_path / "out", "02_tying_mlm", status="failed")
    (tmp_path / "site" / "09_dropped").mkdir(parents=True)
    assert series.gallery(tmp_path / "out", tmp_path / "site") == ["00_quickstart", "01_tasc"]
    made = {p.relative_to(tmp_path / "site").as_posix() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    files = ("claims.json", "report.html", "run.json")
    assert made == {
        "index.html",
        *(f"{name}/cpu/{file}" for name in ("00_quickstart", "01_tasc") for file in files),
    }
    page = (tmp_path / "site" / "index.html").read_text()
    assert EXPLORER in page
    assert "01_tasc/cpu/report.html" in page


def test_nothing_to_show(tmp_path):
    write_run(tmp_path / "out", profile="smoke")
    with pytest.raises(DataError, match="no finished report of profile 'cpu'"):
        series.gallery(tmp_path / "out", tmp_path / "site")


SITE = paths.workplace() / "reports" / "gallery"
GALLERY = [SITE / "index.html", *sorted(SITE.glob("0*/*/report.html"))] if SITE.is_dir() else []


@pytest.mark.parametrize("file", GALLERY, ids=lambda file: file.parent.parent.name)
def test_no_debris_in_the_gallery(file):
    assert debris(file) == []
