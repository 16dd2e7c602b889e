"""A Hugging Face checkpoint goes through the same call: encoder, decoder, and one made by transformers' Trainer."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.auditing.judging import flat
from attnlib.auditing.probe import Probe
from attnlib.auditing.run import audit
from attnlib.data.checks import DataWarning
from attnlib.utils.errors import AttnlibError

pytest.importorskip("transformers")

from tests.hf.planted import planted_bert, planted_table, planted_text


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return planted_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return planted_table(tmp_path_factory.mktemp("data"), 330)


@pytest.mark.slow
@pytest.mark.parametrize("decoder", [False, True], ids=["encoder", "decoder"])
def test_the_same_call(tmp_path, data, decoder):
    folder = planted_bert(tmp_path, decoder=decoder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    card = audit(folder, data, budget=1000, texts=130)
    status = {row.objection.id: row for row in card.rows}
    skipped = {name for name, row in status.items() if row.status == "not applicable"}
    assert skipped == {"needed", "order", "alternatives", "stable"}
    assert "every layer changes" in status["order"].note
    assert {"cls_last", "attention_grad", "leave-one-out"} <= set(card.readings["ranking"])
    assert all(gate.passed for gate in card.gates)
    assert status["words"].effect.texts == 130
    # fine-tuning with masking makes a model of its own: neither the files nor the model under audit change
    (tried,) = card.repairs
    assert tried.name == "fine-tuning with masking"
    assert tried.sound
    assert tried.f1_change > -0.02
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert tried.name in card.html()


def test_labels_must_map_and_zeroed_attention_is_the_mask(checkpoint, data):
    model = al.load_model(checkpoint, device="cpu")
    corpus = al.load_corpus(data)
    probe = Probe(model, corpus.test[:6], shares=(0.2, 0.5), draws=2)
    ways = [
        found.drops["cls_last"] for found in probe.erased((probe.inputs[1], "attention"), ["cls_last"]).values()
    ]
    assert ways[0] == pytest.approx(ways[1], abs=1e-5)  # float32, two attention kernels
    wrong = data.with_name("wrong.csv")
    text = data.read_text(encoding="utf-8").replace(",no", ",cat").replace(",yes", ",dog")
    wrong.write_text(text, encoding="utf-8")
    with pytest.raises(AttnlibError, match="cat"):
        audit(model, wrong, budget=0.5)


def test_texts_longer_than_the_model_are_said_to_be_cut(checkpoint, data, tmp_path):
    long = tmp_path / "long.csv"
    lines = data.read_text(encoding="utf-8").splitlines()
    stretched = [line.replace(",", " " + "w1 " * 40 + ",") if i % 2 else line for i, line in enumerate(lines[1:])]
    long.write_text("\n".join([lines[0], *stretched]), encoding="utf-8")
    with pytest.warns(DataWarning, match="were cut") as told:
        card = audit(checkpoint, long, budget=0.3)
    assert sum("were cut" in str(one.message) for one in told) == 1
    gate = next(gate for gate in card.gates if gate.name == "texts read to their end")
    assert not gate.passed
    assert card.verdict == "undetermined"
    assert {row.status for row in card.rows} <= {"undetermined", "not applicable"}
    assert "cannot read to their end" in card.answer[0]
    assert "shorten the texts" in card.recommended.lower()


def test_flat_gradients_are_named(checkpoint):
    model = al.load_model(checkpoint, device="cpu")
    rng = np.random.default_rng(1)
    probe = Probe(model, model.examples([planted_text(rng)[0] for _ in range(8)]), draws=1)
    assert not flat(probe)  # not read yet
    for size, found in ((1e-5, True), (0.1, False)):
        probe.rankings["attention_grad"] = [np.full(n, size) for n in probe.lengths]
        assert flat(probe) == found
