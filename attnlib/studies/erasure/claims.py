"""Claims of Serrano & Smith 2019, each with its rule, and what must hold whatever the data.

Borders come from the paper, never from our numbers; the effects are those of `claim_effects`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from attnlib.studies.beside import closest, printed, reference
from attnlib.studies.erasure import claim_effects as effects
from attnlib.studies.erasure.grid import MODEL, Results, compared, several
from attnlib.studies.erasure.measures import RANKINGS, TOPS
from attnlib.studies.erasure.params import Params
from attnlib.studies.erasure.tables import model_name, outcomes
from attnlib.studies.ledger import Printed, Rule

VAST = 0.8
"""A vast majority (claims 1 and 4): the "no" rows of Table 2, of which the paper says so, hold 85.6 to 90.9% of the
texts; one half is a majority."""
FAR = 2.0
"""Far more often (claim 3): at least twice as often. Table 2 has 2.8 to 8.7 times. As a share: 2 / 3."""
PAR = 0.05
"""Attention is on par where it needs at most so much more of the items than the gradient (claim 10)."""
RATIO = 1.6
"""Section 5.4: the gradient is faster at least so many times as often as attention. As a share: 1.6 / 2.6."""


def _table2(results: Results, value: Callable[[Mapping[str, float]], float]) -> Printed:
    """What a function makes of the cells of the paper's Table 2, mean over the run's data sets, else over all."""
    rows = reference("erasure", 2)
    names, where = closest("erasure", 2, results.single["dataset"].unique())
    kept = rows if names == [None] else rows[rows["dataset"].isin(names)]
    made = [value(dict(zip(t["metric"], t["value"] / 100, strict=True))) for _, t in kept.groupby("dataset")]
    return Printed(float(np.mean(made)), f"{where}, HANrnn")


def _top_alone(cells: Mapping[str, float]) -> float:
    top, other = cells["percent_only_top_flips"], cells["percent_only_random_flips"]
    return top / (top + other)


def _counted(results: Results, metric: str, total: str) -> Printed:
    """A number of models that the paper's text gives, as a share."""
    count, models = (printed("erasure", "text", metric=name) for name in (metric, total))
    return Printed(count / models, f"{count:g} of {models:g} models")


def _figure6(results: Results) -> dict[str, Printed]:
    shares = {name: printed("erasure", "figure6", importance=name) / 100 for name in RANKINGS}
    return {effects.step(a, b): Printed(shares[a] - shares[b], "Figure 6") for a, b in pairwise(RANKINGS)}


LEFT_OUT = "Models that learned nothing decide nothing since a first run on real texts."
POOLED = f"{LEFT_OUT} The texts of all models were pooled before; now models count alike."
CLOSER = "Brought closer to the paper's words after a first run."
PAIRED = f"{LEFT_OUT} Trainings of two encoders with the same seed were paired before; now only texts are shared."
COUNTED = (
    f"{LEFT_OUT} Cells of data set and architecture were counted before, nine of them, which left every such claim "
    "undetermined; since then trainings are."
)
MASS = f"{COUNTED} Models that mostly flip when nothing is left are left out since a first run."
MODELS = "share of trained models (exact bounds; every training counts as one of the paper's models)"
SAME = "difference of the share of items removed, on the texts that all rankings flip, mean over models"


def _gradient_rule(number: int, ranking: str, told: str) -> Rule:
    return Rule(
        f"erasure-{number}",
        f"In models with encoders, removing by {told} flips decisions with fewer items than removing by attention.",
        "section 5.4, Figures 5 and 10",
        SAME,
        partial(effects.fewer_items, a=ranking, b="alpha", encoders=effects.WITH_ENCODER),
        direction="less",
        figure="rankings",
        history=POOLED,
    )


def _context_rule(number: int, more: str, less: str) -> Rule:
    return Rule(
        f"erasure-{number}",
        f"Less context, faster flips: {model_name(more)} needs more removals than {model_name(less)}.",
        "section 5.6, Figures 5 and 6",
        "difference of the share of words removed by attention, on the texts that both models flip, mean over "
        "data sets",
        partial(effects.more_context, more=more, less=less),
        figure="fractions",
        history=PAIRED,
    )


def _mass_rule(number: int, ranking: str, told: str, history: str) -> Rule:
    return Rule(
        f"erasure-{number}",
        f"In most models, the {told} ranking has removed less attention mass than attention itself at the first "
        f"flip, by {-effects.SHIFT} or more.",
        "appendix A.3, Figure 11",
        f"of the models that flip at most {effects.EMPTIED:.0%} of their texts only when nothing is left: {MODELS} "
        f"whose mean difference, on the texts that all rankings flip, is below −{-effects.SHIFT}",
        lambda results: effects.counted(effects.less_mass(results, ranking), "less", effects.SHIFT),
        border=0.5,
        figure="mass",
        history=history,
    )


RULES = (
    Rule(
        "erasure-1",
        "In the vast majority of texts, removing the most attended item changes the output distribution more than "
        "removing a random other.",
        "section 4.1, Figures 3 and 7",
        "share of texts with ΔJS > 0, mean over models",
        effects.matters_more,
        border=VAST,
        figure="delta_js",
        history=f"{POOLED} The border was one half, a bare majority: reproduced by that rule.",
    ),
    Rule(
        "erasure-2",
        "Where the most attended item matters less than the random one, their weights are close.",
        "section 4.1, Figures 4 and 8",
        "of the texts with ΔJS < 0, the share with a Δα below their model's median, mean over models",
        effects.nearly_tied,
        border=0.5,
        figure="negative",
        history=POOLED,
    ),
    Rule(
        "erasure-3",
        "Removing the most attended item flips a decision that the random item does not flip far more often than "
        "the other way round.",
        "section 4.2, Table 2, Figure 9",
        f"of the texts that exactly one of the two flips, the share that the top item flips, mean over models "
        f"({FAR:g} / {1 + FAR:g}: {FAR:g} times as often)",
        effects.flips_alone,
        border=FAR / (1 + FAR),
        paper=partial(_table2, value=_top_alone),
        figure="flips",
        history=f"{POOLED} The rule asked for more often, not for far more often, by the difference of the two "
        "shares of texts: reproduced by that rule.",
    ),
    Rule(
        "erasure-4",
        "In the vast majority of texts, removing the most attended item leaves the decision as it was.",
        "section 4.2, Table 2, Figure 9",
        "share of decisions that stay, mean over models",
        effects.stays,
        border=VAST,
        paper=partial(
            _table2, value=lambda cells: cells["percent_only_random_flips"] + cells["percent_neither_flips"]
        ),
        figure="flips",
        history=f"{CLOSER} {POOLED}",
    ),
    Rule(
        "erasure-5",
        "In every model, the first item by attention times gradient flips more decisions than the most attended "
        "item.",
        "appendix A.3, Figure 13",
        "difference in the share of decisions flipped, in each model",
        lambda results: effects.each(effects.first_items(results, "alpha_grad"), effects.GAIN),
        figure="top_flips",
        history=LEFT_OUT,
    ),
    Rule(
        "erasure-6",
        "In most models, the first item by gradient flips fewer decisions than the most attended item.",
        "appendix A.3, Figure 12",
        f"{MODELS} in which it flips fewer",
        lambda results: effects.counted(effects.first_items(results, "grad_alpha"), "less"),
        border=0.5,
        paper=partial(_counted, metric="models_top_gradient_flips_fewer", total="models"),
        figure="top_flips",
        history=COUNTED,
    ),
    _gradient_rule(7, "grad_alpha", "gradient"),
    _gradient_rule(8, "alpha_grad", "attention times gradient"),
    Rule(
        "erasure-9",
        "Removing by attention flips decisions with fewer items than removing at random.",
        "section 5.4, Figures 5, 6 and 10",
        SAME,
        partial(effects.fewer_items, a="alpha", b="random", encoders=effects.WITH_ENCODER + effects.NOENC),
        direction="less",
        figure="rankings",
        history=POOLED,
    ),
    Rule(
        "erasure-10",
        "Without an encoder, attention ranks on par with the gradient or better.",
        "section 5.6, Figure 6",
        f"what attention needs more than the gradient: {SAME}",
        partial(effects.fewer_items, a="alpha", b="grad_alpha", encoders=effects.NOENC),
        direction="less",
        border=PAR,
        figure="rankings",
        history=POOLED,
    ),
    Rule(
        "erasure-11",
        f"In every model with an encoder, the gradient flips faster at least {RATIO} times as often as attention.",
        "section 5.4",
        "of the texts where one is faster (a ranking that never flips is the slower), the share that are the "
        f"gradient's, in each model ({RATIO} / {1 + RATIO})",
        lambda results: effects.each(effects.wins(results, ties=False), effects.SHARE),
        border=RATIO / (1 + RATIO),
        figure="duel",
        history=f"{CLOSER} {LEFT_OUT}",
    ),
    Rule(
        "erasure-12",
        "In most models with encoders, the gradient finds a smaller flipping set for over half of the texts.",
        "section 5.4",
        f"{MODELS} in which that holds for more than half of the texts that at least one of the two flips",
        lambda results: effects.counted(effects.wins(results, ties=True), "greater", 0.5),
        border=0.5,
        paper=partial(_counted, metric="models_gradient_smaller_in_most_texts", total="models_with_encoder"),
        figure="duel",
        history=f"{CLOSER} {COUNTED}",
    ),
    Rule(
        "erasure-13",
        "In FLANrnn, flips come late: most decisions outlast the removal of half of the attended words.",
        "section 5.5, Figure 5",
        "by attention, the share of first flips beyond one half of the words, mean over data sets",
        effects.late_flips,
        border=0.5,
        figure="fractions",
        history=POOLED,
    ),
    _context_rule(14, "flan_rnn", "flan_conv"),
    _context_rule(15, "flan_conv", "flan_noenc"),
    Rule(
        "erasure-16",
        "Without an encoder, removing one item (the top or the random one) flips more decisions than with an rnn "
        "or with convolutions (the FLANs on Yahoo excepted).",
        "appendix A.2, Figure 9",
        "difference of the share of texts that at least one of the two removals flips, to rnn and to conv, for "
        "HAN and FLAN on each data set that has all three",
        effects.without_encoder,
        figure="flips",
        history=f"{CLOSER} {PAIRED}",
    ),
    _mass_rule(17, "grad_alpha", "gradient", f"{CLOSER} {MASS}"),
    _mass_rule(18, "alpha_grad", "product", f"Added after a first run. {MASS}"),
    Rule(
        "erasure-19",
        "In Amazon's FLANnoenc, flips beyond one half of the words grow rarer from random to attention, gradient "
        "and product.",
        "Figure 6",
        "difference of the share of first flips beyond one half of the words, at each of the three steps",
        effects.rarer_tails,
        paper=_figure6,
        figure="fractions",
        history=f"Added after a first run. {LEFT_OUT}",
    ),
)


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    single, fractions = results.single, results.fractions
    keys = [*MODEL, "seed", "importance", "instance"]
    models = {d: len(a) * len(params.encoders) * len(params.seeds) for d, a in params.trained.items()}
    texts = results.labels.groupby("dataset")["instance"].nunique()
    erased = fractions.groupby("dataset")["instance"].nunique()
    own = compared(single)
    cells = outcomes(single).groupby(keys)["value"].sum()
    once = single[single["sampling"] == "any other"].set_index(keys)["flip_top"].astype(bool)
    flips = fractions[fractions["importance"].isin(TOPS)].set_index(keys)["removed"]
    alpha = several(fractions)
    alpha = alpha[(alpha["importance"] == "alpha") & alpha["value"].notna()]
    gone = alpha.loc[alpha["value"] == 1, "mass_removed"].astype(float)
    return {
        "no run is missing": not len(results.grid.failures),
        "every model answered every test text": len(results.labels) == sum(texts[d] * n for d, n in models.items()),
        "every model met every ranking": fractions.groupby(keys[:-1]).ngroups
        == len(RANKINGS) * sum(models.values()),
        "no more texts were erased from than asked for": bool((erased <= (params.texts or np.inf)).all()),
        "r is never the top item": not bool((own["top"] == own["other"]).any()),
        "the top item by attention has the larger weight": bool(
            (own.loc[own["importance"] == "alpha", "delta_alpha"] >= 0).all()
        ),
        "each text is in one cell of its table": bool((cells == 100).all()),
        "both tests agree on the decisions that one item flips": bool(
            once.eq((flips == 1).fillna(False).astype(bool).reindex(once.index)).all()
        ),
        "removing all items removes all attention": bool(np.isclose(gone, 1.0, atol=1e-4).all()),
    }
