"""The parameters of a notebook: what its cell shows, and what they are given.

The cell is tagged `parameters` and is read with `ast`, never run: `name = literal  # comment`, one per line, as
papermill reads it too. The fields of its study's `Params` give types and checks, also of what the cell does not
show: such a parameter travels in the cell's `options`. Without a study, names alone are checked.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import yaml

from attnlib.utils.errors import ConfigError, unknown

if TYPE_CHECKING:
    from pydantic import BaseModel

ALIASES: dict[object, str] = {"corpus": "corpora", "corpora": "corpus"}
"""Two names of one parameter."""
OPTIONS = "options"
"""The parameter that holds those which the cell does not show."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its type (pydantic's, with constraints), its default, and whether the cell shows it."""

    name: str
    kind: Any
    default: Any
    comment: str = ""
    shown: bool = True

    def check(self, value: Any) -> Any:
        """`value` as this parameter holds it, in plain JSON; a single entry needs no list."""
        from pydantic import ConfigDict, ValidationError, create_model

        from attnlib.config import Config

        rules = ConfigDict(allow_inf_nan=False, protected_namespaces=())
        model = create_model("Config", __config__=rules, **{self.name: (self.kind, ...)})
        try:
            return model.model_validate_json(json.dumps({self.name: value})).model_dump(mode="json")[self.name]
        except ValidationError as error:
            lines = re.sub(r"\b\w*(?:Params|Config|Spec): ", "", Config._explain(error)).splitlines()
            said = "; ".join(line.rstrip(".") for line in dict.fromkeys(lines))
        except (TypeError, ValueError):
            said = f"{self.name} must be plain YAML; got {value!r}"
        raise ConfigError(f"Parameter {said}. Its default: {self.default!r}.")

    def parse(self, text: str) -> Any:
        """The value that `-p NAME TEXT` means: YAML, or the text itself: `no` and `2020` may be texts."""
        try:
            return self.check(load_yaml(text, f"Parameter {self.name!r}: {text!r}"))
        except ConfigError:
            if not text.startswith(("[", "{")):
                with suppress(ConfigError):
                    return self.check(text)
            raise


Read = Callable[[Parameter, Any], Any]
"""`Parameter.check`, or `Parameter.parse` for texts."""


def parse_cell(source: str, where: str, params: type[BaseModel] | None = None) -> dict[str, Parameter]:
    """The parameters of a cell, in its order, and after them what `params` has and the cell does not show.

    where   names the notebook in errors
    params  the `Params` of its study
    """
    try:
        nodes = ast.parse(source).body
    except SyntaxError as error:
        raise ConfigError(f"{where}: the parameters cell is no Python: {error.msg}, line {error.lineno}.") from None
    lines, fields = source.splitlines(), params.model_fields if params else {}
    found: dict[str, Parameter] = {}
    for node in nodes:
        try:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                raise TypeError("no assignment")
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            name, default = target.id, ast.literal_eval(node.value)
        except (AttributeError, ValueError, TypeError):
            raise ConfigError(
                f"{where}: the parameters cell holds {ast.unparse(node)!r}. Each line must be "
                "`name = literal  # comment`; what is derived belongs in the next cell."
            ) from None
        kind = _kind(fields[name]) if name in fields else Any
        parameter = Parameter(name, kind, default, lines[node.end_lineno - 1].partition("  # ")[2])
        try:
            found[name] = replace(parameter, default=parameter.check(default))
        except ConfigError as error:
            raise ConfigError(f"{where}: its own default does not fit. {error}") from None
    if folds(found, params):
        defaults = params.model_construct().model_dump(mode="json") | found[OPTIONS].default
        found |= {n: Parameter(n, _kind(f), defaults[n], shown=False) for n, f in fields.items() if n not in found}
    return found


def folds(shown: Iterable[str], params: type[BaseModel] | None) -> bool:
    """Whether a cell with these names takes further fields of `params` in its `options`."""
    return params is not None and OPTIONS in shown and OPTIONS not in params.model_fields


def _kind(field: Any) -> Any:
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def check_injected(cells: Iterable[str]) -> None:
    """Refuse a name that papermill injected and that no cell before it sets: it would change nothing.

    cells  sources that the kernel has run, in order (IPython's `In`)
    """
    known: set[str] = set()
    for source in cells:
        names = set(re.findall(r"^(\w+)(?::[^=\n]+)? = ", source, re.MULTILINE))
        if known and source.startswith("# Parameters\n") and (new := names - known):
            more = f" Parameters that the cell does not show go into {OPTIONS!r}." if OPTIONS in known else ""
            raise ConfigError(unknown("parameter", min(new), known) + more)
        known |= names


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
                held = read(Parameter(OPTIONS, dict[str, Any], {}), value)
                fitted |= check_values(held.items(), parameters, where)
            else:
                known = name if name in parameters else ALIASES.get(name)
                if known not in parameters:
                    also = [other for this, other in ALIASES.items() if this in parameters]
                    raise ConfigError(unknown("parameter", name, {*parameters, *also}))
                fitted[known] = read(parameters[known], value)
        except ConfigError as error:
            problems.append(located(error, where))
    if problems:
        raise ConfigError("\n".join(problems))
    return fitted


def load_yaml(text: str | bytes, where: str) -> Any:
    """The value of a YAML text; `where` names it in errors."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2020-13-40
        raise ConfigError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None


def located(error: ConfigError, where: str) -> str:
    """The message with the notebook or file in front of every line."""
    return "\n".join(line if line.startswith(where) else f"{where}: {line}" for line in str(error).splitlines())
