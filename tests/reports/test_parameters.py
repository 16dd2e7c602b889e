"""The parameters cell: read without running it, values checked with a helpful error, the rest in options."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field

from attnlib.config import Config
from attnlib.reports.parameters import Parameter, check_values, parse_cell
from attnlib.studies.params import Some, StudyParams
from attnlib.utils.errors import ConfigError

CELL = "seeds = [0]  # replicates\nlimit = 5\noptions: dict = {}"


class Params(StudyParams):
    seeds: Some[int] = (0, 1)
    seed: int = 0
    rate: float = Field(0.1, gt=0)
    operator: Literal["pad", "delete"] = "pad"
    exact: bool = False
    sizes: dict[str, float] = Field(default_factory=dict)


class Own(Config):
    options: dict[str, int] = Field(default_factory=dict)
    hidden: int = 1


@pytest.fixture
def known() -> dict[str, Parameter]:
    return parse_cell(CELL, "nb", Params)


def test_a_cell_is_read_in_order_with_defaults_and_comments() -> None:
    found = parse_cell(
        '# heading\nseed: int = 3  # of training\nnames = [\n    "a",\n]  # which\nrate = 0.5\n', "nb"
    )
    told = [(p.name, p.default, p.comment) for p in found.values()]
    assert told == [("seed", 3, "of training"), ("names", ["a"], "which"), ("rate", 0.5, "")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import os", "name = literal"),
        ("seed: int", "name = literal"),
        ("a = b = 1", "name = literal"),
        ("a, b = 1, 2", "name = literal"),
        ("seed: int = __import__('os').getpid()", "name = literal"),
        ("seed: int = 'one'", "must be a valid integer"),
        ("seed: int = = 2", "no Python"),
    ],
)
def test_a_cell_that_is_no_parameters_cell_is_refused(line: str, said: str) -> None:
    with pytest.raises(ConfigError, match="nb") as error:
        parse_cell(line, "nb", Params)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1.5),
        ("rate", float("nan")),
        ("rate", 0),
        ("vectors", 1),
        ("seeds", [1, "b"]),
        ("seeds", []),
        ("sizes", {1, 2}),
        ("operator", "remove"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_default(known: dict, name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"Parameter {name}.*got .*Its default: "):
        known[name].check(value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("seed", "3", 3),
        ("rate", "1e-3", 0.001),  # a text in YAML 1.1
        ("seeds", "3", [3]),  # a single entry needs no list
        ("vectors", "no", "no"),  # not False
        ("vectors", "2020-01-01", "2020-01-01"),
        ("vectors", "a: b: c", "a: b: c"),
        ("vectors", "'quoted'", "quoted"),
        ("limit", "null", None),
        ("sizes", "{a: 1}", {"a": 1.0}),
        ("corpora", "[sst, {path: a.csv}]", ["sst", {"path": "a.csv"}]),
    ],
)
def test_the_text_of_an_option_is_yaml_and_a_text_stays_a_text(known, name: str, text: str, value: object) -> None:
    assert known[name].parse(text) == value


@pytest.mark.parametrize("text", ["[a", "&a [*a]", "[" * 2000 + "]" * 2000])
def test_a_list_that_does_not_fit_is_no_text(known: dict, text: str) -> None:
    with pytest.raises(ConfigError, match=r"Parameter '?sizes"):
        known["sizes"].parse(text)


def test_without_a_study_names_alone_are_checked() -> None:
    found = parse_cell("corpus: str = 'planted'\nseed = 1", "nb")
    told = check_values([("seed", "[1, x]"), ("corpora", "{path: a.csv}")], found, "nb", Parameter.parse)
    assert told == {"seed": [1, "x"], "corpus": {"path": "a.csv"}}


def test_all_problems_come_at_once_and_name_the_place(known: dict) -> None:
    with pytest.raises(ConfigError) as error:
        check_values({"sede": 1, "seed": "x"}.items(), known, "nb/cpu.yaml")
    first, second = str(error.value).splitlines()
    assert first.startswith("nb/cpu.yaml: Unknown parameter 'sede'. Did you mean 'seed'? Available: ")
    assert second.startswith("nb/cpu.yaml: Parameter seed must be ")
    with pytest.raises(ConfigError, match=r"'corpsu'.*Did you mean 'corpus'"):
        check_values([("corpsu", "planted")], known, "nb", Parameter.parse)
    assert check_values([("corpus", "planted")], known, "nb") == {"corpora": ["planted"]}


def test_fields_of_the_study_add_what_the_cell_does_not_show(known: dict) -> None:
    assert [(name, p.shown) for name, p in known.items()][:4] == [
        ("seeds", True), ("limit", True), ("options", True), ("corpora", False),
    ]  # fmt: skip
    assert known["rate"].default == 0.1
    assert parse_cell("seeds = [0]\noptions: dict = {'rate': 0.5}", "nb", Params)["rate"].default == 0.5
    assert not {"rate", "operator"} & parse_cell("seeds = [0]", "nb", Params).keys(), "cannot be handed on"
    assert list(parse_cell("options = {'a': 1}", "nb", Own)) == ["options"], "which means something else there"


def test_what_the_cell_does_not_show_is_named_like_the_rest_and_checked_as_strictly(known: dict[str, Any]) -> None:
    given = [("rate", "0.2"), ("seeds", "3"), ("options", "{operator: delete}")]
    assert check_values(given, known, "nb", Parameter.parse) == {"rate": 0.2, "seeds": [3], "operator": "delete"}
    with pytest.raises(ConfigError) as error:
        check_values([("options", {"oprator": "pad", "rate": -1}), ("limit", "x")], known, "nb")
    said = str(error.value)
    assert "Did you mean 'operator'?" in said
    assert "rate must be greater than 0; got -1" in said
    assert "limit must be a valid integer" in said
    with pytest.raises(ConfigError, match="options must be"):
        check_values([("options", "[rate]")], known, "nb", Parameter.parse)


def test_a_study_reads_its_parameters_and_what_options_hold() -> None:
    params = Params.of({"seeds": [4], "options": {"rate": 0.3}, "os": 1})
    assert (params.seeds, params.rate, params.limit) == ((4,), 0.3, None)
    with pytest.raises(ConfigError, match=r"Unknown parameter 'raet'. Did you mean 'rate'"):
        Params.of({"options": {"raet": 0.3}})
