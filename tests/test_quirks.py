"""The authors' deviations: each switch computes what it says."""

import numpy as np

from attnlib.data.batching import WordVectoriser
from attnlib.erasure import flips as erasure
from attnlib.rankings.scores import importance
from attnlib.training.fitted import Fitted
from tests.conformance import zoo


def test_gradient_after_ig_is_the_gradient_at_95_percent():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 2)
    wrong = importance(fitted, texts, "grad_alpha", quirks={"tasc_grad_after_ig"})
    for text, found in zip(texts, wrong, strict=True):
        batch = fitted.vectoriser.batch(fitted.vectoriser.encode([text]))
        trace = fitted.model(batch, embedded=0.95 * fitted.model.embed(batch))
        k = int(fitted.model(batch).prediction[0])
        np.testing.assert_allclose(found, trace.token_logits[0, :, k].detach().numpy())
    assert not np.allclose(wrong[0], importance(fitted, texts, "grad_alpha")[0])


def test_nan_at_the_end_reads_as_class_zero():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 20)
    right = erasure.fraction_to_flip(fitted, texts, "random")
    wrong = erasure.fraction_to_flip(fitted, texts, "random", quirks={"tasc_nan_empty"})
    before = (right["status"] == "flipped").to_numpy()
    assert (right["removed"][before] == wrong["removed"][before]).all()
    end = wrong[~before]
    zero = fitted.classes[0]
    assert (end[end["prediction"] == zero]["status"] == "never").all()
    assert (end[end["prediction"] != zero]["after"] == zero).all()


def test_the_denominator_counts_special_tokens():
    plain = zoo.fitted("mlp")
    vectoriser = WordVectoriser(plain.vectoriser.vocabulary, plain.vectoriser.preprocessing, special=True)
    fitted = Fitted(
        plain.model, vectoriser, plain.model_config, plain.train_config, plain.classes, plain.history, 0
    )
    texts = zoo.texts(plain, 8)
    right = erasure.fraction_to_flip(fitted, texts, "alpha")
    wrong = erasure.fraction_to_flip(fitted, texts, "alpha", quirks={"tasc_denominator"})
    np.testing.assert_allclose(wrong["fraction"], right["removed"].astype(float) / (right["length"] + 2))


def test_every_quirk_of_a_ranking_changes_it():
    fitted = zoo.fitted("lstm-lin-dot")
    texts = zoo.texts(fitted, 4)
    for name, method in (("tasc_ig", "integrated_gradients"), ("tasc_grad_after_ig", "alpha_grad")):
        options = {"tolerance": None} if name == "tasc_ig" else {}
        right, wrong = (importance(fitted, texts, method, quirks=q, **options) for q in ((), {name}))
        assert not np.allclose(right[0], wrong[0]), name
