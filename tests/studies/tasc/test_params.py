"""Parameters of the TaSc study: every profile is valid, nonsense is refused before anything runs."""

from __future__ import annotations

import pytest

from attnlib.studies.tasc.params import Params
from attnlib.utils.errors import AttnlibError


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"encoders": ["bert"]}, "one besides 'bert'"),
        ({"variants": ["none", "feat"]}, "'none' and 'lin'"),
        (
            {"shown_cells": [["rotten_tomatoes", "gru", "dot"]]},
            "shown_cells names rotten_tomatoes, gru, dot, which",
        ),
        ({"vectors": "glove", "embedding_size": 300}, "50 wide"),
        ({"epochs_without": {"adr": {"mlp": 30}}}, "corpus in epochs_without"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(changes, told):
    with pytest.raises(AttnlibError, match=told):
        Params(**changes)
