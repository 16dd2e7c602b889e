"""Corpora that nobody may hand on: MIMIC Anemia and Diabetes, and ADR tweets, from a table that you make.

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

from attnlib.data.corpora import register_corpus
from attnlib.data.preprocess import JAIN_WALLACE
from attnlib.data.raw import RawCorpus
from attnlib.utils.errors import DataError

MIMIC = "MIMIC-III v1.4 (physionet.org, credentialed access); you bring the table"
MIMIC_CITATION = "Johnson et al. 2016: MIMIC-III, a freely accessible critical care database. Scientific Data 3."
_NOTES = JAIN_WALLACE.replace(clean="mimic")


@register_corpus(
    "anemia",
    kind="raw",
    summary="MIMIC-III discharge summaries: acute or chronic anemia (your own table)",
    source=MIMIC,
    citation=MIMIC_CITATION,
)
def anemia(
    path: str | None = None, *, text: str = "text", label: str = "label", split: str | None = "auto"
) -> RawCorpus:
    """A table of discharge summaries, label 1 for acute (285.1) and 0 for chronic anemia (285.2)."""
    raw = _table("anemia", path, text, label, split)
    return replace(
        raw, preprocessing=_NOTES, min_df=5, length_filter=(None, 4000), source=MIMIC, citation=MIMIC_CITATION
    )


@register_corpus(
    "diabetes",
    kind="raw",
    summary="MIMIC-III discharge summaries: diabetes or not (your own table)",
    source=MIMIC,
    citation=MIMIC_CITATION,
)
def diabetes(
    path: str | None = None, *, text: str = "text", label: str = "label", split: str | None = "auto"
) -> RawCorpus:
    """A table of discharge summaries, label 1 where an ICD-9 code starts with 250.00."""
    raw = _table("diabetes", path, text, label, split)
    return replace(
        raw, preprocessing=_NOTES, min_df=5, length_filter=(6, 4000), source=MIMIC, citation=MIMIC_CITATION
    )


@register_corpus(
    "adr",
    kind="raw",
    summary="Tweets: adverse drug reaction or not (your own table)",
    source="Twitter ADR corpus; you bring the table",
    citation="Nikfarjam et al. 2015: Pharmacovigilance from social media. JAMIA 22(3).",
)
def adr(
    path: str | None = None, *, text: str = "text", label: str = "label", split: str | None = "auto"
) -> RawCorpus:
    """A table of tweets, label 1 where one reports an adverse drug reaction."""
    raw = _table("adr", path, text, label, split)
    return replace(
        raw,
        preprocessing=JAIN_WALLACE,
        min_df=2,
        length_filter=(5, 100),
        source="Twitter ADR corpus",
        citation="Nikfarjam et al. 2015: Pharmacovigilance from social media. JAMIA 22(3).",
    )


def _table(name: str, path: str | None, text: str, label: str, split: str | None) -> RawCorpus:
    from attnlib.data.readers.table import table

    if path is None:
        raise DataError(
            f"{name}: attnlib may not ship this corpus. Make a csv with the columns text, label and, if you have "
            f"it, split, and say load_corpus({name!r}, path='{name}.csv'). The docstring of "
            "attnlib.data.readers.clinical tells how the papers prepared it."
        )
    raw = table(path, text=text, label=label, split=split, query=None, rationale=None)
    return replace(raw, name=name)
