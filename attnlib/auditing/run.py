"""`al.audit`: a model and data in, a card out, within a budget of minutes.

What needs no training gets the least number of texts for a row, and more while its share of the time lasts. Then
come the trainings that two objections need, and repairs from the cheapest on; what does not fit is named.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.auditing import inputs, rows, trainings
from attnlib.auditing.card import Card
from attnlib.auditing.probe import Probe
from attnlib.auditing.rules import PASS, overall
from attnlib.auditing.trainings import REPAIR_DEEP, REPAIR_TEXTS, REPAIRS, WORDS, Clock, Repair, Repaired, Trainer
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.checks import DataWarning
from attnlib.data.corpora import load_corpus
from attnlib.data.selection import presentable, sampled
from attnlib.data.types import Example
from attnlib.engine.explainable import Explainable, aligned, cut, is_model
from attnlib.hf.classifier import load_model
from attnlib.training.fit import check_seed
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import ConfigError
from attnlib.utils.text import duration, plural

OWN = ModelConfig(encoder="lstm", attention="additive", hidden_size=64)
"""What the kit trains where no model is given: a BiLSTM with additive attention."""
TRAINING = TrainConfig(epochs=6, patience=2, learning_rate=5e-3)
TEXTS = 500
"""Texts judged on, where budget and data allow: precision depends on them, not on the corpus."""
DEEP = 32
"""Texts of which the best order of removal is searched."""


def audit(
    model: Explainable | str | Path | None = None,
    data: Any = None,
    *,
    scores: Any = None,
    budget: float = 10.0,
    texts: int | None = TEXTS,
    seed: int = 0,
    **options: Any,
) -> Card:
    """Can attention be read as an explanation of this model, and if not, what is the cheapest repair?

    model    a Fitted, a Hugging Face classifier (`al.load_model`), the path or hub id of either; None: the kit
             trains a model of its own on the data
    data     whatever `al.load_corpus` takes: a corpus, its name, a table (csv, tsv, jsonl, parquet) or frame with a
             text and a label column
    options  of `al.load_corpus`: `text`, `label` and `split` (columns), `encoding`, `sep`, `drop_missing` …
    scores   an explanation made elsewhere, audited in place of attention: a file, or a mapping by the ids of the
             texts; needs `model`
    budget   minutes
    texts    judged on at most; None: all

    Wrong data, labels that are not the model's and scores that do not fit raise DataError before any work.

    >>> card = al.audit(fitted, corpus, budget=0.05)  # three seconds are too few to judge
    >>> card.verdict, len(card.rows)
    ('undetermined', 8)
    """
    if not (isinstance(budget, Real) and 0 < budget < math.inf):
        raise ConfigError(f"budget is a number of minutes above 0; got {budget!r}.")
    check_seed(seed)
    if scores is not None and model is None:
        raise ConfigError("scores explain a certain model: give it too (--model).")
    if data is None:
        raise ConfigError("An audit needs data: a table with texts and labels, or the name of a corpus.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* have more than .* were cut", DataWarning)  # a gate says it
        clock = Clock(budget)
        model = load_model(model) if isinstance(model, str | Path) else model
        if model is not None:
            is_model(model)
        corpus = load_corpus(data, **options)
        config, train = OWN, TRAINING
        model = None if model is None else aligned(model, corpus.classes)
        corpus, pool, notes = inputs.pools(corpus, given=model is not None, seed=seed)
        if isinstance(model, Fitted):
            config, train = model.model_config, model.train_config
        trainer = Trainer(corpus, config, train, seed)
        return Audit(clock, trainer, pool, [*corpus.notes, *notes]).run(model, scores, texts)


@dataclass
class Audit:
    """One audit under way: the texts it may judge on, and what its card will note."""

    clock: Clock
    trainer: Trainer
    pool: list[Example]
    notes: list[str]
    f1: float = 0.0

    def run(self, model: Explainable | None, scores: Any, texts: int | None) -> Card:
        """Everything, in the order of its weight."""
        own, trainer = model is None, self.trainer
        if own:
            self.notes += filter(None, [trainer.shorten(WORDS * self.clock.seconds / 60)])
            model = trainer.fit()
        some = sampled(self.pool, texts, trainer.seed)
        # in a random order: should the time run out, what is done is a random part
        some = [some[i] for i in np.random.default_rng(trainer.seed).permutation(len(some))]
        given = None if scores is None else inputs.load_scores(scores, some, model.tokens)
        probe = Probe(model, some, seed=trainer.seed)
        self.f1 = model.evaluate(probe.examples)["f1_macro"]
        found = rows.measure(probe, given, deep=DEEP, until=self.clock.until)
        found.cut = cut(model, probe.examples)
        if len(found) < len(probe):
            self.notes.append(f"words were removed from {len(found):,} of {len(probe):,} texts, to fit the budget")
        gates, judged = rows.gates(found), {row.objection.id: row for row in rows.judged(found)}
        repairs: list[Repaired] = []
        if "needed" not in found.why:
            twins = rows.behind(trainings.twins(trainer, probe, self.clock), gates)
            judged |= {row.objection.id: row for row in twins}
            repairs = self.repaired(probe, found)
        verdict, final = overall(list(judged.values()), all(gate.status == PASS for gate in gates))
        return Card(
            verdict=verdict,
            rows=final,
            gates=gates,
            hiding=rows.hides(found),
            readings=rows.readings(found),
            subject=found.subject,
            repairs=repairs,
            examples=_examples(probe, found),
            facts=self._facts(probe, found, own),
            notes=self.notes,
            model=model,
        )

    def repaired(self, probe: Probe, found: rows.Measured) -> list[Repaired]:
        """The repairs by training that apply and fit, cheapest first."""
        tried, late = [], []
        reading = probe.seconds / len(found) * REPAIR_TEXTS
        for repair in (repair for repair in REPAIRS if repair.applies(self.trainer.config)):
            needs = 1.1 * self.trainer.longest * repair.factor + reading
            if self.clock.fits(needs):
                tried.append(self._tried(repair, probe.examples))
            else:
                late.append(f"{repair.name} (about {duration(needs)})")
        if late:
            self.notes.append(f"repairs not tried within the budget: {', '.join(late)}")
        return tried

    def _tried(self, repair: Repair, texts: list[Example]) -> Repaired:
        """Train with a repair and read what comes of it, on the texts of the audit."""
        begun, t = time.monotonic(), self.trainer
        model = repair.train(t.corpus, t.config, t.train, t.seed)
        probe = Probe(model, texts[:REPAIR_TEXTS], seed=t.seed)
        found = rows.measure(probe, deep=REPAIR_DEEP, inputs_alone=True)
        sound = {gate.objection.id: gate.status for gate in rows.gates(found)}["removals"]
        read, f1 = rows.readings(found), model.evaluate(texts)["f1_macro"]
        minutes = (time.monotonic() - begun) / 60
        return Repaired(repair.name, repair.does, read, sound, f1, f1 - self.f1, minutes, model)

    def _facts(self, probe: Probe, found: rows.Measured, own: bool) -> dict[str, str]:
        model, right, largest = probe.model, found.right.mean(), found.largest.mean()
        told = repr(model)
        if isinstance(model, Fitted):
            c, made = model.model_config, "trained here, on these texts" if own else "given"
            told = f"{c.encoder}, {c.attention} attention, {c.projection}, scaling {c.scaling}; {made}"
        judged = f"{plural(len(probe), 'text')} judged on, words removed from {len(found):,}"
        return {
            "Model": told,
            "Data": f"{self.trainer.corpus.name}: {judged}",
            "Classes": ", ".join(model.classes),
            "Accuracy": f"{right:.3f} (largest class: {largest:.3f}), F1 {self.f1:.3f}",
            "Took": f"{duration(self.clock.spent)} of a budget of {duration(self.clock.seconds)}",
        }


def _examples(probe: Probe, found: rows.Measured, n: int = 3) -> list[dict[str, Any]]:
    """Texts in which the ranking under audit and leave-one-out disagree most, to be shown as heat maps."""
    model, ranking, alone = probe.model, found.ranking, found.erased[found.inputs[-1]].alone
    gaps, shown = [], []
    for i, drops in enumerate(alone):
        tokens = model.tokens(probe.examples[i])
        if 6 <= len(tokens) <= 60 and presentable(tokens):
            gaps.append((drops.max() - drops[int(np.argmax(ranking[i]))], i))
    for _, i in sorted(gaps, reverse=True)[:n]:
        said, true = (model.classes[of[i]] for of in (probe.predicted, probe.labels))
        head = f"predicted {said} with p = {probe.confidence[i]:.2f}" + f", true class {true}" * (said != true)
        bars = {rows.NAMES[found.subject]: ranking[i], "drop without it (minus: rise)": alone[i]}
        example = probe.examples[i]
        shown.append({"example": example, "tokens": model.tokens(example), "rows": bars, "head": head})
    return shown
