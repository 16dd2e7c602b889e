"""The public surface: lazy, complete, and the same to a type checker as at run time."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import attnlib as al


def stub() -> dict[str, str]:
    """Names that the stub gives, and the modules they come from."""
    tree = ast.parse(Path(al.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(name.asname == name.name for node in imports for name in node.names), "`as` makes a name public"
    return {name.name: node.module for node in imports for name in node.names}


def test_the_stub_names_what_the_table_names():
    modules = {name: path.rpartition(".")[0] for name, path in al._MODULES.items()}
    assert stub() == al._PUBLIC | modules
    assert set(al.__all__) == {"__version__", *stub()}


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
