"""Configs: wrong names and values are explained, combinations checked, and equal configs are one key."""

from __future__ import annotations

import pickle

import pytest
import yaml
from pydantic import ValidationError

from attnlib.config import ENCODERS, REGULARISERS, SCALINGS, DataConfig, ModelConfig, TrainConfig
from attnlib.utils.errors import ConfigError

CONFIGS = (
    ModelConfig(),
    ModelConfig(encoder="cnn", kernel_sizes=(3, 5), scaling="conv", unattended=(".",)),
    ModelConfig(regulariser="tying", encoder="cnn"),
    ModelConfig(regulariser="mlm", hidden_size=128),
    TrainConfig(),
    TrainConfig(learning_rates={"encoder": 1e-4}, freeze=("decoder",), clip_norm=None),
    DataConfig(corpus="planted", options={"vocabulary": 100}),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModelConfig(encodr="lstm"), "Unknown option of ModelConfig 'encodr'. Did you mean 'encoder'?"),
        (lambda: ModelConfig(encoder="lstn"), "Unknown encoder 'lstn'. Did you mean 'lstm'.* Available: bert, cnn"),
        (lambda: TrainConfig(epochs=-1), "epochs must .*greater than or equal to 0; got -1"),
        (lambda: TrainConfig(epochs="many"), "epochs must .*integer.*; got 'many'"),
        (lambda: TrainConfig(clip_norm=0), "clip_norm must .*greater than 0; got 0"),
        (lambda: TrainConfig(freeze=("encodr",)), "Unknown part in freeze 'encodr'. Did you mean 'encoder'?"),
        (
            lambda: TrainConfig(learning_rates={"atention": 1}),
            "learning_rates 'atention'. Did you mean 'attention'",
        ),
        (lambda: TrainConfig(weight_decays={"decoder": -1}), r"weight_decays\[decoder\] must be greater"),
        (lambda: DataConfig(), "corpus is missing"),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_every_problem_is_listed():
    with pytest.raises(ConfigError) as caught:
        ModelConfig(encodr="lstm", layers=0)
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("values", "reason", "fix"),
    [
        ({"hidden_size": 33}, "must be even for two directions", {"hidden_size": 34}),
        ({"encoder": "cnn", "hidden_size": 3}, "too small for 4 kernel sizes", {"hidden_size": 4}),
        ({"kernel_sizes": (2, 3)}, "must be odd", {"kernel_sizes": (1, 3)}),
        ({"encoder": "transformer", "heads": 3}, "not divisible by heads", {"heads": 2}),
        ({"vectors": "glove", "embedding_size": 300}, "are 50 wide", {"embedding_size": 50}),
        ({"vectors": "word2vec", "embedding_size": 50}, "are 300 wide", {"embedding_size": 300}),
        ({"oov": "random"}, "oov must be 'normal' or 'zero'", {"oov": "zero"}),
        ({"oov_scale": -1.0}, "oov_scale must be greater than or equal to 0", {"oov_scale": 1.0}),
        ({"encoder": "bert", "vectors": "glove"}, "brings its own embeddings", {"vectors": "none"}),
        ({"scaling": "feat", "scaling_pool": "direct"}, "uses u itself", {"scaling": "lin"}),
        (
            {"regulariser": "tying", "hidden_size": 64, "embedding_size": 50},
            "widths must agree; got hidden width 64 and embedding_size 50. Leave one",
            {"hidden_size": 50},
        ),
        ({"regulariser": "mlm", "vectors": "glove", "hidden_size": 64}, "widths must agree", {"hidden_size": 50}),
        ({"regulariser": "residual", "embedding_size": 51}, "must be even", {"encoder": "mlp"}),
        (
            {"regulariser": "mlm", "encoder": "none"},
            "encoder 'none' reads none. Use a contextual encoder",
            {"encoder": "lstm", "hidden_size": 50},
        ),
        ({"hierarchical": True, "encoder": "bert"}, "words alone. Use lstm", {"encoder": "gru"}),
    ],
)
def test_combinations_that_cannot_work_name_the_reason_and_the_fix(values, reason, fix):
    with pytest.raises(ConfigError, match=reason):
        ModelConfig(**values)
    ModelConfig(**{**values, **fix})


@pytest.mark.parametrize(
    ("given", "embedding", "width"),
    [
        ({}, 50, 50),
        ({"embedding_size": 20}, 20, 20),
        ({"hidden_size": 64}, 64, 64),
        ({"encoder": "cnn"}, 48, 48),  # four kernels share the width evenly
        ({"vectors": "glove"}, 50, 50),
        ({"vectors": "word2vec"}, 300, 300),
        ({"encoder": "none", "embedding_size": 20}, 20, 20),
    ],
)
def test_a_size_that_must_agree_follows_the_one_that_was_given(given, embedding, width):
    config = ModelConfig(regulariser="tying", **given)
    assert (config.embedding_size, config.width) == (embedding, width)


@pytest.mark.parametrize("config", CONFIGS)
def test_round_trips(config):
    kind = type(config)
    assert kind(**yaml.safe_load(config.to_yaml())) == config
    assert kind(**config.model_dump()) == config
    assert pickle.loads(pickle.dumps(config)) == config


def test_equal_configs_are_one_key():
    rates = {"encoder": 1e-4, "decoder": 1e-2}
    one = TrainConfig(learning_rates=rates)
    other = TrainConfig(learning_rates=dict(reversed(rates.items())))
    assert one == other
    assert hash(one) == hash(other)
    assert one.digest == other.digest
    assert len({one, other, TrainConfig()}) == 2


def test_every_option_is_part_of_the_digest():
    digests = {ModelConfig(encoder=e).digest for e in ENCODERS}
    digests |= {ModelConfig(scaling=s, dropout=d).digest for s in SCALINGS for d in (0.0, 0.1)}
    digests |= {ModelConfig(regulariser=r, hidden_size=50).digest for r in REGULARISERS}
    # the default stands once among the encoders and once among the scalings
    assert len(digests) == len(ENCODERS) + 2 * len(SCALINGS) + len(REGULARISERS) - 1


def test_configs_do_not_change():
    config = TrainConfig(learning_rates={"encoder": 1e-4})
    with pytest.raises(ValidationError, match="frozen"):
        config.epochs = 3
    with pytest.raises(TypeError, match=r"config\.replace"):
        config.learning_rates["encoder"] = 1.0
    with pytest.raises(TypeError, match=r"config\.replace"):
        config.weight_decays.update(encoder=1.0)


def test_a_copy_has_its_own_digest() -> None:
    config = ModelConfig(encoder="lstm")
    first = config.digest
    copied = config.model_copy(update={"encoder": "cnn"})
    assert copied.digest == ModelConfig(encoder="cnn").digest != first == config.digest
    assert config == ModelConfig(encoder="lstm"), "one with a digest equals one without"
    assert "digest" not in config.model_dump()
