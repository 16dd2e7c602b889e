"""Word-level objectives: parameters that make sense, grids of the stated size, tables and claims by hand."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib import notebooks, stats
from attnlib.errors import ConfigError, DataError
from attnlib.spec import Fit, Measure
from attnlib.studies import tying_mlm as study
from attnlib.studies import tying_mlm_claims as claims
from attnlib.studies import tying_mlm_frontier as frontier
from attnlib.studies import tying_mlm_settings as settings
from attnlib.studies import tying_mlm_tables as tables
from attnlib.studies.tying_mlm_measures import knowledge

LABELS = {"encoder": "lstm", "projection": "softmax"}


def planned(profile: str) -> study.Params:
    (plan,) = notebooks.plan(["02_tying_mlm"], profile, [])
    return study.Params(**plan.values)


@pytest.mark.parametrize(
    ("profile", "classifiers", "adversaries", "information"),
    [("smoke", 27, 6, 8), ("cpu", 45, 12, 12), ("paper", 5 * (50 + 3 * 5 + 4 * 5 + 4 * 2 * 5 + 5), 6 * 42, 100)],
)
def test_the_grid_of_each_profile(profile, classifiers, adversaries, information) -> None:
    params = planned(profile)
    runs = study.grid(params)
    tasks = [run.task.partition(":")[2] for run in runs]
    assert all(isinstance(run, Measure) for run in runs)
    assert tasks.count("behaviour") == len(study.models(params)) == classifiers
    assert tasks.count("distances") == adversaries
    assert tasks.count("knowledge") == information
    assert len(set(runs)) == len(runs)


def test_the_grid_takes_plain_values_too() -> None:
    (plan,) = notebooks.plan(["02_tying_mlm"], "smoke", [])
    assert study.grid(plan.values) == study.grid(study.Params(**plan.values))


def test_models_are_as_wide_as_their_frozen_words_and_differ_in_the_variant_alone() -> None:
    params = planned("cpu")
    for model in study.models(params):
        assert model.model.hidden_size == model.model.embedding_size == 50
        assert not model.train.train_embeddings
        assert model.train.clip_norm == 5
    changed = {}
    base = params.model("rotten_tomatoes", "base", "additive").model_dump()
    for v in study.VARIANTS:
        other = params.model("rotten_tomatoes", v, "additive", strength=7.0).model_dump()
        changed[v] = {name for name in base if other[name] != base[name]}
    assert changed == {
        "base": set(),
        "concat": {"regulariser"},
        "residual": {"regulariser"},
        "tying": {"regulariser", "tying_delta"},
        "mlm": {"regulariser", "mlm_eta"},
    }


def test_adversaries_are_fresh_and_minimise_equation_6_alone() -> None:
    params = planned("cpu")
    for variant in params.adversary_bases:
        adversary = study.adversary(params, "rotten_tomatoes", variant, 0.2)
        assert isinstance(adversary.warm_start, Fit)
        assert adversary.warm_start.model.regulariser == ("none" if variant == "base" else variant)
        assert adversary.model.regulariser == "none"
        assert adversary.train.monitor == "train_loss"
        assert adversary.params == {"lam": 0.2, "texts": 3000}


def test_weights_of_single_corpora() -> None:
    params = study.Params(corpora=("planted", "imdb"), eta_of={"imdb": 0.1})
    assert params.model("planted", "mlm", "dot").mlm_eta == 0.3
    assert params.model("imdb", "mlm", "dot").mlm_eta == 0.1
    assert params.strength("imdb", "base") == 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"corpora": ["plnated"]}, "Did you mean 'planted'"),
        ({"variants": ["tying"]}, "must hold 'base'"),
        ({"variants": ["base", "tyng"]}, "tying"),
        ({"attentions": ["dot"]}, "must hold 'additive'"),
        ({"attentions": ["additive", "additive"]}, "each once"),
        ({"seeds": []}, "at least one"),
        (
            {"variants": ["base"], "layer_variants": ["base"], "adversary_bases": ["mlm"]},
            "variant in adversary_bases",
        ),
        ({"eta_of": {"imdb": 0.1}}, "corpus in eta_of"),
        ({"deltas": [0.0]}, "must be positive"),
        ({"lambdas": [-1.0]}, "not be negative"),
        ({"layers": [1]}, "2 … 12"),
        ({"vectors": "glove", "embedding_size": 24}, "50 wide"),
        ({"adversary_corpora": ["plnated"]}, "Did you mean 'planted'"),
        ({"adversary_corpora": ["imdb", "imdb"]}, "each once"),
        ({"mi_batch": 0}, "mi_batch"),
        ({"epoch": 3}, "Did you mean 'epochs'"),
        ({"embedding_size": 25}, "even"),
    ],
)
def test_nonsense_is_refused(values, said) -> None:
    with pytest.raises(ConfigError, match=said):
        study.Params(**values)


def swaps_of(rights: dict[str, dict[str, float]], seeds=(0, 1), n: int = 400, **cell) -> pd.DataFrame:
    """Predictions of made-up models, right on the stated share of texts under each attention."""
    truth = np.arange(n) % 2
    frames = []
    for variant, shares in rights.items():
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(n)
            for swap, share in shares.items():
                said = np.where(order < share * n, truth, 1 - truth)
                for draw in range(2 if swap == "permuted" else 1):
                    rows = {
                        "instance": np.arange(n),
                        "truth": truth,
                        "prediction": said,
                        "swap": swap,
                        "draw": draw,
                    }
                    frames.append(pd.DataFrame({"variant": variant, "seed": seed, **rows}))
    frame = pd.concat(frames, ignore_index=True).assign(change=0.0)
    defaults = {
        "dataset": "sst",
        "attention": "additive",
        "layers": 1,
        "strength": 0.0,
        "chosen": True,
        "init": "–",
    }
    return frame.assign(**LABELS, **(defaults | cell))


STEADY = {"trained": 0.9, "uniform": 0.88, "permuted": 0.86}
FRAGILE = {"trained": 0.9, "uniform": 0.7, "permuted": 0.6}


def test_f1_and_its_changes_against_scikit_learn() -> None:
    swaps = swaps_of({"base": FRAGILE}, seeds=(0, 1, 2))
    found = tables.f1_of(swaps, resamples=50)
    by_hand = {
        swap: 100 * np.mean([f1_score(p["truth"], p["prediction"]) for _, p in part.groupby(["seed", "draw"])])
        for swap, part in swaps.groupby("swap")
    }
    assert found["f1_trained"].estimate == pytest.approx(by_hand["trained"])
    assert found["delta_f1_uniform"].estimate == pytest.approx(by_hand["uniform"] - by_hand["trained"])
    assert found["delta_f1_permuted"].estimate == pytest.approx(by_hand["permuted"] - by_hand["trained"])
    assert (found["f1_trained"].n, found["f1_trained"].seeds) == (400, 3)
    with pytest.raises(DataError, match="lacks attention"):
        tables.f1_of(swaps[swaps["swap"] != "uniform"])


def test_table_1_stands_beside_the_paper() -> None:
    table = tables.f1_table(swaps_of({"tying": FRAGILE, "base": STEADY}))
    assert table["variant"].tolist() == ["base"] * 3 + ["tying"] * 3
    printed = table.set_index(["variant", "metric"])["paper"]
    assert printed["base", "f1_trained"] == 84.2
    assert printed["tying", "delta_f1_permuted"] == -18.0
    twin = tables.f1_table(swaps_of({"base": STEADY}, dataset="rotten_tomatoes"))
    assert twin["paper"].tolist() == printed["base"].tolist(), "SST is the child of Rotten Tomatoes"
    assert twin["dataset"].eq("rotten_tomatoes").all()


def test_a_shown_cell_holds_ours_the_papers_and_the_difference_in_two_lines() -> None:
    table = tables.f1_table(swaps_of({"tying": FRAGILE, "base": STEADY}))
    shown = tables.wide(table, tables.CELL)
    assert list(shown) == [*tables.CELL, "F1", "Δ uniform", "Δ permuted", "n", "seeds"]
    value, low, high = table.loc[1, ["value", "low", "high"]]
    assert table["metric"][1] == "delta_f1_uniform"
    ours, paper = shown["Δ uniform"][0].split(" ")
    assert ours.replace("\u00a0", " ") == f"{value:.1f} [{low:.1f}, {high:.1f}]"
    assert paper.replace("\u00a0", " ") == f"paper -2.8 ({value + 2.8:+.1f})"
    cells = [str(cell) for row in shown.to_numpy() for cell in row]
    assert max(map(len, cells)) <= 40, "longer cells are set as prose, with a least width of their own"
    unprinted = tables.wide(tables.f1_table(swaps_of({"base": STEADY}, dataset="own")), tables.CELL)
    assert "paper" not in unprinted["F1"][0]


def test_only_the_models_of_table_1_are_in_it() -> None:
    swaps = swaps_of({"base": STEADY})
    others = [
        swaps.assign(layers=2),
        swaps.assign(init="kaiming", attention="dot"),
        swaps.assign(chosen=False, strength=9.0),
    ]
    assert len(study.main(pd.concat([swaps, *others]))) == len(swaps)


def test_depth_joins_the_papers_table_6() -> None:
    swaps = pd.concat([swaps_of({"base": FRAGILE}), swaps_of({"base": STEADY}, layers=3)])
    table = tables.layer_table(swaps).set_index(["layers", "metric"])
    assert table["paper"][3, "delta_f1_uniform"] == -0.7
    assert table["value"][3, "delta_f1_uniform"] > table["value"][1, "delta_f1_uniform"]


def test_paired_differences_are_corrected() -> None:
    gaps = tables.fragility_table(swaps_of({"base": STEADY, "tying": FRAGILE, "concat": STEADY}))
    gaps = gaps.set_index(["variant", "metric"])
    assert gaps["estimate"]["concat", "delta_f1_uniform"] == pytest.approx(0)
    assert gaps["high"]["tying", "delta_f1_uniform"] < 0
    assert gaps["estimate"]["tying", "f1_trained"] == pytest.approx(0)
    assert (gaps["p_holm"] >= gaps["p"]).all()
    with pytest.raises(DataError, match="no pair"):
        tables.difference([])


def texts_of(probabilities: dict[str, float], seeds=(0, 1), n: int = 60, **cell) -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.01, n)
    frames = [
        pd.DataFrame(
            {
                "variant": variant, "seed": seed, "instance": np.arange(n), "label": np.arange(n) % 2,
                "prediction": np.where(np.arange(n) < 50, np.arange(n) % 2, 1 - np.arange(n) % 2),
                "token_probability": p + noise, "entropy": p + noise, "confidence": 0.9,
            }
        )
        for variant, p in probabilities.items()
        for seed in seeds
    ]  # fmt: skip
    defaults = {
        "dataset": "sst",
        "attention": "additive",
        "layers": 1,
        "strength": 0.0,
        "chosen": True,
        "init": "–",
    }
    return pd.concat(frames, ignore_index=True).assign(**LABELS, **(defaults | cell))


def test_per_token_probability_counts_correct_texts_alone() -> None:
    table = tables.probability_table(texts_of({"base": 0.7, "tying": 0.55})).set_index("variant")
    assert table["n"].tolist() == [100, 100]
    assert table["value"]["base"] - table["value"]["tying"] == pytest.approx(0.15)
    assert table["paper"].to_dict() == {"base": 0.712, "tying": 0.586}


def test_the_ablation_shows_points_and_probabilities_with_their_own_digits() -> None:
    found = tables.ablation_table(
        swaps_of({"tying": FRAGILE}, strength=1.0), texts_of({"tying": 0.55}, strength=1.0, n=200)
    )
    (row,) = tables.wide(found, ["dataset", "variant", "strength"]).to_dict("records")
    assert row["F1"].startswith("90.")
    assert row["per token"].split("\u00a0")[0] == f"{found['value'].iloc[-1]:.3f}"


def information_of(values: dict[str, float], seeds=(0, 1, 2)) -> pd.DataFrame:
    rows = [
        {
            "dataset": "sst", "attention": "additive", "variant": v, "seed": s, "metric": m, "value": x + 0.01 * s,
            "low": x - 0.1, "high": x + 0.1, "floor": 0.2, "ceiling": 4.0, "n": 900, "words": 50, "k": 40,
            "layers": 1, "chosen": True, "init": "–",
        }
        for v, x in values.items() for s in seeds for m in ("mi_most_frequent", "mi_random_sample")
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**LABELS)


def test_information_beside_the_paper() -> None:
    table = tables.information_table(information_of({"base": 1.0, "mlm": 3.0}))
    row = table[(table["variant"] == "mlm") & (table["metric"] == "mi_random_sample")].iloc[0]
    assert row["value"] == pytest.approx(3.01)
    assert row["above"] == pytest.approx(2.81)
    assert row["within"] == pytest.approx(0.1)
    assert (row["paper"], row["occurrences"], row["k"], row["seeds"]) == (3.808, 900, 40, 3)


def test_information_as_shown_holds_the_difference() -> None:
    shown = tables.information_wide(tables.information_table(information_of({"base": 1.0, "mlm": 3.0})))
    row = shown[(shown["variant"] == "mlm") & (shown["sample"] == "RS")].iloc[0]
    assert row["ours"].replace("\u00a0", " ").startswith("3.01 [3.0")
    assert row["difference"] == pytest.approx(3.01 - 3.808)
    assert (row["n"], row["seeds"]) == (900, 3)
    assert len(shown.columns) == 11


def test_hyperparameters_are_those_of_the_models_and_of_the_paper() -> None:
    table = settings.hyperparameter_table(planned("paper")).set_index("parameter")
    same = table["paper"] == table["this run"]
    assert set(table.index[~same]) == {
        "weight decay",  # none on attention
        "weights δ of tying",  # section 3 has a fourth
        "η, δ of the other tables",
        "epochs",
    }
    ours = settings.hyperparameter_table(planned("cpu")).set_index("parameter")["this run"]
    assert ours["width of the LSTM, each direction"] == "25"
    assert ours["batch"] == "64"
    assert ours["weight decay"] == "1e-05; attention 0"
    assert ours["weights η of MLM"] == "0.1, 0.3"
    assert ours["batch of k-means"] == "4096"


def test_the_batch_of_k_means_changes_no_name_of_a_run_unless_it_differs() -> None:
    taken = inspect.signature(knowledge).parameters["batch_size"].default
    assert taken == study.MI_BATCH == planned("cpu").mi_batch
    runs = {}
    for batch in (study.MI_BATCH, 100):
        params = planned("smoke").replace(mi_batch=batch)
        runs[batch] = [run for run in study.grid(params) if run.task.endswith(":knowledge")]
    assert all("batch_size" not in run.params for run in runs[study.MI_BATCH])
    assert all(run.params["batch_size"] == 100 for run in runs[100])
    assert planned("paper").mi_batch == 100


def test_adversaries_meet_corpora_that_no_table_has() -> None:
    params = planned("paper")
    assert params.all_corpora == (*params.corpora, "diabetes")
    assert {model.data.corpus for model in study.models(params)} == set(params.corpora)
    runs = [run for run in study.grid(params) if run.fits[0].data.corpus == "diabetes"]
    assert len(runs) == 14 * 3
    assert all(run.task.endswith(":distances") for run in runs)
    assert runs[0].fits[0].data.options == {"path": "data/diabetes.csv"}
    assert runs[0].fits[0].model.vectors == params.vector_files["anemia"]
    few = study.Params(corpora=("planted", "imdb"), adversary_corpora=("planted",))
    assert few.attacked == ("planted",)
    assert study.Params(corpora=("planted", "imdb")).attacked == ("planted", "imdb")


def distances_of(curves: dict[str, list[tuple[float, float]]], n: int = 50) -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.005, n)
    frames = [
        pd.DataFrame(
            {
                "dataset": "sst", "variant": v, "lam": float(k), "instance": range(n), "jsd": far + noise,
                "tvd": cost + noise, "prediction_base": 0, "prediction_adversary": 0,
            }
        )
        for v, points in curves.items() for k, (far, cost) in enumerate(points)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def test_the_price_at_equal_divergence_by_hand() -> None:
    # base pays jsd / 4, mlm jsd / 2: between 0.2 and 0.4 the mean gap is 0.3 / 4
    line = {"base": [(0.1, 0.025), (0.4, 0.1)], "mlm": [(0.2, 0.1), (0.6, 0.3)]}
    gap = frontier.frontier_gap(distances_of(line), "mlm", "base")
    mean = np.random.default_rng(0).normal(0, 0.005, 50).mean()
    assert gap.estimate == pytest.approx(0.075 + mean / 4 - 0.25 * mean, abs=1e-3)
    assert gap.low < gap.estimate < gap.high
    assert gap.low > 0
    apart = distances_of({"base": [(0.1, 0.0), (0.2, 0.1)], "mlm": [(0.5, 0.0), (0.6, 0.1)]})
    assert np.isnan(frontier.frontier_gap(apart, "mlm", "base").estimate)
    table = frontier.frontier_table(distances_of(line))
    assert len(table) == 4
    assert table["n"].eq(50).all()
    shown = frontier.frontier_wide(table.replace({"λ": {1.0: 0.00025}}))
    assert shown["λ"].tolist() == ["0", "0.00025"] * 2
    one = table.iloc[1]
    assert (
        shown["TVD"][1].replace("\u00a0", " ") == f"{one['tvd']:.3f} [{one['tvd_low']:.3f}, {one['tvd_high']:.3f}]"
    )


def test_estimators_on_known_information() -> None:
    table = settings.estimator_table(20, 20_000).set_index("variables")
    independent, equal = table.loc["independent"], table.loc["equal"]
    assert independent["plugin"] == pytest.approx(19 * 19 / 40_000, rel=0.2), "the bias of the plug-in estimate"
    assert abs(independent["shuffled"]) < 0.002
    assert equal["plugin"] == pytest.approx(equal["known"], abs=0.01)
    gaussian = table.iloc[1]
    assert gaussian["plugin"] == pytest.approx(gaussian["known"], abs=0.08)


@pytest.fixture
def results() -> study.Results:
    normal = swaps_of({"base": FRAGILE}, attention="dot", init="normal")
    swaps = pd.concat(
        [
            swaps_of({"base": STEADY, "concat": STEADY, "residual": STEADY, "tying": FRAGILE, "mlm": FRAGILE}),
            swaps_of({"base": {"trained": 0.9, "uniform": 0.9, "permuted": 0.9}}, layers=3),
            normal,
            swaps_of({"base": dict.fromkeys(STEADY, 0.9)}, attention="dot", init="kaiming"),
        ],
        ignore_index=True,
    )
    texts = pd.concat(
        [
            texts_of({"base": 0.7, "tying": 0.55, "mlm": 0.6}),
            texts_of({"base": 0.6}, attention="dot", init="normal"),
            texts_of({"base": 0.95}, attention="dot", init="kaiming"),
        ],
        ignore_index=True,
    )
    curves = {
        "base": [(0.1, 0.02), (0.4, 0.1)],
        "mlm": [(0.1, 0.05), (0.4, 0.3)],
        "tying": [(0.1, 0.05), (0.4, 0.3)],
    }
    information = information_of({"base": 1.0, "tying": 3.0, "mlm": 2.0})
    return study.Results(swaps, texts, pd.DataFrame(), information, distances_of(curves), None)


def test_claims_come_out_as_made(results) -> None:
    found = {c.id: c for c in claims.claims(results, "by hand")}
    assert len(found) == 14
    assert {c.verdict for c in found.values()} == {"reproduced"}
    assert found["tying_mlm-information-mlm"].effect == pytest.approx(1.0)
    assert found["tying_mlm-tokens-tying"].effect == pytest.approx(-0.15)
    assert found["tying_mlm-init-entropy"].effect == pytest.approx(0.35)
    # FRAGILE loses 20 and 30 points where STEADY loses 2 and 4, up to the rounding of F1
    assert found["tying_mlm-fragile-tying"].effect == pytest.approx(-22, abs=1)


def both(results: study.Results, other: study.Results, name: str) -> study.Results:
    """Two corpora in one frame each, the second under its own name."""
    frames = {
        field: pd.concat([getattr(results, field), getattr(other, field).assign(dataset=name)], ignore_index=True)
        for field in ("swaps", "texts", "information", "distances")
    }
    return dataclasses.replace(results, **frames)


def test_the_ledger_of_two_corpora(results) -> None:
    one = {c.id: c for c in claims.claims(results, "by hand")}
    smaller = dataclasses.replace(results, swaps=results.swaps[results.swaps["instance"] < 300])
    two = {c.id: c for c in claims.claims(both(results, smaller, "imdb"), "by hand")}
    assert set(two) == set(one)
    alone = {c.id: c for c in claims.claims(smaller, "by hand")}
    for name, claim in two.items():
        assert claim.effect == pytest.approx((one[name].effect + alone[name].effect) / 2), name
        assert claim.n == one[name].n + alone[name].n, name
    assert one["tying_mlm-fragile-tying"].n == 400
    assert two["tying_mlm-fragile-tying"].n == two["tying_mlm-init-constant"].n == 700
    assert "summed over corpora" in two["tying_mlm-fragile-tying"].n_of


def test_a_cell_is_of_one_corpus() -> None:
    swaps = swaps_of({"base": STEADY})
    with pytest.raises(DataError, match=r"one data set; got those of \['imdb', 'sst'\]"):
        tables.f1_of(pd.concat([swaps, swaps.assign(dataset="imdb")]))
    here, there = (tables.f1_of(swaps.assign(dataset=name))["f1_trained"] for name in ("sst", "imdb"))
    with pytest.raises(DataError, match="cannot be paired"):
        tables.difference([(here, there)])


def test_corpora_attacked_beside_the_others_are_named(results) -> None:
    alone = {c.id: c for c in claims.claims(results, "by hand")}["tying_mlm-adversary-mlm"]
    assert alone.setting == "by hand; additive, one seed"
    more = pd.concat([results.distances, results.distances.assign(dataset="diabetes")])
    found = {c.id: c for c in claims.claims(dataclasses.replace(results, distances=more), "by hand")}
    assert found["tying_mlm-adversary-mlm"].setting.endswith("adversaries on sst, diabetes")
    assert found["tying_mlm-adversary-mlm"].n == 2 * alone.n


def test_claims_can_fail(results) -> None:
    turned = {"base": "tying", "tying": "base", "mlm": "base"}
    swaps = results.swaps[results.swaps["variant"] != "mlm"]
    other = dataclasses.replace(
        results,
        swaps=swaps.assign(variant=swaps["variant"].replace(turned)),
        texts=results.texts[results.texts["variant"] != "mlm"].assign(
            variant=lambda frame: frame["variant"].replace(turned)
        ),
        information=information_of({"base": 3.0, "tying": 1.0}),
        distances=distances_of({"base": [(0.1, 0.05), (0.4, 0.3)], "tying": [(0.1, 0.02), (0.4, 0.1)]}),
    )
    found = {c.id: c.verdict for c in claims.claims(other, "by hand")}
    against = {k for k, v in found.items() if v == "not reproduced"}
    assert against == {f"tying_mlm-{k}-tying" for k in ("fragile", "information", "adversary", "tokens")}


def test_claims_are_left_out_where_their_models_are(results) -> None:
    alone = dataclasses.replace(
        results,
        swaps=swaps_of({"base": STEADY}),
        texts=texts_of({"base": 0.7}),
        information=information_of({"base": 1.0}),
        distances=pd.DataFrame(),
    )
    assert claims.claims(alone, "by hand") == []


def test_similar_means_within_three_points() -> None:
    worse = {"trained": 0.8, "uniform": 0.6, "permuted": 0.6}
    scores = claims.scores_of(swaps_of({"base": STEADY, "tying": worse}), tables.CELL)
    gap = claims.drop_gap(scores, "tying", "base", ["f1_trained"])
    assert isinstance(gap, stats.Difference)
    assert gap.high < -claims.SIMILAR
