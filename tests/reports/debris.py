"""What no report shows to its readers: the machine, code's own words, promises that are not kept."""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString

HYPHEN = re.compile(r"(?<![\w)\]‐−-])-(?=\.?\d|∞)")
"""A hyphen where a minus belongs."""
REPR = re.compile(r"^[A-Z]\w*\(.*\)$|<[^<>]* at 0x[0-9a-f]+>|^(?:Name: .*)?dtype: \w+$|^\[\d+ rows x", re.MULTILINE)
MACHINE = re.compile(r"\b[\w/]+\.py:\d+|\b\w*Warning:|Traceback \(most")


def debris(file: Path) -> list[str]:
    """What is wrong with a page, in words."""
    page = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
    main = page.find("main")
    found = [f"standard error: {block.get_text():.60}" for block in main.select("pre.stderr")]
    printed = [block.get_text() for block in main.select("pre.text") if not block.find_parent("details")]
    found += [f"repr: {text:.60}" for text in printed if REPR.search(text)]
    found += [f"empty heading: {h.get_text()}" for h in main.find_all(["h2", "h3"]) if _empty(h)]
    told = "".join(text for text in main.find_all(string=True) if not text.find_parent(["script", "style", "code"]))
    for wrong in (r"at the top of this report", r"\bvalues below\b", r"\b(?:[Ii]t|profile) used to\b", MACHINE):
        found += [f"text: {match[0]}" for match in re.finditer(wrong, told)]
    found += [f"hyphen: {told[max(0, m.start() - 20) : m.end() + 9]!r}" for m in HYPHEN.finditer(told)]
    return found


def _empty(heading) -> bool:
    """Whether nothing is to be seen between a heading and the next of its level or above."""
    for node in heading.next_elements:
        if isinstance(node, NavigableString):
            within = [node, *node.parents]
            if node.strip() and heading not in within and not node.find_parent(class_="input"):
                return False
        elif node.name in ("svg", "img", "math"):
            return False
        elif (re.fullmatch(r"h[1-6]", node.name) and node.name <= heading.name) or node.name == "footer":
            return True
    return True
