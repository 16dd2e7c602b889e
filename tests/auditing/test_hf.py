"""A Hugging Face checkpoint goes through the same call: encoder, decoder, and one made by transformers' Trainer."""

from __future__ import annotations

import pytest

import attnlib as al
from attnlib.auditing.probe import Probe
from attnlib.auditing.run import audit
from attnlib.utils.errors import AttnlibError

pytest.importorskip("transformers")

from tests.hf.planted import planted_bert, planted_table


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
    card = audit(folder, data, budget=1000, texts=130)
    status = {row.objection.id: row for row in card.rows}
    skipped = {name for name, row in status.items() if row.status == "not applicable"}
    assert skipped == {"needed", "order", "alternatives", "stable"}
    assert {"cls_last", "attention_grad", "leave-one-out"} <= set(card.readings["ranking"])
    assert all(gate.status == "pass" for gate in card.gates)
    assert status["words"].effect.texts == 130
    assert not card.repairs, "only models of the kit are trained again"


def test_labels_must_map_and_zeroed_attention_is_the_mask(checkpoint, data):
    model = al.load_model(checkpoint, device="cpu")
    corpus = al.load_corpus(data)
    probe = Probe(model, corpus.test[:6])
    masked, zeroed = probe.erased((probe.inputs[1], "attention"), ["cls_last"]).values()
    assert masked.drops["cls_last"] == pytest.approx(zeroed.drops["cls_last"], abs=1e-5)  # float32, two kernels
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
    card = audit(checkpoint, long, budget=0.3)
    assert {gate.objection.id: gate.status for gate in card.gates}["cut"] == "fail"
    assert card.verdict == "undetermined"
    assert {row.status for row in card.rows} <= {"undetermined", "not applicable"}
    assert "cannot read to their end" in card.answer[0]
    assert "shorten the texts" in card.answer[-1].lower()
