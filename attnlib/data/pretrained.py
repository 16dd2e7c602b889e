"""Folders of pretrained models from unknown sources: what is refused before anything in them is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attnlib.utils.errors import ConfigError, first_line

PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib")


def pinned(name: str) -> tuple[str, dict[str, str]]:
    """A folder or hub id without its revision, and the option that says which: NAME@REVISION pins a hub id.

    Without one a hub id means whatever its owner has put there last, here and on every worker.

    >>> pinned("someone/a-model@86b5e09"), pinned("a/folder")
    (('someone/a-model', {'revision': '86b5e09'}), ('a/folder', {}))
    """
    place, at, revision = name.rpartition("@")
    if not at or Path(name).exists():
        return name, {}
    if not place or not re.fullmatch(r"[\w./-]+", revision):
        raise ConfigError(f"A hub id with its revision is NAME@REVISION (someone/a-model@86b5e09); got {name!r}.")
    return place, {"revision": revision}


def refuse_pickles(name: str) -> None:
    """Refuse a folder whose weights are pickled: unpickling runs whatever code the file holds.

    Names that are not folders are looked up on the hub, where only safetensors are requested.
    """
    folder = Path(name)
    if not folder.is_dir():
        return
    files = sorted(p.name for p in folder.iterdir() if p.is_file())
    if any(file.endswith(".safetensors") for file in files):
        return
    if unsafe := [file for file in files if file.endswith(PICKLED)]:
        raise ConfigError(
            f"{name!r} holds its weights as a pickle ({unsafe[0]}), which can run code when read. If you trust it, "
            "convert to safetensors elsewhere: AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)."
        )
    raise ConfigError(
        f"{name!r} holds no weights in model.safetensors, only {', '.join(files) or 'nothing'}. Give 'minilm', a "
        "folder that save_pretrained wrote, or a hub id reachable from here."
    )


@contextmanager
def reading(what: str, name: str) -> Iterator[None]:
    """Around a call of transformers and nothing else: there is no list of what a damaged folder makes it raise."""
    try:
        yield
    except Exception as error:
        kind = "folder" if Path(name).exists() else "name"
        raise ConfigError(
            f"No {what} could be read from the {kind} {name!r} ({first_line(error)}). Give a folder that "
            "save_pretrained wrote, or a hub id reachable from here."
        ) from error
