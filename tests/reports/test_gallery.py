"""The gallery: finished reports as a static site."""

import json
import shutil

import pytest

from attnlib.reports import gallery as galleries
from attnlib.utils import paths
from attnlib.utils.errors import DataError

RUN = {"title": "A study", "status": "done", "profile": "cpu", "date": "2026-01-01T00:00:00+00:00", "seconds": 3.0}
EXPLORER = '<div class="attnlib-explorer" id="explorer-1"><div class="ax-place"></div></div>'


def write(out, notebook="00_quickstart", profile="cpu", status="done", page="<!--series--><!--/series-->"):
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


def stale(to):
    """The notebooks of the kit that the gallery in `to` lacks, or whose report there is of another structure."""
    held = json.loads((to / "gallery.json").read_text(encoding="utf-8"))
    return [
        notebook.stem
        for notebook in sorted(paths.notebooks().glob("[0-9][0-9]_*.ipynb"))
        if held.get(notebook.stem, {}).get("structure") != galleries.structure(notebook)
    ]


def test_reports_are_copied_with_an_index_and_an_explorer(tmp_path):
    write(tmp_path / "out")
    write(tmp_path / "out", "01_tasc")
    write(tmp_path / "out", "01_tasc", profile="smoke")
    write(tmp_path / "out", "02_tying_mlm", status="failed")
    (tmp_path / "site" / "reference").mkdir(parents=True)
    (tmp_path / "site" / "reference" / "index.html").touch()
    (tmp_path / "site" / "09_dropped").mkdir()
    held = galleries.gallery(tmp_path / "out", tmp_path / "site")
    assert not (tmp_path / "site" / "09_dropped").exists()
    assert sorted(held) == ["00_quickstart", "01_tasc"]
    files = sorted(
        p.relative_to(tmp_path / "site").as_posix() for p in (tmp_path / "site").rglob("*") if p.is_file()
    )
    kept = [f"{name}/cpu/{file}" for name in held for file in ("claims.json", "report.html", "run.json")]
    assert files == sorted([*kept, "index.html", "gallery.json", "reference/index.html"])
    page = (tmp_path / "site" / "index.html").read_text()
    assert EXPLORER in page
    assert "01_tasc/cpu/report.html" in page
    assert 'href="reference/index.html"' in page
    assert "../../01_tasc/cpu/report.html" in (tmp_path / "site/00_quickstart/cpu/report.html").read_text()


def test_a_notebook_that_moved_on_makes_it_stale(tmp_path, monkeypatch):
    here = tmp_path / "notebooks"
    here.mkdir()
    for name in ("00_quickstart", "01_tasc"):
        shutil.copy(paths.notebooks() / f"{name}.ipynb", here)
        write(tmp_path / "out", name)
    monkeypatch.setattr(paths, "notebooks", lambda: here)
    galleries.gallery(tmp_path / "out", tmp_path / "site")
    assert stale(tmp_path / "site") == []
    note = json.loads((here / "01_tasc.ipynb").read_text())
    note["cells"].pop()
    (here / "01_tasc.ipynb").write_text(json.dumps(note))
    shutil.copy(here / "00_quickstart.ipynb", here / "09_new.ipynb")
    assert stale(tmp_path / "site") == ["01_tasc", "09_new"]


def test_nothing_to_show(tmp_path):
    write(tmp_path / "out", profile="smoke")
    with pytest.raises(DataError, match="no finished report of profile 'cpu'"):
        galleries.gallery(tmp_path / "out", tmp_path / "site")


def test_a_gallery_stays_small(tmp_path, monkeypatch):
    write(tmp_path / "out", page="x" * 2000)
    monkeypatch.setattr(galleries, "LARGEST", 1000)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "kept").touch()
    with pytest.raises(DataError, match="may weigh"):
        galleries.gallery(tmp_path / "out", tmp_path / "site")
    assert (tmp_path / "site" / "kept").exists(), "what was there stays where nothing better comes"


def test_the_gallery_of_the_repository_is_not_stale():
    site = paths.workplace() / "reports" / "gallery"
    if not site.is_dir():
        pytest.skip("there is no gallery in this checkout")
    assert stale(site) == [], "make reports, then make gallery"
