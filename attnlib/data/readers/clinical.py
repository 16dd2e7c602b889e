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
from typing import Any

from attnlib.data.preprocess import JAIN_WALLACE
from attnlib.data.readers.base import register_corpus
from attnlib.data.readers.table import table
from attnlib.data.types import RawCorpus
from attnlib.utils.errors import DataError

MIMIC = {
    "source": "MIMIC-III v1.4 (physionet.org, credentialed access); you bring the table",
    "citation": "Johnson et al. 2016: MIMIC-III, a freely accessible critical care database. Scientific Data 3.",
}
TWEETS = {
    "source": "Twitter ADR corpus; you bring the table",
    "citation": "Nikfarjam et al. 2015: Pharmacovigilance from social media. JAMIA 22(3).",
}
NOTES = JAIN_WALLACE.replace(clean="mimic")


def _register(name: str, summary: str, origin: dict[str, str], **prepared: Any) -> None:
    """Register a corpus whose table the user brings and whose preparation is Jain & Wallace's."""

    @register_corpus(name, kind="raw", summary=f"{summary} (your own table)", **origin)
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
        return replace(raw, name=name, source="", **prepared)


ANEMIA = "MIMIC-III discharge summaries: acute or chronic anemia"
DIABETES = "MIMIC-III discharge summaries: diabetes or not"
REACTION = "Tweets: adverse drug reaction or not"
_register("anemia", ANEMIA, MIMIC, preprocessing=NOTES, min_df=5, length_filter=(None, 4000))
_register("diabetes", DIABETES, MIMIC, preprocessing=NOTES, min_df=5, length_filter=(6, 4000))
_register("adr", REACTION, TWEETS, preprocessing=JAIN_WALLACE, min_df=2, length_filter=(5, 100))
