"""Tables and texts that are broken, odd or meant to harm: each is a usable corpus or an error that says what to do."""
# ruff: noqa: E501  a case is one line

import gzip
import json
import os
import pickle

import pytest
from hostile.cases import NAMES, Case, column, jsonl, meets, rows, table, texts
from hostile.watch import Payload

from attnlib.data import load_corpus

GOOD = table()
SPLITS = "train " * 14 + "dev " * 3 + "test " * 3


def parquet(frame=None, **columns):
    def make(path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        base = {"text": [r[0] for r in rows()], "label": [r[1] for r in rows()]}
        made = pa.table(base | columns) if frame is None else frame(pa)
        pq.write_table(made, path)

    return make


def same_names(pa):
    return pa.Table.from_arrays([pa.array(["a", "b"])] * 2, names=["text", "text"])


def nested(depth, inside="1"):
    return "[" * depth + inside + "]" * depth


def pickled(path):
    path.write_bytes(pickle.dumps(Payload(path.parent / "canary")))


def has(*words):
    return lambda corpus: all(w in corpus.vocabulary for w in words)


def lacks(*signs):
    return lambda corpus: not any(s in word for s in signs for word in corpus.vocabulary.words[4:])


def each(start):
    return texts(lambda i: f"{start} {NAMES[i]}")


TEXT_FILES = [
    Case("empty", "a.csv", b"", "is empty"),
    Case("header alone", "a.csv", b"text,label\n", "no row"),
    Case("one column", "a.csv", b"text\nfoo\nbar\n", "one column only.*sep"),
    Case("a header twice", "a.csv", table(header=("text", "text")), "names 'text' twice.*Rename"),
    Case("no header", "a.csv", table(header=None), lambda c: len([*c.items()]) == 20),
    Case("names with spaces around", "a.csv", table(header=(" text ", " label ")), lambda c: c.classes == ("neg", "pos")),
    Case("a delimiter of two signs", "a.csv", GOOD, "sep must be one sign.*'::'", {"sep": "::"}),
    Case("a tab as typed", "a.csv", table(sep="\t"), lambda c: True, {"sep": "\\t"}),
    Case("an odd delimiter", "a.csv", table(sep="^"), lambda c: len(c.classes) == 2, {"sep": "^"}),
    Case("rows too long", "a.csv", GOOD + b"one,two,three\n", "row 22 has 3 cells, row 1 has 2.*double quotes"),
    Case("rows too short, dropped", "a.csv", GOOD + b"lonely text\n", lambda c: True, {"drop_missing": True}),
    Case("quote never closed", "a.csv", b'text,label\nfine,pos\n"unclosed, text,neg\nbad, text,pos\n' + GOOD[12:], "never closes"),
    Case("quote swallows the middle", "a.csv", GOOD + b'"a, b,neg\n' + GOOD[12:] + b'c" d, e,pos\n', "swallows|cells"),
    Case("zero bytes", "a.csv", GOOD + b"\0,pos\n", "zero bytes.*utf-16"),
    Case("noise", "a.csv", bytes(range(256)) * 4, "not utf-8.*encoding="),
    Case("latin-1", "a.csv", texts(lambda i: f"caf\xe9 {NAMES[i]}").decode().encode("latin-1"), "not utf-8.*latin-1"),
    Case("latin-1, said so", "a.csv", texts(lambda i: f"caf\xe9 {NAMES[i]}").decode().encode("latin-1"),
         lambda c: "café" in c.vocabulary, {"encoding": "latin-1"}),
    Case("utf-16 without a mark", "a.csv", GOOD.decode().encode("utf-16-le"), "zero bytes.*utf-16"),
    Case("an unknown encoding", "a.csv", GOOD, "encoding 'klingon'.*Common ones", {"encoding": "klingon"}),
    Case("a html page", "a.csv", b"<!DOCTYPE html>\n<html><body>404, not found</body></html>\n", "column|cells|row"),
    Case("a pickle", "a.csv", pickled, "utf-8|one column|zero bytes"),
    Case("gz without its name", "a.csv", gzip.compress(GOOD), "not utf-8.*encoding"),
    Case("gz", "a.csv.gz", gzip.compress(GOOD), "not a table attnlib reads.*unpack"),
    Case("a zip called csv", "a.csv", b"PK\x03\x04" + bytes(range(256)), "not utf-8|zero bytes"),
    Case("a pickle as parquet", "a.parquet", pickled, "cannot be read as parquet"),
    Case("a shell in a label", "a.csv", table([[t, f"$(touch canary-{y})"] for t, y in rows()]),
         lambda c: c.classes[0] == "$(touch canary-neg)"),
]  # fmt: skip
LABELS = [
    Case("no label anywhere", "a.csv", table([[t, ""] for t, _ in rows()]), "no label in any row.*label="),
    Case("NaN in parquet", "a.parquet", parquet(label=[float("nan")] * 20), "no label in any"),
    Case("one class", "a.csv", table([[t, "pos"] for t, _ in rows()]), "only the class 'pos'.*two classes"),
    Case("a class for each text", "a.csv", table([[t, f"{y}{i}"] for i, (t, y) in enumerate(rows())]), "not a class.*groups"),
    Case("1 and 1.0", "a.csv", table([[t, ["1", "1.0", "0"][i % 3]] for i, (t, _) in enumerate(rows())]),
         lambda c: c.classes == ("0", "1")),
    Case("blanks around a label", "a.csv", table([[t, [f" {y}", y][i % 2]] for i, (t, y) in enumerate(rows())]),
         lambda c: c.classes == ("neg", "pos")),
    Case("an object as label", "a.jsonl", jsonl(label={"a": 1}), "one name or number", {"label": "label"}),
    Case("half a surrogate as label", "a.jsonl", jsonl(label=lambda i: ["\ud800", "b"][i % 2]), lambda c: "?" in c.classes),
    Case("a label called like Python", "a.csv", table([[t, ["__class__", "None"][i % 2]] for i, (t, _) in enumerate(rows())]),
         lambda c: set(c.classes) == {"None", "__class__"}),
]  # fmt: skip
COLUMNS = [
    Case("an unknown split", "a.csv", column("split", lambda i: ["train", "secret"][i % 2]), "'secret'.*Allowed.*split=None"),
    Case("holdout is test", "a.csv", column("split", lambda i: ["train", "holdout"][i % 3 == 0]), lambda c: len(c.test) == 7),
    Case("only test", "a.csv", column("split", "test"), "no row has the split 'train'"),
    Case("a split with gaps", "a.csv", column("split", lambda i: ["train", ""][i % 2]), "blank cells"),
    Case("a split of numbers", "a.csv", column("fold", lambda i: i % 5), "name no split.*split=None"),
    Case("a split of lists", "a.jsonl", jsonl(split=["train"]), "name no split"),
    Case("an empty split column", "a.csv", column("split", ""), lambda c: any("own split" in note for note in c.notes)),
    Case("a split that is no label", "a.csv", table([[t, s, y] for (t, y), s in zip(rows(), SPLITS.split(), strict=True)],
         ("v1", "split", "v2")), lambda c: c.classes == ("neg", "pos") and len(c.test) == 3),
    Case("a column that is not there", "a.csv", GOOD, "Unknown column 'body'.*Available: label, text", {"text": "body"}),
    Case("two texts", "a.csv", table([[t, t, y] for t, y in rows()], ("c1", "c2", "c3")), "could be 'c1' or 'c2'.*text='c1'"),
    Case("no text", "a.csv", table([[i, i % 2] for i in range(20)], ("a", "b")), "text column.*Columns"),
    Case("an unknown option", "a.csv", GOOD, "Unknown option 'colour'.*Its own", {"colour": "red"}),
    Case("the same id twice", "a.csv", column("id", lambda i: i % 19), "more than once.*unique"),
    Case("an id with a path", "a.csv", column("id", lambda i: f"../../etc/{i}"), lambda c: c.train[0].id.startswith("../../")),
    Case("a query with a gap", "a.csv", column("question", lambda i: "" if i == 3 else "why?"), "row 3 .*no query.*Fill"),
    Case("a query of signs", "a.csv", column("question", "\u200b"), "empty query"),
    Case("an object as query", "a.jsonl", jsonl(question={"a": 1}), "query is a string or a list"),
    Case("a thousand columns", "a.csv", table([[*r, *range(998)] for r in rows()], ("text", "label", *(f"c{i}" for i in range(998))))),
]  # fmt: skip
RECORDS = [
    Case("deep lists", "a.jsonl", nested(100_000).encode(), "nested too deeply"),
    Case("a deep text", "a.jsonl", jsonl(text=lambda i: json.loads(nested(50, '"a"'))), "text"),
    Case("a cut line", "a.jsonl", jsonl() + b'\n{"text": "a', "line 21 is not valid JSON"),
    Case("an empty list", "a.json", b"[]", "no row"),
    Case("a huge number", "a.jsonl", b'{"text": "a", "label": ' + b"9" * 5000 + b"}", "line 1 is not valid JSON"),
    Case("an object as text", "a.jsonl", jsonl(text={"a": 1}), "text or query is a string or a list of tokens", {"text": "text"}),
    Case("no token", "a.jsonl", jsonl(text=lambda i: [NAMES[i]] if i else [])),
    Case("half a surrogate", "a.jsonl", jsonl(text=lambda i: f"broken \ud83d sign {NAMES[i]}")),
    Case("tags of YAML", "a.jsonl", b"!!python/object/apply:os.system ['touch canary']\n", "not valid JSON"),
    Case("parquet of noise", "a.parquet", b"PAR1" + bytes(100) + b"PAR1", "cannot be read as parquet.*csv"),
    Case("parquet cut off", "a.parquet", lambda p: (parquet()(p), os.truncate(p, 200)), "cannot be read as parquet"),
    Case("parquet with a name twice", "a.parquet", parquet(same_names), "cannot be read as parquet|twice"),
    Case("parquet with bytes", "a.parquet", parquet(text=[r[0].encode() for r in rows()]), lambda c: "film" in c.vocabulary),
]  # fmt: skip
TEXTS = [
    Case("line breaks of a page", "a.csv", each("good.<br /><br />bad"), lacks("br", "<", ">")),
    Case("a script", "a.csv", each("<script>document.location='http://x'</script>hello")),
    Case("less and greater", "a.csv", each("a < b and c > d"), has("<", ">", "d")),
    Case("a template", "a.csv", each("{{7*7}} ${7*7} #{7*7} %s %d {0}"), lambda c: "49" not in c.vocabulary),
    Case("escapes of a terminal", "a.csv", each("\x1b[31mred\x1b[0m \x07 bell"), lacks("\x1b", "\x07")),
    Case("right to left", "a.csv", each("abc \u202egnp.exe\u202c def"), lacks("\u202e", "\u202c")),
    Case("zero width", "a.csv", each("in\u200bvis\u200dible \ufeff"), has("invisible")),
    Case("combining marks without end", "a.csv", each("Z" + "\u0301" * 500)),
    Case("Arabic, Hebrew, Thai, Chinese", "a.csv", each("مرحبا שלום สวัสดี 你好"), has("مرحبا", "שלום")),
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
    Case("next line and line separator", "a.csv", each("one\x85two\u2028three"), has("one", "two", "three")),
]  # fmt: skip
CASES = [*TEXT_FILES, *LABELS, *COLUMNS, *RECORDS, *TEXTS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore::attnlib.data.checks.DataWarning")
def test_tables(tmp_path, case):
    """The file meets the case's error, or is a corpus whose splits have texts of words, and classes."""
    path = tmp_path / case.name
    if callable(case.content):
        case.content(path)
    else:
        path.write_bytes(case.content)
    corpus = meets(lambda: load_corpus(path, **case.options), case.says, tmp_path)
    if corpus is not None:
        assert corpus.train and corpus.dev and corpus.test  # noqa: PT018
        assert len(corpus.classes) >= 2
        assert all(e.tokens and all(e.tokens) and 0 <= e.label < len(corpus.classes) for _, e in corpus.items())
    assert not list(tmp_path.rglob("canary*"))
