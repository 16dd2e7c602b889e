"""What the TaSc study computes and measures, and the tidy frames that come of it.

The first flip of every test text along every ranking tells both the share of decisions that the top token alone
flips (it came at one token) and the fraction of tokens to a flip. The variants of a cell of corpus, encoder and
attention are paired (`study.seed_of`); `seed` is the replicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from attnlib.data.selection import sampled
from attnlib.data.types import Corpus
from attnlib.erasure.flips import fraction_to_flip
from attnlib.measures.perturbation import decisions
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies import results as generic
from attnlib.studies.quantity import NotTested
from attnlib.studies.results import idle, without
from attnlib.studies.study import parted, replicate
from attnlib.studies.tasc.params import Params
from attnlib.training.fitted import Fitted
from attnlib.utils.text import plural

CELL = ["dataset", "encoder", "attention"]
MODEL = [*CELL, "variant"]
RANKINGS = ("alpha", "grad_alpha", "alpha_grad")
"""The paper's attention rankings (section 5.1): weights, their gradients, the product."""
BASELINES = ("omission", "input_x_grad", "integrated_gradients")
"""What it compares them with (section 7)."""
POOLS = ("sum", "mean", "max", "direct")
"""Ways from a scaled embedding to one number (footnote 4): sum is the paper's, direct is u itself."""
TRAININGS = 3
"""Trainings of BERT that a claim about it needs."""
FRACTION, TOP1 = "flip_fraction", "flip_percent_top1"


def faithfulness(
    fitted: Fitted,
    corpus: Corpus,
    *,
    baselines: Sequence[str],
    texts: int | None,
    baseline_texts: int | None,
    ig_steps: int,
) -> dict[str, pd.DataFrame]:
    """The erasure tests at the input level, and the labels behind F1.

    texts, baseline_texts  how many test texts the rankings of attention, and `baselines`, are tested on; None: all

    flips   one row per ranking and text, as `fraction_to_flip` gives them (fraction NaN: nothing flips it)
    labels  one row per test text: instance, truth, prediction
    """
    some = sampled(corpus.test, texts)
    fewer = some if baseline_texts is None else sampled(corpus.test, min(baseline_texts, len(some)))
    frames = []
    for ranking in (*RANKINGS, *baselines):
        steps = {"steps": ig_steps} if ranking == "integrated_gradients" else {}
        examples = fewer if ranking in baselines else some
        found = fraction_to_flip(fitted, examples, ranking, level="input", operator="pad", **steps)
        frames.append(found[["id", "length", "removed", "fraction", "status"]].assign(importance=ranking))
    flips = pd.concat(frames, ignore_index=True).rename(columns={"id": "instance"})
    return {"flips": flips, "labels": decisions(fitted, corpus.test).drop(columns="value")}


def words(fitted: Fitted, corpus: Corpus) -> pd.DataFrame:
    """u of Lin-TaSc (the paper's Figure 4), one row per word that occurs in training: word, u, s, count there."""
    scaling, known = fitted.model.scaling, fitted.vectoriser.vocabulary
    u = scaling.table.weight.detach().squeeze(-1).double().cpu().numpy()
    s = scaling.word_scores(fitted.model.embedding.weight).double().cpu().numpy()
    occurring = Counter(token for example in corpus.train for token in example.tokens)
    frame = pd.DataFrame({"word": known.words, "u": u[: len(known)], "s": s[: len(known)]})
    frame["count"] = [occurring[word] for word in known.words]
    return frame[frame["count"] > 0].reset_index(drop=True)


def fit(
    params: Params, corpus: str, encoder: str, attention: str, variant: str, seed: int, pool: str = "sum"
) -> FitSpec:
    """One model of the grid."""
    spec = {"data": params.data(corpus, bert=encoder == "bert"), "train": params.training(corpus, encoder, variant)}
    model = params.model(corpus, encoder, attention, variant, pool)
    return replicate(seed, corpus, encoder, attention, model=model, **spec)


def shown(params: Params, figure: int) -> list[tuple[str, str, str]]:
    """The cells of the paper's Figure 3 (boxes) or 4 (words, which word pieces are not): named, or the first."""
    if params.shown_cells:
        return [cell for cell in params.shown_cells if figure == 3 or cell[1] != "bert"]
    if figure == 3:
        return [(params.corpora[0], encoder, params.attentions[0]) for encoder in params.encoders]
    return [(params.corpora[0], params.words[0], params.attentions[-1])]


def grid(params: Params) -> list[MeasureSpec]:
    """Every run: the models of the grid measured, the words of some, and the pooling ablation."""

    def measured(part: str, *cell: Any, baselines: Sequence[str] = (), pool: str = "sum") -> MeasureSpec:
        options = {"baselines": list(baselines), "ig_steps": params.ig_steps}
        options |= {"texts": params.texts, "baseline_texts": params.baseline_texts}
        return MeasureSpec.of(faithfulness, fit(params, *cell, pool), label={"part": part, "pool": pool}, **options)

    cells = product(params.corpora, params.encoders, params.attentions, params.variants, params.seeds)
    runs = [measured("grid", *c, baselines=BASELINES if c[3] in ("none", "lin") else ()) for c in cells]
    plain = "mlp" if "mlp" in params.words else params.words[0]
    for seed in params.seeds:
        runs += [MeasureSpec.of(words, fit(params, *cell, "lin", seed)) for cell in shown(params, 4)]
        pooled = (params.corpora[0], plain, params.attentions[0], "lin", seed)
        runs += [measured("pooling", *pooled, pool=pool) for pool in POOLS]
    return runs


class Results(generic.Results):
    """Tidy frames. What is said of faithfulness rests on `tested`, what is said of F1 on `comparable`.

    flips    one row per model, ranking, metric and text: `value` is the fraction of tokens removed at first flip
             (1 where it never comes, as in the paper) or, for the top token alone, 100 where it flips, else 0
    labels   one row per model and text: truth, prediction
    words    u of some; `pooling_flips`, `pooling_labels`: those of Lin-TaSc by `pool`
    """

    @cached_property
    def idle(self) -> pd.DataFrame:
        """Models of the grid that learned nothing, one row each."""
        return idle(self.labels, [*self.model, "seed"])

    @cached_property
    def tested(self) -> pd.DataFrame:
        """`flips` without the trainings in which a model of some variant learned nothing."""
        return without(self.flips, self.idle[[*CELL, "seed"]])

    @cached_property
    def whole(self) -> pd.DataFrame:
        """`tested`, of the encoders that can be averaged over cells (`balanced`)."""
        return balanced(self.tested)

    @property
    def with_bert(self) -> pd.DataFrame:
        """`tested`, for claims about BERT, which are not about few trainings."""
        trainings = self.tested.loc[self.tested["encoder"] == "bert", "seed"].nunique()
        if 0 < trainings < TRAININGS:
            raise NotTested(f"This run has {plural(trainings, 'training')}; a claim about BERT needs {TRAININGS}.")
        return self.tested

    @cached_property
    def comparable(self) -> pd.DataFrame:
        """`labels` without the trainings whose model without TaSc learned nothing: there is no F1 to lose."""
        return without(self.labels, self.idle.loc[self.idle["variant"] == "none", [*CELL, "seed"]])


def results(params: Params, **options: Any) -> Results:
    """Compute what the store does not hold, and gather; options: as `run_grid` has them."""
    found = run_grid(grid(params), title="TaSc", **options)
    flips, labels = tidy(found.frame("flips")), found.frame("labels")
    frames = {"flips": parted(flips, "grid"), "labels": parted(labels, "grid"), "words": found.frame("words")}
    frames |= {"pooling_flips": parted(flips, "pooling"), "pooling_labels": parted(labels, "pooling")}
    return Results(params, found, frames, MODEL)


def balanced(flips: pd.DataFrame) -> pd.DataFrame:
    """The encoders that can be averaged over cells: those with every corpus, attention and variant, and with two
    trainings in each, where any has several: a single one leaves no interval."""
    cell = ["dataset", "attention", "variant"]
    trainings = flips[["encoder", *cell, "seed"]].drop_duplicates().groupby(["encoder", *cell]).size()
    cells = trainings[trainings >= min(2, trainings.max())].groupby("encoder").size()
    return flips[flips["encoder"].isin(cells.index[cells == len(flips[cell].drop_duplicates())])]


def tidy(flips: pd.DataFrame) -> pd.DataFrame:
    """Measured flips as one row per metric: the fraction (never = 1) and 100 or 0 for the top token alone."""
    fraction = np.where(flips["status"] == "never", 1.0, flips["fraction"].to_numpy(float))
    top = 100.0 * (flips["removed"].fillna(0).to_numpy(int) == 1)
    kept, values = flips.drop(columns=["removed", "fraction"]), {FRACTION: fraction, TOP1: top}
    return pd.concat([kept.assign(metric=name, value=v) for name, v in values.items()], ignore_index=True)
