"""The study of attention ranks and information: parameters and grids; tables and claims on hand-made frames."""

from __future__ import annotations

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
from attnlib.studies import mutual_information_tables as tables
from attnlib.studies import mutual_information_words as words

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
    means=None, fix_attention=0.1, fix_representation=0.9, adversary=0.88, gumbel=0.05, best=0.05, jitter=0.01
):
    """Taus as the paper would have them, unless told otherwise."""
    rows = []
    for seed in range(3):
        for encoder in ("lstm", "cnn"):
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
    return pd.DataFrame(rows)


def _verdicts(taus):
    results = study.Results(taus, pd.DataFrame(), pd.DataFrame(), SimpleNamespace())
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


def test_tables_by_hand() -> None:
    frame = _frame()
    averages = tables.average_table(frame).set_index(["encoder", "attention"])
    assert averages.loc[("all", "Dot"), "value"] == pytest.approx(0.31)
    assert averages.loc[("all", "Dot"), "paper"] == 0.45
    assert averages.loc[("BiLSTM", "Additive"), "paper"] == 0.92
    assert averages.loc[("all", "Dot"), "models"] == 6
    loss = tables.delta_table(frame, 2, ["fix_attention", "fix_representation"]).set_index("variant")
    assert loss.loc["Fix Attn", "tau there"] == pytest.approx(0.11)
    assert loss.loc["Fix Attn", "paper"] == 0.71
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
    row = tables.adversary_table(apart, {"rotten_tomatoes": 1e-3}).iloc[0]
    assert (row["accuracy"], row["TVD"], row["paper: TVD"], row["texts"]) == (0.5, 0.2, 0.036, 2)
    assert study.adversary_lambda("rotten_tomatoes") == 5.25e-4, "that of SST, its kin"
    assert study.adversary_lambda("diabetes") == 2e-4
    assert study.adversary_lambda("planted") == study.LAMBDA


def test_uniformity_is_measured_within_corpora() -> None:
    rows = [_row("lstm", a, s, 0.5 - 0.1 * i, entropy=0.2 + 0.1 * i) for i, a in enumerate(GOOD) for s in (0, 1)]
    shifted = [{**r, "dataset": "imdb", "tau": r["tau"] + 9, "entropy": r["entropy"] + 9} for r in rows]
    found = tables.uniformity(pd.DataFrame(rows + shifted), resamples=50)
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


@pytest.mark.parametrize(("profile", "runs", "models"), [("smoke", 33, 32), ("cpu", 60, 58), ("paper", 2340, 2270)])
def test_grids_of_the_profiles(profile: str, runs: int, models: int) -> None:
    (plan,) = notebooks.plan(["04_mutual_information"], profile, [])
    found = study.grid(plan.values)
    fits = {fit for run in found for fit in run.fits}
    assert (len(found), len(fits)) == (runs, models)


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
