"""The claims of a study, read from `claims.yaml` next to its module: sentence, test, border, the paper's value.

    phrases:
      LEFT_OUT: Models that learned nothing decide nothing since a first run on real texts.
    claims:
    - id: erasure-9
      says: Removing by attention flips decisions with fewer items than removing at random.
      where: section 5.4, Figures 5, 6 and 10
      test: difference of the share of items removed, mean over models
      effect: {effects.fewer_items: {a: alpha, b: random}}
      direction: less
      history: '{LEFT_OUT}'

Fields are those of `ledger.Rule`. `effect`, `also` and `paper` name functions of results, perhaps with options; a
border may be a fraction, 2/3. Texts may hold phrases and constants of the module in braces. `each` makes one claim
for each of its entries, whose names may stand in braces too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from typing import Any

import yaml

from attnlib.studies.ledger import Rule
from attnlib.utils.errors import ConfigError


def read_rules(module: str, names: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of `claims.yaml` next to a module (its `__file__`); `names`: its functions and constants."""
    told = yaml.safe_load(Path(module).with_name("claims.yaml").read_text(encoding="utf-8"))
    words = dict(names)
    for name, phrase in told.get("phrases", {}).items():
        words[name] = _filled(phrase, words)
    return tuple(_rule(row, names) for row in _rows(told["claims"], words))


def _rows(claims: list[dict[str, Any]], words: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for claim in claims:
        for case in claim.get("each", [{}]):
            yield _filled({k: v for k, v in claim.items() if k != "each"}, {**words, **_filled(case, words)})


def _filled(value: Any, words: Mapping[str, Any]) -> Any:
    """The same with what stands in braces replaced."""
    if isinstance(value, Mapping):
        return {key: _filled(part, words) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, words) for part in value]
    return value.format_map(words) if isinstance(value, str) else value


def _rule(row: dict[str, Any], names: Mapping[str, Any]) -> Rule:
    functions = {key: _function(row[key], names) for key in ("effect", "paper", "also") if key in row}
    return Rule(**{**row, **functions, "border": float(Fraction(str(row.get("border", 0))))})


def _function(told: str | Mapping[str, Mapping[str, Any]], names: Mapping[str, Any]) -> Callable:
    """`NAME` or {NAME: options}; the name may be that of a function in a module, `effects.gain`."""
    ((name, options),) = [(told, {})] if isinstance(told, str) else told.items()
    first, *rest = name.split(".")
    try:
        return partial(reduce(getattr, rest, names[first]), **options)
    except (KeyError, AttributeError):
        raise ConfigError(f"claims.yaml names the function {name!r}, which its module does not have.") from None
