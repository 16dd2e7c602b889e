"""Datasets of the Hugging Face hub, by the library `datasets` (pip install 'attnlib[hub]').

`hub:NAME` (a short name of `hub.yaml` or one of the hub), `hub:OWNER/NAME`, `hub:OWNER/NAME/CONFIG`, or
`hub:/a/folder` that `save_to_disk` wrote. Code of a dataset never runs here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.readers.base import listed, read_yaml
from attnlib.data.readers.frames import AUTO, cells, find_columns, from_frames
from attnlib.data.splits import meant
from attnlib.data.types import SPLITS, RawCorpus
from attnlib.utils.errors import DataError, first_line
from attnlib.utils.extras import needs

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset

KNOWN = read_yaml("hub.yaml")
"""Short names of datasets -> path on the hub, config, and columns that are not text and label."""


@listed("hub")
def hub(
    name: str = "",
    *,
    text: str | Sequence[str] = AUTO,
    label: str = AUTO,
    query: str | None = AUTO,
    revision: str | None = None,
) -> RawCorpus:
    """The rows of a dataset of the hub, or of a folder that `save_to_disk` wrote.

    text, label, query  columns, where they are not detected; several text columns are joined
    """
    parts = [part for part in name.split("/") if part]
    folder = Path(name).expanduser()
    # a bare name is never a folder: what it means must not depend on the working directory
    local = folder.is_absolute() or name.startswith(("./", "../", ".\\", "..\\"))
    if not local and (not 1 <= len(parts) <= 3 or ".." in parts):
        raise DataError(
            f"hub:{name} is not a name of the hub. Write hub:NAME, hub:OWNER/NAME or hub:OWNER/NAME/CONFIG."
        )
    entry = {} if local else KNOWN.get("/".join(parts), {"path": "/".join(parts[:2]), "config": "".join(parts[2:])})
    datasets = needs("datasets", "hub")
    try:
        if local:
            found = datasets.load_from_disk(str(folder))
        else:
            found = datasets.load_dataset(entry["path"], entry.get("config") or None, revision=revision)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(
            f"hub:{name} could not be loaded ({first_line(error)}). Check the name, the network and, for a private "
            f"dataset, your login. Short names: {', '.join(KNOWN)}. A dataset with code is never run here: try its "
            "converted copy, revision='refs/convert/parquet'. Offline: save_to_disk, then hub:/the/folder."
        ) from None
    asked = {"text": text, "label": label, "query": query}
    asked = {role: entry.get(role, AUTO) if column == AUTO else column for role, column in asked.items()}
    source = f"folder {folder.name} (saved by datasets)" if local else f"Hugging Face hub: {entry['path']}"
    return replace(from_datasets(found, asked), name=parts[-1], source=source)


def from_datasets(found: Any, asked: Mapping[str, Any]) -> RawCorpus:
    """The corpus of a Dataset, or of a DatasetDict with one for each split.

    Splits of unknown names are left out and noted, rows without a label (-1) dropped and counted. Where the
    labels of test are withheld (sst2), validation becomes test and dev is cut from train.
    """
    notes, parts = [], {None: found}
    if isinstance(found, Mapping):
        # of two words for one split, the first
        keys = {meant(key): key for key, part in reversed(found.items()) if len(part) and meant(key)}
        if "train" not in keys:
            raise DataError(f"The dataset has no train split; it has {', '.join(map(str, found)) or 'no split'}.")
        if left_out := [str(key) for key in found if key not in keys.values()]:
            notes.append(f"splits left out: {', '.join(left_out)}")
        parts = {split: found[keys[split]] for split in SPLITS if split in keys}
    features = next(iter(parts.values())).features
    names = {column: kind.names for column, kind in features.items() if getattr(kind, "names", None)}
    frames = {split: _frame(part, names) for split, part in parts.items()}
    roles = {"text": AUTO, "label": AUTO, "query": AUTO, "split": None, "id": None}
    roles |= {role: column for role, column in asked.items() if role in roles}
    asked = find_columns(next(iter(frames.values())), roles)
    if "test" in frames and not any(cell is not None for cell in cells(frames["test"], asked["label"])):
        del frames["test"]
        if "dev" in frames:
            frames["test"] = frames.pop("dev")
        instead = "validation is used as test, and dev is cut" if "test" in frames else "test is cut"
        notes.append(f"the labels of test are withheld: {instead} from train")
    fields = {"source": "a dataset in memory", "drop_missing": True}
    return from_frames("dataset", frames, asked, classes=names, notes=notes, **fields)


def _frame(part: Dataset, names: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The rows; labels by name, and missing where they are -1."""
    import pandas as pd

    frame = part.to_pandas()
    for column, kind in part.features.items():
        if column in names:
            held = [None if k is None or k < 0 else names[column][int(k)] for k in cells(frame, column)]
            frame[column] = pd.Series(held, dtype=object)
        elif getattr(kind, "dtype", "").startswith("int"):
            frame[column] = frame[column].mask(frame[column] == -1)
    return frame


def is_dataset(held: Any) -> bool:
    """Whether this is a Dataset or DatasetDict; the library is not imported for it."""
    library = sys.modules.get("datasets")
    return library is not None and isinstance(held, library.Dataset | library.DatasetDict)
