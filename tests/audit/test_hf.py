"""A Hugging Face checkpoint goes through the same call."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.audit.probe import Probe
from attnlib.audit.run import audit

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A tiny BERT that was taught to answer by one word."""
    import torch
    import transformers as hf
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", *(f"w{i}" for i in range(30))]
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=t, **names)
    torch.manual_seed(0)
    config = hf.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1},
    )  # fmt: skip
    network = hf.BertForSequenceClassification(config)
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    rng = np.random.default_rng(0)
    for _ in range(150):
        texts, labels = zip(*(text(rng) for _ in range(32)), strict=True)
        batch = tokenizer(list(texts), return_tensors="pt", padding=True)
        optimiser.zero_grad()
        network(**batch, labels=torch.tensor(labels)).loss.backward()
        optimiser.step()
    folder = tmp_path_factory.mktemp("bert")
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def text(rng):
    label = int(rng.integers(2))
    words = [f"w{i}" for i in rng.integers(0, 30, int(rng.integers(5, 10)))]
    words.insert(int(rng.integers(0, len(words))), ("bad", "good")[label])
    return " ".join(words), label


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(1)
    file = tmp_path_factory.mktemp("data") / "t.csv"
    rows = [text(rng) for _ in range(130)]
    file.write_text("text,label\n" + "\n".join(f"{t},{('no', 'yes')[y]}" for t, y in rows), encoding="utf-8")
    return file


def test_the_same_call(checkpoint, data):
    card = audit(checkpoint, data, budget=3)
    status = {row.objection.id: row for row in card.rows}
    skipped = {name for name, row in status.items() if row.status == "not applicable"}
    assert skipped == {"needed", "order", "alternatives", "stable"}
    assert "every layer changes" in status["order"].note
    assert {"cls_last", "attention_grad", "leave-one-out"} <= set(card.readings["ranking"])
    assert all(gate.passed for gate in card.gates)
    assert status["words"].effect.texts >= 100


def test_labels_must_map_and_zeroed_attention_is_the_mask(checkpoint, data):
    model = al.load_model(checkpoint, device="cpu")
    corpus = al.load_corpus(data)
    probe = Probe(model, corpus.test[:6], shares=(0.2, 0.5), draws=2)
    ranking = {"cls_last": probe.read("cls_last")}
    ways = [probe.erased(way, ranking).drops["cls_last"] for way in (probe.inputs[1], "attention")]
    assert ways[0] == pytest.approx(ways[1], abs=1e-5)  # float32, two attention kernels
    from attnlib.utils.errors import AttnlibError

    wrong = data.with_name("wrong.csv")
    text = data.read_text(encoding="utf-8").replace(",no", ",cat").replace(",yes", ",dog")
    wrong.write_text(text, encoding="utf-8")
    with pytest.raises(AttnlibError, match="cat"):
        audit(model, wrong, budget=0.5)
