"""Packed files and names of files: nothing unpacks without end, leads outside or is waited for."""

import bz2
import gzip
import lzma
import os
import stat
import warnings
import zipfile
from pathlib import Path

import pytest
from hostile.cases import Case, load, meets, parametrised, table, texts

from attnlib.data import load_corpus

GOOD = table()
BOMB = 3 * 2**20


def zipped(*members, **options):
    def make(path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members:
                archive.writestr(name, data, **options)

    return make


def linked(path):
    info = zipfile.ZipInfo("a.csv")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")


def twice(path):
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("a.csv", GOOD)
        archive.writestr("a.csv", texts("other"))


def encrypted(path):
    zipped(("a.csv", GOOD))(path)
    data = bytearray(path.read_bytes())
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + place] |= 1
    path.write_bytes(data)


PACKED = [
    Case("gz good", "a.csv.gz", gzip.compress(GOOD)),
    Case("bz2 good", "a.csv.bz2", bz2.compress(GOOD)),
    Case("xz good", "a.tsv.xz", lzma.compress(table(sep="\t"))),
    Case("zip good", "a.csv.zip", zipped(("folder/a.csv", GOOD), ("__MACOSX/._a.csv", b"x"), ("read.me", b"x"))),
    Case("gz in two parts", "a.csv.gz", gzip.compress(GOOD[:100]) + gzip.compress(GOOD[100:])),
    Case("gz without its name", "a.csv", gzip.compress(GOOD)),
    Case("plain with a packed name", "a.csv.gz", GOOD),
    Case(
        "gz bomb",
        "a.csv.gz",
        gzip.compress(b"a,b\n" + bytes(BOMB)),
        r"more than 1,048,576 bytes.*ATTNLIB_UNPACK_LIMIT",
    ),
    Case("bz2 bomb", "a.csv.bz2", bz2.compress(b"x" * BOMB), "more than 1,048,576 bytes"),
    Case("xz bomb", "a.jsonl.xz", lzma.compress(b"x" * BOMB), "more than 1,048,576 bytes"),
    Case(
        "zip bomb", "a.csv.zip", zipped(("a.csv", b"x" * BOMB)), "more than 1,048,576 bytes.*ATTNLIB_UNPACK_LIMIT"
    ),
    Case("bomb in a bomb", "a.csv.gz", gzip.compress(gzip.compress(GOOD)), "not utf-8.*encoding"),
    Case("gz cut off", "a.csv.gz", gzip.compress(GOOD)[:-20], "cannot be read.*Get it again"),
    Case("gz with a wrong sum", "a.csv.gz", gzip.compress(GOOD)[:-8] + b"12345678", "cannot be read.*broken"),
    Case("gz of noise", "a.csv.gz", b"\x1f\x8b" + bytes(range(200)), "cannot be read"),
    Case("xz cut off", "a.csv.xz", lzma.compress(GOOD)[:-12], "cannot be read"),
    Case("bz2 of noise", "a.csv.bz2", b"BZh9" + bytes(range(200)), "cannot be read"),
    Case("zip cut off", "a.csv.zip", b"PK\x03\x04" + bytes(60), "neither a folder nor a zip|cannot be read|broken"),
    Case("zip with nothing", "a.csv.zip", zipped(("x.txt", b"x")), r"no table.*\.csv.*Unpack it"),
    Case("zip with two tables", "a.csv.zip", zipped(("a.csv", GOOD), ("b.csv", GOOD)), "2 tables.*Unpack it"),
    Case("zip that climbs out", "a.csv.zip", zipped(("../../canary.csv", GOOD)), "points outside.*refused"),
    Case("zip with an absolute name", "a.csv.zip", zipped(("/tmp/canary.csv", GOOD)), "points outside"),
    Case("zip with a drive", "a.csv.zip", zipped(("C:\\canary.csv", GOOD)), "points outside"),
    Case("zip with a link", "a.csv.zip", linked, "link or a device"),
    Case("zip with a name twice", "a.csv.zip", twice, "twice"),
    Case("zip with a password", "a.csv.zip", encrypted, "encrypted.*unpack"),
    Case("an Excel workbook", "a.csv", zipped(("xl/workbook.xml", b"<x/>")), "Excel.*Save the table as csv"),
    Case("a zip called csv.gz", "a.csv.gz", zipped(("a.csv", GOOD)), "not what its name says"),
]


@parametrised(PACKED)
def test_packed(tmp_path, monkeypatch, case):
    monkeypatch.setenv("ATTNLIB_UNPACK_LIMIT", "1")
    load(case, tmp_path)


@pytest.mark.parametrize("limit", ["none", "-1", "0", "1.5", "1e3"])
def test_a_limit_that_is_none(tmp_path, monkeypatch, limit):
    monkeypatch.setenv("ATTNLIB_UNPACK_LIMIT", limit)
    load(Case("limit", "a.csv.gz", gzip.compress(GOOD), "ATTNLIB_UNPACK_LIMIT must be a whole number"), tmp_path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nope.csv", "There is no file"),
        ("no/such/folder/a.csv", "does not exist either"),
        ("a\0b.csv", "cannot be a path|no file"),
        ("x" * 5000 + ".csv", "cannot be a path"),
        ("text,label\ngood,1\nbad,0\n" * 300, "cannot be a path"),
        ("~nobody-of-that-name/a.csv", "cannot be a path"),
        ("", "No corpus is named"),
        (".", "not a table"),
        ("a.xlsx", "Unknown corpus"),
        ("hub:", "not a name of the hub"),
        ("hub:../../x", "hub"),
        ("http://example.org/a.csv", "There is no file"),
        ("/dev/zero", "Unknown corpus|not a table"),
        ("/dev/stdin.csv", "There is no file"),
        (None, "No corpus is named"),
        (3, "No corpus is named"),
        (b"a.csv", "No corpus is named"),
        ({"corpus": None}, "No corpus is named"),
        ({"train": "nope.csv", "test": "nope.csv"}, "same file|no file"),
        ({"train": Path("a.csv"), "dev": 3}, "cannot be a path|not a table"),
    ],
    ids=lambda value: str(value)[:30].replace("\0", "0"),
)
def test_names_that_are_no_corpus(tmp_path, monkeypatch, name, says):
    monkeypatch.chdir(tmp_path)
    meets(lambda: load_corpus(name), says, tmp_path)


def test_a_folder_called_like_a_table(tmp_path):
    (tmp_path / "a.csv").mkdir()
    meets(lambda: load_corpus(tmp_path / "a.csv"), "There is no file", tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    meets(lambda: load_corpus(tmp_path / "a.csv"), "There is no file", tmp_path)


def test_a_link_that_leads_nowhere_or_round(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "b.csv")
    for name in ("a.csv", "b.csv"):
        meets(lambda name=name: load_corpus(tmp_path / name), "no file|cannot be a path", tmp_path)
