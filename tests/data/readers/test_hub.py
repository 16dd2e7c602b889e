"""Hub sets through the library `datasets`, on folders that it wrote itself: no network."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attnlib.data import load_corpus
from attnlib.utils.errors import DataError
from attnlib.utils.extras import MissingPackage

datasets = pytest.importorskip("datasets", reason="the extra attnlib[hub] is not installed")

SENTENCES = [f"{word} film number {n}" for n in range(10) for word in ("good", "bad")]
LABELS = [1, 0] * 10


def part(columns: dict, names: list[str] | None = None, label: str = "label"):
    made = datasets.Dataset.from_dict(columns)
    return made if names is None else made.cast_column(label, datasets.ClassLabel(names=names))


def saved(folder: Path, **splits) -> str:
    datasets.DatasetDict(splits).save_to_disk(str(folder))
    return f"hub:{folder}"


def reviews(n: int, start: int = 0) -> dict:
    return {"text": [f"{t} in part {start}" for t in SENTENCES[:n]], "label": LABELS[:n]}


def test_class_names_and_split_names_are_taken_over(tmp_path: Path) -> None:
    names = ["neg", "pos"]
    name = saved(
        tmp_path / "s",
        train=part(reviews(20), names),
        validation=part(reviews(4, 1), names),
        test=part(reviews(6, 2), names),
        unsupervised=part(reviews(2, 3), names),
    )
    corpus = load_corpus(name)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (20, 4, 6)
    assert corpus.classes == ("neg", "pos")
    assert corpus.train[0].tokens[:2] == ("good", "film")
    assert corpus.train[0].label == 1
    assert "splits left out: unsupervised" in corpus.notes


def test_withheld_test_labels_make_validation_the_test_set(tmp_path: Path) -> None:
    names = ["neg", "pos"]
    hidden = reviews(6, 2) | {"label": [-1] * 6}
    name = saved(
        tmp_path / "s",
        train=part(reviews(20), names),
        validation=part(reviews(4, 1), names),
        test=part(hidden, names),
    )
    corpus = load_corpus(name)
    assert len(corpus.test) == 4
    assert all("1" in e.tokens for e in corpus.test)
    assert len(corpus.train) + len(corpus.dev) == 20
    assert any("validation is used as test" in note for note in corpus.notes)


def test_a_single_nameless_part_is_split_by_us(tmp_path: Path) -> None:
    part({"review": SENTENCES, "sentiment": ["p", "n"] * 10}).save_to_disk(str(tmp_path / "one"))
    corpus = load_corpus(f"hub:{tmp_path / 'one'}")
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (16, 2, 2)
    assert corpus.classes == ("n", "p")


def test_columns_can_be_named_and_joined(tmp_path: Path) -> None:
    columns = {"head": ["Oh"] * 20, "body": SENTENCES, "kind": LABELS, "noise": SENTENCES}
    name = saved(tmp_path / "s", train=part(columns))
    corpus = load_corpus(name, text=["head", "body"], label="kind", query=None)
    assert corpus.train[0].tokens[0] == "oh"
    with pytest.raises(DataError, match=r"Unknown column 'bdy'\. Did you mean 'body'\?"):
        load_corpus(name, text=["head", "bdy"], label="kind")


def test_pairs_carry_the_hypothesis_as_query(tmp_path: Path) -> None:
    columns = {"premise": SENTENCES, "hypothesis": ["a film"] * 20, "label": LABELS}
    corpus = load_corpus(saved(tmp_path / "s", train=part(columns, ["entailment", "neutral"])))
    assert corpus.task == "query"
    assert corpus.train[0].query == ("a", "film")


@pytest.mark.parametrize(
    ("name", "path", "config"),
    [
        ("sst2", "stanfordnlp/sst2", None),
        ("glue/sst2", "nyu-mll/glue", "sst2"),
        ("someone/set", "someone/set", None),
        ("someone/set/part", "someone/set", "part"),
    ],
)
def test_names_with_and_without_owner_and_config(monkeypatch, name: str, path: str, config: str | None) -> None:
    def load(*asked, **options):
        assert asked == (path, config)
        return part({"sentence" if name.endswith("sst2") else "text": SENTENCES, "label": LABELS})

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert len([*load_corpus(f"hub:{name}").items()]) == 20


def test_a_dataset_in_memory_is_read_as_from_the_hub(tmp_path: Path) -> None:
    parts = {"train": part(reviews(20), ["neg", "pos"]), "test": part(reviews(6, 2), ["neg", "pos"])}
    corpus = load_corpus(datasets.DatasetDict(parts), name="mine")
    assert corpus.fingerprint == load_corpus(saved(tmp_path / "s", **parts), name="mine").fingerprint
    assert (corpus.name, corpus.classes, len(corpus.test)) == ("mine", ("neg", "pos"), 6)
    alone = load_corpus(parts["train"].shuffle(seed=1).select(range(12)))
    assert len([*alone.items()]) == 12
    assert all(("good" in e.tokens) == (alone.classes[e.label] == "pos") for _, e in alone.items())


def test_no_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingPackage, match=r"pip install 'attnlib\[hub\]'"):
        load_corpus("hub:sst2")


def test_folders_without_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="save_to_disk"):
        load_corpus(f"hub:{tmp_path}")
    with pytest.raises(DataError, match="no train split; it has test"):
        load_corpus(saved(tmp_path / "s", test=part(reviews(4))))


def test_code_of_a_data_set_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def refuse(*args, **options):
        asked.update(options)
        raise RuntimeError("Dataset scripts are no longer supported, but found set.py")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(DataError, match="refs/convert/parquet"):
        load_corpus("hub:someone/set")
    assert not asked.get("trust_remote_code")
