"""Markdown of notebooks as HTML that needs nothing from outside, with maths as MathML."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath


def maths(latex: str, *, block: bool = False) -> str:
    """LaTeX as MathML; what the converter does not know is shown as its source."""
    from latex2mathml.converter import convert

    source = re.sub(r"\\arg\s*\\(min|max)\b", r"\\arg\1", latex.strip())
    try:
        found = convert(source, display="block" if block else "inline")
        tree = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", found))  # HTML knows the namespace by itself
        if any(not re.fullmatch(r"m[a-z]+", node.tag) or "\\" in (node.text or "") for node in tree.iter()):
            raise ValueError("not understood")
        html = ElementTree.tostring(tree, encoding="unicode")
    except Exception:  # its errors have no common base, and a formula must never cost the report
        html = f"<code>{escape(latex.strip())}</code>"
    return f'<span class="maths">{html}</span>' if block else html  # a div would end the paragraph it is in


def markdown(source: str, anchors: set[str] | None = None, *, folder: Path | None = None, trusted: bool) -> str:
    """Markdown as HTML. Raw HTML passes only in the kit's own texts (`trusted`).

    anchors: those of headings, which grow, and stay unique over a whole notebook.
    folder: where relative images are; they are embedded.
    """
    renderer = _Renderer(set() if anchors is None else anchors, folder, trusted)
    return MarkdownWithMath(renderer=renderer).render(source)


class _Renderer(IPythonRenderer):
    def __init__(self, anchors: set[str], folder: Path | None, trusted: bool) -> None:
        embed = {"embed_images": True, "path": str(folder)} if folder else {}
        super().__init__(escape=not trusted, allow_harmful_protocols=False, **embed)
        self.anchors = anchors

    def heading(self, text: str, level: int, **attrs: object) -> str:
        stem = re.sub(r"[^\w]+", "-", re.sub(r"<[^>]*>|&#?\w+;", "", text).lower()).strip("-") or "section"
        names = (stem, *(f"{stem}-{n}" for n in range(2, 1000)))
        anchor = next(name for name in names if name not in self.anchors)
        self.anchors.add(anchor)
        mark = f'<a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>'
        return f'<h{level} id="{anchor}">{text}{mark if level > 1 else ""}</h{level}>\n'

    def block_math(self, body: str) -> str:
        return maths(body, block=True)

    def inline_math(self, body: str) -> str:
        return maths(body)

    def latex_environment(self, name: str, body: str) -> str:
        return maths(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if re.match(r"#|https?://", url):
            return super().link(text, url, title)
        return f'<span class="place">{text}</span>'  # a path that leads nowhere from a file sent by mail
