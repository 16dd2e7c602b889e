"""Corpora of the Hugging Face hub, through the library `datasets` (an extra: pip install 'attnlib[hub]').

`hub:NAME`, `hub:OWNER/NAME`, either with `/CONFIG` appended, or `hub:/a/folder` that `save_to_disk` wrote. Code
of a dataset never runs here. Columns are known for the datasets below, detected for others, and can be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.preprocess import BROUGHT
from attnlib.data.readers.base import Blocks, joined, listed, read_yaml
from attnlib.data.readers.columns import AUTO, find_columns
from attnlib.data.readers.files import Table
from attnlib.data.readers.pairs import question_row
from attnlib.data.splits import meant
from attnlib.data.types import SPLITS, RawCorpus, RawExample
from attnlib.utils.errors import ConfigError, DataError, first_line, unknown
from attnlib.utils.extras import needs

if TYPE_CHECKING:
    from datasets import Dataset

LOOKED_AT = 500
"""Rows from which columns are detected."""
SAMPLE_SEED = 1378
NO_LABEL = -1
"""What the hub writes for a withheld or disputed label."""


@dataclass(frozen=True)
class Known:
    """Where a dataset is on the hub, and what its columns hold."""

    path: str
    text: str | tuple[str, ...] = "text"
    label: str = "label"
    query: str | None = None
    config: str | None = None
    revision: str | None = None


KNOWN = {
    name: Known(**{role: tuple(value) if isinstance(value, list) else value for role, value in entry.items()})
    for name, entry in read_yaml("hub.yaml").items()
}


@listed("hub")
def hub(
    name: str = "",
    *,
    config: str | None = None,
    text: str | Sequence[str] = AUTO,
    label: str = AUTO,
    query: str | None = AUTO,
    revision: str | None = None,
    rows: int | None = None,
) -> RawCorpus:
    """The rows of a dataset of the hub, or of a folder that `save_to_disk` wrote.

    text, label, query  columns, where they are neither known nor detected; several text columns are joined
    rows                at most this many rows of each split, drawn with a fixed seed before anything is read
                        (amazon_polarity has 3.6 million)

    The split `validation` becomes dev (see `attnlib.data.splits`); splits of other names are left out and
    noted. Rows without a label (-1) are dropped and counted. Where the labels of test are withheld (sst2),
    validation becomes test and dev is cut from train.
    """
    if rows is not None and rows < 1:
        raise ConfigError(f"hub: rows must be at least 1; got {rows}.")
    known, splits = _open(name, config, revision)
    notes: list[str] = []
    splits = _named_splits(name, splits, notes)
    some = next(iter(splits.values()))
    columns = _columns(some, known, text, label, query)
    names = None if columns["label"] is None else getattr(some.features[columns["label"]], "names", None)
    classes = None if names is None else tuple(names)
    found = {}
    for split, part in splits.items():
        if rows is not None and rows < len(part):
            notes.append(f"{split or 'all'}: {rows:,} of {len(part):,} rows drawn (seed {SAMPLE_SEED})")
            part = part.shuffle(seed=SAMPLE_SEED).select(range(rows))
        found[split] = _rows(part, columns, split)
    used = ", ".join(f"{role} {value!r}" for role, value in columns.items() if value is not None)
    return RawCorpus(
        name=name.rstrip("/").rsplit("/", 1)[-1],
        rows=_labelled(name, found, notes),
        classes=classes,
        preprocessing=BROUGHT,
        source=f"Hugging Face hub: {known.path}" if known else f"folder {Path(name).name} (saved by datasets)",
        citation=(some.info.citation or "").strip(),
        notes=(f"columns: {used}", *notes),
    )


def resolve(name: str, config: str | None = None, revision: str | None = None) -> Known:
    """The entry for a name with or without owner and config.

    >>> resolve("sst2").path, resolve("stanfordnlp/sst2").text, resolve("someone/set/part").config
    ('stanfordnlp/sst2', 'sentence', 'part')
    """
    parts = [part for part in name.split("/") if part]
    if not 1 <= len(parts) <= 3:
        raise DataError(
            f"hub:{name} is not a name of the hub. Write hub:NAME, hub:OWNER/NAME or hub:OWNER/NAME/CONFIG."
        )
    # an unknown name: one slash separates owner and name, a second one the config
    entry, rest = Known("/".join(parts[:2]), AUTO, AUTO, AUTO), parts[2:]
    entries = {k.path: k for key, k in KNOWN.items() if "/" not in key} | KNOWN
    for n in (len(parts), len(parts) - 1):
        if known := entries.get("/".join(parts[:n])):
            entry, rest = known, parts[n:]
            break
    if config is not None and rest and config != rest[0]:
        raise ConfigError(f"hub:{name} names the config {rest[0]!r}, and config={config!r} another. Give one.")
    return replace(entry, config=config or "".join(rest) or entry.config, revision=revision or entry.revision)


def _open(name: str, config: str | None, revision: str | None) -> tuple[Known | None, dict[str | None, Dataset]]:
    """The known entry (None for a folder) and the splits; None is the name of a lone, nameless split."""
    datasets = needs("datasets", "hub")
    folder = Path(name).expanduser()
    # a bare name is never a folder: what it means must not depend on the working directory
    local = folder.is_absolute() or name.startswith(("./", "../", ".\\", "..\\"))
    known = None if local else resolve(name, config, revision)
    try:
        if local:
            found = datasets.load_from_disk(str(folder))
        else:
            found = datasets.load_dataset(known.path, known.config, revision=known.revision)
    except (OSError, ValueError, RuntimeError) as error:
        said = first_line(error)
        if local:
            raise DataError(
                f"hub:{name}: {folder} is not a folder that the library datasets wrote with save_to_disk ({said})."
            ) from None
        hint = (
            f"Check the name, the network and, for a private dataset, your login. Short names: {', '.join(KNOWN)}. "
            "Offline: save it elsewhere with save_to_disk and load hub:/the/folder."
        )
        if "script" in said:
            hint = (
                "That dataset comes with code, which is never run here; many have a converted copy: "
                "revision='refs/convert/parquet'."
            )
        raise DataError(f"hub:{name} could not be loaded ({said}). {hint}") from None
    return known, dict(found) if isinstance(found, Mapping) else {None: found}


def _named_splits(name: str, splits: dict[str | None, Dataset], notes: list[str]) -> dict[str | None, Dataset]:
    """Splits by our names, train first: its columns stand for the others."""
    if set(splits) == {None}:
        return splits
    named = meant(key for key, part in splits.items() if len(part))
    keys = {split: key for key, split in reversed(named.items())}  # of two words for one split, the first
    if "train" not in keys:
        raise DataError(
            f"hub:{name} has no train split; it has {', '.join(map(str, splits)) or 'no split at all'}."
        )
    if left_out := [str(key) for key in splits if key not in keys.values()]:
        notes.append(f"splits left out: {', '.join(left_out)}")
    return {split: splits[keys[split]] for split in SPLITS if split in keys}


def _columns(
    part: Dataset, known: Known | None, text: str | Sequence[str], label: str, query: str | None
) -> dict[str, Any]:
    """The column of each role: as asked, as known for this dataset, or detected."""
    have = part.column_names
    asked = {"text": text, "label": label, "query": query}
    if known is not None:
        asked = {role: getattr(known, role) if value == AUTO else value for role, value in asked.items()}
    if "story" in have and asked["text"] in (AUTO, "story"):
        return {"text": "story", "label": None, "query": None}
    several = () if isinstance(asked["text"], str) else tuple(asked["text"])
    for name in several:
        if name not in have:
            raise DataError(f"text: {unknown('column', name, have)}")
        asked["text"] = several[0]
    rows = part.select(range(min(LOOKED_AT, len(part))))
    table = Table({name: list(rows[name]) for name in have})
    found = find_columns(table, {**asked, "split": None, "rationale": None, "id": None})
    return {"text": several or found["text"], "label": found["label"], "query": found["query"]}


def _rows(part: Dataset, columns: Mapping[str, Any], split: str | None) -> Sequence[RawExample]:
    """The rows of a split, each made when it is asked for: the library keeps them in files."""
    if columns["text"] == "story":
        return list(_stories(part, split))
    texts = (columns["text"],) if isinstance(columns["text"], str) else columns["text"]
    query, prefix = columns["query"], split or "row"
    used = part.select_columns(list(dict.fromkeys([*texts, columns["label"], *([query] if query else [])])))

    def read(start: int, stop: int) -> list[RawExample]:
        block = used[start:stop]
        made = []
        for i in range(stop - start):
            cells, label = [block[name][i] for name in texts], block[columns["label"]][i]
            ready = isinstance(cells[0], list)
            made.append(
                RawExample(
                    text="" if ready else " ".join(str(c) for c in cells if c is not None),
                    label=None if label == NO_LABEL and not isinstance(label, str) else label,
                    tokens=tuple(map(str, cells[0])) if ready else None,
                    split=split,
                    query=str(block[query][i]) if query else None,
                    id=f"{prefix}-{start + i}",
                )
            )
        return made

    return Blocks(len(used), read)


def _stories(part: Dataset, split: str | None) -> Iterator[RawExample]:
    """bAbI as the hub has it: a row is a story, a list of sentences and questions."""
    for number, row in enumerate(part):
        steps = row["story"]
        if isinstance(steps, Mapping):
            steps = [dict(zip(steps, values, strict=True)) for values in zip(*steps.values(), strict=True)]
        story: dict[int, tuple[str, ...]] = {}
        for step in steps:
            place = int(step["id"])
            if step["answer"]:
                facts = {int(i) for i in step["supporting_ids"]}
                made = question_row(story, step["text"], step["answer"], facts, split or "row", place)
                yield replace(made, split=split, id=f"{split or 'row'}-{number}-{place}")
            else:
                story[place] = tuple(step["text"].strip().removesuffix(".").split())


def _labelled(name: str, found: dict[str | None, Sequence[RawExample]], notes: list[str]) -> Sequence[RawExample]:
    """All rows with a label; where test has none, validation stands in for it."""
    places = {split: [i for i, row in enumerate(rows) if row.label is not None] for split, rows in found.items()}
    if "test" in found and not places["test"]:
        del found["test"], places["test"]
        if dev := found.pop("dev", None):
            found["test"], places["test"] = dev, places.pop("dev")
        instead = "validation is used as test, and dev is cut from train" if dev else "test is cut from train"
        notes.append(f"the labels of test are withheld: {instead}")
    if dropped := sum(map(len, found.values())) - sum(map(len, places.values())):
        notes.append(f"{dropped:,} rows without a label dropped")
    if not any(places.values()):
        raise DataError(f"hub:{name}: no row has a label.")
    return joined([_chosen(rows, places[split], split) for split, rows in found.items()])


def _chosen(rows: Sequence[RawExample], places: Sequence[int], split: str | None) -> Sequence[RawExample]:
    """Some rows, as those of a split."""
    return Blocks(len(places), lambda start, stop: [replace(rows[i], split=split) for i in places[start:stop]])
