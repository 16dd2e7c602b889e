"""Tables that are broken, odd or meant to harm: each is a usable corpus or an error that says what to do."""
# ruff: noqa: E501  a case is one line

import gzip
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


def nested(depth, inside="1"):
    return "[" * depth + inside + "]" * depth


def pickled(path):
    path.write_bytes(pickle.dumps(Payload(path.parent / "canary")))


TEXT_FILES = [
    Case("empty", "a.csv", b"", "is empty"),
    Case("blank lines", "a.csv", b"\n \n\t\n", "is empty"),
    Case("header alone", "a.csv", b"text,label\n", "no row"),
    Case("one column", "a.csv", b"text\nfoo\nbar\n", "one column only.*sep"),
    Case("a header twice", "a.csv", table(header=("text", "text")), "names 'text' twice.*Rename"),
    Case("no header", "a.csv", table(header=None), lambda c: len([*c.items()]) == 20),
    Case("names with spaces around", "a.csv", table(header=(" text ", " label ")), lambda c: c.classes == ("neg", "pos")),
    Case("a delimiter of two signs", "a.csv", GOOD, "sep must be one sign.*'::'", {"sep": "::"}),
    Case("a line end as delimiter", "a.csv", GOOD, "sep must be one sign", {"sep": "\n"}),
    Case("a tab as typed", "a.csv", table(sep="\t"), lambda c: True, {"sep": "\\t"}),
    Case("the wrong delimiter", "a.csv", GOOD, "column", {"sep": ";"}),
    Case("an odd delimiter", "a.csv", table(sep="^"), lambda c: len(c.classes) == 2, {"sep": "^"}),
    Case("rows too long", "a.csv", GOOD + b"one,two,three\n", "row 22 has 3 cells, row 1 has 2.*double quotes"),
    Case("rows too short", "a.csv", GOOD + b"lonely text\n", "1 of 21 rows have no label.*drop_missing"),
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
    Case("an encoding that runs nothing", "a.csv", GOOD, "encoding 'undefined'", {"encoding": "undefined"}),
    Case("old Mac line ends", "a.csv", GOOD.replace(b"\r\n", b"\r")),
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
    Case("nan as every label", "a.csv", table([[t, "NaN"] for t, _ in rows()]), "no label in any"),
    Case("NaN in parquet", "a.parquet", parquet(label=[float("nan")] * 20), "no label in any"),
    Case("one class", "a.csv", table([[t, "pos"] for t, _ in rows()]), "only the class 'pos'.*two classes"),
    Case("a class for each text", "a.csv", table([[t, f"{y}{i}"] for i, (t, y) in enumerate(rows())]), "not a class.*groups"),
    Case("1 and 1.0", "a.csv", table([[t, ["1", "1.0", "0"][i % 3]] for i, (t, _) in enumerate(rows())]),
         lambda c: c.classes == ("0", "1")),
    Case("blanks around a label", "a.csv", table([[t, [f" {y}", y][i % 2]] for i, (t, y) in enumerate(rows())]),
         lambda c: c.classes == ("neg", "pos")),
    Case("a list as label", "a.jsonl", jsonl(label=[1, 2]), "label", {"label": "label"}),
    Case("an object as label", "a.jsonl", jsonl(label={"a": 1}), "one name or number", {"label": "label"}),
    Case("infinite labels", "a.jsonl", jsonl(label=lambda i: [float("inf"), float("-inf")][i % 2]), lambda c: len(c.classes) == 2),
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
    Case("two texts", "a.csv", table([[t, t, y] for t, y in rows()], ("c1", "c2", "c3")), "could be 'c1' or 'c2'.*text='c1'"),
    Case("no text", "a.csv", table([[i, i % 2] for i in range(20)], ("a", "b")), "text column.*Columns"),
    Case("an unknown option", "a.csv", GOOD, "Unknown option 'colour'.*Its own", {"colour": "red"}),
    Case("the same id twice", "a.csv", column("id", lambda i: i % 19), "more than once.*unique"),
    Case("an id with a path", "a.csv", column("id", lambda i: f"../../etc/{i}"), lambda c: c.train[0].id.startswith("../../")),
    Case("a query with a gap", "a.csv", column("question", lambda i: "" if i == 3 else "why?"), "row 3 .*no query.*Fill"),
    Case("a query of signs", "a.csv", column("question", "\u200b"), "empty query"),
    Case("an object as query", "a.jsonl", jsonl(question={"a": 1}), "query is a string or a list"),
    Case("a name of 300 letters", "a.csv", column("x" * 300, 1)),
    Case("a thousand columns", "a.csv", table([[*r, *range(998)] for r in rows()], ("text", "label", *(f"c{i}" for i in range(998))))),
]  # fmt: skip
RECORDS = [
    Case("deep lists", "a.jsonl", nested(100_000).encode(), "nested too deeply"),
    Case("deep json", "a.json", nested(100_000).encode(), "nested too deeply"),
    Case("a deep text", "a.jsonl", jsonl(text=lambda i: json.loads(nested(50, '"a"'))), "text"),
    Case("a cut line", "a.jsonl", jsonl() + b'\n{"text": "a', "line 21 is not valid JSON"),
    Case("numbers for rows", "a.jsonl", b"1\n2\n", "entry 1: needs an object.*one per line"),
    Case("an empty list", "a.json", b"[]", "no row"),
    Case("a huge number", "a.jsonl", b'{"text": "a", "label": ' + b"9" * 5000 + b"}", "line 1 is not valid JSON"),
    Case("a number as text", "a.jsonl", jsonl(text=lambda i: 7 * i), "text column"),
    Case("an object as text", "a.jsonl", jsonl(text={"a": 1}), "text or query is a string or a list of tokens", {"text": "text"}),
    Case("tokens with gaps", "a.jsonl", jsonl(text=lambda i: ["a", None, " ", NAMES[i]]),
         lambda c: not any("none" in e.tokens for _, e in c.items()), {"text": "text"}),
    Case("no token", "a.jsonl", jsonl(text=lambda i: [NAMES[i]] if i else [])),
    Case("half a surrogate", "a.jsonl", jsonl(text=lambda i: f"broken \ud83d sign {NAMES[i]}")),
    Case("tags of YAML", "a.jsonl", b"!!python/object/apply:os.system ['touch canary']\n", "not valid JSON"),
    Case("parquet of noise", "a.parquet", b"PAR1" + bytes(100) + b"PAR1", "cannot be read as parquet.*csv"),
    Case("parquet cut off", "a.parquet", lambda p: (parquet()(p), os.truncate(p, 200)), "cannot be read as parquet"),
    Case("parquet with a name twice", "a.parquet", parquet(same_names), "cannot be read as parquet|twice"),
    Case("parquet without rows", "a.parquet", parquet(lambda pa: pa.table({"text": [], "label": []})), "no row"),
    Case("parquet with bytes", "a.parquet", parquet(text=[r[0].encode() for r in rows()]), lambda c: "film" in c.vocabulary),
    Case("parquet with lists", "a.parquet", parquet(text=[r[0].split() for r in rows()]), lambda c: "film" in c.vocabulary),
]  # fmt: skip


@parametrised([*TEXT_FILES, *LABELS, *COLUMNS, *RECORDS])
def test_tables(tmp_path, case):
    load(case, tmp_path)
