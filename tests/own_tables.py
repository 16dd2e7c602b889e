"""Tables as users bring them, small and awkward: what every notebook must get through, with a report at its end.

`sixty`     60 rows, two classes, columns called review and sentiment
`six`       300 rows, six classes with words of their own
`lopsided`  400 rows, 95% of them of one class
`html`      200 reviews with line breaks, entities and tags of a web page
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

NAMES = ("sixty", "six", "lopsided", "html")
GOOD = "gorgeous witty moving clever warm superb tender funny fresh brilliant".split()
BAD = "dull clumsy boring stale awful tedious hollow bland messy dreadful".split()
TOPICS = {
    "sport": "goal match coach striker referee league".split(),
    "money": "market shares bank profit inflation bonds".split(),
    "science": "cells telescope experiment particles genome theory".split(),
    "music": "album guitar chorus melody concert band".split(),
    "food": "recipe butter oven garlic dessert flavour".split(),
    "travel": "airport island luggage hotel ferry passport".split(),
}
PLAIN = "the a film story actor scene of and with about this that it was is in on for rather quite".split()


def write(folder: Path, name: str) -> Path:
    """One of the tables, as csv; the same for everybody."""
    draw = random.Random(name)
    if name == "six":
        rows = [(_text(draw, telling), topic) for topic, telling in TOPICS.items() for _ in range(50)]
        draw.shuffle(rows)
    else:
        count, good = {"sixty": (60, 30), "lopsided": (400, 20), "html": (200, 100)}[name]
        labels = ["pos"] * good + ["neg"] * (count - good)
        draw.shuffle(labels)
        rows = [(_text(draw, GOOD if label == "pos" else BAD), label) for label in labels]
    header = {"sixty": ("review", "sentiment"), "six": ("text", "topic")}.get(name, ("text", "label"))
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        shown = {"html": _page, "sixty": _sentence}.get(name, " ".join)
        csv.writer(file).writerows([header, *([shown(words), label] for words, label in rows)])
    return path


def _text(draw: random.Random, telling: list[str]) -> list[str]:
    words = draw.choices(PLAIN, k=draw.randint(5, 16))
    for word in draw.sample(telling, draw.randint(1, 2)):
        words.insert(draw.randrange(len(words) + 1), word)
    return words


def _sentence(words: list[str]) -> str:
    return f"{' '.join(words)}."


def _page(words: list[str]) -> str:
    first, second = " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
    return f"{first}.<br /><br />I said &quot;{second}&quot; &amp; <i>meant</i> it."
