"""`al.audit`: a model and data in, a card out, within a budget of minutes.

What needs no training gets the least number of texts for a row, and more while its share of the time lasts. Then
come the trainings that two objections need, and repairs from the cheapest on; what does not fit is named.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.auditing import battery, inputs, judging, repairs, trainings
from attnlib.auditing.card import Card
from attnlib.auditing.probe import Probe
from attnlib.auditing.repairs import REPAIRS, Repaired
from attnlib.auditing.rules import overall, rules
from attnlib.auditing.trainings import WORDS, Clock, Trainer
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.checks import DataWarning
from attnlib.data.selection import presentable, sampled
from attnlib.data.types import Example
from attnlib.engine.explainable import Explainable, aligned, cut, is_model
from attnlib.hf.classifier import masked_finetuning
from attnlib.hf.loading import load_model
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
    config: ModelConfig = OWN,
    train: TrainConfig = TRAINING,
    seed: int = 0,
    **options: Any,
) -> Card:
    """Can attention be read as an explanation of this model, and if not, what is the cheapest repair?

    model    a Fitted, a Hugging Face classifier (`al.load_model`), the path or hub id of either; None: the kit
             trains a model of its own on the data
    data     whatever `al.load_corpus` takes: a corpus, its name, a table (csv, tsv, jsonl, parquet) or frame with a
             text and a label column
    options  of `al.load_corpus`: `text`, `label` and `split` (columns), `encoding`, `sep`, `drop_missing` …
    scores   an explanation made elsewhere, audited in place of attention: a file, a mapping by id, or one array per
             test text of the corpus, in its order; needs `model`
    budget   minutes
    texts    judged on at most; None: all
    config, train  of the model that the kit trains where none is given

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
        warnings.filterwarnings("ignore", ".* have more than .* were cut", DataWarning)  # it is said once
        clock = Clock(budget)
        model = load_model(model) if isinstance(model, str | Path) else model
        if model is not None:
            is_model(model)
        corpus = inputs.load_data(data, **options)
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
        closed = isinstance(model, Fitted)
        trains = closed and scores is None and not trainer.config.hierarchical
        probe, given = self.probe(model, scores, texts)
        self.f1 = model.evaluate(probe.examples)["f1_macro"]
        found = battery.measure(probe, given, deep=DEEP, closed=closed, until=self.clock.until)
        found.cut = cut(model, probe.examples)
        self._note(probe, found)
        if not trains:
            why = "it needs further trainings, which the kit runs for its own pooled models alone"
            why = battery.ELSEWHERE if closed and scores is not None else why
            found.why |= dict.fromkeys(("needed", "stable"), why)
        gates, rows = judging.gates(found), {row.objection.id: row for row in judging.judged(found)}
        tried: list[Repaired] = []
        if trains:
            twins = judging.behind(trainings.twins(trainer, probe, self.clock), gates)
            rows |= {row.objection.id: row for row in twins}
            tried = self.repaired(probe, found)
        elif scores is None and not closed:
            tried = self.finetuned(probe)
        verdict, judged = overall(list(rows.values()), all(gate.passed for gate in gates))
        return Card(
            verdict=verdict,
            rows=judged,
            gates=gates,
            hiding=judging.hides(found),
            readings=judging.readings(found, probe),
            subject=found.subject,
            repairs=tried,
            examples=_examples(probe, found),
            facts=self._facts(probe, found, own),
            notes=self.notes,
            model=model,
        )

    def probe(self, model: Explainable, scores: Any, texts: int | None) -> tuple[Probe, Any]:
        """The probe for a sample of the texts, with the scores that were given for them."""
        seed = self.trainer.seed
        places = sampled(range(len(self.pool)), texts, seed)
        # in a random order: should the time run out, what is done is a random part
        places = [places[i] for i in np.random.default_rng(seed).permutation(len(places))]
        given = None
        if scores is not None:
            ordered = len(self.pool) == len(self.trainer.corpus.test)
            given = inputs.load_scores(scores, self.pool, model.tokens, places, ordered=ordered)
        return Probe(model, [self.pool[i] for i in places], seed=seed), given

    def _note(self, probe: Probe, found: battery.Measured) -> None:
        """What a reader must know of the texts and the model."""
        if len(found) < len(probe):
            self.notes.append(f"words were removed from {len(found):,} of {len(probe):,} texts, to fit the budget")
        if len(found) > DEEP:
            self.notes.append(f"the best order of removal was searched for {DEEP} texts")
        if judging.flat(probe):
            self.notes.append(
                "the output hardly changes with any attention weight (saturated), so that attention × gradient "
                "ranks slopes near zero: prefer a reading without gradients"
            )
        if found.cut:
            said = f"{found.cut:,} of {len(probe):,} texts are longer than the model reads; their ends were cut."
            warnings.warn(said, DataWarning, stacklevel=2)

    def repaired(self, probe: Probe, found: battery.Measured) -> list[Repaired]:
        """The repairs by training that apply and fit, cheapest first."""
        t, tried, late = self.trainer, [], []
        reading = probe.seconds["removing"] / len(found) * repairs.TEXTS
        for repair in (repair for repair in REPAIRS if repair.applies(t.config)):
            needs = 1.1 * t.longest * repair.factor + reading
            if self.clock.fits(needs):
                train = partial(repair.train, t.corpus, t.config, t.train, t.seed)
                tried.append(self._priced(repair.name, repair.does, train, probe))
            else:
                late.append(f"{repair.name} (about {duration(needs)})")
        if late:
            self.notes.append(f"repairs not tried within the budget: {', '.join(late)}")
        return tried

    def finetuned(self, probe: Probe) -> list[Repaired]:
        """A Hugging Face classifier fine-tuned with words masked, on texts that are not judged on."""
        judged, corpus = {e.tokens for e in probe.examples}, self.trainer.corpus
        texts = {e.tokens: e for e in (*corpus.train, *corpus.dev, *self.pool) if e.tokens not in judged}
        seconds, (name, does) = 0.5 * self.clock.left, repairs.FINE_TUNING
        if len(texts) < rules()["texts"] or seconds < 0:
            why = "no time was left" if seconds < 0 else "too few texts that are not judged on"
            self.notes.append(f"repair not tried: {name} ({why})")
            return []
        some, seed = list(texts.values()), self.trainer.seed
        train = partial(masked_finetuning, probe.model, some, probe.inputs, seconds=seconds, seed=seed)
        return [self._priced(name, does, train, probe)]

    def _priced(self, name: str, does: str, train: Callable[[], Explainable], audited: Probe) -> Repaired:
        """Train with a repair and read what comes of it, on the texts of the audit."""
        begun, model, texts = time.monotonic(), train(), audited.examples
        probe, closed = Probe(model, texts[: repairs.TEXTS], seed=self.trainer.seed), isinstance(model, Fitted)
        found = battery.measure(probe, deep=repairs.DEEP, closed=closed, inputs_alone=True)
        sound, read = judging.in_element(judging.gates(found)), judging.readings(found, probe)
        f1 = model.evaluate(texts)["f1_macro"]
        return Repaired(name, does, read, sound, f1, f1 - self.f1, (time.monotonic() - begun) / 60, model)

    def _facts(self, probe: Probe, found: battery.Measured, own: bool) -> dict[str, str]:
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


def _examples(probe: Probe, found: battery.Measured, n: int = 3) -> list[dict[str, Any]]:
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
        rows = {judging.NAMES[found.subject]: ranking[i], "drop without it (minus: rise)": alone[i]}
        example = probe.examples[i]
        shown.append({"example": example, "tokens": model.tokens(example), "rows": rows, "head": head})
    return shown
