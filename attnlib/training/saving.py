"""A trained model as a folder: weights in safetensors, everything else in JSON. Nothing is pickled."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field, StrictBool, StrictInt

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
AGAIN = "Give a folder that Fitted.save wrote, or save the model again."
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
    """Write to a temporary folder, then rename it: a reader sees all of it or nothing."""
    from safetensors import SafetensorError
    from safetensors.torch import save_model

    folder = user_path(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).exists()):
        raise DataError(f"{folder} holds something else than a saved model. Give a new or empty folder.")
    index = {name: getattr(fitted, name) for name in ("model_config", "train_config", *PLAIN)}
    index |= {"version": VERSION, "architecture": None}
    if fitted.model_config.encoder == "bert":  # its weights are saved here: its own files are no longer needed
        network = fitted.model.encoder.network
        index["architecture"] = json.loads(network.config.to_json_string(use_diff=False))
    index["dtype"] = str(next(fitted.model.parameters()).dtype).removeprefix("torch.")
    _check_modules(fitted, index["architecture"])
    temporary = None
    try:
        temporary = files.working(folder)
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
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def load(folder: str | Path, device: str) -> dict[str, Any]:
    """The fields of the Fitted that `save` wrote to a folder, of which nothing is trusted."""
    import pandas as pd
    from safetensors import SafetensorError
    from safetensors.torch import load_model

    broken = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, SafetensorError)
    folder, chosen = user_path(folder), resolve(device)
    try:
        if not (folder / INDEX).is_file():
            raise DataError(f"{INDEX} is missing.")
        values = _read(folder / INDEX)
        version = values.get("version") if isinstance(values, dict) else None
        if version != VERSION:
            raise DataError(f"{INDEX} has format version {version!r}; this attnlib reads version {VERSION}.")
        index = SavedModel(**values)
        for name, expected in index.sha256.items():
            if not (folder / name).is_file():
                raise DataError(f"{name} is missing.")
            if files.sha256(folder / name) != expected:
                raise DataError(f"{name} is not what was saved (checksum differs).")
        vectoriser = vectoriser_from_json((folder / VECTORISER).read_text(encoding="utf-8"))
        history = pd.DataFrame(_read(folder / HISTORY))
        model = _untrained(index.model, vectoriser, len(index.classes), index.query, index.architecture)
        load_model(model.to(getattr(torch, index.dtype)), str(folder / WEIGHTS), strict=True)
    except AttnlibError as error:
        raise DataError(f"{folder} holds no saved model that this attnlib reads: {error} {AGAIN}") from error
    except broken as error:
        told = f"{type(error).__name__}: {first_line(error)}"
        raise DataError(f"{folder}: its files do not fit each other ({told}). {AGAIN}") from error
    fields = {"model_config": index.model, "train_config": index.train, "vectoriser": vectoriser}
    fields |= {name: getattr(index, name) for name in PLAIN}
    return fields | {"model": model.to(chosen), "history": history}


def _untrained(
    config: ModelConfig, vectoriser: Vectoriser, n_classes: int, query: bool, network: dict[str, Any] | None
) -> torch.nn.Module:
    with architecture(network) if network else nullcontext(), torch.random.fork_rng():
        return initial_model(config, vectoriser, n_classes, vectors=None, query=query)


def _check_modules(fitted: Fitted, network: dict[str, Any] | None) -> None:
    """Refuse a model that its config does not make: loaded again, it would be another."""
    made = _untrained(fitted.model_config, fitted.vectoriser, len(fitted.classes), fitted.query, network)
    needed, found = ({name: type(m) for name, m in model.named_modules()} for model in (made, fitted.model))
    for name in {**needed, **found}:
        if found.get(name) is not needed.get(name):
            came, fits = (kinds[name].__name__ if name in kinds else "missing" for kinds in (found, needed))
            raise ConfigError(
                f"This model cannot be saved: {name} is {came}, and its ModelConfig makes {fits}. Register your "
                "own part and name it in the ModelConfig, then train again."
            )


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is not readable JSON ({error}).") from None
