"""HTML in a text that came from the web: tags are removed, entities become the characters they stand for.

Written for texts that nobody checked. Only the names of real elements are tags, with nothing or with `name=value`
after them, so that `a < b and c > d`, `<3`, `<unk>` and `<me@home.org>` stay text; so does a tag that never closes
(except a line break: texts are often cut off in one). Every pattern reads a character once: no text is slow.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

INLINE = "a abbr b big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var"
"""Elements that may stand within a word: nothing replaces them. A space replaces all others."""
BLOCK = (
    "address article aside blockquote body br button caption center col dd details dir div dl dt fieldset "
    "figcaption figure footer form frame h1 h2 h3 h4 h5 h6 head header hr html iframe img input label "
    "legend li link main meta nav noscript object ol optgroup option p param picture pre script section "
    "select source style summary svg table tbody td textarea tfoot th thead time title tr ul video wbr "
)
_TAG = re.compile(
    r"<(?:(?P<silent>!--|(?:script|style)(?=[\s>]))"
    rf"|/?(?:(?P<inline>{'|'.join(INLINE.split())})|{'|'.join(BLOCK.split())})(?:\s*/?>|\s[^<>=]*=[^<>]*>)"
    r"|br(?![\w-])\s*/?|![a-z][^<>]*>|\?[a-z][^<>]*>)",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_END = {
    "!--": re.compile("-->"),
    "script": re.compile(r"</script[\s>]?", re.I),
    "style": re.compile("</style", re.I),
}


def without_html(text: str) -> str:
    """The text as a browser would show it, on one line; escaped tags (`&lt;br&gt;`) are removed as well.

    >>> without_html("Good&amp;bad.<br /><br />I <3 it, a < b <i>now</i>")
    'Good&bad.  I <3 it, a < b now'
    """
    if "<" in text:
        text = _cut(text, _tags(text))
    if "&" in text:
        plain = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
        if plain != text and "<" in plain:
            plain = _cut(plain, _tags(plain))
        text = plain
    return text


def without_tags(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """The text without its tags, and the character spans where they are now. Entities stay."""
    tags = _tags(text) if "<" in text else []

    def moved(place: int) -> int:
        before = [tag for tag in tags if tag[0] < place]
        return place - sum(
            min(end, place) - start - (len(fill) if end <= place else 0) for start, end, fill in before
        )

    return _cut(text, tags), [(moved(start), moved(end)) for start, end in spans]


def _cut(text: str, tags: Sequence[tuple[int, int, str]]) -> str:
    parts, last = [], 0
    for start, end, fill in tags:
        parts += text[last:start], fill
        last = end
    return "".join([*parts, text[last:]])


def _tags(text: str) -> list[tuple[int, int, str]]:
    """Start, end and replacement of everything that is markup; comments, scripts and styles with what they hold."""
    found = []
    place = 0
    endless: set[str] = set()
    while (match := _TAG.search(text, place)) is not None:
        place = end = match.end()
        silent = (match["silent"] or "").lower()
        if silent:
            close = None if silent in endless else _END[silent].search(text, place)
            if close is None:  # never look for it again: a text of many openings would take forever
                endless.add(silent)
                continue
            end = text.find(">", close.start()) + 1 or close.end()
            place = end
        found.append((match.start(), end, "" if match["inline"] else " "))
    return found
