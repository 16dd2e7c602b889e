"""A trained model as a folder: weights in safetensors, everything else in JSON. Nothing is pickled.

fitted.json          format version, configs, classes, seed, notes, checksums of the other files
vectoriser.json      vocabulary (or word pieces) and preprocessing
history.json         one record per epoch
weights.safetensors
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field, StrictBool, StrictInt
from torch.overrides import TorchFunctionMode

from attnlib.config import Config, ModelConfig, TrainConfig
from attnlib.data.wordpieces import vectoriser_from_json
from attnlib.models.bert import architecture
from attnlib.training.initial import initial_model
from attnlib.utils import files
from attnlib.utils.device import resolve
from attnlib.utils.errors import AttnlibError, ConfigError, DataError, first_line
from attnlib.utils.paths import user_path

if TYPE_CHECKING:
    from attnlib.data.batching import Vectoriser
    from attnlib.training.fitted import Fitted

VERSION = 2
PLAIN = ("classes", "seed", "query", "notes")
INDEX, VECTORISER, HISTORY, WEIGHTS = "fitted.json", "vectoriser.json", "history.json", "weights.safetensors"


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


def save(fitted: Fitted, folder: str | Path) -> Path:
    """Write to a temporary folder next to `folder`, then rename: a reader sees all of it or nothing."""
    from safetensors import SafetensorError
    from safetensors.torch import save_model

    folder = user_path(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).exists()):
        raise DataError(f"{folder} holds something else than a saved model. Give a new or empty folder.")
    index = {name: getattr(fitted, name) for name in ("model_config", "train_config", *PLAIN)}
    index |= {"version": VERSION, "architecture": _network_config(fitted)}
    index["dtype"] = str(next(fitted.model.parameters()).dtype).removeprefix("torch.")
    _check_modules(fitted, index["architecture"])
    try:
        temporary = files.working(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error}). Give another folder.") from error
    try:
        save_model(fitted.model, str(temporary / WEIGHTS))
        (temporary / VECTORISER).write_text(fitted.vectoriser.to_json(), encoding="utf-8")
        _write(temporary / HISTORY, fitted.history.to_dict("list"))
        sha256 = {name: files.sha256(temporary / name) for name in (VECTORISER, HISTORY, WEIGHTS)}
        _write(temporary / INDEX, SavedModel(**index, sha256=sha256).model_dump(mode="json", by_alias=True))
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


def load(folder: str | Path, device: str) -> dict[str, Any]:
    """The fields of the Fitted that `save` wrote to a folder.

    A missing, changed or foreign file is named. Nothing in the folder is trusted.
    """
    import pandas as pd
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
        history = pd.DataFrame(_read(folder / HISTORY))
    made = index.model, vectoriser, len(index.classes), index.query, index.architecture
    with _edited(folder):
        _check_shapes(_sketch(*made), folder / WEIGHTS)
    with torch.random.fork_rng():
        model = _untrained(*made).to(getattr(torch, index.dtype))
    load_model(model, str(folder / WEIGHTS), strict=True)
    fields = {"model_config": index.model, "train_config": index.train, "vectoriser": vectoriser}
    fields |= {name: getattr(index, name) for name in PLAIN}
    return fields | {"model": model.to(chosen), "history": history}


def _untrained(
    config: ModelConfig, vectoriser: Vectoriser, n_classes: int, query: bool, network: dict[str, Any] | None
) -> torch.nn.Module:
    with architecture(network) if network else nullcontext():
        return initial_model(config, vectoriser, n_classes, vectors=None, query=query)


def _sketch(*made: Any) -> torch.nn.Module:
    """The untrained model without values: it takes no memory, whatever size a configuration claims."""
    with torch.device("meta"), _Unfilled():
        return _untrained(*made)


def _check_modules(fitted: Fitted, network: dict[str, Any] | None) -> None:
    """Refuse a model that its config does not make: loaded again, it would be another."""
    made = _sketch(fitted.model_config, fitted.vectoriser, len(fitted.classes), fitted.query, network)
    needed, found = ({name: type(m) for name, m in model.named_modules()} for model in (made, fitted.model))
    for name in {**needed, **found}:
        if found.get(name) is not needed.get(name):
            came, fits = (kinds[name].__name__ if name in kinds else "missing" for kinds in (found, needed))
            raise ConfigError(
                f"This model cannot be saved: {name} is {came}, and its ModelConfig makes {fits}. Register your "
                "own part and name it in the ModelConfig, then train again."
            )


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


def _network_config(fitted: Fitted) -> dict[str, Any] | None:
    """How a pretrained encoder is built: its weights are saved here, so its own files are no longer needed."""
    if fitted.model_config.encoder != "bert":
        return None
    return json.loads(fitted.model.encoder.network.config.to_json_string(use_diff=False))


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not readable JSON ({error}). Save the model again.") from None
