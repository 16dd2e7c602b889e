"""The public surface: lazy, complete, and the same to a type checker as at run time."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
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


def test_no_function_shares_its_name_with_a_package():
    """Else `import attnlib.audit.run as run` would find the function where it looks for the package."""
    packages = {module.name for module in iter_modules(al.__path__)}
    assert not [name for name in al.__all__ if name in packages and isinstance(getattr(al, name), FunctionType)]
    run = import_module("attnlib.auditing.run")
    assert al.audit is run.audit


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        al.fitt  # noqa: B018


def test_importing_the_kit_does_not_wait_for_torch():
    program = "import sys, attnlib, attnlib.config; print('torch' in sys.modules, 'pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]
