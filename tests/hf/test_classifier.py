"""The contract on Hugging Face classifiers: predictions, erasure and what is built on them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnlib as al
from attnlib.engine.explainable import operators
from attnlib.utils.errors import ConfigError

from .conftest import TEXTS


def own_logits(model, ids, mask=None):
    """What transformers itself answers to one sequence of pieces."""
    ids = torch.tensor([ids])
    mask = torch.ones_like(ids) if mask is None else torch.tensor([mask])
    with torch.no_grad():
        return model.model.network(input_ids=ids, attention_mask=mask).logits[0].numpy()


def pieces(model, text):
    encoded = model.vectoriser.encode_one(model.examples(text)[0])
    return encoded.piece_ids.tolist(), encoded.owners


def test_predictions_are_those_of_transformers(model):
    labels, probabilities = model.predict(TEXTS)
    for text, label, p in zip(TEXTS, labels, probabilities, strict=True):
        with torch.no_grad():
            logits = model.model.network(**model.vectoriser.tokenizer(text, return_tensors="pt")).logits[0]
        np.testing.assert_allclose(p, logits.softmax(-1).numpy(), atol=1e-5)
        assert label == model.classes[int(logits.argmax())]
    assert np.allclose(model.logits(TEXTS, batch_size=1), model.logits(TEXTS), atol=1e-5)


def test_every_operator_is_what_it_says(model):
    text = TEXTS[0]
    ids, owners = pieces(model, text)
    sets = [[], [0], [1, 3], [2, 4, 5]]
    special = model.vectoriser
    for operator in operators(model):
        (found,) = al.erase(model, [text], [sets], operator=operator)
        for one, logits in zip(sets, found, strict=True):
            gone = np.isin(owners, one)
            if operator == "delete":
                expected = own_logits(model, [i for i, g in zip(ids, gone, strict=True) if not g])
            elif operator == "attention":
                expected = own_logits(model, ids, (~gone).astype(int).tolist())
            else:
                token = {"pad": special.pad_id, "mask": special.mask_id, "unk": special.unk_id}[operator]
                left = (~gone).astype(int).tolist() if operator == "pad" else None
                expected = own_logits(model, [token if g else i for i, g in zip(ids, gone, strict=True)], left)
            np.testing.assert_allclose(logits, expected, atol=1e-5, err_msg=operator)


def test_operators_follow_the_tokeniser(folders):
    assert operators(al.load_model(folders("bert"), device="cpu"))[0] == "mask"
    gpt2 = al.load_model(folders("gpt2"), device="cpu")
    assert operators(gpt2) == ("delete", "pad", "attention")
    with pytest.raises(ConfigError, match=r"operator 'mask' needs a token.*delete, pad, attention"):
        al.fraction_to_flip(gpt2, TEXTS, "cls_last", operator="mask")
    with pytest.raises(ConfigError, match="Unknown operator 'msk'"):
        al.erase(gpt2, TEXTS[:1], [[[0]]], operator="msk")


@pytest.mark.parametrize("operator", ["delete", "pad", "attention"])
def test_an_empty_text_has_finite_logits(model, operator):
    sets = [[range(n), range(1, n), range(n - 1)] for n in (len(model.tokens(text)) for text in TEXTS)]
    assert np.isfinite(np.concatenate(al.erase(model, TEXTS, sets, operator=operator))).all()


@pytest.mark.parametrize("level", ["input", "attention"])
def test_flips_curves_and_faithfulness_agree_with_the_slow_definition(model, level):
    scores = al.importance(model, TEXTS, "rollout")
    flips = al.fraction_to_flip(model, TEXTS, "rollout", level=level)
    top = al.top_token_flips(model, TEXTS, "rollout", level=level)
    lost = al.comprehensiveness(model, TEXTS, "rollout", level=level, shares=(0.5,))
    kept = al.sufficiency(model, TEXTS, "rollout", level=level, shares=(0.5,))
    area = al.aopc(model, TEXTS, "rollout", level=level)
    operator = "attention" if level == "attention" else operators(model)[0]
    for i, text in enumerate(TEXTS):
        order = np.argsort(-scores[i], kind="stable")
        n = len(order)
        (logits,) = al.erase(model, [text], [[order[:k] for k in range(n + 1)]], operator=operator)
        decided = logits.argmax(1)
        changed = np.flatnonzero(decided != decided[0])
        assert bool(flips["flipped"][i]) == bool(len(changed))
        if len(changed):
            assert flips["removed"][i] == changed[0]
        assert bool(top["flipped"][i]) == (decided[1] != decided[0])
        p = np.exp(logits - logits.max(1, keepdims=True))
        p = (p / p.sum(1, keepdims=True))[:, decided[0]]
        half = int(np.ceil(n / 2))
        assert lost["value"][i] == pytest.approx(p[0] - p[half], abs=1e-5)
        assert area["value"][i] == pytest.approx((p[0] - p[1:]).mean(), abs=1e-5)
        (few,) = al.erase(model, [text], [[order[half:]]], operator=operator)
        few = np.exp(few - few.max())
        assert kept["value"][i] == pytest.approx(p[0] - (few / few.sum())[0, decided[0]], abs=1e-5)


def test_what_needs_the_closed_form_says_so(model):
    from attnlib.erasure.flips import single_removals
    from attnlib.measures.agreement import attention_agreement
    from attnlib.measures.perturbation import attention_swaps, token_table

    examples = model.examples(TEXTS)
    for call in (
        lambda: single_removals(model, examples),
        lambda: attention_swaps(model, examples),
        lambda: token_table(model, examples),
        lambda: attention_agreement(model, examples),
    ):
        with pytest.raises(ConfigError, match=r"one pooling attention|applies to attnlib models"):
            call()
    with pytest.raises(ConfigError, match="one pooling attention"):
        _ = model.model_config
    assert not hasattr(model, "model_config")
