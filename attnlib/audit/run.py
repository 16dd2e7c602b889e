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
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.audit import battery, inputs, judging, repairs, trainings
from attnlib.audit.card import Card
from attnlib.audit.probe import Probe
from attnlib.audit.repairs import Repaired
from attnlib.audit.rules import Row, not_applicable, overall, rules, unmeasured
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.checks import DataWarning
from attnlib.data.selection import presentable, sampled
from attnlib.data.types import Corpus, Example
from attnlib.engine.explainable import Explainable, aligned, cut, is_model
from attnlib.hf.loading import load_model
from attnlib.importance.scores import importance
from attnlib.measures.rationales import plausibility
from attnlib.store.processes import turn
from attnlib.training.fit import check_seed, fit
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
LONG = 8
"""Texts this many times longer than the median come last: removing words takes the square of the length."""
TRAININGS = 3
REPAIR_TEXTS, REPAIR_DEEP = 100, 16
"""Texts that words are removed from, and searched, to judge a repair."""
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
    """Can attention be read as an explanation of this model, and if not, what is the cheapest repair?

    model    a Fitted, a Hugging Face classifier (`al.load_model`), the path or hub id of either; None: the kit
             trains a model of its own on the data
    data     a corpus, its name, or a table (csv, tsv, jsonl, parquet) with a text and a label column
    text, label, split  columns of a table, where they are not found
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
    with turn(), warnings.catch_warnings():  # among reports written side by side, it begins when a core is free
        warnings.filterwarnings("ignore", ".* have more than .* were cut", DataWarning)  # it is said once
        clock = Clock(budget)
        model = load_model(model) if isinstance(model, str | Path) else model
        if model is not None:
            is_model(model)
        corpus = inputs.load_data(data, text, label, split)
        model = None if model is None else aligned(model, corpus.classes)
        corpus, pool, notes = inputs.pools(corpus, given=model is not None, seed=seed)
        notes = [*corpus.notes, *notes]
        return Audit(clock, corpus, pool, config, train, seed, notes).run(model, scores, texts)


@dataclass
class Audit:
    """One audit under way: what is known by now, and what there is time for.

    config, train   of the model under audit, where the kit can train it
    training, each  seconds of a training, and of removing words from a text
    probe, f1       the model under audit with its texts, and its F1 on them
    """

    clock: Clock
    corpus: Corpus
    pool: list[Example]
    config: ModelConfig
    train: TrainConfig
    seed: int
    notes: list[str]
    training: float | None = None
    each: float = 0.0
    probe: Probe | None = None
    f1: float = 0.0

    def run(self, model: Explainable | None, scores: Any, texts: int | None) -> Card:
        """Everything, in the order of its weight."""
        own = model is None
        with bar("audit", total=6, unit="step") as line:

            def step(said: str) -> None:
                line.set_postfix_str(said)
                line.update()

            step("training a model" if own else "reading the model")
            if own:
                model = self._train_own()
            elif isinstance(model, Fitted):
                self.config, self.train = model.model_config, model.train_config
            closed = isinstance(model, Fitted)
            trains = closed and scores is None and not self.config.hierarchical
            step("removing words")
            probe, given = self._probe(model, scores, texts)
            self.probe = probe
            found = self._battery(probe, given, closed)
            gates = judging.gates(found)
            rows = {row.objection.id: row for row in judging.judged(found)}
            self.f1 = model.evaluate(probe.examples)["f1_macro"]
            step("trying masking")
            tried, rest = [], repairs.in_order(self.config.encoder) if trains else []
            if scores is None and not closed:
                tried = self._finetuning(model)
            elif trains and not judging.in_element(gates):  # what the answer waits for
                tried, rest = self._repairs(rest[:1]), rest[1:]
            step("training twins")
            twins = self._twins() if trains else self._no_twins(closed, scores is not None)
            rows |= {row.objection.id: row for row in judging.behind(twins, gates)}
            step("trying repairs")
            shortcut = self._shortcut() if trains else None
            if trains:
                tried += self._repairs(rest)
            step("writing the card")
            ordered = [rows[o.id] for o in rules().objections]
            verdict, judged = overall(ordered, all(gate.passed for gate in gates))
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
                plausible=self._plausible(probe, found),
                examples=_examples(probe, found),
                facts={
                    "Model": _described(model, own),
                    "Data": f"{self.corpus.name}: {plural(len(probe), 'text')} judged on, words removed from "
                    f"{len(found):,}",
                    "Classes": ", ".join(model.classes),
                    "Accuracy": f"{found.right.mean():.3f} (largest class: {found.majority:.3f}), F1 {self.f1:.3f}",
                    "Took": f"{duration(self.clock.spent)} of a budget of {duration(self.clock.seconds)}",
                },
                notes=self.notes,
                model=model,
            )

    def _train_own(self) -> Fitted:
        """Train on as many texts as a quarter of the budget allows, judged by a pilot.

        Words of a single training text are read as unknown: else the model would never have seen the unknown word,
        and every text with one in it would be out of distribution.
        """
        self.corpus = replace(self.corpus, min_df=max(2, self.corpus.min_df), known=None)
        fixed, each = self._pilot()
        allowed = (0.25 * self.clock.seconds - fixed) / (each * self.train.epochs)
        total, lengths = len(self.corpus.train), _lengths(self.corpus.train)
        if allowed < lengths.sum():
            short = np.flatnonzero(lengths <= LONG * np.median(lengths))
            self.corpus = replace(self.corpus, train=tuple(self.corpus.train[i] for i in short))
            most = max(200, int(allowed / lengths[short].mean()))
            self.corpus = self.corpus.sample(most, seed=self.seed, splits=("train",))
            trained = len(self.corpus.train)
            self.notes.append(f"trained on {trained:,} of {total:,} training texts, to fit the budget")
        return self._fit(fit, self.seed)

    def _fit(self, how: Callable[..., Fitted], seed: int) -> Fitted:
        begun = time.monotonic()
        fitted = how(self.corpus, self.config, self.train, seed)
        self.training = max(self.training or 0.0, time.monotonic() - begun)
        return fitted

    def _pilot(self, texts: int = 128) -> tuple[float, float]:
        """Seconds of a training before its first step, and of one word in one epoch."""
        some, spent = self.corpus.sample(texts, seed=self.seed), []
        longest = LONG * np.median(_lengths(some.train))
        some = replace(some, train=tuple(e for e in some.train if len(e) <= longest))
        for epochs in (1, 0, 1):  # the first loads what a training loads once
            begun = time.monotonic()
            fit(some, self.config, self.train.replace(epochs=epochs), self.seed)
            spent.append(time.monotonic() - begun)
        return spent[1], max(spent[2] - spent[1], 1e-4) / _lengths(some.train).sum()

    def _forecast(self) -> float:
        """Seconds of a training: the longest so far, or what a pilot says."""
        if self.training is None:
            fixed, each = self._pilot()
            self.training = fixed + each * _lengths(self.corpus.train).sum() * max(self.train.epochs, 1)
        return self.training

    def _probe(self, model: Explainable, scores: Any, texts: int | None) -> tuple[Probe, Any]:
        """The probe for as many texts as can be read in a twentieth of what is left."""
        places = sampled(range(len(self.pool)), texts, self.seed)
        # in a random order: should the time run out, what is done is a random part
        places = [places[i] for i in np.random.default_rng(self.seed).permutation(len(places))]
        # but for the few that take as long as hundreds of others: they come last
        longest = LONG * np.median(_lengths([self.pool[i] for i in places]))
        places.sort(key=lambda i: len(self.pool[i]) > longest)
        pool = [self.pool[i] for i in places]
        given = None
        if scores is not None:
            ordered = len(self.pool) == len(self.corpus.test)
            given = inputs.load_scores(scores, self.pool, model.tokens, places, ordered=ordered)
        begun = time.monotonic()
        model.logits(pool[:8])
        most = int(0.05 * self.clock.left / ((time.monotonic() - begun) / 8))
        chosen = pool[: max(most, rules()["gates"]["texts"])]
        if len(chosen) < len(pool):
            self.notes.append(f"{len(chosen):,} of {len(pool):,} texts judged on, to fit the budget")
        if len(pool[-1]) > longest:
            late = sum(len(e) > longest for e in pool)
            self.notes.append(f"{plural(late, 'text')} of more than {longest:,.0f} words came last")
        return Probe(model, chosen, seed=self.seed), given and given[: len(chosen)]

    def _battery(self, probe: Probe, given: Any, closed: bool) -> battery.Measured:
        """Everything that needs no training, in about half of the time that is left; longer for enough texts."""
        begun, least = self.clock.spent, rules()["gates"]["texts"]
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
        if number := cut(probe.model, probe.examples):
            said = f"{number:,} of {len(probe):,} texts are longer than the model reads; their ends were cut."
            warnings.warn(said, DataWarning, stacklevel=2)
        found.cut = number / len(probe)
        return found

    def _no_twins(self, closed: bool, elsewhere: bool) -> list[Row]:
        why = "it needs further trainings, which the kit runs for its own pooled models alone"
        why = battery.ELSEWHERE if elsewhere and closed else why
        return [not_applicable(rules().objection(name), why) for name in ("needed", "stable")]

    def _twins(self) -> list[Row]:
        """Objections 1 and 8: models trained with uniform attention, and with other seeds."""
        self._forecast()
        probe = self.probe
        owns, twins, rankings = [probe.predicted], [], [probe.read("alpha")]
        for k in range(TRAININGS):
            if k and self.clock.fits(1.15 * self.training):
                sibling = self._fit(fit, self.seed + k)
                owns.append(sibling.logits(probe.examples).argmax(1))
                rankings.append(importance(sibling, probe.examples, "alpha"))
            if self.clock.fits(1.15 * self.training):
                twin = self._fit(trainings.uniform_twin, self.seed + k)
                twins.append(twin.logits(probe.examples).argmax(1))
        late = "No training fitted the budget: give more minutes."
        pairs = min(len(owns), len(twins))
        return [
            trainings.needed(probe.labels, owns[:pairs], twins[:pairs])
            if pairs
            else unmeasured(rules().objection("needed"), late),
            trainings.stable(rankings) if len(rankings) > 1 else unmeasured(rules().objection("stable"), late),
        ]

    def _shortcut(self) -> trainings.Shortcut | None:
        if not self.clock.fits(1.3 * self.training):
            self.notes.append("no planted shortcut: it did not fit the budget")
            return None
        names = ("alpha", "alpha_grad", "input_x_grad")
        return trainings.shortcut(self.corpus, self.config, self.train, names, seed=self.seed)

    def _repairs(self, some: Sequence[repairs.Repair]) -> list[Repaired]:
        """The repairs of `some` that apply and fit."""
        tried, late, seconds = [], [], self._forecast()
        for repair in (repair for repair in some if repair.applies(self.config)):
            slower = 10 if repair.name == "MiniLM" else 1
            needs = 1.1 * seconds * repair.factor + self.each * REPAIR_TEXTS * slower
            if self.clock.fits(needs):
                made = partial(repair.train, self.corpus, self.config, self.train, self.seed)
                tried.append(self._priced(repair.name, repair.does, made))
            else:
                late.append(f"{repair.name} (about {duration(needs)})")
        if late:
            self.notes.append(f"repairs not tried within the budget, which a larger one tries: {', '.join(late)}")
        return tried

    def _finetuning(self, model: Explainable) -> list[Repaired]:
        """A Hugging Face classifier fine-tuned with words masked, on texts that are not judged on."""
        from attnlib.hf.finetune import masked_finetuning

        judged = {e.tokens for e in self.probe.examples}
        texts = {e.tokens: e for e in (*self.corpus.train, *self.corpus.dev, *self.pool) if e.tokens not in judged}
        texts, least = list(texts.values()), rules()["gates"]["texts"]
        name, does = repairs.FINE_TUNING
        seconds = 0.5 * self.clock.left
        if len(texts) < least or seconds < self.each * least / 5:
            why = "no time was left" if len(texts) >= least else "too few texts that are not judged on"
            self.notes.append(f"repair not tried: {name} ({why})")
            return []
        made = partial(masked_finetuning, model, texts, self.probe.inputs, seconds=seconds, seed=self.seed)
        return [self._priced(name, does, made, closed=False)]

    def _priced(self, name: str, does: str, train: Callable[[], Explainable], closed: bool = True) -> Repaired:
        """Train with a repair and read what comes of it, on the texts of the audit."""
        begun, texts = time.monotonic(), self.probe.examples
        model = train()
        probe = Probe(model, texts[:REPAIR_TEXTS], seed=self.seed)
        found = battery.measure(
            probe, deep=REPAIR_DEEP, closed=closed, inputs_alone=True, left=lambda done: self.clock.left
        )
        sound, read = judging.in_element(judging.gates(found)), judging.readings(found, probe)
        f1 = model.evaluate(texts)["f1_macro"]
        return Repaired(name, does, read, sound, f1, f1 - self.f1, (time.monotonic() - begun) / 60, model)

    def _plausible(self, probe: Probe, found: battery.Measured):
        """Agreement with human rationales, where the texts have them."""
        given = [e.rationale or () for e in probe.examples[: len(found)]]
        marked = [i for i, marks in enumerate(given) if any(marks) and len(marks) == probe.lengths[i]]
        if len(marked) < 20:
            return None
        masks = [np.array(given[i]) for i in marked]
        ranked = {judging.NAMES[n]: scores for n, scores in probe.rankings.items() if n in judging.NAMES}
        ranked["leave-one-out"] = found.erased[found.inputs[-1]].alone
        return {name: plausibility([scores[i] for i in marked], masks) for name, scores in ranked.items()}


def _lengths(texts: Sequence[Example]) -> np.ndarray:
    return np.array([len(e) for e in texts])


def _described(model: Explainable, own: bool) -> str:
    if not isinstance(model, Fitted):
        return repr(model)
    c = model.model_config
    scaled = f", {c.scaling} scaling" if c.scaling != "none" else ""
    made = "trained here, on these texts" if own else "given"
    return f"{c.encoder}, {c.attention} attention, {c.projection}{scaled}; {made}"


def _examples(probe: Probe, found: battery.Measured, n: int = 3) -> list[dict[str, Any]]:
    """Texts in which the ranking under audit and leave-one-out disagree most, to be shown as heat maps."""
    ranking = probe.rankings[found.subject]
    alone = found.erased[found.inputs[-1]].alone
    gaps = []
    for i, drops in enumerate(alone):
        tokens = probe.model.tokens(probe.examples[i])
        if 6 <= len(tokens) <= 60 and presentable(tokens):
            gaps.append((drops.max() - drops[int(np.argmax(ranking[i]))], i))
    return [
        {
            "tokens": probe.model.tokens(probe.examples[i]),
            "rows": {judging.NAMES[found.subject]: ranking[i], "drop without it (minus: rise)": alone[i]},
            "predicted": probe.model.classes[probe.predicted[i]],
            "true": probe.model.classes[probe.labels[i]],
            "probability": float(probe.confidence[i]),
            "example": probe.examples[i],
        }
        for _, i in sorted(gaps, reverse=True)[:n]
    ]
