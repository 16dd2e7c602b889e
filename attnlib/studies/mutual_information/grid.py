"""Attention as a guide to information (Wen et al. 2022): what is computed, and the frames it gives.

Every model is measured once, on hidden states of test texts. The models of the grid come with softmax and, for the
Gumbel table, with Gumbel-softmax; BiLSTM with additive attention also with attention fixed at random, with the
representation fixed, and with an adversary.

Encoders and attentions are compared as independent trainings (`study.seed_of`). Paired is a replicate of a cell
(corpus, encoder, attention) with what is made of it: its Gumbel twin and its twin with attention fixed share its
seed; the model with its representation fixed and the adversary start from it. `seed` in frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from attnlib.data.selection import sampled
from attnlib.measures.adversary import adversary
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run
from attnlib.studies.beside import printed
from attnlib.studies.datasets import kin
from attnlib.studies.mutual_information import measures
from attnlib.studies.mutual_information.params import MAIN, Params
from attnlib.studies.results import Results, idle, without
from attnlib.utils.errors import ConfigError
from attnlib.utils.text import plural

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

NAME = "mutual_information"
NAMES = {
    "lstm": "BiLSTM", "cnn": "CNN", "mlp": "MLP", "additive": "Additive", "deep": "Deep", "dot": "Dot",
    "softmax": "softmax", "gumbel": "Gumbel-softmax", "none": "as trained", "fix_attention": "Fix Attn",
    "fix_representation": "Fix Rep", "adversary_unfrozen": "adversary",
}  # fmt: skip
"""How tables name things."""
LAMBDA = 5e-4
"""Of an adversary for a corpus that is not, and resembles none of, the paper's: the value it uses for most."""
CELL = ["dataset", "encoder", "attention"]
"""What the paper calls a model setting."""
MODEL = [*CELL, "projection", "variant", "seed"]
"""What tells models apart."""


def adversary_lambda(dataset: str) -> tuple[float, str]:
    """The paper's lambda for the corpus or the closest it has (Table 3), else its most frequent one; and whose."""
    value = printed(NAME, 3, metric="lambda", dataset=dataset)
    return (value, f"paper: {kin(dataset)}") if value == value else (LAMBDA, "the paper's most frequent")


def grid(params: Params) -> list[Run]:
    """Every run: the models of the grid, their Gumbel twins, the ablations, the adversaries."""
    runs: list[Run] = []
    for corpus in params.all_corpora:
        for base in params.models(corpus):
            seed = base.label["seed"]
            runs.append(_measured(params, corpus, base))
            if seed in params.gumbel_seeds:
                gumbel = base.replace(model=base.model.replace(projection="gumbel"))
                runs.append(_measured(params, corpus, gumbel))
            if (base.model.encoder, base.model.attention) != MAIN:
                continue
            if seed in params.ablation_seeds:
                runs += [_measured(params, corpus, fit, kind) for kind, fit in _ablations(base).items()]
            if seed in params.adversary_seeds and corpus in params.corpora:
                other = _adversary(params, corpus, base)
                runs.append(_measured(params, corpus, other, "adversary_unfrozen"))
                label = {"dataset": corpus, "variant": "adversary_unfrozen"}
                runs.append(MeasureSpec.of(measures.apart, base, other, label=label, texts=params.texts))
    return runs


def _measured(params: Params, corpus: str, fit: FitSpec, variant: str = "none") -> Run:
    label = {"dataset": corpus, "variant": variant}
    options = {"counts": list(params.counts), "texts": params.texts, "resamples": params.resamples}
    return MeasureSpec.of(measures.by_rank, fit, label=label, **options)


def _ablations(base: FitSpec) -> dict[str, FitSpec]:
    """Attention left as it was drawn; or embedding and encoder of the trained model kept, the rest trained again.

    The latter with a seed of its own: with that of its base, attention would start where the base's did.
    """
    kept = ("embedding", "encoder")
    return {
        "fix_attention": base.replace(train=base.train.replace(freeze=("attention",))),
        "fix_representation": base.replace(
            train=base.train.replace(freeze=kept),
            seed=base.seed + 1000,
            warm_start=base,
            params={"warm_parts": list(kept)},
        ),
    }


def _adversary(params: Params, corpus: str, base: FitSpec) -> FitSpec:
    schedule = {"epochs": params.adversary_epochs, "patience": 10, "monitor": "train_loss"}
    return base.replace(
        train=base.train.replace(**schedule),
        seed=base.seed + 1000,
        warm_start=base,
        trainer=f"{adversary.__module__}:{adversary.__name__}",
        params={"lam": adversary_lambda(corpus)[0], "quirks": ["wp_half_tvd"]},
    )


def check_texts(params: Params, name: str, corpus: Corpus) -> None:
    """Refuse, before anything is trained, a corpus too small for any clusters or in the wrong list."""
    query = name in params.query_corpora
    if query != (corpus.task == "query"):
        wrong, right = ("query_corpora", "corpora") if query else ("corpora", "query_corpora")
        raise ConfigError(f"{wrong}: {name!r} has {'no' if query else 'a'} query; put it in {right}.")
    long = [example for example in sampled(corpus.test, params.texts) if len(example) > 1]
    if len(long) < 4:
        raise ConfigError(
            f"{name!r} has {plural(len(long), 'test text')} of two words or more. Information is estimated from at "
            "least two clusters of two texts; give it more test texts, or leave it out."
        )


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: those that are loaded already."""
    corpora = Corpora() if corpora is None else corpora
    for name in params.all_corpora:
        check_texts(params, name, corpora[params.data(name)])
    found = run_grid(grid(params), executor=executor, corpora=corpora, title="mutual information")
    frames = {name: found.frame(name) for name in ("taus", "ranks", "labels")}
    return gathered(params, found, frames | {"apart": found.frame("apart", optional=True)})


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """Tidy frames of the models (`MODEL`).

    taus    one row per model: tau with low and high over texts (over_texts: half that width), tau by other
            estimates, k, clusters, occupied_least and occupied_most (clusters over ranks), smallest, n, entropy,
            accuracy, output_entropy, task, thin (too few texts for the numbers of clusters asked for) and idle
            (learned nothing): such models are shown and decide nothing; `value` is tau
    ranks   one row per model and rank: alpha, occupied, information with low, high and floor, other estimates
    labels  one row per model and text: instance, truth, prediction
    apart   one row per text and adversary: tvd, tvd_trained, jsd, right_base, right_adversary; empty without any
    """
    taus = frames["taus"]
    learned = without(taus, idle(frames["labels"], MODEL)).index
    taus = taus.assign(
        value=taus["tau"],
        task=[params.task(name) for name in taus["dataset"]],
        thin=taus["clusters"] < min(params.counts),
        idle=~taus.index.isin(learned),
    )
    return Results(params, found, {**frames, "taus": taus}, MODEL[:-1], judged=("taus",))
