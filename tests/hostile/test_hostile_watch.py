"""The watch itself must see: else two hundred tests could not fail."""

import pickle
import subprocess
import sys

import pytest
from hostile.watch import Payload, harmless


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: pickle.loads(pickle.dumps(Payload(folder / "in" / "canary"))),
        lambda folder: subprocess.run([sys.executable, "-V"], check=True, capture_output=True),
        lambda folder: (folder / "outside").write_text("x"),
        lambda folder: (folder / "there").rename(folder / "gone"),
        lambda folder: (folder / "there").unlink(),
    ],
    ids=["unpickle", "run", "write", "rename", "delete"],
)
def test_the_watch_sees_harm(tmp_path, harm):
    (tmp_path / "there").write_text("x")
    (tmp_path / "in").mkdir()
    with pytest.raises(AssertionError), harmless(tmp_path / "in"):
        harm(tmp_path)


def test_the_watch_lets_reading_and_own_files_pass(tmp_path):
    with harmless(tmp_path):
        (tmp_path / "a").write_text("x")
        assert (tmp_path / "a").read_text() == "x"
