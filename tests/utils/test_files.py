"""Folders are replaced whole or not at all; a disk that cannot be written says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from attnlib.utils import files
from tests.patience import wait_until


def filled(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    for name in "abc":
        (folder / name).write_text(text)
    return folder


def content(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.iterdir()}


def test_folders_take_the_place_of_others_and_do_not_meet_before(tmp_path: Path) -> None:
    target = tmp_path / "report"
    one, other = files.working(target), files.working(target)
    for folder in (one, other):
        (folder / "a").write_text(folder.name)
        files.replace(folder, target)
        assert content(target) == {folder.name}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_link_stays_one_and_leads_to_the_new_folder(tmp_path: Path) -> None:
    home = filled(tmp_path / "elsewhere" / "model", "old")
    link = tmp_path / "link"
    link.symlink_to(home)
    folder = files.working(link)
    (folder / "a").write_text("new")
    files.replace(folder, link)
    assert link.is_symlink()
    assert content(home) == {"new"}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "elsewhere", "link", "model"]


def test_killed_between_two_renames_the_earlier_folder_comes_back(tmp_path: Path, monkeypatch) -> None:
    target = filled(tmp_path / "report", "good")
    dead = 999_999_999
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: dead)
        old = files._beside(target, "old")
    target.rename(old)  # as a process did that was killed then
    files.working(target)
    assert content(target) == {"good"}


def test_what_cannot_be_put_in_place_costs_nothing(tmp_path: Path) -> None:
    target = filled(tmp_path / "report", "good")
    with pytest.raises(FileNotFoundError):
        files.replace(tmp_path / "nowhere", target)
    assert content(target) == {"good"}


@pytest.mark.skipif(sys.platform == "win32", reason="kills")
def test_killed_at_any_moment_a_whole_folder_is_there(tmp_path: Path) -> None:
    target = filled(tmp_path / "report", "0")
    program = f"""
        from pathlib import Path
        from attnlib.utils import files
        target, k = Path({str(target)!r}), 0
        while True:
            k += 1
            folder = files.working(target)
            for name in "abc":
                (folder / name).write_text(str(k))
            files.replace(folder, target)
            (target.parent / "first").mkdir(exist_ok=True)
    """
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)])
        try:
            wait_until(lambda: (tmp_path / "first").exists(), "a replacement")
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        (tmp_path / "first").rmdir()
        files.clear(tmp_path)  # as whoever works there next does first
        assert {path.name for path in target.iterdir()} == set("abc")
        assert len(content(target)) == 1, "all of one run"
    files.replace(files.working(target), target)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_checking_a_folder_leaves_nothing(tmp_path: Path) -> None:
    files.check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_with_what_is_free(tmp_path: Path) -> None:
    said = files.trouble(OSError(28, "No space left on device"), tmp_path / "a", "use --out")
    assert f"{tmp_path / 'a'} cannot be written: the disk is full (" in said
    assert said.endswith("are free). To continue, use --out.")
