"""What pages say about runs: the facts of one, and the index of all with the series' answer."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from attnlib import __version__
from attnlib.reports import matrix, theme
from attnlib.utils import extras, files, paths
from attnlib.utils.errors import DataError
from attnlib.utils.files import FAILED, UNFINISHED
from attnlib.utils.text import duration, filesize, plural

BESIDE = re.compile(r"<!--beside-->.*?<!--/beside-->", re.DOTALL)
"""What a page says about files next to it, which a gallery has not."""
OURS = {"attnlib", "Five papers together"}
"""What claims that no paper makes name in place of one."""
SUMMARY = "_verdict"
"""How the name of the notebook ends that sums up the others: the index begins with it."""
KNOWN = {size: matrix.SIZES[size] for size in ("smaller", "larger", "negligible")}
"""Sizes that can be known where the direction is not, with their signs."""
SENTENCES = 2
"""Of *In short*, in the index."""
PROFILES = ("paper", "cpu", "smoke")
"""Which run of a notebook the index takes its claims from, where there are several."""
LARGEST = 10 * 2**20
"""Bytes that a gallery may have: a repository carries it along."""
KEPT = ("report.html", "run.json", "claims.json", "short.json")
"""Files of a run that a gallery shows."""


@dataclass(frozen=True)
class Finished:
    """A run's folder, its `run.json`, its claims and *In short*; `card` is what the index says about it."""

    folder: Path
    run: dict[str, Any]
    claims: list[matrix.Claim]
    short: list[str]
    card: dict[str, Any]

    @property
    def rank(self) -> tuple[bool, int]:
        """Runs on the values of their profile come first, and of those the largest."""
        profile = self.run["profile"]
        return bool(self.run.get("own")), PROFILES.index(profile) if profile in PROFILES else len(PROFILES)


def index(out: Path, explorer: str = "") -> str:
    """The HTML of the index: the series' answer, each report's with its claims, and a list of all runs under `out`.

    explorer  HTML of an explorer to show above them
    """
    runs = list(finished(out))
    chosen: dict[str, Finished] = {}
    for one in sorted(runs, key=lambda one: one.rank):
        if one.claims and one.run["status"] == "done":
            chosen.setdefault(one.run["notebook"], one)
    series = [chosen[name] for name in sorted(chosen, key=lambda name: (not name.endswith(SUMMARY), name))]
    first = chosen[min(chosen)] if chosen else None
    html = theme.fill(
        "runs.html.j2",
        runs=[one.card for one in runs],
        answer=answer([claim for one in series for claim in one.claims], [one.run["profile"] for one in series]),
        series=[one.card | _told(one) for one in series],
        lead=_told(first)["short"][0] if first and first.short else "",
        lead_of=first and (first.card, scope(first.run)),
        signs=matrix.VERDICTS,
        sizes=KNOWN,
        explorer=explorer,
        **theme.assets(explorer=bool(explorer)),
    )
    return theme.minus(html)


def _told(one: Finished) -> dict[str, Any]:
    """What a report found: its claims at a glance, the first sentences of *In short*, the claims with intervals."""
    from attnlib.viz.prose import emphasised  # which loads numpy; a wrong command line shall not wait for it

    link = one.card["link"]
    glance = [{**claim, **_glance(claim), "link": f"{link}#claim-{claim['id']}"} for claim in one.claims]
    short = [emphasised(sentence) for sentence in one.short[:SENTENCES]]
    short = [html.replace('href="#', f'href="{link}#').replace('href="../../', 'href="') for html in short]
    return {"glance": glance, "short": short, "ledger": matrix.series_html([(link, one.claims)])}


def _glance(claim: matrix.Claim) -> dict[str, str]:
    """Sign and words of a claim; an undetermined direction leaves the word to the size, where that is known."""
    verdict, size = claim["verdict"], claim.get("size")
    if verdict == "undetermined" and size in KNOWN:
        return {"sign": KNOWN[size], "said": f"{verdict}, but {size}"}
    return {"sign": matrix.VERDICTS[verdict], "said": verdict}


def answer(claims: Sequence[matrix.Claim], profiles: Sequence[str]) -> str:
    """What the series found, in a paragraph."""
    if not claims:
        return ""
    named = {claim["paper"] for claim in claims}
    papers = plural(len(named - OURS), "paper") + (" and our own" if named & OURS else "")
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in matrix.tally(claims).items())
    counts = {size: sum(claim.get("size") == size for claim in claims) for size in matrix.SIZES}
    told = f"{plural(len(claims), 'claim')} of {papers}, tested on the {' and '.join(dict.fromkeys(profiles))} "
    told += f"profile: {verdicts}."
    if found := [f"{counts[size]} {size}" for size in ("as large", "smaller", "larger") if counts[size]]:
        told += f" Against the effects that the papers print: {', '.join(found)}."
    if near := counts["negligible"]:
        told += f" Of the undetermined, {plural(near, 'effect')} {'is' if near == 1 else 'are'} negligible."
    tested = sum(claim["verdict"] != "not tested" for claim in claims)
    chance = f"about {0.05 * tested:.0f}" if tested >= 20 else "fewer than one"
    return (
        f"{told} If every true effect lay exactly on the border of its claim, 95% intervals would still decide "
        f"{chance} of the {plural(tested, 'tested claim')}."
    )


def finished(out: Path) -> Iterator[Finished]:
    """The runs under `out`; a damaged one is left out with a warning."""
    for file in sorted(out.glob("*/*/run.json")):
        folder = file.parent
        if UNFINISHED.fullmatch(folder.name):
            continue
        try:
            run = json.loads(file.read_text(encoding="utf-8"))
            claims = matrix.checked(matrix.load(folder))
            yield Finished(folder, run, claims, matrix.load(folder, "short"), _card(folder, out, run, claims))
        except FileNotFoundError:
            continue  # another process is replacing this report: its own index will name it
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"{folder} is left out of the index: it cannot be read ({reason}).", stacklevel=3)


def _card(folder: Path, out: Path, run: dict[str, Any], claims: Sequence[matrix.Claim]) -> dict[str, Any]:
    """What the index says about a run; raises any error where its files are damaged."""
    return {
        **{key: str(run[key]) for key in ("title", "notebook", "status", "profile")},
        "cell": run.get("cell") and f"{int(run['cell'])} of {int(run['total'])}",
        "folder": folder.name.removesuffix(FAILED),
        "own": ", ".join(f"{name} {words(run['parameters'][name])}" for name in run.get("own") or ()),
        "date": day(run["date"]),
        "took": took(run),
        "link": folder.relative_to(out).as_posix() + "/report.html",
        "size": filesize((folder / "report.html").stat().st_size),
        "verdicts": matrix.tally(claims),
    }


def took(run: dict[str, Any]) -> str:
    """How long a run took, and how much was there before: `took 12 s, all 228 results from the store`."""
    stored, asked = run.get("results") or (0, 0)
    known = f", {f'all {asked:,}' if stored == asked else f'{stored:,} of {asked:,}'} results from the store"
    return f"took {duration(run['seconds'])}{known if stored else ''}"


def scope(run: dict[str, Any]) -> str:
    """What a run's answer rests on: `2 trainings per model on rotten_tomatoes, cpu profile`."""
    header = run.get("header") or {}
    seeds, corpora = header.get("seeds"), header.get("corpus") or header.get("corpora")
    told = f"{plural(len(seeds), 'training')} per model" if isinstance(seeds, list) else ""
    told += f" on {words(corpora)}" if corpora else ""
    return ", ".join(part for part in (told.strip(), f"{run['profile']} profile") if part)


def gallery(out: Path, to: Path, profile: str = "cpu") -> dict[str, Any]:
    """Copy the finished reports of a profile from `out` to `to`, in place of those there: `gallery.json`.

    A static site for any web server or none, which `make gallery` puts into `reports/gallery`: reports, an index
    with an explorer to play with. `gallery.json` says what each report was made from, so that a test can tell when
    a notebook has moved on.
    """
    found = [one for one in finished(out) if one.run["status"] == "done" and one.folder.name == profile]
    if not found:
        raise DataError(f"There is no finished report of profile {profile!r} in {out}. `make reports` makes them.")
    kept = {one.run["notebook"]: [f for name in KEPT if (f := one.folder / name).exists()] for one in found}
    if (size := sum(file.stat().st_size for own in kept.values() for file in own)) > LARGEST:
        raise DataError(f"The reports weigh {filesize(size)}; a gallery may weigh {filesize(LARGEST)}.")
    for old in to.glob("*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    held = {}
    for one in found:
        name = one.run["notebook"]
        (to / name / profile).mkdir(parents=True)
        for file in kept[name]:
            files.write(to / name / profile / file.name, BESIDE.sub("", file.read_text(encoding="utf-8")))
        made = structure(paths.notebooks() / f"{name}.ipynb")
        held[name] = {"structure": made, "commit": one.run.get("commit"), "date": one.run["date"]}
    files.write(to / "index.html", index(to, explorer=explorer_of(found)))
    files.write(to / "gallery.json", json.dumps(held, indent=1) + "\n")
    return held


def structure(notebook: Path) -> str:
    """A hash of what a reader of the report would miss: the cells of the notebook, in order, and its headings."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        lines = "".join(cell["source"]).splitlines() if cell["cell_type"] == "markdown" else []
        parts.append((cell["cell_type"], cell.get("id"), [line for line in lines if line.startswith("#")]))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def explorer_of(found: list[Finished]) -> str:
    """The first explorer of the reports, as HTML; empty where none has one."""
    for one in sorted(found, key=lambda one: one.run["notebook"]):
        for cell in json.loads((one.folder / "run.ipynb").read_bytes())["cells"]:
            for output in cell.get("outputs", ()):
                html = "".join(output.get("data", {}).get("text/html", ""))
                if html.startswith('<div class="attnlib-explorer"'):
                    return html
    return ""


def facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report's header."""
    said = {name: value for name, value in (run.get("header") or {}).items() if name != "paper_url"}
    found = [("Notebook", run["notebook"]), ("Profile", run["profile"])]
    found += [
        (name.replace("_", " ").capitalize(), words(value))
        for name, value in said.items()
        if value not in (None, "", "none", [])
    ]
    found += [("Duration", took(run).removeprefix("took ")), ("Date", day(run["date"]))]
    if run.get("commit"):
        found.append(("Commit", run["commit"].replace("+", " with changes")))
    return [*found, ("Versions", " · ".join(f"{name} {number}" for name, number in run["versions"].items()))]


def papers(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Citation and address of the papers that a run is about, as its header names them."""
    header = run.get("header") or {}
    given = [header.get(name) or [] for name in ("citation", "paper_url")]
    cited, addresses = (one if isinstance(one, list) else [one] for one in given)
    safe = [address if re.match(r"https?://", str(address)) else "" for address in addresses]
    return list(zip(map(str, cited), safe + [""] * len(cited), strict=False))


def versions() -> dict[str, str]:
    """Versions that the numbers may depend on."""
    own = {"attnlib": __version__, "Python": platform.python_version()}
    return own | extras.versions("torch", "numpy", "transformers")


def day(date: str) -> str:
    """`16 November 2025, 14:05 UTC`."""
    moment = datetime.fromisoformat(date)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def words(value: Any) -> str:
    """A value of the header as a reader would write it."""
    if isinstance(value, dict):
        return " · ".join(
            f"{key} {item:,}" if type(item) is int else f"{key} {words(item)}" for key, item in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(words, value))
    return "none" if value is None else str(value)
