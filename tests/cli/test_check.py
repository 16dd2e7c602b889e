"""Values that no run can use are refused before a kernel starts, in words that name notebook and parameter."""

from __future__ import annotations

import re
from pathlib import Path

import own_tables
import pytest
from click.testing import CliRunner

from attnlib.cli.main import Checked, check, main
from attnlib.reports.plan import read
from attnlib.studies.study import params_of, planned, study_for
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError

ONE, TASC, TYING, SPARSE, MUTUAL, ERASURE = (
    "00_quickstart", "01_tasc", "02_tying_mlm", "03_sparsity", "04_mutual_information", "05_erasure",
)  # fmt: skip
SERIES = (ONE, TASC, TYING, SPARSE, MUTUAL, ERASURE)

CORPORA = [
    ("corpus", "nope.csv", "nope.csv"),
    ("corpora", "[nosuch]", "Unknown corpus 'nosuch'"),
    ("corpora", "[planted", "not YAML"),
    ("corpora", "{text: body}", "path"),
    ("corpora", "{corpus: planted, vocabularry: 20}", "Did you mean 'vocabulary'"),
    ("corpora", "{path: nope.csv, text: body}", "nope.csv"),
    ("corpora", "{train: nope.csv, test: nada.csv}", "nope.csv"),
    ("corpora", "{corpus: sst, path: no/such/folder}", "no/such/folder"),
    ("corpora", "{corpus: planted, limit: 0}", "limit"),
    ("corpora", "{corpus: planted, preprocessing: {digit: x}}", "digit"),
    ("corpora", "{path: DIR/semicolons.csv, text: bdoy, label: stars, encoding: latin-1}", "Did you mean 'body'"),
    ("vectors", "nope.txt", "nope.txt"),
    ("limit", "-5", "limit must be .* 1; got -5"),
    ("limt", "5", "Did you mean 'limit'"),
]
"""What every notebook refuses: two of them are asked."""

WRONG = [
    (ONE, "corpora", "[planted, imdb]", "one corpus"),
    (ONE, "learning_rate", "nan", "learning_rate"),
    (ONE, "hidden_size", "63", "even"),
    (TASC, "variants", "[lin]", "'none' and 'lin'"),
    (TASC, "vector_files", "{rotten_tomatoes: nope.vec}", "nope.vec"),
    (TASC, "seeds", "[0, -1]", r"seeds\[1\]"),
    (SPARSE, "learning_rates", "{lstm: 0.1}", "transformer"),
    (MUTUAL, "query_corpora", "{corpus: stories, n_tests: 3}", "Did you mean 'n_test'"),
    (MUTUAL, "gumbel_seeds", "[9]", "among the seeds"),
    (ERASURE, "encoders", "[lstm]", "rnn"),
    (ERASURE, "vectors", "word2vec", "300 wide"),
]
"""What one refuses, one rule of each kind: those of a study are in its own tests."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sixty.csv; two halves of it; and a table with semicolons in Latin-1, one row without a label."""
    folder = tmp_path_factory.mktemp("tables")
    header, *rows = own_tables.write(folder, "sixty").read_text(encoding="utf-8").splitlines()
    for name, part in (("a", rows[:40]), ("b", rows[40:])):
        (folder / f"{name}.csv").write_text("\n".join([header, *part]), encoding="utf-8")
    lines = ["body;stars", *(f"très {'bon' if i % 2 else 'nul'} film {i};{i % 2 + 1}" for i in range(60)), "bof;"]
    (folder / "semicolons.csv").write_text("\n".join(lines), encoding="latin-1")
    return folder


def checked(name: str, folder: Path, *told: tuple[str, str]) -> Checked:
    texts = [(option, value.replace("DIR", str(folder))) for option, value in told]
    return check(planned([name], "smoke", texts))[0]


def refused(name: str, option: str, value: str, folder: Path) -> str:
    """Why: an error, or a file that the user must bring."""
    try:
        return "\n".join(checked(name, folder, (option, value)).absent)
    except ConfigError as error:
        return str(error)


@pytest.mark.parametrize(
    ("name", "option", "value", "said"), [*((name, *case) for name in (ONE, ERASURE) for case in CORPORA), *WRONG]
)
def test_refused(name: str, option: str, value: str, said: str, folder: Path) -> None:
    assert re.search(f"(?s)^{name}: .*{said}", refused(name, option, value, folder))


@pytest.mark.parametrize("name", [ONE, ERASURE])
@pytest.mark.parametrize(
    ("corpus", "called", "options"),
    [
        ("imdb", "imdb", {}),
        ("[DIR/sixty.csv]", "sixty", {}),
        ("{path: DIR/sixty.csv, name: mine}", "mine", {"name": "mine"}),
        ("{train: DIR/a.csv, test: DIR/b.csv}", "a", {"test": "DIR/b.csv"}),
        ("{corpus: planted, n_train: 90, limit: 20}", "planted", {"n_train": 90}),
    ],
)
def test_a_corpus_is_taken_in_many_forms(name: str, corpus: str, called: str, options: dict, folder: Path) -> None:
    params = checked(name, folder, ("corpus", corpus)).params
    assert params.corpora == (called,)
    wanted = {key: v.replace("DIR", str(folder)) if isinstance(v, str) else v for key, v in options.items()}
    assert dict(params.data(called).options) == wanted
    if ", limit: 20" in corpus:
        assert params.data(called).limit == 20
    assert type(params)(**params.model_dump()).data(called) == params.data(called), "a copy reads the same texts"


def test_corpus_and_corpora_are_one_parameter(tmp_path: Path) -> None:
    mine = tmp_path / "notebooks" / f"{ONE}.ipynb"
    profile = tmp_path / "params" / ONE / "mine.yaml"
    for file in (mine, profile):
        file.parent.mkdir(parents=True)
    mine.write_bytes((paths.notebooks() / mine.name).read_bytes())

    def changed(text: str, *told: tuple[str, str]) -> dict:
        profile.write_text(text, encoding="utf-8")
        return planned([str(mine)], "mine", list(told))[0].changed

    assert changed("corpus: imdb\n") == {"corpora": ["imdb"]}
    assert changed("{}", ("corpus", "imdb"), ("corpus", "planted")) == {"corpora": ["planted"]}, "the last counts"


def test_files_of_the_paper_profile_are_listed_by_a_dry_run_and_refused_by_a_run() -> None:
    (found,) = check(planned([TASC], "paper", []))
    assert any("data/adr.csv" in text for text in found.absent)
    assert any("wiki.simple.vec" in text for text in found.absent)
    ended = CliRunner().invoke(main, ["run", TASC, "--profile", "paper"])
    assert ended.exit_code == 2
    assert "01_tasc: corpora: " in ended.output


@pytest.mark.parametrize("name", SERIES)
def test_the_parameters_of_a_notebook_are_those_of_its_study(name: str) -> None:
    assert set(read(name, params_of).parameters) <= set(study_for(name).Params.model_fields)


def test_list_params_tells_default_comment_and_profiles() -> None:
    told = CliRunner().invoke(main, ["list", "params", TASC]).output
    assert re.search(r"^corpora +\['rotten_tomatoes'\]  # names from", told, re.MULTILINE)
    assert "cpu: ['lstm', 'mlp', 'cnn']" in told
    assert CliRunner().invoke(main, ["list", "params"]).exit_code == 2
