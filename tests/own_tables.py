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
    rows, header = {"sixty": _sixty, "six": _six, "lopsided": _lopsided, "html": _html}[name](random.Random(name))
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


NAMES = ("sixty", "six", "lopsided", "html")


def _text(draw: random.Random, telling: list[str], shortest: int = 5, longest: int = 16) -> list[str]:
    words = draw.choices(PLAIN, k=draw.randint(shortest, longest))
    for word in draw.sample(telling, draw.randint(1, 2)):
        words.insert(draw.randrange(len(words) + 1), word)
    return words


def _reviews(draw: random.Random, count: int, positive: float) -> list[tuple[list[str], str]]:
    labels = ["pos"] * round(count * positive) + ["neg"] * (count - round(count * positive))
    draw.shuffle(labels)
    return [(_text(draw, GOOD if label == "pos" else BAD), label) for label in labels]


def _sixty(draw: random.Random) -> tuple[list[list[str]], list[str]]:
    return [[" ".join(words) + ".", label] for words, label in _reviews(draw, 60, 0.5)], ["review", "sentiment"]


def _six(draw: random.Random) -> tuple[list[list[str]], list[str]]:
    rows = [[" ".join(_text(draw, telling)), topic] for topic, telling in TOPICS.items() for _ in range(50)]
    draw.shuffle(rows)
    return rows, ["text", "topic"]


def _lopsided(draw: random.Random) -> tuple[list[list[str]], list[str]]:
    return [[" ".join(words), label] for words, label in _reviews(draw, 400, 0.05)], ["text", "label"]


def _html(draw: random.Random) -> tuple[list[list[str]], list[str]]:
    rows = []
    for words, label in _reviews(draw, 200, 0.5):
        middle = len(words) // 2
        first, second = " ".join(words[:middle]), " ".join(words[middle:])
        rows.append([f"{first}.<br /><br />I said &quot;{second}&quot; &amp; <i>meant</i> it.", label])
    return rows, ["text", "label"]
