"""Parameters of the study of attention ranks and information: what they mean, what is refused."""

from __future__ import annotations

import pytest

from attnlib.studies.mutual_information.params import Params
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"counts": [1]}, "counts.* equal to 2"),
        ({"gumbel_seeds": [7]}, "among the seeds"),
        ({"corpora": [], "query_corpora": []}, "corpora must name at least one"),
        ({"vector_files": {"imdb": "x"}}, "corpus in vector_files"),
        ({"query_corpora": [{"corpus": "stories", "n_tests": 2}]}, "Did you mean 'n_test'"),
        ({"hidden_sizes": {"lstm": 8}}, "says nothing about"),
        ({"embedding_size": {"imdb": 50, "other": 16}}, "corpus in embedding_size"),
        ({"embedding_size": {"stories": 50}}, "nothing about rotten_tomatoes"),
        ({"embedding_size": {"other": 0}}, r"embedding_size.*greater than or equal to 1; got 0"),
        ({"query_epochs": {"rotten_tomatoes": 3}}, "query_epochs says nothing about stories; add it"),
    ],
)
def test_nonsense_is_refused(wrong: dict, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Params(**wrong)


def test_own_files_under_names_of_ones_own() -> None:
    own, babi = {"name": "myqa", "path": "b.csv"}, {"corpus": "babi_1", "path": "babi"}
    corpora = ["planted", {"name": "mine", "path": "a.csv"}]
    params = Params(corpora=corpora, query_corpora=[own, "hub:multi_nli", "online.csv", babi])
    sources = [params.data(name).corpus for name in ("mine", "myqa", "hub:multi_nli")]
    assert sources == ["a.csv", "b.csv", "hub:multi_nli"]
    assert params.data("babi_1").options == {"task": 1, "path": "babi"}
    assert params.data("myqa").options == {"name": "myqa"}
    tasks = [params.task(name) for name in (*params.corpora, *params.query_corpora)]
    assert tasks == ["classification", "classification", "qa", "nli", "qa", "qa"]
    assert Params(query_corpora=["snli"]).task("snli") == "nli"


def test_values_by_corpus_and_training_as_jain_and_wallace() -> None:
    params = Params(
        corpora=["planted", "anemia"],
        query_corpora=["stories", {"corpus": "stories", "name": "long", "longest": 60}],
        batch_size={"long": 50, "other": 32},
        query_epochs={"other": 100, "stories": 25},
        patience=None,
    )
    names = ("planted", "anemia", "stories", "long")
    models, trained = {n: params.model(n, "lstm", "dot") for n in names}, {n: params.training(n) for n in names}
    assert [model.vectors for model in models.values()] == ["glove", "glove", "none", "none"]
    assert [model.dot_scaled for model in models.values()] == [False, False, True, True], "equations 5 and 1"
    assert [(models[n].oov, models[n].oov_scale) for n in names[:2]] == [("zero", None), ("normal", 1)]
    assert [(t.batch_size, t.epochs) for t in trained.values()] == [(32, 6), (32, 6), (32, 25), (50, 100)]
    assert [t.class_weights for t in trained.values()] == [True, True, False, False]
    assert trained["planted"].weight_decays == {"attention": 0.0}, "three optimisers without a query"
    assert trained["long"].weight_decays == {}, "one with it"
    assert {(t.patience, t.clip_norm, t.amsgrad) for t in trained.values()} == {(None, None, True)}
