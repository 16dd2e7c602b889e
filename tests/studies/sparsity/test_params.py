"""Parameters of the study of sparse attention: what is refused."""

from __future__ import annotations

import pytest

from attnlib.studies.sparsity.params import Params
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"corpora": ["plantd"]}, "planted"),
        ({"lambdas": [-1.0, 0.5, 0.9]}, "0 \\(sparsemax\\)"),
        ({"lambdas": [0.0, 0.5, 1.0]}, r"lambdas\[2\] must be less than 1; got 1"),
        ({"lambdas": [0.0, 0.5, float("-inf")]}, "lambdas.* finite .*got -inf"),
        ({"entmax_alphas": [1.5, 2.0]}, "entmax_alphas.* 1.99; got 2"),
        ({"adversary_lambdas": [-0.1]}, "adversary_lambdas.* 0; got -0.1"),
        ({"adversary_lambdas": [0.1, float("nan")]}, "adversary_lambdas.* finite .*got nan"),
        ({"attention_rate": float("inf")}, "attention_rate must be a finite number; got inf"),
        ({"learning_rates": {"lstm": 0.0, "transformer": 0.1}}, "learning_rates.* greater than 0; got 0"),
        ({"encoders": ["lstn"]}, "lstm"),
        ({"hidden_sizes": {"lstm": 8}}, "transformer"),
        ({"seeds": [0, 0]}, "each once"),
        ({"corpora": [{"corpus": "sst", "pth": "x"}]}, "Did you mean 'path'"),
        ({"lambda": [0.0]}, "lambdas"),
    ],
)
def test_nonsense_is_refused(wrong, said) -> None:
    with pytest.raises(ConfigError, match=said):
        Params(**wrong)
