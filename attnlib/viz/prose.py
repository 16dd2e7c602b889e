"""Sentences computed from data, as escaped HTML."""

from __future__ import annotations

import re
from html import escape

from attnlib.viz.textmap import Html


def emphasised(sentence: str) -> str:
    """A sentence as HTML: `**words**` are bold, `[0.05, 0.19]` stays on one line, all else is shown as it is."""
    whole = re.sub(r"(?<=\[)(-?[\d.]+), (-?[\d.]+)(?=\])", "\\1,\N{NO-BREAK SPACE}\\2", sentence)
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(whole, quote=False))


def say(*sentences: str) -> Html:
    """One paragraph per group of sentences; `**words**` are bold, everything else is shown as it is."""
    plain = "\n".join(re.sub(r"\*\*(.+?)\*\*", r"\1", sentence) for sentence in sentences)
    html = "".join(f"<p>{emphasised(sentence)}</p>" for sentence in sentences)
    return Html(f'<div class="prose" style="max-width:46rem">{html}</div>', plain)
