"""The API reference: one self-contained page made from the docstrings of the public surface.

`python -m tests.reference FOLDER` writes `FOLDER/index.html`. Docstrings are read as the kit writes them:
paragraphs, formulas (`.. math::` blocks and `:math:` in a line, as MathML), `code`, *emphasis*, lines of a name and
what it means with two spaces in between, and examples that start with `>>>`. All else is text, and is escaped.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import attnlib
from attnlib.reports import theme
from attnlib.reports.markdown import maths
from attnlib.reports.theme import highlight
from attnlib.utils import files

SETUP = """\
>>> import attnlib as al
>>> size = {"n_train": 240, "n_dev": 40, "n_test": 100, "vocabulary": 60, "longest": 12}
>>> corpus = al.load_corpus("planted", **size, negation=0.0)
>>> config = al.ModelConfig(encoder="mlp", embedding_size=16, hidden_size=16)
>>> fitted = al.fit(corpus, config, al.TrainConfig(epochs=4, learning_rate=0.01), seed=0)
"""
"""What the examples of the docstrings share. Their tests run it, and the page shows it."""

INLINE = re.compile(r":math:`([^`]+)`|`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])\*(\w[^*]*)\*")
DEFINED = re.compile(r"(\S(?:[^\n]*?\S)?) {2,}(\S.*)", re.DOTALL)
"""A name, at least two spaces, and what it means."""


def write(folder: Path) -> Path:
    """Write the reference to `folder/index.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    files.write(folder / "index.html", page())
    return folder / "index.html"


def page() -> str:
    """The reference as HTML."""
    sections = [_section(name, entries) for name, entries in public().items()]
    setup = docstring(SETUP)
    return theme.fill(
        "reference.html.j2", sections=sections, setup=setup, version=attnlib.__version__, **theme.assets()
    )


def public() -> dict[str, dict[str, Any]]:
    """Module -> anchor on the page -> function or class: what `attnlib`, `stats` and `plots` offer."""
    found = {name: getattr(attnlib, name) for name in attnlib.__all__ if name != "__version__"}
    modules = {name: thing for name, thing in found.items() if isinstance(thing, ModuleType)}
    surface = {"attnlib": {name: thing for name, thing in found.items() if name not in modules}}
    return surface | {name: {f"{name}.{k}": v for k, v in _offered(module)} for name, module in modules.items()}


def _offered(module: ModuleType) -> Iterator[tuple[str, Any]]:
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    for name in getattr(module, "__all__", own):
        thing = getattr(module, name)
        if not name.startswith("_") and (inspect.isfunction(thing) or inspect.isclass(thing)):
            yield name, thing


def _section(name: str, entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "anchor": f"module-{name}",
        "title": name if name == "attnlib" else f"attnlib.{name}",
        "text": "" if name == "attnlib" else docstring(getattr(attnlib, name).__doc__),
        "entries": [_entry(anchor, thing) for anchor, thing in entries.items()],
    }


def _entry(anchor: str, thing: Any) -> dict[str, Any]:
    entry = {"anchor": anchor, "head": "", "text": docstring(thing.__doc__), "folds": {}}
    if inspect.isfunction(thing):
        return entry | {"head": highlight(signature(thing))}
    return entry | {"folds": {"Fields": [*_fields(thing)], "Methods and properties": [*_members(thing)]}}


def signature(function: Any) -> str:
    """A function's head as its source has it, laid out for reading already."""
    source = dedent(inspect.getsource(inspect.unwrap(function)))
    node = ast.parse(source).body[0]
    return "\n".join(source.splitlines()[node.lineno - 1 : node.body[0].lineno - 1]).removesuffix(":")


def _fields(cls: type) -> Iterator[dict[str, str]]:
    """Fields of a config or a data class: their declaration, and the text below it in the source."""
    told = {name: (kind, text) for parent in reversed(_lineage(cls)) for name, kind, text in _declared(parent)}
    fields = getattr(cls, "model_fields", None) or getattr(cls, "__dataclass_fields__", {})
    for name, field in fields.items():
        kind, text = told[name]
        if hasattr(field, "annotation") and kind.isidentifier():  # an alias such as Encoder says little
            kind = inspect.formatannotation(field.annotation)
        default = inspect.signature(cls).parameters[name].default
        default = field.default_factory() if callable(field.default_factory) else default
        shown = "" if default is inspect.Parameter.empty else f" = {default!r}"
        yield {"head": highlight(f"{name}: {kind}{shown}"), "text": inline(text)}


def _declared(cls: type) -> Iterator[tuple[str, str, str]]:
    body = ast.parse(dedent(inspect.getsource(cls))).body[0].body
    for node, after in pairwise([*body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign):
            text = after.value.value if isinstance(after, ast.Expr) else ""
            yield node.target.id, ast.unparse(node.annotation), text


def _members(cls: type) -> Iterator[dict[str, str]]:
    """Methods and properties with a docstring, those of the kit's own base classes included."""
    found = {name: member for parent in reversed(_lineage(cls)) for name, member in vars(parent).items()}
    for name, member in found.items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        function = member.func if isinstance(member, cached_property) else function
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if not _ours(function):  # matplotlib puts a `set` into every class of its kind
            continue
        head = signature(function)
        if isinstance(member, property | cached_property):
            head = re.sub(r"^def (\w+)\(self\)", r"\1", head)
        yield {"head": highlight(head), "text": docstring(function.__doc__)}


def _lineage(cls: type) -> list[type]:
    return [parent for parent in cls.__mro__ if _ours(parent)]


def _ours(thing: Any) -> bool:
    return thing.__module__.split(".")[0] == "attnlib"


def docstring(text: str) -> str:
    """A docstring as HTML."""
    return "\n".join(_block(block) for block in re.split(r"\n\s*\n", inspect.cleandoc(text)) if block.strip())


def _block(block: str) -> str:
    if block.startswith(".. math::"):
        return maths(block.removeprefix(".. math::"), block=True)
    if block.startswith(">>>"):
        return f'<pre class="highlight example"><code>{highlight(block, "pycon")}</code></pre>'
    lines = re.split(r"\n(?!\s)", block)  # each with the indented lines that continue it
    parts = []
    for defined, group in groupby((DEFINED.fullmatch(line) or line for line in lines), lambda line: type(line)):
        if defined is str:
            parts.append(f"<p>{inline(' '.join(group))}</p>")
        else:
            rows = (f"<dt>{inline(name)}</dt><dd>{inline(what)}</dd>" for name, what in (m.groups() for m in group))
            parts.append(f"<dl>{''.join(rows)}</dl>")
    return "\n".join(parts)


def inline(text: str) -> str:
    """A run of text as HTML: formulas, code (linked where it is a public name) and emphasis; the rest escaped."""
    html, last = "", 0
    text = " ".join(text.split())
    for match in INLINE.finditer(text):
        formula, code, strong, emphasis = match.groups()
        html += escape(text[last : match.start()])
        if formula:
            html += maths(formula)
        elif code:
            anchor = code.removeprefix("attnlib.").removeprefix("al.")
            shown = f"<code>{escape(code)}</code>"
            html += f'<a href="#{anchor}">{shown}</a>' if anchor in _anchors() else shown
        else:
            html += f"<strong>{escape(strong)}</strong>" if strong else f"<em>{escape(emphasis)}</em>"
        last = match.end()
    return html + escape(text[last:])


@cache
def _anchors() -> set[str]:
    return {anchor for entries in public().values() for anchor in entries}


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
