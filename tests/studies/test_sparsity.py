"""The study of sparse attention: grids of every profile, tables and claims on frames whose answers are known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from attnlib import notebooks, paths
from attnlib.claims import judge
from attnlib.config import TrainConfig
from attnlib.errors import ConfigError
from attnlib.spec import Fit
from attnlib.stats import kendall_tau
from attnlib.studies import sparsity as study
from attnlib.studies import sparsity_tables as tables
from attnlib.studies.common import CPU_DATA, CPU_MODEL, CPU_TRAIN
from attnlib.studies.sparsity_claims import claims, every

LAMBDAS = (-10.0, 0.0, 0.5)


def given_by(profile: str) -> dict:
    """The parameters of a profile, as `attnlib run` hands them to the notebook."""
    (plan,) = notebooks.plan(["03_sparsity"], profile, [])
    return plan.values


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_grid_of_a_profile_has_its_size(profile) -> None:
    given = given_by(profile)
    params = study.Params(**given)
    runs = study.grid(given)
    places = 1 + len(params.entmax_alphas) + len(params.lambdas)
    models = len(params.corpora) * len(params.encoders) * places * len(params.seeds)
    kinds = {task: sum(run.task.endswith(f":{task}") for run in runs) for task in ("readings", "appendix", "duel")}
    bases = len(params.adversary_projections) * len(params.adversary_seeds)
    pairs = len(params.corpora) * len(params.encoders)
    assert kinds == {
        "readings": models,
        "appendix": pairs,
        "duel": pairs * bases * 2 * len(params.adversary_lambdas),
    }
    assert len(set(runs)) == len(runs)


def test_cpu_shares_its_base_with_the_other_studies() -> None:
    params = study.Params(**given_by("cpu"))
    shared = Fit(data=CPU_DATA, model=CPU_MODEL.replace(encoder="lstm"), train=CPU_TRAIN, seed=0)
    assert shared in [fit for fit, _ in study.models(params, "rotten_tomatoes")]


def test_paper_trains_with_table_4() -> None:
    params = study.Params(**given_by("paper"))
    assert params.training("lstm").learning_rate == 1e-4
    assert params.training("transformer").learning_rates == {"attention": pytest.approx(1e-4)}
    assert params.training("lstm").weight_decays["attention"] == 0
    assert isinstance(params.training("lstm"), TrainConfig)


def test_lambda_zero_is_sparsemax_and_trained_once() -> None:
    params = study.Params(lambdas=LAMBDAS, entmax_alphas=(1.5,), seeds=(0,), encoders=("lstm",))
    fits = {fit.model.projection: (fit, place) for fit, place in study.models(params, "planted")}
    assert fits["sparsemax"][1] == {"lam": 0.0, "alpha": 2.0}
    found = [fit.model for fit, _ in study.models(params, "planted")]
    assert len(found) == 5
    assert not any(m.projection == "sparsegen" and m.sparsegen_lambda == 0 for m in found)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"corpora": ["plantd"]}, "planted"),
        ({"lambdas": [-1.0, 0.5, 0.9]}, "0 \\(sparsemax\\)"),
        ({"lambdas": [0.0, 0.5, 1.0]}, "sparsegen_lambda"),
        ({"entmax_alphas": [2.0]}, "between 1"),
        ({"encoders": ["lstn"]}, "lstm"),
        ({"hidden_sizes": {"lstm": 8}}, "transformer"),
        ({"seeds": [0, 0]}, "each once"),
        ({"adversary_seeds": [7]}, "among the seeds"),
        ({"paths": {"sst": "x"}}, "sst"),
        ({"lambda": [0.0]}, "lambdas"),
    ],
)
def test_nonsense_is_refused(wrong, said) -> None:
    with pytest.raises(ConfigError, match=said):
        study.Params(**wrong)


def test_profiles_are_read_from_files() -> None:
    for profile in ("cpu", "paper"):
        file = paths.notebooks().parent / "params" / "03_sparsity" / f"{profile}.yaml"
        assert set(yaml.safe_load(file.read_text(encoding="utf-8"))) <= set(study.Params.model_fields)


def model_rows(effect, *, texts: int = 40, seeds: int = 2, **more) -> pd.DataFrame:
    """Rows of every model of a small grid; `effect(encoder, projection, lam)` is the mean, texts differ."""
    places = [("softmax", np.nan, 1.0), ("sparsemax", 0.0, 2.0)]
    places += [("sparsegen", lam, np.nan) for lam in LAMBDAS if lam]
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, texts)
    rows = [
        {
            "dataset": "sst",
            "encoder": encoder,
            "attention": study.ATTENTION[encoder],
            "projection": projection,
            "lam": lam,
            "alpha": alpha,
            "seed": seed,
            "instance": f"t{i}",
            "length": 10,
            "value": effect(encoder, projection, lam) + noise[i] + 0.001 * seed,
        }
        for encoder in study.ENCODERS
        for projection, lam, alpha in places
        for seed in range(seeds)
        for i in range(texts)
    ]
    return pd.DataFrame(rows).assign(**more)


def found(
    *, rising: bool = False, hidden_above: bool = True, high: float = 0.8, far: float = 0.6, lost: float = 0.2
):
    """Results in which everything the paper claims holds, or fails where an argument says so."""
    step = 0.1 if rising else -0.1
    soft = lambda lam: -11.0 if np.isnan(lam) else lam  # noqa: E731
    order = [-11.0, *LAMBDAS]
    agreement = pd.concat(
        model_rows(
            lambda e, p, lam, k=kind: (
                0.4 + step / 2 * order.index(soft(lam)) + (0.4 if hidden_above else -0.1) * k.endswith("hidden")
            ),
            importance=kind,
            status="ordered",
            tied=0.0,
            entropy=0.9,
            metric="kendall_tau_attention",
        )
        for kind in ("gradient_input", "leave_one_out_input", "gradient_hidden", "leave_one_out_hidden")
    )
    sparser = model_rows(lambda e, p, lam: 0.9 - 0.2 * order.index(soft(lam)), metric="support_share")
    entropy = model_rows(
        lambda e, p, lam: 0.8 + step / 10 * order.index(soft(lam)), metric="entropy_gradient_input"
    )
    hidden = model_rows(lambda e, p, lam: high, metric="entropy_grad_fi_of_hidden", own=0.3, even=0.1)
    rng = np.random.default_rng(1)
    duels = pd.concat(
        pd.DataFrame(
            {
                "dataset": "sst",
                "encoder": encoder,
                "projection": "softmax",
                "variant": variant,
                "push": 0.1,
                "seed": 0,
                "instance": range(400),
                "jsd": far,
                "tvd": 0.1,
                "right_base": 1.0,
                "right_adversary": (rng.random(400) > (lost if variant == "adversary_frozen" else 0.005)).astype(
                    float
                ),
            }
        )
        for encoder in study.ENCODERS
        for variant in study.ADVERSARIES
    )
    facets = pd.DataFrame(
        {"dataset": "sst", "encoder": "lstm", "seed": 0, "instance": [f"t{i}" for i in range(30)], "position": 0}
    ).assign(of_norm=0.8, of_facets=0.79, tau=0.9, distance=0.1)
    return SimpleNamespace(
        agreement=agreement.reset_index(drop=True),
        entropies=pd.concat([sparser, entropy], ignore_index=True),
        hidden=hidden,
        adversaries=duels.reset_index(drop=True),
        facets=facets,
    )


def verdicts(results) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in claims(results, "by hand")}


def test_what_the_paper_says_is_reproduced_where_it_holds() -> None:
    said = verdicts(found())
    assert len(said) == 13
    # The text and the table of the paper contradict each other: one of the two must fail.
    assert said.pop("sparsity-8") == "not reproduced"
    assert set(said.values()) == {"reproduced"}


def test_claims_fail_where_the_data_say_the_opposite() -> None:
    said = verdicts(found(rising=True, hidden_above=False, high=0.2, lost=0.0))
    failed = {k for k, v in said.items() if v == "not reproduced"}
    assert {"sparsity-2", "sparsity-4", "sparsity-5", "sparsity-7", "sparsity-9", "sparsity-10"} <= failed
    assert said["sparsity-8"] == "reproduced"
    assert said["sparsity-11"] != "reproduced"


def test_an_adversary_that_stays_near_decides_nothing() -> None:
    said = verdicts(found(far=0.1))
    assert said["sparsity-11"] == said["sparsity-12"] == "undetermined"


def test_every_reports_the_weakest_and_needs_all() -> None:
    rows = pd.DataFrame({"value": [0.5, 0.1], "low": [0.4, -0.1], "high": [0.6, 0.3], "n": [10, 20]})
    said = {"paper": "p", "setting": "s"}
    one = every(rows, "greater", 0.0, said, id="x", claim="c", where="w", test="t")
    assert (one.effect, one.n, one.verdict) == (0.1, 20, "undetermined")
    assert "weakest of 2" in one.setting
    assert judge(0.4, 0.6, "greater") == "reproduced"


def test_trend_is_the_mean_tau_of_the_seeds() -> None:
    frame = model_rows(lambda e, p, lam: -lam if lam == lam else 0.0)
    table = tables.trend(frame, ["encoder"])
    assert table["value"].tolist() == [-1.0, -1.0]
    assert (table["low"] == -1).all()
    assert table["points"].tolist() == [6, 6]
    rng = np.random.default_rng(0)
    frame["value"] = rng.random(len(frame))
    own = frame[(frame["encoder"] == "lstm") & frame["lam"].notna()]
    means = own.groupby(["seed", "lam"])["value"].mean()
    expected = np.mean([kendall_tau(sorted(LAMBDAS), means[seed].sort_index()) for seed in (0, 1)])
    row = tables.trend(frame, ["encoder"]).set_index("encoder").loc["lstm"]
    assert row["value"] == pytest.approx(expected)
    assert row["low"] <= row["value"] <= row["high"]


def test_tables_stand_beside_the_paper() -> None:
    results = found()
    table = tables.agreement_table(results.agreement)
    row = table[
        (table["encoder"] == "BiLSTM") & (table["projection"] == "softmax") & (table["importance"] == "g(x)")
    ]
    assert (row["paper"].item(), row["paper: sd"].item()) == (0.25, 0.28)
    assert tables.hidden_table(results.hidden)["paper"].tolist() == [0.93, 0.91, 0.73, 0.63]
    assert tables.lambda_table(results.entropies)["paper"].tolist() == [-0.866, -0.81]
    duel = tables.adversary_table(results.adversaries)
    assert duel["paper: JSD"].tolist() == [0.62, 0.61, 0.57, 0.57]
    assert duel["paper: acc."].tolist() == [0.76, 0.82, 0.76, 0.78]


def test_rotten_tomatoes_stands_beside_sst_and_others_beside_nothing() -> None:
    hidden = found().hidden
    assert tables.hidden_table(hidden.assign(dataset="rotten_tomatoes"))["paper"].notna().all()
    assert tables.hidden_table(hidden.assign(dataset="planted"))["paper"].isna().all()


def test_texts_without_an_order_are_counted() -> None:
    agreement = found().agreement
    agreement.loc[agreement.index[:3], ["status", "value"]] = ["one token", np.nan]
    table = tables.status_table(agreement)
    assert table["one token"].sum() == 3
    assert table[["ordered", "one token", "constant attention", "constant importance"]].to_numpy().sum() == len(
        agreement
    )
