"""Attention as a guide to information (Wen et al. 2022): what is computed, and the frames it gives.

Paired (`study.seed_of`) is a replicate of a cell (corpus, encoder, attention) with what is made of it: its Gumbel
twin and its twin with attention fixed share its seed; the model with its representation fixed and the adversary
start from it. `seed` in frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from attnlib.data.selection import sampled
from attnlib.data.types import Corpus
from attnlib.measures.adversary import adversary, compare
from attnlib.measures.rank_information import rank_information, ranked
from attnlib.store.grid import run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run
from attnlib.studies.beside import printed
from attnlib.studies.mutual_information.params import Params
from attnlib.studies.results import Results, idle, without
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import ConfigError
from attnlib.utils.text import plural

NAME = "mutual_information"
MAIN = ("lstm", "additive")
"""Encoder and attention of the ablations and adversaries."""
CELL = ["dataset", "encoder", "attention"]
"""What the paper calls a model setting."""
MODEL = [*CELL, "projection", "variant", "seed"]
"""What tells models apart."""


def by_rank(
    fitted: Fitted, corpus: Corpus, *, counts: Sequence[int], texts: int | None = None, resamples: int = 200
) -> dict[str, pd.DataFrame]:
    """Information and attention by rank on test texts, with the tau of the two; see `rank_information`.

    ranks   one row per rank
    taus    one row, with the accuracy on the same texts
    labels  one row per text: instance, truth, prediction
    """
    some = sampled(corpus.test, texts)
    states = ranked(fitted, some)
    ranks, facts = rank_information(states, counts, resamples=resamples)
    labels = pd.DataFrame({"instance": [e.id for e in some], "truth": [e.label for e in some]})
    labels["prediction"] = states.logits.argmax(1)
    facts["accuracy"] = float((labels["truth"] == labels["prediction"]).mean())
    return {"ranks": ranks, "taus": pd.DataFrame([facts]), "labels": labels}


def apart(base: Fitted, other: Fitted, corpus: Corpus, *, texts: int | None = None) -> pd.DataFrame:
    """How far an adversary is from its base, one row per test text, of the texts that `by_rank` looks at.

    tvd of outputs, tvd_trained (halved with two classes, as in training), jsd of attentions, right_base,
    right_adversary
    """
    found = compare(base, other, sampled(corpus.test, texts))
    found = found.assign(instance=found["id"], tvd_trained=found["tvd"] / (2 if len(corpus.classes) == 2 else 1))
    return found[["instance", "tvd", "tvd_trained", "jsd", "right_base", "right_adversary"]]


def adversary_lambda(dataset: str) -> float:
    """The paper's lambda of the corpus or the closest it has (Table 3), else its most frequent."""
    value = printed(NAME, 3, metric="lambda", dataset=dataset)
    return value if value == value else 5e-4


def grid(params: Params) -> list[Run]:
    """Every run: the models of the grid, their Gumbel twins, the ablations, the adversaries."""
    runs: list[Run] = []
    options = {"counts": list(params.counts), "texts": params.texts, "resamples": params.resamples}
    for corpus in params.all_corpora:
        for base in params.models(corpus):
            for variant, fit in _made_of(base, params, corpus):
                label = {"dataset": corpus, "variant": variant}
                runs.append(MeasureSpec.of(by_rank, fit, label=label, **options))
                if variant == "adversary_unfrozen":
                    runs.append(MeasureSpec.of(apart, base, fit, label=label, texts=params.texts))
    return runs


def _made_of(base: FitSpec, params: Params, corpus: str) -> Iterator[tuple[str, FitSpec]]:
    """A model of the grid and what is made of it, by variant."""
    seed, train = base.label["seed"], base.train
    yield "none", base
    if seed in params.gumbel_seeds:
        yield "none", base.replace(model=base.model.replace(projection="gumbel"))
    if (base.model.encoder, base.model.attention) != MAIN:
        return
    # with the seed of its base, attention would start where the base's did
    start = {"seed": base.seed + 1000, "warm_start": base}
    if seed in params.ablation_seeds:
        kept = ("embedding", "encoder")
        yield "fix_attention", base.replace(train=train.replace(freeze=("attention",)))
        fixed = train.replace(freeze=kept)
        yield "fix_representation", base.replace(train=fixed, params={"warm_parts": list(kept)}, **start)
    if seed in params.adversary_seeds and corpus in params.corpora:
        schedule = {"epochs": params.adversary_epochs, "patience": 10, "monitor": "train_loss"}
        how = {"trainer": f"{adversary.__module__}:{adversary.__name__}", **start}
        lam = {"lam": adversary_lambda(corpus), "quirks": ["wp_half_tvd"]}
        yield "adversary_unfrozen", base.replace(train=train.replace(**schedule), params=lam, **how)


def check_texts(params: Params, name: str, corpus: Corpus) -> None:
    """Refuse, before anything is trained, a corpus too small for any clusters or in the wrong list."""
    query = name in params.query_corpora
    if query != (corpus.task == "query"):
        wrong, right = ("query_corpora", "corpora") if query else ("corpora", "query_corpora")
        raise ConfigError(f"{wrong}: {name!r} has {'no' if query else 'a'} query; put it in {right}.")
    long = [example for example in sampled(corpus.test, params.texts) if len(example) > 1]
    if len(long) < 4:
        said = f"{name!r} has {plural(len(long), 'test text')} of two words or more"
        raise ConfigError(f"{said}; two clusters need four at least. Give it more test texts, or leave it out.")


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already.

    `taus` gets `value` (tau), `task`, and what decides nothing: `thin` (too few texts for the numbers of clusters
    asked for) and `idle` (learned nothing).
    """
    corpora = Corpora() if corpora is None else corpora
    for name in params.all_corpora:
        check_texts(params, name, corpora[params.data(name)])
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="mutual information")
    frames = {name: found.frame(name) for name in ("taus", "ranks", "labels")}
    taus, idle_models = frames["taus"], idle(frames["labels"], MODEL)
    frames["apart"] = found.frame("apart", optional=True)
    frames["taus"] = taus.assign(
        value=taus["tau"],
        task=[params.task(name) for name in taus["dataset"]],
        thin=taus["clusters"] < min(params.counts),
        idle=~taus.index.isin(without(taus, idle_models).index),
    )
    return Results(params, found, frames, MODEL[:-1], judged=("taus",))
