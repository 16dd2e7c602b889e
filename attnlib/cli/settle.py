"""More trainings where a claim waits for them: `attnlib run NOTEBOOK --settle MINUTES`.

A finished report names the claims that are open in direction and in size. Each rests on replicates, lists of the
study's parameters (`Rule.waits`: `seeds`, `adversary_seeds`, …). As many replicates are added to those lists as a
forecast fits into the minutes, the notebook runs again from the store, and every interval of its ledger is taken at
the level of a further look at growing data (`ledger.level_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from attnlib.cli.check import Checked
from attnlib.reports.execute import place
from attnlib.reports.matrix import load
from attnlib.reports.plan import Plan
from attnlib.store.forecast import dry_run
from attnlib.studies.ledger import ANSWERS, level_of
from attnlib.utils.text import duration, plural

NAME = "settled"
"""Of the report with added replicates: OUT/<notebook>/<profile>-settled."""
MOST = 50
"""Replicates that are added at the most in one call."""


@dataclass(frozen=True)
class Addition:
    """What is added to a run, and why; `plan` is None where nothing is."""

    said: str
    waiting: tuple[str, ...] = ()
    plan: Plan | None = None


def addition(checked: Checked, minutes: float, out: Path, jobs: int) -> Addition:
    """The run with as many more replicates as `minutes` allow, or why there is none."""
    plan, study = checked.plan, checked.study
    name = plan.notebook.name
    if study is None or "looks" not in plan.notebook.parameters:
        return Addition(f"{name} has no replicates to add.")
    last = _last(plan, out)
    waiting = open_claims(load(place(last, out)))
    if not waiting:
        return Addition(f"{name}: every claim that was tested is decided; nothing to add.")
    lists = sorted({rule.waits for rule in study.rules if rule.id in waiting})
    params = study.Params.of(last.values)
    seconds: list[float] = []
    for k in range(1, MOST + 1):
        seconds.append(dry_run(study.grid(params.more(lists, k)), jobs=jobs, sizes=study.sizes).seconds)
        if seconds[-1] > 60 * minutes:
            break
    fitting = sum(cost <= 60 * minutes for cost in seconds)
    if not fitting:
        return Addition(
            f"{name}: {plural(len(waiting), 'claim')} wait for {', '.join(lists)}; one more replicate takes about "
            f"{duration(seconds[0])}, more than {minutes:g} minutes.",
            tuple(waiting),
        )
    grown = params.more(lists, fitting).replace(looks=params.looks + 1)
    counted = [key for key in plan.notebook.parameters if key == "looks" or key.endswith("seeds")]
    values = {key: _plain(getattr(grown, key)) for key in counted}
    new = {key: value for key, value in values.items() if value != _plain(last.values[key])}
    said = (
        f"{name}: {plural(len(waiting), 'claim')} open ({', '.join(waiting)}); adding "
        f"{plural(fitting, 'replicate')} to {', '.join(lists)}, about {duration(seconds[fitting - 1])}. Intervals "
        f"are taken at {level_of(grown.looks):.1%}, for {grown.looks} looks."
    )
    changed, own = {**last.changed, **new}, {**last.own, **new}
    return Addition(said, tuple(waiting), replace(plan, changed=changed, own=own, name=NAME))


def open_claims(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Ids of the claims without an answer in direction or size."""
    return [c["id"] for c in claims if c["verdict"] == "undetermined" and c.get("size") not in ANSWERS]


def outcome(added: Addition, out: Path) -> str:
    """Which of the open claims got an answer."""
    still = open_claims(load(place(added.plan, out)))
    settled = [claim for claim in added.waiting if claim not in still]
    left = f"; still open: {', '.join(still)}" if still else ""
    told = f"{plural(len(settled), 'claim')} settled ({', '.join(settled) or 'none'}){left}"
    return f"{added.plan.notebook.name}: {told}."


def _last(plan: Plan, out: Path) -> Plan:
    """The run to go on from: the one settled last, where it grew out of this profile, else the profile's own."""
    settled = replace(plan, name=NAME)
    file = place(settled, out) / "params.yaml"
    if not file.is_file():
        return plan
    values = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    values = {key: value for key, value in values.items() if key in plan.notebook.parameters}
    grown = {key: value for key, value in values.items() if value != plan.values[key]}
    return replace(settled, changed={**plan.changed, **grown}, own={**plan.own, **grown})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
