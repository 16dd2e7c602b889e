"""The parameters cell: read without running it, values checked with a helpful error."""

from __future__ import annotations

import pytest

from attnlib.reports.parameters import Parameter, check_values, parse_cell
from attnlib.utils.errors import ConfigError


def parameter(annotation: str, default: object, comment: str = "") -> Parameter:
    return Parameter("x", annotation, default, comment)


def test_a_cell_is_read_in_order_with_types_defaults_and_comments() -> None:
    found = parse_cell(
        '# heading\nseed: int = 3  # of training\nnames: list[str] = [\n    "a",\n]  # which\n', "nb"
    )
    assert list(found) == ["seed", "names"]
    assert found["seed"] == Parameter("seed", "int", 3, "of training")
    assert found["names"] == Parameter("names", "list[str]", ["a"], "which")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("seed = 3", "name: type = literal"),
        ("import os", "name: type = literal"),
        ("seed: int", "name: type = literal"),
        ("seed: int = 1 + n", "not a literal"),
        ("seed: int = __import__('os').getpid()", "not a literal"),
        ("seed: int = 'one'", "must be int; got 'one'"),
        ("seed: int = 1\nseed: int = 2", "twice"),
        ("seed: Path = 'x'", "cannot be checked"),
        ("seed: int = = 2", "not Python"),
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
        ("float", "1e-3", 0.001),  # YAML 1.1 takes this for a text
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
    got = parameter(annotation, None).check(value)
    assert got == held
    assert type(got) is type(held)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 1.0),
        ("int", True),
        ("int", "1"),
        ("float", "fast"),
        ("float", True),
        ("str", 1),
        ("str", None),
        ("bool", 1),
        ("list[int]", "a"),
        ("list[int]", [1, "a"]),
        ("dict[str, int]", {"a": "b"}),
        ("Literal['a']", "b"),
        ("Literal[1, 2]", True),
        ("list[Literal['a', 'b']]", ["c"]),
    ],
)
def test_a_value_that_does_not_fit_says_what_came_and_what_is_allowed(annotation: str, value: object) -> None:
    with pytest.raises(ConfigError) as error:
        parameter(annotation, "the default").check(value)
    assert "'x' must be" in str(error.value)
    assert repr(value) in str(error.value)
    assert "'the default'" in str(error.value)


def test_dates_and_sets_of_yaml_are_refused_inside_a_plain_list() -> None:
    import datetime

    with pytest.raises(ConfigError, match="must be list"):
        parameter("list", []).check([datetime.date(2020, 1, 1)])


@pytest.mark.parametrize(
    "one", [parameter("Literal['lstm', 'mlp']", "lstm"), parameter("str", "lstm", "encoder, one of: lstm | mlp")]
)
def test_choices_come_from_the_type_or_the_comment(one: Parameter) -> None:
    assert one.choices == ("lstm", "mlp")
    assert one.check("mlp") == "mlp"
    with pytest.raises(ConfigError, match=r"one of 'lstm', 'mlp'; got 'lstn' .* Did you mean 'lstm'\?"):
        one.check("lstn")


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("int", "3", 3),
        ("float", "1e-3", 0.001),
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
    ],
)
def test_the_text_of_an_option_is_yaml_and_a_text_stays_a_text(annotation: str, text: str, value: object) -> None:
    assert parameter(annotation, None).parse(text) == value


def test_all_problems_come_at_once_and_name_the_place() -> None:
    known = parse_cell("seed: int = 0\ncorpus: str = 'planted'", "nb")
    with pytest.raises(ConfigError) as error:
        check_values({"sede": 1, "seed": "x"}.items(), known, "nb/cpu.yaml")
    first, second = str(error.value).splitlines()
    assert first == "nb/cpu.yaml: Unknown parameter 'sede'. Did you mean 'seed'? Available: corpus, seed."
    assert second == "nb/cpu.yaml: Parameter 'seed' must be int; got 'x' (str). Default: 0."
    several = parse_cell("corpora: list[str] = []\nvectors: str = 'none'", "nb")
    with pytest.raises(ConfigError, match=r"'corpsu'.*Did you mean 'corpus'\? Available: corpus, vectors"):
        check_values([("corpsu", "planted")], several, "nb", Parameter.parse)
    with pytest.raises(ConfigError, match=r"'corpsu'.*Did you mean 'corpus'"):
        check_values([("corpsu", "planted")], known, "nb", Parameter.parse)
    with pytest.raises(ConfigError, match="this notebook has none"):
        check_values([("corpsu", "planted")], {}, "nb", Parameter.parse)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("list[int]", "3", [3]),
        ("list[str]", "lstm", ["lstm"]),
        ("list[str | dict]", "reviews.csv", ["reviews.csv"]),
        ("list[str | dict]", "2020", ["2020"]),
        ("list[str | dict]", "{train: a.csv, test: b.csv}", [{"train": "a.csv", "test": "b.csv"}]),
        ("list[str | dict]", "[sst, {path: a.csv}]", ["sst", {"path": "a.csv"}]),
    ],
)
def test_a_single_entry_needs_no_list(annotation: str, text: str, value: list) -> None:
    assert Parameter("p", annotation, []).parse(text) == value


@pytest.mark.parametrize("text", ["[1, 2]", "[a", "{a: b", "&a [*a]", "[" * 2000 + "]" * 2000])
def test_a_list_that_does_not_fit_is_no_text(text: str) -> None:
    with pytest.raises(ConfigError, match="'p'"):
        Parameter("p", "list[str]", []).parse(text)


@pytest.mark.parametrize("text", ["nan", ".nan", "inf", "-.inf"])
def test_numbers_are_finite(text: str) -> None:
    with pytest.raises(ConfigError, match="'p' must be"):
        Parameter("p", "float", 0.0).parse(text)
