"""The whole audit on small data: models of the kit, scores from elsewhere; the card; the budget."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import attnlib as al
from attnlib.auditing import trainings
from attnlib.auditing.run import Audit, audit
from attnlib.auditing.trainings import CARD_SECONDS, Clock, Trainer
from attnlib.cli.main import main

SMALL = al.ModelConfig(encoder="none", embedding_size=16)
QUICK = al.TrainConfig(epochs=3, learning_rate=0.02, patience=None)


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=300, n_dev=50, n_test=120, longest=12)


@pytest.fixture(scope="module")
def fitted(corpus):
    return al.fit(corpus, SMALL, QUICK)


@pytest.fixture(scope="module")
def card(fitted, corpus):
    return audit(fitted, corpus, budget=1000)


def test_every_objection_gates_readings_and_repairs_are_on_the_card(card):
    told = card.to_dict()
    assert [row["id"] for row in told["rows"]] == [
        "needed", "order", "weights", "words", "sign", "alternatives", "reading", "stable",
    ]  # fmt: skip
    assert all(row["status"] in ("pass", "fail", "undetermined") for row in told["rows"])
    for row in told["rows"]:
        assert row["low"] <= row["value"] <= row["high"]
        assert row["texts"] == 120
    assert len(told["gates"]) == 5
    assert {r["ranking"] for r in told["readings"]} == {"alpha", "alpha_grad", "input_x_grad", "leave-one-out"}
    assert [r["name"] for r in told["repairs"]] == ["masking in training", "TaSc", "sparse attention"]
    assert told["exit_code"] == {"may be read": 0, "must not be read": 1, "undetermined": 3}[told["verdict"]]
    json.dumps(told, allow_nan=False)


def test_the_page_is_offline_small_and_starts_with_the_answer(card, tmp_path):
    page = card.save(tmp_path / "sub" / "card.html").read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert not re.search(r"(src|href)=[\"']?https?:", page)
    assert page.index("What to do.") < page.index("The objections") < page.index("Limits")
    assert json.loads((tmp_path / "sub" / "audit.json").read_text())["verdict"] == card.verdict
    assert "card" not in card._repr_html_()[:5]
    assert card.answer[0] in card._repr_html_()
    assert card.answer[0] in repr(card)


def test_hostile_texts_are_escaped(card):
    evil = "<script>alert(1)</script>"
    example = {"tokens": [evil, "b"], "rows": {"attention": np.array([0.5, 0.5])}, "head": evil}
    html = replace(card, examples=[example], facts={"Model": evil}, notes=[evil]).html()
    assert evil not in html
    assert "&lt;script&gt;" in html


def test_a_uniform_twin_attends_uniformly(corpus):
    twin = trainings.uniform_twin(corpus, SMALL, QUICK, 0)
    for scores in al.importance(twin, corpus.test[:5], "alpha"):
        assert scores == pytest.approx(1 / len(scores))
    assert twin.evaluate(corpus.test)["accuracy"] > 0.6


def test_overlap_is_one_for_equal_and_zero_for_unrelated_rankings():
    rng = np.random.default_rng(0)
    same = [rng.random(10) for _ in range(120)]
    assert trainings.overlaps([same, same, same])["value"].to_numpy() == pytest.approx(1.0)
    many = [[rng.random(10) for _ in range(400)] for _ in range(3)]
    assert abs(trainings.overlaps(many)["value"].mean()) < 0.05
    assert trainings.stable([same, same, same]).status == "pass"
    assert trainings.stable(many).status == "fail"


def test_scores_from_elsewhere_are_audited_in_place_of_attention(fitted, corpus):
    scores = al.importance(fitted, corpus.test, "omission")
    told = audit(fitted, corpus, scores=dict(zip((e.id for e in corpus.test), scores, strict=True)), budget=1000)
    status = {row.objection.id: row.status for row in told.rows}
    skipped = {name for name, value in status.items() if value == "not applicable"}
    assert skipped == {"needed", "order", "weights", "alternatives", "stable"}
    assert status["words"] == "pass"
    assert "read these scores" in told.answer[0] or "these scores may be read" in told.answer[0]
    backwards = {e.id: -s for e, s in zip(corpus.test, scores, strict=True)}
    assert audit(fitted, corpus, scores=backwards, budget=1000).verdict == "must not be read"


def test_a_short_budget_shortens_the_training(corpus):
    short, whole = Trainer(corpus, SMALL, QUICK, 0), Trainer(corpus, SMALL, QUICK, 0)
    words = sum(map(len, corpus.train))
    assert "of 300 training texts, to fit the budget" in short.shorten(0.8 * words)
    assert 200 <= len(short.corpus.train) < 300
    assert not whole.shorten(words)
    assert len(whole.corpus.train) == 300


def test_a_row_gets_its_least_texts_whatever_the_time_and_then_its_share(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = Clock(minutes=1)
    assert clock.fits(60 - CARD_SECONDS)
    assert not clock.fits(60), "some of it is kept for the card"
    go = clock.until(0.5)
    assert go(200)
    now[0] += (60 - CARD_SECONDS) / 2
    assert go(99)
    assert not go(100)


def test_a_model_worse_than_the_majority_is_said_to_be(corpus):
    untrained = al.fit(corpus, SMALL, al.TrainConfig(epochs=0))
    told = audit(untrained, corpus, budget=1)
    assert told.verdict == "undetermined"
    assert told.exit_code == 3
    assert "could not be judged" in told.answer[0]
    assert "largest class" in told.answer[0]


def test_what_does_not_fit_the_budget_is_left_out_and_named(fitted, corpus, monkeypatch):
    asked = []

    def no_repair_fits(clock, seconds):
        asked.append(seconds)
        return len(asked) <= 5  # the trainings of the objections

    monkeypatch.setattr(Clock, "fits", no_repair_fits)
    told = audit(fitted, corpus, budget=1000)
    assert not told.repairs
    (late,) = [note for note in told.notes if "not tried within the budget" in note]
    assert late.count("(about") == len(asked) - 5, "each with the time it would take"


def test_the_command_line(tmp_path, monkeypatch):
    table = tmp_path / "reviews.csv"
    corpus = al.load_corpus("planted", n_train=200, n_dev=100, n_test=100, longest=9)
    rows = [f'"{e.text}",{corpus.classes[e.label]}' for _, e in corpus.items()]
    table.write_text("Review,Liked\n" + "\n".join(rows), encoding="utf-8")
    found = CliRunner().invoke(main, ["audit", str(table), "--budget", "0.4", "--out", str(tmp_path / "out")])
    told = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8"))
    assert found.exit_code == told["exit_code"] in (0, 1, 3), found.output
    assert (tmp_path / "out" / "card.html").exists()
    assert "card.html" in found.output
    for bad in (["nope.csv"], [str(table), "--scores", "x"], [str(table), "--budget", "0"]):
        assert CliRunner().invoke(main, ["audit", *bad, "--out", str(tmp_path / "none")]).exit_code == 2
    assert not (tmp_path / "none").exists(), "an error leaves no empty folder"
    for error, code in ((KeyboardInterrupt, 130), (ZeroDivisionError, 2)):  # 1 would say: must not be read
        monkeypatch.setattr(Audit, "run", lambda *_, error=error: (_ for _ in ()).throw(error()))
        assert CliRunner().invoke(main, ["audit", str(table), "--out", str(tmp_path / "none")]).exit_code == code
    said = CliRunner().invoke(main, ["audit", str(table), "--out", str(table / "in")])
    assert said.exit_code == 2
    assert "--out: " in said.output
    assert "name a folder you may write to" in said.output


@pytest.mark.slow
def test_a_model_trained_to_hide_what_it_uses_is_named(monkeypatch):
    """As Pruthi et al. (2020) train it: attention is kept off the decisive words."""
    monkeypatch.setattr(Clock, "fits", lambda clock, seconds: False)  # no further trainings
    from tests.studies.deceptive import fit_hiding

    corpus = al.load_corpus("planted", n_train=800, n_dev=100, n_test=120, negation=0.0)
    model = al.ModelConfig(encoder="lstm", hidden_size=32, embedding_size=32)
    hiding = fit_hiding(corpus, model, al.TrainConfig(epochs=8, learning_rate=0.01, patience=None), weight=3.0)
    told = audit(hiding, corpus, budget=1000)
    assert told.verdict == "must not be read"
    assert told.hiding is not None
    assert "deceptive" in " ".join(told.answer)
