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
from attnlib.utils.text import plural
from attnlib.viz.textmap import Html


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
        """A sentence about a claim, with its {effect}, {verdict}, {report} and {link}; empty without it."""
        found = [(one, c) for one in self.reports for c in one.claims if c["id"] == claim_id]
        if not found or found[0][1]["effect"] is None:
            return ""
        one, claim = found[0]
        effect = interval_text(*(NAN if claim[end] is None else claim[end] for end in ("effect", "low", "high")))
        named = {"report": one.run["notebook"], "link": f"{link(one)}#claim-{claim_id}"}
        return sentence.format(effect=effect, verdict=claim["verdict"], **named)

    def paragraphs(self) -> list[str]:
        """What each report says in a paragraph, and all of them in one."""
        told = [_paragraph(one) for one in self.reports if one.claims]
        if self.claims:
            told.append(f"**All together.** {answer(self.claims, [one.run['profile'] for one in self.reports])}")
        if self.missing:
            told.append(f"**Missing:** no finished report of {', '.join(self.missing)} lies next to this one.")
        return told


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


def _paragraph(one: Finished) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in matrix.tally(one.claims).items())
    papers = " and ".join(dict.fromkeys(claim["paper"] for claim in one.claims))
    told = f"**{papers}** ([{one.run['notebook']}]({link(one)})): of {plural(len(one.claims), 'claim')}, {counts}."
    for verdict, words in (("reproduced", "Most clearly reproduced"), ("not reproduced", "Most clearly not")):
        claims = [claim for claim in one.claims if claim["verdict"] == verdict and claim.get("high") is not None]
        if claims:
            best = max(claims, key=_clearness)
            said, places = best["claim"].rstrip("."), matrix.digits(best["low"], best["high"])
            ends = interval_text(best["effect"], best["low"], best["high"], places)
            told += f" {words}: [{said}]({link(one)}#claim-{best['id']}), {ends}."
    return told


def _clearness(claim: matrix.Claim) -> float:
    """How far the effect is from the border, in widths of its interval."""
    width = (claim["high"] - claim["low"]) or 1e-9
    return abs(claim["effect"] - (claim.get("border") or 0.0)) / width
