"""Corpora that may not be redistributed: MIMIC Anemia and Diabetes, and ADR tweets, from a table that you make.

MIMIC-III needs a credentialed account (physionet.org) and tweets may only be shared as ids, so attnlib ships
neither. Make a csv (or tsv, jsonl, parquet) with these columns and load it by name; vocabulary threshold, cleaning
and length filter are then those of Jain & Wallace (2019):

| name | text | label | split | how the papers prepared it |
| --- | --- | --- | --- | --- |
| anemia | discharge summary | 1 acute (ICD-9 285.1), 0 chronic (285.2) | test 20 %, dev 15 % of the rest, stratified | patients with one of the two codes; `[** … **]` to `<DE>`, repeated signs collapsed, numbers to qqq |
| diabetes | discharge summary | 1 if an ICD-9 code starts with 250.00, else 0 | the id lists of MIMIC-50 (Mullenbach et al. 2018) | as above |
| adr | tweet | 1 if it reports an adverse drug reaction, else 0 | dev 15 % of train | Twitter ADR data of the SMM4H shared tasks (Nikfarjam et al. 2015; Sarker & Gonzalez 2015) |

    load_corpus("anemia", path="anemia.csv", strict_length_filter=True)

Without a split column, attnlib draws 80/10/10 itself and says so in the corpus's notes. TaSc adds min_df 2 (ADR) and
5 (MIMIC) as here, and cuts MIMIC at 2,200 words: `max_length=2200`.
"""  # noqa: E501  a table row is one line

from __future__ import annotations

from dataclasses import replace

from attnlib.data.readers.base import listed
from attnlib.data.readers.table import table
from attnlib.data.types import RawCorpus
from attnlib.utils.errors import DataError


def _register(name: str) -> None:
    """Register a corpus whose table the user brings."""

    @listed(name)
    def read(
        path: str | None = None, *, text: str = "text", label: str = "label", split: str | None = "auto"
    ) -> RawCorpus:
        if path is None:
            raise DataError(
                f"{name}: attnlib may not ship this corpus. Make a csv with the columns text, label and, if you "
                f"have it, split, and say load_corpus({name!r}, path='{name}.csv'). The docstring of "
                "attnlib.data.readers.clinical says how the papers prepared it."
            )
        raw = table(path, text=text, label=label, split=split, query=None, rationale=None)
        # without a source of its own, the corpus has the register's instead of the name of a file
        return replace(raw, name=name, source="")


for _name in ("anemia", "diabetes", "adr"):
    _register(_name)
