"""The command line. Everything heavy is imported when it is needed: a wrong parameter is refused in a moment."""

from __future__ import annotations

import errno
import math
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import yaml

from attnlib import __version__
from attnlib.cli.listing import LISTS, params_of
from attnlib.utils.errors import AttnlibError, ConfigError
from attnlib.utils.extras import needs
from attnlib.utils.files import check_out


class Group(click.Group):
    """Errors of the kit become one readable message and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (AttnlibError, OSError) as error:
            if getattr(error, "errno", None) == errno.EPIPE:
                raise  # the reader of our output is gone: click handles it
            click.echo(f"Error: {error}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="attnlib")
def main() -> None:
    """Is attention an explanation? Audit your classifier, run the notebooks, list what is available."""
    warnings.formatwarning = lambda message, *_, **__: f"Warning: {message}\n"  # without file and line


FOLDER = click.Path(path_type=Path)
READING = {
    "--text": {"help": "Column of the texts, where it is not found."},
    "--label": {"help": "Column of the labels, where it is not found."},
    "--split": {"help": "Column that says train, dev or test, where it is not found; none: draw one."},
    "--encoding": {"help": "Of a table, such as latin-1; default: UTF-8."},
    "--sep": {"help": "Sign between the cells of a table, where it is not found."},
    "--header/--no-header": {"default": None, "help": "Whether row 1 names the columns, if in doubt."},
    "--drop-missing": {"is_flag": True, "default": None, "help": "Leave out rows without a label."},
}
"""What a table may need to be read: the options that messages about tables name."""


def reading(command: Any) -> Any:
    """A command with these options."""
    for name, how in READING.items():
        command = click.option(name, **how)(command)
    return command


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that were given."""
    return {name: None if value == "none" else value for name, value in options.items() if value is not None}


def _read_so(params: Sequence[tuple[str, str]], options: dict[str, Any]) -> list[tuple[str, str]]:
    """The parameters, with these options for every table that they name."""
    from attnlib.data.corpora import with_options

    given = [(name, yaml.safe_load(text)) for name, text in params]
    changed = [(name, with_options(value, options)) for name, value in given]
    if changed == given:
        raise ConfigError(
            f"--{next(iter(options)).replace('_', '-')} is for a table: name one with -p corpus FILE."
        )
    return [(name, yaml.safe_dump(value)) for name, value in changed]


@main.command()
@click.argument("notebooks", nargs=-1, required=True, metavar="NOTEBOOK... | all")
@click.option("--profile", default="smoke", show_default=True, help="Size of the run: smoke, cpu or paper.")
@click.option("-p", "params", nargs=2, multiple=True, metavar="NAME VALUE", help="Set a parameter (VALUE is YAML).")
@click.option("--out", default="reports", show_default=True, type=FOLDER, help="Folder of reports.")
@click.option("--executor", default="local", show_default=True, help="serial, local or dask:ADDRESS.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at once for local; default: one per core.")
@click.option("--dry-run", is_flag=True, help="Check everything, print what would run, run nothing.")
@reading
def run(
    notebooks: tuple[str, ...],
    profile: str,
    params: tuple[tuple[str, str], ...],
    out: Path,
    executor: str,
    jobs: int | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Run notebooks and write OUT/<notebook>/<profile>/report.html.

    Every parameter is checked before the first notebook starts. A run whose parameters differ from the profile's
    has its own folder, <profile>-<digest>. Only a complete report replaces an earlier one; a run that failed or was
    interrupted is kept in <folder>.failed.

    The exit code is 0 when all reports are complete, 1 when a notebook failed (its report shows where), 2 when
    something asked for does not exist or cannot be written, 130 after Ctrl-C.

    \b
    attnlib run 00_quickstart --profile cpu -p corpus imdb -p repeats 3
    attnlib run 00_quickstart -p corpus "{path: reviews.csv, text: Review, label: Liked}"
    attnlib run all --profile paper --executor dask:tcp://head:8786 --dry-run
    """
    from attnlib.reports import execute
    from attnlib.store.executors import check_executor
    from attnlib.studies.study import planned as plans

    check_executor(executor, jobs)
    planned = plans(notebooks, profile, _read_so(params, given) if (given := _given(options)) else params)
    checked = check(planned)
    absent = [text for one in checked for text in one.absent]
    if absent and not dry_run:
        raise ConfigError("\n".join([*absent, "Bring these files, or name others with -p."]))
    check_out(out)
    if dry_run:
        from attnlib.store.executors import cores

        for one in checked:
            _describe(one, out, jobs or (1 if executor == "serial" else cores()))
        return
    for package in ("papermill", "nbconvert"):
        needs(package, "notebooks")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster's time limit counts as Ctrl-C too
    outcomes = execute.run_all(planned, out.resolve(), executor, jobs, _tell)
    click.echo(f"All reports: {out / 'index.html'}")
    ended = {outcome.status for outcome in outcomes}
    if "interrupted" in ended:
        click.echo("Interrupted. What was done is kept; the same command starts the notebook again.", err=True)
    sys.exit(130 if "interrupted" in ended else int("failed" in ended))


class Checked(NamedTuple):
    """A plan, the `Params` of its study (None without one), and files that the user must bring."""

    plan: Any
    params: Any
    absent: Sequence[str]


def check(plans: Sequence[Any]) -> list[Checked]:
    """Refuse what a study refuses; all problems are in one error."""
    from attnlib.reports.parameters import located
    from attnlib.studies.study import params_of

    found, problems = [], []
    for plan in plans:
        name, kind = plan.notebook.name, params_of(plan.notebook.name)
        try:
            params = kind.of(plan.values) if kind else None
            absent = [f"{name}: {option}: {text}" for option, text in params.absent()] if params else []
            found.append(Checked(plan, params, absent))
        except ConfigError as error:
            problems.append(located(error, name))
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def _tell(outcome: Any) -> None:
    """Say how a run ended, and where its report is."""
    from attnlib.utils.text import duration

    head = f"{outcome.plan.notebook.name} ({outcome.plan.folder})"
    if outcome.status == "done":
        click.echo(f"✓ {head} {duration(outcome.seconds)}  {outcome.folder / 'report.html'}")
        return
    lines = [f"✗ {head} {outcome.status} in cell {outcome.cell} of {outcome.total}"]
    lines += [f"    {line}" for line in [*outcome.error.splitlines()[-8:], outcome.folder / "report.html"]]
    click.echo("\n".join(lines), err=True)


def _describe(checked: Checked, out: Path, jobs: int) -> None:
    """What a run would do: its values, the files it waits for, and what of it is in the store."""
    from attnlib.store.grid import outlook
    from attnlib.studies.study import study_for

    plan = checked.plan
    click.echo(f"{plan.notebook.name} ({plan.profile}): {plan.notebook.title}")
    click.echo(f"  writes {out / plan.notebook.name / plan.folder}")
    for name, value in plan.values.items():
        click.echo(f"  {name} = {value!r}")
    for text in checked.absent:
        click.echo(f"  to bring: {text}")
    if checked.params is not None and (grid := study_for(plan.notebook.name).grid(checked.params)):
        click.echo(f"  {outlook(grid, jobs=jobs)}")


@main.command("list")
@click.argument("kind", type=click.Choice([*LISTS, "params"]))
@click.argument("notebook", required=False)
def list_(kind: str, notebook: str | None) -> None:
    """Print the names that can be used: of corpora, parts of models, the parameters of a NOTEBOOK.

    \b
    attnlib list corpora
    attnlib list params 01_tasc
    """
    if kind == "params" and notebook is None:
        raise ConfigError("Whose parameters? Write `attnlib list params NOTEBOOK`.")
    rows = LISTS[kind]() if kind in LISTS else params_of(notebook)
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        for k, line in enumerate(text.split("\n")):
            click.echo(f"{'' if k else name:<{width}}  {line}")


@main.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--force", is_flag=True, help="Overwrite what is in DIR.")
def notebooks(folder: Path, force: bool) -> None:
    """Copy the notebooks and their parameter files to DIR, to edit them.

    attnlib notebooks my-notebooks
    """
    from attnlib.reports.plan import copy_out

    copy_out(folder, force=force)
    own = folder.resolve() / "notebooks"
    click.echo(f"Run one of {own} by its path, or set ATTNLIB_NOTEBOOKS={own} to run them by name.")


@main.command()
@click.argument("out", metavar="REPORTS", type=FOLDER)
@click.argument("to", metavar="DIR", type=FOLDER)
@click.option("--profile", default="cpu", show_default=True, help="Which reports to show.")
def gallery(out: Path, to: Path, profile: str) -> None:
    """Copy finished reports to DIR as a static site, in place of what is there.

    attnlib gallery reports site
    """
    from attnlib.reports.series import gallery as make

    click.echo(f"{len(make(out, to, profile))} reports in {to / 'index.html'}.")


@main.command()
@click.argument("data", metavar="DATA")
@reading
@click.option("--model", help="A saved attnlib model or a Hugging Face classifier: a folder or a hub id.")
@click.option("--scores", help="An explanation to audit in place of attention: columns id and scores.")
@click.option(
    "--budget", default=10.0, show_default=True, type=click.FloatRange(min=0.01), help="Minutes to spend."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--out", default="audit", show_default=True, type=FOLDER, help="Folder to write.")
def audit(
    data: str, model: str | None, out: Path, scores: str | None, budget: float, seed: int, **options: Any
) -> None:
    """Can attention be read as an explanation of my classifier, and if not, what is the cheapest repair?

    DATA is a table (csv, tsv, jsonl, parquet) with a text and a label column, the name of a corpus, or a mapping
    such as "{path: reviews.csv, encoding: latin-1}". Without --model a BiLSTM with attention is trained on it.
    Writes OUT/card.html and OUT/audit.json.

    The exit code is 0 when attention may be read, 1 when it must not be read, 3 when that stays undetermined, and 2
    when the data, the model or an option cannot be used or the audit breaks off, 130 after Ctrl-C.

    \b
    attnlib audit reviews.csv --text body --label stars --budget 3
    attnlib audit reviews.csv --model distilbert/distilbert-base-uncased-finetuned-sst-2-english
    """
    begun = time.monotonic()
    from attnlib.auditing.run import audit as run
    from attnlib.utils.text import duration

    check_out(out)
    try:
        card = run(model, data, scores=scores, budget=budget, seed=seed, **_given(options))
    except (AttnlibError, OSError):
        raise
    except Exception:  # Python would exit with 1, which is an answer here
        traceback.print_exc()
        sys.exit(2)
    click.echo(repr(card))  # first: a disk that is full by now takes the page, and not the answer
    file = card.save(out / "card.html")
    click.echo(f"{file} and {file.with_name('audit.json')}, {duration(time.monotonic() - begun)}")
    sys.exit(card.exit_code)


@main.group()
def runs() -> None:
    """Finished runs in ATTNLIB_STORE: list them, free their space.

    \b
    attnlib runs list
    attnlib runs gc --stale --older-than 30 --dry-run
    """


@runs.command("list")
def list_runs() -> None:
    """One line per run: key, what it is, how long it took, its size and age."""
    from attnlib.store.entries import Store
    from attnlib.utils.text import filesize

    store = Store()
    rows = _rows(store)
    for row in rows:
        click.echo(row["line"])
    click.echo(f"{len(rows)} runs ({filesize(sum(row['size'] for row in rows))}) in {store.root}")


@runs.command()
@click.option("--older-than", type=float, metavar="DAYS", help="Remove runs finished more days ago than this.")
@click.option("--stale", "outdated", is_flag=True, help="Remove runs made by another version of the kit.")
@click.option("--dry-run", is_flag=True, help="Preview deletions; remove nothing.")
def gc(older_than: float | None, outdated: bool, dry_run: bool) -> None:
    """Remove old or outdated runs."""
    from attnlib.store.entries import Store
    from attnlib.store.sources import KIT  # a user's own parts are not known here
    from attnlib.utils.text import filesize

    store = Store()
    rows = _rows(store)
    limit = math.inf if older_than is None else older_than * 86400
    doomed = [row for row in rows if row["age"] > limit or (outdated and row["code"] != KIT)]
    verb = "would be removed" if dry_run else "removed"
    for row in doomed:
        click.echo(f"{verb}: {row['line']}")
    if not dry_run:
        for row in doomed:
            store.remove(row["key"])
    size = filesize(sum(row["size"] for row in doomed))
    click.echo(f"{len(doomed)} runs ({size}) {verb} in {store.root}")


def _rows(store: Any) -> list[dict[str, Any]]:
    """Finished runs, the newest first. A damaged one is removed with a warning."""
    from attnlib.utils.text import duration, filesize

    rows = []
    for entry, spec, environment in store.described():
        age = (datetime.now(UTC) - datetime.fromisoformat(environment["finished"])).total_seconds()
        task = " ".join([spec["task"].rpartition(".")[2], *map(str, spec["columns"].values())])
        took = f"{duration(environment['seconds'])}, {filesize(entry.size)}, {duration(age)} ago"
        line = f"{entry.key[:12]}  {task:<60}  {took}"
        code = spec["code"].get("attnlib")
        rows.append({"key": entry.key, "code": code, "size": entry.size, "age": age, "line": line})
    return sorted(rows, key=lambda row: row["age"])
