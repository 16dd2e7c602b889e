"""Tables that are broken, odd or meant to harm: each is a usable corpus or an error that says what to do."""
# ruff: noqa: E501  a case is one line

import json
import os
import pickle

from hostile.cases import NAMES, Case, column, jsonl, load, parametrised, rows, table, texts
from hostile.watch import Payload

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


def many_rows(pa):
    return pa.table(
        {"text": pa.array(["the same long text " * 10] * 60_000), "label": pa.array(["a", "b"] * 30_000)}
    )


def nested(depth, inside="1"):
    return "[" * depth + inside + "]" * depth


def pickled(path):
    path.write_bytes(pickle.dumps(Payload(path.parent / "canary")))


TEXT_FILES = [
    Case("empty", "a.csv", b"", "is empty"),
    Case("blank lines", "a.csv", b"\n \n\t\n", "is empty"),
    Case("empty jsonl", "a.jsonl", b"", "is empty"),
    Case("only a mark of byte order", "a.csv", b"\xef\xbb\xbf", "is empty"),
    Case("header alone", "a.csv", b"text,label\n", "no row"),
    Case("one column", "a.csv", b"text\nfoo\nbar\n", "one column only.*delimiter"),
    Case("one row", "a.csv", b"text,label\na film,pos\n", "Give|needs|no text is left|label"),
    Case("a header twice", "a.csv", table(header=("text", "text")), "names 'text' twice.*Rename"),
    Case("a header twice among others", "a.csv", table([[*r, 1] for r in rows()], ("text", "label", "label")), "'label' twice"),
    Case("no header", "a.csv", table(header=None), lambda c: any("no header" in note for note in c.notes)),
    Case("names with spaces around", "a.csv", table(header=(" text ", " label ")), lambda c: c.classes == ("neg", "pos")),
    Case("a delimiter of two signs", "a.csv", GOOD, "delimiter must be one sign.*'::'", {"delimiter": "::"}),
    Case("no delimiter at all", "a.csv", GOOD, "delimiter must be one sign", {"delimiter": ""}),
    Case("a quote as delimiter", "a.csv", GOOD, "delimiter must be one sign", {"delimiter": '"'}),
    Case("a line end as delimiter", "a.csv", GOOD, "delimiter must be one sign", {"delimiter": "\n"}),
    Case("a number as delimiter", "a.csv", GOOD, "delimiter must be one sign", {"delimiter": 7}),
    Case("a tab as typed", "a.csv", table(sep="\t"), lambda c: True, {"delimiter": "\\t"}),
    Case("the wrong delimiter", "a.csv", GOOD, "column", {"delimiter": ";"}),
    Case("an odd delimiter", "a.csv", table(sep="^"), lambda c: len(c.classes) == 2, {"delimiter": "^"}),
    Case("rows too long", "a.csv", GOOD + b"one,two,three\n", "3 cells, the header 2.*double quotes"),
    Case("rows too short", "a.csv", GOOD + b"lonely text\n", "1 of 21 rows have no label.*drop_missing"),
    Case("rows too short, dropped", "a.csv", GOOD + b"lonely text\n", lambda c: True, {"drop_missing": True}),
    Case("quote never closed", "a.csv", b'text,label\nfine,pos\n"unclosed, text,neg\nbad, text,pos\n' + GOOD[12:], "never closes"),
    Case("quote never closed, saved", "a.csv", b'text,label\n"odd text,neg\n' + GOOD[12:], lambda c: len([*c.items()]) == 21),
    Case("quote swallows the middle", "a.csv", GOOD + b'"a, b,neg\n' + GOOD[12:] + b'c" d, e,pos\n', "swallows|cells"),
    Case("only quotes", "a.csv", b'"""""""""', "one column|empty|never closes"),
    Case("zero bytes", "a.csv", GOOD + b"\0,pos\n", "zero bytes.*utf-16"),
    Case("noise", "a.csv", bytes(range(256)) * 4, "not utf-8.*encoding="),
    Case("latin-1", "a.csv", texts(lambda i: f"caf\xe9 {NAMES[i]}").decode().encode("latin-1"), "not utf-8.*latin-1"),
    Case("latin-1, said so", "a.csv", texts(lambda i: f"caf\xe9 {NAMES[i]}").decode().encode("latin-1"),
         lambda c: "café" in c.vocabulary, {"encoding": "latin-1"}),
    Case("utf-16 without a mark", "a.csv", GOOD.decode().encode("utf-16-le"), "zero bytes.*utf-16"),
    Case("utf-32", "a.csv", b"\xff\xfe\0\0" + GOOD.decode().encode("utf-32-le")),
    Case("half of utf-16", "a.csv", b"\xff\xfe" + GOOD.decode().encode("utf-16-le")[:-1], "not utf-16"),
    Case("an unknown encoding", "a.csv", GOOD, "Unknown encoding 'klingon'", {"encoding": "klingon"}),
    Case("an encoding that is no text", "a.csv", GOOD, "Unknown encoding|not", {"encoding": "zlib"}),
    Case("an encoding that runs nothing", "a.csv", GOOD, "not undefined", {"encoding": "undefined"}),
    Case("an encoding with a zero", "a.csv", GOOD, "Unknown encoding", {"encoding": "a\0b"}),
    Case("a number as encoding", "a.csv", GOOD, "Unknown encoding 8", {"encoding": 8}),
    Case("old Mac line ends", "a.csv", GOOD.replace(b"\r\n", b"\r")),
    Case("a html page", "a.csv", b"<!DOCTYPE html>\n<html><body>404, not found</body></html>\n", "column|cells|row"),
    Case("a pickle", "a.csv", pickled, "utf-8|one column|zero bytes"),
    Case("a pickle as parquet", "a.parquet", pickled, "cannot be read as parquet"),
    Case("formulas of a spreadsheet", "a.csv", texts(lambda i: f"=cmd|'/C calc'!A{i} @SUM(1+1) {NAMES[i]}")),
    Case("a shell in a label", "a.csv", table([[t, f"$(touch canary-{y})"] for t, y in rows()]),
         lambda c: c.classes[0] == "$(touch canary-neg)"),
    Case("a path as a label", "a.csv", table([[t, f"../../{y}"] for t, y in rows()]), lambda c: "../../neg" in c.classes),
]  # fmt: skip
LABELS = [
    Case("no label anywhere", "a.csv", table([[t, ""] for t, _ in rows()]), "no label in any of its 20 rows.*label="),
    Case("nan as every label", "a.csv", table([[t, "NaN"] for t, _ in rows()]), "no label in any"),
    Case("NaN in parquet", "a.parquet", parquet(label=[float("nan")] * 20), "no label in any"),
    Case("null in jsonl", "a.jsonl", jsonl(label=None), "label"),
    Case("one class", "a.csv", table([[t, "pos"] for t, _ in rows()]), "only the class 'pos'.*two classes"),
    Case("a class for each text", "a.csv", table([[t, f"{y}{i}"] for i, (t, y) in enumerate(rows())]), "not a class.*groups"),
    Case("True, true and TRUE", "a.csv", table([[t, ["True", "true", "TRUE", "no"][i % 4]] for i, (t, _) in enumerate(rows())]),
         lambda c: len(c.classes) == 2 and any("TRUE = True = true" in n for n in c.notes)),
    Case("Yes and yes", "a.csv", table([[t, ["Yes", "yes", "No", "no"][i % 4]] for i, (t, _) in enumerate(rows())]),
         lambda c: len(c.classes) == 2 and any("Yes = yes" in n for n in c.notes)),
    Case("1 and 1.0", "a.csv", table([[t, ["1", "1.0", "0"][i % 3]] for i, (t, _) in enumerate(rows())]),
         lambda c: c.classes == ("0", "1") and any("1 = 1.0" in n for n in c.notes)),
    Case("booleans of json and words", "a.jsonl", jsonl(label=lambda i: [True, "true", False, "FALSE"][i % 4]),
         lambda c: len(c.classes) == 2),
    Case("blanks around a label", "a.csv", table([[t, [f" {y}", y][i % 2]] for i, (t, y) in enumerate(rows())]),
         lambda c: c.classes == ("neg", "pos")),
    Case("a list as label", "a.jsonl", jsonl(label=[1, 2]), "label", {"label": "label"}),
    Case("an object as label", "a.jsonl", jsonl(label={"a": 1}), "one name or number", {"label": "label"}),
    Case("infinite labels", "a.jsonl", jsonl(label=lambda i: [float("inf"), float("-inf")][i % 2]), lambda c: len(c.classes) == 2),
    Case("labels of emoji", "a.csv", table([[t, "😀😡"[i % 2]] for i, (t, _) in enumerate(rows())]), lambda c: "😀" in c.classes),
    Case("a very long label", "a.csv", table([[t, y * 5_000] for t, y in rows()]), lambda c: len(c.classes) == 2),
    Case("half a surrogate as label", "a.jsonl", jsonl(label=lambda i: ["\ud800", "b"][i % 2]), lambda c: "?" in c.classes),
    Case("a label called like Python", "a.csv", table([[t, ["__class__", "None"][i % 2]] for i, (t, _) in enumerate(rows())]),
         lambda c: set(c.classes) == {"None", "__class__"}),
]  # fmt: skip
COLUMNS = [
    Case("an unknown split", "a.csv", column("split", lambda i: ["train", "secret"][i % 2]), "'secret'.*Allowed.*split=None"),
    Case("holdout is test", "a.csv", column("split", lambda i: ["train", "holdout"][i % 3 == 0]), lambda c: len(c.test) == 7),
    Case("only test", "a.csv", column("split", "test"), "no row has the split 'train'"),
    Case("only dev and test", "a.csv", column("split", lambda i: ["dev", "test"][i % 2]), "no row has the split 'train'"),
    Case("a split with gaps", "a.csv", column("split", lambda i: ["train", ""][i % 2]), "blank cells"),
    Case("a split of numbers", "a.csv", column("fold", lambda i: i % 5), "name no split.*split=None"),
    Case("a split of long texts", "a.csv", column("split", lambda i: f"{i} " + "x" * 9000), "name no split.*20 in all"),
    Case("a split of lists", "a.jsonl", jsonl(split=["train"]), "name no split"),
    Case("an empty split column", "a.csv", column("split", ""), lambda c: any("own split" in note for note in c.notes)),
    Case("a split that is no label", "a.csv", table([[t, s, y] for (t, y), s in zip(rows(), SPLITS.split(), strict=True)],
         ("v1", "split", "v2")), lambda c: c.classes == ("neg", "pos") and len(c.test) == 3),
    Case("a column that is not there", "a.csv", GOOD, "Unknown column 'body'.*Available: label, text", {"text": "body"}),
    Case("a number as column", "a.csv", GOOD, "Unknown column '3'", {"label": 3}),
    Case("a list as column", "a.csv", GOOD, "Unknown column", {"text": ["text"]}),
    Case("two texts", "a.csv", table([[t, t, y] for t, y in rows()], ("c1", "c2", "c3")), "could be 'c1' or 'c2'.*text='c1'"),
    Case("no text", "a.csv", table([[i, i % 2] for i in range(20)], ("a", "b")), "text column.*Columns"),
    Case("an unknown option", "a.csv", GOOD, "Unknown option 'colour'.*Its own", {"colour": "red"}),
    Case("the same id twice", "a.csv", column("id", lambda i: i % 19), "more than once.*unique"),
    Case("an id with a path", "a.csv", column("id", lambda i: f"../../etc/{i}"), lambda c: c.train[0].id.startswith("../../")),
    Case("a query with a gap", "a.csv", column("question", lambda i: "" if i == 3 else "why?"), "row 3 .*no query.*Fill"),
    Case("a query of signs", "a.csv", column("question", "\u200b"), "empty query"),
    Case("an object as query", "a.jsonl", jsonl(question={"a": 1}), "query is a string or a list"),
    Case("a name of 300 letters", "a.csv", column("x" * 300, 1), "column|cells|header|one"),
    Case("a thousand columns", "a.csv", table([[*r, *range(998)] for r in rows()], ("text", "label", *(f"c{i}" for i in range(998))))),
]  # fmt: skip
RECORDS = [
    Case("deep lists", "a.jsonl", nested(100_000).encode(), "nested too deeply"),
    Case("deep objects", "a.jsonl", (b'{"a":' * 100_000) + b"1" + b"}" * 100_000, "nested too deeply"),
    Case("deep json", "a.json", nested(100_000).encode(), "nested too deeply"),
    Case("a deep text", "a.jsonl", jsonl(text=lambda i: json.loads(nested(50, '"a"'))), "text"),
    Case("a cut line", "a.jsonl", jsonl() + b'\n{"text": "a', "line 21 is not valid JSON"),
    Case("a line twice over", "a.jsonl", jsonl() + b"\n{}{}", "line 21 is not valid JSON"),
    Case("numbers for rows", "a.jsonl", b"1\n2\n", "entry 1: needs an object.*one object per line"),
    Case("an object over all", "a.json", b'{"data": [1, 2]}', "label|text|column"),
    Case("a list of lists", "a.json", b"[[1, 2], [3, 4]]", "needs an object"),
    Case("an empty list", "a.json", b"[]", "no row"),
    Case("empty objects", "a.jsonl", b"{}\n{}\n", "no row|column"),
    Case("a key twice", "a.jsonl", b'{"text": "a", "text": "b", "label": 1}\n' + jsonl(), "'text' occurs twice"),
    Case("a huge number", "a.jsonl", b'{"text": "a", "label": ' + b"9" * 5000 + b"}", "line 1 is not valid JSON"),
    Case("NaN and Infinity", "a.jsonl", jsonl(score=float("nan"), other=float("inf"))),
    Case("a number as text", "a.jsonl", jsonl(text=lambda i: 7 * i), "text column"),
    Case("an object as text", "a.jsonl", jsonl(text={"a": 1}), "text is a string or a list of tokens", {"text": "text"}),
    Case("tokens with gaps", "a.jsonl", jsonl(text=lambda i: ["a", None, " ", NAMES[i]]),
         lambda c: not any("none" in e.tokens for _, e in c.items()), {"text": "text"}),
    Case("tokens of tokens", "a.jsonl", jsonl(text=[["a"], ["b"]]), "text is a string or a list", {"text": "text"}),
    Case("no token", "a.jsonl", jsonl(text=lambda i: [NAMES[i]] if i else [])),
    Case("half a surrogate", "a.jsonl", jsonl(text=lambda i: f"broken \ud83d sign {NAMES[i]}")),
    Case("half a surrogate, kept", "a.jsonl", jsonl(text=lambda i: f"broken \ud83d sign {NAMES[i]}"), lambda c: True,
         {"preprocessing": {"normalise": False}}),
    Case("a key that means something to Python", "a.jsonl", jsonl(__proto__="x", __class__="y")),
    Case("keys with blanks", "a.jsonl", jsonl(**{" ": 1, "": 2})),
    Case("tags of YAML", "a.jsonl", b"!!python/object/apply:os.system ['touch canary']\n", "not valid JSON"),
    Case("parquet of noise", "a.parquet", b"PAR1" + bytes(100) + b"PAR1", "cannot be read as parquet.*csv"),
    Case("parquet of nothing", "a.parquet", b"", "cannot be read as parquet"),
    Case("parquet cut off", "a.parquet", lambda p: (parquet()(p), os.truncate(p, 200)), "cannot be read as parquet"),
    Case("parquet with a name twice", "a.parquet", parquet(same_names), "same name.*Rename"),
    Case("parquet without rows", "a.parquet", parquet(lambda pa: pa.table({"text": [], "label": []})), "no row"),
    Case("parquet without columns", "a.parquet", parquet(lambda pa: pa.table({})), "no row"),
    Case("parquet with bytes", "a.parquet", parquet(text=[r[0].encode() for r in rows()]), lambda c: "film" in c.vocabulary),
    Case("parquet with lists", "a.parquet", parquet(text=[r[0].split() for r in rows()]), lambda c: "film" in c.vocabulary),
    Case("parquet that is a csv", "a.parquet", GOOD, "cannot be read as parquet"),
]  # fmt: skip
RATIONALES = [
    Case("a number as rationale", "a.jsonl", jsonl(rationale=3), "row 0.*list of character spans.*got '3'"),
    Case("a truth as rationale", "a.jsonl", jsonl(rationale=True), "list of character spans"),
    Case("an object as rationale", "a.jsonl", jsonl(rationale={"start": 0, "end": 3}), "list of character spans"),
    Case("a span behind the text", "a.csv", column("rationale", "[[0, 999]]"), r"\[0, 999\] lies outside the text.*Count"),
    Case("a span before the text", "a.csv", column("rationale", "[[-3, 2]]"), "lies outside the text"),
    Case("a span backwards", "a.csv", column("rationale", "[[5, 2]]"), "lies outside the text.*start before end"),
    Case("a span of words", "a.csv", column("rationale", '[["a", "b"]]'), "two whole numbers"),
    Case("a span of fractions", "a.csv", column("rationale", "[[0.5, 2]]"), "two whole numbers"),
    Case("a span of nothing", "a.csv", column("rationale", "[[null, 2]]"), "two whole numbers"),
    Case("an infinite span", "a.jsonl", jsonl(rationale=[[0, float("inf")]]), "two whole numbers"),
    Case("a span of NaN", "a.jsonl", jsonl(rationale=[[float("nan"), 2]]), "two whole numbers"),
    Case("three numbers a span", "a.csv", column("rationale", "[[0, 1, 2]]"), "list of character spans"),
    Case("an empty span", "a.csv", column("rationale", "[[2, 2]]"), lambda c: not any(any(e.rationale) for _, e in c.items())),
    Case("no marks", "a.csv", column("rationale", "[]"), lambda c: c.train[0].rationale is not None),
    Case("too few marks", "a.csv", column("rationale", "[0, 1]"), "marks 2 words, the text has 4"),
    Case("marks of 2", "a.csv", column("rationale", "[0, 1, 2, 0]"), "0 and 1 for every word"),
    Case("marks as one number", "a.csv", column("rationale", "0110"), "list of character spans|marks|occur"),
    Case("marks and spans", "a.csv", column("rationale", "[0, [1, 2]]"), "list of character spans"),
    Case("a passage that is not there", "a.csv", column("rationale", lambda i: "terrible" if i == 3 else ""), "row 3 .*does not occur in the text"),
    Case("an empty passage", "a.csv", column("rationale", '[""]'), "does not occur"),
    Case("broken json", "a.csv", column("rationale", "[[0, 1"), "row 0.*not valid JSON"),
    Case("deep json in a cell", "a.csv", column("rationale", nested(100_000)), "nested too deeply"),
    Case("spans over tokens", "a.jsonl", jsonl(text=["a", "b"], rationale=[[0, 1]]), "need a text", {"text": "text"}),
    Case("code as a rationale", "a.csv", column("rationale", "__import__('os').system('touch canary')"), "does not occur"),
]  # fmt: skip


@parametrised([*TEXT_FILES, *LABELS, *COLUMNS, *RECORDS, *RATIONALES])
def test_tables(tmp_path, case):
    load(case, tmp_path)


def test_a_parquet_bomb(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_UNPACK_LIMIT", "1")
    case = Case("bomb", "a.parquet", parquet(many_rows), "more than 1,048,576 bytes.*ATTNLIB_UNPACK_LIMIT")
    load(case, tmp_path)
    assert (tmp_path / "a.parquet").stat().st_size < 2**20
