"""Texts to words and pieces."""

from __future__ import annotations

import re

import numpy as np
import pytest

import attnlib as al
from attnlib.data.checks import DataWarning
from attnlib.engine.explainable import cut
from attnlib.hf.words import joined, word_spans
from attnlib.utils.errors import DataError


def words(text):
    return [text[a:b] for a, b in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It's well-made (3.5 stars)!!!", ["It's", "well-made", "(", "3.5", "stars", ")", "!!!"]),
        (' "Wow," he said… ', ['"', "Wow", ",", '"', "he", "said", "…"]),
        ("हिन्दी में फ़िल्म।", ["हिन्दी", "में", "फ़िल्म", "।"]),
        ("好电影 is 良い", ["好", "电", "影", "is", "良", "い"]),
        ("?!", ["?", "!"]),
        (" \n", []),
    ],
)
def test_words_are_runs_without_blanks_with_the_signs_at_their_ends_apart(text, found):
    assert words(text) == found


def test_words_are_joined_as_one_writes_them():
    text, spans = joined(["it", "'s", "good", ",", "(", "really", ")", "!"])
    assert text == "it's good, (really)!"
    assert [text[a:b] for a, b in spans] == ["it", "'s", "good", ",", "(", "really", ")", "!"]


def test_every_piece_belongs_to_the_word_it_is_part_of(model):
    text = "A gorgeous, witty and unforgettable movie!"
    encoded = model.vectoriser.encode_one(model.examples(text)[0])
    tokens = model.tokens(text)
    assert tokens == words(text)
    names = model.vectoriser.tokenizer.convert_ids_to_tokens
    for unit, word in enumerate(tokens):
        pieces = "".join(names(encoded.piece_ids[encoded.owners == unit].tolist()))
        assert re.sub("##|Ġ|▁", "", pieces).lower() == word.lower()
    special = encoded.piece_ids[encoded.owners < 0]
    assert set(special) <= set(model.vectoriser.tokenizer.all_special_ids)


def test_a_typed_text_is_read_as_the_tokeniser_reads_it(model):
    for text in ("It's  well-made,but (odd).", "  leading and trailing  "):
        encoded = model.vectoriser.encode_one(model.examples(text)[0])
        assert encoded.piece_ids.tolist() == model.vectoriser.tokenizer(text).input_ids


def test_words_of_a_corpus_become_the_text_they_came_from(model):
    example = al.Example(("a", "gorgeous", ",", "witty", "film"), 0)
    encoded = model.vectoriser.encode_one(example)
    assert encoded.piece_ids.tolist() == model.vectoriser.tokenizer("a gorgeous, witty film").input_ids
    assert model.tokens(example) == list(example.tokens)


def test_long_texts_are_cut_counted_and_only_read_words_are_units(model):
    long = "good dull " * 80
    with pytest.warns(DataWarning, match="1 of 2 texts have more than 64 pieces"):
        scores = al.importance(model, [long, "good"], "random")
    assert len(scores[0]) < 160
    with pytest.warns(DataWarning):
        assert len(scores[0]) == len(model.tokens(long))
    assert cut(model, [long, "good"]) == 1


def test_a_text_without_a_readable_piece_is_one_unknown_piece(folders):
    model = al.load_model(folders("bert"), device="cpu")
    assert model.tokens("\u200b\u200b") == ["\u200b\u200b"]
    assert np.isfinite(model.logits(["\u200b\u200b"])).all()
    with pytest.raises(DataError, match="hold no token"):
        model.predict(["good", "  "])


def test_a_pair_is_one_sequence_and_only_the_text_has_units(folders):
    model = al.load_model(folders("bert"), device="cpu", query=True)
    example = model.examples(("a witty film", "is it dull?"))[0]
    encoded = model.vectoriser.encode_one(example)
    asked = model.vectoriser.tokenizer("a witty film", "is it dull?")
    assert encoded.piece_ids.tolist() == asked.input_ids
    assert encoded.types.tolist() == asked.token_type_ids
    assert model.tokens(example) == ["a", "witty", "film"]
    other = model.logits([("a witty film", "who cares")])
    assert not np.allclose(model.logits([example]), other)
