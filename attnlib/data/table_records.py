"""json, jsonl and parquet to columns. Nothing in them is trusted: neither depth, nor size, nor names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attnlib.data.packed import raise_limit, unpack_limit
from attnlib.errors import DataError


def record_columns(text: str, path: Path) -> dict[str, list[Any]]:
    """Columns of a JSON list of objects, or of one object per line."""
    rows = list(_objects(text, path))
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {_whole(name): [_value(row.get(name)) for row in rows] for name in names}


def parquet_columns(path: Path) -> dict[str, list[Any]]:
    """Columns of a parquet file; what it unpacks to is limited as for packed text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    limit, size = unpack_limit(), 0
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise DataError(f"{path.name} has columns of the same name: {', '.join(names)}. Rename them.")
            columns: dict[str, list[Any]] = {name: [] for name in names}
            for batch in file.iter_batches(batch_size=4096):
                size += batch.nbytes
                if size > limit:
                    raise DataError(f"{path.name} unpacks to more than {limit:,} bytes; refused. {raise_limit()}")
                for name in names:
                    columns[name] += [_value(v) for v in batch.column(name).to_pylist()]
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        said = str(error).strip().split("\n")[0]
        raise DataError(
            f"{path.name} cannot be read as parquet: {said} Write it again, or save it as csv."
        ) from None
    return columns


def read_json(text: str, where: str) -> Any:
    """JSON of an unknown hand: errors say where, a key twice in an object is one, and so is endless nesting."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, where))
    except RecursionError:
        raise DataError(f"{where} is nested too deeply to be data. Use plain objects with named fields.") from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{where} is no valid JSON: {error}.") from None


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{where}: the field {twice!r} stands twice in one object. Keep one of them.")
    return made


def _objects(text: str, path: Path) -> Iterable[dict[str, Any]]:
    if text.lstrip()[:1] == "[":
        rows = enumerate(read_json(text, path.name), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        rows = ((n, read_json(line, f"{path.name}, line {n:,}")) for n, line in lines if line.strip())
    for number, row in rows:
        if not isinstance(row, dict):
            raise DataError(
                f"{path.name}, entry {number:,}: needs an object with named fields; got {str(row)[:40]!r}. Write a "
                "list of objects, or one object per line."
            )
        yield row


def _value(value: Any) -> Any:
    """Blank as None; bytes as text; half a surrogate pair, which no file can hold, as a question mark."""
    if isinstance(value, list):
        return [_whole(v) for v in value]
    value = _whole(value)
    return None if isinstance(value, str) and not value.strip() else value


def _whole(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", errors="replace").decode("utf-8")
    return value
