"""Markdown of notebooks as HTML that needs nothing from outside: maths as MathML, links as text."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

EXTERNAL = re.compile(r"^\s*([a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


class Heading(NamedTuple):
    """A heading: an entry of the table of contents."""

    level: int
    html: str
    anchor: str


def maths(latex: str, *, block: bool = False) -> str:
    """LaTeX as MathML; what the converter does not know is shown as its source."""
    from latex2mathml.converter import convert

    source = latex.strip()
    known = re.sub(r"\\arg\s*\\(min|max)(?![a-zA-Z])", r"\\arg\1", re.sub(r"\{aligned\}", "{align*}", source))
    try:
        if _depth(known) != 0:
            raise ValueError("unbalanced braces")
        found = convert(known, display="block" if block else "inline")
        tree = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", found))  # HTML knows the namespace by itself
        _tidy(tree, block)
        html = ElementTree.tostring(tree, encoding="unicode")
    except Exception:  # its errors have no common base, and a formula must never cost the report
        html = f"<code>{escape(source)}</code>"
    return f'<span class="maths">{html}</span>' if block else html  # a div would end the paragraph it is in


LIMITS = {*"∑∏∐⋂⋃⋁⋀", "min", "max", "lim", "sup", "inf", "arg\u2009min", "arg\u2009max"}
FUNCTIONS = {"ln", "log", "exp", "sin", "cos", "tan", "tanh", "det", "dim", "ker"}


def _tidy(tree: ElementTree.Element, block: bool) -> None:
    """Refuse what is not maths, put limits under their sums and a thin space after `ln`."""
    for node in tree.iter():
        if not re.fullmatch(r"m[a-z]+", node.tag) or "\\" in (node.text or ""):
            raise ValueError(f"not understood: {node.text or node.tag}")
        if block and node.tag in UNDER and len(node) > 1 and (node[0].text or "").strip() in LIMITS:
            node.tag = UNDER[node.tag]
        for at, child in reversed(list(enumerate(node))):
            after = node[at + 1] if at + 1 < len(node) else None
            if node.tag == "mrow" and child.text in FUNCTIONS and after is not None and after.text != "(":
                node.insert(at + 1, ElementTree.Element("mspace", width="0.17em"))


UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}


def _depth(latex: str) -> int:
    bare = re.sub(r"\\.", "", latex, flags=re.DOTALL)
    return bare.count("{") - bare.count("}")


def markdown(
    source: str, headings: list[Heading] | None = None, *, folder: Path | None = None, trusted: bool
) -> str:
    """Markdown as HTML. Raw HTML passes only in the kit's own texts (`trusted`).

    headings: grows with every heading, and keeps anchors unique over a whole notebook.
    folder: where relative images are; they are embedded.
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
