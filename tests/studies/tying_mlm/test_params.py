"""Word-level objectives: parameters that make sense, and the models they name."""

from __future__ import annotations

import pytest

from attnlib.studies.tying_mlm.params import VARIANTS, Params
from attnlib.utils.errors import ConfigError


def test_models_differ_in_the_variant_alone() -> None:
    params = Params(vectors="glove", embedding_size=50)
    base = params.model("planted", "base", "additive").model_dump()
    assert base["hidden_size"] == base["embedding_size"] == 50
    changed = {}
    for v in VARIANTS:
        other = params.model("planted", v, "additive", strength=7.0).model_dump()
        changed[v] = {name for name in base if other[name] != base[name]}
    assert changed == {
        "base": set(),
        "concat": {"regulariser"},
        "residual": {"regulariser"},
        "tying": {"regulariser", "tying_delta"},
        "mlm": {"regulariser", "mlm_eta"},
    }


def test_weights_of_single_corpora() -> None:
    params = Params(corpora=("planted", "imdb"), eta=0.3, eta_of={"imdb": 0.1}, delta_of={"imdb": 20.0})
    assert params.model("planted", "mlm", "dot").mlm_eta == 0.3
    assert params.model("imdb", "mlm", "dot").mlm_eta == 0.1
    assert params.strength("imdb", "base") == 0
    assert params.given("planted", "tying") is None, "dev decides"
    assert params.given("imdb", "tying") == 20


def test_delta_weighs_against_a_sum_over_the_batch() -> None:
    params = Params(delta=10.0, batch_size=32)
    assert params.model("planted", "tying", "dot").tying_delta == 10 / 32
    assert params.replace(summed=False).model("planted", "tying", "dot").tying_delta == 10


def test_corpora_of_the_adversaries() -> None:
    few = Params(corpora=("planted", "imdb"), adversary_corpora=("planted", "sst"))
    assert few.attacked == ("planted", "sst")
    assert few.all_corpora == ("planted", "imdb", "sst")
    assert Params(corpora=("planted", "imdb")).attacked == ("planted", "imdb")


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
        ({"delta_of": {"imdb": 0.1}}, "corpus in delta_of"),
        ({"etas": []}, "etas must name at least one weight to try; or give eta"),
        ({"monitor": "train_loss"}, "monitor"),
        ({"deltas": [0.0]}, "deltas.* greater than 0"),
        ({"lambdas": [-1.0]}, "lambdas.* equal to 0"),
        ({"layers": [1]}, "layers.* equal to 2; got 1"),
        ({"vectors": "glove", "embedding_size": 24}, "50 wide"),
        ({"adversary_corpora": ["plnated"]}, "Did you mean 'planted'"),
        ({"adversary_corpora": ["imdb", "imdb"]}, "each once"),
        ({"adversary_seeds": 0}, "adversary_seeds"),
        ({"mi_batch": 0}, "mi_batch"),
        ({"epoch": 3}, "Did you mean 'epochs'"),
        ({"embedding_size": 25}, "even"),
    ],
)
def test_nonsense_is_refused(values, said) -> None:
    with pytest.raises(ConfigError, match=said):
        Params(**values)
