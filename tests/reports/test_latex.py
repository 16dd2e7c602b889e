"""LaTeX of tables and heat maps: escaped, and with the colours of the page on white."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib.reports.latex import escaped, heatmaps_latex, table_latex
from attnlib.viz.textmap import text_heatmap


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
