from collections import Counter

import pytest

from attnlib.data import load_corpus
from attnlib.data.readers import planted as lexicon
from attnlib.data.readers.planted import planted as rows_of
from attnlib.utils.errors import ConfigError

SIGN = {w: c for c, words in enumerate(lexicon.SENTIMENT.values()) for w in words.split()}


def decided(tokens):
    """The label by the rule alone: a sentiment word, turned over by `not` before it."""
    votes = {SIGN[w] ^ (i > 0 and tokens[i - 1] == "not") for i, w in enumerate(tokens) if w in SIGN}
    (label,) = votes
    return label


def test_decisive_words_alone_decide():
    corpus = load_corpus("planted", vocabulary=200)
    for _, example in corpus.items():
        assert decided(example.tokens) == example.label
        marked = [w for w, m in zip(example.tokens, example.rationale, strict=True) if m]
        assert set(marked) == {w for w in example.tokens if w in SIGN or w == "not"}


def test_shares_and_sizes():
    corpus = load_corpus("planted", n_train=2000, n_dev=10, n_test=20, negation=0.4, distractors=0.0)
    assert [len(corpus.train), len(corpus.dev), len(corpus.test)] == [2000, 10, 20]
    negated = sum("not" in e.tokens for e in corpus.train) / 2000
    assert negated == pytest.approx(0.4, abs=0.04)
    assert Counter(e.label for e in corpus.train)[0] == pytest.approx(1000, abs=60)
    assert not any("not" in e.tokens for e in load_corpus("planted", negation=0.0).train)


def test_lengths_and_vocabulary_are_as_asked():
    corpus = load_corpus("planted", shortest=10, longest=15, vocabulary=200, n_train=3000)
    assert {len(e) for e in corpus.train} == set(range(10, 16))
    words = {w for e in corpus.train for w in e.tokens}
    assert 150 < len(words) <= 200


def test_distractors_lean_to_a_class_but_do_not_decide():
    def lean(share):
        corpus = load_corpus("planted", n_train=4000, distractors=share, negation=0.0)
        seen = {0: Counter(), 1: Counter()}
        for e in corpus.train:
            seen[e.label].update(set(e.tokens) - set(SIGN) - {"."})
        ratios = [
            max(seen[0][w], seen[1][w]) / min(seen[0][w], seen[1][w])
            for w in seen[0]
            if seen[1][w] and seen[0][w] > 100
        ]
        return max(ratios)

    assert 1.5 < lean(1.0) < 3
    assert lean(0.0) < 1.5


@pytest.mark.parametrize("classes", [3, 10])
def test_more_classes_are_topics(classes):
    corpus = load_corpus("planted", classes=classes)
    words = [set() for _ in range(classes)]
    for e in corpus.train:
        words[e.label].update(w for w, m in zip(e.tokens, e.rationale, strict=True) if m)
    assert all(words)
    assert sum(map(len, words)) == len(set.union(*words)), "no class has a word of another"


def test_stories_are_answered_by_the_marked_sentence(planted_qa):
    assert planted_qa.task == "query"
    for _, e in planted_qa.items():
        person = e.query[2]
        sentences = [e.tokens[a:b] for a, b in zip(e.sentences, [*e.sentences[1:], len(e)], strict=True)]
        last = [s for s in sentences if s[0] == person and s[-2] in lexicon.PLACES][-1]
        assert last[-2] == planted_qa.classes[e.label]
        assert tuple(w for w, m in zip(e.tokens, e.rationale, strict=True) if m) == last


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 10}, "between 22"),
        ({"vocabulary": 10**6}, "and 221"),
        ({"classes": 1}, "2 to 10"),
        ({"negation": 1.5}, "between 0 and 1"),
        ({"n_test": 0}, "n_test"),
        ({"shortest": 30, "longest": 20}, "shortest <= longest"),
        ({"task": "entailment"}, "'classification' or 'qa'"),
        ({"task": "qa", "vocabulary": 100}, "do not apply"),
        ({"task": "qa", "classes": 40}, "2 to 12 places"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        rows_of(**options)
