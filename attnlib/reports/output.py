"""What a notebook leaves behind: tables, figures, claims and the facts of its header, saved and shown at once.

`attnlib run` sets the folder in ATTNLIB_OUT; by hand, a notebook writes to `reports/<name>/interactive`.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.reports import matrix, tabular, theme
from attnlib.reports.parameters import check_injected
from attnlib.reports.theme import inline_svg
from attnlib.utils import files, paths
from attnlib.utils.errors import ConfigError
from attnlib.utils.extras import needs
from attnlib.viz.prose import emphasised, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STRICT = "ATTNLIB_STRICT"
"""Names a module whose `check(figure, name)` sees every figure: `tests.limits` in the kit's own tests."""
DPI = 160
"""Resolution of what is drawn as pixels inside a figure: clouds of many points."""


class Output:
    """A run's folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @classmethod
    def of(cls, notebook: str) -> Output:
        """Where this run of the notebook writes to; parameters that it does not have are refused."""
        if (ipython := sys.modules.get("IPython")) and (shell := ipython.get_ipython()):
            check_injected(shell.user_ns.get("In", ()))
        if (folder := paths.run_folder()) is not None:
            return cls(folder)
        base = paths.workplace()
        home = base / "reports" if os.access(base, os.W_OK) else Path(tempfile.mkdtemp(prefix="attnlib-"))
        return cls(home / _safe(notebook) / "interactive")

    def header(self, **facts: Any) -> None:
        """Facts for the report's header, in this order: corpus, sizes, seeds, device and whatever else matters."""
        self._write("header.json", jsonable(facts))

    def table(
        self,
        frame: pd.DataFrame,
        name: str,
        *,
        caption: str = "",
        digits: int = 3,
        folded: bool | None = None,
    ) -> None:
        """Save as `tables/<name>.parquet` and `.csv` and show it: escaped, with `digits` decimals.

        Columns with the same name or count in every row are named below the table, those without values are left
        out; what is saved and downloaded has all of them. A table of more than `tabular.FOLDED` rows is folded
        under its caption, unless `folded` says otherwise.
        """
        flat = frame.reset_index() if any(frame.index.names) else frame
        file = self._file("tables", name, "parquet")
        files.write(file, flat.to_parquet())
        files.write(file.with_suffix(".csv"), flat.to_csv(index=False))
        html = tabular.table_html(flat, name, caption, digits, folded)
        _show(html, flat.head(tabular.ROWS).to_string(), kind="table", name=name)

    def figure(self, figure: Figure, name: str, *, caption: str = "", alt: str = "") -> None:
        """Save as `figures/<name>.svg` and show. `alt` says in words what there is to see."""
        import matplotlib

        if strict := os.environ.get(STRICT):
            import_module(strict).check(figure, name)
        file = self._file("figures", name, "svg")
        drawn = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": name}):  # the same figure gives the same file
            figure.savefig(drawn, format="svg", bbox_inches="tight", dpi=DPI, metadata={"Date": None})
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close(figure)  # else the notebook would show it a second time
        files.write(file, drawn.getvalue())
        told = alt or caption or name
        svg = inline_svg(drawn.getvalue(), f"svg-{name}", told)
        _show(theme.fill("figure.html.j2", name=name, svg=svg, caption=caption), told, kind="figure", name=name)

    def short(self, sentences: Sequence[str]) -> None:
        """Write `short.json` and show *In short*: three to five sentences, which open the report.

        `**words**` are bold, `[words](#figure-name)` link to what shows them.
        """
        if isinstance(sentences, str) or not all(isinstance(one, str) and one.strip() for one in sentences):
            raise ConfigError(f"In short takes a list of sentences; got {sentences!r}.")
        self._write("short.json", list(sentences))
        shown = [emphasised(one) for one in sentences]
        html = theme.fill("short.html.j2", sentences=shown, style=theme.read("ledger.css"))
        _show(html, "\n".join(map(plain, sentences)), part="short")

    def claims(self, claims: Iterable[Mapping[str, Any] | Any]) -> None:
        """Write `claims.json` and show the ledger, which the report has at its top.

        A claim is a dict, or has `to_dict` (`studies.ledger.Claim`). Its `figure` names the figure or table that
        shows it: the two are linked.
        """
        rows = [jsonable(c.to_dict() if hasattr(c, "to_dict") else c) for c in claims]
        self._write("claims.json", rows)
        told = "\n".join(f"{row['verdict']}: {row['claim']}" for row in rows)
        _show(matrix.matrix_html(rows, style=True), told, part="claims")

    def _file(self, kind: str, name: str, suffix: str) -> Path:
        file = self.folder / kind / f"{_safe(name)}.{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _write(self, name: str, values: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False)
        files.write(self.folder / name, text + "\n")


def jsonable(value: Any) -> Any:
    """Plain JSON: NumPy scalars and tuples become Python's, what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | range):
        return [jsonable(item) for item in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _safe(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ConfigError(f"A file is named by letters, digits, _ and -; got {name!r}.")
    return name


def _show(html: str, text: str, **mark: str) -> None:
    """Display; `mark` tells the report what this is, see `render`."""
    display = needs("IPython.display", "notebooks").display
    display({"text/html": html, "text/plain": text}, metadata={"attnlib": mark} if mark else None, raw=True)
