"""`attnlib export`: the tables and figures of a finished report as files for a paper."""

from __future__ import annotations

from pathlib import Path

import click

from attnlib.cli import examples


@click.command(epilog=examples("export"))
@click.argument("report", metavar="REPORT", type=click.Path(path_type=Path))
@click.option(
    "--to", required=True, metavar="csv|latex|svg|png|pdf", help="Tables as csv or latex, figures as the others."
)
@click.option("--only", multiple=True, metavar="NAME", help="This table or figure alone; may be repeated.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: REPORT/export.")
def export(report: Path, to: str, only: tuple[str, ...], out: Path | None) -> None:
    """Write the tables or the figures of a finished report as files, with the names they have in the report.

    REPORT is its folder, its report.html, or NOTEBOOK/PROFILE within reports. LaTeX needs booktabs for tables and
    xcolor for heat maps.
    """
    from attnlib.reports.export import export as write
    from attnlib.reports.export import folder_of

    written = write(folder_of(report), to, out, only)
    click.echo(f"{len(written)} files in {written[0].parent}." if written else f"This report has nothing for {to}.")
