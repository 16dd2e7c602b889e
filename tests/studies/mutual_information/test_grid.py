"""The study of attention ranks and information: parameters and grids; tables and claims on hand-made frames."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from attnlib.reports.plan import plans
from attnlib.store.specs import FitSpec
from attnlib.studies.mutual_information import claims as ledger
from attnlib.studies.mutual_information import figures, intervals, tables, words
from attnlib.studies.mutual_information import grid as study
from attnlib.utils.errors import ConfigError
from tests.studies.mutual_information.frames import GOOD, apart_frame, tau_frame, tau_row, verdicts


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch) -> None:
    """A thousand rank correlations a ledger are many; the verdicts here do not hang on them."""
    monkeypatch.setattr(ledger, "uniformity", partial(intervals.uniformity, resamples=40))


def test_claims_that_hold_are_reproduced() -> None:
    found = verdicts(tau_frame())
    assert found.pop(12).verdict == "not tested", "no corpus with a query"
    assert {claim.verdict for claim in found.values()} == {"reproduced"}
    assert found[2].effect == pytest.approx(0.6 + 0.05 / 2)
    assert found[4].effect == pytest.approx(0.05), "the strongest rival is cnn with additive"
    assert "is shown: CNN with Additive" in found[4].setting
    assert found[5].effect == pytest.approx(0.95 - 0.1)
    assert found[8].effect == 1.0
    assert found[8].n == 6
    assert found[10].effect == pytest.approx((0.01 + 0.01 + 0.02) / 3)


def test_claims_that_fail_are_not_reproduced() -> None:
    worse = {"additive": -0.75, "deep": -0.5, "dot": 0.5}
    frame = tau_frame(
        worse, fix_attention=0.5, fix_representation=-0.9, adversary=-0.9, gumbel=-0.1, best=-0.2, jitter=0.2
    )
    frame["entropy"] = 0.5 + frame["tau"] / 4
    found = verdicts(frame)
    assert {claim.verdict for number, claim in found.items() if number not in (1, 12)} == {"not reproduced"}
    assert found[1].verdict == "not reproduced" or found[1].high >= 0


def test_claims_without_their_models_are_not_tested() -> None:
    frame = tau_frame()
    found = verdicts(
        frame[(frame["variant"] == "none") & (frame["projection"] == "softmax") & (frame["seed"] == 0)]
    )
    assert {n for n, claim in found.items() if claim.verdict == "not tested"} == {5, 6, 7, 8, 10, 12}
    assert found[5].n == 0
    assert "attention fixed" in found[5].note
    assert "Gumbel" in found[8].note


def test_two_values_of_one_sign_decide_nothing() -> None:
    one_seed = pd.concat([tau_frame(dataset=name, seeds=1) for name in ("sst", "imdb")])
    found = verdicts(one_seed)
    assert found[5].n == found[6].n == 2
    for number in (1, 2, 3, 4, 5, 6, 7):
        assert np.isnan(found[number].low), f"claim {number}: one seed has no interval"
        assert found[number].verdict == "undetermined"
    two_pairs = verdicts(tau_frame(seeds=2))
    assert np.isnan(two_pairs[5].low), "two pairs of models are too few"
    assert two_pairs[10].n == 1
    four = verdicts(pd.concat([tau_frame(dataset=name, seeds=2) for name in ("sst", "imdb")]))
    assert (four[5].n, four[5].verdict, four[6].verdict) == (4, "reproduced", "reproduced")


def test_many_corpora_with_one_seed_have_no_interval() -> None:
    frame = pd.concat([tau_frame(dataset=name, seeds=1) for name in ("sst", "imdb", "adr", "20news")])
    found = verdicts(frame)
    assert (found[5].n, found[5].verdict) == (4, "undetermined")
    assert found[8].verdict == "reproduced", "over 24 settings, which are more than a seed"
    assert found[9].n == 24
    assert found[9].verdict == "reproduced"
    assert "2 pairs of models: too few" in words.about_deltas(tau_frame(seeds=2), ["fix_attention"])[0]
    assert tables.delta_table(tau_frame(seeds=2), 2, ["fix_attention"])["Δτ"].tolist() == ["0.85"]
    few = verdicts(tau_frame({"additive": 0.9, "dot": 0.3}, encoders=("lstm",)))
    assert (few[8].verdict, few[9].verdict) == ("undetermined", "undetermined"), "two settings"


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({}, "reproduced"),
        ({"jsd": 0.194}, "reproduced"),
        ({"jsd": 0.18}, "not tested"),
        ({"adversary": 0.9}, "not tested"),
        ({"base": 0.8}, "reproduced"),
        ({"tvd": 0.19}, "reproduced"),
        ({"tvd": 0.3}, "not tested"),
    ],
)
def test_only_adversaries_decide_on_adversaries(told: dict, verdict: str) -> None:
    found = verdicts(tau_frame(), apart_frame(**told))[7]
    assert found.verdict == verdict
    assert found.n == (3 if verdict == "reproduced" else 0)
    assert ("No corpus has adversaries" in found.note) == (verdict == "not tested")
    said = words.about_adversaries(apart_frame(**told))
    assert len(said) == (1 if verdict == "reproduced" else 2)


def test_without_their_texts_adversaries_decide_nothing() -> None:
    assert verdicts(tau_frame(), pd.DataFrame())[7].verdict == "not tested"
    assert words.about_adversaries(pd.DataFrame()) == []
    none = tau_frame().query("variant == 'none'")
    assert words.about_deltas(none, ["adversary_unfrozen"]) == ["This run has no adversaries to compare."]
    assert words.about_deltas(none, list(tables.SPECIAL[:2])) == ["This run has no ablations to compare."]


def test_a_corpus_without_true_adversaries_is_left_out_by_name() -> None:
    taus = pd.concat([tau_frame(), tau_frame(dataset="imdb", adversary=-0.9)])
    found = verdicts(taus, pd.concat([apart_frame(), apart_frame("imdb", jsd=0.01)]))[7]
    assert (found.verdict, found.n) == ("reproduced", 3)
    assert found.effect == pytest.approx(0.95 - 0.88)
    assert "left out: imdb" in found.setting
    both = verdicts(taus, pd.concat([apart_frame(), apart_frame("imdb")]))[7]
    assert (both.verdict, both.n) == ("undetermined", 6), "two corpora that disagree are not six"
    assert "left out" not in both.setting


def test_cells_are_compared_on_the_corpora_that_have_them_all() -> None:
    easy = tau_frame(dict.fromkeys(GOOD, 1.0), dataset="stories", encoders=("lstm",), best=0.0, jitter=0.0)
    hard = tau_frame({"additive": 0.2, "deep": 0.15, "dot": 0.1}, best=-0.1, jitter=0.0)
    frame = pd.concat([hard, easy])
    table = tables.average_table(frame).set_index(["encoder", "attention"])
    assert table.loc[("BiLSTM", "Additive"), "ours"] == "0.10 [0.10, 0.10]", "stories would make it 0.55"
    assert table.loc[("BiLSTM", "Additive"), "difference"] == pytest.approx(0.1 - 0.92)
    assert table.loc[("BiLSTM", "Additive"), ["corpora", "models"]].tolist() == [1, 3]
    assert table.loc[("all", "Deep"), ["corpora", "models"]].tolist() == [2, 9], "all corpora have every attention"
    (said,) = (text for text in words.about_taus(frame) if "highest" in text)
    assert said.startswith("On sst, ")
    assert "CNN with Additive" in said
    apart = pd.concat([tau_frame(dataset="sst", encoders=("cnn",)), easy])
    assert "No corpus has every encoder" in words.about_taus(apart)[-1]
    assert set(tables.average_table(apart)["encoder"]) == {"all"}


def test_stability_is_told_of_the_papers_setting_first() -> None:
    frame = tau_frame(jitter=0.01)
    wild = (frame["encoder"] == "cnn") & (frame["attention"] == "dot")
    frame.loc[wild, "tau"] += frame.loc[wild, "seed"] * 0.3
    main, every, _ = words.about_stability(frame)
    assert "BiLSTM with additive attention" in main
    for told in ("**0.01**", "0.02 at most (paper: 0.02 and 0.05)", "n = 3 pairs"):
        assert told in main
    assert "0.62 at most; n = 18 pairs" in every
    assert words.about_stability(tau_frame(seeds=1)) == ["No two seeds of one setting to compare."]


def test_tables_by_hand() -> None:
    frame = tau_frame()
    averages = tables.average_table(frame).set_index(["encoder", "attention"])
    assert averages.loc[("all", "Dot"), "ours"].startswith("0.31 [0.28, 0.3")
    assert averages.loc[("all", "Dot"), "difference"] == pytest.approx(0.31 - 0.45)
    assert averages.loc[("all", "Dot"), "paper"] == 0.45
    assert averages.loc[("BiLSTM", "Additive"), "paper"] == 0.92
    assert averages.loc[("all", "Dot"), "models"] == 6
    loss = tables.delta_table(frame, 2, ["fix_attention", "fix_representation"]).set_index("variant")
    assert loss.loc["Fix Attn", "tau there"] == pytest.approx(0.11)
    assert loss.loc["Fix Attn", "paper"] == 0.71
    assert loss.loc["Fix Attn", "difference"] == pytest.approx(0.85 - 0.71)
    assert loss.loc["Fix Rep", "paper"] == -0.02
    assert tables.delta_table(frame, 4, ["adversary_unfrozen"])["paper"].tolist() == [0.04]
    seeds = tables.stability_table(frame)
    assert seeds["largest |Δτ|"].tolist() == pytest.approx([0.02] * 6)
    assert seeds["pairs"].tolist() == [3] * 6
    assert tables.estimator_table(frame)["Dot"].tolist() == pytest.approx([0.31] * 4 + [0.21])
    assert tables.choices_table(frame)["smallest cluster"].tolist() == ["1–3"] * 6
    assert "2 of them" not in words.about_choices(frame)[0]
    assert "In 6 of them" in words.about_choices(frame)[1]


def test_gumbel_counts_what_rises_or_stays() -> None:
    frame = tau_frame(gumbel=0.0)
    fallen = (frame["projection"] == "gumbel") & (frame["attention"] == "dot") & (frame["encoder"] == "cnn")
    frame.loc[fallen, "tau"] -= 0.2
    pairs = tables.gumbel_pairs(frame)
    assert len(pairs) == 6
    assert pairs["kept"].sum() == 5
    table = tables.gumbel_table(pairs).iloc[0]
    assert (table["Additive"], table["Dot"], table["all"]) == ("2/2", "1/2", "5/6")
    assert table["paper: Dot"] == "19/21"
    assert (table["paper: all"], len(tables.gumbel_table(pairs))) == ("59/63", 2)
    total = tables.gumbel_table(pairs).iloc[-1]
    assert (total["task"], total["Dot"], total["all"]) == ("all", "1/2", "5/6")
    assert (total["paper: Deep"], total["paper: Dot"], total["paper: Additive"]) == ("28/33", "25/33", "31/33")
    assert total["paper: all"] == "85/99"
    assert "5 of 6** settings (paper: 85 of 99)" in words.about_gumbel(frame)[0]
    assert len(tables.gumbel_pairs(frame[frame["projection"] == "softmax"])) == 0


def test_adversaries_stand_beside_the_papers() -> None:
    apart = pd.DataFrame({"dataset": "rotten_tomatoes", "seed": 0, "instance": ["a", "b"], "tvd": [0.1, 0.3]})
    apart["tvd_trained"] = apart["tvd"] / 2
    apart = apart.assign(jsd=[0.2, 0.4], right_base=[1.0, 1.0], right_adversary=[1.0, 0.0])
    table = tables.adversary_table(apart).set_index("quantity")
    assert table.loc["accuracy", "ours"] == "0.500 [0.000, 1.000]"
    assert table.loc["TVD", "ours"] == "0.200 [0.100, 0.300]"
    assert table.loc["TVD as trained", "ours"] == "0.100 [0.050, 0.150]", (
        "as the code of Wiegreffe & Pinter prints it"
    )
    assert table["paper"].to_dict() == pytest.approx(
        {"accuracy of base": np.nan, "accuracy": 0.82, "TVD as trained": 0.036, "TVD": np.nan, "JSD": 0.316},
        nan_ok=True,
    )
    assert table.loc["TVD as trained", "difference"] == pytest.approx(0.1 - 0.036)
    assert table[["λ", "λ from", "texts", "models"]].drop_duplicates().to_numpy().tolist() == [
        ["0.000525", "paper: sst", 2, 1]
    ], "four digits, and whose it is"
    other = tables.adversary_table(apart.assign(dataset="planted"))
    assert set(other["λ"]) == {"0.0005"}
    assert set(other["λ from"]) == {"the paper's most frequent"}
    assert study.adversary_lambda("diabetes")[0] == 2e-4
    (said,) = words.about_lambdas(["rotten_tomatoes", "planted", "a/b.csv"])
    assert said == "The paper has no λ for planted, b: its most frequent one, 0.0005, is used."
    assert not words.about_lambdas(["sst"])


def test_uniformity_is_measured_within_corpora() -> None:
    rows = [tau_row("lstm", a, s, 0.5 - 0.1 * i, entropy=0.2 + 0.1 * i) for i, a in enumerate(GOOD) for s in (0, 1)]
    shifted = [{**r, "dataset": "imdb", "tau": r["tau"] + 9, "entropy": r["entropy"] + 9} for r in rows]
    found = intervals.uniformity(pd.DataFrame(rows + shifted), resamples=50)
    assert found.estimate == pytest.approx(-1.0), "a corpus with higher values of both hides nothing"
    assert found.n == 6


def test_an_attention_has_one_colour_and_its_legend_covers_no_point() -> None:
    frame = tau_frame()
    every, some = (figures.gumbel(tables.gumbel_pairs(f)) for f in (frame, frame[frame["attention"] != "additive"]))
    colours = [{line.get_label(): line.get_color() for line in chart.axes[0].lines} for chart in (every, some)]
    assert colours[0]["Dot"] == colours[1]["Dot"] != colours[0]["Deep"]
    for chart in (some, figures.uniformity(frame)):
        assert all(axis.get_legend() is None for axis in chart.axes)
        assert len(chart.legends) == 1


def test_figures_draw() -> None:
    frame = tau_frame()
    ranks = pd.DataFrame([tau_row("lstm", a, 0, 0.5) | {"rank": r} for a in GOOD for r in (1, 2, 3)])
    told = {"information": 1.0, "low": 0.9, "high": 1.1, "alpha": 0.5}
    size = ranks["attention"].map({name: k + 1 for k, name in enumerate(GOOD)}) / ranks["rank"]
    ranks = ranks.assign(**{name: value * size for name, value in told.items()}, floor=0.1)
    assert len(figures.curves(ranks, "sst", "lstm", 0).axes) == 6
    assert figures.boxes(frame).axes[0].get_title(loc="left") == "sst  (n = 18)"
    assert "6 settings" in figures.gumbel(tables.gumbel_pairs(frame)).axes[0].get_title(loc="left")
    assert len(figures.uniformity(frame).axes) == 1
    assert figures.shown(ranks.assign(seed=4)) == ("sst", "lstm", 4)
    assert "the most informative rank is 1" in words.about_curves(ranks, "sst", "lstm", 0)[0]


@pytest.mark.parametrize(
    ("profile", "runs", "models"), [("smoke", 33, 32), ("cpu", 102, 97), ("paper", 2340, 2270)]
)
def test_grids_of_the_profiles(profile: str, runs: int, models: int) -> None:
    (plan,) = plans(["04_mutual_information"], profile, [])
    found = study.grid(plan.values)
    fits = {fit for run in found for fit in run.fits}
    assert (len(found), len(fits)) == (runs, models)


def test_vectors_of_the_paper_profile() -> None:
    (plan,) = plans(["04_mutual_information"], "paper", [])
    used = {run.label["dataset"]: run.fits[0].model for run in study.grid(plan.values)}
    widths = {name: model.embedding_size for name, model in used.items()}
    assert {name for name, width in widths.items() if width == 50} == {"babi_1", "babi_2", "babi_3"}
    assert set(widths.values()) == {50, 300}
    assert "840B" in used["snli"].vectors
    assert {used[f"babi_{k}"].vectors for k in (1, 2, 3)} == {"none"}
    assert "wiki.simple" in used["sst"].vectors


def test_ablations_are_what_they_say() -> None:
    params = study.Params(seeds=(0,), gumbel_seeds=(), ablation_seeds=(0,), adversary_seeds=(0,))
    special = {run.label["variant"]: run.fits[-1] for run in study.grid(params) if run.label["variant"] != "none"}
    fixed, kept, other = (special[name] for name in tables.SPECIAL)
    assert fixed.train.freeze == ("attention",)
    assert fixed.warm_start is None
    assert kept.train.freeze == tuple(kept.params["warm_parts"]) == ("embedding", "encoder")
    assert isinstance(kept.warm_start, FitSpec)
    assert kept.seed != kept.warm_start.seed, "attention must not start where the base's did"
    assert other.trainer.endswith(":adversary")
    dots = [run.fits[0].model for run in study.grid(params) if run.fits[0].model.attention == "dot"]
    assert {model.dot_scaled for model in dots} == {True, False}
    assert not params.model("planted", "lstm", "dot").dot_scaled, "equation 5"
    assert params.model("stories", "lstm", "dot").dot_scaled, "equation 1"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"corpora": ["rotten_tomatos"]}, "rotten_tomatoes"),
        ({"query_corpora": ["babi_4"]}, "babi_1"),
        ({"encoders": ["bert"]}, "lstm"),
        ({"counts": [1]}, "counts.* equal to 2"),
        ({"seeds": [0, 0]}, "each once"),
        ({"gumbel_seeds": [7]}, "among the seeds"),
        ({"encoders": ["mlp"], "query_corpora": []}, "lstm with additive"),
        ({"encoders": ["mlp"], "query_encoders": ["cnn"]}, "lstm with additive"),
        ({"corpora": [], "query_encoders": ["mlp"]}, "lstm with additive"),
        ({"attentions": ["dot"]}, "lstm with additive"),
        ({"corpora": [], "query_corpora": []}, "corpora must name at least one"),
        ({"vector_files": {"imdb": "x"}}, "corpus in vector_files"),
        ({"vector_files": {"stories": "x"}}, "stories learn their word vectors"),
        ({"query_corpora": [{"corpus": "stories", "n_tests": 2}]}, "Did you mean 'n_test'"),
        ({"hidden_sizes": {"lstm": 8}}, "says nothing about"),
        ({"embedding_size": {"imdb": 50, "other": 16}}, "corpus in embedding_size"),
        ({"embedding_size": {"stories": 50}}, "nothing about planted"),
        ({"embedding_size": {"other": 0}}, "embedding_size: a width is 1 at least; got {'other': 0}"),
        ({"embedding_size": 0}, "^embedding_size: a width is 1 at least; got 0.$"),
        ({"seed": [1]}, "seeds"),
        ({"corpora": ["planted", "x.csv"], "query_corpora": ["x.csv"]}, "both name x;"),
        ({"corpora": ["snli"], "query_corpora": []}, "put it in query_corpora"),
        ({"corpora": [{"corpus": "babi", "path": "x"}], "query_corpora": []}, "put it in query_corpora"),
        ({"query_corpora": ["imdb"]}, "put it in corpora"),
        ({"query_encoders": []}, "query_encoders must name at least one"),
    ],
)
def test_nonsense_is_refused(wrong: dict, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        study.Params(**wrong)


def test_own_files_under_names_of_ones_own() -> None:
    params = study.Params(
        corpora=["planted", {"name": "mine", "path": "a.csv"}],
        query_corpora=[
            {"name": "myqa", "path": "b.csv"},
            "hub:multi_nli",
            "online.csv",
            {"corpus": "babi_1", "path": "babi"},
        ],
    )
    assert [params.data(name).corpus for name in ("mine", "myqa", "hub:multi_nli")] == [
        "a.csv",
        "b.csv",
        "hub:multi_nli",
    ]
    assert params.data("babi_1").options == {"task": 1, "path": "babi"}
    assert params.data("myqa").options == {"name": "myqa"}
    tasks = [params.task(name) for name in (*params.corpora, *params.query_corpora)]
    assert tasks == ["classification", "classification", "qa", "nli", "qa", "qa"]
    assert study.Params(query_corpora=["snli"]).task("snli") == "nli"
    assert study.Params(query_corpora=[], query_encoders=[]).task("planted") == "classification"


def test_corpora_are_checked_before_training(tmp_path) -> None:
    from attnlib.store.specs import Corpora

    rows = pd.DataFrame({"text": [f"word{i} is here" for i in range(90)], "label": ["a", "b"] * 45})
    rows = rows.assign(split=["train", "dev", "test"] * 30, query=[f"where {i}" for i in range(90)])
    rows.to_csv(tmp_path / "x.csv", index=False)
    rows.drop(columns="query").to_csv(tmp_path / "y.csv", index=False)
    told = {"corpora": ["planted"], "query_corpora": [{"name": "myqa", "path": str(tmp_path / "x.csv")}]}
    loaded = Corpora()
    params = study.Params(**told, counts=[20])
    myqa = loaded[params.data("myqa")]
    study.check_texts(params, "myqa", myqa)
    with pytest.raises(ConfigError, match="3 test texts of two words"):
        study.check_texts(params, "myqa", replace(myqa, test=myqa.test[:3]))
    other = study.Params(corpora=[str(tmp_path / "x.csv")], query_corpora=[], counts=[5])
    with pytest.raises(ConfigError, match="has a query; put it in query_corpora"):
        study.results(other, corpora=loaded)
    other = study.Params(query_corpora=[str(tmp_path / "y.csv")], counts=[5])
    with pytest.raises(ConfigError, match="has no query; put it in corpora"):
        study.results(other, corpora=loaded)


def test_measured_on_a_small_model(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ATTNLIB_PROGRESS", "0")
    from attnlib.data import load_corpus
    from attnlib.studies.mutual_information import measures
    from attnlib.training.fit import fit

    params = study.Params(
        limit=40, embedding_size=6, hidden_sizes={"lstm": 6, "cnn": 8, "mlp": 6}, epochs=1, train_embeddings=True
    )
    base = study.models(params, "planted")[0]
    corpus = load_corpus(base.data)
    fitted = fit(corpus, base.model, base.train, base.seed)
    found = measures.by_rank(fitted, corpus, counts=[4, 6], texts=30, resamples=5)
    fact = found["taus"].iloc[0]
    assert fact["n"] == 30
    assert len(found["ranks"]) == fact["k"]
    assert -1 <= fact["tau"] <= 1
    assert 0.4 < fact["majority"] < 1
    assert fact["output_entropy"] > 0
    other = measures.adversary(
        corpus, base.model, base.train.replace(monitor="train_loss"), 9, warm_start=fitted, lam=0.1
    )
    apart = measures.apart(fitted, other, corpus, texts=30)
    assert len(apart) == 30, "the texts that tau is measured on"
    assert apart["tvd_trained"].to_numpy() == pytest.approx(apart["tvd"].to_numpy() / 2), "two classes"
    assert apart["jsd"].between(0, np.log(2) + 1e-9).all()
    with pytest.raises(ValueError, match="architecture"):
        measures.adversary(corpus, base.model.replace(encoder="mlp"), base.train, 9, warm_start=fitted, lam=0.1)
