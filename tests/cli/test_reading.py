"""What a message about a table advises is possible where it is shown."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import attnlib as al
from attnlib.cli.main import main
from attnlib.data.corpora import data_config
from attnlib.utils.errors import DataError


@pytest.fixture
def latin(tmp_path: Path) -> Path:
    """In Latin-1, semicolons between the cells, columns with names that say nothing, a row without a label."""
    lines = [
        "a1;b2;c3",
        *(f"très {'bon' if i % 2 else 'nul'} film {i};oh oh {i};{i % 2}" for i in range(400)),
        "bof;x y;",
    ]
    (tmp_path / "latin.csv").write_text("\n".join(lines), encoding="latin-1")
    return tmp_path / "latin.csv"


def test_every_message_has_its_option(latin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr("attnlib.auditing.inputs.pools", lambda corpus, **_: read.append(corpus) or 1 / 0)
    options: list[str] = []
    for advice in (["--encoding", "latin-1"], ["--text", "a1"], ["--drop-missing"]):
        result = CliRunner().invoke(main, ["audit", str(latin), *options, "--out", str(latin.parent / "out")])
        assert result.exit_code == 2
        assert advice[0] in result.output
        options += advice
    result = CliRunner().invoke(
        main, ["audit", str(latin), *options, "--sep", ";", "--out", str(latin.parent / "out")]
    )
    assert read, result.output
    assert len([*read[0].items()]) == 400
    assert "très" in read[0].vocabulary


def test_a_corpus_is_named_in_one_way_everywhere(latin: Path) -> None:
    spec = {"path": str(latin), "encoding": "latin-1", "text": "a1", "drop_missing": True}
    written = f"{{path: {latin}, encoding: latin-1, text: a1, drop_missing: true}}"
    corpus = al.load_corpus(spec)
    named = {key: value for key, value in spec.items() if key != "path"}
    assert al.load_corpus(latin, **named).fingerprint == al.load_corpus(written).fingerprint == corpus.fingerprint
    assert al.FitSpec(data=written).data == al.FitSpec(data=data_config(spec)).data
    config = al.ModelConfig(encoder="none", embedding_size=2)
    fitted = [al.fit(one, config, al.TrainConfig(epochs=0)) for one in (written, corpus)]
    assert fitted[0].vectoriser.to_json() == fitted[1].vectoriser.to_json()
    with pytest.raises(DataError, match="--encoding latin-1"):
        al.fit(str(latin))


@pytest.mark.parametrize("given", ["PATH", "[PATH]", "{path: PATH}", "[imdb, {train: PATH}]"])
def test_a_run_takes_them_for_its_tables(latin: Path, given: str) -> None:
    told = ["-p", "corpora", given.replace("PATH", str(latin)), "--dry-run"]
    asked = ["run", "01_tasc", *told, "--encoding", "latin-1", "--text", "a1"]
    result = CliRunner().invoke(main, [*asked, "--drop-missing"])
    assert result.exit_code == 0, result.output
    assert "to bring" not in result.output
    assert "'encoding': 'latin-1'" in result.output
    assert "drop-missing" in CliRunner().invoke(main, asked).output
    result = CliRunner().invoke(main, ["run", "01_tasc", "-p", "corpora", "[imdb]", "--sep", ";"])
    assert result.exit_code == 2
    assert "--sep is for a table: name one with -p corpus FILE" in result.output
