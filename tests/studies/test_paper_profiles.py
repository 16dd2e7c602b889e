"""The paper profiles where their corpora are not: every grid is built, and each kind of run runs once, tiny.

What only costs time shrinks (texts, epochs, widths, replicates); generated texts and random vectors replace what is
not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnlib.data.readers import planted as texts
from attnlib.store.grid import run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.studies.study import planned, studies, study_for

PAPERS = ["01_tasc", "02_tying_mlm", "03_sparsity", "04_mutual_information", "05_erasure", "06_verdict"]
WIDTH = 20
"""Of two directions, four or five kernel sizes, four heads."""
FEW = dict.fromkeys(("n_train", "n_dev", "n_test"), 12)
CLASSES = {"snli": 3, "babi": 6, "hub:yahoo_answers_topics": 10}
SHRUNK = {
    r"(\w+_)?seeds|few": lambda v: v[:1] if isinstance(v, list) else 1,
    r"(\w+_)?epochs(_without)?": lambda v: leaves(v, 1),
    r"hidden_sizes?|embedding_size": lambda v: leaves(v, WIDTH),
    r"limit": lambda v: 12,
    r"resamples|adversary_(steps|texts)": lambda v: 4,
    r"counts": lambda v: [4],
    r"vector_files": lambda v: {},
}
"""Name of a parameter -> what becomes of its value."""


def leaves(value: Any, small: int) -> Any:
    if isinstance(value, Mapping):
        return {key: leaves(inner, small) for key, inner in value.items()}
    return small if isinstance(value, int) else value


def paper(name: str) -> tuple[Any, Any]:
    """The study of a notebook and the parameters of its paper profile."""
    study = study_for(name)
    return study, study.Params.of(planned([name], "paper")[0].values)


def tiny(name: str, folder: Path) -> tuple[Any, Any]:
    """The same in small."""
    study, params = paper(name)
    values = dict(planned([name], "paper")[0].values)
    for option, datasets in params.datasets.items():
        made = [generated(params.data(dataset), dataset, option) for dataset in datasets]
        values[option] = made if isinstance(values[option], list) else made[0]
    for option, value in values.items():
        for pattern, small in SHRUNK.items():
            if value is not None and re.fullmatch(pattern, option):
                values[option] = small(value)
    values["vectors"] = str(vectors(folder))
    if "bert" in values.get("encoders", ()):
        values["pretrained"] = str(bert(folder / "bert"))
    return study, study.Params.of(values)


def generated(data: Any, name: str, option: str) -> dict[str, Any]:
    """Texts like those of a corpus: with a question where it has one, of as many classes."""
    classes = 8 if data.options.get("labels") == "stars" else data.options.get("classes")
    classes = classes or CLASSES.get(data.corpus, 5 if data.corpus.startswith("hub:") else 2)
    made = {"corpus": "planted", "name": str(name), **FEW, "longest": 12, "classes": classes, "max_length": 12}
    return made | ({"task": "qa"} if option == "query_corpora" else {})


def words() -> list[str]:
    lines = ["where is ?", *texts.SENTIMENT.values(), *texts.TOPICS.values(), *texts.MOVES]
    known = [*texts.FILLER, *texts.PEOPLE, *texts.PLACES, *texts.THINGS, texts.STOP, texts.NEGATION]
    return list(dict.fromkeys([*known, *" ".join(lines).split()]))


def vectors(folder: Path) -> Path:
    file, rng = folder / "vectors.txt", np.random.default_rng(0)
    rows = [" ".join([word, *(f"{v:.4f}" for v in rng.standard_normal(WIDTH))]) for word in words()]
    file.write_text("\n".join(rows) + "\n")
    return file


def bert(folder: Path) -> Path:
    """A BERT with random weights as `save_pretrained` writes it: two layers, lower-cased word pieces."""
    transformers = pytest.importorskip("transformers")
    folder.mkdir()
    letters = [chr(code) for code in range(33, 127)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    pieces += [word for word in words() if word not in pieces]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    sizes = {"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(pieces), **sizes)
    transformers.BertModel(config).save_pretrained(folder, safe_serialization=True)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=512).save_pretrained(folder)
    return folder


def kind(run: Any) -> tuple:
    """What makes a run another path than one that repeats it with another seed or on another corpus."""
    fits = tuple(map(kind, run.fits))
    params = repr(sorted(run.params.items()))
    if isinstance(run, MeasureSpec):
        return run.task, params, fits
    return run.trainer, params, run.data.options.get("task"), repr(run.model), repr(run.train), fits


def test_every_study_with_a_grid_is_here() -> None:
    assert {name[3:] for name in PAPERS} == set(studies()) - {"quickstart"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS[:-1])  # the verdict puts the models of the others together
def test_each_kind_of_run_of_a_paper_profile_runs(name: str, tmp_path: Path) -> None:
    study, params = tiny(name, tmp_path)
    kinds = {kind(run): run for run in study.grid(params)}
    result = run_grid(kinds.values(), store=tmp_path / "store")
    assert result.failures.empty, result.failures[["run", "error", "message"]].to_string()
