"""Tables of the erasure study, worked by hand."""

from __future__ import annotations

import pandas as pd

from attnlib.studies.erasure import numbers
from attnlib.studies.study import Study
from tests.studies.erasure.frames import firsts, singles, study

TABLES = Study("erasure").tables
CELLS = [(True, True)] * 1 + [(True, False)] * 3 + [(False, True)] * 2 + [(False, False)] * 4
FLIPS = {
    "random": [10, 9, 8, None],
    "alpha": [5, 6, 10, 10],
    "grad_alpha": [1, 2, 10, 3],
    "alpha_grad": [1, 2, 3, 4],
}


def table(name: str, single=None, fractions=None, index: str = "model") -> pd.DataFrame:
    """A table of the study on frames worked by hand, two trainings that do the same."""
    single = singles(CELLS) if single is None else single
    fractions = firsts(FLIPS) if fractions is None else fractions
    return TABLES[name].frame(study([single], [fractions])).set_index(index)


def test_the_authors_draws_are_next_to_the_papers() -> None:
    both = pd.concat([singles(CELLS), singles(CELLS, alone=5, sampling="authors", dataset="yelp")])
    row = table("flips_paper", both).loc["HANrnn"]
    assert [float(row[name].split()[0]) for name in numbers.CELLS.values()] == [10.0, 30.0, 20.0, 40.0]
    assert (row["dataset"], row["n"], row["texts"]) == ("yelp", 20, 10)
    assert row["paper: neither flips"] == 87.7


def test_the_mean_is_over_what_flips_and_over_what_all_rankings_flip() -> None:
    found = table("fractions", fractions=firsts(FLIPS, alone=2), index="ranking")
    random, attention = found.loc["random"], found.loc["attention"]
    assert random["mean"].startswith("0.90")
    assert (random["n"], attention["n"]) == (6, 8)
    assert attention["mean"].startswith("0.78")
    assert attention["% above 0.5"].startswith("75.0")
    assert not any("paper" in column for column in found), "it prints none for this model"
    assert attention["mean, same texts"].startswith("0.70")


def test_the_duel_counts_texts() -> None:
    """Texts: gradient alone flips, attention alone, both with attention first, neither; and one of one item."""
    removed = {"alpha": [None, 4, 3, None], "grad_alpha": [2, None, 5, None]}
    row = table("duel", fractions=firsts(removed, alone=1)).loc["FLANrnn"]
    assert (row["gradient faster"][:5], row["attention faster"][:5], row["n"]) == ("0.333", "0.667", 6)
    row = table("duel", fractions=firsts({"alpha": [None], "grad_alpha": [2]})).loc["FLANrnn"]
    assert row["gradient faster"].startswith("1.000"), "attention never flips"
    row = table("duel").loc["FLANrnn"]
    assert (row["gradient faster"][:5], row["attention faster"][:5]) == ("0.750", "0.000")
