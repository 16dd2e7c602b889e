"""The ledger of ledgers reads what reports left, links to it, and says what is missing."""

from __future__ import annotations

import json
from pathlib import Path

from bs4 import BeautifulSoup

from attnlib.reports.matrix import FIELDS
from attnlib.studies.study import Study
from attnlib.studies.verdict.ledgers import ledgers


def claim(name: str, verdict: str, effect: float, paper: str = "Toy 2030") -> dict:
    told = dict.fromkeys(FIELDS, "x") | {"id": name, "paper": paper, "verdict": verdict, "claim": f"Claim {name}."}
    return told | {"effect": effect, "low": effect - 0.1, "high": effect + 0.1, "n": 10, "border": 0.0}


def report(
    out: Path, notebook: str, claims: list[dict], profile: str = "cpu", own: list[str] | None = None
) -> None:
    folder = out / notebook / profile
    folder.mkdir(parents=True)
    run = {"notebook": notebook, "title": "T", "status": "done", "profile": profile, "own": own or [], "seconds": 1}
    run |= {"date": "2030-01-01T00:00:00+00:00", "parameters": {}, "cell": None}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "claims.json").write_text(json.dumps(claims))
    (folder / "report.html").write_text("<html></html>")


def test_claims_of_the_profile_are_listed_and_linked(tmp_path):
    report(tmp_path, "01_tasc", [claim("a", "reproduced", 0.5), claim("b", "not reproduced", -0.3)])
    report(tmp_path, "03_sparsity", [claim("c", "undetermined", 0.05, "Other 2031")])
    report(tmp_path, "02_tying_mlm", [claim("d", "reproduced", 0.5)], profile="smoke")
    found = ledgers(tmp_path / "06_verdict" / "cpu", "cpu")
    assert [one.run["notebook"] for one in found.reports] == ["01_tasc", "03_sparsity"]
    assert "02_tying_mlm" in found.missing
    assert "06_verdict" not in found.missing
    assert list(found.frame["id"]) == ["a", "b", "c"]
    links = [a["href"] for a in BeautifulSoup(found.html.html, "html.parser").find_all("a")]
    assert "../../01_tasc/cpu/report.html#claim-a" in links
    assert found.told("b", "{report}: {effect} ({verdict})") == "01_tasc: -0.30 [-0.40, -0.20] (not reproduced)"
    assert found.told("absent", "{effect}") == ""
    together, missing = found.summary()
    assert together.startswith("**All together.** 3 claims, tested on the cpu profile: 1 reproduced")
    assert "02_tying_mlm" in missing


def test_without_reports_it_says_so(tmp_path):
    found = ledgers(tmp_path / "06_verdict" / "cpu", "cpu")
    assert not found.claims
    assert "No report" in found.html.text
    assert "01_tasc" in found.summary()[0]
    assert found.frame.empty


def test_the_claims_that_in_short_quotes_are_those_of_01():
    said = {claim.id: claim.says for claim in Study("tasc").claims}
    assert said["tasc-3"] == "With Lin-TaSc, fewer tokens ranked by α∇α must go until the decision flips."
    assert said["tasc-17"].startswith("By α alone, the top token flips fewer decisions")
