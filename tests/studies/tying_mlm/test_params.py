"""Word-level objectives: parameters that make sense, and the models they name."""

from __future__ import annotations

import pytest

from attnlib.studies.tying_mlm.params import Params
from attnlib.utils.errors import ConfigError


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
