"""Word-level objectives: parameters that make sense, grids of the stated size."""

from __future__ import annotations

import inspect

import pytest

from attnlib.reports.plan import plans
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies.tying_mlm import grid as study
from attnlib.studies.tying_mlm import settings
from attnlib.studies.tying_mlm.measures import knowledge
from attnlib.utils.errors import ConfigError, DataError
from tests import own_tables


def planned(profile: str) -> study.Params:
    (plan,) = plans(["02_tying_mlm"], profile, [])
    return study.Params(**plan.values)


@pytest.mark.parametrize(
    ("profile", "classifiers", "adversaries", "information"),
    [("smoke", 27, 6, 8), ("cpu", 45, 12, 12), ("paper", 5 * (50 + 3 * 5 + 4 * 5 + 4 * 2 * 5 + 5), 6 * 42, 100)],
)
def test_the_grid_of_each_profile(profile, classifiers, adversaries, information) -> None:
    params = planned(profile)
    runs = study.grid(params)
    tasks = [run.task.partition(":")[2] for run in runs]
    assert all(isinstance(run, MeasureSpec) for run in runs)
    assert tasks.count("behaviour") == len(study.models(params)) == classifiers
    assert tasks.count("distances") == adversaries
    assert tasks.count("knowledge") == information
    assert len(set(runs)) == len(runs)


def test_the_grid_takes_plain_values_too() -> None:
    (plan,) = plans(["02_tying_mlm"], "smoke", [])
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
        assert isinstance(adversary.warm_start, FitSpec)
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
        ({"deltas": [0.0]}, "deltas.* greater than 0"),
        ({"lambdas": [-1.0]}, "lambdas.* equal to 0"),
        ({"layers": [1]}, "layers.* equal to 2; got 1"),
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


def test_a_corpus_of_six_classes_is_refused_before_training(tmp_path, monkeypatch) -> None:
    path = own_tables.write(tmp_path, "six")
    monkeypatch.setattr(study, "run_grid", lambda *_, **__: pytest.fail("nothing may be trained"))
    for call in (study.load, study.results):
        with pytest.raises(DataError, match=r"6 classes \(food, .* two classes"):
            call(study.Params(corpora=[str(path)]))
    ((option, told),) = study.Params(corpora=[str(path)]).absent()
    assert option == "corpora", "and before a kernel starts"
    assert "6 classes" in told
    params = study.Params(corpora=[str(own_tables.write(tmp_path, "sixty"))])
    assert len(study.load(params)[params.data(params.corpora[0])].classes) == 2


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
