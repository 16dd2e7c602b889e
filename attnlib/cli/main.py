"""The command line. Everything heavy is imported when it is needed: a wrong parameter is refused in a moment."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import yaml

from attnlib import __version__
from attnlib.cli import examples
from attnlib.cli.runs import runs
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.utils.extras import needs
from attnlib.utils.files import hint


class Refused(click.ClickException):
    """Something asked for does not exist or cannot be done."""

    exit_code = 2


class Group(click.Group):
    """Errors of the kit become one readable message and exit code 2; an unknown command names the nearest."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise click.UsageError(unknown("command", args[0], self.commands))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        usual = warnings.formatwarning
        warnings.formatwarning = lambda message, *_, **__: f"Warning: {message}\n"  # without file and line
        try:
            return super().invoke(ctx)
        except AttnlibError as error:
            raise Refused(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of our output is gone: click handles it
            place = f" ({error.filename})" if error.filename else ""
            raise Refused(f"{error.strerror or error}{place}.{hint(str(error))}") from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        finally:
            warnings.formatwarning = usual


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples("attnlib"),
)
@click.version_option(__version__, prog_name="attnlib")
def main() -> None:
    """Is attention an explanation? Audit your classifier, run the notebooks, list what is available."""


FOLDER = click.Path(path_type=Path)
MINUTES = click.FloatRange(min=0, min_open=True)
WHERE = "Where the work is done: in this process, in processes on this machine, on a Dask cluster."


def reading(command: Any) -> Any:
    """What a table may need to be read: the options that messages about tables name."""
    for option in (
        click.option("--text", help="Column of the texts, where it is not found."),
        click.option("--label", help="Column of the labels, where it is not found."),
        click.option("--split", help="Column that says train, dev or test, where it is not found; none: draw one."),
        click.option("--encoding", help="Of a table, such as latin-1; default: UTF-8."),
        click.option("--sep", help="Sign between the cells of a table, where it is not found."),
        click.option("--header/--no-header", default=None, help="Whether row 1 names the columns, if in doubt."),
        click.option("--drop-missing", is_flag=True, default=None, help="Leave out rows without a label."),
    ):
        command = option(command)
    return command


def _reading(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that were given."""
    return {name: None if value == "none" else value for name, value in options.items() if value is not None}


def _read_so(params: list[tuple[str, str]], options: dict[str, Any]) -> list[tuple[str, str]]:
    """The parameters, with these options for every table that they name."""
    if not options:
        return params
    from attnlib.data.corpora import with_options

    given = [(name, yaml.safe_load(text)) for name, text in params]
    changed = [(name, with_options(value, options)) for name, value in given]
    if changed == given:
        told = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise ConfigError(f"{told} is for a table: name one with -p corpus FILE.")
    return [(name, yaml.safe_dump(value)) for name, value in changed]


@main.command(epilog=examples("run"))
@click.argument("notebooks", nargs=-1, required=True, metavar="NOTEBOOK... | all")
@click.option("--profile", default="smoke", show_default=True, help="Size of the run: smoke, cpu or paper.")
@click.option("-p", "params", nargs=2, multiple=True, metavar="NAME VALUE", help="Set a parameter (VALUE is YAML).")
@click.option("--name", help="Name of the run: its report goes to OUT/<notebook>/<profile>-<name>.")
@click.option("--out", default="reports", show_default=True, type=FOLDER, help="Folder of reports.")
@click.option("--executor", default="local", show_default=True, metavar="serial|local|dask:ADDRESS", help=WHERE)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at once for local; default: one per core.")
@click.option("--dry-run", is_flag=True, help="Check everything, print what would run, run nothing.")
@reading
def run(
    notebooks: tuple[str, ...],
    profile: str,
    params: tuple[tuple[str, str], ...],
    name: str | None,
    out: Path,
    executor: str,
    jobs: int | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Run notebooks and write OUT/<notebook>/<profile>/report.html.

    Every parameter is checked before the first notebook starts. A run whose parameters differ from the profile's
    has its own folder, <profile>-<name> or <profile>-<digest>. Only a complete report replaces an earlier one;
    a run that failed or was interrupted is kept in <folder>.failed.

    The exit code is 0 when all reports are complete, 1 when a notebook failed (its report shows where), 2 when
    something asked for does not exist or cannot be written, 130 after Ctrl-C.
    """
    from attnlib.reports import execute
    from attnlib.store.executors import check_executor
    from attnlib.studies.study import planned as plans

    check_executor(executor, jobs)
    planned = plans(notebooks, profile, _read_so(list(params), _reading(options)), name)
    checked = check(planned)
    absent = [text for one in checked for text in one.absent]
    if absent and not dry_run:
        raise ConfigError("\n".join([*absent, "Bring these files, or name others with -p."]))
    execute.check_out(planned, out)
    if dry_run:
        from attnlib.store.executors import cores

        for one in checked:
            _describe(one, out, jobs or (1 if executor == "serial" else cores()))
        return
    for package in ("papermill", "nbconvert", "ipykernel"):
        if find_spec(package) is None:  # they are imported where they work
            needs(package, "notebooks")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster's time limit counts as Ctrl-C too
    outcomes = execute.run_all(planned, out.resolve(), executor, jobs, _tell)
    click.echo(f"All reports: {_short(out.resolve() / 'index.html')}")
    if any(outcome.status == "interrupted" for outcome in outcomes):
        click.echo("Interrupted. What was done is kept; the same command starts the notebook again.", err=True)
        sys.exit(130)
    if any(outcome.status == "failed" for outcome in outcomes):
        sys.exit(1)


@dataclass(frozen=True)
class Checked:
    """A plan with values that its study accepts.

    study, params  None for a notebook without a study
    absent         files that the profile expects from the user and that are missing, one sentence each
    """

    plan: Any
    study: Any = None
    params: Any = None
    absent: tuple[str, ...] = ()


def check(plans: Sequence[Any]) -> list[Checked]:
    """Refuse what a study refuses, and missing files that `-p` names; all problems are in one error."""
    from attnlib.reports.parameters import located
    from attnlib.studies.study import study_for

    found, problems = [], []
    for plan in plans:
        name = plan.notebook.name
        try:
            if (study := study_for(name)) is None:
                found.append(Checked(plan))
                continue
            params = study.Params.of(plan.values)
            wrong = [(option, f"{option}: {text}") for option, text in params.absent()]
            if now := [text for option, text in wrong if option in plan.own]:
                raise ConfigError("\n".join(now))
            found.append(Checked(plan, study, params, tuple(f"{name}: {text}" for _, text in wrong)))
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
        click.echo(f"✓ {head} {duration(outcome.seconds)}  {_short(outcome.report)}")
        return
    click.echo(f"✗ {head} {outcome.status} in cell {outcome.cell} of {outcome.total}", err=True)
    if outcome.status == "failed":
        source = outcome.source.splitlines()
        shown = [*source[:8], "…"] if len(source) > 8 else source
        click.echo("".join(f"    | {line}\n" for line in shown), nl=False, err=True)
        click.echo("".join(f"    {line}\n" for line in outcome.error.splitlines()[-8:]), nl=False, err=True)
    click.echo(f"    {_short(outcome.report)}\n    {_short(outcome.folder / 'run.ipynb')}", err=True)


def _describe(checked: Any, out: Path, jobs: int) -> None:
    """What would run: every parameter, the files to bring, the runs of the study's grid and their cost."""
    from attnlib.reports.execute import place

    plan = checked.plan
    click.echo(f"{plan.notebook.name} ({plan.profile}): {plan.notebook.title}")
    click.echo(f"  writes {place(plan, out)}")
    for name, value in plan.values.items():
        default = plan.notebook.parameters[name].default
        was = f"   (default {default!r})" if name in plan.changed else ""
        click.echo(f"  {name} = {value!r}{was}")
    for text in checked.absent:
        click.echo(f"  to bring: {text.removeprefix(f'{plan.notebook.name}: ')}")
    if checked.study is not None and (grid := checked.study.grid(checked.params)):
        from attnlib.store.grid import outlook

        click.echo(f"  {outlook(grid, jobs=jobs)}")


@main.command("list", epilog=examples("list"))
@click.argument("kind", metavar="KIND")
@click.argument("notebook", required=False)
def list_(kind: str, notebook: str | None) -> None:
    """Print the names that can be used.

    KIND is corpora, encoders, attentions, projections, scalings, regularisers, vectors, importances, notebooks,
    profiles, or params with the name of a NOTEBOOK.
    """
    from attnlib.cli.listing import LISTS, params

    if kind not in (*LISTS, "params"):
        raise UnknownName(unknown("list", kind, (*LISTS, "params")))
    if (notebook is not None) != (kind == "params"):
        wrong = "`attnlib list params` needs a notebook" if kind == "params" else f"{kind!r} takes no second name"
        raise ConfigError(f"{wrong}; write `attnlib list params NOTEBOOK`.")
    rows = LISTS[kind]() if notebook is None else params(notebook)
    if not rows:
        click.echo(f"There are no {kind}.")
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        for k, line in enumerate(text.split("\n")):
            click.echo(f"{'' if k else name:<{width}}  {line}".rstrip())


@main.command(epilog=examples("notebooks"))
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--force", is_flag=True, help="Overwrite files in DIR that differ.")
def notebooks(folder: Path, force: bool) -> None:
    """Copy the notebooks and their parameter files to DIR, to edit them."""
    from attnlib.reports.plan import copy_out

    written = copy_out(folder, force=force)
    click.echo(f"{len(written)} files written to {folder}." if written else f"{folder} has all of them already.")
    click.echo(
        f"Run one by its path, or set ATTNLIB_NOTEBOOKS={folder.resolve() / 'notebooks'} to run them by name."
    )


@main.command(epilog=examples("gallery"))
@click.argument("out", metavar="REPORTS", type=FOLDER)
@click.argument("to", metavar="DIR", type=FOLDER)
@click.option("--profile", default="cpu", show_default=True, help="Which reports to show.")
def gallery(out: Path, to: Path, profile: str) -> None:
    """Copy finished reports to DIR as a static site, in place of what is there."""
    from attnlib.reports.series import gallery as make

    click.echo(f"{len(make(out, to, profile))} reports in {_short(to / 'index.html')}.")


@main.command(epilog=examples("audit"))
@click.argument("data", metavar="DATA")
@reading
@click.option("--model", help="A saved attnlib model or a Hugging Face classifier: a folder or a hub id.")
@click.option("--scores", help="An explanation to audit in place of attention: columns id and scores.")
@click.option("--budget", default=10.0, show_default=True, type=MINUTES, help="Minutes to spend.")
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
    """
    begun = time.monotonic()
    from attnlib.auditing.run import audit as run
    from attnlib.utils.files import check_out
    from attnlib.utils.text import duration

    check_out(out)
    try:
        card = run(model, data, scores=scores, budget=budget, seed=seed, **_reading(options))
    except (AttnlibError, OSError):
        raise
    except Exception:  # Python would exit with 1, which is an answer here
        traceback.print_exc()
        sys.exit(2)
    click.echo(repr(card))  # first: a disk that is full by now takes the page, and not the answer
    file = card.save(out / "card.html")
    click.echo(f"{file} and {file.with_name('audit.json')}, {duration(time.monotonic() - begun)}")
    sys.exit(card.exit_code)


main.add_command(runs)


def _short(path: Path) -> str:
    """Relative to the working directory, when that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
