"""Texts that people and machines write: all of them become words, none of them becomes anything else."""
# ruff: noqa: E501  a case is one line

import pytest
from hostile.cases import NAMES, Case, load, meets, parametrised, texts

from attnlib.data import load_corpus


def has(*words):
    return lambda corpus: all(w in corpus.vocabulary for w in words)


def lacks(*signs):
    return lambda corpus: not any(s in word for s in signs for word in corpus.vocabulary.words[4:])


def each(start):
    return texts(lambda i: f"{start} {NAMES[i]}")


CASES = [
    Case("line breaks of a page", "a.csv", each("good.<br /><br />bad"), lacks("br", "<", ">")),
    Case("a script", "a.csv", each("<script>document.location='http://x'</script>hello")),
    Case("an event in a tag", "a.csv", each('<img src=x onerror="alert(1)">hello')),
    Case("less and greater", "a.csv", each("a < b and c > d"), has("<", ">", "d")),
    Case("a comment", "a.csv", each("seen <!-- hidden --> too")),
    Case("a template", "a.csv", each("{{7*7}} ${7*7} #{7*7} %s %d {0}"), lambda c: "49" not in c.vocabulary),
    Case("escapes of a terminal", "a.csv", each("\x1b[31mred\x1b[0m \x07 bell"), lacks("\x1b", "\x07")),
    Case("right to left", "a.csv", each("abc \u202egnp.exe\u202c def"), lacks("\u202e", "\u202c")),
    Case("zero width", "a.csv", each("in\u200bvis\u200dible \ufeff"), has("invisible")),
    Case("combining marks without end", "a.csv", each("Z" + "\u0301" * 500)),
    Case("Arabic, Hebrew, Thai, Chinese", "a.csv", each("مرحبا שלום สวัสดี 你好"), has("مرحبا", "שלום")),
    Case("private and unassigned letters", "a.csv", each("a\ue000b \U000e0001 c"), has("a", "b", "c")),
    Case("a word of a million letters", "a.csv", texts(lambda i: "x" * 1_000_000 + NAMES[i] if i < 2 else NAMES[i]),
         lambda c: max(map(len, c.vocabulary.words)) <= 64),
    Case("links without a blank", "a.csv", texts(lambda i: NAMES[i] + " " + "http://x.y/" * 5_000 * (i == 0)), has("beta")),
    Case("a text of fifty thousand words", "a.csv", texts(lambda i: "very " * 50_000 if i == 0 else NAMES[i])),
    Case("only signs", "a.csv", texts(lambda i: "?!… " * (i + 1)), lambda c: True),
    Case("only signs, dropped", "a.csv", texts(lambda i: "?!…" * (i + 1)), "no text is left",
         {"preprocessing": {"punctuation": "drop"}}),
    Case("only blanks", "a.csv", texts("   "), "text"),
    Case("blank to the eye", "a.csv", texts("\u200b"), "no text is left in train"),
    Case("one text in all rows", "a.csv", texts("the same"), "no text is left|only the class|word for word|Give"),
    Case("numbers alone", "a.csv", texts(lambda i: str(i * 1.5)), "text column", {}),
    Case("quotes and line ends", "a.csv", each('he said ""wow""\r\nand\nleft'), has("wow", "left")),
    Case("tabs and form feeds", "a.csv", each("a\tb\fc\vd"), has("a", "b", "c", "d")),
    Case("next line and line separator", "a.csv", each("one\x85two\u2028three"), has("one", "two", "three")),
]  # fmt: skip


@parametrised(CASES)
@pytest.mark.filterwarnings("ignore::attnlib.data.checks.DataWarning")
def test_texts(tmp_path, case):
    load(case, tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limit": -5}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"max_length": 0}, "max_length"),
        ({"min_df": 0}, "min_df"),
        ({"seed": -1}, "seed"),
        ({"preprocessing": {"tokenizer": "rm -rf"}}, "'spacy' or 'whitespace'"),
        ({"preprocessing": 7}, "preprocessing must be"),
        ({"preprocessing": {"max_word": 0}}, "max_word"),
        ({"preprocessing": {1: "x"}}, "preprocessing.*valid string"),
        ({"drop_missing": "perhaps"}, "drop_missing"),
        ({"options": "x"}, "options must be a mapping"),
        ({"train": "b.csv"}, "either corpus"),
        ({"path": "b.csv"}, "Unknown option 'path'"),
        ({"__class__": "x"}, "Unknown option '__class__'"),
    ],
    ids=str,
)
def test_options(tmp_path, options, says):
    (tmp_path / "a.csv").write_bytes(each("hello"))
    meets(lambda: load_corpus(tmp_path / "a.csv", **options), says, tmp_path)
