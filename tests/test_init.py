"""The public surface: lazy, complete, and the same to a type checker as at run time."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import attnlib as al


def test_every_name_of_the_stub_is_public():
    tree = ast.parse(Path(al.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = [name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert all(name.asname == name.name for name in named), "`as` makes a name public"
    assert al.__all__ == ["__version__", *(name.name for name in named)]


@pytest.mark.parametrize("name", al.__all__)
def test_every_name_can_be_imported(name):
    found = getattr(al, name)
    assert name == "__version__" or found.__doc__


def test_importing_a_package_leaves_the_function_of_its_name():
    import attnlib.importance.scores  # noqa: F401

    assert isinstance(al.importance, FunctionType)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        al.fitt  # noqa: B018


def test_importing_the_kit_does_not_wait_for_torch():
    program = "import sys, attnlib, attnlib.config; print('torch' in sys.modules, 'pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]
