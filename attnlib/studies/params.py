"""What the parameters of every study share: datasets, seeds, ranges, files that must be there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from attnlib.config import Config, DataConfig
from attnlib.reports.parameters import OPTIONS, folds
from attnlib.studies.datasets import Dataset, short
from attnlib.utils.errors import DataError, unknown

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

T = TypeVar("T")
C = TypeVar("C", bound=Config)
PREFIX = re.compile(r"\b(?:Params|DataConfig|ModelConfig|TrainConfig|FitSpec): ")
"""Parameters have the names that users know; the classes behind them do not."""


def _once(values: tuple[T, ...]) -> tuple[T, ...]:
    if len(set(values)) < len(values):
        raise ValueError(f"must name each once; got {list(values)}.")
    return values


def _some(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise ValueError("must name at least one; got an empty list.")
    return values


Listed = BeforeValidator(lambda value: value if isinstance(value, list | tuple) else [value])
"""A single entry needs no list."""
ByName = BeforeValidator(
    lambda given: {str(Dataset(k)): v for k, v in given.items()} if isinstance(given, Mapping) else given
)
Once = Annotated[tuple[T, ...], Listed, AfterValidator(_once)]
"""A list that names nothing twice; it may be empty."""
Some = Annotated[Once[T], AfterValidator(_some)]
"""The same with at least one entry."""
ByDataset = Annotated[dict[str, T], ByName]
"""Values by the name of a dataset, which may also be given as its file."""
Entry = Annotated[
    Dataset,
    PlainValidator(Dataset, json_schema_input_type=str | dict),
    PlainSerializer(lambda dataset: dataset.spec),
]
Datasets = Once[Entry]
"""Names, paths, `hub:NAME` or mappings of loader options; of `Corpora` one at least."""
Corpora = Some[Entry]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Size = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class StudyParams(Config):
    """The parameters that every study has.

    corpora  datasets
    limit    at most so many texts per split; None: all
    vectors  word vectors: none, glove, word2vec, or a path
    """

    corpora: Corpora = (Dataset("planted"),)
    limit: Size | None = None
    vectors: str = "none"

    @model_validator(mode="after")
    def _known(self) -> Self:
        for option, datasets in self.datasets.items():
            for dataset in datasets:
                try:
                    self.data(dataset)
                except (KeyError, ValueError) as error:
                    raise ValueError(f"{option}: {error}") from None
        return self

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The parameters among the names of a notebook, and those that its `options` hold."""
        own = {name: values[name] for name in cls.model_fields if name in values}
        more = values.get(OPTIONS) if folds(values, cls) else None
        return cls(**own | dict(more or {}))

    @property
    def setting(self) -> str:
        """In words, what claims are judged on."""
        return ", ".join(short(name) for name in self.corpora)

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Parameters that name datasets, with what they name."""
        return {"corpora": self.corpora}

    @property
    def all_corpora(self) -> tuple[Dataset, ...]:
        """What they name, each once."""
        return tuple(dict.fromkeys(dataset for datasets in self.datasets.values() for dataset in datasets))

    def dataset(self, name: str) -> Dataset:
        """The dataset of that name, with its source; else the corpus so called."""
        return next((dataset for dataset in self.all_corpora if dataset == name), Dataset(name))

    def named(self, kind: type[Config]) -> dict[str, Any]:
        """The parameters that have the name of a field of a config, and so its meaning."""
        return {name: getattr(self, name) for name in kind.model_fields if name in type(self).model_fields}

    def config(self, kind: type[C], **own: Any) -> C:
        """A config with the values of the parameters of the same names, but for `own`."""
        return kind(**self.named(kind) | own)

    def data(self, corpus: str, **own: Any) -> DataConfig:
        """Where a corpus comes from, and how it is read: by the parameters, but for `own`."""
        return self.dataset(corpus).config(**self.named(DataConfig) | own)

    def absent(self) -> Iterator[tuple[str, str]]:
        """Files that are missing, and tables that the study cannot use: parameter, what is wrong."""
        from attnlib.data.corpora import check_source
        from attnlib.data.vectors import check_vectors

        def usable(data: DataConfig) -> None:
            if (corpus := check_source(data)) is not None:
                self.suits(corpus)

        checked = [(o, usable, self.data(d)) for o, datasets in self.datasets.items() for d in datasets]
        checked.append(("vectors", check_vectors, self.vectors))
        checked += [("vector_files", check_vectors, file) for file in getattr(self, "vector_files", {}).values()]
        for option, check, value in checked:
            try:
                check(value)
            except DataError as error:
                yield option, str(error)

    def suits(self, corpus: Corpus) -> None:
        """Raise DataError for a corpus that the study cannot use."""

    def _check_keys(self, *options: str, known: Sequence[str]) -> None:
        """Refuse values for datasets that are not there."""
        for option in options:
            for name in getattr(self, option):
                if name not in known:
                    raise ValueError(unknown(f"corpus in {option}", name, known))

    @classmethod
    def _explain(cls, error: ValidationError) -> str:
        text = PREFIX.sub("", super()._explain(error)).replace("option of Params", "parameter")
        return "\n".join(dict.fromkeys(text.splitlines()))
