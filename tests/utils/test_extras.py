"""A package of an extra is imported late, and missed in words."""

import pytest

from attnlib.utils.extras import MissingPackage, needs


def test_a_package_that_is_there_is_given():
    import json

    assert needs("json", "notebooks") is json


def test_a_missing_package_names_its_extra():
    with pytest.raises(MissingPackage, match=r"'nosuchpackage'.*pip install 'attnlib\[cluster\]'"):
        needs("nosuchpackage.inside", "cluster")


def test_a_package_that_lacks_something_of_its_own_says_so(tmp_path, monkeypatch):
    (tmp_path / "halfthere.py").write_text("import nosuchpackage")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nosuchpackage"):
        needs("halfthere", "cluster")
