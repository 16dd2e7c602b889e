"""A Fitted as a folder: weights in safetensors, everything else in JSON. Nothing is pickled.

fitted.json          format version, configs, classes, seed, notes, checksums of the other files
vectoriser.json      vocabulary (or word pieces) and preprocessing
history.json         one record an epoch
weights.safetensors
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.packed import user_path
from attnlib.device import preserved_rng, resolve
from attnlib.errors import AttnlibError, DataError, unknown

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.fitted import Fitted

VERSION = 1
KINDS: dict[str, Any] = {
    "model_config": dict,
    "train_config": dict,
    "classes": list,
    "seed": int,
    "query": bool,
    "notes": list,
    "architecture": dict | None,
    "dtype": str,
    "sha256": dict,
}
"""What the index holds, beside its version."""
COLUMN_KINDS = frozenset(("int64", "float64", "int32", "float32", "bool", "object", "str", "string"))
DTYPES = ("float32", "float64", "float16", "bfloat16")
INDEX, VECTORISER, HISTORY, WEIGHTS = "fitted.json", "vectoriser.json", "history.json", "weights.safetensors"


def save(fitted: Fitted, folder: str | Path) -> Path:
    """Write to a temporary folder beside `folder`, then rename: a reader sees all of it or nothing."""
    from safetensors import SafetensorError
    from safetensors.torch import save_model

    folder = user_path(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).exists()):
        raise DataError(f"{folder} holds something else than a saved model. Give a new or empty folder.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error}). Give another folder.") from error
    try:
        save_model(fitted.model, str(temporary / WEIGHTS))
        (temporary / VECTORISER).write_text(fitted.vectoriser.to_json(), encoding="utf-8")
        _write(temporary / HISTORY, _records(fitted.history))
        index = {
            "version": VERSION,
            "model_config": fitted.model_config.model_dump(mode="json"),
            "train_config": fitted.train_config.model_dump(mode="json"),
            "classes": list(fitted.classes),
            "seed": fitted.seed,
            "query": fitted.query,
            "notes": list(fitted.notes),
            "architecture": _network_config(fitted),
            "dtype": str(next(fitted.model.parameters()).dtype).removeprefix("torch."),
            "sha256": {name: _sha256(temporary / name) for name in (VECTORISER, HISTORY, WEIGHTS)},
        }
        _write(temporary / INDEX, index)
        temporary.chmod(0o777 & ~_umask())
        (temporary / WEIGHTS).chmod(0o666 & ~_umask())  # safetensors keeps them to the owner
        _swap(temporary, folder)
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"The model could not be saved to {folder} ({error}). What was there before is unchanged. Make room, "
            "or give a folder that can be written."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def load(folder: str | Path, device: str = "auto") -> Fitted:
    """Read a folder that `save` wrote; a missing, changed or foreign file is named. Nothing in it is trusted."""
    folder, chosen = user_path(folder), resolve(device)
    index = _index(folder)
    for name, expected in index["sha256"].items():
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing: the saved model is incomplete. Save it again.")
        if _sha256(folder / name) != expected:
            raise DataError(f"{folder / name} is not what was saved (checksum differs). Save the model again.")
    try:
        return _built(folder, index, chosen)
    except AttnlibError as error:
        raise DataError(f"{folder} was edited, or is of another version: {error} Save the model again.") from None
    except Exception as error:  # there is no list of what files of an unknown hand can raise
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"{folder}: its files do not fit each other ({type(error).__name__}: {said}). Save the model again."
        ) from None


def _built(folder: Path, index: dict[str, Any], device: torch.device) -> Fitted:
    from safetensors.torch import load_model

    from attnlib.data.batching import Vectoriser
    from attnlib.fitted import Fitted
    from attnlib.training import initial_model

    model_config, train_config = ModelConfig(**index["model_config"]), TrainConfig(**index["train_config"])
    vectoriser = Vectoriser.from_json((folder / VECTORISER).read_text(encoding="utf-8"))
    history = _frame(_read(folder / HISTORY))

    def untrained() -> torch.nn.Module:
        return initial_model(model_config, vectoriser, len(index["classes"]), vectors=None, query=index["query"])

    with preserved_rng(), _architecture(index["architecture"]):
        with torch.device("meta"):  # costs no memory, whatever size the configuration claims
            _check_shapes(untrained(), folder / WEIGHTS)
        model = untrained()
    model.to(getattr(torch, index["dtype"]))
    load_model(model, str(folder / WEIGHTS), strict=True)
    return Fitted(
        model.to(device),
        vectoriser,
        model_config,
        train_config,
        index["classes"],
        history,
        index["seed"],
        query=index["query"],
        notes=index["notes"],
    )


def _check_shapes(model: torch.nn.Module, weights: Path) -> None:
    """Refuse weights of another model before anything of its size is made."""
    from safetensors import safe_open

    with safe_open(str(weights), framework="pt") as file:
        stored = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  no mapping
        shared = set(file.metadata() or ())  # weights under a second name are stored once
    needed = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    wrong = [name for name, shape in stored.items() if needed.get(name) != shape]
    wrong += [name for name in needed if name not in stored and name not in shared]
    if wrong:
        came, fits = stored.get(wrong[0]), needed.get(wrong[0])
        raise DataError(
            f"{weights.name} does not fit the configuration: {wrong[0]!r} has shape {came}, the model needs {fits}."
        )


def _index(folder: Path) -> dict[str, Any]:
    if not (folder / INDEX).is_file():
        raise DataError(f"{folder} holds no saved model: {INDEX} is missing. Give a folder that Fitted.save wrote.")
    index = _read(folder / INDEX)
    version = index.get("version") if isinstance(index, dict) else None
    if version != VERSION:
        raise DataError(
            f"{folder / INDEX} has format version {version!r}; this attnlib reads version {VERSION}. "
            "Load it with the attnlib that saved it, or train again."
        )
    if missing := KINDS.keys() - index.keys():
        raise DataError(f"{folder / INDEX} lacks {', '.join(sorted(missing))}. Save the model again.")
    if foreign := index.keys() - KINDS.keys() - {"version"}:
        raise DataError(f"{folder / INDEX} holds {', '.join(sorted(foreign))}, which attnlib never wrote.")
    for name, kind in KINDS.items():
        if not isinstance(index[name], kind) or isinstance(index[name], bool) != (kind is bool):
            raise DataError(
                f"{folder / INDEX}: {name} must be a {getattr(kind, '__name__', 'JSON object or null')}; got "
                f"{str(index[name])[:60]!r}. Save the model again."
            )
    names = [*index["classes"], *index["notes"]]
    if len(index["classes"]) < 2 or not all(isinstance(name, str) for name in names):
        raise DataError(f"{folder / INDEX}: classes and notes must be names, two classes at least. Save it again.")
    if index["dtype"] not in DTYPES:
        raise DataError(f"{folder / INDEX}: {unknown('dtype', index['dtype'], DTYPES)}")
    if foreign := index["sha256"].keys() ^ {VECTORISER, HISTORY, WEIGHTS}:
        raise DataError(f"{folder / INDEX} names files it should not: {', '.join(sorted(foreign))}.")
    return index


def _network_config(fitted: Fitted) -> dict[str, Any] | None:
    """How a pretrained encoder is built: its weights are saved here, its own files need not be there again."""
    if fitted.model_config.encoder != "bert":
        return None
    return json.loads(fitted.model.encoder.network.config.to_json_string(use_diff=False))


def _architecture(values: dict[str, Any] | None) -> AbstractContextManager[None]:
    if values is None:
        return nullcontext()
    from attnlib.models.bert import architecture

    return architecture(values)


def _records(history: pd.DataFrame) -> dict[str, Any]:
    """Columns, their types and rows; NaN as null, since JSON has none."""
    rows = [
        [None if isinstance(v, float) and math.isnan(v) else v for v in row]
        for row in history.astype(object).itertuples(index=False, name=None)
    ]
    return {"columns": [[name, str(kind)] for name, kind in history.dtypes.items()], "rows": rows}


def _frame(records: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    names = [name for name, _ in records["columns"]]
    if odd := {kind for _, kind in records["columns"]} - COLUMN_KINDS:
        raise DataError(f"{HISTORY} holds a column of kind {sorted(odd)[0]!r}.")
    frame = pd.DataFrame(records["rows"], columns=names, dtype=object)
    return frame.astype(dict(records["columns"]))


def _swap(new: Path, folder: Path) -> None:
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    try:
        folder.rename(old / "model")
        new.rename(folder)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, allow_nan=False), encoding="utf-8")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not readable JSON ({error}). Save the model again.") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
