"""Archives are read member by member, and nothing gets out of the folder it should go to."""

from __future__ import annotations

import io
import random
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from attnlib.data.readers.archives import decode, extract, read_member, read_members, safe_name
from attnlib.utils.errors import DataError

CONTENT = {"set/a.txt": b"first", "set/deep/b.txt": b"second", "other.txt": b"third"}


def make_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def make_folder(path: Path, members: dict[str, bytes]) -> Path:
    for name, data in members.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


@pytest.fixture(params=["folder", "zip", "tar", "tar.gz", "tar.xz"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "folder":
        return make_folder(tmp_path / "folder", CONTENT)
    if request.param == "zip":
        return make_zip(tmp_path / "x.zip", CONTENT)
    mode = "w" + request.param.removeprefix("tar").replace(".", ":")
    return make_tar(tmp_path / f"x.{request.param}", CONTENT, mode)


def test_every_kind_gives_the_same_members(source: Path) -> None:
    assert dict(read_members(source)) == CONTENT


def test_only_the_wanted_are_read(source: Path) -> None:
    assert [name for name, _ in read_members(source, lambda n: n.startswith("set/deep"))] == ["set/deep/b.txt"]
    assert read_member(source, "other.txt") == b"third"


def test_a_missing_member_is_named(source: Path) -> None:
    with pytest.raises(DataError, match=r"holds no file 'set/c\.txt'"):
        read_member(source, "set/c.txt")


def test_extract_writes_below_the_folder_and_drops_the_prefix(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    extract(source, "set", folder)
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} == {"a.txt", "deep/b.txt"}
    assert (folder / "deep" / "b.txt").read_bytes() == b"second"


def test_extract_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    bad = make_tar(tmp_path / "x.tar", {"set/a.txt": b"1", "../escape.txt": b"2"})
    with pytest.raises(DataError, match="points outside"):
        extract(bad, "set", tmp_path / "deep" / "out")
    assert not list(tmp_path.rglob("escape.txt"))


def test_extract_needs_something_to_extract(source: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no file below 'nothing/'"):
        extract(source, "nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../up.txt", "a/../../up.txt", "/etc/passwd", "C:\\x.txt", "..\\up.txt", ""])
def test_names_that_lead_outside_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="points outside the archive"):
        safe_name(name, Path("x.tar"))


@pytest.mark.parametrize("make", [make_tar, make_zip])
@pytest.mark.parametrize("name", ["../up.txt", "/tmp/up.txt"])
def test_escapes_in_archives_are_refused_even_where_not_wanted(make, name: str, tmp_path: Path) -> None:
    archive = make(tmp_path / "x", {"good.txt": b"1", name: b"2"})
    with pytest.raises(DataError, match="points outside"):
        list(read_members(archive, lambda n: n == "good.txt"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_tars_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        info = tarfile.TarInfo("link")
        info.type = kind
        info.linkname = "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(DataError, match="link or a device"):
        list(read_members(tmp_path / "x.tar"))


def test_links_in_zips_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="link or a device"):
        list(read_members(tmp_path / "x.zip"))


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", "2")
    with pytest.raises(DataError, match="twice"):
        list(read_members(tmp_path / "x.zip"))


def test_bombs_are_refused_by_what_comes_out(tmp_path: Path) -> None:
    bomb = make_zip(tmp_path / "x.zip", {"zeros": bytes(10_000), "more": bytes(10_000)})
    with pytest.raises(DataError, match="more than 5,000 bytes"):
        list(read_members(bomb, member_limit=5_000))
    with pytest.raises(DataError, match="more than 15,000 bytes"):
        list(read_members(bomb, total_limit=15_000))


@pytest.mark.parametrize(("suffix", "mode"), [("tar.gz", "w:gz"), ("tar.xz", "w:xz"), ("tar", "w")])
def test_a_cut_off_tar_is_named(suffix: str, mode: str, tmp_path: Path) -> None:
    noise = random.Random(0).randbytes(200_000)
    whole = make_tar(tmp_path / f"x.{suffix}", {"a": noise, "b": noise}, mode)
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(DataError, match=rf"x\.{suffix}.*(broken|cut off)"):
        list(read_members(whole))


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"hello, this is no archive")
    with pytest.raises(DataError, match="neither a folder nor a zip nor a tar"):
        list(read_members(tmp_path / "x.tar.gz"))
    with pytest.raises(DataError, match="no such file"):
        list(read_members(tmp_path / "absent.zip"))


def test_decode_names_file_line_and_byte() -> None:
    assert decode(b"\xef\xbb\xbfgood", "x.txt") == "good"
    with pytest.raises(DataError, match=r"x\.txt, line 2: byte 0xa3 is not utf-8"):
        decode(b"fine\nnot \xa3 fine", "x.txt")
    assert decode(b"\xa3", "x.txt", "latin-1") == "£"
