"""Optional packages: there, missing, or broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attnlib.utils.errors import AttnlibError
from attnlib.utils.extras import GRAMMAR, needs


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


def test_nbformat_comes_without_the_grammar_of_web_addresses() -> None:
    code = (
        "import sys; from attnlib.utils.extras import GRAMMAR, needs; needs('nbformat', 'notebooks'); "
        "assert 'jsonschema' in sys.modules and GRAMMAR not in sys.modules; import json, " + GRAMMAR
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # it can still be imported
