"""`attnlib audit`: a table in, a card out."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from attnlib.cli import examples


@click.command(epilog=examples("audit"))
@click.argument("data", metavar="DATA")
@click.option("--text", help="Column of the texts, where it is not found.")
@click.option("--label", help="Column of the labels, where it is not found.")
@click.option("--split", help="Column that says train, dev or test, where it is not found.")
@click.option("--model", help="A saved attnlib model or a Hugging Face classifier: a folder or a hub id.")
@click.option(
    "--scores", help="An explanation made elsewhere, to audit in place of attention: columns id and scores."
)
@click.option(
    "--budget",
    default=10.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Minutes to spend.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--out",
    default="audit",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write.",
)
def audit(data: str, model: str | None, out: Path, **options: Any) -> None:
    """May attention be read as an explanation of my classifier, and if not, what is the cheapest repair?

    DATA is a table (csv, tsv, jsonl, parquet) with a text and a label column, or the name of a corpus. Without
    --model a BiLSTM with attention is trained on it. Writes OUT/card.html and OUT/audit.json.

    The exit code is 0 when attention may be read, 1 when it must not be read, 3 when that stays undetermined, and 2
    when the data, the model or an option cannot be used.
    """
    begun = time.monotonic()
    from attnlib.audit.run import audit as run
    from attnlib.utils.text import duration

    out.mkdir(parents=True, exist_ok=True)
    card = run(model, data, **options)
    file = card.save(out / "card.html")
    click.echo(repr(card))
    click.echo(f"{file} and {file.with_name('audit.json')}, {duration(time.monotonic() - begun)}")
    sys.exit(card.exit_code)
