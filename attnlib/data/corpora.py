"""`load_corpus`, the one way in: from a name, a file or a configuration to a checked Corpus."""

from __future__ import annotations

import ctypes
import inspect
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlib.config import DataConfig
from attnlib.data.assemble import assemble
from attnlib.data.narrowing import check_excerpts, check_shares
from attnlib.data.preprocess import Preprocessing
from attnlib.data.readers import hub, packaged, pairs, planted, reviews  # noqa: F401  they register
from attnlib.data.readers.base import CorpusSpec, corpora, find_source, register_corpus
from attnlib.data.readers.files import SUFFIXES, is_table
from attnlib.data.readers.table import SPEC as TABLE
from attnlib.data.types import Corpus
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError, nearest
from attnlib.utils.paths import user_path

__all__ = ["CorpusSpec", "check_source", "corpora", "data_config", "load_corpus", "register_corpus"]

SHARED = ("preprocessing", "drop_missing", "name", "shares", "excerpts")
"""Options that every reader has, in addition to those of DataConfig."""
QUICK = 2**20
"""Tables up to this size, in bytes, are read in advance to check that they can be."""


def load_corpus(corpus: str | Path | Mapping[str, Any] | DataConfig | None = None, /, **options: Any) -> Corpus:
    """The corpus of that name, file or configuration.

    corpus   a name (`attnlib list corpora`), a path to csv, tsv, jsonl or parquet, `hub:NAME`, a DataConfig or a
             mapping as `data_config` takes it. Left out for separate files:
             `load_corpus(train="a.csv", dev="b.csv", test="c.csv")`; without dev or test, they are cut from train
    options  those of DataConfig (`limit`, `min_df`, `max_length`, `strict_length_filter`, `seed`, `part`), those of
             the reader (`vocabulary=500` for planted, `text="review"` for a file), and those that every reader
             has: `preprocessing` (a Preprocessing, or a dict of changes to the corpus's own),
             `drop_missing` (leave out rows without a label), `name` (what tables call it), `shares`
             (`{"positive": 0.12}` thins a class) and `excerpts` (`[[20, 276], [-256, None]]`, parts of each text)

    >>> stories = al.load_corpus("planted", task="qa", n_train=60, n_dev=20, n_test=20)
    >>> stories.task, len(stories.classes)
    ('query', 4)
    >>> al.load_corpus("plantd")
    Traceback (most recent call last):
    attnlib.utils.errors.UnknownName: Unknown corpus 'plantd'. Did you mean 'planted'? ...
    """
    config = data_config({} if corpus is None else corpus, changes=options)
    if config.part is not None:
        return load_corpus(config.replace(part=None)).part(*config.part)
    spec, first = _resolve(config.corpus)
    own = dict(config.options)
    changes = {name: own.pop(name) for name in SHARED if name in own}
    if "seed" in spec.options:
        own.setdefault("seed", config.seed)
    raw = replace(spec.loader(*first, **own), **spec.prepared)
    changes["preprocessing"] = raw.preprocessing.replace(**changes.get("preprocessing", {}))
    # the register's entry applies unless the reader knows better
    raw = replace(raw, source=raw.source or spec.source, citation=raw.citation or spec.citation, **changes)
    made = assemble(raw, config)
    del raw
    _give_back()
    return made


def _give_back() -> None:
    """Return to the system what the raw texts held: arrow and the C library keep freed memory for later use."""
    if pyarrow := sys.modules.get("pyarrow"):
        pyarrow.default_memory_pool().release_unused()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):  # glibc has it
        trim(0)


def data_config(
    spec: str | Path | Mapping[str, Any] | DataConfig,
    defaults: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> DataConfig:
    """The config of a corpus as users write it: a name, a path, or a mapping.

    A mapping names its texts by `corpus` (a name or a path), `path` (a table; next to `corpus` it is the reader's
    option of that name) or `train`, with `dev` and `test` if they exist (tables). All other keys are fields of
    DataConfig or options of the reader (text, label, delimiter, …). An unknown name of a corpus or an option is an
    error; no file is opened.

    defaults  the same keys, for what the spec leaves out
    changes   the same keys, overriding the spec
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
    for name, value in options.items():  # configs hold plain values
        if isinstance(value, Preprocessing | Path):
            options[name] = value.model_dump() if isinstance(value, Preprocessing) else str(value)
    config = DataConfig(**fields, options={str(name): value for name, value in options.items()})
    _check_options(*_resolve(config.corpus), config.options)
    return config


def check_source(config: DataConfig) -> Corpus | None:
    """Raise what `load_corpus` would, as far as it is known in advance: DataError for missing files.

    Tables of up to a megabyte are read, so that a wrong column, delimiter or encoding is reported here, and
    returned; larger ones are not.
    """
    spec, first = _resolve(config.corpus)
    own = spec is TABLE
    files = [*(first if own else ()), *map(config.options.get, ("path", "dev", "test"))]
    given = [find_source(file, "", config.corpus) for file in files if file is not None]
    if own and sum(file.stat().st_size for file in given) <= QUICK:
        with warnings.catch_warnings():  # the run itself repeats them
            warnings.simplefilter("ignore")
            return load_corpus(config)
    if spec.kind == "raw" and not any(files) and paths.development_data() is None:
        find_source(None, "", config.corpus)
    return None


def _named(fields: Mapping[str, Any], options: dict[str, Any]) -> str:
    """The corpus, by whichever of its keys it is named; `options` loses that key."""
    corpus = fields.get("corpus")
    if "train" in options:
        train = options.pop("train")
        if corpus is not None:
            raise ConfigError(f"Give either corpus ({str(corpus)!r}) or train ({str(train)!r}), not both.")
        if not isinstance(train, str | Path) or not is_table(Path(train)):
            raise ConfigError(f"train must be the path of a table ({', '.join(SUFFIXES)}); got {train!r}.")
        corpus = train
    elif corpus is None and "path" in options:
        corpus = options.pop("path")
    if not isinstance(corpus, str | Path) or not str(corpus).strip():
        raise ConfigError(
            "No corpus is named. Give a name or a path, a mapping with 'corpus' or 'path', or separate files: "
            f"train='a.csv', test='b.csv'. Got {corpus!r} and the keys {sorted(map(str, [*fields, *options]))}."
        )
    return str(corpus)


def _resolve(name: str) -> tuple[CorpusSpec, tuple[str, ...]]:
    """The spec that reads `name`, and what its reader takes first."""
    if name.startswith("hub:"):
        return corpora["hub"], (name.removeprefix("hub:"),)
    if name in corpora:
        return corpora[name], ()
    path = user_path(name)
    if is_table(path):
        return TABLE, (str(path),)
    if path.is_dir() or path.is_file():
        taking = sorted(n for n, spec in corpora.items() if "path" in spec.options)
        raise DataError(
            f"{name!r} is not a table attnlib reads ({', '.join(SUFFIXES)}). If it holds a corpus in its "
            f"publisher's own form, name that: load_corpus(NAME, path={name!r}) with NAME one of "
            f"{', '.join(taking)}."
        )
    return corpora[name], ()


def _check_options(spec: CorpusSpec, first: tuple[str, ...], given: Mapping[str, Any]) -> None:
    if not isinstance(steps := given.get("preprocessing", {}), Mapping):
        raise ConfigError(f"preprocessing must be a Preprocessing or a dict of its options; got {steps!r}.")
    Preprocessing(**{str(name): value for name, value in steps.items()})
    if not isinstance(given.get("drop_missing", True), bool):
        raise ConfigError(f"drop_missing must be true or false; got {given['drop_missing']!r}.")
    check_shares(given.get("shares", {}))
    check_excerpts(given.get("excerpts", ()))
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(spec.loader).parameters.values()):
        return
    allowed = spec.options[len(first) :]
    general = [n for n in DataConfig.model_fields if n not in ("corpus", "options")]
    for name in given:
        if name not in (*allowed, *SHARED):
            guess = nearest(name, [*allowed, *general, *SHARED])
            raise ConfigError(
                f"Unknown option {name!r} of corpus {spec.name!r}."
                + (f" Did you mean {guess!r}?" if guess else "")
                + f" Its own: {', '.join(allowed) or 'none'}. For every corpus: {', '.join([*general, *SHARED])}."
            )
