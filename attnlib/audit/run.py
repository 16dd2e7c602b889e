"""`al.audit`: a model and data in, a card out, within a budget of minutes.

Work goes in the order of its weight: the model, the gates, the objections that need no training, the further
trainings that two objections need, a planted shortcut, repairs from the cheapest on. Before each step its time is
forecast from what was measured so far; what does not fit is left out and said on the card.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.audit import battery, inputs, repairs, trainings
from attnlib.audit.card import Card
from attnlib.audit.probe import Probe
from attnlib.audit.rules import Row, not_applicable, overall, rules, unmeasured
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.selection import sampled
from attnlib.data.types import Corpus, Example
from attnlib.engine.explainable import Explainable, aligned, cut
from attnlib.hf.loading import load_model
from attnlib.measures.rationales import plausibility
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import ConfigError
from attnlib.utils.progress import bar
from attnlib.utils.text import duration, plural

OWN = ModelConfig(encoder="lstm", attention="additive", hidden_size=64)
"""What the kit trains where no model is given: a BiLSTM with additive attention."""
TRAINING = TrainConfig(epochs=6, patience=2, learning_rate=5e-3)
TEXTS = 500
"""Texts judged on, where budget and data allow: precision depends on this number, not on the size of the corpus."""
PILOT, DEEP = 4, 16
TRAININGS = 3
REPAIR_TEXTS = 100
CARD_SECONDS = 4.0


class Clock:
    """The budget, and what of it is left."""

    def __init__(self, minutes: float) -> None:
        self.begun, self.seconds = time.monotonic(), 60 * minutes

    @property
    def spent(self) -> float:
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        return self.seconds - self.spent - CARD_SECONDS

    def fits(self, seconds: float) -> bool:
        return seconds <= self.left


def audit(
    model: Explainable | str | Path | None = None,
    data: Any = None,
    *,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    scores: Any = None,
    budget: float = 10.0,
    texts: int | None = TEXTS,
    config: ModelConfig = OWN,
    train: TrainConfig = TRAINING,
    seed: int = 0,
) -> Card:
    """May attention be read as an explanation of this model, and if not, what is the cheapest repair?

    model    a Fitted, a Hugging Face classifier (`al.load_model`), the path or hub id of either; None: the kit
             trains a model of its own on the data
    data     a corpus, its name, or a table (csv, tsv, jsonl, parquet) with a text and a label column
    text, label, split  columns of a table, where they are not found
    scores   an explanation made elsewhere, audited in place of attention: a file, a mapping by id, or one array per
             text; needs `model`
    budget   minutes
    texts    judged on at most; None: all
    config, train  of the model that the kit trains where none is given

    Wrong data, labels that are not the model's and scores that do not fit raise DataError before any work.

    >>> card = al.audit(fitted, corpus, budget=0.05)  # three seconds are too few to judge
    >>> card.verdict, len(card.rows)
    ('undetermined', 8)
    """
    if not budget > 0:
        raise ConfigError(f"budget is a number of minutes above 0; got {budget}.")
    if scores is not None and model is None:
        raise ConfigError("scores explain a certain model: give it too (--model).")
    if data is None:
        raise ConfigError("An audit needs data: a table with texts and labels, or the name of a corpus.")
    clock = Clock(budget)
    model = load_model(model) if isinstance(model, str | Path) else model
    corpus = inputs.load_data(data, text, label, split)
    model = None if model is None else aligned(model, corpus.classes)
    corpus, pool, notes = inputs.pools(corpus, given=model is not None, seed=seed)
    return Audit(clock, corpus, pool, seed, list(corpus.notes) + notes).run(model, scores, texts, config, train)


class Audit:
    """One audit under way: what is known by now, and what there is time for."""

    def __init__(self, clock: Clock, corpus: Corpus, pool: list[Example], seed: int, notes: list[str]) -> None:
        self.clock, self.corpus, self.pool, self.seed, self.notes = clock, corpus, pool, seed, notes
        self.training: float | None = None
        """Seconds of a training."""
        self.probing = 0.0
        """Seconds of all removals, per text."""

    def run(
        self, model: Explainable | None, scores: Any, texts: int | None, config: ModelConfig, train: TrainConfig
    ) -> Card:
        """Everything, in the order of its weight."""
        own = model is None
        with bar("audit", total=6, unit="step") as line:

            def step(said: str) -> None:
                line.set_postfix_str(said)
                line.update()

            step("training a model" if own else "reading the model")
            if own:
                model = self._train_own(config, train)
            elif isinstance(model, Fitted):
                config, train = model.model_config, model.train_config
            closed = isinstance(model, Fitted)
            if not closed:
                self.notes.append(
                    "repairs that train are run for models of attnlib alone; fine-tune a Hugging Face model with "
                    "words masked at random, and audit it again"
                )
            step("removing words")
            probe, given, deep = self._probe(model, scores, texts)
            begun, before, least = self.clock.spent, len(probe), rules()["gates"]["texts"]
            soon, late = ((share * self.clock.left) for share in ((0.6 if closed else 0.9), 0.9))
            found = battery.measure(
                probe,
                given,
                deep=deep,
                closed=closed,
                left=lambda n: begun + (soon if n >= least else late) - self.clock.spent,
            )
            if len(probe) < before:
                self.notes.append(f"{before - len(probe):,} texts were left out on the way, to fit the budget")
            found.cut = cut(model, probe.examples) / len(probe)
            rows = {row.objection.id: row for row in battery.judged(found)}
            step("training twins")
            trained = closed and scores is None and not config.hierarchical
            rows |= self._twins(model, probe, config, train, trained, closed, scores is not None)
            step("planting a shortcut")
            shortcut = self._shortcut(config, train) if trained else None
            step("trying repairs")
            f1 = model.evaluate(probe.examples)["f1_macro"]
            tried = self._repairs(config, train, probe, f1) if trained else []
            step("writing the card")
            ordered = [rows[o.id] for o in rules().objections]
            gates = battery.gates(found)
            verdict, judged = overall(ordered, all(gate.passed for gate in gates))
            return Card(
                verdict=verdict,
                rows=judged,
                gates=gates,
                hiding=battery.hides(found),
                readings=battery.readings(found, probe),
                subject=found.subject,
                repairs=tried,
                shortcut=shortcut,
                plausible=self._plausible(probe, found),
                examples=_examples(probe, found),
                facts={
                    "Model": _described(model, own),
                    "Data": f"{self.corpus.name}, {plural(len(probe), 'text')} judged on",
                    "Classes": ", ".join(model.classes),
                    "Accuracy": f"{found.right.mean():.3f} (largest class: {found.majority:.3f}), F1 {f1:.3f}",
                    "Took": f"{duration(self.clock.spent)} of a budget of {duration(self.clock.seconds)}",
                },
                notes=self.notes,
            )

    def _train_own(self, config: ModelConfig, train: TrainConfig) -> Fitted:
        """Train on as many texts as a fifth of the budget allows, judged by a pilot.

        Words of a single training text are read as unknown: else the model would never have seen the unknown word,
        and every text with one in it would be out of distribution.
        """
        self.corpus = replace(self.corpus, min_df=max(2, self.corpus.min_df), known=None)
        begun = time.monotonic()
        fit(self.corpus.sample(64, seed=self.seed), config, train.replace(epochs=1), self.seed)
        each = (time.monotonic() - begun) / 64
        allowed = max(200, int(0.2 * self.clock.seconds / (each * train.epochs)))
        if allowed < len(self.corpus.train):
            self.notes.append(
                f"trained on {allowed:,} of {len(self.corpus.train):,} training texts, to fit the budget"
            )
            self.corpus = self.corpus.sample(allowed, seed=self.seed, splits=("train",))
        return self._fit(config, train, self.seed)

    def _fit(self, config: ModelConfig, train: TrainConfig, seed: int) -> Fitted:
        begun = time.monotonic()
        fitted = fit(self.corpus, config, train, seed)
        self.training = max(self.training or 0.0, time.monotonic() - begun)
        return fitted

    def _probe(self, model: Explainable, scores: Any, texts: int | None) -> tuple[Probe, Any, int | None]:
        """The probe for as many texts as half of what is left allows, and how many to search deeply."""
        options = {"shares": rules()["shares"], "draws": rules()["draws"], "seed": self.seed}
        pool = sampled(self.pool, texts, self.seed)
        some = sorted(sampled(pool, 50, self.seed + 1), key=len)
        pilot = Probe(model, some[len(some) // 2 :][:PILOT], **options)
        pilot.erased(pilot.inputs[0], {}, deep=0)  # warms up
        begun, ways = time.monotonic(), 3 if scores is None else 2
        pilot.erased(pilot.inputs[0], {}, deep=0)
        rate = ways * (time.monotonic() - begun) / pilot.cost(search=False) / len(pilot)
        share = (0.5 if isinstance(model, Fitted) else 0.85) * self.clock.left
        lengths = [len(model.tokens(e)) for e in sampled(pool, 100, self.seed)]
        for deep in (None, DEEP):
            full = rate * pilot.cost(lengths, search=deep is None)
            searched = (
                0 if deep is None else deep * rate * (pilot.cost(lengths) - pilot.cost(lengths, search=False))
            )
            share = max(share - searched, 0.3 * share)
            n = int(share / full)
            if n >= min(len(pool), 2 * rules()["gates"]["texts"]):
                break
        if n < rules()["gates"]["texts"]:  # everything else can wait
            n = min(rules()["gates"]["texts"], int(0.9 * self.clock.left / full))
        if n < len(pool):
            n = max(n, 20)
            self.notes.append(f"{n:,} of {len(pool):,} texts judged on, to fit the budget")
        chosen = sampled(pool, min(n, len(pool)), self.seed)
        # in a random order: should the time run out, what is done is a random part
        chosen = [chosen[i] for i in np.random.default_rng(self.seed).permutation(len(chosen))]
        self.probing = full
        probe = Probe(model, chosen, **options)
        if deep is not None:
            self.notes.append(
                f"the best order of removal was searched for {plural(min(deep, len(chosen)), 'text')}"
            )
        tokens = [model.tokens(e) for e in chosen]
        return probe, None if scores is None else inputs.load_scores(scores, chosen, tokens), deep

    def _twins(
        self,
        model: Explainable,
        probe: Probe,
        config: ModelConfig,
        train: TrainConfig,
        trained: bool,
        closed: bool,
        elsewhere: bool,
    ) -> dict[str, Row]:
        """Objections 1 and 8: models trained with uniform attention, and with other seeds."""
        objections = {name: rules().objection(name) for name in ("needed", "stable")}
        if not trained:
            why = "it needs further trainings, which the kit runs for its own pooled models alone"
            why = "about the model's attention, not about the scores under audit" if elsewhere and closed else why
            return {name: not_applicable(o, why) for name, o in objections.items()}
        owns, twins = [probe.predicted], []
        rankings = [probe.read("alpha")]
        for k in range(TRAININGS):
            for kind in ("own", "uniform"):
                if (kind == "own" and not k) or not self.clock.fits(
                    1.15 * (self.training or self._pilot(config, train))
                ):
                    continue
                if kind == "uniform":
                    begun = time.monotonic()
                    twin = trainings.uniform_twin(self.corpus, config, train, self.seed + k)
                    self.training = max(self.training or 0.0, time.monotonic() - begun)
                    twins.append(twin.logits(probe.examples).argmax(1))
                else:
                    sibling = self._fit(config, train, self.seed + k)
                    owns.append(sibling.logits(probe.examples).argmax(1))
                    rankings.append(Probe(sibling, probe.examples, shares=(0.1,), draws=1).read("alpha"))
        found = {}
        pairs = min(len(owns), len(twins))
        late = "No training fitted the budget: give more minutes."
        found["needed"] = (
            trainings.needed(probe.labels, owns[:pairs], twins[:pairs])
            if pairs
            else unmeasured(objections["needed"], late)
        )
        found["stable"] = (
            trainings.stable(rankings) if len(rankings) > 1 else unmeasured(objections["stable"], late)
        )
        return found

    def _pilot(self, config: ModelConfig, train: TrainConfig) -> float:
        """Forecast of a training of a model that was given, in seconds."""
        begun = time.monotonic()
        fit(self.corpus.sample(64, seed=self.seed), config, train.replace(epochs=1), self.seed)
        return (time.monotonic() - begun) / 64 * len(self.corpus.train) * max(train.epochs, 1)

    def _shortcut(self, config: ModelConfig, train: TrainConfig) -> trainings.Shortcut | None:
        if not self.training or not self.clock.fits(1.3 * self.training):
            self.notes.append("no planted shortcut: it did not fit the budget")
            return None
        return trainings.shortcut(
            self.corpus, config, train, ("alpha", "alpha_grad", "input_x_grad"), seed=self.seed
        )

    def _repairs(self, config: ModelConfig, train: TrainConfig, probe: Probe, f1: float) -> list[repairs.Repaired]:
        tried = []
        some = probe.examples[:REPAIR_TEXTS]
        for repair in repairs.REPAIRS:
            seconds = (self.training or self.clock.seconds) * repair.factor * 1.1
            seconds += self.probing * len(some) * (10 if repair.name == "MiniLM" else 1)
            if not repair.applies(config):
                continue
            if not self.clock.fits(seconds):
                self.notes.append(f"repair not tried within the budget: {repair.name} (about {duration(seconds)})")
                continue
            tried.append(repairs.attempt(repair, self.corpus, config, train, some, f1, seed=self.seed))
        return tried

    def _plausible(self, probe: Probe, found: battery.Measured):
        """Agreement with human rationales, where the texts have them."""
        marked = [i for i, e in enumerate(probe.examples) if e.rationale is not None and any(e.rationale)]
        marked = [i for i in marked if len(probe.examples[i].rationale) == probe.lengths[i]]
        if len(marked) < 20:
            return None
        masks = [np.array(probe.examples[i].rationale) for i in marked]
        names = [n for n in probe.rankings if n in battery.NAMES]
        rows = {battery.NAMES[n]: plausibility([probe.rankings[n][i] for i in marked], masks) for n in names}
        loo = found.erased[found.inputs[-1]].alone
        rows["leave-one-out"] = plausibility([loo[i] for i in marked], masks)
        return rows


def _described(model: Explainable, own: bool) -> str:
    if not isinstance(model, Fitted):
        return repr(model)
    c = model.model_config
    told = f"{c.encoder}, {c.attention} attention, {c.projection}" + (
        f", {c.scaling} scaling" if c.scaling != "none" else ""
    )
    return f"{told}; {'trained here' if own else 'given'}"


def _examples(probe: Probe, found: battery.Measured, n: int = 3) -> list[dict[str, Any]]:
    """Texts in which the ranking under audit and leave-one-out disagree most, to be shown as heat maps."""
    from attnlib.data.selection import presentable

    ranking = probe.rankings[found.subject]
    alone = found.erased[found.inputs[-1]].alone
    gaps = []
    for i, (scores, drops) in enumerate(zip(ranking, alone, strict=True)):
        tokens = probe.model.tokens(probe.examples[i])
        if 6 <= len(tokens) <= 60 and presentable(tokens):
            gaps.append((drops.max() - drops[int(np.argmax(scores))], i))
    shown: Sequence[tuple[float, int]] = sorted(gaps, reverse=True)[:n]
    return [
        {
            "tokens": probe.model.tokens(probe.examples[i]),
            "rows": {battery.NAMES[found.subject]: ranking[i], "drop without it": alone[i]},
            "predicted": probe.model.classes[probe.predicted[i]],
            "true": probe.model.classes[probe.labels[i]],
            "probability": float(probe.confidence[i]),
        }
        for _, i in shown
    ]
