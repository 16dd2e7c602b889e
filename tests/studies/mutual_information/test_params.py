"""Parameters of the study of attention ranks and information: what they mean, what is refused."""

from __future__ import annotations

import pytest

from attnlib.studies.mutual_information.params import Params
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"corpora": ["rotten_tomatos"]}, "rotten_tomatoes"),
        ({"query_corpora": ["babi_4"]}, "babi_1"),
        ({"encoders": ["bert"]}, "lstm"),
        ({"counts": [1]}, "counts.* equal to 2"),
        ({"seeds": [0, 0]}, "each once"),
        ({"gumbel_seeds": [7]}, "among the seeds"),
        ({"encoders": ["mlp"], "query_corpora": []}, "lstm with additive"),
        ({"encoders": ["mlp"], "query_encoders": ["cnn"]}, "lstm with additive"),
        ({"corpora": [], "query_encoders": ["mlp"]}, "lstm with additive"),
        ({"attentions": ["dot"]}, "lstm with additive"),
        ({"corpora": [], "query_corpora": []}, "corpora must name at least one"),
        ({"vector_files": {"imdb": "x"}}, "corpus in vector_files"),
        ({"vector_files": {"stories": "x"}}, "stories learn their word vectors"),
        ({"query_corpora": [{"corpus": "stories", "n_tests": 2}]}, "Did you mean 'n_test'"),
        ({"hidden_sizes": {"lstm": 8}}, "says nothing about"),
        ({"embedding_size": {"imdb": 50, "other": 16}}, "corpus in embedding_size"),
        ({"embedding_size": {"stories": 50}}, "nothing about planted"),
        ({"embedding_size": {"other": 0}}, "embedding_size: a width is 1 at least; got {'other': 0}"),
        ({"embedding_size": 0}, "^embedding_size: a width is 1 at least; got 0.$"),
        ({"seed": [1]}, "seeds"),
        ({"corpora": ["planted", "x.csv"], "query_corpora": ["x.csv"]}, "both name x;"),
        ({"corpora": ["snli"], "query_corpora": []}, "put it in query_corpora"),
        ({"corpora": [{"corpus": "babi", "path": "x"}], "query_corpora": []}, "put it in query_corpora"),
        ({"query_corpora": ["imdb"]}, "put it in corpora"),
        ({"query_encoders": []}, "query_encoders must name at least one"),
    ],
)
def test_nonsense_is_refused(wrong: dict, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Params(**wrong)


def test_own_files_under_names_of_ones_own() -> None:
    params = Params(
        corpora=["planted", {"name": "mine", "path": "a.csv"}],
        query_corpora=[
            {"name": "myqa", "path": "b.csv"},
            "hub:multi_nli",
            "online.csv",
            {"corpus": "babi_1", "path": "babi"},
        ],
    )
    assert [params.data(name).corpus for name in ("mine", "myqa", "hub:multi_nli")] == [
        "a.csv",
        "b.csv",
        "hub:multi_nli",
    ]
    assert params.data("babi_1").options == {"task": 1, "path": "babi"}
    assert params.data("myqa").options == {"name": "myqa"}
    tasks = [params.task(name) for name in (*params.corpora, *params.query_corpora)]
    assert tasks == ["classification", "classification", "qa", "nli", "qa", "qa"]
    assert Params(query_corpora=["snli"]).task("snli") == "nli"
    assert Params(query_corpora=[], query_encoders=[]).task("planted") == "classification"


def test_dot_attention_is_scaled_with_a_query_only() -> None:
    params = Params()
    assert not params.model("planted", "lstm", "dot").dot_scaled, "equation 5"
    assert params.model("stories", "lstm", "dot").dot_scaled, "equation 1"
