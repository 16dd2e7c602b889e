"""Tables of the erasure study, worked by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies.erasure import numbers
from attnlib.studies.erasure.measures import RANKINGS, TOPS
from attnlib.studies.study import Study
from tests.studies.erasure.frames import MODELS, beyond, few, firsts, singles, study, trained

TABLES = Study("erasure").tables
CELLS = [(True, True)] * 1 + [(True, False)] * 3 + [(False, True)] * 2 + [(False, False)] * 4
FLIPS = {
    "random": [10, 9, 8, None],
    "alpha": [5, 6, 10, 10],
    "grad_alpha": [1, 2, 10, 3],
    "alpha_grad": [1, 2, 3, 4],
}
NEVER = {name: [None, None] for name in RANKINGS}
ONCE = {name: [3, None] for name in RANKINGS}


def table(name: str, single=None, fractions=None, index: str = "model") -> pd.DataFrame:
    """A table of the study on frames worked by hand, two trainings that do the same."""
    single = singles(CELLS) if single is None else single
    fractions = firsts(FLIPS) if fractions is None else fractions
    return TABLES[name].frame(study([single], [fractions])).set_index(index)


def test_a_contingency_table_counts_percent_of_texts_with_another_item() -> None:
    row = table("flips", singles(CELLS, alone=5)).loc["HANrnn"]
    assert [float(row[name].split()[0]) for name in numbers.CELLS.values()] == [10.0, 30.0, 20.0, 40.0]
    assert (row["data set"], row["n"], row["texts"]) == ("d", 20, 10)
    assert row["top minus random"].startswith("10.0")


def test_the_authors_draws_are_a_table_of_their_own_next_to_the_papers() -> None:
    both = pd.concat([singles(CELLS), singles([(True, True)] * 10, sampling="authors", dataset="yelp")])
    row = table("flips_paper", both).loc["HANrnn"]
    assert row["both flip"].startswith("100.0")
    assert row["paper: neither flips"] == 87.7


def test_files_go_by_their_stem() -> None:
    assert table("flips", singles(CELLS, dataset="/somewhere/of/mine/reviews.csv"))["data set"].tolist() == [
        "reviews"
    ]


def test_the_tables_of_the_other_rankings_stand_below_each_other() -> None:
    both = pd.concat([singles(CELLS, importance="grad_alpha"), singles(CELLS[::2], importance="alpha_grad")])
    found = table("flips_rankings", both, index="ranking")
    assert found["texts"].to_dict() == {"gradient": 10, "product": 5}
    assert [text.split()[0] for text in found["both flip"]] == ["10.0", "20.0"]


def test_accuracy_stands_beside_the_papers() -> None:
    frames = [
        pd.DataFrame({"dataset": dataset, "encoder": "flan_rnn", "seed": 0, "instance": list("abcd")})
        for dataset in ("yelp", "20news", "amazon")
    ]
    right = pd.concat(frame.assign(value=[1.0, 1.0, 1.0, 0.0]) for frame in frames)
    found = TABLES["accuracy"].frame(study([singles(CELLS)], [firsts(FLIPS)]).replace(labels=right))
    found = found.set_index("data set")
    assert found.loc["yelp", "accuracy"].startswith("75.0")
    assert found["n"].tolist() == [4, 4, 4]
    paper = next(column for column in found if "paper" in column)
    assert found.loc[["yelp", "amazon"], paper].tolist() == [62.3, 56.6]
    assert pd.isna(found.loc["20news", paper])
    printed = TABLES["accuracy_paper"].frame(None).set_index("data set")
    assert printed.loc["yelp", ["FLANrnn", "HANnoenc"]].tolist() == [62.3, 58.6]


def test_single_removals_tell_where_attention_was_wrong() -> None:
    js, alpha = [0.3, 0.2, -0.01, 0.01], [0.5, 0.1, 0.02, 0.6]
    row = table("single", singles([(False, False)] * 4, delta_js=js, delta_alpha=alpha)).loc["HANrnn"]
    assert row["share ΔJS > 0"].startswith("0.750")
    assert row["Δα where ΔJS < 0"] == pytest.approx(0.02)
    assert row["Δα elsewhere"] == pytest.approx(0.5)
    assert row["n, Δα ≥ 0.4"] == 4, "two texts, two trainings"
    assert row["share ΔJS < 0.05 where Δα ≥ 0.4"] == 0.5


def test_first_items_are_compared_with_attention_text_by_text() -> None:
    frames = [
        singles([(True, False), (False, False)] * 5),
        singles([(False, False)] * 10, importance="grad_alpha"),
        singles([(True, False)] * 10, importance="alpha_grad"),
    ]
    row = table("top_flips", pd.concat(frames)).loc["HANrnn"]
    assert [row[name].split()[0] for name in ("attention", "gradient", "product")] == ["50.0", "0.0", "100.0"]
    assert row["gradient minus attention"].startswith("-50.0")
    assert row["product minus attention"].startswith("50.0")


def test_the_mean_is_over_what_flips_and_over_what_all_rankings_flip() -> None:
    found = table("fractions", fractions=firsts(FLIPS, alone=2), index="ranking")
    random, attention = found.loc["random"], found.loc["attention"]
    assert random["mean"].startswith("0.90")
    assert (random["n"], attention["n"]) == (6, 8)
    assert attention["mean"].startswith("0.78")
    assert attention["% above 0.5"].startswith("75.0")
    assert not any("paper" in column for column in found), "it prints none for this model"
    assert attention["mean, same texts"].startswith("0.70")


def test_late_flips_stand_beside_those_of_figure_6() -> None:
    found = table("fractions", fractions=firsts(FLIPS, encoder="flan_noenc", dataset="amazon"), index="ranking")
    assert found["paper: % above 0.5"].tolist() == [12.4, 2.8, 0.9, 0.5]


def test_what_never_flips_and_what_has_one_item_is_counted() -> None:
    row = table("excluded", fractions=firsts(FLIPS, alone=2)).loc["FLANrnn"]
    assert row[["one item", "never, random", "only when empty, attention"]].tolist() == [4, 2, 4]


def test_the_duel_counts_texts() -> None:
    """Texts: gradient alone flips, attention alone, both with attention first, neither; and one of one item."""
    removed = {"alpha": [None, 4, 3, None], "grad_alpha": [2, None, 5, None]}
    row = table("duel", fractions=firsts(removed, alone=1)).loc["FLANrnn"]
    assert (row["gradient faster"][:5], row["attention faster"][:5], row["n"]) == ("0.333", "0.667", 6)
    row = table("duel").loc["FLANrnn"]
    assert (row["gradient faster"][:5], row["attention faster"][:5]) == ("0.750", "0.000")


def test_rankings_are_compared_on_the_same_texts() -> None:
    row = table("rankings").loc["FLANrnn"]
    assert row["gradient minus attention"].startswith("-0.267")
    assert row["random minus attention"].startswith("0.200")
    assert row["texts"] == 3


def test_models_beyond_the_paper_stand_side_by_side() -> None:
    fractions = pd.concat([firsts(FLIPS, variant="lin"), firsts(FLIPS, variant="feat")])
    single = pd.concat([singles(CELLS).assign(variant=name) for name in ("lin", "feat")])
    right = pd.DataFrame({"variant": ["lin", "lin", "feat"], "value": [1.0, 0.0, 1.0]})
    found = TABLES["beyond"].frame(beyond(fractions, single, right)).set_index("variant")
    assert found["accuracy"].to_dict() == {"lin": 50.0, "feat": 100.0}
    assert found.loc["lin", "attention"].startswith("0.70"), "over the same three texts for each ranking"
    assert found.loc["lin", "top minus random"].startswith("10.0")
    assert found.loc["lin", "gradient faster"].startswith("0.75")


def test_contexts_are_means_over_models_that_count_alike() -> None:
    parts = [firsts(dict.fromkeys(RANKINGS, [2] * 4), encoder="han_rnn"), firsts(dict.fromkeys(RANKINGS, [6] * 8))]
    found = table("contexts", fractions=pd.concat([*parts, firsts(FLIPS, encoder="flan_noenc")]), index="context")
    assert found.index.tolist() == ["an rnn", "no encoder"]
    assert found.loc["an rnn", "attention"].startswith("0.40 [")
    assert found.loc["an rnn", ["trainings", "texts"]].tolist() == [4, 8]


def test_shares_keep_within_their_range_and_have_a_width() -> None:
    """All texts agree: the interval is that of a share that was never missed."""
    always = pd.concat([singles([(True, False)] * 30, importance=name) for name in TOPS])
    row = table("top_flips", always).loc["HANrnn"]
    low, high = map(float, row["product minus attention"].removeprefix("0.0 [").removesuffix("]").split(", "))
    assert -30 < low < -1 < 1 < high < 30


@pytest.mark.parametrize("texts", [0, 1])
def test_single_removals_of_no_text_and_of_one(texts: int) -> None:
    found = study([few(texts)], [firsts(FLIPS)])
    for name in ("single", "flips", "top_flips"):
        assert len(TABLES[name].frame(found)) == 6 * texts, name


@pytest.mark.parametrize(("removed", "rows"), [(NEVER, 0), (ONCE, 6)], ids=["nothing flips", "one text flips"])
def test_sets_where_hardly_anything_flips(removed, rows: int) -> None:
    fractions = pd.concat([firsts(removed, encoder=encoder) for encoder in MODELS], ignore_index=True)
    found = study([singles(CELLS)], [fractions])
    for name in ("duel", "rankings", "mass"):
        assert len(TABLES[name].frame(found)) == rows, name
    assert len(TABLES["fractions"].frame(found)) == 4 * rows
    assert len(trained(fractions)) == 2 * len(fractions)
