"""Word-level objectives: parameters that make sense, and the models they name."""

from __future__ import annotations

import pytest

from attnlib.studies.tying_mlm.grid import fit
from attnlib.studies.tying_mlm.params import Params
from attnlib.utils.errors import ConfigError


def test_weights_of_single_corpora_next_to_a_sum_over_the_batch() -> None:
    params = Params(corpora=("planted", "imdb"), deltas=[5.0, 8.0], chosen={"tying": {"imdb": 20.0}}, batch_size=32)
    assert params.strength("imdb", "base") == 0
    assert params.strength("planted", "tying") == 5, "until dev decides"
    assert fit(params, "imdb", "tying", "dot", 0).model.tying_delta == 20 / 32


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"variants": ["tying"]}, "must hold 'base'"),
        ({"attentions": ["dot"]}, "must hold 'additive'"),
        ({"layers": [1]}, "layers.* equal to 2; got 1"),
        ({"adversary_corpora": ["plnated"]}, "Did you mean 'planted'"),
        ({"embedding_size": 25}, "even"),
    ],
)
def test_nonsense_is_refused(values, said) -> None:
    with pytest.raises(ConfigError, match=said):
        Params(**values)
