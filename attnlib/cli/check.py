"""The parameters of a run, checked by the studies behind the notebooks before a kernel starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attnlib.reports.parameters import located
from attnlib.reports.plan import Plan
from attnlib.utils.errors import ConfigError


@dataclass(frozen=True)
class Checked:
    """A plan with values that its study accepts.

    study, params  None for a notebook without a study
    absent         files that the profile expects from the user and that are missing, one sentence each
    """

    plan: Plan
    study: Any = None
    params: Any = None
    absent: tuple[str, ...] = ()


def check(plans: Sequence[Plan]) -> list[Checked]:
    """Refuse what a study refuses, and missing files that `-p` names; all problems are in one error."""
    found, problems = [], []
    for plan in plans:
        try:
            found.append(_check(plan))
        except ConfigError as error:
            problems.append(located(error, plan.notebook.name))
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def _check(plan: Plan) -> Checked:
    from attnlib.studies.study import study_for

    study = study_for(plan.notebook.name)
    if study is None:
        return Checked(plan)
    params = study.Params.of(plan.values)
    wrong = [(option, f"{option}: {text}") for option, text in params.absent()]
    if now := [text for option, text in wrong if option in plan.own]:
        raise ConfigError("\n".join(now))
    return Checked(plan, study, params, tuple(f"{plan.notebook.name}: {text}" for _, text in wrong))
