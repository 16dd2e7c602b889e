"""Where things are. Only a copied notebook that is run by hand depends on the working directory."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from attnlib.utils.errors import DataError, first_line, nearest

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent
"""The checkout: notebooks, params and reports lie next to the package."""
SERIES = PACKAGE / "series"
"""Notebooks and params of an installed package; a checkout has none here."""


def cache() -> Path:
    """Downloads: `ATTNLIB_CACHE`, else the platform's user cache folder."""
    return _folder("ATTNLIB_CACHE", platformdirs.user_cache_path("attnlib"))


def store() -> Path:
    """Finished runs: `ATTNLIB_STORE`, else `runs` in the cache folder."""
    return _folder("ATTNLIB_STORE", cache() / "runs")


def notebooks() -> Path:
    """The numbered notebooks: `ATTNLIB_NOTEBOOKS`, else those of the checkout, or of the installed package."""
    return _folder("ATTNLIB_NOTEBOOKS", (SERIES if SERIES.is_dir() else ROOT) / "notebooks")


def params() -> Path:
    """The parameter files: next to the notebooks."""
    return notebooks().parent / "params"


def run_folder() -> Path | None:
    """Where a notebook started by `attnlib run` writes its results: `ATTNLIB_OUT`; None when run by hand."""
    value = os.environ.get("ATTNLIB_OUT")
    return Path(value) if value else None


def workplace() -> Path:
    """The folder whose `reports` a notebook run by hand writes to: that of the notebooks, unless they are the
    installed package's own. A copy of those writes next to itself, where its kernel starts."""
    home = notebooks().parent
    if home != SERIES:
        return home
    here = Path.cwd()
    return here.parent if here.name == "notebooks" else here


def user_path(name: str | Path) -> Path:
    """The path a user wrote, with `~` resolved; a name that cannot be a path on this machine is an error."""
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        why = getattr(error, "strerror", None) or first_line(error)
        raise DataError(f"{str(name)[:60]!r} cannot be a path here ({why}). Give the path of a file.") from None
    return path


def neighbour(path: Path) -> str:
    """What to add where there is no such file, led by a blank: the name that was probably meant."""
    if not path.parent.is_dir():
        return f" The folder {str(path.parent)!r} does not exist either."
    guess = nearest(path.name, [p.name for p in path.parent.iterdir()])
    return f" Did you mean {guess!r}?" if guess else ""


def _folder(variable: str, default: Path) -> Path:
    value = os.environ.get(variable)
    return Path(value).expanduser().resolve() if value else default
