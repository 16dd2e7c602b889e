"""A trained model as a folder: weights in safetensors, everything else in JSON. Nothing is pickled.

fitted.json          format version, configs, classes, seed, notes, checksums of the other files
vectoriser.json      vocabulary (or word pieces) and preprocessing
history.json         one record per epoch
weights.safetensors
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from pydantic import Field, StrictBool, StrictInt
from torch.overrides import TorchFunctionMode

from attnlib.config import Config, ModelConfig, TrainConfig
from attnlib.data.batching import Vectoriser
from attnlib.data.wordpieces import vectoriser_from_json
from attnlib.models.bert import architecture
from attnlib.training.initial import initial_model
from attnlib.utils import files
from attnlib.utils.device import resolve
from attnlib.utils.errors import AttnlibError, DataError, first_line
from attnlib.utils.paths import user_path

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
COLUMN_KINDS = frozenset(("int64", "float64", "int32", "float32", "bool", "object", "str", "string"))
INDEX, VECTORISER, HISTORY, WEIGHTS = "fitted.json", "vectoriser.json", "history.json", "weights.safetensors"


@dataclass(eq=False, repr=False)
class Parts:
    """What a trained model consists of, and so what its folder holds.

    history  one row per epoch: loss (all terms), cross_entropy and each regulariser alone, dev_* scores,
             learning_rate, best (whether its parameters were kept), seconds (not part of equality)
    notes    what training did that a reader should know, such as what a warm start could not copy
    """

    model: torch.nn.Module
    vectoriser: Vectoriser
    model_config: ModelConfig
    train_config: TrainConfig
    classes: tuple[str, ...]
    history: pd.DataFrame
    seed: int
    query: bool = False
    notes: tuple[str, ...] = ()


P = TypeVar("P", bound=Parts)


class SavedModel(Config):
    """The contents of fitted.json. pydantic reserves the name `model_config`."""

    version: StrictInt
    model: ModelConfig = Field(alias="model_config")
    train: TrainConfig = Field(alias="train_config")
    classes: tuple[str, ...] = Field(min_length=2)
    seed: StrictInt
    query: StrictBool
    notes: tuple[str, ...]
    architecture: dict[str, Any] | None
    dtype: Literal["float32", "float64", "float16", "bfloat16"]
    sha256: dict[Literal["vectoriser.json", "history.json", "weights.safetensors"], str] = Field(min_length=3)


def save(fitted: Parts, folder: str | Path) -> Path:
    """Write to a temporary folder next to `folder`, then rename: a reader sees all of it or nothing."""
    from safetensors import SafetensorError
    from safetensors.torch import save_model

    folder = user_path(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).exists()):
        raise DataError(f"{folder} holds something else than a saved model. Give a new or empty folder.")
    try:
        temporary = files.working(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error}). Give another folder.") from error
    try:
        save_model(fitted.model, str(temporary / WEIGHTS))
        (temporary / VECTORISER).write_text(fitted.vectoriser.to_json(), encoding="utf-8")
        _write(temporary / HISTORY, _records(fitted.history))
        index = SavedModel(
            version=VERSION,
            model_config=fitted.model_config,
            train_config=fitted.train_config,
            classes=fitted.classes,
            seed=fitted.seed,
            query=fitted.query,
            notes=fitted.notes,
            architecture=_network_config(fitted),
            dtype=str(next(fitted.model.parameters()).dtype).removeprefix("torch."),
            sha256={name: files.sha256(temporary / name) for name in (VECTORISER, HISTORY, WEIGHTS)},
        )
        _write(temporary / INDEX, index.model_dump(mode="json", by_alias=True))
        # safetensors makes them private to the owner, whatever the other files are
        (temporary / WEIGHTS).chmod((temporary / INDEX).stat().st_mode)
        files.replace(temporary, folder)
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"The model could not be saved to {folder} ({error}). What was there before is unchanged. Make room, "
            "or give a folder that can be written."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def load(folder: str | Path, device: str, kind: type[P]) -> P:
    """Read a folder that `save` wrote, as a `kind` of Parts.

    A missing, changed or foreign file is named. Nothing in the folder is trusted.
    """
    from safetensors.torch import load_model

    folder, chosen = user_path(folder), resolve(device)
    index = _index(folder)
    for name, expected in index.sha256.items():
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing: the saved model is incomplete. Save it again.")
        if files.sha256(folder / name) != expected:
            raise DataError(f"{folder / name} is not what was saved (checksum differs). Save the model again.")
    with _edited(folder):
        vectoriser = vectoriser_from_json((folder / VECTORISER).read_text(encoding="utf-8"))
        history = _frame(_read(folder / HISTORY))

    def untrained() -> torch.nn.Module:
        return initial_model(index.model, vectoriser, len(index.classes), vectors=None, query=index.query)

    with torch.random.fork_rng(), architecture(index.architecture) if index.architecture else nullcontext():
        with (
            _edited(folder),
            torch.device("meta"),
            _Unfilled(),
        ):  # no memory, whatever size the configuration claims
            _check_shapes(untrained(), folder / WEIGHTS)
        model = untrained()
    model.to(getattr(torch, index.dtype))
    load_model(model, str(folder / WEIGHTS), strict=True)
    made = (model.to(chosen), vectoriser, index.model, index.train, index.classes, history, index.seed)
    return kind(*made, query=index.query, notes=index.notes)


class _Unfilled(TorchFunctionMode):
    """Tensors on the device `meta` have no values to fill with random numbers, and for that torch would import its
    compiler, which takes a second."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if getattr(function, "__module__", "") == torch.nn.init.__name__:
            return given["tensor"] if "tensor" in given else args[0]
        if function in _FILLS:
            return args[0]
        return (torch.empty if function is torch.randn else function)(*args, **given)


_FILLS = frozenset({torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.zero_, torch.Tensor.fill_})


@contextmanager
def _edited(folder: Path) -> Iterator[None]:
    """Errors of reading and checking are blamed on the files. The model is built outside: errors there are bugs."""
    from safetensors import SafetensorError

    kinds = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, SafetensorError)
    try:
        yield
    except AttnlibError as error:
        raise DataError(f"{folder} was edited, or is of another version: {error} Save the model again.") from error
    except kinds as error:
        raise DataError(
            f"{folder}: its files do not fit each other ({type(error).__name__}: {first_line(error)}). Save the "
            "model again."
        ) from error


def _check_shapes(model: torch.nn.Module, weights: Path) -> None:
    """Refuse weights of another model before anything of that size is allocated."""
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


def _index(folder: Path) -> SavedModel:
    if not (folder / INDEX).is_file():
        raise DataError(f"{folder} holds no saved model: {INDEX} is missing. Give a folder that Fitted.save wrote.")
    values = _read(folder / INDEX)
    version = values.get("version") if isinstance(values, dict) else None
    if version != VERSION:
        raise DataError(
            f"{folder / INDEX} has format version {version!r}; this attnlib reads version {VERSION}. "
            "Load it with the attnlib that saved it, or train again."
        )
    with _edited(folder):
        return SavedModel(**values)


def _network_config(fitted: Parts) -> dict[str, Any] | None:
    """How a pretrained encoder is built: its weights are saved here, so its own files are no longer needed."""
    if fitted.model_config.encoder != "bert":
        return None
    return json.loads(fitted.model.encoder.network.config.to_json_string(use_diff=False))


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


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, allow_nan=False), encoding="utf-8")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not readable JSON ({error}). Save the model again.") from None
