"""What the parameters of the erasure study refuse, and the models that they name."""

from __future__ import annotations

import pytest

from attnlib.studies.erasure.params import Params
from attnlib.utils.errors import ConfigError
from tests.studies.erasure.frames import profile


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"corpora": []}, "at least one"),
        ({"encoders": ["lstm"]}, "'rnn', 'conv' or 'noenc'"),
        ({"vector_files": {"yelp": "a.txt"}}, "Unknown corpus in vector_files"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(options, told):
    with pytest.raises(ConfigError, match=told):
        Params(**options)


def test_paper_settings_are_those_of_the_appendix():
    params = profile("paper")
    han, flan = params.model("yahoo", "han", "rnn"), params.model("yahoo", "flan", "conv")
    assert (han.embedding_dropout, han.sentence_dropout, han.logit_dropout) == (0.4445, 0.2202, 0.3749)
    assert flan.embedding_dropout == pytest.approx(1 - (1 - 0.4445) * (1 - 0.3)), (
        "0.3 more where a convolution reads"
    )
    assert (flan.dropout, flan.sentence_dropout, flan.logit_dropout) == (0.0, 0.0, 0.4457)
    assert (flan.kernel_sizes, han.hierarchical) == ((3, 5), True)
    assert params.model("yelp", "flan", "noenc").attention_size == 200
    train = params.training("amazon", "rnn")
    assert (train.learning_rate, train.epochs, train.patience, train.clip_norm) == (2e-4, 60, 5, 10.0)
    assert params.training("imdb10", "conv").epochs == 15
    assert (params.training("imdb10", "noenc").epochs, params.training("imdb10", "noenc").patience) == (60, 10)
