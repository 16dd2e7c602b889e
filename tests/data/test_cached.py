"""Folders of the cache: whole or absent, made once however many ask."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from attnlib.data.cached import cached


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path))
    return tmp_path


def test_many_that_ask_at_once_wait_for_one(cache):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "deep").mkdir()
        (folder / "deep" / "a.txt").write_text("first")
        sleep(0.1)
        (folder / "b.txt").write_text("second")

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: cached("kind", "key", make), range(8)))
    assert found == {cache / "kind" / "key"}
    assert len(made) == 1
    assert (cache / "kind" / "key" / "b.txt").read_text() == "second"


def test_a_folder_that_could_not_be_made_is_not_there(cache):
    def make(folder):
        (folder / "half.txt").write_text("half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        cached("kind", "key", make)
    assert not [p for p in (cache / "kind").iterdir() if p.is_dir()]
    assert cached("kind", "key", lambda folder: (folder / "a.txt").write_text("whole")).is_dir()


@pytest.mark.parametrize("damage", ["write_text", "unlink"])
def test_a_file_that_changed_is_made_again(cache, damage):
    def make(folder):
        (folder / "a.txt").write_text("right")

    file = cached("kind", "key", make) / "a.txt"
    file.unlink() if damage == "unlink" else file.write_text("wrong")
    assert (cached("kind", "key", make) / "a.txt").read_text() == "right"
