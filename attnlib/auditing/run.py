"""`al.audit`: a model and data in, a card out, within a budget of minutes.

Work goes in the order of its weight: the model, the gates, the objections that need no training, the further
trainings that two objections need, a planted shortcut, repairs from the cheapest on. Before each step its time is
forecast from what was measured so far; what does not fit is left out and said on the card.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.auditing import battery, inputs, judging, repairs, trainings
from attnlib.auditing.budget import Clock, Trainer, lengths, long
from attnlib.auditing.card import Card
from attnlib.auditing.probe import Probe
from attnlib.auditing.repairs import Repaired
from attnlib.auditing.rules import overall, rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.checks import DataWarning
from attnlib.data.selection import presentable, sampled
from attnlib.data.types import Example
from attnlib.engine.explainable import Explainable, aligned, cut, is_model
from attnlib.hf.classifier import masked_finetuning
from attnlib.hf.loading import load_model
from attnlib.measures.rationales import plausibility
from attnlib.training.fit import check_seed
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import ConfigError
from attnlib.utils.progress import bar
from attnlib.utils.text import duration, plural

OWN = ModelConfig(encoder="lstm", attention="additive", hidden_size=64)
"""What the kit trains where no model is given: a BiLSTM with additive attention."""
TRAINING = TrainConfig(epochs=6, patience=2, learning_rate=5e-3)
TEXTS = 500
"""Texts judged on, where budget and data allow: precision depends on this number, not on the size of the corpus."""
DEEP = 32
"""Texts of which the best order of removal is searched."""
SHORTCUT = ("alpha", "alpha_grad", "input_x_grad")
"""Readings that are asked for a planted word."""


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
    """One audit under way: the texts it may judge on, and what its card will note.

    each, f1   seconds of removing words from a text; F1 of the model under audit
    """

    clock: Clock
    trainer: Trainer
    pool: list[Example]
    notes: list[str]
    each: float = 0.0
    f1: float = 0.0

    def run(self, model: Explainable | None, scores: Any, texts: int | None) -> Card:
        """Everything, in the order of its weight."""
        own, trainer = model is None, self.trainer
        with bar("audit", total=6, unit="step") as line:

            def step(said: str) -> None:
                line.set_postfix_str(said)
                line.update()

            step("training a model" if own else "reading the model")
            if own:
                self.notes += filter(None, [trainer.shorten(0.25 * self.clock.seconds)])
                model = trainer.fit()
            closed = isinstance(model, Fitted)
            trains = closed and scores is None and not trainer.config.hierarchical
            step("removing words")
            probe, given = self.probe(model, scores, texts)
            found = self.battery(probe, given, closed)
            if not trains:
                why = "it needs further trainings, which the kit runs for its own pooled models alone"
                why = battery.ELSEWHERE if closed and scores is not None else why
                found.why |= dict.fromkeys(("needed", "stable"), why)
            gates, rows = judging.gates(found), {row.objection.id: row for row in judging.judged(found)}
            self.f1 = model.evaluate(probe.examples)["f1_macro"]
            step("trying masking")
            tried, rest = [], list(repairs.REPAIRS) if trains else []
            if scores is None and not closed:
                tried = self._finetuning(model, probe)
            elif trains and judging.in_element(gates) is False:  # what the answer waits for
                tried, rest = self._repairs(rest[:1], probe), rest[1:]
            step("training twins")
            if trains:
                twins = judging.behind(trainings.twins(trainer, probe, self.clock), gates)
                rows |= {row.objection.id: row for row in twins}
            step("trying repairs")
            shortcut = None
            if trains and self.clock.fits(1.3 * trainer.longest):
                shortcut = trainings.shortcut(trainer, SHORTCUT)
            elif trains:
                self.notes.append("no planted shortcut: it did not fit the budget")
            tried += self._repairs(rest, probe) if trains else []
            step("writing the card")
            verdict, judged = overall(list(rows.values()), all(gate.passed for gate in gates))
            if judging.flat(probe):
                self.notes.append(
                    "the output hardly changes with any attention weight (saturated), so that attention × gradient "
                    "ranks slopes near zero: prefer a reading without gradients"
                )
            return Card(
                verdict=verdict,
                rows=judged,
                gates=gates,
                hiding=judging.hides(found),
                readings=judging.readings(found, probe),
                subject=found.subject,
                repairs=tried,
                shortcut=shortcut,
                plausible=_plausible(probe, found),
                examples=_examples(probe, found),
                facts=self._facts(probe, found, own),
                notes=self.notes,
                model=model,
            )

    def probe(self, model: Explainable, scores: Any, texts: int | None) -> tuple[Probe, Any]:
        """The probe for as many texts as can be read in a twentieth of what is left."""
        seed = self.trainer.seed
        places = sampled(range(len(self.pool)), texts, seed)
        # in a random order: should the time run out, what is done is a random part
        places = [places[i] for i in np.random.default_rng(seed).permutation(len(places))]
        # but for the few that take as long as hundreds of others: they come last
        longest = long([self.pool[i] for i in places])
        places.sort(key=lambda i: len(self.pool[i]) > longest)
        pool = [self.pool[i] for i in places]
        given = None
        if scores is not None:
            ordered = len(self.pool) == len(self.trainer.corpus.test)
            given = inputs.load_scores(scores, self.pool, model.tokens, places, ordered=ordered)
        begun = time.monotonic()
        model.logits(pool[:8])
        most = int(0.05 * self.clock.left / ((time.monotonic() - begun) / 8))
        chosen = pool[: max(most, rules()["texts"])]
        if len(chosen) < len(pool):
            self.notes.append(f"{len(chosen):,} of {len(pool):,} texts judged on, to fit the budget")
        if late := int((lengths(pool) > longest).sum()):
            self.notes.append(f"{plural(late, 'text')} of more than {longest:,.0f} words came last")
        return Probe(model, chosen, seed=seed), given and given[: len(chosen)]

    def battery(self, probe: Probe, given: Any, closed: bool) -> battery.Measured:
        """Everything that needs no training, in about half of the time that is left; longer for enough texts."""
        begun, least = self.clock.spent, rules()["texts"]
        soon, late = (share * self.clock.left for share in ((0.5 if closed and given is None else 0.65), 0.85))
        found = battery.measure(
            probe,
            given,
            deep=DEEP,
            closed=closed,
            early=0.25 * self.clock.left,
            left=lambda n: begun + (soon if n >= least else late) - self.clock.spent,
        )
        self.each = probe.seconds["removing"] / len(found)
        if len(found) < len(probe):
            self.notes.append(f"words were removed from {len(found):,} of {len(probe):,} texts, to fit the budget")
        if len(found) > DEEP:
            self.notes.append(f"the best order of removal was searched for {DEEP} texts")
        found.cut = cut(probe.model, probe.examples)
        if found.cut:
            said = f"{found.cut:,} of {len(probe):,} texts are longer than the model reads; their ends were cut."
            warnings.warn(said, DataWarning, stacklevel=2)
        return found

    def _repairs(self, some: Sequence[repairs.Repair], probe: Probe) -> list[Repaired]:
        """The repairs of `some` that apply and fit."""
        t, tried, late, seconds = self.trainer, [], [], self.trainer.forecast()
        for repair in (repair for repair in some if repair.applies(t.config)):
            slower = 10 if repair.name == "MiniLM" else 1
            needs = 1.1 * seconds * repair.factor + self.each * repairs.TEXTS * slower
            if self.clock.fits(needs):
                train = partial(repair.train, t.corpus, t.config, t.train, t.seed)
                tried.append(self._priced(repair.name, repair.does, train, probe.examples))
            else:
                late.append(f"{repair.name} (about {duration(needs)})")
        if late:
            self.notes.append(f"repairs not tried within the budget, which a larger one tries: {', '.join(late)}")
        return tried

    def _finetuning(self, model: Explainable, probe: Probe) -> list[Repaired]:
        """A Hugging Face classifier fine-tuned with words masked, on texts that are not judged on."""
        judged, corpus = {e.tokens for e in probe.examples}, self.trainer.corpus
        texts = {e.tokens: e for e in (*corpus.train, *corpus.dev, *self.pool) if e.tokens not in judged}
        least, seconds = rules()["texts"], 0.5 * self.clock.left
        name, does = repairs.FINE_TUNING
        if len(texts) < least or seconds < self.each * least / 5:
            why = "no time was left" if len(texts) >= least else "too few texts that are not judged on"
            self.notes.append(f"repair not tried: {name} ({why})")
            return []
        some, ways = list(texts.values()), probe.inputs
        train = partial(masked_finetuning, model, some, ways, seconds=seconds, seed=self.trainer.seed)
        return [self._priced(name, does, train, probe.examples)]

    def _priced(self, name: str, does: str, train: Callable[[], Explainable], texts: list[Example]) -> Repaired:
        """Train with a repair and read what comes of it, on the texts of the audit."""
        begun, model = time.monotonic(), train()
        probe, closed = Probe(model, texts[: repairs.TEXTS], seed=self.trainer.seed), isinstance(model, Fitted)
        found = battery.measure(
            probe, deep=repairs.DEEP, closed=closed, inputs_alone=True, left=lambda done: self.clock.left
        )
        sound, read = judging.in_element(judging.gates(found)), judging.readings(found, probe)
        f1 = model.evaluate(texts)["f1_macro"]
        return Repaired(name, does, read, sound, f1, f1 - self.f1, (time.monotonic() - begun) / 60, model)

    def _facts(self, probe: Probe, found: battery.Measured, own: bool) -> dict[str, str]:
        model, texts = probe.model, plural(len(probe), "text")
        told = repr(model)
        if isinstance(model, Fitted):
            c = model.model_config
            scaled = f", {c.scaling} scaling" if c.scaling != "none" else ""
            made = "trained here, on these texts" if own else "given"
            told = f"{c.encoder}, {c.attention} attention, {c.projection}{scaled}; {made}"
        right, largest = found.right.mean(), found.largest.mean()
        return {
            "Model": told,
            "Data": f"{self.trainer.corpus.name}: {texts} judged on, words removed from {len(found):,}",
            "Classes": ", ".join(model.classes),
            "Accuracy": f"{right:.3f} (largest class: {largest:.3f}), F1 {self.f1:.3f}",
            "Took": f"{duration(self.clock.spent)} of a budget of {duration(self.clock.seconds)}",
        }


def _plausible(probe: Probe, found: battery.Measured) -> dict[str, Any] | None:
    """Agreement with human rationales, where the texts have them."""
    given = [e.rationale or () for e in probe.examples[: len(found)]]
    marked = [i for i, marks in enumerate(given) if any(marks) and len(marks) == probe.lengths[i]]
    if len(marked) < 20:
        return None
    masks = [np.array(given[i]) for i in marked]
    ranked = {judging.NAMES[n]: scores for n, scores in probe.rankings.items() if n in judging.NAMES}
    ranked["leave-one-out"] = found.erased[found.inputs[-1]].alone
    return {name: plausibility([scores[i] for i in marked], masks) for name, scores in ranked.items()}


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
