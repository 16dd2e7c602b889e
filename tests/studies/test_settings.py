"""The table of settings: what a paper has, and what the models of a run have."""

import pytest

from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.reports.plan import plans
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies.settings import Setting, read_settings, settings_table
from attnlib.studies.study import study_for
from attnlib.utils.errors import ConfigError


def fit(seed=0, **model):
    return FitSpec(data=DataConfig(corpus="planted"), model=ModelConfig(**model), train=TrainConfig(), seed=seed)


def test_ours_is_read_from_the_models():
    runs = [fit(hidden_size=64), fit(seed=1, hidden_size=64), fit(hidden_size=32)]
    (row,) = settings_table([Setting("width", 128, "section 3", "model.hidden_size")], runs).itertuples()
    assert (row.paper, row.ours, row.differs) == ("128", "64; 32", "differs")


def test_equal_values_are_no_deviation():
    setting = Setting("amsgrad", False, "code", "train.amsgrad")
    assert settings_table([setting], [fit()])["differs"].tolist() == [""]


def test_the_reason_stands_where_a_model_differs():
    setting = Setting("start", "kaiming", "code", "model.dot_init", note="ours stays away from uniform")
    assert settings_table([setting], [fit(attention="dot")])["differs"].tolist() == ["ours stays away from uniform"]


def test_a_setting_of_models_that_are_not_there_is_left_out():
    setting = Setting("start", "kaiming", "code", "model.dot_init", where={"model.attention": "dot"})
    assert settings_table([setting], [fit(attention="additive")]).empty


@pytest.mark.parametrize(("sizes", "differs"), [((64, 32), ""), ((64, 64), "differs")])
def test_the_paper_may_set_each_encoder_apart(sizes, differs):
    setting = Setting("width", {"by": "model.encoder", "lstm": 64, "mlp": 32}, "code", "model.hidden_size")
    runs = [fit(encoder=e, hidden_size=s) for e, s in zip(("lstm", "mlp"), sizes, strict=True)]
    assert settings_table([setting], runs)["differs"].tolist() == [differs]


def test_models_behind_measures_and_warm_starts_count():
    base = fit(hidden_size=16)
    adversary = FitSpec(data=base.data, model=base.model, warm_start=base, trainer="m:f")
    run = MeasureSpec(task="m:f", fits=(adversary,))
    (row,) = settings_table([Setting("trainer", "m:f", "code", "trainer")], [run]).itertuples()
    assert row.ours == "m:f; attnlib.training.fit:fit" or row.ours == "attnlib.training.fit:fit; m:f"


def test_a_misspelt_place_is_an_error():
    with pytest.raises(AttributeError):
        settings_table([Setting("x", 1, "code", "model.nosuch")], [fit()])


def test_settings_of_measures_stand_in_their_parameters():
    run = MeasureSpec(task="m:f", fits=(fit(),), params={"ig_steps": 20})
    (row,) = settings_table([Setting("steps", 50, "code", "params.ig_steps", of="measure")], [run]).itertuples()
    assert (row.paper, row.ours) == ("50", "20")


def test_deviations_come_first():
    same, other = (
        Setting("amsgrad", False, "code", "train.amsgrad"),
        Setting("width", 1, "code", "model.hidden_size"),
    )
    assert settings_table([same, other], [fit()])["setting"].tolist() == ["width", "amsgrad"]


def test_a_flip_stands_next_to_its_deviation_and_nowhere_else():
    told = "FLAN, n = 3: 0.10 to 0.12, reproduced in both."
    width = Setting("width", 1, "code", "model.hidden_size", flipped=told)
    same = Setting("amsgrad", False, "code", "train.amsgrad", flipped="tried before it was the paper's")
    assert settings_table([same, width], [fit()])["flipped"].tolist() == [told, ""]
    assert "flipped" not in settings_table([same], [fit()]), "an empty column is left out"


def test_a_file_may_tell_of_flips(tmp_path):
    row = "- {name: width, paper: 1, source: code, ours: model.hidden_size, note: smaller, flipped: no change}\n"
    (tmp_path / "settings.yaml").write_text(row)
    table = settings_table(read_settings(tmp_path), [fit()])
    assert table["flipped"].tolist() == ["no change"]


def test_values_of_a_file_follow_the_models(tmp_path):
    (tmp_path / "settings.yaml").write_text(
        "- {name: width, paper: {by: model.encoder, mlp: 32, other: 64}, source: code, ours: model.hidden_size}\n"
        "- {name: rate, paper: 0, source: code, ours: {at: train.weight_decays.decoder, or: 0}}\n"
        "- {name: start, paper: kaiming, source: code, ours: model.dot_init, where: {model.attention: [dot]}}\n"
        "- {name: size, paper: {one of: [big, small]}, source: code, ours: size}\n"
        "- {name: loss, paper: sum, source: code, ours: {is: mean}, note: a mean}\n"
    )
    runs = [fit(encoder="mlp", hidden_size=32), fit(hidden_size=64)]
    table = settings_table(read_settings(tmp_path), runs, {"size": lambda fit: "big"}).set_index("setting")
    assert table["differs"].to_dict() == {"loss": "a mean", "width": "", "rate": "", "size": ""}
    assert table.loc["size", "paper"] == "big"


def test_a_misspelt_key_and_a_missing_file_are_errors(tmp_path):
    with pytest.raises(ConfigError, match="has no settings"):
        read_settings(tmp_path)
    (tmp_path / "settings.yaml").write_text("- {name: rate, papr: 0, source: code, ours: train.learning_rate}\n")
    with pytest.raises(TypeError, match="papr"):
        read_settings(tmp_path)


@pytest.mark.parametrize(
    "notebook", ["01_tasc", "02_tying_mlm", "03_sparsity", "04_mutual_information", "05_erasure"]
)
def test_every_deviation_of_a_cpu_profile_says_what_a_flip_did_or_that_none_was_made(notebook):
    study, (plan,) = study_for(notebook), plans([notebook], "cpu", [])
    table = study.settings(study.Params.of(plan.values))
    silent = table.loc[(table["differs"] != "") & (table["flipped"] == ""), "setting"]
    assert silent.empty, silent.tolist()
