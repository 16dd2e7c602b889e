"""What the TaSc paper claims, and how each claim is decided.

Means are over the cells of corpus, encoder and attention of the run, each of which counts alike. Models with TaSc
and without are paired: they share a training (seed) and the texts. Different encoders and attentions are trainings
of their own and share the texts alone. Trainings with a model that learned nothing are left out
(`Results.learned`); a mean over encoders needs those that have every cell (`Results.whole`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from attnlib.stats.inference import NAN, Effect, contrast, effect, exact_share
from attnlib.stats.jackknife import f1_values, spread_values
from attnlib.studies.beside import printed, reference
from attnlib.studies.datasets import kin
from attnlib.studies.learned import RULE as NOTHING
from attnlib.studies.ledger import NotTested, Printed, Rule
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, TOP1, Results, cells
from attnlib.studies.tasc.params import Params
from attnlib.studies.tasc.tables import NAMES, compared
from attnlib.utils.text import plural

MARGIN_F1 = 0.02
"""How much F1 may be lost and still count as none sacrificed: two of the paper's standard deviations."""
MARGIN_FRACTION = 0.05
"""Mean fractions that differ by less count as comparable."""
TRAININGS = 3
"""Trainings of an encoder that a claim about it needs, where others have as many."""
RECURRENT, PLAIN = ("lstm", "gru"), ("mlp", "cnn")
TOKENS, CELLS = "of the tokens", "of the cells"
MEAN = "mean over its corpora and encoders"
MENDED = "Dot attention used to start at N(0, 1), not as in the authors' code; with that start the claim was {}."
PRETRAINED = f"Since first results it needs {TRAININGS} trainings of the pretrained encoder; one used to be enough."
KEPT = "An encoder counts with two trainings per cell that learned something; it used to need every one."
SAMPLED = "Cells are the sample; the share used to vary with trainings and texts alone."


def performance(results: Results) -> dict[str, Effect]:
    """Macro-F1 of each variant minus that without TaSc, for each encoder trained often enough."""
    labels = results.comparable_labels
    if labels.empty:
        raise NotTested("Without TaSc no model learned anything, so there is no performance to lose.")
    values = f1_values(_judged(labels), [*CELL, "variant", "seed"])
    return {
        f"{NAMES[variant]}, {_name(encoder)}": contrast(part, "variant", variant, "none", CELL, bounds=(-1, 1))
        for encoder, part in values.groupby("encoder", sort=False)
        for variant in part["variant"].unique()
        if variant != "none"
    }


def gain(results: Results, ranking: str) -> Effect:
    """The fraction with Lin-TaSc minus that without, mean over all cells."""
    return _lin(_fractions(_whole(results), ranking))


def gain_by_encoder(results: Results) -> dict[str, Effect]:
    """The same by α∇α, for each encoder trained often enough."""
    part = _judged(_fractions(_learned(results)))
    return {_name(encoder): _lin(own) for encoder, own in part.groupby("encoder", sort=False)}


def gain_of_dot(results: Results) -> Effect:
    """How many more decisions Lin-TaSc lets the top token flip, with Dot minus with Tanh."""
    flips = _whole(results)
    part = flips[(flips["metric"] == TOP1) & (flips["importance"] == "alpha_grad")]
    if not {"dot", "additive"} <= set(part["attention"]):
        raise NotTested
    lin, none = (part[part["variant"] == v] for v in ("lin", "none"))
    gains = lin.merge(none, on=[*CELL, "seed", "instance"], suffixes=("", "_none"))
    gains = gains.assign(value=gains["value"] - gains["value_none"])
    sides = ("attention", "dot", "additive")
    return contrast(gains, *sides, ["dataset", "encoder"], paired=False, bounds=(-200, 200))


def recurrent(results: Results, variant: str) -> Effect:
    """The fraction by α∇α with recurrent encoders minus that with MLP and CNN; encoders of a kind count alike."""
    part = _fractions(_whole(results))
    part = part[part["variant"] == variant]
    kinds = [[e for e in kind if e in set(part["encoder"])] for kind in (RECURRENT, PLAIN)]
    if not all(kinds):
        raise NotTested
    shared = part[["dataset", "attention"]].drop_duplicates()
    weights = {
        (dataset, encoder, attention): sign / len(kind) / len(shared)
        for dataset, attention in shared.itertuples(index=False, name=None)
        for sign, kind in zip((1, -1), kinds, strict=True)
        for encoder in kind
    }
    return effect(part, CELL, weights=weights, bounds=(-1, 1))


def best_ranking(results: Results) -> dict[str, Effect]:
    """The fraction by α∇α minus that by each other ranking, for each variant."""
    part = _fractions(_whole(results), "alpha_grad", "alpha", "grad_alpha")
    return {
        case: contrast(part[part["variant"] == v], "importance", "alpha_grad", other, CELL, bounds=(-1, 1))
        for case, v, other in _rivals(results)
    }


def beats_baselines(results: Results) -> Effect:
    """The share of cells where α∇α with Lin-TaSc needs fewer tokens than each of WO, x∇x and IG without."""
    part = compared(_learned(results))
    means = _cell_means(part)
    won = means["lin", "alpha_grad"] < means["none"][list(BASELINES)].min(axis=1)
    return _of_cells(exact_share(int(won.sum()), len(won)), part)


def baselines_gain(results: Results) -> Effect:
    """The share of WO, x∇x and IG whose fraction Lin-TaSc lowers, mean over cells."""
    part = _fractions(_learned(results), *BASELINES)
    means = _cell_means(part)
    shares = (means["lin"] < means["none"]).mean(axis=1).rename("value").reset_index()
    found = effect(shares.assign(cell=range(len(shares))), training="cell", text=None, bounds=(0, 1))
    return _of_cells(found, part)


def bert_needs_most(results: Results) -> dict[str, Effect]:
    """The fraction by α∇α without TaSc, BERT minus each other encoder, in BERT's cells and on its texts."""
    part = _fractions(_bert(results))
    part = part[part["variant"] == "none"]
    shared = ["dataset", "attention", "instance"]
    part = part.merge(part.loc[part["encoder"] == "bert", shared].drop_duplicates(), on=shared)
    return {
        _name(other): contrast(part, "encoder", "bert", other, shared[:2], paired=False, bounds=(-1, 1))
        for other in part["encoder"].unique()
        if other != "bert"
    }


def gain_of_bert(results: Results) -> Effect:
    """The fraction by α∇α with Lin-TaSc minus that without, with BERT."""
    part = _fractions(_bert(results))
    return _lin(part[part["encoder"] == "bert"])


def narrower(results: Results) -> Effect:
    """The standard deviation over texts of the fraction by α∇α, Lin-TaSc minus no TaSc, mean over cells."""
    part = _fractions(_whole(results))
    return _lin(spread_values(part[part["variant"].isin(["none", "lin"])], [*CELL, "variant", "seed"]))


def printed_performance(results: Results) -> dict[str, Printed]:
    """The changes of the paper's Table 2, for the same encoder and attentions and the closest corpora."""
    found = {}
    for encoder in results.labels["encoder"].unique():
        rows, where = _closest(2, results.labels[results.labels["encoder"] == encoder])
        means = rows.groupby("variant")["value"].mean()
        for variant in means.index.drop("none"):
            found[f"{NAMES[variant]}, {_name(encoder)}"] = Printed(means[variant] - means["none"], where)
    return found


def printed_gain(results: Results, ranking: str = "alpha_grad", encoder: str | None = None) -> Printed:
    """What Lin-TaSc changes in the paper's Table 4, with the attentions of the run, or of one encoder in it."""
    flips = results.flips if encoder is None else results.flips[results.flips["encoder"] == encoder]
    sides = [_table_4(flips, variant=v, importance=ranking) for v in ("lin", "none")]
    return Printed(sides[0] - sides[1], f"Table 4, {MEAN}")


def printed_gains(results: Results) -> dict[str, Printed]:
    """The same for each encoder, with the attentions that it has in the run."""
    return {_name(e): printed_gain(results, encoder=e) for e in results.flips["encoder"].unique()}


def printed_gain_of_dot(results: Results) -> Printed:
    """The gain of Dot minus that of Tanh in the paper's Table 3."""
    dot, tanh = (
        printed("tasc", 3, attention=a, importance="alpha_grad", variant="lin")
        - printed("tasc", 3, attention=a, importance="alpha_grad", variant="none")
        for a in ("dot", "additive")
    )
    return Printed(dot - tanh, f"Table 3, {MEAN}")


def printed_rankings(results: Results) -> dict[str, Printed]:
    """The differences between rankings in the paper's Table 4."""
    found = {}
    for case, variant, other in _rivals(results):
        sides = [_table_4(results.flips, variant=variant, importance=r) for r in ("alpha_grad", other)]
        found[case] = Printed(sides[0] - sides[1], f"Table 4, {MEAN}")
    return found


def printed_wins(results: Results) -> Printed:
    """The share of cells in the paper's Table 5 where α∇α with Lin-TaSc has the smallest fraction.

    Cells that are equal at the two digits printed count neither way.
    """
    rows, where = _closest(5, compared(_learned(results)))
    wide = rows.pivot_table(index=CELL, columns="importance", values="value")
    gap = wide["alpha_grad"] - wide[list(BASELINES)].min(axis=1)
    return Printed((gap[gap != 0] < 0).mean(), f"{where}, ties left out")


RULES: Sequence[Rule] = (
    Rule(
        "tasc-1", "TaSc does not sacrifice predictive performance.", "section 6.2, Table 2",
        "macro-F1 of each variant minus that without TaSc, with each encoder trained often enough",
        performance, "greater", -MARGIN_F1, printed_performance, unit="F1", figure="f1_changes",
        history="It asks every encoder, where it used to average over them and so hid a loss with BERT; a training "
        "counts only where the model without TaSc learned something, since it has nothing to lose otherwise. "
        "The cpu profile tried three trainings of MiniLM, of which Lin-TaSc learned in one: with them the claim "
        "was undetermined.",
    ),
    Rule(
        "tasc-2", "With Lin-TaSc, fewer tokens ranked by ∇α must go until the decision flips.",
        "section 6.4, Table 4", "fraction to flip by ∇α, Lin-TaSc minus no TaSc",
        lambda results: gain(results, "grad_alpha"), "less",
        paper=lambda results: printed_gain(results, "grad_alpha"),
        unit=TOKENS, figure="table4_fraction", history=f"{MENDED.format('undetermined')} {KEPT}",
    ),
    Rule(
        "tasc-3", "With Lin-TaSc, fewer tokens ranked by α∇α must go until the decision flips.",
        "section 6.4, Table 4", "fraction to flip by α∇α, Lin-TaSc minus no TaSc",
        lambda results: gain(results, "alpha_grad"), "less", paper=printed_gain,
        unit=TOKENS, figure="table4_fraction", history=f"{MENDED.format('undetermined')} {KEPT}",
    ),
    Rule(
        "tasc-4", "Lin-TaSc lowers the fraction to flip (α∇α) with every encoder.", "section 6.4, Figure 2",
        "Lin-TaSc minus no TaSc, for each encoder trained often enough",
        gain_by_encoder, "less",
        paper=printed_gains,
        unit=TOKENS, figure="figure2_fraction",
        history=MENDED.format("not reproduced") + f" An encoder with fewer than {TRAININGS} trainings is left out "
        "where others have as many; it used to be judged by its texts alone.",
    ),
    Rule(
        "tasc-5", "Dot attention gains more from TaSc than Tanh (decisions flipped by the top token, α∇α).",
        "section 6.3, Table 3", "gain of Lin-TaSc with Dot minus gain with Tanh, in percentage points",
        gain_of_dot, "greater", paper=printed_gain_of_dot,
        unit="points", figure="table3_top_token", history=f"{MENDED.format('undetermined')} {KEPT}",
    ),
    Rule(
        "tasc-6", "Without TaSc, MLP and CNN need a smaller fraction (α∇α) than recurrent encoders.",
        "section 6.4, Figure 2", "fraction with recurrent encoders minus that with MLP and CNN",
        lambda results: recurrent(results, "none"), "greater", unit=TOKENS, figure="figure2_fraction",
        history=KEPT,
    ),
    Rule(
        "tasc-7", "With Lin-TaSc, recurrent encoders become comparable to MLP and CNN (α∇α).",
        "section 6.4, Figure 2", "fraction with recurrent encoders minus that with MLP and CNN, with Lin-TaSc",
        lambda results: recurrent(results, "lin"), "within", MARGIN_FRACTION,
        unit=TOKENS, figure="figure2_fraction", history=KEPT,
    ),
    Rule(
        "tasc-8", "Of the three attention rankings α∇α is the best, with TaSc or without.",
        "sections 6.3 and 6.4, Table 4",
        "fraction by α∇α minus that by each other ranking, without TaSc and with each variant",
        best_ranking, "less", paper=printed_rankings, unit=TOKENS, figure="table4_fraction",
        history=f"It asks every variant, where it used to pool them. {KEPT}",
    ),
    Rule(
        "tasc-9",
        "Lin-TaSc with α∇α flips decisions with fewer tokens than WO, x∇x and IG without TaSc in most cells.",
        "section 7, Table 5", "share of cells where each of the three is beaten",
        beats_baselines, "greater", 0.5, printed_wins, unit=CELLS, figure="table5_baselines", history=SAMPLED,
    ),
    Rule(
        "tasc-10", "TaSc lowers the fraction of WO, x∇x and IG too, in most cells.", "section 7, Appendix E",
        "share of cells and methods where the mean difference is below 0",
        baselines_gain, "greater", 0.5, unit=CELLS, figure="appendix_e", history=SAMPLED,
    ),
    Rule(
        "tasc-11", "Without TaSc, BERT needs the largest fraction (α∇α) of all encoders.", "section 6.4, Figure 2",
        "fraction with BERT minus that with each other encoder, without TaSc",
        bert_needs_most, "greater", unit=TOKENS, figure="figure2_fraction", waits="bert_seeds", history=PRETRAINED,
    ),
    Rule(
        "tasc-12", "Lin-TaSc lowers BERT's fraction (α∇α).", "section 6.4, Figure 2",
        "fraction with BERT, Lin-TaSc minus no TaSc",
        gain_of_bert, "less", paper=partial(printed_gain, encoder="bert"), unit=TOKENS, figure="figure2_fraction",
        waits="bert_seeds", history=PRETRAINED,
    ),
    Rule(
        "tasc-13", "With Lin-TaSc the fraction to flip (α∇α) varies less from text to text.",
        "section 6.5, Figure 3", "standard deviation over texts, Lin-TaSc minus no TaSc, mean over cells",
        narrower, "less", unit=TOKENS, figure="figure3_boxes", history=KEPT,
    ),
)  # fmt: skip
"""Cells count alike in all of them; larger corpora used to weigh more, before first results on several corpora."""


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips, sizes = results.flips, results.parameters
    fraction, top = (flips[flips["metric"] == metric] for metric in (FRACTION, TOP1))
    models = results.labels[[*CELL, "variant", "seed"]].drop_duplicates()
    one = (fraction["value"].to_numpy() * fraction["length"].to_numpy()).round(6) == 1
    one &= (fraction["status"] != "never").to_numpy()
    empty = fraction.loc[fraction["status"] == "only_when_empty", "value"]
    linear = sizes[sizes["variant"] == "lin"]
    found = {
        "every model of the grid was measured": len(models) == len(cells(params)) and results.grid.failures.empty,
        "a fraction lies above 0 and is 1 at most": fraction["value"].between(0, 1, inclusive="right").all(),
        "what flips only when empty has the fraction 1": params.quirks or (empty == 1).all(),
        "the top token flips a text where the fraction is one token": params.quirks
        or (one == (top["value"] == 100).to_numpy()).all(),
        "Lin-TaSc adds one number per word": (linear["scaling"] == linear["vocabulary"]).all(),
    }
    return {name: bool(holds) for name, holds in found.items()}


def _learned(results: Results) -> pd.DataFrame:
    if results.learned.empty:
        raise NotTested(f"In every cell a model learned nothing ({NOTHING}), so there is nothing to explain.")
    return results.learned


def _whole(results: Results) -> pd.DataFrame:
    if _learned(results).empty or results.whole.empty:
        raise NotTested("No encoder has models that learned something in every cell: there is no mean over cells.")
    return results.whole


def _bert(results: Results) -> pd.DataFrame:
    flips = _learned(results)
    trainings = flips.loc[flips["encoder"] == "bert", "seed"].nunique()
    if not trainings or flips["encoder"].nunique() < 2:
        raise NotTested
    if trainings < TRAININGS:
        raise NotTested(f"This run has {plural(trainings, 'training')}; a claim about BERT needs {TRAININGS}.")
    return flips


def _judged(frame: pd.DataFrame) -> pd.DataFrame:
    """The encoders with `TRAININGS` trainings, or with the most where none has as many.

    The single training of an encoder leaves no interval, and would keep a claim on every encoder open.
    """
    trainings = frame.groupby("encoder")["seed"].nunique()
    return frame[frame["encoder"].isin(trainings.index[trainings >= min(TRAININGS, trainings.max())])]


def _fractions(flips: pd.DataFrame, *rankings: str) -> pd.DataFrame:
    """Rows of the fraction to flip by the rankings, or by α∇α where none is named."""
    return flips[(flips["metric"] == FRACTION) & flips["importance"].isin(rankings or ["alpha_grad"])]


def _lin(part: pd.DataFrame) -> Effect:
    """Lin-TaSc minus no TaSc, paired by training and text, mean over cells."""
    return contrast(part, "variant", "lin", "none", CELL, bounds=(-1, 1))


def _cell_means(part: pd.DataFrame) -> pd.DataFrame:
    """Mean over texts and trainings: one row per cell, columns by variant and ranking."""
    if part.empty:
        raise NotTested
    return part.pivot_table(index=CELL, columns=["variant", "importance"], values="value")


def _of_cells(share: Effect, part: pd.DataFrame) -> Effect:
    """A share of cells with the trainings and texts behind it; more cells would settle it, not more of those."""
    trainings, texts = (len(part[keys].drop_duplicates()) for keys in ([*CELL, "seed"], ["dataset", "instance"]))
    return replace(share, trainings=trainings, texts=texts, from_trainings=NAN, from_texts=NAN)


def _rivals(results: Results) -> list[tuple[str, str, str]]:
    """A name, the variant and the other ranking, for every comparison of α∇α with another ranking."""
    variants = results.flips["variant"].unique()
    return [(f"{NAMES[r]}, {NAMES[v]}", v, r) for v in variants for r in ("alpha", "grad_alpha")]


def _table_4(flips: pd.DataFrame, **where: str) -> float:
    """A number of the paper's Table 4, mean over the attentions of a frame."""
    attentions = flips["attention"].unique()
    return sum(printed("tasc", 4, attention=one, **where) for one in attentions) / len(attentions)


def _closest(table: int, found: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of a table of the paper for the cells of a frame, as far as it has them, and how to cite them."""
    rows, means = reference("tasc", table), []
    for column, every in (("dataset", "corpora"), ("encoder", "encoders"), ("attention", "attentions")):
        ours = {kin(name) if column == "dataset" else name for name in found[column].unique()}
        if ours.isdisjoint(rows[column]):
            means.append(every)
        else:
            rows = rows[rows[column].isin(ours)]
    corpora = ", ".join(rows["dataset"].unique()).upper()
    return rows, f"Table {table}, " + (f"mean over its {' and '.join(means)}" if means else corpora)


def _name(encoder: str) -> str:
    return NAMES.get(encoder, encoder)
