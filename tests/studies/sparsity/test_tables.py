"""Tables of the study of sparse attention on frames whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.stats import kendall_tau
from attnlib.stats.inference import effect
from attnlib.studies.beside import reference
from attnlib.studies.quantity import NotTested
from attnlib.studies.sparsity import numbers
from attnlib.studies.study import Study
from tests.studies.sparsity.frames import found, model_rows, two_corpora

TABLES = Study("sparsity").tables


def test_every_table_has_the_rows_of_both_corpora() -> None:
    results = two_corpora()
    for name, table in TABLES.items():
        rows = table.frame(results)["dataset"].value_counts()
        assert rows["sst"] == rows["20news"] > 0, name


def test_tables_stand_next_to_the_paper() -> None:
    results = found()
    table = TABLES["agreement"].frame(results)
    row = table[(table["encoder"] == "BiLSTM") & (table["projection"] == "softmax") & (table["with"] == "g(x)")]
    assert row["paper: τ-b"].item() == 0.25
    assert TABLES["hidden"].frame(results)["paper: entropy"].tolist() == [0.93, 0.91, 0.73, 0.63]
    assert TABLES["lambda"].frame(results)["paper"].tolist() == [-0.866, -0.81]
    accuracy = TABLES["accuracy"].frame(results)
    assert set(accuracy.loc[accuracy["paper: accuracy"].notna(), "model"]) == {"softmax"}
    duels = TABLES["adversaries"].frame(results)
    assert duels["paper: jsd"].tolist() == [0.62, 0.61, 0.57, 0.57]
    assert duels["paper: adversary"].tolist() == [0.76, 0.82, 0.76, 0.78]
    assert duels["paper: change"].tolist() == [-0.06, 0.0, -0.03, -0.01]
    other = results.replace(hidden=results.hidden.assign(dataset="planted"))
    assert "paper: entropy" not in TABLES["hidden"].frame(other)


def test_adversaries_of_sparsemax_and_controls_stand_next_to_nothing() -> None:
    results = found()
    sparse = results.replace(adversaries=results.adversaries.assign(projection="sparsemax", push=0.0005))
    table = TABLES["adversaries"].frame(sparse)
    assert set(table["λ"]) == {"0.0005"}
    printed = ["paper: jsd", "paper: adversary", "paper: change"]
    assert table[printed].isna().all(axis=None)
    table = TABLES["adversaries"].frame(found(control=0.0))
    assert set(table["λ"]) == {"0.1", "control"}
    for column in printed:
        assert (table[column].notna() == (table["λ"] != "control")).all()


def test_printed_changes_follow_from_the_printed_accuracies() -> None:
    """Table 5 against Table 3 of the paper: right to the rounding of three numbers, one slip aside."""
    base = reference("sparsity", 3).query("metric == 'accuracy'").set_index(["dataset", "encoder"])["value"]
    rows = reference("sparsity", 5)
    printed = rows.pivot_table(index=["dataset", "encoder", "variant"], columns="metric", values="value")
    assert len(printed) == 12
    expected = printed["accuracy"] - base.reindex(printed.index.droplevel("variant")).to_numpy()
    off = (printed["delta_accuracy"] - expected).abs()
    assert list(off[off > 0.005].index) == [("20news", "transformer", "adversary_frozen")]
    assert off.max() == pytest.approx(0.01)


def test_texts_without_an_order_are_counted() -> None:
    results = found()
    agreement = results.agreement
    agreement.loc[agreement.index[:3], ["status", "value"]] = ["one token", np.nan]
    table = numbers.ties(results)
    assert table["one token"].sum() == 3
    counts = table[["ordered", "one token", "constant attention", "constant importance"]]
    assert counts.to_numpy().sum() == len(agreement)


def test_a_mean_over_states_counts_every_state_and_its_interval_texts() -> None:
    """Two texts of one and of three states: the mean is that of four states; equal texts leave no variance."""
    rows = [
        {"dataset": "sst", "encoder": "lstm", "seed": seed, "instance": text, "value": value}
        for seed in (0, 1)
        for text, values in {"a": [0.2], "b": [0.4, 0.6, 0.8], "c": [np.nan]}.items()
        for value in values
    ]
    values = numbers.states("value", pd.DataFrame(rows))
    assert set(values["instance"]) == {"a", "b"}  # c has no state with a value
    np.testing.assert_allclose(values["point"], 0.5)
    first = values[values["seed"] == 0].set_index("instance")["value"]
    assert first["a"] == pytest.approx(2 * 0.5 - 0.6)  # without a: 0.6
    assert first["b"] == pytest.approx(2 * 0.5 - 0.2)
    assert effect(values, ["dataset", "encoder"]).estimate == pytest.approx(0.5)


def test_states_of_one_word_make_no_rows() -> None:
    hidden = model_rows(lambda e, p, lam: np.nan, metric="entropy_grad_fi_of_hidden", own=np.nan, even=np.nan)
    with pytest.raises(NotTested):
        numbers.states("value", hidden)
    assert "own word" not in TABLES["own-word"].frame(found().replace(hidden=hidden))


def cell(values: dict[int, list[float]], texts: int = 25) -> pd.DataFrame:
    """Models of one cell: means by seed, in the order of λ; the texts of a model differ by noise that sums to 0."""
    noise = np.linspace(-0.01, 0.01, texts)
    return pd.DataFrame(
        [
            {"dataset": "sst", "encoder": "lstm", "seed": seed, "lam": lam, "instance": i, "value": mean + noise[i]}
            for seed, means in values.items()
            for lam, mean in enumerate(means)
            for i in range(texts)
        ]
    )


def test_trend_is_the_mean_tau_of_the_seeds_with_their_interval() -> None:
    means = {0: [3.0, 1.0, 2.0, 0.0], 1: [1.0, 1.5, 0.5, 2.0], 2: [3.0, 2.0, 1.0, 0.0]}
    taus = [kendall_tau(range(4), row) for row in means.values()]
    one = numbers.trend(cell(means))
    assert one.estimate == pytest.approx(np.mean(taus))
    assert one.se == pytest.approx(np.std(taus, ddof=1) / np.sqrt(3))
    assert one.df == pytest.approx(2)
    assert (one.n, one.trainings, one.texts) == (12, 3, 25)


def test_a_perfect_trend_has_an_interval_that_knows_how_few_seeds_there_are() -> None:
    few, many = (numbers.trend(cell({seed: list(range(4)) for seed in range(k)})) for k in (2, 5))
    assert few.estimate == few.high == many.estimate == many.high == 1
    assert -1 < few.low < 0 < many.low < 1


def test_few_seeds_seldom_decide_by_chance() -> None:
    rng = np.random.default_rng(0)
    drawn = [numbers.trend(cell({s: list(rng.random(6)) for s in range(5)}, texts=2)) for _ in range(200)]
    assert sum(not one.low <= 0 <= one.high for one in drawn) <= 18  # 5% are allowed


def test_a_rise_and_fall_is_told_by_where_it_is_largest() -> None:
    results = found()
    rows = results.agreement
    rows["value"] += np.where(rows["lam"] == -1, 1.0, 0.0)
    table = TABLES["trend-agreement"].frame(results)
    assert set(table["largest at λ"]) == {-1.0}


def test_models_that_are_all_alike_have_no_trend_and_a_missing_one_breaks_it() -> None:
    alike = numbers.trend(cell({0: [1.0, 1.0, 1.0], 1: [1.0, 1.0, 1.0]}))
    assert alike.estimate == 0
    assert alike.low < 0 < alike.high
    broken = cell({0: [1.0, 2.0, 3.0], 1: [1.0, np.nan, 3.0]})
    assert np.isnan(numbers.trend(broken).estimate)
    assert np.isnan(numbers.trend(broken[broken["value"].notna()]).estimate)


def test_further_seeds_of_the_pair_leave_trends_alone() -> None:
    results = found()
    rows = results.entropies
    before = numbers.along("entropy_gradient", found())
    rows["value"] += np.where(rows["seed"] == 7, 5.0, 0.0)
    assert numbers.along("entropy_gradient", results) == before


def test_a_trend_keeps_texts_apart_that_share_a_name() -> None:
    table = TABLES["lambda"].frame(two_corpora())
    assert table["texts"].tolist() == [32, 32, 24, 24]
    assert [float(text.split()[0]) for text in table["τ-b"]] == [-1, -1, 1, 1]


def test_a_path_that_breaks_off_has_no_trend() -> None:
    results = found()
    flat = results.agreement["lam"] == -10
    results.agreement.loc[flat, ["value", "status"]] = [np.nan, "constant attention"]
    assert all(np.isnan(one.estimate) for one in numbers.along("gradient", results).values())


def test_the_weakest_push_that_moves_attention_far_is_chosen_and_never_a_control() -> None:
    duels = found(control=0.0).adversaries
    duels.loc[duels["push"] == 0, "jsd"] = 0.6  # as far away without being pushed
    weak, strong = (duels[duels["push"] > 0].assign(push=p, jsd=j) for p, j in ((0.01, 0.4), (1.0, 0.6)))
    table = numbers.least_push(pd.concat([duels[duels["push"] == 0], weak, strong], ignore_index=True))
    assert set(table["push"]) == {0.01}
    np.testing.assert_allclose(table["control_jsd"], 0.6)
    assert set(table["silent"]) == {""}
    near = pd.concat([weak.assign(jsd=0.1), strong.assign(jsd=0.2)], ignore_index=True)
    table = numbers.least_push(near)
    assert (set(table["push"]), set(table["silent"])) == ({1.0}, {"too near"})
    assert table["control"].isna().all()
    lossy = numbers.least_push(found(control=0.2).adversaries)
    assert set(lossy["silent"]) == {"the control loses accuracy too"}


def test_states_without_an_entropy_do_not_count_as_alike() -> None:
    results = found(distance=0.4)
    facets = results.facets
    alone = facets.index[::2]  # texts of one word: the two ways agree for nothing
    facets.loc[alone, ["of_norm", "of_facets", "distance"]] = [np.nan, np.nan, 0.0]
    for one in numbers.apart.each(results).values():
        assert one.estimate == pytest.approx(0.4, abs=0.002)
    np.testing.assert_allclose(TABLES["facets"].frame(results)["mean ‖h‖"], 1.5)
