"""All runs together: the index with the series' answer, and the links from one report to the next."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attnlib.reports import matrix, theme
from attnlib.reports.facts import day, duration, words
from attnlib.utils import files
from attnlib.utils.files import FAILED, UNFINISHED, spell_size

NAVIGATION = re.compile(r"<!--series-->.*?<!--/series-->", re.DOTALL)
PROFILES = ("paper", "cpu", "smoke")
"""Which run of a notebook the index takes its claims from, where there are several."""


def index(out: Path) -> str:
    """The HTML of the series' answer, a matrix of all claims, and of a list of all runs under `out`."""
    runs = list(_runs(out))
    chosen: dict[str, tuple[Path, dict[str, Any]]] = {}
    for folder, run in runs:
        known = chosen.get(run["notebook"])
        if run["status"] == "done" and matrix.load(folder) and (known is None or _rank(run) < _rank(known[1])):
            chosen[run["notebook"]] = folder, run
    series = [
        (f"{folder.relative_to(out).as_posix()}/report.html", matrix.load(folder)) for folder, _ in chosen.values()
    ]
    claims = [claim for _, found in series for claim in found]
    return theme.fill(
        "runs.html.j2",
        runs=[_card(folder, out, run) for folder, run in runs],
        answer=answer(claims, [run["profile"] for _, run in chosen.values()]),
        ledger=matrix.series_html(series) if claims else "",
        signs=matrix.VERDICTS,
        **theme.assets(),
    )


def _rank(run: dict[str, Any]) -> tuple[bool, int]:
    """Runs on the values of their profile come first, and of those the largest."""
    place = PROFILES.index(run["profile"]) if run["profile"] in PROFILES else len(PROFILES)
    return bool(run.get("own")), place


def answer(claims: Sequence[matrix.Claim], profiles: Sequence[str]) -> str:
    """What the series found, in a paragraph."""
    if not claims:
        return ""
    papers = len({claim["paper"] for claim in claims})
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in matrix.tally(claims).items())
    told = [
        f"{len(claims)} {_noun(len(claims), 'claim')} of {papers} {_noun(papers, 'paper')}, "
        f"{' and '.join(dict.fromkeys(profiles))} profile: {verdicts}."
    ]
    sizes = {size: sum(claim.get("size") == size for claim in claims) for size in ("as large", "smaller", "larger")}
    if sized := sum(sizes.values()):
        found = ", ".join(f"{count} {size}" for size, count in sizes.items() if count)
        told.append(f"Against the effect that the paper prints, {sized} can be placed: {found}.")
    tested = sum(claim["verdict"] != "not tested" for claim in claims)
    chance = f"about {0.05 * tested:.0f}" if tested >= 20 else "fewer than one"
    told.append(
        "If every true effect lay exactly on the border of its claim, 95% intervals would still decide "
        f"{chance} of the {tested} tested {_noun(tested, 'claim')}."
    )
    return " ".join(told)


def _noun(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _card(folder: Path, out: Path, run: dict[str, Any]) -> dict[str, Any]:
    """What the index says of a run; any error where its files are damaged."""
    own = [f"{name} {words(run['parameters'][name])}" for name in run.get("own") or ()]
    return {
        **{key: str(run[key]) for key in ("title", "notebook", "status")},
        "cell": run.get("cell") and f"{int(run['cell'])} of {int(run['total'])}",
        "folder": folder.name.removesuffix(FAILED),
        "own": ", ".join(own),
        "date": day(run["date"]),
        "took": duration(run["seconds"]),
        "link": _link(folder, out),
        "size": spell_size((folder / "report.html").stat().st_size),
        "verdicts": matrix.tally(matrix.load(folder)),
    }


def _link(folder: Path, out: Path) -> str:
    return folder.relative_to(out).as_posix() + "/report.html"


def _runs(out: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folders of finished runs and their `run.json`; a damaged one is left out with a warning."""
    for file in sorted(out.glob("*/*/run.json")):
        if UNFINISHED.fullmatch(file.parent.name):
            continue
        try:
            run = json.loads(file.read_text(encoding="utf-8"))
            _card(file.parent, out, run)
        except FileNotFoundError:
            continue  # another process puts a new report in its place just now: its own index will name it
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"{file.parent} is left out of the index: it cannot be read ({reason}).", stacklevel=3)
        else:
            yield file.parent, run


def navigation(folder: Path, run: dict[str, Any]) -> str:
    """Links to the reports before and after this one in the series, of the same profile, and to the index."""
    out, profile = folder.parent.parent, run["profile"]
    there = sorted(file.parent.parent.name for file in out.glob(f"[0-9][0-9]_*/{profile}/report.html"))
    before = [name for name in there if name < run["notebook"]][-1:]
    after = [name for name in there if name > run["notebook"]][:1]
    links = {
        rel: [(name, _title(out / name / profile)) for name in found]
        for rel, found in (("prev", before), ("next", after))
    }
    return theme.fill("series.html.j2", links=links, profile=profile)


def _title(folder: Path) -> str:
    try:
        return str(json.loads((folder / "run.json").read_text(encoding="utf-8"))["title"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.parent.name


def relink(out: Path) -> None:
    """Bring the links between the reports under `out` up to date: a first run cannot know what follows it."""
    for folder, run in _runs(out):
        page = (folder / "report.html").read_text(encoding="utf-8")
        links = navigation(folder, run)
        linked = NAVIGATION.sub(lambda _, links=links: links, page)
        if linked != page:
            files.write(folder / "report.html", linked)
