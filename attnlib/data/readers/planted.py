"""A generated corpus whose decisive words are known: the oracle for tests and for erasure.

Classification. Every text is filler around one to three decisive words of its class, and those alone decide:

    the street [wonderful] was when a window story of [charming] . night the door it was .      positive
    it was [not] [awful] in the letter house . this one by a train [not] [boring] .              positive

A share `negation` of texts of two classes negates words of the other class, so that a bag of words cannot tell; of
more classes, the negated word means nothing. A share `distractors` holds a word that is twice as frequent in its
class and decides nothing. The rationale marks the decisive words and their negations.

Question answering (`task="qa"`), modelled on bAbI 1: people move, the query asks where one of them is, the
rationale marks the last sentence about that person.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from attnlib.data.readers.base import listed, read_yaml
from attnlib.data.types import SPLITS, RawCorpus, RawExample
from attnlib.utils.errors import ConfigError

SENTENCE = 9
"""Words per sentence, roughly."""
TRIES = 20
"""A story that was told before is told again, so that no test story is a training story; short ones may repeat."""
NEGATION = "not"
STOP = "."
WORDS = read_yaml("planted.yaml")
SENTIMENT, TOPICS = WORDS["sentiment"], WORDS["topics"]
FILLER, PEOPLE, PLACES, THINGS = (WORDS[kind].split() for kind in ("filler", "people", "places", "things"))
MOVES = ("went to", "travelled to", "walked to", "moved to")
COUNT, NEGATED = 120, 0.2
"""Words, and the share of texts with a negation."""


@listed("planted")
def planted(
    n_train: int = 1000,
    n_dev: int = 200,
    n_test: int = 200,
    *,
    vocabulary: int = COUNT,
    shortest: int = 8,
    longest: int = 24,
    classes: int | None = None,
    negation: float = NEGATED,
    distractors: float = 0.3,
    task: Literal["classification", "qa"] = "classification",
    seed: int = 0,
) -> RawCorpus:
    """Rows of the planted corpus.

    n_train, n_dev, n_test  texts per split
    vocabulary              distinct words
    shortest, longest       words per text, drawn evenly; for stories, rounded to whole sentences
    classes                 2 sentiments, or more topics (stories: places, 4)
    negation, distractors   shares of texts (stories: of sentences, distractors alone)
    """
    sizes = {"n_train": n_train, "n_dev": n_dev, "n_test": n_test}
    if min(sizes.values()) < 1:
        raise ConfigError(f"planted: each split needs at least 1 text; got {sizes}.")
    for name, share in (("negation", negation), ("distractors", distractors)):
        if not 0 <= share <= 1:
            raise ConfigError(f"planted: {name} is a share between 0 and 1; got {share}.")
    if not 8 <= shortest <= longest:
        raise ConfigError(f"planted: needs 8 <= shortest <= longest; got shortest {shortest}, longest {longest}.")
    rng = np.random.default_rng([seed, 20190])
    spread = (shortest, longest + 1, sum(sizes.values()))
    if task == "qa":
        if (vocabulary, negation) != (COUNT, NEGATED):
            raise ConfigError("planted: vocabulary and negation do not apply to task 'qa'; leave them out.")
        rows, names = _stories(rng, spread, classes or 4, distractors)
    elif task == "classification":
        words = _Lexicon(vocabulary, 2 if classes is None else classes)
        rows, names = _texts(rng, spread, words, negation, distractors), words.classes
    else:
        raise ConfigError(f"planted: task must be 'classification' or 'qa'; got {task!r}.")
    where = [split for split, size in zip(SPLITS, sizes.values(), strict=True) for _ in range(size)]
    made = zip(where, rows, strict=True)
    examples = [RawExample(split=split, id=f"{split}-{i}", **row) for i, (split, row) in enumerate(made)]
    return RawCorpus("planted", examples, names, source="generated here", citation="none")


class _Lexicon:
    """Which words decide, which distract and which fill, for a vocabulary of a given size."""

    def __init__(self, size: int, n_classes: int) -> None:
        lists = SENTIMENT if n_classes == 2 else TOPICS
        if not 2 <= n_classes <= len(lists):
            raise ConfigError(f"planted: classes must be 2 to {len(TOPICS)}; got {n_classes}.")
        self.classes = tuple(lists)[:n_classes]
        each, other = min(12, max(3, size // 30)), min(8, max(2, size // 60))
        deciding, distracting = n_classes * each + 2, n_classes * other
        least, most = deciding + distracting + 10, deciding + len(FILLER)
        if not least <= size <= most:
            raise ConfigError(f"planted: vocabulary must lie between {least} and {most} here; got {size}.")
        self.decisive = [lists[c].split()[:each] for c in self.classes]
        plain = FILLER[: size - deciding]
        # Distractors are ordinary words from the middle of the list: neither rare nor function words.
        middle = len(plain) // 2 - distracting // 2
        self.distracting = [plain[middle + c * other : middle + (c + 1) * other] for c in range(n_classes)]
        self.filler = np.array(plain[:middle] + plain[middle + distracting :])
        frequency = 1 / (np.arange(len(self.filler)) + 5.0)  # Zipf's law, flattened at the top
        self.cumulative = np.cumsum(frequency / frequency.sum())

    def fill(self, rng: np.random.Generator, n: int) -> list[str]:
        index = np.searchsorted(self.cumulative, rng.random(n))
        return self.filler[np.minimum(index, len(self.filler) - 1)].tolist()


def _texts(
    rng: np.random.Generator, spread: tuple[int, int, int], words: _Lexicon, negation: float, distractors: float
) -> list[dict]:
    n, n_classes = spread[2], len(words.classes)
    labels = rng.permutation(np.arange(n) % n_classes).tolist()
    lengths = rng.integers(*spread).tolist()
    negated = (rng.random(n) < negation).tolist()
    distracted = (rng.random(n) < distractors).tolist()
    filler = iter(words.fill(rng, sum(lengths)))
    rows = []
    for label, length, negate, distract in zip(labels, lengths, negated, distracted, strict=True):
        other = int((label + rng.integers(1, n_classes)) % n_classes)
        most = 2 if negate or length < 12 else 3
        chosen = rng.permutation(len(words.decisive[label]))[: rng.integers(1, most + 1)].tolist()
        if negate and n_classes == 2:
            units = [(NEGATION, words.decisive[other][i]) for i in chosen]
        else:
            units = [(words.decisive[label][i],) for i in chosen]
        marked = len(units)
        if negate and n_classes > 2:
            units.append((NEGATION, str(rng.choice(words.decisive[other]))))
        if distract:
            side = label if rng.random() < 2 / (n_classes + 1) else other
            units.append((str(rng.choice(words.distracting[side])),))
        stops = max(1, length // SENTENCE)
        units += [(next(filler),) for _ in range(length - stops - sum(map(len, units)))]
        rows.append({"label": label, **_laid_out(rng, units, marked, stops)})
    return rows


def _laid_out(rng: np.random.Generator, units: list[tuple[str, ...]], marked: int, stops: int) -> dict:
    """The units in random order, full stops evenly between them; the first `marked` units are the rationale."""
    tokens, marks, starts = [], [], [0]
    ends = {len(units) * (k + 1) // stops for k in range(stops)}
    for place, i in enumerate(rng.permutation(len(units)).tolist(), start=1):
        tokens += units[i]
        marks += [i < marked] * len(units[i])
        if place in ends:
            tokens.append(STOP)
            marks.append(False)
            starts.append(len(tokens))
    return {"tokens": tuple(tokens), "rationale": tuple(marks), "sentences": tuple(starts[:-1])}


def _stories(
    rng: np.random.Generator, spread: tuple[int, int, int], n_places: int, distractors: float
) -> tuple[list[dict], tuple[str, ...]]:
    if not 2 <= n_places <= len(PLACES):
        raise ConfigError(f"planted: task 'qa' has 2 to {len(PLACES)} places (classes); got {n_places}.")
    places = tuple(PLACES[:n_places])
    rows, seen = [], set()
    for length in rng.integers(*spread).tolist():
        for _ in range(TRIES):
            story = _story(rng, max(2, length // 6), places, distractors)
            if (story["tokens"], story["query"]) not in seen:
                break
        seen.add((story["tokens"], story["query"]))
        rows.append(story)
    return rows, places


def _story(rng: np.random.Generator, n_sentences: int, places: tuple[str, ...], distractors: float) -> dict:
    tokens, starts, last = [], [], {}
    for k in range(n_sentences):
        person = PEOPLE[rng.integers(len(PEOPLE))]
        starts.append(len(tokens))
        if k and rng.random() < distractors:
            tokens += [person, "took", "the", THINGS[rng.integers(len(THINGS))], STOP]
            continue
        place = int(rng.integers(len(places)))
        tokens += [person, *MOVES[rng.integers(len(MOVES))].split(), "the", places[place], STOP]
        last[person] = place, range(starts[-1], len(tokens))
    asked = sorted(last)[rng.integers(len(last))]
    place, marked = last[asked]
    return {
        "label": place,
        "tokens": tuple(tokens),
        "rationale": tuple(i in marked for i in range(len(tokens))),
        "sentences": tuple(starts),
        "query": ("where", "is", asked, "?"),
    }
