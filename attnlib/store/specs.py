"""What a run is: a model to train (`FitSpec`) or something to measure on trained models (`MeasureSpec`)."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from attnlib.config import Config, DataConfig, FrozenDict, ModelConfig, Options, TrainConfig
from attnlib.utils.errors import ConfigError

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

FIT = "attnlib.training.fit:fit"


def _named(data: Any) -> Any:
    """A corpus named as everywhere: a name, a path, or a mapping in braces."""
    from attnlib.data.corpora import data_config

    return data_config(data) if isinstance(data, str) else data


Named = Annotated[DataConfig, BeforeValidator(_named)]


class _Spec(Config):
    params: Options = Field(default_factory=FrozenDict)
    label: Options = Field(default_factory=FrozenDict)

    @model_validator(mode="after")
    def _plain(self) -> Self:
        if not re.fullmatch(r"[\w.]+:[^\W\d]\w*", self.task):
            raise ConfigError(f"A task is named 'package.module:function'; got {self.task!r}.")
        try:
            canonical(self.params)
        except (TypeError, ValueError) as error:
            raise ValueError(f"params must be plain values, since they name the run; {error}.") from None
        return self


class FitSpec(_Spec):
    """Train `model` on `data`.

    trainer     `function(corpus, model, train, seed, [warm_start=fitted,] **params) -> Fitted`
    warm_start  a model that must be trained first
    label       columns to add to the frames; not part of the run's identity

    >>> fits = [al.FitSpec(data=al.DataConfig(corpus="planted"), model=config, seed=seed) for seed in (24, 92)]
    >>> [fit.seed for fit in fits], fits[0].model.encoder
    ([24, 92], 'mlp')
    """

    data: Named
    model: ModelConfig = Field(default_factory=ModelConfig)
    train: TrainConfig = Field(default_factory=TrainConfig)
    seed: int = Field(0, ge=0)
    warm_start: FitSpec | None = None
    trainer: str = FIT

    @property
    def corpus(self) -> DataConfig:
        return self.data

    @property
    def fits(self) -> tuple[FitSpec, ...]:
        return () if self.warm_start is None else (self.warm_start,)

    @property
    def task(self) -> str:
        return self.trainer


class MeasureSpec(_Spec):
    """Call `task`, a `package.module:function` that returns frames, on trained models and their corpus:
    `function(*fitted, corpus, **params)`. One that takes `examples` in place of `corpus` gets the test texts.

    data    the corpus to hand over; None: that of the first model, if any
    params  what else the function takes: plain values, which are part of the run's identity

    >>> fit = al.FitSpec(data=al.DataConfig(corpus="planted"), model=config)
    >>> run = al.MeasureSpec.of(al.fraction_to_flip, fit, ranking="alpha")
    >>> run.task
    'attnlib.erasure.flips:fraction_to_flip'
    >>> al.run_grid([run]).complete().frame().columns[:9].tolist()
    ['dataset', 'encoder', 'attention', 'projection', 'variant', 'seed', 'id', 'length', 'prediction']
    """

    task: str
    fits: tuple[FitSpec, ...] = ()
    data: Named | None = None

    @property
    def corpus(self) -> DataConfig | None:
        return self.data or (self.fits[0].data if self.fits else None)

    @classmethod
    def of(
        cls,
        function: str | Callable[..., Any],
        *fits: FitSpec,
        data: DataConfig | None = None,
        label: Mapping[str, Any] | None = None,
        **params: Any,
    ) -> MeasureSpec:
        """The run of a function or its name; an unknown parameter is refused at once."""
        if not isinstance(function, str):
            if function.__module__ == "__main__" or not function.__qualname__.isidentifier():
                said = f"Workers import a task by name, and cannot import {function.__qualname__!r}"
                raise ConfigError(f"{said} of {function.__module__!r}. Move it to the top level of a module.")
            function = f"{function.__module__}:{function.__qualname__}"
        run = cls(task=function, fits=fits, data=data, params=params, label=label or {})
        signature = inspect.signature(resolve(function))
        given = (*fits, *([run.corpus] if run.corpus is not None else []))
        try:
            signature.bind(*given, **params)
        except TypeError as error:
            raise ConfigError(f"{function}: {error}. It takes {signature}, models and corpus first.") from None
        return run


Run = FitSpec | MeasureSpec


def needed(run: Run) -> Iterator[Run]:
    """A run and every model that it needs."""
    yield run
    for fit in run.fits:
        yield from needed(fit)


def corpora_of(run: Run) -> set[str]:
    """Names of the corpora that a run and its models read."""
    return {one.corpus.corpus for one in needed(run) if one.corpus is not None}


def resolve(task: str) -> Callable[..., Any]:
    """The function a task names."""
    module, _, name = task.partition(":")
    try:
        function = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise ConfigError(f"Task {task!r}: no module {error.name!r} can be imported here.") from error
    if not callable(function):
        raise ConfigError(f"Task {task!r}: module {module!r} has no function {name!r}.")
    return function


class Corpora:
    """Corpora by config, each loaded once. `given`: corpora already loaded, by the name in `DataConfig.corpus`."""

    def __init__(self, given: Mapping[str, Corpus] | None = None) -> None:
        self.given = dict(given or {})
        self._loaded: dict[str, Corpus] = {}

    def __getitem__(self, config: DataConfig) -> Corpus:
        if config.corpus in self.given:
            if config != DataConfig(corpus=config.corpus):
                raise ConfigError(
                    f"The corpus {config.corpus!r} was handed over ready-made: leave its options out."
                )
            return self.given[config.corpus]
        if config.digest not in self._loaded:
            from attnlib.data import load_corpus

            self._loaded[config.digest] = load_corpus(config)
        return self._loaded[config.digest]


def columns(run: Run, corpora: Corpora | None = None) -> dict[str, Any]:
    """What identifies a run in a tidy frame. Without `corpora` the dataset goes by the name its config gives."""
    fit = run if isinstance(run, FitSpec) else run.fits[0] if run.fits else None
    found: dict[str, Any] = {}
    if run.corpus is not None:
        found["dataset"] = run.corpus.corpus if corpora is None else corpora[run.corpus].name
    if fit is not None:
        model = fit.model
        variant = model.scaling if model.scaling != "none" else model.regulariser
        found |= {"encoder": model.encoder, "attention": model.attention, "projection": model.projection}
        found |= {"variant": variant, "seed": fit.seed, **fit.label}
    return found | run.label


def canonical(value: Any) -> str:
    """JSON with one spelling for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
