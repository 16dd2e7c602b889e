"""The claims of a study as they stand in its `claims.yaml`."""

from __future__ import annotations

import pytest

from attnlib.stats.inference import Effect
from attnlib.studies.rules import read_rules
from attnlib.utils.errors import ConfigError

FAR = 0.35
CLAIMS = """
phrases:
  SEEN: Added after {far}.
  TWICE: "{SEEN} And again."
claims:
- id: toy-1
  says: It is far.
  where: section 1
  test: distance beyond {far}
  effect: distance
  border: 2/3
  history: "{TWICE}"
- each:
  - {number: 2, whose: ours}
  - {number: 3, whose: theirs}
  id: toy-{number}
  says: It is {whose}.
  where: section 2
  test: distance
  effect: {distance: {of: "{whose}"}}
  direction: less
"""


def distance(results, of: str = "all") -> Effect:
    return Effect(results[of])


def read(tmp_path, text: str = CLAIMS):
    (tmp_path / "claims.yaml").write_text(text, encoding="utf-8")
    return read_rules(str(tmp_path / "claims.py"), {"distance": distance, "far": FAR})


def test_texts_hold_phrases_and_constants(tmp_path):
    first = read(tmp_path)[0]
    assert first.history == "Added after 0.35. And again."
    assert first.decided_by == "distance beyond 0.35, above 0.667"
    assert (first.border, first.paper) == (2 / 3, None)


def test_each_makes_a_claim_of_its_own_with_its_options(tmp_path):
    _, second, third = read(tmp_path)
    assert (second.id, second.says, third.id) == ("toy-2", "It is ours.", "toy-3")
    assert third.effect({"ours": 1.0, "theirs": 2.0}).estimate == 2.0


def test_an_unknown_function_is_named(tmp_path):
    with pytest.raises(ConfigError, match="'distanec'"):
        read(tmp_path, CLAIMS.replace("effect: distance", "effect: distanec"))
