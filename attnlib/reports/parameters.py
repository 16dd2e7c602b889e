"""The parameters of a notebook: what its cell shows, what types they have, and what they are given.

The cell is tagged `parameters` and is read with `ast`, never run. It holds literals alone, one per line, in a form
that papermill reads too: `name: type = literal  # comment`, or `name = literal  # type: int|None comment`. Where a
study stands behind the notebook, the fields of its `Params` give types and checks, also of what the cell does not
show: such a parameter travels in the cell's `options`.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, TypeVar

import yaml

from attnlib.utils.errors import ConfigError, unknown

if TYPE_CHECKING:
    from pydantic import BaseModel

ALIASES: dict[object, str] = {"corpus": "corpora", "corpora": "corpus"}
OPTIONS = "options"
"""The parameter that holds those which the cell does not show."""
KINDS = "int, float, str, bool, list, list[X], dict, dict[K, V], Literal[...], X | None"
NODES = (ast.Name, ast.Load, ast.Constant, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub)
"""Syntax that a type may use: nothing that runs."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its type (pydantic's, with constraints), its default, and whether the cell shows it."""

    name: str
    kind: Any
    default: Any
    comment: str = ""
    shown: bool = True

    @cached_property
    def _model(self) -> type[BaseModel]:
        from pydantic import ConfigDict, create_model

        rules = ConfigDict(allow_inf_nan=False, protected_namespaces=())
        return create_model("Config", __config__=rules, **{self.name: (self.kind, ...)})

    @property
    def type(self) -> str:
        """The type in words: `list[int]`, `'lstm' | 'mlp'`, `int | None`."""
        schema = self._model.model_json_schema()
        return _said(schema["properties"][self.name], schema.get("$defs", {}))

    def check(self, value: Any) -> Any:
        """`value` as this parameter holds it, in plain JSON; a single entry needs no list."""
        from pydantic import ValidationError

        from attnlib.config import Config

        said = f"{self.name} must be {self.type}; got {value!r}"
        try:
            checked = self._model.model_validate_json(json.dumps({self.name: value}))
            held = checked.model_dump(mode="json")[self.name]
            if _alike(held, value):  # pydantic takes "3" and true for numbers
                return held
        except ValidationError as error:
            lines = re.sub(r"\b\w*(?:Params|Config|Spec): ", "", Config._explain(error)).splitlines()
            said = "; ".join(line.rstrip(".") for line in dict.fromkeys(lines))
        except (TypeError, ValueError, RecursionError):
            pass  # no plain value
        raise ConfigError(f"Parameter {said}. It is {self.type}; default: {self.default!r}.")

    def parse(self, text: str) -> Any:
        """The value that `-p NAME TEXT` means: YAML, except that a text stays the text it is."""
        try:
            value = load_yaml(text)
        except ConfigError as error:
            if self.kind is not str and text.lstrip().startswith(("[", "{", "&", "*")):
                raise ConfigError(f"Parameter {self.name!r}: {text!r} {error}") from None
            value = text
        try:
            return self.check(value)
        except ConfigError:
            if isinstance(value, str | list | dict):
                raise
            with suppress(ConfigError):  # `no`, `2020` or `2020-01-01` are not texts in YAML, but may be here
                return self.check(text)
            raise


def _alike(held: Any, given: Any) -> bool:
    """Whether two plain values are of the same types; an int may be held as a float, a single entry in a list."""
    if isinstance(held, list) and len(held) == 1 and not isinstance(given, list):
        return _alike(held[0], given)
    if isinstance(held, dict | list) and type(held) is type(given) and len(held) == len(given):
        pairs = zip(*(one.values() if isinstance(one, dict) else one for one in (held, given)), strict=True)
        return all(_alike(a, b) for a, b in pairs)
    return held == given and (type(held) is type(given) or (type(held), type(given)) == (float, int))


Read = Callable[[Parameter, Any], Any]
"""`Parameter.check`, or `Parameter.parse` for texts."""


def _said(schema: dict[str, Any], known: dict[str, Any]) -> str:
    """A JSON schema as a reader would write the type."""
    if "$ref" in schema:
        return _said(known[schema["$ref"].rpartition("/")[2]], known)
    if found := [*map(repr, schema.get("enum", ())), *([repr(schema["const"])] if "const" in schema else [])]:
        return " | ".join(found)
    if parts := [_said(one, known) for one in schema.get("anyOf", ())]:
        return " | ".join(dict.fromkeys(parts))
    kind = schema.get("type", "any")
    inner = schema.get("items" if kind == "array" else "additionalProperties")
    within = _said(inner, known).removeprefix("any") if isinstance(inner, dict) else ""
    if kind == "array":
        return f"list[{within}]" if within else "list"
    if kind == "object":
        return f"dict[str, {within}]" if within else "dict"
    return {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}.get(kind, kind)


def type_of(annotation: str) -> Any:
    """A type as it is written in a parameters cell, made without running it."""
    from pydantic import BeforeValidator, JsonValue

    T, K, V = (TypeVar(name, bound=JsonValue) for name in "TKV")
    known = {kind.__name__: kind for kind in (int, str, bool, float)}
    known |= {"Literal": Literal, "Optional": Optional, "dict": dict[K, V]}
    known["list"] = Annotated[list[T], BeforeValidator(lambda one: one if isinstance(one, list) else [one])]
    try:
        tree = ast.parse(annotation, mode="eval")
        for node in ast.walk(tree.body):
            if not isinstance(node, NODES) or (isinstance(node, ast.Name) and node.id not in known):
                raise TypeError(ast.unparse(node))
        return eval(compile(tree, annotation, "eval"), {"__builtins__": {}}, known)
    except (TypeError, SyntaxError):
        raise ConfigError(f"The type {annotation!r} cannot be checked. Allowed: {KINDS}.") from None


def parse_cell(source: str, where: str, params: type[BaseModel] | None = None) -> dict[str, Parameter]:
    """The parameters of a cell, in its order, and after them what `params` has and the cell does not show.

    where   names the notebook in errors
    params  the `Params` of its study; None: types are those of the cell, or of its literals
    """
    try:
        lines = ast.parse(source).body
    except SyntaxError as error:
        raise ConfigError(f"{where}: the parameters cell is no Python: {error.msg}, line {error.lineno}.") from None
    comments, fields = _comments(source), params.model_fields if params else {}
    found: dict[str, Parameter] = {}
    for node in lines:
        comment = comments.get(node.end_lineno or node.lineno, "")
        name, stated, default = _line(node, comment, where)
        if name in found:
            raise ConfigError(f"{where}: the parameters cell sets {name!r} twice.")
        try:
            kind = _kind(fields[name]) if name in fields else type_of(stated) if stated else Any
            parameter = Parameter(name, kind, default, re.sub(r"^type:\s*\S+\s*", "", comment))
            found[name] = replace(parameter, default=parameter.check(default))
        except ConfigError as error:
            raise ConfigError(f"{where}: its own default does not fit. {error}") from None
    if folds(found, params):
        defaults = params.model_construct().model_dump(mode="json") | found[OPTIONS].default
        found |= {n: Parameter(n, _kind(f), defaults[n], shown=False) for n, f in fields.items() if n not in found}
    return found


def _line(node: ast.stmt, comment: str, where: str) -> tuple[str, str, Any]:
    """Name, type (as stated, or that of the literal) and value of a line of the cell."""
    name = _target(node)
    if name is None:
        raise ConfigError(
            f"{where}: the parameters cell holds {ast.unparse(node)!r}. Each line must be "
            "`name = literal  # comment`; what is derived belongs in the next cell."
        )
    try:
        default = ast.literal_eval(node.value)
    except ValueError:
        raise ConfigError(
            f"{where}: the default of {name!r} is not a literal: {ast.unparse(node.value)!r}. Write the value "
            "itself, and derive in the next cell."
        ) from None
    if isinstance(node, ast.AnnAssign):
        return name, ast.unparse(node.annotation), default
    stated = re.match(r"type:\s*(\S+)", comment)
    return name, stated[1] if stated else "" if default is None else type(default).__name__, default


def folds(shown: Iterable[str], params: type[BaseModel] | None) -> bool:
    """Whether a cell with these names takes further fields of `params` in its `options`."""
    return params is not None and OPTIONS in shown and OPTIONS not in params.model_fields


def _kind(field: Any) -> Any:
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _target(node: ast.stmt) -> str | None:
    """The name that a line sets; None where it does anything else."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    one = targets[0] if len(targets) == 1 and getattr(node, "value", None) is not None else None
    return one.id if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(one, ast.Name) else None


def _literal(node: ast.stmt) -> bool:
    with suppress(ValueError):
        ast.literal_eval(node.value)
        return True
    return False


def check_injected(cells: Sequence[str]) -> None:
    """Refuse a name that papermill injected and that no cell before it sets to a literal: it would change nothing.

    cells  sources that the kernel has run, in order (IPython's `In`)
    """
    known: dict[str, None] = {}
    for source in cells:
        try:
            names = [name for node in ast.parse(source).body if (name := _target(node)) and _literal(node)]
        except SyntaxError:
            continue
        if known and source.startswith("# Parameters\n"):
            for name in names:
                if name not in known:
                    more = f" Parameters that the cell does not show go into {OPTIONS!r}."
                    raise ConfigError(unknown("parameter", name, known) + (more if OPTIONS in known else ""))
        known |= dict.fromkeys(names)


def check_values(
    items: Iterable[tuple[Any, Any]], parameters: dict[str, Parameter], where: str, read: Read = Parameter.check
) -> dict[str, Any]:
    """Names and values in their declared types; every problem in one error. The last of a repeated name counts.

    read  `Parameter.parse` for texts, those of `-p NAME VALUE`
    """
    fitted: dict[str, Any] = {}
    problems = []
    folded = any(not parameter.shown for parameter in parameters.values())
    for name, value in items:
        try:
            if folded and name == OPTIONS:  # it gives those that it holds
                held = read(Parameter(OPTIONS, type_of("dict"), {}), value)
                fitted |= check_values(held.items(), parameters, where)
            else:
                parameter = lookup(name, parameters)
                fitted[parameter.name] = read(parameter, value)
        except ConfigError as error:
            problems.append(located(error, where))
    if problems:
        raise ConfigError("\n".join(problems))
    return fitted


def lookup(name: object, parameters: dict[str, Parameter]) -> Parameter:
    """The parameter of that name, or an error with the nearest one. `corpus` and `corpora` are one name."""
    found = next((n for n in (name, ALIASES.get(name)) if n in parameters), None)
    if found is None:
        if not parameters:
            raise ConfigError(f"There is no parameter {name!r}; this notebook has none.")
        also = [other for this, other in ALIASES.items() if this in parameters]
        raise ConfigError(unknown("parameter", name, {*parameters, *also}))
    return parameters[found]


class _Loader(yaml.SafeLoader):
    """PyYAML itself silently takes the last of two equal keys, and 1e-3, which has no dot, for a text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [str(key.value) for key, _ in node.value]
        if twice := sorted({key for key in keys if keys.count(key) > 1}):
            raise ConfigError(f"sets {', '.join(twice)} twice.")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+[eE][-+]?\d+$"), list("-+0123456789"))


def load_yaml(text: str | bytes) -> Any:
    """The value of a YAML text; repeated keys are refused."""
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


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ").rstrip() for t in tokens if t.type == tokenize.COMMENT}
