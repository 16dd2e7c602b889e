"""What a notebook leaves behind: tables, figures, claims and the facts of its header, saved and shown at once.

    output = Output.of("01_tasc")
    output.header(corpus="imdb", sizes={"train": 17212}, seeds=[0, 1, 2], device="cpu")
    output.table(frame, "flips", caption="Share of decisions flipped by the top token.")
    output.figure(figure, "flips", caption="…", alt="Bars: lin flips most")
    output.claims(claims)

`attnlib run` says where by the variable ATTNLIB_OUT; by hand, a notebook writes to `reports/<name>/interactive`.
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
from dataclasses import asdict, is_dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.reports import tabular
from attnlib.reports.render import VERDICTS, inline_svg
from attnlib.reports.tabular import cell
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError, unknown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STRICT = "ATTNLIB_STRICT"
"""Environment variable: `1` makes a figure that cuts off its data an error (set for tests)."""
DPI = 160
"""Of what is drawn as pixels inside a figure: clouds of many points."""
CLAIM_FIELDS = ("id", "paper", "claim", "where", "setting", "effect", "low", "high", "n", "verdict")


class Output:
    """A run's folder. In a batch run a name may be used once; by hand, a cell may be run again."""

    def __init__(self, folder: str | Path, *, batch: bool = False) -> None:
        self.folder = Path(folder)
        self.batch = batch
        self._names: set[str] = set()

    @classmethod
    def of(cls, notebook: str | None = None) -> Output:
        """Where this run of the notebook writes to."""
        if (folder := paths.run_folder()) is not None:
            return cls(folder, batch=True)
        name = notebook or Path(os.environ.get("JPY_SESSION_NAME", "")).stem
        base = paths.workplace()
        if name and os.access(base, os.W_OK) and paths.notebooks().is_dir():
            return cls(base / "reports" / _safe(name) / "interactive")
        return cls(Path(tempfile.mkdtemp(prefix="attnlib-")))

    def header(self, **facts: Any) -> None:
        """Facts for the report's header, in this order: corpus, sizes, seeds, device and whatever else matters."""
        file = self.folder / "header.json"
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self._write(file, json.dumps({**known, **_plain(facts)}, ensure_ascii=False, indent=1).encode())

    def table(
        self,
        frame: pd.DataFrame,
        name: str,
        *,
        caption: str = "",
        digits: int = 3,
        rows: int = tabular.ROWS,
        keep: Sequence[str] = (),
        otherwise: str = "",
    ) -> None:
        """Save as `tables/<name>.parquet` and show it: escaped, `digits` decimals, `rows` rows at most.

        Columns without values, or with the same name or count in every row, are named below the table instead of
        being shown; those in `keep` are shown all the same. What is saved and downloaded has all of them. A table
        without rows is replaced by the sentence `otherwise`, where there is one.
        """
        if otherwise and not len(frame):
            return _show(f"<p>{escape(otherwise)}</p>", otherwise)
        flat = _flat_columns(frame)
        file = self._file("tables", name, "parquet")
        part = file.with_name(file.name + ".tmp")
        try:
            flat.to_parquet(part)
        except Exception as error:
            part.unlink(missing_ok=True)
            raise ConfigError(
                f"Table {name!r} cannot be saved as parquet: {error}. Give a column one type."
            ) from error
        part.replace(file)
        _show(tabular.table_html(flat, name, caption, digits, rows, keep), flat.head(rows).to_string())

    def figure(self, figure: Figure, name: str, *, caption: str = "", alt: str = "") -> None:
        """Save as `figures/<name>.svg` and show. `alt` says in words what there is to see."""
        import matplotlib

        from attnlib.viz.limits import outside

        if os.environ.get(STRICT) == "1" and (cut := outside(figure)):
            raise DataError(f"Figure {name!r} cuts off {len(cut)} of its artists: {cut[:3]}. Widen its limits.")
        file = self._file("figures", name, "svg")
        drawn = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": name}):  # the same figure gives the same file
            figure.savefig(drawn, format="svg", bbox_inches="tight", dpi=DPI, metadata={"Date": None})
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot:
            pyplot.close(figure)  # else the notebook would show it a second time
        self._write(file, drawn.getvalue().encode())
        told = escape(alt or caption or name, quote=True)
        svg = inline_svg(drawn.getvalue(), f"figure-{name}").replace(
            "<svg ", f'<svg role="img" aria-label="{told}" ', 1
        )
        shown = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        card = f'<div class="card scroll" style="overflow-x:auto">{svg}</div>'
        _show(f'<figure class="figure">{card}{shown}</figure>', alt or caption or name)

    def claims(self, claims: Iterable[Mapping[str, Any] | Any]) -> None:
        """Write `claims.json` and show the verdicts. A claim: dict or dataclass with CLAIM_FIELDS at least."""
        rows = [_plain(asdict(c) if is_dataclass(c) and not isinstance(c, type) else dict(c)) for c in claims]
        for row in rows:
            missing = [field for field in CLAIM_FIELDS if field not in row]
            if missing:
                raise ConfigError(
                    f"Claim {row.get('id', '?')!r} lacks {', '.join(missing)}. "
                    f"A claim has {', '.join(CLAIM_FIELDS)}."
                )
            if row["verdict"] not in VERDICTS:
                raise ConfigError(f"Claim {row['id']!r}: {unknown('verdict', row['verdict'], VERDICTS)}")
        ids = [row["id"] for row in rows]
        twice = sorted({str(i) for i in ids if ids.count(i) > 1})
        if twice:
            raise ConfigError(f"Claims share an id: {', '.join(twice)}. Give each its own.")
        text = json.dumps(rows, ensure_ascii=False, indent=1, allow_nan=False)
        self._write(self.folder / "claims.json", text.encode() + b"\n")
        _show(_claims_html(rows), "\n".join(f"{row['verdict']}: {row['claim']}" for row in rows))

    def _file(self, kind: str, name: str, suffix: str) -> Path:
        file = self.folder / kind / f"{_safe(name)}.{suffix}"
        if self.batch and str(file) in self._names:
            raise ConfigError(f"{kind}/{file.name} was written already in this run. Give each a name of its own.")
        self._names.add(str(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _write(self, file: Path, data: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(file.name + ".tmp")
        part.write_bytes(data)
        part.replace(file)


COLOURS = {
    "reproduced": "var(--good,var(--jp-success-color0,#006b4f))",
    "not reproduced": "var(--bad,var(--jp-error-color0,#a63c00))",
}
SOFT = "var(--soft,var(--jp-ui-font-color2,#5a6675))"
RULE = "border:0;border-bottom:1px solid var(--line,var(--jp-border-color2,#d9dee5));padding:.35rem .6rem"
"""Inline, with the colours of the report or of JupyterLab: a notebook knows nothing of the report's style sheet."""


def _claims_html(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        verdict = row["verdict"]
        badge = (
            f'<span class="verdict {verdict.replace(" ", "-")}" style="color:{COLOURS.get(verdict, SOFT)};'
            'font-weight:600;white-space:nowrap">'
            f'<span aria-hidden="true">{VERDICTS[verdict]}</span> {verdict}</span>'
        )
        source = ", ".join(str(row[k]) for k in ("paper", "where") if row[k])
        interval = "–" if row["low"] is None else f"{cell(row['low'], 3)} to {cell(row['high'], 3)}"
        claim = escape(str(row["claim"])) + _small("", row.get("note"))
        claim += _small("Decided by: ", row.get("test")) + _small("Measured on: ", row["setting"])
        count = cell(row["n"], 0) + _small("", row.get("n_of"))
        cells = (badge, claim, escape(source), escape(cell(row["effect"], 3)), escape(interval), count)
        lines.append(
            "<tr>"
            + "".join(
                f'<td class="{kind}" data-label="{name}" style="{RULE};{_aligned(kind)}">{html}</td>'
                for (name, kind), html in zip(LEDGER.items(), cells, strict=True)
            )
            + "</tr>"
        )
    head = "".join(
        f'<th scope="col" class="{kind}" style="{RULE};{_aligned(kind)}">{name}</th>'
        for name, kind in LEDGER.items()
    )
    return (
        '<figure class="claims" style="margin:1.2rem 0"><div class="scroll" tabindex="0" style="overflow-x:auto">'
        f'<table class="wide" style="border-collapse:collapse;line-height:1.4"><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div></figure>"
    )


LEDGER = {"verdict": "", "claim": "long", "source": "", "effect": "number", "interval": "number", "n": "number"}
"""Columns of the ledger: name and kind."""


def _aligned(kind: str) -> str:
    where = "text-align:right;white-space:nowrap" if kind == "number" else "text-align:left"
    return f"{where};vertical-align:top" + (";min-width:16rem;white-space:normal" if kind == "long" else "")


def _small(before: str, text: object) -> str:
    style = f"color:{SOFT};font-size:.9em;white-space:normal"
    return f'<div class="note" style="{style}">{before}{escape(str(text))}</div>' if text else ""


def _plain(value: Any) -> Any:
    """Plain JSON: NumPy scalars and tuples become Python's, what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | range):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _flat_columns(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_axis([_label(column) for column in frame.columns], axis=1)


def _label(column: Any) -> str:
    return " · ".join(str(part) for part in column if str(part)) if isinstance(column, tuple) else str(column)


def _safe(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ConfigError(f"A file is named by letters, digits, _ and -; got {name!r}.")
    return name


def _show(html: str, text: str) -> None:
    from IPython.display import display

    display({"text/html": html, "text/plain": text}, raw=True)
