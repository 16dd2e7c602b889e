"""Sentences computed from data, as escaped HTML."""

from __future__ import annotations

import re
from html import escape

from attnlib.viz.textmap import Html

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\((#[\w.-]+|(?:\.\./)+[\w./-]+(?:#[\w.-]+)?)\)")
"""`[words](#figure-flips)`, or a report next to this one: nothing outside can be linked to."""


def emphasised(sentence: str) -> str:
    """A sentence as HTML: `**words**` are bold, `[words](#anchor)` a link, `[0.05, 0.19]` stays on one line.

    A link leads to a place of the page or to another report (`../../01_tasc/cpu/report.html`); all else is shown as
    it is.

    >>> emphasised("**Yes**: [0.2 [0.1, 0.3]](#figure-flips) < 1")
    '<b>Yes</b>: <a href="#figure-flips">0.2 [0.1,\xa00.3]</a> &lt; 1'
    """
    whole = re.sub(r"(?<=\[)(-?[\d.]+), (-?[\d.]+)(?=\])", "\\1,\N{NO-BREAK SPACE}\\2", sentence)
    return _LINK.sub(r'<a href="\2">\1</a>', _BOLD.sub(r"<b>\1</b>", escape(whole, quote=False)))


def plain(sentence: str) -> str:
    """The same without any marks, for a terminal."""
    return _LINK.sub(r"\1", _BOLD.sub(r"\1", sentence))


def say(*sentences: str) -> Html:
    """One paragraph per group of sentences, marked up as in `emphasised`."""
    html = "".join(f"<p>{emphasised(sentence)}</p>" for sentence in sentences)
    return Html(f'<div class="prose" style="max-width:46rem">{html}</div>', "\n".join(map(plain, sentences)))
