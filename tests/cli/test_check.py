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
    ("corpora", "&a [*a]", "corpora must be list"),
    ("corpora", "[planted", "not YAML"),
    ("corpora", "{corpus: planted, corpus: imdb}", "twice"),
    ("corpora", "[3]", "3"),
    ("corpora", "{text: body}", "path"),
    ("corpora", "{corpus: planted, vocabularry: 20}", "Did you mean 'vocabulary'"),
    ("corpora", "{path: nope.csv, text: body}", "nope.csv"),
    ("corpora", "{train: nope.csv, test: nada.csv}", "nope.csv"),
    ("corpora", "{corpus: sst, path: no/such/folder}", "no/such/folder"),
    ("corpora", "{corpus: planted, limit: 0}", "limit"),
    ("corpora", "{corpus: planted, name: 3}", "name"),
    ("corpora", "{corpus: planted, preprocessing: {digit: x}}", "digit"),
    ("corpora", "{path: DIR/semicolons.csv, text: bdoy, label: stars, encoding: latin-1}", "Did you mean 'body'"),
    ("corpora", "{path: DIR/semicolons.csv, text: body, label: stars, encoding: utf-8}", "encoding"),
    ("vectors", "nope.txt", "nope.txt"),
    ("limit", "-5", "limit must be .* 1; got -5"),
    ("limt", "5", "Did you mean 'limit'"),
]
"""What every notebook refuses."""

WRONG = [
    (ONE, "corpora", "[planted, imdb]", "one corpus"),
    (ONE, "corpora", "[]", "at least one"),
    (TASC, "corpora", "[]", "at least one"),
    (ERASURE, "corpora", "[]", "at least one"),
    (ONE, "learning_rate", "nan", "learning_rate"),
    (ONE, "learning_rate", ".inf", "learning_rate"),
    (ONE, "learning_rate", "0", "greater than 0"),
    (ONE, "repeats", "0", "repeats"),
    (ONE, "seed", "-1", "seed"),
    (ONE, "seed", "99999999999999", "seed"),
    (ONE, "epochs", "0", "epochs"),
    (ONE, "shown", "0", "shown"),
    (ONE, "hidden_size", "63", "even"),
    (ONE, "encoder", "lstn", "Did you mean 'lstm'"),
    (ONE, "attention", "[additive]", "attention"),
    (ONE, "vectors", "", "vectors"),
    (TASC, "encoders", "[lstn]", "Did you mean 'lstm'"),
    (TASC, "encoders", "[]", "at least one"),
    (TASC, "attentions", "[deep]", "additive"),
    (TASC, "variants", "[lin]", "'none' and 'lin'"),
    (TASC, "vector_files", "{rotten_tomatoes: nope.vec}", "nope.vec"),
    (TASC, "vector_files", "{imdb: none}", "imdb"),
    (TASC, "hidden_size", "33", "even"),
    (TASC, "seeds", "[0, -1]", r"seeds\[1\]"),
    (TYING, "seeds", "[0, 0]", "each once"),
    (TYING, "variants", "[tying]", "base"),
    (TYING, "deltas", "[-1.0]", "deltas"),
    (TYING, "lambdas", "[-0.1]", "lambdas"),
    (TYING, "layers", "[1]", "layers"),
    (TYING, "embedding_size", "25", "even"),
    (TYING, "adversary_corpora", "[nosuch]", "Unknown corpus"),
    (TYING, "batch_size", "0", "batch_size"),
    (SPARSE, "lambdas", "[0.0, 0.5, 1.0]", "less than 1"),
    (SPARSE, "lambdas", "[0.0]", "two others"),
    (SPARSE, "entmax_alphas", "[2.5]", "1.99"),
    (SPARSE, "encoders", "[gru]", "lstm"),
    (SPARSE, "learning_rates", "{lstm: .nan, transformer: 0.1}", "learning_rates"),
    (SPARSE, "learning_rates", "{lstm: 0.1}", "transformer"),
    (SPARSE, "hidden_sizes", "{lstm: 32, transformer: 0}", "hidden_sizes"),
    (SPARSE, "facet_texts", "-1", "facet_texts"),
    (SPARSE, "patience", "0", "patience"),
    (MUTUAL, "query_corpora", "[babi_4]", "babi_1"),
    (MUTUAL, "query_corpora", "[imdb]", "corpora"),
    (MUTUAL, "query_corpora", "{corpus: stories, n_tests: 3}", "Did you mean 'n_test'"),
    (MUTUAL, "counts", "[1]", "counts"),
    (MUTUAL, "counts", "[]", "at least one"),
    (MUTUAL, "kernel_sizes", "[2]", "kernel_sizes"),
    (MUTUAL, "dot_init", "uniform", "kaiming"),
    (MUTUAL, "texts", "5", "texts"),
    (MUTUAL, "gumbel_seeds", "[9]", "among the seeds"),
    (ERASURE, "encoders", "[lstm]", "rnn"),
    (ERASURE, "hidden_size", "21", "even"),
    (ERASURE, "max_length", "0", "max_length"),
    (ERASURE, "vectors", "word2vec", "300 wide"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sixty.csv; two halves of it; and a table with semicolons in Latin-1, one row without a label."""
    folder = tmp_path_factory.mktemp("tables")
    header, *rows = own_tables.write(folder, "sixty").read_text(encoding="utf-8").splitlines()
    for name, part in (("a", rows[:40]), ("b", rows[40:])):
        (folder / f"{name}.csv").write_text("\n".join([header, *part]), encoding="utf-8")
    lines = ["body;stars", *(f"très {'bon' if i % 2 else 'nul'} film {i};{i % 2 + 1}" for i in range(60)), "bof;"]
    (folder / "semicolons.csv").write_text("\n".join(lines), encoding="latin-1")
    vectors = "\n".join(f"{word} {' '.join(['0.1'] * 50)}" for word in ("film", "the"))
    (folder / "vectors.txt").write_text(vectors, encoding="utf-8")
    return folder


def checked(name: str, folder: Path, *told: tuple[str, str]) -> Checked:
    texts = [(option, value.replace("DIR", str(folder))) for option, value in told]
    return check(planned([name], "smoke", texts))[0]


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize(("option", "value", "said"), CORPORA)
def test_every_notebook_refuses(name: str, option: str, value: str, said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=f"(?s)^{name}: .*{said}"):
        checked(name, folder, (option, value))


@pytest.mark.parametrize(("name", "option", "value", "said"), WRONG)
def test_refused(name: str, option: str, value: str, said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=f"(?s)^{name}: .*{said}"):
        checked(name, folder, (option, value))


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize(
    ("corpus", "called", "options"),
    [
        ("imdb", "imdb", {}),
        ("[rotten_tomatoes]", "rotten_tomatoes", {}),
        ("DIR/sixty.csv", "sixty", {}),
        ("hub:imdb", "hub:imdb", {}),
        ("{path: DIR/sixty.csv, name: mine}", "mine", {"name": "mine"}),
        (
            "{path: DIR/sixty.csv, text: review, label: sentiment}",
            "sixty",
            {"text": "review", "label": "sentiment"},
        ),
        ("{train: DIR/a.csv, test: DIR/b.csv}", "a", {"test": "DIR/b.csv"}),
        (
            "{path: DIR/semicolons.csv, text: body, label: stars, sep: ';', encoding: latin-1, drop_missing: true}",
            "semicolons",
            {"text": "body", "label": "stars", "sep": ";", "encoding": "latin-1", "drop_missing": True},
        ),
        ("{corpus: planted, n_train: 90, limit: 20}", "planted", {"n_train": 90}),
    ],
)
def test_every_notebook_takes(name: str, corpus: str, called: str, options: dict, folder: Path) -> None:
    params = checked(name, folder, ("corpus", corpus)).params
    assert params.corpora == (called,)
    wanted = {key: v.replace("DIR", str(folder)) if isinstance(v, str) else v for key, v in options.items()}
    assert dict(params.data(called).options) == wanted
    if ", limit: 20" in corpus:
        assert params.data(called).limit == 20
    assert type(params)(**params.model_dump()).data(called) == params.data(called), "a copy reads the same texts"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (ONE, {"vectors": "DIR/vectors.txt"}),
        (ONE, {"learning_rate": "1e-4", "seed": "7", "repeats": "1"}),
        (TASC, {"encoders": "lstm", "vector_files": "{rotten_tomatoes: DIR/vectors.txt}"}),
        (TASC, {"corpora": "DIR/sixty.csv", "vector_files": "{DIR/sixty.csv: none}"}),
        (TASC, {"encoders": "[gru]", "attentions": "[dot]"}),
        (TYING, {"corpora": "[imdb]", "adversary_corpora": "[imdb, {path: DIR/sixty.csv}]"}),
        (MUTUAL, {"query_corpora": "[]", "corpora": "[planted, imdb]"}),
        (ERASURE, {"corpora": "[bbc, {path: DIR/sixty.csv}]"}),
    ],
)
def test_taken(name: str, told: dict[str, str], folder: Path) -> None:
    found = checked(name, folder, *told.items())
    assert set(told) <= {*found.plan.changed, "learning_rate"}
    assert not found.absent


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
    with pytest.raises(ConfigError, match=r"^01_tasc: vectors: .*nope\.txt"):
        check(planned([TASC], "paper", [("vectors", "nope.txt")]))


@pytest.mark.parametrize("name", SERIES)
def test_the_parameters_of_a_notebook_are_those_of_its_study(name: str) -> None:
    assert set(read(name, params_of).parameters) <= set(study_for(name).Params.model_fields)


def test_list_params_tells_type_default_comment_and_profiles() -> None:
    ended = CliRunner().invoke(main, ["list", "params", TASC])
    assert ended.exit_code == 0, ended.output
    assert re.search(r"^corpora +list\[str \| dict\] = \['rotten_tomatoes'\]$", ended.output, re.MULTILINE)
    assert "cpu: ['lstm', 'mlp', 'cnn']" in ended.output
    assert "of Adam" in ended.output
    assert CliRunner().invoke(main, ["list", "params"]).exit_code == 2
    assert "Did you mean '01_tasc'" in CliRunner().invoke(main, ["list", "params", "01_tsc"]).output
