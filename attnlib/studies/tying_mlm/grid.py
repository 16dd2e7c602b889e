"""Word-level objectives (Tutek & Šnajder 2020): the grid of models and measures, and its results.

The encoder is a BiLSTM as wide as its embeddings, which stay as they are in every variant: tying, residual and MLM
compare the two, and the variants shall differ in nothing else.

Paired (`study.seed_of`) is everything of a data set and attention: variants, weights of a loss, depths and starts
of the query share initial values as far as their shapes allow. So do the adversaries of one replicate, whatever
their base and λ. The column `seed` of the frames is the replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from attnlib.measures.retention import retention
from attnlib.stats.jackknife import f1_values
from attnlib.store.grid import GridResult, run_grid
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, Run
from attnlib.studies.results import Results
from attnlib.studies.study import replicate, seed_of
from attnlib.studies.tying_mlm.measures import behaviour, distances
from attnlib.studies.tying_mlm.params import REGULARISED, Params
from attnlib.utils.errors import DataError

CELL = ["dataset", "attention", "variant"]
MODEL = [*CELL, "layers", "strength", "init", "seed"]
"""The columns that tell trainings apart."""
SWAPPED = ("uniform", "permuted")


def fit(params: Params, corpus: str, variant: str, attention: str, k: int, **options: Any) -> FitSpec:
    """One model of the grid, labelled with what tells it apart; options: as `Params.model` has them."""
    model, usual = params.model(corpus, variant, attention, **options), params.strength(corpus, variant)
    strength = options.get("strength", usual)
    label = {"variant": variant, "layers": model.layers, "strength": strength, "chosen": strength == usual}
    label |= {"corpus": corpus, "init": model.dot_init if attention == "dot" else "–"}
    spec = {"data": params.data(corpus), "model": model, "train": params.training, "label": label}
    return replicate(k, corpus, model.encoder, attention, **spec)


def trials(params: Params, corpus: str) -> list[FitSpec]:
    """Every weight of tying and MLM that is tried on a corpus, with additive attention and few seeds."""
    few = params.seeds[: params.few]
    return [
        fit(params, corpus, variant, "additive", seed, strength=weight)
        for variant in REGULARISED
        if variant in params.variants
        for weight in params.tried(variant)
        for seed in few
    ]


def undecided(params: Params) -> list[FitSpec]:
    """The trials by which dev decides on weights that were not given."""
    runs = [run for corpus in params.all_corpora for run in trials(params, corpus)]
    return [run for run in runs if params.given(run.label["corpus"], run.label["variant"]) is None]


def kept(history: pd.DataFrame) -> pd.DataFrame:
    """The epoch that each training kept, one row each, and how many it ran: `epochs`."""
    keys = [*MODEL, "corpus", "chosen"]
    ran = history.groupby(keys, sort=False)["epoch"].transform("max")
    return history.assign(epochs=ran)[history["best"]].reset_index(drop=True)


def decided(params: Params, history: pd.DataFrame) -> Params:
    """The parameters with the weight of the best macro-F1 on dev, mean over trainings; of equals, the smaller.

    history  of the trials: one row per epoch, `best` the one kept. Only dev texts are looked at. The same weight
             serves both attentions and every depth; the trainings that chose it are among those of the tables.
    """
    means = kept(history).groupby(["corpus", "variant", "strength"])["dev_f1_macro"].mean().sort_index()
    found = {"tying": dict(params.delta_of), "mlm": dict(params.eta_of)}
    for (corpus, variant), part in means.groupby(["corpus", "variant"]):
        found[variant][corpus] = float(part.idxmax()[-1])
    return params.replace(delta_of=found["tying"], eta_of=found["mlm"])


def models(params: Params) -> list[FitSpec]:
    """Every classifier of the study, each once: Table 1, ablations, depth, initialisation."""
    few = params.seeds[: params.few]
    found = []
    for corpus in params.corpora:
        cells = product(params.variants, params.attentions)
        found += [fit(params, corpus, *cell, seed) for cell in cells for seed in params.seeds_of(cell[0])]
        found += trials(params, corpus)
        for variant in params.layer_variants:
            deep = product(params.layers, params.seeds if variant == "base" else few)
            found += [fit(params, corpus, variant, "additive", s, layers=depth) for depth, s in deep]
        if "dot" in params.attentions:
            starts = product(params.initialisations, params.seeds)
            found += [fit(params, corpus, "base", "dot", s, init=init) for init, s in starts]
    return list(dict.fromkeys(found))


def adversary(params: Params, corpus: str, variant: str, k: int, lam: float) -> FitSpec:
    """A fresh model of the base's architecture without its regulariser: eq. 6 has no other term.

    It starts elsewhere than its base: from the same values it would have less far to go to imitate a base model
    than a regularised one.
    """
    base = fit(params, corpus, variant, "additive", k)
    plain = base.model.replace(regulariser="none") if variant in REGULARISED else base.model
    return base.replace(
        model=plain,
        train=params.adversary_training,
        seed=seed_of(k, corpus, plain.encoder, "additive", "adversary"),
        warm_start=base,
        trainer="attnlib.measures.adversary:adversary",
        params={"lam": lam, "divergence": "jsd", "texts": params.adversary_texts},
    )


def grid(params: Params) -> list[Run]:
    """Every run of the study: histories of all trainings, and what is measured on them.

    Where dev decides on a weight, the first that is tried stands for it: as many runs, at the same cost.
    """
    fits = models(params)
    runs: list[Run] = [*fits, *undecided(params)]
    runs += [MeasureSpec.of(behaviour, model, permutations=params.permutations) for model in fits]
    clustered = {"words": params.mi_words, "k": params.mi_clusters, "most": params.mi_occurrences}
    clustered["batch_size"] = params.mi_batch
    narrow = [v for v in params.variants if v != "concat"]  # which is wider than its input: no Table 2 for it
    for corpus, variant in product(params.corpora, narrow):
        states = [fit(params, corpus, variant, "additive", seed) for seed in params.seeds_of(variant)]
        runs += [MeasureSpec.of(retention, model, **clustered) for model in states]
    bases = product(params.attacked, params.adversary_bases, params.seeds[: params.adversary_seeds])
    for corpus, variant, seed in bases:
        base = fit(params, corpus, variant, "additive", seed)
        for lam in params.lambdas:
            other = adversary(params, corpus, variant, seed, lam)
            runs.append(MeasureSpec.of(distances, base, other, label={"lam": lam}))
    return list(dict.fromkeys(runs))


def load(params: Params) -> Corpora:
    """The corpora of the study. One without two classes is refused, before anything is trained."""
    loaded = Corpora()
    for name in params.all_corpora:
        params.suits(loaded[params.data(name)])
    return loaded


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: what `load` gave, where it is there already.

    First the trials by which dev decides on weights, then everything.
    """
    options = {"executor": executor, "corpora": corpora or load(params)}
    if trials := undecided(params):
        params = decided(params, run_grid(trials, **options, title="weights of objectives").frame("history"))
    found = run_grid(grid(params), **options, title="word-level objectives")
    frames = {name: found.frame(name) for name in ("swaps", "texts")}
    frames |= {"kept": kept(found.frame("history")), "information": found.frame("retention")}
    frames |= {"distances": found.frame("distances", optional=True)}
    return gathered(params, found, frames)


def gathered(params: Params, found: GridResult, frames: Mapping[str, pd.DataFrame]) -> Results:
    """Tidy frames, each led by dataset, encoder, attention, projection, variant, seed, layers, strength (weight of
    the variant's loss), chosen (whether that is the weight of Table 1) and init.

    swaps        one row per model, test text, swap and draw: truth, prediction, change
    texts        one row per model and test text: confidence, token_probability, entropy, …
    scores       F1, macro-F1 and accuracy of every model, text by text (`numbers.scores`)
    kept         one row per training: the epoch kept, of how many, and its dev scores
    information  one row per model and sample of words
    distances    one row per adversary and test text: lam, tvd, jsd
    """
    swaps, distances = frames["swaps"], frames["distances"]
    labels = [swaps[swaps["swap"] == "trained"]]  # bases of adversaries may be trained for them alone
    if len(distances):
        labels.append(distances.rename(columns={"prediction_base": "prediction"}))
    columns = [*MODEL, "instance", "truth", "prediction"]
    told = pd.concat([part[columns] for part in labels]).drop_duplicates([*MODEL, "instance"], ignore_index=True)
    every = {**frames, "labels": told, "scores": scores(swaps)}
    judged = ("texts", "scores", "information", "distances")
    return Results(params, found, every, [name for name in MODEL if name != "seed"], judged)


def scores(swaps: pd.DataFrame) -> pd.DataFrame:
    """Every score of every model, with its own attention and as a change under the others, text by text.

    One row per model, metric and text: the columns of the model, score, metric, instance, `value` (whose mean and
    spread over texts are those of the score) and `point`, the score of the model; percent and points. Permuted
    attention counts with its mean over draws.
    """
    rows = []
    for key, model in swaps.groupby([*MODEL, "chosen"], sort=False, dropna=False):
        if lost := {"trained", *SWAPPED} - set(model["swap"].unique()):
            raise DataError(f"A model lacks attention {sorted(lost)}; it has {sorted(model['swap'].unique())}.")
        found = {}
        for score, values in _by_text(model).items():
            means = 100 * values.groupby(["swap", "instance"], sort=False)[["value", "point"]].mean()
            own = means.loc["trained"]
            found[score, f"{score}_trained"] = own
            found |= {(score, f"delta_{score}_{swap}"): means.loc[swap] - own for swap in SWAPPED}
        labels = dict(zip((*MODEL, "chosen"), key, strict=True))
        rows.append(pd.concat(found, names=["score", "metric"]).reset_index().assign(**labels))
    return pd.concat(rows, ignore_index=True)


def _by_text(model: pd.DataFrame) -> dict[str, pd.DataFrame]:
    by = ["swap", "draw"]
    right = model.assign(value=(model["truth"] == model["prediction"]).astype(float))
    right["point"] = right.groupby(by)["value"].transform("mean")
    return {"f1": f1_values(model, by, positive=1), "macro": f1_values(model, by), "accuracy": right}
