"""Tables of the erasure study, worked by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies.erasure import tables
from attnlib.studies.erasure.measures import RANKINGS, TOPS
from tests.studies.erasure.frames import MODELS, few, firsts, singles, trained

CELLS = [(True, True)] * 1 + [(True, False)] * 3 + [(False, True)] * 2 + [(False, False)] * 4


def test_a_contingency_table_counts_percent_of_texts_with_another_item():
    row = tables.contingency(singles(CELLS, alone=5)).iloc[0]
    assert row[list(tables.CELLS.values())].tolist() == [10.0, 30.0, 20.0, 40.0]
    assert (row["data set"], row["model"], row["n"], row["one item, left out"]) == ("d", "HANrnn", 10, 5)
    assert row["top minus random"].startswith("10.0")


def test_the_authors_draws_are_a_table_of_their_own():
    both = pd.concat([singles(CELLS), singles([(True, True)] * 10, sampling="authors")])
    assert tables.contingency(both)["both flip"].item() == 10.0
    assert tables.contingency(both, sampling="authors")["both flip"].item() == 100.0


def test_table_2_stands_as_printed():
    ours = pd.concat(singles(CELLS, sampling=name, dataset="amazon") for name in ("any other", "authors"))
    printed = tables.paper_contingency(ours).set_index("data set")
    assert printed.loc["yelp", "cell"].tolist() == list(tables.CELLS.values())
    assert printed.loc["yelp", "paper"].tolist() == [1.5, 8.9, 1.9, 87.7]
    assert list(dict.fromkeys(printed.index)) == ["yahoo", "imdb10", "amazon", "yelp"]
    assert tables.paper_contingency(singles(CELLS)).empty, "none of the corpora is ours"


def test_p_values_are_holms_over_the_models():
    clear = [singles([(True, False)] * 30 + [(False, False)] * 10, encoder=e) for e in ("han_rnn", "flan_rnn")]
    open_ = singles([(True, False), (False, True)] * 20, encoder="flan_conv")
    table = tables.contingency(trained(pd.concat([*clear, open_]))).set_index("model")
    assert table.index.tolist() == ["HANrnn", "FLANrnn", "FLANconv"]
    assert (table["p (Holm)"].iloc[:2] < 0.001).all()
    assert table["p (Holm)"].iloc[2] == 1.0
    assert table["trainings"].tolist() == [2, 2, 2]
    assert table["texts"].tolist() == [40, 40, 40]


def test_files_go_by_their_stem():
    table = tables.contingency(singles(CELLS, dataset="/somewhere/of/mine/reviews.csv"))
    assert table["data set"].tolist() == ["reviews"]


def test_table_2_is_compared_with_r_drawn_as_it_was():
    """The printed numbers are those of the released code's draws, so the difference is to ours drawn that way."""
    ours = pd.concat(
        singles(cells, sampling=name, dataset=dataset)
        for dataset in ("yelp", "imdb10")
        for name, cells in (("any other", CELLS), ("authors", [(True, True)] * 10))
    )
    table = tables.paper_contingency(ours, {"imdb10": "aclimdb"}).set_index(["data set", "cell"])
    both = table.loc[("yelp", "both flip")]
    assert (both["ours, r another item"][:4], both["ours, r as the code draws it"][:5]) == ("10.0", "100.0")
    assert (both["difference"], both["n"]) == (98.5, 10)
    other = table.loc[("imdb10", "both flip")]
    assert other["ours, r as the code draws it"].startswith("100.0")
    assert pd.isna(other["difference"]), "aclImdb has eight stars, the paper's corpus ten"


def test_the_tables_of_the_other_rankings_stand_below_each_other():
    both = pd.concat([singles(CELLS, importance="grad_alpha"), singles(CELLS[::2], importance="alpha_grad")])
    table = tables.contingency(both, TOPS[1:]).set_index("ranking")
    assert list(table.index) == ["gradient", "product"]
    assert table["n"].tolist() == [10, 5]
    assert table["both flip"].tolist() == [10.0, 20.0]


def test_accuracy_stands_beside_the_papers():
    frames = [
        pd.DataFrame({"dataset": dataset, "encoder": "flan_rnn", "seed": 0, "instance": list("abcd")})
        for dataset in ("yelp", "bbc", "amazon")
    ]
    right = pd.concat(frame.assign(value=[1.0, 1.0, 1.0, 0.0]) for frame in frames)
    table = tables.accuracy_table(right, {"amazon": "hub:amazon_reviews_multi"}).set_index("data set")
    assert table.loc["yelp", "accuracy"] == 75.0
    assert table["n"].tolist() == [4, 4, 4]
    assert table.loc["yelp", ["paper", "difference"]].tolist() == [62.3, pytest.approx(12.7)]
    assert table.loc["bbc", ["paper", "difference"]].isna().all()
    assert (table.loc["amazon", "paper"], pd.isna(table.loc["amazon", "difference"])) == (56.6, True)
    printed = tables.paper_accuracy().set_index("data set")
    assert printed.loc["yelp", ["FLANrnn", "HANnoenc"]].tolist() == [62.3, 58.6]


def test_facts_of_the_data_stand_above_the_papers_with_their_source():
    data = pd.DataFrame(
        {"dataset": "imdb10", "metric": ["avg_words", "test"], "value": [12.5, 1200], "std": [3.0, None]}
    )
    table = tables.data_table(data.astype({"std": float}), {"imdb10": "aclimdb"})
    assert table.iloc[0][["avg words", "test"]].tolist() == ["12.5 (3.0)", "1,200"]
    assert table.iloc[0]["read from"].startswith("aclimdb (eight stars")
    assert table.set_index("data set").loc["amazon", ["train and dev", "read from"]].tolist() == ["3,000,000", "–"]


def test_single_removals_tell_where_attention_was_wrong():
    js, alpha = [0.3, 0.2, -0.01, 0.01], [0.5, 0.1, 0.02, 0.6]
    row = tables.single_table(singles([(False, False)] * 4, delta_js=js, delta_alpha=alpha)).iloc[0]
    assert row["share ΔJS > 0"].startswith("0.750")
    assert row["share ΔJS < 0"] == 0.25
    assert row["Δα where ΔJS < 0"] == pytest.approx(0.02)
    assert row["Δα elsewhere"] == pytest.approx(0.5)
    assert row["n, Δα ≥ 0.4"] == 2
    assert row["share ΔJS < 0.05 where Δα ≥ 0.4"] == 0.5


def test_first_items_are_compared_with_attention_text_by_text():
    frames = [
        singles([(True, False), (False, False)] * 5),
        singles([(False, False)] * 10, importance="grad_alpha"),
        singles([(True, False)] * 10, importance="alpha_grad"),
    ]
    row = tables.top_flips(pd.concat(frames)).iloc[0]
    assert row[["attention", "gradient", "product"]].tolist() == [50.0, 0.0, 100.0]
    assert row["gradient minus attention"].startswith("-50.0")
    assert row["product minus attention"].startswith("50.0")


FLIPS = {
    "random": [10, 9, 8, None],
    "alpha": [5, 6, 10, 10],
    "grad_alpha": [1, 2, 10, 3],
    "alpha_grad": [1, 2, 3, 4],
}


def test_the_mean_is_over_what_flips_and_over_what_all_rankings_flip():
    table = tables.fraction_table(firsts(FLIPS, alone=2)).set_index("ranking")
    random, attention = table.loc["random"], table.loc["attention"]
    assert random["mean"].startswith("0.90")
    assert random["n"] == 3
    assert attention["mean"].startswith("0.78")
    assert attention["% above 0.5"].startswith("75.0")
    assert "paper" not in table, "it prints none for this model"
    assert attention["mean, same texts"].startswith("0.70")
    assert (attention["n"], attention["n, same texts"]) == (4, 3)


def test_late_flips_stand_beside_those_of_figure_6():
    frame = firsts(FLIPS, encoder="flan_noenc", dataset="amazon")
    table = tables.fraction_table(frame).set_index("ranking")
    assert table["paper"].tolist() == [12.4, 2.8, 0.9, 0.5]
    assert table.loc[["random", "gradient"], "difference"].tolist() == pytest.approx([87.6, 24.1])
    other = tables.fraction_table(frame, {"amazon": "hub:amazon_reviews_multi"})
    assert (other["paper"].notna().all(), other["difference"].isna().all()) == (True, True)


def test_what_never_flips_and_what_has_one_item_is_counted():
    row = tables.excluded_table(firsts(FLIPS, alone=2)).iloc[0]
    assert row[["texts × trainings", "one item", "never, random", "items, median"]].tolist() == [6, 2, 1, 10]
    assert row["only when empty, attention"] == 2


def test_the_duel_counts_texts_and_gives_their_ratio():
    row = tables.duel_table(firsts(FLIPS)).iloc[0]
    assert row["gradient faster"].startswith("0.750")
    assert (row["attention faster"][:5], row["equal"]) == ("0.000", 0.25)
    assert row["ratio"] == float("inf")
    turned = tables.duel_table(firsts({"alpha": [1, 5, 2], "grad_alpha": [2, 4, 1]})).iloc[0]
    assert turned["ratio"] == pytest.approx(2.0)


def test_a_ranking_that_never_flips_loses_the_duel_and_its_text_counts():
    """Texts: gradient alone flips, attention alone, both with attention first, neither; and one of one item."""
    removed = {"alpha": [None, 4, 3, None], "grad_alpha": [2, None, 5, None]}
    row = tables.duel_table(firsts(removed, alone=1)).iloc[0]
    assert (row["gradient faster"][:5], row["attention faster"][:5], row["n"]) == ("0.333", "0.667", 3)
    assert (row["of all texts"], row["n, all texts"], row["ratio"]) == (0.25, 4, 0.5)


def test_a_duel_that_nobody_wins_keeps_its_row():
    row = tables.duel_table(firsts({"alpha": [None] * 3, "grad_alpha": [None] * 3})).iloc[0]
    assert (row["gradient faster"], row["n"], row["of all texts"], row["n, all texts"]) == ("–", 0, 0.0, 3)


def test_rankings_are_compared_on_the_same_texts():
    table = tables.ranking_contrasts(firsts(FLIPS)).set_index("ranking")
    assert table.loc["gradient", "minus attention"] == pytest.approx(-0.8 / 3)
    assert table.loc["random", "minus attention"] == pytest.approx(0.2)
    assert (table["n"] == 3).all()


def test_a_model_that_never_flips_keeps_its_row():
    never = {name: [None, None] for name in FLIPS}
    fractions = pd.concat([firsts(FLIPS, variant="lin"), firsts(never, variant="feat")])
    single = pd.concat([singles(CELLS).assign(variant=name) for name in ("lin", "feat")])
    right = pd.DataFrame({"variant": ["lin", "lin", "feat"], "value": [1.0, 0.0, 1.0]})
    table = tables.beyond_table(fractions, single, right).set_index("variant")
    assert table["accuracy"].to_dict() == {"lin": 50.0, "feat": 100.0}
    assert table["n"].to_dict() == {"lin": 3, "feat": 0}
    assert table.loc["feat", "attention"] == "–"
    assert table.loc["lin", "attention"].startswith("0.70"), (
        "the mean is over the same three texts for each ranking"
    )
    assert table["only the top item flips"].to_dict() == {"lin": 30.0, "feat": 30.0}
    assert table.loc["lin", "gradient faster"].startswith("0.750")
    assert table.loc["feat", "gradient faster"] == "–"


def test_contexts_are_means_over_models_that_count_alike():
    parts = [firsts(dict.fromkeys(RANKINGS, [2] * 4), encoder="han_rnn"), firsts(dict.fromkeys(RANKINGS, [6] * 8))]
    table = tables.context_table(trained(pd.concat([*parts, firsts(FLIPS, encoder="flan_noenc")])))
    assert table["encoder"].tolist() == ["an rnn", "no encoder"]
    assert table.loc[0, "attention"].startswith("0.40 [")
    assert table.loc[0, ["trainings", "texts"]].tolist() == [4, 8]


def test_shares_keep_within_their_range_and_have_a_width():
    """All texts agree: the interval is that of a share that was never missed."""
    always = trained(pd.concat([singles([(True, False)] * 30, importance=name) for name in TOPS]))
    row = tables.top_flips(always).iloc[0]
    low, high = map(float, row["product minus attention"].removeprefix("0.0 [").removesuffix("]").split(", "))
    assert -30 < low < -1 < 1 < high < 30
    table = tables.accuracy_table(always[always["importance"] == "alpha"].assign(value=1.0)).iloc[0]
    assert table["high"] == 100
    assert 80 < table["low"] < 100


NEVER = {name: [None, None] for name in RANKINGS}
ONCE = {name: [3, None] for name in RANKINGS}
ALONE = {"attention alone": NEVER | {"alpha": [3, None]}, "gradient alone": NEVER | {"grad_alpha": [3, None]}}


@pytest.mark.parametrize("texts", [0, 1])
def test_single_removals_of_no_text_and_of_one(texts):
    single = few(texts)
    for table, rows in ((tables.single_table, 6), (tables.contingency, 6), (tables.top_flips, 6)):
        assert table(single).get("n", pd.Series()).tolist() == [1] * rows * texts, table
    assert len(tables.contingency(single, TOPS[1:])) == 12 * texts


@pytest.mark.parametrize(
    ("removed", "n"),
    [
        pytest.param(NEVER, 0, id="nothing flips"),
        pytest.param(ONCE, 1, id="one text per model flips"),
        *(pytest.param(case, 1, id=name) for name, case in ALONE.items()),
    ],
)
def test_sets_where_hardly_anything_flips(removed, n):
    fractions = pd.concat([firsts(removed, encoder=encoder) for encoder in MODELS], ignore_index=True)
    shared = removed is ONCE
    assert tables.duel_table(fractions)["n"].tolist() == [n] * 6
    assert len(tables.fraction_table(fractions)) == 24
    assert len(tables.excluded_table(fractions)) == 6
    assert len(tables.context_table(fractions)) == (3 if shared else 0)
    for value in ("fraction", "mass_removed"):
        assert len(tables.ranking_contrasts(fractions, value)) == (18 if shared else 0)
