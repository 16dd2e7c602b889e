"""Names to corpora: the registry, and `load_corpus`, the one way in.

A reader is a function that returns a `RawCorpus`; its keyword parameters are the corpus's options:

    @register_corpus("sst", kind="raw", summary="…", source="…", citation="…")
    def sst(path: str | None = None, *, classes: int = 2) -> RawCorpus: ...

The module that registers must be named in `attnlib.data.READERS`, and must import heavy libraries inside
functions, so that `attnlib list corpora` answers at once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from attnlib.config import DataConfig
from attnlib.data.assemble import assemble
from attnlib.data.preprocess import Preprocessing
from attnlib.data.raw import RawCorpus, RawExample
from attnlib.data.readers.files import SUFFIXES, is_table
from attnlib.data.types import Corpus
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError, nearest
from attnlib.utils.paths import neighbour, user_path
from attnlib.utils.registry import Registry

__all__ = [
    "CorpusSpec",
    "Preprocessing",
    "RawCorpus",
    "RawExample",
    "assemble",
    "corpora",
    "find_source",
    "load_corpus",
    "register_corpus",
]

Kind = Literal["generated", "packaged", "raw", "hub"]
SHARED = ("preprocessing", "drop_missing", "name")
"""Options that every reader has, beside those of DataConfig."""
QUICK = 2**20
"""Bytes of a table that is read just to see whether it can be."""


@dataclass(frozen=True)
class CorpusSpec:
    """A registered corpus: what it is, and the reader that gives its rows.

    kind  `generated` here, `packaged` (fetched from the Python package index by name), `raw` (files you have,
          given by `path=`) or `hub` (through HF datasets)
    """

    name: str
    loader: Callable[..., RawCorpus]
    summary: str
    source: str
    citation: str
    task: Literal["classification", "query"] = "classification"
    kind: Kind = "raw"

    @property
    def options(self) -> tuple[str, ...]:
        """The reader's own options."""
        return tuple(inspect.signature(self.loader).parameters)


corpora: Registry[CorpusSpec] = Registry(
    "corpus", hint="Or give the path of a csv, tsv, jsonl or parquet file, or 'hub:NAME'."
)


def register_corpus(
    name: str,
    *,
    kind: Kind,
    summary: str,
    source: str,
    citation: str,
    task: Literal["classification", "query"] = "classification",
) -> Callable[[Callable[..., RawCorpus]], Callable[..., RawCorpus]]:
    """Decorator: the function below it reads the corpus `name`."""

    def add(loader: Callable[..., RawCorpus]) -> Callable[..., RawCorpus]:
        corpora.register(name)(CorpusSpec(name, loader, summary, source, citation, task, kind))
        return loader

    return add


def load_corpus(corpus: str | Path | Mapping[str, Any] | DataConfig | None = None, /, **options: Any) -> Corpus:
    """The corpus of that name, file or configuration.

    corpus   a name (`attnlib list corpora`), a path to csv, tsv, jsonl or parquet, `hub:NAME`, a DataConfig or a
             mapping as `DataConfig.of` takes it. Left out for separate files:
             `load_corpus(train="a.csv", dev="b.csv", test="c.csv")`; without dev or test, they are cut from train
    options  those of DataConfig (`limit`, `min_df`, `max_length`, `strict_length_filter`, `seed`), those of
             the reader (`vocabulary=500` for planted, `text="review"` for a file), and three that every reader
             has: `preprocessing` (a Preprocessing, or a dict of changes to the corpus's own),
             `drop_missing` (leave out rows without a label) and `name` (what tables call it)
    """
    config = data_config({} if corpus is None else corpus, changes=options)
    spec, first = _resolve(config.corpus)
    own = dict(config.options)
    changes = {name: own.pop(name) for name in SHARED if name in own}
    if "seed" in spec.options:
        own.setdefault("seed", config.seed)
    raw = spec.loader(*first, **own)
    changes["preprocessing"] = raw.preprocessing.replace(**changes.get("preprocessing", {}))
    # what the register says of a corpus holds unless its reader knows better
    raw = replace(raw, source=raw.source or spec.source, citation=raw.citation or spec.citation, **changes)
    return assemble(raw, config)


def data_config(
    spec: str | Path | Mapping[str, Any] | DataConfig,
    defaults: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> DataConfig:
    """What `DataConfig.of` and `load_corpus` make of their arguments: defaults, then the spec, then changes.

    Every option is checked against the reader's; no file is opened.
    """
    if isinstance(spec, DataConfig):
        values = {**spec.model_dump(exclude={"options"}), "options": spec.options}
    elif isinstance(spec, Mapping):
        values = dict(spec)
    else:
        values = {"corpus": spec}
    fields: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for part in (defaults or {}, values, changes or {}):
        own = dict(part)
        fields |= {name: own.pop(name) for name in list(own) if name in DataConfig.model_fields}
        given = fields.pop("options", None) or {}
        if not isinstance(given, Mapping):
            raise ConfigError(f"options must be a mapping of the reader's options; got {given!r}.")
        options |= {**given, **own}
    fields["corpus"] = _named(fields, options)
    config = DataConfig(**fields, options={str(name): _plain_value(value) for name, value in options.items()})
    resolved, first = _resolve(config.corpus)
    _check_options(resolved, config.options, first)
    return config


def _named(fields: Mapping[str, Any], options: dict[str, Any]) -> str:
    """The corpus, by whichever of its keys it is named; `options` loses that key."""
    corpus = fields.get("corpus")
    if "train" in options:
        if corpus is not None:
            raise ConfigError(
                f"Give either corpus ({str(corpus)!r}) or train ({str(options['train'])!r}), not both."
            )
        corpus = options.pop("train")
        if not isinstance(corpus, str | Path) or not is_table(Path(corpus)):
            raise ConfigError(f"train must be the path of a table ({', '.join(SUFFIXES)}); got {corpus!r}.")
    elif corpus is None and "path" in options:
        corpus = options.pop("path")
    if not isinstance(corpus, str | Path) or not str(corpus).strip():
        raise ConfigError(
            "No corpus is named. Give a name or a path, a mapping with 'corpus' or 'path', or separate files: "
            f"train='a.csv', test='b.csv'. Got {corpus!r} and the keys {sorted(map(str, [*fields, *options]))}."
        )
    return str(corpus)


def _plain_value(value: Any) -> Any:
    """Configs hold plain values."""
    if isinstance(value, Preprocessing):
        return value.model_dump()
    return str(value) if isinstance(value, Path) else value


def check_source(config: DataConfig) -> Corpus | None:
    """Raise what `load_corpus` would, as far as that is known at once: DataError for files that are not there.

    Tables of up to a megabyte are read, so that a wrong column, delimiter or encoding is told here, and
    returned; others are not.
    """
    spec, first = _resolve(config.corpus)
    files = [*(first if spec.name not in corpora else ()), *map(config.options.get, ("path", "dev", "test"))]
    for file in files:
        if file is not None:
            find_source(file, "", config.corpus)
    sizes = [Path(file).expanduser().stat().st_size for file in files if file is not None]
    if spec.name not in corpora and sum(sizes) <= QUICK:
        with warnings.catch_warnings():  # the run itself will say them
            warnings.simplefilter("ignore")
            return load_corpus(config)
    if spec.kind == "raw" and not any(files) and paths.development_data() is None:
        find_source(None, "", config.corpus)
    return None


def find_source(path: str | Path | None, folder: str, corpus: str) -> Path:
    """Where the files of a raw corpus lie: `path`, else `folder` in the development data, if there is one."""
    if path is not None:
        found = user_path(path)
        if not found.exists():
            raise DataError(f"{corpus}: {str(path)!r} does not exist.{neighbour(found)}")
        return found
    data = paths.development_data()
    if data is not None and (data / folder).exists():
        return data / folder
    raise DataError(
        f"{corpus}: the files are not on this machine. Say where they are with path=…, or load a copy through "
        "'hub:NAME' (needs the extra attnlib[hub])."
    )


def _resolve(name: str) -> tuple[CorpusSpec, tuple[str, ...]]:
    """The spec that reads `name`, and what its reader takes first."""
    from attnlib.data.readers import table as tables

    if name.startswith("hub:"):
        return corpora["hub"], (name.removeprefix("hub:"),)
    if name in corpora:
        return corpora[name], ()
    path = user_path(name)
    if is_table(path):
        return tables.SPEC, (str(path),)
    if path.is_dir() or path.is_file():
        taking = sorted(n for n, spec in corpora.items() if "path" in spec.options)
        raise DataError(
            f"{name!r} is not a table attnlib reads ({', '.join(SUFFIXES)}). If it holds a corpus in its "
            f"publisher's own form, name that: load_corpus(NAME, path={name!r}) with NAME one of "
            f"{', '.join(taking)}."
        )
    return corpora[name], ()


def _check_options(spec: CorpusSpec, given: Mapping[str, Any], first: tuple[str, ...]) -> None:
    if not isinstance(steps := given.get("preprocessing", {}), Mapping):
        raise ConfigError(f"preprocessing must be a Preprocessing or a dict of its options; got {steps!r}.")
    Preprocessing(**{str(name): value for name, value in steps.items()})
    if not isinstance(given.get("drop_missing", True), bool):
        raise ConfigError(f"drop_missing must be true or false; got {given['drop_missing']!r}.")
    parameters = inspect.signature(spec.loader).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    allowed = [p.name for p in parameters][len(first) :]
    general = [n for n in DataConfig.model_fields if n not in ("corpus", "options")]
    for name in given:
        if name not in (*allowed, *SHARED):
            guess = nearest(name, [*allowed, *general, *SHARED])
            raise ConfigError(
                f"Unknown option {name!r} of corpus {spec.name!r}."
                + (f" Did you mean {guess!r}?" if guess else "")
                + f" Its own: {', '.join(allowed) or 'none'}. For every corpus: {', '.join([*general, *SHARED])}."
            )
