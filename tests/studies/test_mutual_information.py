"""The study of attention ranks and information: parameters and grids; tables and claims on hand-made frames."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib import notebooks
from attnlib.errors import ConfigError
from attnlib.spec import Fit
from attnlib.studies import mutual_information as study
from attnlib.studies import mutual_information_claims as ledger
from attnlib.studies import mutual_information_figures as figures
from attnlib.studies import mutual_information_intervals as intervals
from attnlib.studies import mutual_information_tables as tables
from attnlib.studies import mutual_information_words as words


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch) -> None:
    """A thousand rank correlations a ledger are many; the verdicts here do not hang on them."""
    monkeypatch.setattr(ledger, "uniformity", partial(intervals.uniformity, resamples=40))


GOOD = {"additive": 0.9, "deep": 0.8, "dot": 0.3}


def _row(encoder, attention, seed, tau, *, dataset="sst", projection="softmax", variant="none", entropy=None):
    return {
        "dataset": dataset, "encoder": encoder, "attention": attention, "projection": projection,
        "variant": variant, "seed": seed, "tau": tau, "value": tau, "low": tau - 0.1, "high": tau + 0.1,
        "tau_plain": tau, "tau_miller_madow": tau, "tau_shuffled": tau, "tau_neighbours": tau - 0.1,
        "k": 5, "clusters": 50, "smallest": 1 + seed, "n": 300, "accuracy": 0.8,
        "entropy": 1 - tau / 2 if entropy is None else entropy, "task": study.task(dataset),
    }  # fmt: skip


def _frame(
    means=None,
    fix_attention=0.1,
    fix_representation=0.9,
    adversary=0.88,
    gumbel=0.05,
    best=0.05,
    jitter=0.01,
    dataset="sst",
    encoders=("lstm", "cnn"),
    seeds=3,
):
    """Taus as the paper would have them, unless told otherwise."""
    rows = []
    for seed in range(seeds):
        for encoder in encoders:
            for attention, mean in (means or GOOD).items():
                bonus = best if (encoder, attention) == study.MAIN else 0.0
                tau = mean + bonus + jitter * seed
                rows.append(_row(encoder, attention, seed, tau))
                rows.append(_row(encoder, attention, seed, tau + gumbel, projection="gumbel"))
        for variant, tau in (
            ("fix_attention", fix_attention),
            ("fix_representation", fix_representation),
            ("adversary_unfrozen", adversary),
        ):
            rows.append(_row(*study.MAIN, seed, tau + jitter * seed, variant=variant))
    return pd.DataFrame(rows).assign(dataset=dataset, task=study.task(dataset))


def _apart(dataset="sst", seeds=3, texts=10, jsd=0.4, base=1.0, adversary=1.0, tvd=0.1):
    """Texts of adversaries: far from their bases and as accurate, unless told otherwise."""
    rows = [
        {"dataset": dataset, "seed": seed, "instance": str(i), "tvd": tvd, "jsd": jsd,
         "right_base": float(i < texts * base), "right_adversary": float(i < texts * adversary)}
        for seed in range(seeds) for i in range(texts)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _verdicts(taus, apart=None):
    results = study.Results(taus, pd.DataFrame(), _apart() if apart is None else apart, SimpleNamespace())
    return {int(claim.id.rpartition("-")[2]): claim for claim in ledger.claims(results, "by hand")}


def test_claims_that_hold_are_reproduced() -> None:
    found = _verdicts(_frame())
    assert {claim.verdict for claim in found.values()} == {"reproduced"}
    assert found[2].effect == pytest.approx(0.6 + 0.05 / 2)
    assert found[4].effect == pytest.approx(0.05), "the strongest rival is cnn with additive"
    assert "cnn+additive" in found[4].setting
    assert found[5].effect == pytest.approx(0.95 - 0.1)
    assert found[8].effect == 1.0
    assert found[8].n == 6
    assert found[10].effect == pytest.approx((0.01 + 0.01 + 0.02) / 3)


def test_claims_that_fail_are_not_reproduced() -> None:
    worse = {"additive": -0.5, "deep": -0.6, "dot": 0.5}
    frame = _frame(
        worse, fix_attention=0.5, fix_representation=-0.9, adversary=-0.9, gumbel=-0.1, best=-0.2, jitter=0.2
    )
    frame["entropy"] = 0.5 + frame["tau"] / 4
    found = _verdicts(frame)
    assert {claim.verdict for number, claim in found.items() if number != 1} == {"not reproduced"}
    assert found[1].verdict == "not reproduced" or found[1].high >= 0


def test_claims_without_their_models_are_undetermined() -> None:
    frame = _frame()
    found = _verdicts(
        frame[(frame["variant"] == "none") & (frame["projection"] == "softmax") & (frame["seed"] == 0)]
    )
    assert {n for n, claim in found.items() if claim.verdict == "undetermined"} >= {5, 6, 7, 8, 10}
    assert found[5].n == 0


def test_two_values_of_one_sign_decide_nothing() -> None:
    one_seed = pd.concat([_frame(dataset=name, seeds=1) for name in ("sst", "imdb")])
    found = _verdicts(one_seed)
    assert found[5].n == found[6].n == 2
    for number in (1, 2, 3, 4, 5, 6, 7):
        assert np.isnan(found[number].low), f"claim {number}: one seed has no interval"
        assert found[number].verdict == "undetermined"
    two_pairs = _verdicts(_frame(seeds=2))
    assert np.isnan(two_pairs[5].low), "two pairs of models are too few"
    assert two_pairs[10].n == 1
    four = _verdicts(pd.concat([_frame(dataset=name, seeds=2) for name in ("sst", "imdb")]))
    assert (four[5].n, four[5].verdict, four[6].verdict) == (4, "reproduced", "reproduced")


def test_many_corpora_with_one_seed_have_no_interval() -> None:
    frame = pd.concat([_frame(dataset=name, seeds=1) for name in ("sst", "imdb", "adr", "20news")])
    found = _verdicts(frame)
    assert (found[5].n, found[5].verdict) == (4, "undetermined")
    assert found[8].verdict == "reproduced", "over 24 settings, which are more than a seed"
    assert found[9].verdict == "reproduced"
    assert "2 pairs of models: too few" in words.about_deltas(_frame(seeds=2), ["fix_attention"])[0]
    assert tables.delta_table(_frame(seeds=2), 2, ["fix_attention"])["Δτ"].tolist() == ["0.85"]
    few = _verdicts(_frame({"additive": 0.9, "dot": 0.3}, encoders=("lstm",)))
    assert (few[8].verdict, few[9].verdict) == ("undetermined", "undetermined"), "two settings"


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({}, "reproduced"),
        ({"jsd": 0.194}, "reproduced"),
        ({"jsd": 0.18}, "undetermined"),
        ({"adversary": 0.9}, "undetermined"),
        ({"base": 0.8}, "reproduced"),
    ],
)
def test_only_adversaries_decide_on_adversaries(told: dict, verdict: str) -> None:
    found = _verdicts(_frame(), _apart(**told))[7]
    assert found.verdict == verdict
    assert found.n == 3
    said = words.about_adversaries(_apart(**told))
    assert len(said) == (1 if verdict == "reproduced" else 2)


def test_without_their_texts_adversaries_decide_nothing() -> None:
    assert _verdicts(_frame(), pd.DataFrame())[7].verdict == "undetermined"
    assert words.about_adversaries(pd.DataFrame()) == ["No adversaries were part of this run."]


def test_a_corpus_without_true_adversaries_is_left_out_by_name() -> None:
    taus = pd.concat([_frame(), _frame(dataset="imdb", adversary=-0.9)])
    found = _verdicts(taus, pd.concat([_apart(), _apart("imdb", jsd=0.01)]))[7]
    assert (found.verdict, found.n) == ("reproduced", 3)
    assert found.effect == pytest.approx(0.95 - 0.88)
    assert "left out: imdb" in found.setting
    both = _verdicts(taus, pd.concat([_apart(), _apart("imdb")]))[7]
    assert (both.verdict, both.n) == ("not reproduced", 6)
    assert "left out" not in both.setting


def test_cells_are_compared_on_the_corpora_that_have_them_all() -> None:
    easy = _frame(dict.fromkeys(GOOD, 1.0), dataset="stories", encoders=("lstm",), best=0.0, jitter=0.0)
    hard = _frame({"additive": 0.2, "deep": 0.15, "dot": 0.1}, best=-0.1, jitter=0.0)
    frame = pd.concat([hard, easy])
    table = tables.average_table(frame).set_index(["encoder", "attention"])
    assert table.loc[("BiLSTM", "Additive"), "ours"] == "0.10 [0.10, 0.10]", "stories would make it 0.55"
    assert table.loc[("BiLSTM", "Additive"), "difference"] == pytest.approx(0.1 - 0.92)
    assert table.loc[("BiLSTM", "Additive"), ["corpora", "models"]].tolist() == [1, 3]
    assert table.loc[("all", "Deep"), ["corpora", "models"]].tolist() == [2, 9], "all corpora have every attention"
    (said,) = (text for text in words.about_taus(frame) if "highest" in text)
    assert said.startswith("On sst, ")
    assert "CNN with Additive" in said
    apart = pd.concat([_frame(dataset="sst", encoders=("cnn",)), easy])
    assert "No corpus has every encoder" in words.about_taus(apart)[-1]
    assert set(tables.average_table(apart)["encoder"]) == {"all"}


def test_stability_is_told_of_the_papers_setting_first() -> None:
    frame = _frame(jitter=0.01)
    wild = (frame["encoder"] == "cnn") & (frame["attention"] == "dot")
    frame.loc[wild, "tau"] += frame.loc[wild, "seed"] * 0.3
    main, every, _ = words.about_stability(frame)
    assert "BiLSTM with additive attention" in main
    for told in ("**0.01**", "0.02 at most (paper: 0.02 and 0.05)", "n = 3 pairs"):
        assert told in main
    assert "0.62 at most; n = 18 pairs" in every
    assert words.about_stability(_frame(seeds=1)) == ["One seed: nothing to compare."]


def test_tables_by_hand() -> None:
    frame = _frame()
    averages = tables.average_table(frame).set_index(["encoder", "attention"])
    assert averages.loc[("all", "Dot"), "ours"].startswith("0.31 [0.30, 0.3")
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
    frame = _frame(gumbel=0.0)
    fallen = (frame["projection"] == "gumbel") & (frame["attention"] == "dot") & (frame["encoder"] == "cnn")
    frame.loc[fallen, "tau"] -= 0.2
    pairs = tables.gumbel_pairs(frame)
    assert len(pairs) == 6
    assert pairs["kept"].sum() == 5
    table = tables.gumbel_table(pairs).iloc[0]
    assert (table["Additive"], table["Dot"], table["all"]) == ("2/2", "1/2", "5/6")
    assert table["paper: Dot"] == "19/21"
    assert "5 of 6" in words.about_gumbel(frame)[0]
    assert len(tables.gumbel_pairs(frame[frame["projection"] == "softmax"])) == 0


def test_adversaries_stand_beside_the_papers() -> None:
    apart = pd.DataFrame({"dataset": "rotten_tomatoes", "seed": 0, "instance": ["a", "b"], "tvd": [0.1, 0.3]})
    apart = apart.assign(jsd=[0.2, 0.4], right_base=[1.0, 1.0], right_adversary=[1.0, 0.0])
    table = tables.adversary_table(apart, {"rotten_tomatoes": 1e-3}).set_index("quantity")
    assert table.loc["accuracy", "ours"] == "0.500 [0.000, 1.000]"
    assert table.loc["TVD", "ours"] == "0.200 [0.100, 0.300]"
    assert table.loc["TVD / 2", "ours"] == "0.100 [0.050, 0.150]", "as the code of Wiegreffe & Pinter prints it"
    assert table["paper"].to_dict() == pytest.approx(
        {"accuracy of base": np.nan, "accuracy": 0.82, "TVD / 2": 0.036, "TVD": np.nan, "JSD": 0.316}, nan_ok=True
    )
    assert table.loc["TVD / 2", "difference"] == pytest.approx(0.1 - 0.036)
    assert table[["λ", "texts", "models"]].drop_duplicates().to_numpy().tolist() == [[1e-3, 2, 1]]
    assert study.adversary_lambda("rotten_tomatoes") == 5.25e-4, "that of SST, its kin"
    assert study.adversary_lambda("diabetes") == 2e-4
    assert study.adversary_lambda("planted") == study.LAMBDA


def test_uniformity_is_measured_within_corpora() -> None:
    rows = [_row("lstm", a, s, 0.5 - 0.1 * i, entropy=0.2 + 0.1 * i) for i, a in enumerate(GOOD) for s in (0, 1)]
    shifted = [{**r, "dataset": "imdb", "tau": r["tau"] + 9, "entropy": r["entropy"] + 9} for r in rows]
    found = intervals.uniformity(pd.DataFrame(rows + shifted), resamples=50)
    assert found.estimate == pytest.approx(-1.0), "a corpus with higher values of both hides nothing"
    assert found.n == 12


def test_figures_draw() -> None:
    frame = _frame()
    ranks = pd.DataFrame([_row("lstm", a, 0, 0.5) | {"rank": r} for a in GOOD for r in (1, 2, 3)])
    told = {"information": 1.0, "low": 0.9, "high": 1.1, "alpha": 0.5}
    ranks = ranks.assign(**{name: value / ranks["rank"] for name, value in told.items()}, floor=0.1)
    assert len(figures.curves(ranks, "sst", "lstm", 0).axes) == 6
    assert figures.boxes(frame).axes[0].get_title(loc="left") == "sst  (n = 18)"
    assert "6 settings" in figures.gumbel(tables.gumbel_pairs(frame)).axes[0].get_title(loc="left")
    assert len(figures.uniformity(frame).axes) == 1
    assert "the most informative rank is 1" in words.about_curves(ranks, "sst", "lstm", 0)[0]


@pytest.mark.parametrize(("profile", "runs", "models"), [("smoke", 33, 32), ("cpu", 66, 63), ("paper", 2340, 2270)])
def test_grids_of_the_profiles(profile: str, runs: int, models: int) -> None:
    (plan,) = notebooks.plan(["04_mutual_information"], profile, [])
    found = study.grid(plan.values)
    fits = {fit for run in found for fit in run.fits}
    assert (len(found), len(fits)) == (runs, models)


def test_vectors_of_the_paper_profile() -> None:
    (plan,) = notebooks.plan(["04_mutual_information"], "paper", [])
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
    assert isinstance(kept.warm_start, Fit)
    assert kept.seed != kept.warm_start.seed, "attention must not start where the base's did"
    assert other.trainer.endswith(":adversary")
    dots = [run.fits[0].model for run in study.grid(params) if run.fits[0].model.attention == "dot"]
    assert not any(model.dot_scaled for model in dots)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"corpora": ["rotten_tomatos"]}, "rotten_tomatoes"),
        ({"query_corpora": ["babi_4"]}, "babi_1"),
        ({"encoders": ["bert"]}, "lstm"),
        ({"counts": [1]}, "2 at least"),
        ({"seeds": [0, 0]}, "each once"),
        ({"gumbel_seeds": [7]}, "among the seeds"),
        ({"encoders": ["mlp"]}, "lstm with additive"),
        ({"hidden_sizes": {"lstm": 8}}, "says nothing about"),
        ({"paths": {"imdb": "x"}}, "corpus in paths"),
        ({"embedding_size": {"imdb": 50, "other": 16}}, "corpus in embedding_size"),
        ({"embedding_size": {"stories": 50}}, "nothing about planted"),
        ({"embedding_size": {"other": 0}}, "greater than 0"),
        ({"embedding_size": 0}, "greater than 0"),
        ({"seed": [1]}, "seeds"),
    ],
)
def test_nonsense_is_refused(wrong: dict, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        study.Params(**wrong)


def test_measured_on_a_small_model(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ATTNLIB_PROGRESS", "0")
    from attnlib.data import load_corpus
    from attnlib.studies import mutual_information_measures as measures
    from attnlib.training import fit

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
    other = measures.adversary(
        corpus, base.model, base.train.replace(monitor="train_loss"), 9, warm_start=fitted, lam=0.1
    )
    apart = measures.apart(fitted, other, corpus)
    assert len(apart) == len(corpus.test)
    assert apart["jsd"].between(0, np.log(2) + 1e-9).all()
    with pytest.raises(ValueError, match="architecture"):
        measures.adversary(corpus, base.model.replace(encoder="mlp"), base.train, 9, warm_start=fitted, lam=0.1)
