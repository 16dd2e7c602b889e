"""The ledger of ledgers: the claims of all reports of a profile, from the files that the reports left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attnlib.reports import matrix, plan, theme
from attnlib.reports.series import Finished, answer, finished
from attnlib.stats.inference import NAN, interval_text
from attnlib.studies.study import study_for
from attnlib.viz.prose import Html


@dataclass(frozen=True)
class Ledgers:
    """Finished reports of a profile, in the order of the series, and the notebooks that have none."""

    reports: Sequence[Finished]
    missing: Sequence[str]

    @property
    def claims(self) -> list[matrix.Claim]:
        """The claims of all reports."""
        return [claim for one in self.reports for claim in one.claims]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per claim: notebook, and what its ledger says."""
        columns = "id paper claim verdict size effect low high unit paper_effect setting".split()
        rows = [
            {"notebook": one.run["notebook"], **{name: claim.get(name) for name in columns}}
            for one in self.reports
            for claim in one.claims
        ]
        frame = pd.DataFrame(rows, columns=["notebook", *columns])
        return frame.astype(dict.fromkeys(["effect", "low", "high", "paper_effect"], float))

    @property
    def html(self) -> Html:
        """The matrix of all claims, each linked to its row in its report."""
        if not self.claims:
            return Html("<p>No report of this profile has claims yet.</p>", "No report has claims yet.")
        drawn = matrix.series_html((link(one), one.claims) for one in self.reports)
        told = "\n".join(f"{claim['verdict']}: {claim['claim']}" for claim in self.claims)
        return Html(f"<style>{theme.read('ledger.css')}</style>{drawn}", told)

    def told(self, claim_id: str, sentence: str) -> str:
        """A sentence about a claim; empty without it. It may name {effect}, {unit}, {verdict}, {setting}, and the
        {report} that judged it with its {link}."""
        found = [(one, c) for one in self.reports for c in one.claims if c["id"] == claim_id]
        if not found or found[0][1]["effect"] is None:
            return ""
        one, claim = found[0]
        value, low, high = (NAN if claim[end] is None else claim[end] for end in ("effect", "low", "high"))
        effect = interval_text(value, low, high, 2 if low != low else matrix.digits(low, high))
        named = {name: claim.get(name, "") for name in ("unit", "verdict", "setting")}
        return sentence.format(
            effect=effect, report=one.run["notebook"], link=f"{link(one)}#claim-{claim_id}", **named
        )

    def summary(self) -> list[str]:
        """What all reports say together, and which are missing."""
        said = []
        if self.claims:
            said.append(f"**All together.** {answer(self.claims, [one.run['profile'] for one in self.reports])}")
        if self.missing:
            said.append(f"**Missing:** no finished report of {', '.join(self.missing)} lies next to this one.")
        return said


def ledgers(folder: Path, profile: str, own: str = "06_verdict") -> Ledgers:
    """The reports of a profile next to a run's folder (`OUT/<notebook>/<profile>`), without those of this study."""
    out = folder.resolve().parent.parent
    found = {
        one.run["notebook"]: one
        for one in (finished(out) if out.is_dir() else ())
        if one.run["status"] == "done" and one.run["profile"] == profile and not one.run.get("own")
    }
    wanted = [name for name in plan.names() if name != own and study_for(name) is not None]
    return Ledgers([found[name] for name in wanted if name in found], [n for n in wanted if n not in found])


def link(one: Finished) -> str:
    """From a report to another one of the series."""
    return f"../../{one.run['notebook']}/{one.folder.name}/report.html"
