"""The parameters cell of a notebook: read with `ast`, never run, and checked before a kernel starts.

The cell is tagged `parameters` and holds literals alone, one per line: `name: type = literal  # comment`.
Papermill would only warn of an unknown name and never looks at types (papermill#818).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, TypeVar

import yaml

from attnlib.utils.errors import ConfigError, nearest, unknown

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ALIASES: dict[object, str] = {"corpus": "corpora", "corpora": "corpus"}
KINDS = "int, float, str, bool, list, list[X], dict, dict[K, V], Literal[...], X | None"
NODES = (ast.Name, ast.Load, ast.Constant, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub)
"""Syntax that a type may use: nothing that runs."""


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell."""

    name: str
    annotation: str
    default: Any
    comment: str = ""

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values allowed by `Literal[...]` or by a comment such as `one of: a | b | c`; empty: no list."""
        found = _literals(ast.parse(self.annotation, mode="eval").body)
        stated = re.search(r"one of:\s*([^;.()]+)", self.comment)
        if not found and stated:
            found = tuple(word.strip().strip("'\"`") for word in stated[1].split("|"))
        return found

    @property
    def allowed(self) -> str:
        """What fits, in words."""
        if self.choices:
            listed = ", ".join(map(repr, self.choices))
            return f"a list out of {listed}" if self.annotation.startswith("list") else f"one of {listed}"
        return self.annotation

    def check(self, value: Any) -> Any:
        """`value` as this parameter holds it (an int becomes a float where a float is declared)."""
        from pydantic import ValidationError

        try:
            fitted = type_of(self.annotation).validate_python(value, strict=True)
            fits = all(self._allows(one) for one in _flat(value))
        except ValidationError:
            fits = False
        if not fits:
            words = [choice for choice in self.choices if isinstance(choice, str)]
            guesses = (nearest(one, words) for one in _flat(value) if one not in self.choices)
            guess = next(filter(None, guesses), None)
            meant = f" Did you mean {guess!r}?" if guess else ""
            raise ConfigError(
                f"Parameter {self.name!r} must be {self.allowed}; got {value!r} ({type(value).__name__})."
                f"{meant} Default: {self.default!r}."
            )
        return fitted

    def parse(self, text: str) -> Any:
        """The value that `-p NAME TEXT` means: YAML, except that a text stays the text it is."""
        try:
            value = load_yaml(text)
        except ConfigError as error:
            if self.annotation != "str" and text.lstrip().startswith(("[", "{", "&", "*")):
                raise ConfigError(f"Parameter {self.name!r}: {text!r} {error}") from None
            value = text
        try:
            return self.check(value)
        except ConfigError:
            if isinstance(value, str | list | dict):
                raise
        try:  # `no`, `2020` or `2020-01-01` are not texts in YAML, but may be here
            return self.check(text)
        except ConfigError:
            return self.check(value)  # the error about what YAML understood is more helpful

    def _allows(self, value: Any) -> bool:
        listed = any(value == choice and type(value) is type(choice) for choice in self.choices)
        return listed or value is None or not self.choices


@cache
def type_of(annotation: str) -> TypeAdapter[Any]:
    """The checker of a type as it is written in a parameters cell.

    A single entry needs no list; numbers are finite; YAML's dates, sets and bytes fit nothing.
    """
    from pydantic import AllowInfNan, BeforeValidator, JsonValue, TypeAdapter

    T, K, V = (TypeVar(name, bound=JsonValue) for name in "TKV")
    known = {
        **{"int": int, "str": str, "bool": bool, "Literal": Literal, "Optional": Optional},
        "float": Annotated[float, AllowInfNan(False), BeforeValidator(_number)],
        "list": Annotated[list[T], BeforeValidator(lambda value: value if isinstance(value, list) else [value])],
        "dict": dict[K, V],
    }
    tree = ast.parse(annotation, mode="eval")
    for node in ast.walk(tree.body):
        if not isinstance(node, NODES) or (isinstance(node, ast.Name) and node.id not in known):
            raise ConfigError(f"The type {annotation!r} cannot be checked. Allowed: {KINDS}.")
    try:
        return TypeAdapter(eval(compile(tree, annotation, "eval"), {"__builtins__": {}}, known))
    except TypeError:
        raise ConfigError(f"The type {annotation!r} cannot be checked. Allowed: {KINDS}.") from None


def parse_cell(source: str, where: str) -> dict[str, Parameter]:
    """The parameters of a cell, in its order. `where` names the notebook in errors."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ConfigError(
            f"{where}: the parameters cell is not Python: {error.msg}, line {error.lineno}."
        ) from None
    comments = _comments(source)
    found: dict[str, Parameter] = {}
    for node in tree.body:
        line = ast.get_source_segment(source, node) or ""
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value):
            raise ConfigError(
                f"{where}: the parameters cell holds {line!r}. Each line must be `name: type = literal  # comment`"
                "; what is derived belongs in the next cell."
            )
        name = node.target.id
        try:
            default = ast.literal_eval(node.value)
        except ValueError:
            raise ConfigError(
                f"{where}: the default of {name!r} is not a literal: {ast.unparse(node.value)!r}. Write the value "
                "itself, and derive in the next cell."
            ) from None
        if name in found:
            raise ConfigError(f"{where}: the parameters cell sets {name!r} twice.")
        comment = comments.get(node.end_lineno or node.lineno, "")
        parameter = Parameter(name, ast.unparse(node.annotation), default, comment)
        try:
            found[name] = Parameter(name, parameter.annotation, parameter.check(default), comment)
        except ConfigError as error:
            raise ConfigError(f"{where}: its own default does not fit. {error}") from None
    return found


def check_values(
    items: Iterable[tuple[Any, Any]],
    parameters: dict[str, Parameter],
    where: str,
    read: Callable[[Parameter, Any], Any] = Parameter.check,
) -> dict[str, Any]:
    """Names and values in their declared types; every problem in one error. The last of a repeated name counts.

    read  `Parameter.parse` for texts, those of `-p NAME VALUE`
    """
    fitted: dict[str, Any] = {}
    spelled: dict[str, Any] = {}
    problems = []
    for name, value in items:
        try:
            parameter = lookup(name, parameters, where)
            if (other := spelled.setdefault(parameter.name, name)) != name:
                raise ConfigError(f"{other!r} and {name!r} are the same parameter; set one of them.")
            fitted[parameter.name] = read(parameter, value)
        except ConfigError as error:
            problems.append(located(error, where))
    if problems:
        raise ConfigError("\n".join(problems))
    return fitted


def lookup(name: object, parameters: dict[str, Parameter], where: str) -> Parameter:
    """The parameter of that name, or an error with the nearest one. `corpus` and `corpora` are one name."""
    name = next((n for n in (name, ALIASES.get(name)) if n in parameters), name)
    if name not in parameters:
        if not parameters:
            raise ConfigError(f"{where}: there is no parameter {name!r}; this notebook has none.")
        also = {other: this for this, other in ALIASES.items() if this in parameters}
        guess = nearest(name, [*parameters, *also])
        known = [guess if also.get(guess) == this else this for this in parameters]  # the spelling that was meant
        raise ConfigError(f"{where}: {unknown('parameter', name, known)}")
    return parameters[str(name)]


class _Loader(yaml.SafeLoader):
    """PyYAML itself silently takes the last of two equal keys, and follows an anchor that contains itself."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ConfigError(f"refers to the anchor {self.peek_event().anchor!r}; write the value out.")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [str(key.value) for key, _ in node.value]
        if twice := sorted({key for key in keys if keys.count(key) > 1}):
            raise ConfigError(f"sets {', '.join(twice)} twice.")
        return super().construct_mapping(node, deep)


def load_yaml(text: str | bytes) -> Any:
    """The value of a YAML text; repeated keys and references to anchors are refused."""
    try:
        return yaml.load(text, Loader=_Loader)
    except ConfigError:
        raise
    except RecursionError:
        raise ConfigError("is nested too deeply; write the value out.") from None
    except (yaml.YAMLError, ValueError) as error:  # or a date such as 2020-13-40, an int of too many digits
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())}") from None


def located(error: ConfigError, where: str) -> str:
    """The message with the notebook or file in front of every line."""
    return "\n".join(line if line.startswith(where) else f"{where}: {line}" for line in str(error).splitlines())


def _number(value: Any) -> Any:
    """YAML 1.1 reads 1e-3, which has no dot, as a text."""
    return float(value) if isinstance(value, str) else value


def _literals(kind: ast.expr) -> tuple[Any, ...]:
    for node in ast.walk(kind):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            try:
                choices = ast.literal_eval(node.slice)
            except ValueError:
                raise ConfigError(f"The choices of {ast.unparse(node)!r} must be literals.") from None
            return choices if isinstance(choices, tuple) else (choices,)
    return ()


def _flat(value: Any) -> list[Any]:
    return [v for item in value for v in _flat(item)] if isinstance(value, list) else [value]


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ").rstrip() for t in tokens if t.type == tokenize.COMMENT}
