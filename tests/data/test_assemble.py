import warnings

import pytest

from attnlib.config import DataConfig
from attnlib.data import RawCorpus, RawExample, assemble
from attnlib.data.checks import DataWarning
from attnlib.utils.errors import DataError


def corpus(rows, config=None, **values):
    raw = RawCorpus("toy", rows, **values)
    return assemble(raw, DataConfig(corpus="toy", **(config or {})))


def rows(n=30, split=None, **values):
    return [RawExample(f"text number w{i} x", label=i % 2, split=split, **values) for i in range(n)]


def every_split(**values):
    texts = [
        RawExample(f"{split} text w{i}", i % 2, split=split) for split in ("train", "dev", "test") for i in (0, 1)
    ]
    return [*texts, RawExample(split="train", **{"label": 0, **values})]


def test_labels_become_indices_of_sorted_classes():
    made = corpus([RawExample(f"t{i} x", label=[10, 2.0, "3"][i % 3]) for i in range(30)])
    assert made.classes == ("2", "3", "10")
    assert all(made.classes[e.label] == str([10, 2, 3][int(e.tokens[0][1:]) % 3]) for _, e in made.items())


def test_given_classes_take_names_and_indices():
    texts = [RawExample(f"t{i} x", label=["good", 0][i % 2]) for i in range(20)]
    made = corpus(texts, classes=("bad", "good"))
    assert all(e.label == 1 - int(e.tokens[0][1:]) % 2 for _, e in made.items())
    with pytest.raises(DataError, match="Did you mean 'good'"):
        corpus([*texts, RawExample("x", label="goood")], classes=("bad", "good"))
    with pytest.raises(DataError, match=r"Unknown label.*2"):
        corpus([*texts, RawExample("x", label=2)], classes=("bad", "good"))


def test_one_class_only_is_refused():
    with pytest.raises(DataError, match="only the class 'a'"):
        corpus([RawExample(f"t{i}", label="a") for i in range(9)])


def test_empty_texts_are_dropped_and_counted():
    made = corpus([*every_split(text="one more"), RawExample(" \n", 0, split="test")])
    assert len(made.test) == 2
    assert "1 empty test texts dropped" in made.notes


def test_a_corpus_without_text_is_refused():
    with pytest.raises(DataError, match="no text"):
        corpus([])
    with pytest.raises(DataError, match="no text is left in train"):
        corpus([RawExample("", i % 2) for i in range(20)])


@pytest.mark.parametrize("label", [None, float("nan"), " "])
def test_missing_labels_are_refused_or_dropped(label):
    texts = [*rows(20), RawExample("unlabelled text", label=label)]
    with pytest.raises(DataError, match=r"1 of 21 rows have no label \(rows 20.*drop_missing=True"):
        corpus(texts)
    made = corpus(texts, drop_missing=True)
    assert len(list(made.items())) == 20
    assert "1 rows without a label dropped" in made.notes


def test_duplicate_ids_are_named_and_missing_ones_made():
    with pytest.raises(DataError, match="1 ids occur more than once: 'x7'"):
        corpus([*rows(10), RawExample("a", 0, id="x7"), RawExample("b", 1, id="x7")])
    made = corpus([*rows(20), RawExample("a", 0, id="row-3")])
    ids = [e.id for _, e in made.items()]
    assert len(set(ids)) == 21
    assert "row-3" in ids


def test_leaks_are_one_warning_with_their_count():
    texts = [*every_split(text="test text w0"), RawExample("dev  TEXT w1", 1, split="train")]
    told = "1 of 2 dev texts (50.0%; dev-3) and 1 of 2 test texts (50.0%; test-4) are word for word training texts"
    with pytest.warns(DataWarning) as caught:
        made = corpus(texts)
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"toy: {told}")
    assert caught[0].filename == __file__
    assert made.notes[-1].startswith(told)


def test_the_same_text_with_another_question_is_no_leak():
    texts = [
        RawExample("a story", i % 2, split=s, query=f"question {s} {i}")
        for s in ("train", "dev", "test")
        for i in (0, 1)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert corpus(texts).task == "query"


def test_token_marks_and_sentences_follow_dropped_tokens():
    made = corpus(
        every_split(
            tokens=("", "Good", " ", ".", "", "Yes"),
            rationale=(1, 1, 1, 0, 1, 1),
            sentences=(0, 4),
            id="r",
        )
    )
    (example,) = [e for e in made.train if e.id == "r"]
    assert example.tokens == ("good", ".", "yes")
    assert example.rationale == (True, False, True)
    assert example.sentences == (0, 2)


def test_max_length_cuts_marks_and_sentences_too():
    texts = every_split(tokens=tuple("abcdef"), rationale=(0, 0, 0, 0, 1, 1), sentences=(0, 2, 5), id="r")
    made = corpus(texts, {"max_length": 3})
    (example,) = [e for e in made.train if e.id == "r"]
    assert (example.tokens, example.rationale, example.sentences) == (tuple("abc"), (False,) * 3, (0, 2))
    assert "1 train texts cut to 3 words" in made.notes


def test_strict_length_filter_by_hand():
    def texts(split):
        return [RawExample(f"{split} " + "w " * n, n % 2, split=split) for n in range(1, 9)]

    every = [*texts("train"), *texts("dev"), *texts("test")]
    made = corpus(every, {"strict_length_filter": True}, length_filter=(4, None))
    # lengths 2 to 9: more than 4, less than the longest
    assert [len(e) for e in made.test] == [5, 6, 7, 8]
    free = corpus(every, {"strict_length_filter": True})
    assert [len(e) for e in free.dev] == [3, 4, 5, 6, 7, 8]
    assert "strict length filter: 4 of 8 test texts have 4 < words < 9" in made.notes


def test_the_vocabulary_is_counted_before_the_length_filter():
    texts = [
        RawExample(f"{s} {'w ' * n} only{n}", n % 2, split=s) for s in ("train", "dev", "test") for n in range(1, 6)
    ]
    made = corpus(texts, {"strict_length_filter": True})
    assert "only5" in made.vocabulary
    assert not any("only5" in e.tokens for e in made.train)
    assert made.fingerprint != corpus(texts).fingerprint
    assert "only5" not in made.sample(2).vocabulary


def test_limit_samples_each_split_with_the_seed_in_source_order():
    sizes = {"train": 50, "dev": 40, "test": 5}
    texts = [RawExample(f"{s} text w{i}", i % 2, split=s) for s, n in sizes.items() for i in range(n)]
    made = corpus(texts, {"limit": 10, "seed": 3})
    again = corpus(texts, {"limit": 10, "seed": 3})
    other = corpus(texts, {"limit": 10, "seed": 4})
    assert [len(made.train), len(made.dev), len(made.test)] == [10, 10, 5]
    assert made.fingerprint == again.fingerprint != other.fingerprint
    order = [int(e.id.split("-")[1]) for e in made.train]
    assert order == sorted(order)
    assert any("10 of 50 texts sampled (seed 3)" in note for note in made.notes)
