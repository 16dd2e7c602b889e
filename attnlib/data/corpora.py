"""`load_corpus`: from a name, a file, texts in memory or a configuration to a checked Corpus."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, StrictBool, StrictInt

from attnlib.config import Config, DataConfig
from attnlib.data.assembly import assemble
from attnlib.data.preprocess import Preprocessing
from attnlib.data.readers import frames, hub, packaged, papers, planted  # noqa: F401  they register
from attnlib.data.readers.base import CorpusSpec, corpora, find_source, register_corpus
from attnlib.data.readers.tables import SUFFIXES, is_table
from attnlib.data.types import Corpus
from attnlib.utils.errors import ConfigError, DataError, nearest
from attnlib.utils.paths import user_path

__all__ = ["CorpusSpec", "check_source", "corpora", "data_config", "load_corpus", "register_corpus", "with_options"]

QUICK = 2**20
"""Tables up to this size, in bytes, are read in advance to check that they can be."""
HELD = "texts in memory"
"""What a DataConfig says of texts that no name or file brings back."""


class Shared(Config):
    """Options that every reader has, in addition to those of DataConfig."""

    preprocessing: dict[str, Any] = Field(default_factory=dict)
    drop_missing: StrictBool = False
    name: str = ""
    excerpts: list[tuple[StrictInt | None, StrictInt | None]] = Field(default_factory=list)


SHARED = tuple(Shared.model_fields)


def load_corpus(corpus: Any = None, /, **options: Any) -> Corpus:
    """The corpus of that name, file, configuration, or of these texts.

    corpus   a name (`attnlib list corpora`), a path to csv, tsv, jsonl or parquet, `hub:NAME`, a DataConfig or a
             mapping as `data_config` takes it, also in braces: "{path: a.csv, encoding: latin-1}". In memory: a
             DataFrame, pairs (text, label), a `datasets.Dataset` or `DatasetDict`, a Corpus. Left out for separate
             files: `load_corpus(train="a.csv", dev="b.csv", test="c.csv")`
    options  those of DataConfig (`limit`, `min_df`, `max_length`, `strict_length_filter`, `seed`), of the reader
             (`text="review"` for a table), and: `preprocessing` (changes to the corpus's own), `drop_missing`
             (rows without a label), `name` (what tables call it) and `excerpts` (`[[20, 276], [-256, None]]`,
             parts of each text)

    >>> stories = al.load_corpus("planted", task="qa", n_train=60, n_dev=20, n_test=20)
    >>> stories.task, len(stories.classes)
    ('query', 4)
    >>> pairs = [(f"{mood} film {n}", mood) for mood in ("good", "bad") for n in range(20)]
    >>> al.load_corpus(pairs, name="mine")
    Corpus('mine', 32/4/4 train/dev/test, classes: bad, good)
    >>> al.load_corpus("plantd")
    Traceback (most recent call last):
    attnlib.utils.errors.UnknownName: Unknown corpus 'plantd'. Did you mean 'planted'? ...
    """
    if isinstance(corpus, Corpus):
        if options:
            raise ConfigError(f"{', '.join(options)}: options are for texts that are read; a Corpus was given.")
        return corpus
    if corpus is None or (isinstance(corpus, str | Path | Mapping | DataConfig) and not hub.is_dataset(corpus)):
        config, held = data_config({} if corpus is None else corpus, changes=options), None
    else:
        config, held = data_config(HELD, changes=options), corpus
    spec, first = _resolve(config.corpus)
    own = dict(config.options)
    changes = {name: own.pop(name) for name in SHARED if name in own}
    if "seed" in spec.options:
        own.setdefault("seed", config.seed)
    if hub.is_dataset(held):
        raw = hub.from_datasets(held, own)
    elif held is not None:
        raw = spec.loader(frames.frames_of(held), **own)
    else:
        raw = replace(spec.loader(*first, **own), **spec.prepared)
    changes["preprocessing"] = raw.preprocessing.replace(**changes.get("preprocessing", {}))
    # the register's entry applies unless the reader knows better
    changes |= {"source": raw.source or spec.source, "citation": raw.citation or spec.citation}
    return assemble(replace(raw, **changes), config)


def data_config(
    spec: str | Path | Mapping[str, Any] | DataConfig,
    defaults: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> DataConfig:
    """The config of a corpus as users write it: a name, a path, a mapping, or its YAML in braces.

    A mapping names its texts by `corpus` (a name or a path), `path` (a table; next to `corpus` an option of its
    reader) or `train`, with `dev` and `test`. All other keys are fields of DataConfig or options of the reader.
    `defaults` and `changes` are such mappings, for what the spec leaves out and over what it says. No file is
    opened; an unknown name is an error.
    """
    spec = written(spec)
    values = spec.model_dump() if isinstance(spec, DataConfig) else spec
    values = values if isinstance(values, Mapping) else {"corpus": values}
    fields, options = {}, {}
    for part in (defaults or {}, values, changes or {}):
        own = dict(part)
        fields |= {name: own.pop(name) for name in list(own) if name in DataConfig.model_fields}
        given = fields.pop("options", None) or {}
        if not isinstance(given, Mapping):
            raise ConfigError(f"options must be a mapping of the reader's options; got {given!r}.")
        options |= {**given, **own}
    fields["corpus"] = _named(fields, options)
    plain = {str(name): str(value) if isinstance(value, Path) else value for name, value in options.items()}
    if isinstance(steps := plain.get("preprocessing"), Preprocessing):
        plain["preprocessing"] = steps.model_dump()
    config = DataConfig(**fields, options=plain)
    reader, first = _resolve(config.corpus)
    Preprocessing(**Shared(**{name: plain[name] for name in SHARED if name in plain}).preprocessing)
    own, general = reader.options[len(first) :], [*DataConfig.model_fields, *SHARED]
    if wrong := [name for name in plain if name not in (*own, *SHARED)]:
        guess = nearest(wrong[0], [*own, *general])
        raise ConfigError(
            f"Unknown option {wrong[0]!r} of corpus {reader.name!r}.{f' Did you mean {guess!r}?' if guess else ''} "
            f"Its own: {', '.join(own) or 'none'}. For every corpus: {', '.join(general[2:])}."
        )
    return config


def written(spec: Any) -> Any:
    """A text in braces as the mapping it stands for; all else stays."""
    if not isinstance(spec, str) or not spec.strip().startswith("{"):
        return spec
    try:
        found = yaml.safe_load(spec)
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{spec[:60]!r} is no mapping such as '{{path: latin.csv, encoding: latin-1}}'.")
    return found


def with_options(spec: Any, options: Mapping[str, Any]) -> Any:
    """An entry as users write it, or a list of them, with these options for every table."""
    spec = written(spec)
    if isinstance(spec, list):
        return [with_options(one, options) for one in spec]
    if isinstance(spec, str) and is_table(Path(spec)):
        return {"path": spec, **options}
    if isinstance(spec, Mapping) and any(is_table(Path(str(spec.get(key)))) for key in ("corpus", "path", "train")):
        return {**spec, **options}
    return spec


def check_source(config: DataConfig) -> Corpus | None:
    """Raise what `load_corpus` would, as far as it is known in advance.

    Tables of up to a megabyte are read and returned, so that a wrong column or encoding is reported here.
    """
    spec, first = _resolve(config.corpus)
    own = spec is frames.SPEC
    files = [*(first if own else ()), *map(config.options.get, ("path", "dev", "test"))]
    given = [find_source(file, config.corpus) for file in files if file is not None]
    if spec.kind == "raw" and not given:
        find_source(None, config.corpus)
    if own and sum(file.stat().st_size for file in given) <= QUICK:
        with warnings.catch_warnings():  # the run itself repeats them
            warnings.simplefilter("ignore")
            return load_corpus(config)
    return None


def _named(fields: Mapping[str, Any], options: dict[str, Any]) -> str:
    """The corpus, by whichever of its keys it is named; `options` loses that key."""
    corpus, train = fields.get("corpus"), options.pop("train", None)
    if corpus is not None and train is not None:
        raise ConfigError(f"Give either corpus ({str(corpus)!r}) or train ({str(train)!r}), not both.")
    if train is not None and not is_table(Path(str(train))):
        raise ConfigError(f"train must be the path of a table ({', '.join(SUFFIXES)}); got {train!r}.")
    if (corpus := train if corpus is None else corpus) is None:
        corpus = options.pop("path", None)
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
    if name == HELD or is_table(path):
        return frames.SPEC, (str(path),)
    if path.exists():
        taking = sorted(n for n, spec in corpora.items() if "path" in spec.options)
        raise DataError(
            f"{name!r} is not a table attnlib reads ({', '.join(SUFFIXES)}; unpack an archive). If it is a corpus "
            f"in its publisher's form: load_corpus(NAME, path={name!r}), with NAME one of {', '.join(taking)}."
        )
    return corpora[name], ()
