"""Word pieces: a tiny tokeniser made here always, MiniLM's where the package index is in reach."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from attnlib.data import Example, Preprocessing
from attnlib.data.checks import DataWarning
from attnlib.data.readers.packaged import DownloadError
from attnlib.data.wordpieces import WordPieceVectoriser, vectoriser_from_json
from attnlib.utils.errors import ConfigError

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] a film good un ##believ ##able ##ly , ?".split()
TEXT = Example(("a", "unbelievable", "film"), 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT tokeniser of 14 pieces, as `save_pretrained` writes it, with a config of 12 positions."""
    from transformers import BertTokenizerFast

    place = tmp_path_factory.mktemp("tiny")
    (place / "vocab.txt").write_text("\n".join(PIECES))
    vocabulary = {piece: i for i, piece in enumerate(PIECES)}
    BertTokenizerFast(vocab=vocabulary, model_max_length=100).save_pretrained(str(place))
    (place / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 12}))
    return place


@pytest.fixture
def tiny(folder: Path) -> WordPieceVectoriser:
    return WordPieceVectoriser(folder)


def test_special_ids_come_from_the_tokeniser(tiny: WordPieceVectoriser) -> None:
    assert (tiny.n_ids, tiny.pad_id, tiny.unk_id, tiny.mask_id, tiny.max_length) == (14, 0, 1, 4, 12)


def test_pieces_are_tied_to_words_and_special_tokens_are_not_content(tiny: WordPieceVectoriser) -> None:
    batch = tiny.batch([TEXT, Example(("good",), 0)])
    assert batch.ids.tolist() == [[2, 5, 8, 9, 10, 6, 3], [2, 7, 3, 0, 0, 0, 0]]
    assert batch.words.tolist() == [[-1, 0, 1, 1, 1, 2, -1], [-1, 0, -1, -1, -1, -1, -1]]
    assert batch.mask.tolist() == [[True] * 7, [True] * 3 + [False] * 4]
    assert batch.content.tolist() == [[False] + [True] * 5 + [False], [False, True] + [False] * 5]
    assert batch.labels.tolist() == [1, 0]
    assert batch.sentences is None


def test_tokens_are_the_pieces_at_content_positions(tiny: WordPieceVectoriser) -> None:
    assert tiny.tokens(TEXT) == ["a", "un", "##believ", "##able", "film"]
    assert tiny.tokens(Example(("strange", "film"), 0)) == ["[UNK]", "film"]


def test_queries_are_read_with_the_same_pieces(tiny: WordPieceVectoriser) -> None:
    batch = tiny.batch([Example(("good",), 0, query=("a", "film", "?")), Example(("film",), 0, query=("a",))])
    assert batch.query.tolist() == [[2, 5, 6, 13, 3], [2, 5, 3, 0, 0]]
    assert batch.query_mask.sum(1).tolist() == [5, 3]


def test_texts_too_long_are_cut_counted_and_keep_their_last_special_token(tiny: WordPieceVectoriser) -> None:
    texts = [Example(("film",) * 30, 0), TEXT, Example(("film",) * 10, 0)]
    with pytest.warns(DataWarning, match="1 of 3 texts have more than 12 word pieces"):
        encoded = tiny.encode(texts)
    assert [len(e) for e in encoded] == [12, 7, 12]
    assert encoded[0].ids[-1] == 3
    assert len(tiny.tokens(texts[0])) == 10


def test_a_text_without_any_piece_is_one_unknown(tiny: WordPieceVectoriser) -> None:
    encoded = tiny.encode_one(Example(("\u200b",), 0))
    assert encoded.ids.tolist() == [2, 1, 3]
    assert encoded.content.tolist() == [False, True, False]
    assert encoded.words.tolist() == [-1, 0, -1]


def test_saved_and_loaded_without_the_folder(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = WordPieceVectoriser(copy, Preprocessing(lower=False))
    saved = before.to_json()
    shutil.rmtree(copy)
    after = vectoriser_from_json(saved)
    assert isinstance(after, WordPieceVectoriser)
    assert after.to_json() == saved
    assert after.preprocessing == before.preprocessing
    assert torch.equal(after.batch([TEXT]).ids, before.batch([TEXT]).ids)
    assert (after.n_ids, after.mask_id, after.max_length) == (before.n_ids, before.mask_id, before.max_length)


def test_no_tokeniser_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"No tokeniser could be read from the folder .*Give a folder"):
        WordPieceVectoriser(tmp_path)


@pytest.mark.network
def test_minilm() -> None:
    try:
        vectoriser = WordPieceVectoriser("minilm")
    except DownloadError as error:
        pytest.skip(f"the package index is out of reach: {str(error).splitlines()[0]}")
    assert (vectoriser.n_ids, vectoriser.max_length, vectoriser.mask_id) == (30_522, 512, 103)
    example = Example(("an", "unbelievably", "gorgeous", "film"), 0)
    assert vectoriser.tokens(example) == ["an", "un", "##bel", "##ie", "##va", "##bly", "gorgeous", "film"]
    assert vectoriser.batch([example]).words.tolist() == [[-1, 0, 1, 1, 1, 1, 1, 2, 3, -1]]
