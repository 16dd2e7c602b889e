"""Hugging Face encoders, on tiny random ones: nothing is downloaded."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from attnlib.config import ModelConfig
from attnlib.models import build_model
from attnlib.utils.errors import ConfigError
from tests.models.helpers import alone, make_batch, padded

transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 32, "max_position_embeddings": 32}
KINDS = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**SIZES)),
    "roberta": lambda: transformers.RobertaModel(transformers.RobertaConfig(**SIZES)),
    "electra": lambda: transformers.ElectraModel(transformers.ElectraConfig(**SIZES, embedding_size=8)),
    "distilbert": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(
            vocab_size=40, dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=32
        )
    ),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, str]:
    found = {}
    for kind, make in KINDS.items():
        torch.manual_seed(0)
        found[kind] = str(tmp_path_factory.mktemp(kind))
        make().save_pretrained(found[kind])
    return found


def model_of(folder: str, query: bool = False, mask_id: int | None = None, **options):
    torch.manual_seed(0)
    return build_model(
        ModelConfig(encoder="bert", pretrained=folder, **options), 40, 2, query=query, mask_id=mask_id
    )


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_states_are_those_of_the_network_and_of_no_batch(folders, kind):
    batch = make_batch()
    model = model_of(folders[kind]).double().eval()
    trace = model(batch)
    network = transformers.AutoModel.from_pretrained(folders[kind]).double().eval()
    with torch.no_grad():
        expected = network(input_ids=batch.ids, attention_mask=batch.mask.long()).last_hidden_state
        torch.testing.assert_close(trace.hidden[batch.mask], expected[batch.mask])
        assert (trace.hidden[~batch.mask] == 0).all()
        torch.testing.assert_close(model(padded(batch, 5)).logits, trace.logits, rtol=0, atol=1e-10)
        for row in range(len(batch)):
            torch.testing.assert_close(model(alone(batch, row)).logits[0], trace.logits[row], rtol=0, atol=1e-10)
    assert torch.equal(model(batch).logits, trace.logits)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"projection": "sparsemax", "scaling": "feat", "regulariser": "concat"},
        {"regulariser": "tying"},
        {"regulariser": "mlm", "mask_id": 5},
        {"query": True, "attention": "dot"},
    ],
    ids=str,
)
def test_it_trains_with_every_other_part(folders, options):
    batch = make_batch((9, 1, 6, 4, 3, 7))
    model = model_of(folders["bert"], **options).double().train()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(6):
        torch.manual_seed(1)
        trace = model(batch)
        loss = F.cross_entropy(trace.logits, batch.labels) + sum(model.regularisation(trace, batch).values())
        optimiser.zero_grad()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_what_cannot_work_is_refused_with_the_reason(folders, tmp_path):
    with pytest.raises(ConfigError, match="hidden width 16 and word embeddings 8 wide"):
        model_of(folders["electra"], regulariser="tying")
    with pytest.raises(ConfigError, match="save_pretrained"):
        model_of(str(tmp_path))
