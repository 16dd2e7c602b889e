"""What the TaSc paper claims, and how each claim is decided: by an effect of `claim_effects`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from attnlib.stats.jackknife import f1_values
from attnlib.studies.ledger import Rule, ledger
from attnlib.studies.tasc import claim_effects as effects
from attnlib.studies.tasc import printed
from attnlib.studies.tasc.claim_effects import TRAININGS
from attnlib.studies.tasc.grid import CELL, FRACTION, TOP1, Results, cells, unbalanced_cells
from attnlib.studies.tasc.params import Params

MARGIN_F1 = 0.02
"""How much F1 may be lost and still count as none sacrificed: two of the paper's standard deviations."""
MARGIN_FRACTION = 0.05
"""Mean fractions that differ by less count as comparable."""
BY_CORPUS = ("tasc-3", "tasc-9", "tasc-10", "tasc-13")
"""Claims that may hang on the balance of the classes."""
TOKENS, CELLS, CASES = "of the tokens", "of the cells", "of the cases"
MENDED = "Dot attention used to start at N(0, 1), not as in the authors' code; with that start the claim was {}."
PRETRAINED = f"Since first results it needs {TRAININGS} trainings of the pretrained encoder; one used to be enough."
KEPT = "An encoder counts with two trainings per cell that learned something; it used to need every one."
SHARE = (
    "It counts in every training by itself; it used to count {} of the means over trainings, which six cells and "
    "three trainings could not have decided whatever they showed. By that rule it was undetermined."
)


RULES: Sequence[Rule] = (
    Rule(
        "tasc-1", "TaSc does not sacrifice predictive performance.", "section 6.2, Table 2",
        "macro-F1 of each variant minus that without TaSc, with each encoder of the run",
        effects.performance, "greater", -MARGIN_F1, printed.performance, unit="F1", figure="f1_changes",
        history="It asks every encoder, where it used to average over them and so hid a loss with BERT. A training "
        "counts only where the model without TaSc learned something, since it has nothing to lose otherwise. "
        "Encoders trained fewer than three times used to be left out, which hid a single training of MiniLM; by "
        "that rule the claim was reproduced, with three trainings of MiniLM it was undetermined.",
    ),
    Rule(
        "tasc-2", "With Lin-TaSc, fewer tokens ranked by ∇α must go until the decision flips.",
        "section 6.4, Table 4", "fraction to flip by ∇α, Lin-TaSc minus no TaSc",
        lambda results: effects.gain(results, "grad_alpha"), "less",
        paper=lambda results: printed.gain(results, "grad_alpha"),
        unit=TOKENS, figure="table4_fraction", history=f"{MENDED.format('undetermined')} {KEPT}",
    ),
    Rule(
        "tasc-3", "With Lin-TaSc, fewer tokens ranked by α∇α must go until the decision flips.",
        "section 6.4, Table 4", "fraction to flip by α∇α, Lin-TaSc minus no TaSc",
        lambda results: effects.gain(results, "alpha_grad"), "less", paper=printed.gain,
        unit=TOKENS, figure="table4_fraction", history=f"{MENDED.format('undetermined')} {KEPT}",
    ),
    Rule(
        "tasc-4", "Lin-TaSc lowers the fraction to flip (α∇α) with every encoder.", "section 6.4, Figure 2",
        "Lin-TaSc minus no TaSc, for each encoder of the run",
        effects.gain_by_encoder, "less",
        paper=printed.gains,
        unit=TOKENS, figure="figure2_fraction",
        history=MENDED.format("not reproduced") + " Encoders trained fewer than three times were left out for a "
        "while; by that rule the claim was undetermined, and its effect smaller than the paper's.",
    ),
    Rule(
        "tasc-5", "Dot attention gains more from TaSc than Tanh (decisions flipped by the top token, α∇α).",
        "section 6.3, Table 3", "gain of Lin-TaSc with Dot minus gain with Tanh, in percentage points",
        effects.gain_of_dot, "greater", paper=printed.gain_of_dot,
        unit="points", figure="table3_top_token", history=f"{MENDED.format('undetermined')} {KEPT}",
    ),
    Rule(
        "tasc-6", "Without TaSc, MLP and CNN need a smaller fraction (α∇α) than recurrent encoders.",
        "section 6.4, Figure 2", "fraction with recurrent encoders minus that with MLP and CNN",
        lambda results: effects.recurrent(results, "none"), "greater", unit=TOKENS, figure="figure2_fraction",
        history=KEPT,
    ),
    Rule(
        "tasc-7", "With Lin-TaSc, recurrent encoders become comparable to MLP and CNN (α∇α).",
        "section 6.4, Figure 2", "fraction with recurrent encoders minus that with MLP and CNN, with Lin-TaSc",
        lambda results: effects.recurrent(results, "lin"), "within", MARGIN_FRACTION,
        unit=TOKENS, figure="figure2_fraction", history=KEPT,
    ),
    Rule(
        "tasc-8", "Of the three attention rankings α∇α finds the decisive token most often, with TaSc or without.",
        "section 6.3, Table 3",
        "decisions flipped by the top token, α∇α minus each other ranking, without TaSc and with each variant",
        lambda results: effects.best_ranking(results, TOP1), paper=lambda results: printed.rankings(results, 3),
        unit="points", figure="table3_top_token",
        history="It used to judge the fraction of tokens (now claim 21), where the cited section speaks of the top "
        f"token; by that it was reproduced. It asks every variant, where it used to pool them. {KEPT}",
    ),
    Rule(
        "tasc-9",
        "Lin-TaSc with α∇α flips decisions with fewer tokens than WO, x∇x and IG without TaSc in most cells.",
        "section 7, Table 5", "share of trainings in which each of the three is beaten, mean over cells",
        effects.beats_baselines, "greater", 0.5, printed.wins,
        unit=CELLS, figure="table5_baselines", history=SHARE.format("cells"),
    ),
    Rule(
        "tasc-10", "TaSc lowers the fraction of WO, x∇x and IG too, in most cells.", "section 7, Appendix E",
        "share of methods whose mean fraction falls, mean over trainings and cells",
        effects.baselines_gain, "greater", 0.5, unit=CELLS, figure="appendix_e", history=SHARE.format("cells"),
    ),
    Rule(
        "tasc-11", "Without TaSc, BERT needs the largest fraction (α∇α) of all encoders.", "section 6.4, Figure 2",
        "fraction with BERT minus that with each other encoder, without TaSc",
        effects.bert_needs_most, "greater",
        unit=TOKENS, figure="figure2_fraction", waits="bert_seeds", history=PRETRAINED,
    ),
    Rule(
        "tasc-12", "Lin-TaSc lowers BERT's fraction (α∇α).", "section 6.4, Figure 2",
        "fraction with BERT, Lin-TaSc minus no TaSc",
        effects.gain_of_bert, "less", paper=partial(printed.gain, encoder="bert"),
        unit=TOKENS, figure="figure2_fraction",
        waits="bert_seeds", history=PRETRAINED,
    ),
    Rule(
        "tasc-13", "With Lin-TaSc the fraction to flip (α∇α) varies less from text to text.",
        "section 6.5, Figure 3", "standard deviation over texts, Lin-TaSc minus no TaSc, mean over cells",
        effects.narrower, "less", unit=TOKENS, figure="figure3_boxes", history=KEPT,
    ),
    Rule(
        "tasc-14", "The top token flips more decisions with TaSc in most cases (the paper: 12 of 18).",
        "section 6.3, Table 3",
        "share of rankings and variants that are better than without TaSc, mean over trainings and cells",
        lambda results: effects.cases_won(results, TOP1), "greater", 0.5,
        printed.cases("cases_top1", "section 6.3"),
        unit=CASES, figure="table3_top_token", history=SHARE.format("cases"),
    ),
    Rule(
        "tasc-15", "With TaSc fewer tokens must go in most cases (the paper: 17 of 18).", "section 6.4, Table 4",
        "share of rankings and variants that are better than without TaSc, mean over trainings and cells",
        lambda results: effects.cases_won(results, FRACTION), "greater", 0.5,
        printed.cases("cases_fraction", "section 6.4"), unit=CASES, figure="table4_fraction",
        history=SHARE.format("cases"),
    ),
    Rule(
        "tasc-16", "Without TaSc, the top token flips more decisions with Tanh than with Dot.",
        "section 6.3, Table 3", "decisions flipped, Tanh minus Dot, mean over the three rankings",
        effects.tanh_above_dot, paper=printed.tanh, unit="points", figure="table3_top_token",
    ),
    Rule(
        "tasc-17", "By α alone, the top token flips fewer decisions with each variant of TaSc.",
        "Table 3", "decisions flipped by the top token, each variant minus no TaSc",
        effects.alpha_loses, "less", paper=printed.alpha, unit="points", figure="table3_top_token",
    ),
    Rule(
        "tasc-18", "Lin-TaSc improves at least as much as Feat- and Conv-TaSc in most cases (the paper: 5 of 6).",
        "section 6.4, Table 4",
        "share of rankings where its fraction is as small, within 0.05 of that without TaSc, mean over trainings",
        effects.lin_leads, "greater", 0.5, printed.cases("cases_lin", "section 6.4"),
        unit=CASES, figure="table4_fraction", history=SHARE.format("cases"),
    ),
    Rule(
        "tasc-19", "With Lin-TaSc the median fraction to flip is lower, by ∇α and by α∇α.", "section 6.5, Figure 3",
        "median over texts, Lin-TaSc minus no TaSc, mean over cells, by each of the two rankings",
        effects.medians, "less", unit=TOKENS, figure="figure3_boxes",
    ),
    Rule(
        "tasc-20", "Mean, maximum or u itself in place of the sum give lower results.", "section 4.1, footnote 4",
        "macro-F1 of the sum minus that of each other pooling",
        effects.sum_pools_best, unit="F1", figure="pooling",
    ),
    Rule(
        "tasc-21", "Of the three attention rankings α∇α needs the fewest tokens, with TaSc or without.",
        "sections 6.5 and 7, Table 4",
        "fraction by α∇α minus that by each other ranking, without TaSc and with each variant",
        lambda results: effects.best_ranking(results, FRACTION), "less",
        paper=lambda results: printed.rankings(results, 4), unit=TOKENS, figure="table4_fraction",
        history=f"Until the top token got a rule of its own, this was claim 8. {KEPT}",
    ),
)  # fmt: skip
"""Cells count alike in all of them; larger corpora used to weigh more, before first results on several corpora."""


def by_corpus(results: Results) -> pd.DataFrame:
    """The claims of `BY_CORPUS` judged on every corpus alone, those with few texts of a class among them."""
    rows = []
    for part in filter(None, (results, results.unbalanced)):
        for dataset in part.labels["dataset"].unique():
            own = part.of(dataset)
            share = own.labels.groupby("dataset")["truth"].value_counts(normalize=True).min()
            scores = f1_values(own.labels, [*CELL, "variant", "seed"]).groupby("variant")["point"].mean()
            row = {
                "dataset": dataset,
                "rarer class": share,
                "F1, No-TaSc": scores["none"],
                "F1, Lin-TaSc": scores["lin"],
            }
            for claim in ledger([rule for rule in RULES if rule.id in BY_CORPUS], own, paper="", setting=""):
                found = {"effect": claim.effect, "low": claim.low, "high": claim.high, "verdict": claim.verdict}
                counts = {"trainings": claim.trainings, "texts": claim.texts}
                rows.append(
                    {**row, "claim": claim.id.removeprefix("tasc-"), "measured": claim.test, **found, **counts}
                )
    return pd.DataFrame(rows)


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips, sizes = results.flips, results.parameters
    fraction, top = (flips[flips["metric"] == metric] for metric in (FRACTION, TOP1))
    tested = filter(None, (results, results.unbalanced))
    models = sum(len(part.labels[[*CELL, "variant", "seed"]].drop_duplicates()) for part in tested)
    expected = len(cells(params)) + len(unbalanced_cells(params))
    one = (fraction["value"].to_numpy() * fraction["length"].to_numpy()).round(6) == 1
    one &= (fraction["status"] != "never").to_numpy()
    empty = fraction.loc[fraction["status"] == "only_when_empty", "value"]
    linear = sizes[sizes["variant"] == "lin"]
    found = {
        "every model of the grid was measured": models == expected and results.grid.failures.empty,
        "a fraction lies above 0 and is 1 at most": fraction["value"].between(0, 1, inclusive="right").all(),
        "what flips only when empty has the fraction 1": params.quirks or (empty == 1).all(),
        "the top token flips a text where the fraction is one token": params.quirks
        or (one == (top["value"] == 100).to_numpy()).all(),
        "Lin-TaSc adds one number per word": (linear["scaling"] == linear["vocabulary"]).all(),
    }
    return {name: bool(holds) for name, holds in found.items()}
