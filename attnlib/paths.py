"""Where things lie. Nothing here depends on the working directory."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
"""The checkout: notebooks, params and reports live beside the package."""


def cache() -> Path:
    """Downloads: `ATTNLIB_CACHE`, else the platform's user cache folder."""
    return _folder("ATTNLIB_CACHE", platformdirs.user_cache_path("attnlib"))


def store() -> Path:
    """Finished runs: `ATTNLIB_STORE`, else `runs` in the cache folder."""
    return _folder("ATTNLIB_STORE", cache() / "runs")


def notebooks() -> Path:
    """The numbered notebooks: `ATTNLIB_NOTEBOOKS`, else those of the checkout."""
    return _folder("ATTNLIB_NOTEBOOKS", ROOT / "notebooks")


def params() -> Path:
    """The parameter files: beside the notebooks."""
    return notebooks().parent / "params"


def development_data() -> Path | None:
    """Raw corpora for the `realdata` tests: `ATTNLIB_DATA`, else `../shared/data` beside the checkout."""
    folder = _folder("ATTNLIB_DATA", ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def _folder(variable: str, default: Path) -> Path:
    value = os.environ.get(variable)
    return Path(value).expanduser().resolve() if value else default
