"""`attnlib export`: every table and figure of a finished report as files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from attnlib.cli.main import main
from attnlib.reports.export import escaped, export, folder_of, heatmaps_latex, table_latex
from attnlib.utils.errors import ConfigError, UnknownName
from attnlib.viz.textmap import text_heatmap


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "reports" / "01_toy" / "cpu"
    for part in ("tables", "figures"):
        (place / part).mkdir(parents=True)
    pd.DataFrame({"a": ["x"], "b": [0.5]}).to_parquet(place / "tables" / "first.parquet")
    pd.DataFrame({"b": [1]}, index=pd.Index(["k"], name="key")).to_parquet(place / "tables" / "second.parquet")
    for kind in ("svg", "pdf"):
        (place / "figures" / f"rise.{kind}").write_text(kind)
    page = text_heatmap(["good"], [1.0]).html
    cell = {"cell_type": "code", "outputs": [{"data": {"text/html": [page]}}]}
    (place / "run.ipynb").write_text(json.dumps({"cells": [cell]}))
    (place / "run.json").write_text("{}")
    return place


def test_tables_as_csv_and_latex_and_heat_maps_with_them(folder, tmp_path):
    written = export(folder, "csv")
    assert [file.name for file in written] == ["first.csv", "second.csv"]
    assert (folder / "export" / "second.csv").read_text() == "key,b\nk,1\n"
    written = export(folder, "latex", tmp_path / "paper")
    assert [file.name for file in written] == ["first.tex", "second.tex", "heatmap_1.tex"]
    assert "colorbox" in (tmp_path / "paper" / "heatmap_1.tex").read_text()


def test_figures_are_copied_and_what_is_missing_is_said(folder):
    (file,) = export(folder, "pdf", only=["rise"])
    assert file.read_text() == "pdf"
    with pytest.raises(ConfigError, match="no png of rise"):
        export(folder, "png")
    with pytest.raises(UnknownName, match="rise"):
        export(folder, "svg", only=["raise"])
    with pytest.raises(ConfigError, match="latex"):
        export(folder, "tex")


def test_the_command_takes_a_folder_a_page_or_a_short_name(folder, monkeypatch):
    monkeypatch.chdir(folder.parent.parent.parent)
    for name in (str(folder), str(folder / "report.html"), "01_toy/cpu"):
        assert folder_of(Path(name)).resolve() == folder
    found = CliRunner().invoke(main, ["export", "01_toy/cpu", "--to", "csv", "--only", "first"])
    assert found.exit_code == 0, found.output
    assert "1 files in" in found.output
    wrong = CliRunner().invoke(main, ["export", "02_toy/cpu", "--to", "csv"])
    assert wrong.exit_code == 2
    assert "no finished report" in wrong.output


def test_a_table_has_the_rules_of_booktabs_and_escaped_cells():
    frame = pd.DataFrame({"model_name": ["α & β", "50%"], "value": [0.1234, np.nan], "n": [3, 4]})
    lines = table_latex(frame).splitlines()
    assert lines[1] == r"\begin{tabular}{lrr}"
    assert lines[3] == r"model name & value & n \\"
    assert lines[5] == r"$\alpha$ \& $\beta$ & 0.123 & 3 \\"
    assert lines[6] == r"50\% & -- & 4 \\"
    assert [lines[k] for k in (2, 4, 7)] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert escaped("\\{_}") == r"\textbackslash{}\{\_\}"


def test_a_heat_map_colours_words_or_numbers_below_them():
    one = text_heatmap(["great", "film_"], [1.0, 0.0], label="attention")
    (latex,) = heatmaps_latex(str(one))
    assert r"\colorbox[RGB]{64,149,197}{\strut great}" in latex
    assert r"\colorbox[RGB]{255,255,255}{\strut film\_}" in latex
    two = text_heatmap(["great", "film"], {"attention": [0.9, 0.1], "omission": [0.5, -0.5]})
    (latex,) = heatmaps_latex(f"<p>before</p>{two}<p>after</p>")
    assert latex.count(r"\shortstack") == 2
    assert r"\tiny 0.900" in latex
    assert r"\tiny -0.500" in latex
    assert "before" not in latex
    assert len(heatmaps_latex(str(one) + str(two))) == 2
