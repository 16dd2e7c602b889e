"""Word-level objectives (Tutek & Šnajder 2020): the grid of models and measures, and its results.

Paired (`study.seed_of`) is everything of a dataset and attention, and so are the adversaries of one
replicate, whatever their base and λ. The column `seed` of the frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.measures.adversary import compare
from attnlib.measures.information import retention
from attnlib.measures.perturbation import attention_swaps, token_table
from attnlib.stats.jackknife import f1_values
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run
from attnlib.studies.results import Results
from attnlib.studies.study import replicate, seed_of
from attnlib.studies.tying_mlm.params import REGULARISED, Params

CELL = ["dataset", "attention", "variant"]
MODEL = [*CELL, "layers", "strength", "init", "seed"]  # what tells trainings apart
SWAPPED = ("uniform", "permuted")
SCORES = {"f1": 1, "macro": None}  # F1 of the positive class, as in the paper; its mean over both
PERMUTATIONS = 10
INITIALISATIONS = ("normal", "kaiming")  # of the query of dot attention, as Appendix C compares


def fit(
    params: Params, corpus: str, variant: str, attention: str, k: int, *, layers=1, init="normal", strength=None
) -> FitSpec:
    """A BiLSTM as wide as its embeddings, labelled with what tells it apart; `init`: of the dot query.

    δ is next to a loss summed over a batch, and so divided by its size.
    """
    usual = params.strength(corpus, variant)
    weight = usual if strength is None else strength
    own: dict[str, Any] = {"regulariser": "none" if variant == "base" else variant}
    weights = {"tying": {"tying_delta": weight / params.batch_size}, "mlm": {"mlm_eta": weight}}
    own |= weights.get(variant, {}) | ({"dot_init": init} if attention == "dot" else {})
    own |= {"vectors": params.vector_files.get(corpus, params.vectors), "layers": layers}
    model = params.config(ModelConfig, attention=attention, hidden_size=params.embedding_size, **own)
    label = {"variant": variant, "layers": layers, "strength": weight, "chosen": weight == usual}
    label |= {"corpus": corpus, "init": init if attention == "dot" else "–"}
    train = params.config(TrainConfig, amsgrad=True)
    spec = {"data": params.data(corpus), "model": model, "train": train, "label": label}
    return replicate(k, corpus, model.encoder, attention, **spec)


def trials(params: Params, corpus: str) -> list[FitSpec]:
    """Every weight of tying and MLM that is tried on a corpus, with additive attention, few seeds."""
    tried = [(v, weight) for v in REGULARISED if v in params.variants for weight in params.tried(v)]
    few = params.seeds[: params.few]
    return [fit(params, corpus, v, "additive", k, strength=weight) for v, weight in tried for k in few]


def undecided(params: Params) -> list[FitSpec]:
    """The trials by which dev decides on the weights, of adversaries' corpora too."""
    corpora = () if params.chosen else params.all_corpora
    return [run for corpus in corpora for run in trials(params, corpus)]


def decided(params: Params, history: pd.DataFrame) -> Params:
    """The parameters with the weights of the best macro-F1 on dev; of equals, the smaller.

    The same weight serves both attentions and every depth; the trials are trainings of the tables.
    """
    by = ["variant", "corpus", "strength"]
    kept = history[history["best"]].groupby(by)["dev_f1_macro"].mean().sort_index()
    found: dict[str, dict[str, float]] = {}
    for (variant, corpus), part in kept.groupby(by[:2]):
        found.setdefault(variant, {})[corpus] = float(part.idxmax()[-1])
    return params.replace(chosen=found)


def models(params: Params) -> list[FitSpec]:
    """Every classifier of the study, each once: Table 1, ablations, depth, initialisation."""
    few = params.seeds[: params.few]
    found = []
    for corpus in params.corpora:
        cells = product(params.variants, params.attentions)
        found += [fit(params, corpus, *cell, k) for cell in cells for k in params.seeds_of(cell[0])]
        found += trials(params, corpus)
        for variant in (v for v in params.layer_variants if v in params.variants):
            deep = product(params.layers, params.seeds if variant == "base" else few)
            found += [fit(params, corpus, variant, "additive", k, layers=depth) for depth, k in deep]
        if "dot" in params.attentions:
            starts = product(INITIALISATIONS, params.seeds)
            found += [fit(params, corpus, "base", "dot", k, init=init) for init, k in starts]
    return list(dict.fromkeys(found))


def adversary(params: Params, corpus: str, variant: str, k: int, lam: float) -> FitSpec:
    """A fresh model of the base's architecture: eq. 6 has no regulariser and no labels.

    From its base's own start it would have less far to go to imitate base than a regularised one.
    """
    base = fit(params, corpus, variant, "additive", k)
    plain = base.model.replace(regulariser="none") if variant in REGULARISED else base.model
    schedule = {"epochs": params.adversary_epochs, "patience": min(10, params.adversary_epochs)}
    return base.replace(
        model=plain,
        train=base.train.replace(class_weights=False, monitor="train_loss", **schedule),
        seed=seed_of(k, corpus, plain.encoder, "additive", "adversary"),
        warm_start=base,
        trainer="attnlib.measures.adversary:adversary",
        params={"lam": lam, "divergence": "jsd", "texts": params.adversary_texts},
    )


def grid(params: Params) -> list[Run]:
    """Every run: histories of all trainings, and what is measured on them."""
    fits = models(params)
    runs: list[Run] = [*fits, *undecided(params)]
    runs += [MeasureSpec.of(attention_swaps, model, permutations=PERMUTATIONS) for model in fits]
    runs += [MeasureSpec.of(token_table, model) for model in fits]
    told = {"words": params.mi_words, "k": params.mi_clusters, "most": params.mi_occurrences}
    told["batch_size"] = params.mi_batch
    for corpus, variant in product(params.corpora, params.variants):
        if variant != "concat":  # which is wider than its input: no Table 2 for it
            states = [fit(params, corpus, variant, "additive", k) for k in params.seeds_of(variant)]
            runs += [MeasureSpec.of(retention, model, **told) for model in states]
    bases = [v for v in params.adversary_bases if v in params.variants]
    for corpus, variant, k in product(params.all_corpora, bases, params.seeds[: params.adversary_seeds]):
        base = fit(params, corpus, variant, "additive", k)
        fooled = [(lam, adversary(params, corpus, variant, k, lam)) for lam in params.lambdas]
        runs += [MeasureSpec.of(compare, base, other, label={"lam": lam}) for lam, other in fooled]
    return list(dict.fromkeys(runs))


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather: first the trials by which dev decides.

    A corpus without two classes is refused before anything is trained.
    """
    corpora = corpora or Corpora()
    for name in params.all_corpora:
        params.suits(corpora[params.data(name)])
    options = {"executor": executor, "corpora": corpora}
    if tried := undecided(params):
        dev = run_grid(tried, **options, title="weights of objectives")
        params = decided(params, dev.frame("history"))
    found = run_grid(grid(params), **options, title="word-level objectives")
    named = {"swaps": "attention_swaps", "texts": "token_table", "information": "retention"}
    frames = {name: found.frame(of) for name, of in named.items()}
    frames |= {"distances": found.frame("compare", optional=True)}
    frames |= {"kept": found.frame("history").query("best").reset_index(drop=True)}
    return gathered(params, found, frames)


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """Tidy frames, each led by the columns of MODEL and `chosen`: whether its weight is Table 1's.

    swaps, texts   one row per model, test text, swap and draw (`attention_swaps`); per model and text
    scores, kept   F1 and macro-F1, text by text (`scores`); the epoch that each training kept
    information    one row per model and sample of words
    distances      one row per adversary and test text: lam, tvd, jsd
    """
    swaps = frames["swaps"].rename(columns={"label": "truth"})
    bases = frames["distances"].rename(columns={"prediction_base": "prediction", "label": "truth"})
    told = [swaps[swaps["swap"] == "trained"], bases]  # some bases are trained for adversaries alone
    columns = [*MODEL, "instance", "truth", "prediction"]
    labels = pd.concat([part[columns] for part in told if len(part)])
    labels = labels.drop_duplicates([*MODEL, "instance"], ignore_index=True)
    every = {**frames, "labels": labels, "scores": scores(swaps)}
    judged = ("texts", "scores", "information", "distances")
    return Results(params, found, every, [name for name in MODEL if name != "seed"], judged)


def scores(swaps: pd.DataFrame) -> pd.DataFrame:
    """Both scores of every model, and their changes under other attention, in points, text by text.

    `value` and `point` are those of `f1_values`. Permuted attention counts with its mean over draws.
    """
    model, found = [*MODEL, "chosen"], []
    for score, positive in SCORES.items():
        values = f1_values(swaps, [*model, "swap", "draw"], positive=positive)
        means = values.groupby(["swap", *model, "instance"], sort=False)[["value", "point"]].mean() * 100
        own = means.xs("trained")
        made = {f"delta_{score}_{swap}": means.xs(swap) - own for swap in SWAPPED}
        made[f"{score}_trained"] = own
        found += [rows.reset_index().assign(metric=metric) for metric, rows in made.items()]
    return pd.concat(found, ignore_index=True)
