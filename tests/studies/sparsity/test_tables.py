"""Tables of the study of sparse attention on frames whose answers are known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.stats import kendall_tau
from attnlib.stats.inference import effect
from attnlib.studies.sparsity import numbers
from attnlib.studies.study import Study
from tests.studies.sparsity.frames import found

TABLES = Study("sparsity").tables


def test_tables_stand_next_to_the_paper() -> None:
    results = found(control=0.0)
    table = TABLES["agreement"].frame(results)
    row = table[
        (table["encoder"] == "BiLSTM") & (table["projection"] == "softmax") & (table["importance"] == "g(x)")
    ]
    assert row["paper: τ-b"].item() == 0.25
    assert TABLES["hidden"].frame(results)["paper: entropy"].tolist() == [0.93, 0.91, 0.73, 0.63]
    trends = TABLES["trends"].frame(results)
    assert trends["paper"].dropna().tolist() == [-0.866, -0.81]
    accuracy = TABLES["accuracy"].frame(results)
    assert set(accuracy.loc[accuracy["paper: accuracy"].notna(), "model"]) == {"softmax"}
    duels = TABLES["adversaries"].frame(results)
    pushed = duels[duels["λ"] == "0.1"]
    assert pushed["paper: JSD"].tolist() == [0.62, 0.61, 0.57, 0.57]
    assert pushed["paper: accuracy"].tolist() == [0.76, 0.82, 0.76, 0.78]
    assert pushed["paper: change"].tolist() == [-0.06, 0.0, -0.03, -0.01]
    assert duels.loc[duels["λ"] == "0", "paper: change"].isna().all(), "a control is next to nothing"
    other = results.replace(hidden=results.hidden.assign(dataset="planted"))
    assert "paper: entropy" not in TABLES["hidden"].frame(other)


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


def trend(values: dict[int, list[float]], texts: int = 25):
    """The trend of one cell: means by seed, in the order of λ; texts differ by noise that sums to 0."""
    noise = np.linspace(-0.01, 0.01, texts)
    rows = [
        {"dataset": "sst", "encoder": "lstm", "seed": seed, "lam": lam, "instance": i, "share": mean + noise[i]}
        for seed, means in values.items()
        for lam, mean in enumerate(means)
        for i in range(texts)
    ]
    ((_, _, found),) = numbers.paths("share of words with weight", SimpleNamespace(spread=pd.DataFrame(rows)))
    return found


def test_trend_is_the_mean_tau_of_the_seeds_with_their_interval() -> None:
    means = {0: [3.0, 1.0, 2.0, 0.0], 1: [1.0, 1.5, 0.5, 2.0], 2: [3.0, 2.0, 1.0, 0.0]}
    taus = [kendall_tau(range(4), row) for row in means.values()]
    one = trend(means)
    assert one.estimate == pytest.approx(np.mean(taus))
    assert one.se == pytest.approx(np.std(taus, ddof=1) / np.sqrt(3))
    assert one.df == pytest.approx(2)
    assert (one.n, one.trainings, one.texts) == (12, 3, 25)
