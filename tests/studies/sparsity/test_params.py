"""Parameters of the study of sparse attention: what is refused."""

from __future__ import annotations

import pytest

from attnlib.studies.sparsity.params import Params
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lambdas": [-1.0, 0.5, 0.9]}, "0 \\(sparsemax\\)"),
        ({"lambdas": [0.0, 0.5, 1.0]}, r"lambdas\[2\] must be less than 1; got 1"),
        ({"lambdas": [0.0, 0.5, float("-inf")]}, "lambdas.* finite .*got -inf"),
        ({"entmax_alphas": [1.5, 2.0]}, "entmax_alphas.* 1.99; got 2"),
        ({"adversary_lambdas": [0.1, float("nan")]}, "adversary_lambdas.* finite .*got nan"),
        ({"hidden_sizes": {"lstm": 8}}, "transformer"),
        ({"corpora": [{"corpus": "sst", "pth": "x"}]}, "Did you mean 'path'"),
    ],
)
def test_nonsense_is_refused(wrong, said) -> None:
    with pytest.raises(ConfigError, match=said):
        Params(**wrong)
