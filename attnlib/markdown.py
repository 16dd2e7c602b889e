"""Markdown of notebooks as HTML that needs nothing from outside: maths as MathML, links as text."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

EXTERNAL = re.compile(r"^\s*([a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


class Heading(NamedTuple):
    """A heading met on the way: what the table of contents is made of."""

    level: int
    html: str
    anchor: str


def maths(latex: str, *, block: bool = False) -> str:
    """LaTeX as MathML; what the converter does not know is shown as its source."""
    from latex2mathml.converter import convert

    try:
        html = convert(latex.strip(), display="block" if block else "inline")
    except Exception:  # its errors have no common base, and a formula must never cost the report
        html = f"<code>{escape(latex.strip())}</code>"
    html = re.sub(r'\sxmlns="[^"]*"', "", html)  # HTML knows the namespace by itself
    return f'<div class="maths">{html}</div>' if block else html


def markdown(
    source: str, headings: list[Heading] | None = None, *, folder: Path | None = None, trusted: bool
) -> str:
    """Markdown as HTML. Raw HTML passes only where the text is ours (`trusted`).

    headings: grows by what is met, and keeps anchors unique over a whole notebook.
    folder: where relative images lie; they are embedded.
    """
    renderer = _Renderer(headings if headings is not None else [], folder, trusted)
    return MarkdownWithMath(renderer=renderer).render(source)


class _Renderer(IPythonRenderer):
    def __init__(self, headings: list[Heading], folder: Path | None, trusted: bool) -> None:
        embed = {"embed_images": True, "path": str(folder)} if folder else {}
        super().__init__(escape=not trusted, allow_harmful_protocols=False, **embed)
        self.headings = headings

    def heading(self, text: str, level: int, **attrs: object) -> str:
        plain = re.sub(r"<annotation.*?</annotation>|<[^>]*>|&#?\w+;", "", text)
        stem = re.sub(r"[^\w]+", "-", plain.lower()).strip("-") or "section"
        taken = {heading.anchor for heading in self.headings}
        anchor = next(a for a in (stem, *(f"{stem}-{n}" for n in range(2, 1000))) if a not in taken)
        self.headings.append(Heading(level, text, anchor))
        mark = f'<a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>'
        return f'<h{level} id="{anchor}">{text}{mark if level > 1 else ""}</h{level}>\n'

    def block_math(self, body: str) -> str:
        return maths(body, block=True)

    def inline_math(self, body: str) -> str:
        return maths(body)

    def latex_environment(self, name: str, body: str) -> str:
        return maths(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)

    def block_mermaidjs(self, code: str) -> str:
        return f"<pre><code>{escape(code)}</code></pre>\n"  # drawing it would take a script from a CDN

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if url.startswith("#"):
            return f'<a href="{escape(url)}">{text}</a>'
        if not EXTERNAL.match(url):
            return f'<span class="place">{text}</span>'  # a path that leads nowhere from a file sent by mail
        shown = re.sub(r"^\w+://(dx\.)?(www\.)?", "", unquote(url)).rstrip("/")
        if shown in text or url in text:
            return f'<span class="url">{escape(shown)}</span>'
        return f'{text} <span class="url">({escape(shown)})</span>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if EXTERNAL.match(url):
            return f'<span class="place">{escape(text)}</span>'
        return super().image(text, url, title)
