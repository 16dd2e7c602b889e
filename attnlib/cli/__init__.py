"""The command line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import indent

import yaml


@cache
def examples(command: str) -> str:
    """The end of a command's help."""
    shown = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))
    return "\b\nExamples:\n" + indent(shown[command], "  ")
