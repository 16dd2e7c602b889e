"""Adversaries: divergences as NumPy has them, the search within its bound, the training with λ = 0 as imitation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from attnlib import stats
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures.adversary import adversary, compare, search
from attnlib.measures.perturbation import with_attention
from attnlib.stats.divergences import torch_jsd as jsd
from attnlib.stats.divergences import torch_kl as kl
from attnlib.stats.divergences import torch_tvd as tvd
from attnlib.training.fit import fit
from attnlib.utils.errors import ConfigError


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=300, n_dev=60, n_test=60)


@pytest.fixture(scope="module")
def base(corpus):
    return fit(corpus, ModelConfig(hidden_size=16), TrainConfig(epochs=8, learning_rate=0.01), seed=0)


QUICK = TrainConfig(epochs=1, monitor="train_loss")


def against(base, corpus, lam, train=QUICK, **options):
    return adversary(corpus, base.model_config, train, 3, warm_start=base, lam=lam, **options)


def test_torch_and_numpy_agree() -> None:
    p, q = torch.rand(2, 6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64).softmax(-1)
    for ours, theirs in ((tvd, stats.tvd), (jsd, stats.jsd)):
        assert np.allclose(ours(p, q).numpy(), theirs(p.numpy(), q.numpy()))


def test_gradients_stay_finite_at_exact_zeros() -> None:
    scores = torch.tensor([[2.0, 1.0, 0.0]], requires_grad=True)
    p = scores.softmax(-1) * torch.tensor([[1.0, 1.0, 0.0]])
    q = torch.tensor([[1.0, 0.0, 0.0]])
    for loss in (kl(p, q), kl(q, p), jsd(p, q)):
        (gradient,) = torch.autograd.grad(loss.sum(), scores, retain_graph=True)
        assert loss.isfinite().all()
        assert gradient.isfinite().all()


def test_search_stays_within_epsilon_and_moves_attention(base, corpus) -> None:
    trace = base.trace(corpus.test[:20])
    alpha, far, apart = search(trace, steps=150, learning_rate=0.05)
    assert torch.allclose(alpha.sum(-1), torch.ones(20), atol=1e-5)
    assert (alpha[~trace.mask] == 0).all()
    assert (apart <= 0.05).all()
    change = tvd(with_attention(trace, alpha).softmax(-1), trace.probabilities)
    assert torch.allclose(change, apart, atol=1e-5)
    assert torch.allclose(far, jsd(alpha, trace.alpha), atol=1e-5)
    assert far.mean() > 0.05, "a BiLSTM spreads its evidence, so some other attention does as well"


def test_search_does_not_depend_on_the_batch(base, corpus) -> None:
    texts = sorted(corpus.test[:6], key=len)
    quick = {"steps": 60, "learning_rate": 0.05, "restarts": 3}
    together = search(base.trace(texts), **quick)
    for i, text in enumerate(texts):
        alone = search(base.trace([text]), rows=[i], **quick)
        for a, b in zip(together, alone, strict=True):
            b = b[0] if b.dim() == 1 else torch.nn.functional.pad(b[0], (0, len(a[i]) - len(b[0])))
            assert torch.allclose(a[i], b, atol=1e-5)


def test_without_a_divergence_the_adversary_imitates_its_base(base, corpus) -> None:
    quick = TrainConfig(epochs=30, learning_rate=0.01, monitor="train_loss", patience=None)
    table = compare(base, against(base, corpus, 0.0, quick), corpus.train)
    assert (table["prediction_base"] == table["prediction_adversary"]).mean() > 0.95
    assert table["tvd"].mean() < 0.1


def test_a_frozen_adversary_changes_attention_alone(base, corpus) -> None:
    quick = TrainConfig(epochs=10, learning_rate=0.05, monitor="train_loss", patience=None)
    found = against(base, corpus, 1.0, quick, divergence="jsd", frozen=True)
    table = compare(base, found, corpus.test)
    assert table["jsd"].mean() > 0.05
    assert table["jsd"].between(0, math.log(2)).all()
    theirs = found.model.parts()
    changed = {
        part
        for part, module in base.model.parts().items()
        for a, b in zip(module.parameters(), theirs[part].parameters(), strict=True)
        if not torch.equal(a, b)
    }
    assert changed == {"attention"}


def test_an_adversary_of_few_texts_reads_what_its_base_reads(base, corpus) -> None:
    few = against(base, corpus, 0.1, texts=40)
    assert few.vectoriser.to_json() == base.vectoriser.to_json()
    assert few != against(base, corpus, 0.1)


def test_only_two_classes_have_half_a_tvd(base, corpus) -> None:
    half = {"quirks": ["wp_half_tvd"]}
    assert against(base, corpus, 0.0, **half).history["tvd"][0] < against(base, corpus, 0.0).history["tvd"][0]
    three = load_corpus("planted", classes=3, n_train=60, n_dev=20, n_test=20)
    other = fit(three, base.model_config, TrainConfig(epochs=1), seed=0)
    assert against(other, three, 0.0, **half) == against(other, three, 0.0)
    with pytest.raises(ConfigError, match="quirk"):
        against(base, corpus, 0.1, quirks=["tasc_ig"])


def test_the_comparison_says_who_is_right(base, corpus) -> None:
    table = compare(base, base, corpus.test)
    assert table["right_base"].mean() == pytest.approx(base.evaluate(corpus.test)["accuracy"])
    assert (table["right_base"] == table["right_adversary"]).all()
