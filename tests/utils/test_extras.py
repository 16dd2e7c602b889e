"""Optional packages: there, missing, or broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attnlib.utils.errors import AttnlibError
from attnlib.utils.extras import needs


def test_a_package_that_is_there_is_returned() -> None:
    assert needs("json.decoder", "hub") is sys.modules["json.decoder"]


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(ImportError, match=r"'nosuch'.*pip install 'attnlib\[cluster\]'") as caught:
        needs("nosuch.part", "cluster")
    assert isinstance(caught.value, AttnlibError)


def test_a_package_that_lacks_something_itself_says_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_there.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        needs("half_there", "hub")
