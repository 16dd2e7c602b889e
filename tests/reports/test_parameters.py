"""The parameters cell: read without running it, values checked with a helpful error, the rest in options."""

from __future__ import annotations

import datetime
from typing import Literal

import pytest
from pydantic import Field

from attnlib.config import Config
from attnlib.reports.parameters import Parameter, check_injected, check_values, parse_cell, type_of
from attnlib.studies.params import Some, StudyParams
from attnlib.utils.errors import ConfigError


def parameter(annotation: str, default: object = None) -> Parameter:
    return Parameter("x", type_of(annotation), default)


def test_a_cell_is_read_in_order_with_types_defaults_and_comments() -> None:
    found = parse_cell(
        '# heading\nseed: int = 3  # of training\nnames: list[str] = [\n    "a",\n]  # which\n'
        "limit = 5  # type: int|None  at most\nrate = 0.5\n",
        "nb",
    )
    told = [(p.name, p.type, p.default, p.comment) for p in found.values()]
    assert told == [
        ("seed", "int", 3, "of training"),
        ("names", "list[str]", ["a"], "which"),
        ("limit", "int | None", 5, "at most"),
        ("rate", "float", 0.5, ""),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import os", "name = literal"),
        ("seed: int", "name = literal"),
        ("a = b = 1", "name = literal"),
        ("a += 1", "name = literal"),
        ("seed: int = 1 + n", "not a literal"),
        ("seed: int = __import__('os').getpid()", "not a literal"),
        ("seed: int = 'one'", "must be a valid integer"),
        ("seed: int = 1\nseed: int = 2", "twice"),
        ("seed: Path = 'x'", "cannot be checked"),
        ("seed = 'x'  # type: __import__('os')", "cannot be checked"),
        ("seed: int = = 2", "no Python"),
    ],
)
def test_a_cell_that_is_no_parameters_cell_is_refused(line: str, said: str) -> None:
    with pytest.raises(ConfigError, match="nb") as error:
        parse_cell(line, "nb")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("annotation", "value", "held"),
    [
        ("int", 3, 3),
        ("float", 3, 3.0),
        ("str", "a", "a"),
        ("bool", True, True),
        ("list[int]", [1, 2], [1, 2]),
        ("list[float]", [1, 2.5], [1.0, 2.5]),
        ("list", [1, "a", None], [1, "a", None]),
        ("dict", {"a": [1]}, {"a": [1]}),
        ("dict[str, float]", {"a": 1}, {"a": 1.0}),
        ("str | None", None, None),
        ("Optional[int]", None, None),
        ("int | str", "a", "a"),
        ("Literal['a', 'b']", "b", "b"),
        ("list[Literal['a', 'b']]", ["b", "a"], ["b", "a"]),
    ],
)
def test_a_value_that_fits_is_held_in_its_declared_type(annotation: str, value: object, held: object) -> None:
    got = parameter(annotation).check(value)
    assert got == held
    assert type(got) is type(held)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 1.0),
        ("int", True),
        ("int", "1"),
        ("float", "1.5"),
        ("float", True),
        ("float", float("nan")),
        ("float", float("inf")),
        ("str", 1),
        ("str", None),
        ("bool", 1),
        ("list[int]", "a"),
        ("list[int]", [1, "2"]),
        ("list", [datetime.date(2020, 1, 1)]),
        ("dict[str, int]", {"a": "b"}),
        ("Literal['a']", "b"),
        ("Literal[1, 2]", True),
        ("list[Literal['a', 'b']]", ["c"]),
    ],
)
def test_a_value_that_does_not_fit_says_what_came_and_what_is_allowed(annotation: str, value: object) -> None:
    with pytest.raises(ConfigError, match=r"Parameter x.* must be .*; got ") as error:
        parameter(annotation, "the default").check(value)
    assert f"It is {parameter(annotation).type}; default: 'the default'" in str(error.value)


def test_a_choice_misspelt_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"must be 'lstm' or 'mlp'; got 'lstn'. Did you mean 'lstm'\?"):
        parameter("Literal['lstm', 'mlp']").check("lstn")


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("int", "3", 3),
        ("float", "1e-3", 0.001),  # a text in YAML 1.1
        ("list[int]", "[0, 1]", [0, 1]),
        ("bool", "true", True),
        ("str", "no", "no"),  # not False
        ("str", "2020-01-01", "2020-01-01"),
        ("str", "20", "20"),
        ("str", "a: b: c", "a: b: c"),
        ("str", "'quoted'", "quoted"),
        ("str | None", "null", None),
        ("str | None", "text", "text"),
        ("dict", "{a: 1}", {"a": 1}),
        ("list[int]", "3", [3]),  # a single entry needs no list
        ("list[str]", "lstm", ["lstm"]),
        ("list[str | dict]", "2020", ["2020"]),
        ("list[str | dict]", "{train: a.csv, test: b.csv}", [{"train": "a.csv", "test": "b.csv"}]),
        ("list[str | dict]", "[sst, {path: a.csv}]", ["sst", {"path": "a.csv"}]),
    ],
)
def test_the_text_of_an_option_is_yaml_and_a_text_stays_a_text(annotation: str, text: str, value: object) -> None:
    assert parameter(annotation).parse(text) == value


@pytest.mark.parametrize("text", ["[1, 2]", "[a", "{a: b", "&a [*a]", "[" * 2000 + "]" * 2000])
def test_a_list_that_does_not_fit_is_no_text(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Parameter '?x"):
        parameter("list[str]", []).parse(text)


def test_all_problems_come_at_once_and_name_the_place() -> None:
    known = parse_cell("seed: int = 0\ncorpus: str = 'planted'", "nb")
    with pytest.raises(ConfigError) as error:
        check_values({"sede": 1, "seed": "x"}.items(), known, "nb/cpu.yaml")
    first, second = str(error.value).splitlines()
    assert first == "nb/cpu.yaml: Unknown parameter 'sede'. Did you mean 'seed'? Available: corpora, corpus, seed."
    assert second.startswith("nb/cpu.yaml: Parameter seed must be ")
    several = parse_cell("corpora: list[str] = []\nvectors: str = 'none'", "nb")
    for one in (several, known):
        with pytest.raises(ConfigError, match=r"'corpsu'.*Did you mean 'corpus'"):
            check_values([("corpsu", "planted")], one, "nb", Parameter.parse)
    assert check_values([("corpus", "planted")], several, "nb") == {"corpora": ["planted"]}
    with pytest.raises(ConfigError, match="this notebook has none"):
        check_values([("corpsu", "planted")], {}, "nb", Parameter.parse)


class Params(StudyParams):
    seeds: Some[int] = (0, 1)
    rate: float = Field(0.1, gt=0)
    operator: Literal["pad", "delete"] = "pad"


CELL = "seeds = [0]  # replicates\nlimit = 5\noptions: dict = {}"


def test_fields_of_the_study_give_types_to_the_cell_and_add_what_it_does_not_show() -> None:
    found = parse_cell(CELL, "nb", Params)
    assert [(name, p.shown) for name, p in found.items()][:3] == [
        ("seeds", True), ("limit", True), ("options", True),
    ]  # fmt: skip
    assert {name for name, p in found.items() if not p.shown} == {"corpora", "vectors", "rate", "operator"}
    assert found["limit"].type == "int | None"
    assert found["corpora"].type == "list[str | dict]"
    assert (found["operator"].type, found["rate"].default) == ("'pad' | 'delete'", 0.1)
    assert parse_cell("seeds = [0]\noptions: dict = {'rate': 0.5}", "nb", Params)["rate"].default == 0.5
    assert not {"rate", "operator"} & parse_cell("seeds = [0]", "nb", Params).keys(), "cannot be handed on"


def test_what_the_cell_does_not_show_is_named_like_the_rest_and_checked_as_strictly() -> None:
    found = parse_cell(CELL, "nb", Params)
    given = [("rate", "0.2"), ("seeds", "3"), ("options", "{operator: delete}")]
    assert check_values(given, found, "nb", Parameter.parse) == {"rate": 0.2, "seeds": [3], "operator": "delete"}
    with pytest.raises(ConfigError) as error:
        check_values([("options", {"oprator": "pad", "rate": -1}), ("limit", "5")], found, "nb")
    said = str(error.value)
    assert "Did you mean 'operator'?" in said
    assert "rate must be greater than 0; got -1" in said
    assert "limit must be int | None; got '5'" in said
    with pytest.raises(ConfigError, match="options must be"):
        check_values([("options", "[rate]")], found, "nb", Parameter.parse)


def test_a_study_reads_its_parameters_and_what_options_hold() -> None:
    params = Params.of({"seeds": [4], "options": {"rate": 0.3}, "os": 1})
    assert (params.seeds, params.rate, params.limit) == ((4,), 0.3, None)
    with pytest.raises(ConfigError, match=r"Unknown parameter 'raet'. Did you mean 'rate'"):
        Params.of({"options": {"raet": 0.3}})


class Own(Config):
    options: dict[str, int] = Field(default_factory=dict)
    hidden: int = 1


def test_options_that_mean_something_else_stay_what_they_are() -> None:
    found = parse_cell("options = {'a': 1}", "nb", Own)
    assert list(found) == ["options"]
    assert found["options"].type == "dict[str, int]"


def test_an_injected_name_that_no_cell_has_set_is_refused() -> None:
    cells = ["", "import os\nstudy = os.sep", "limit = 3\ntexts: int = 2", "# Parameters\nlimit = 5\n"]
    check_injected([*cells, "%matplotlib inline", "later = 1"])
    with pytest.raises(ConfigError, match=r"'limt'. Did you mean 'limit'\? Available: limit, texts"):
        check_injected([*cells, "# Parameters\nlimt = 5\n"])
    with pytest.raises(ConfigError, match="go into 'options'"):
        check_injected(["options = {}", "# Parameters\nrate = 5\n"])
