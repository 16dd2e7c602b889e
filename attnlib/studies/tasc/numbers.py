"""Task-scaled attention (Chrysostomou & Aletras 2021): every number of the study, its tables and its claims.

Means are over the cells of corpus, encoder and attention of the run, which count alike. Models with
and without TaSc are paired by training (seed) and text; those of different cells are independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from attnlib.stats.inference import COUNTS, Effect, effect, interval_texts
from attnlib.stats.jackknife import f1_values, spread_values
from attnlib.stats.judge import holds
from attnlib.studies.beside import Printed, beside, papers, printed_gap, quoted
from attnlib.studies.datasets import short
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged
from attnlib.studies.quantity import Quantity, Table, required
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, MODEL, POOLS, RANKINGS, TOP1, Results
from attnlib.studies.tasc.params import NAMES, Params

RANGE = {FRACTION: (0.0, 1.0), TOP1: (0.0, 100.0)}
"""Between what values a metric lies."""
BLOCKS = 10
"""Groups of texts that are left out in turn, where a number is no mean over texts."""
COMPARABLE = 0.05
"""Mean fractions that differ by less are comparable (of ratios: this share of that without TaSc)."""
TRAINING, SCALED = [*CELL, "seed"], ("lin", "feat", "conv")
KIND = {"lstm": 1, "gru": 1, "mlp": -1, "cnn": -1}


def of(metric: str, rankings: tuple[str, ...], flips: pd.DataFrame) -> pd.DataFrame:
    """Rows of a metric by some rankings."""
    return flips[(flips["metric"] == metric) & flips["importance"].isin(rankings)]


def compared(flips: pd.DataFrame) -> pd.DataFrame:
    """Fractions by WO, x∇x and IG without TaSc, by α∇α with Lin-TaSc, on the texts that all have."""
    others, ours = of(FRACTION, BASELINES, flips), of(FRACTION, ("alpha_grad",), flips)
    others, ours = others[others["variant"] == "none"], ours[ours["variant"] == "lin"]
    return pd.concat([others, ours.merge(others[[*CELL, "instance"]].drop_duplicates())])


def joined(column: str, flips: pd.DataFrame) -> pd.DataFrame:
    """One value per text and training: Lin-TaSc minus none, or the mean over rankings."""
    keys = [k for k in (*MODEL, "seed", "instance") if k in flips and k != column]
    wide = flips.pivot_table("value", keys, column)
    gap = wide.mean(axis=1) if column == "importance" else wide.get("lin", math.nan) - wide["none"]
    return gap.dropna().rename("value").reset_index()


def on(key: tuple) -> str:
    """`LSTM`, `Lin-TaSc, LSTM`: a group of models as the paper writes it."""
    return ", ".join(NAMES.get(part, short(part)) for part in key)


def measured(metric: str, *rankings: str, frame: str = "whole") -> Quantity:
    """The fraction to a flip, or the flips by the top token, by some rankings or the paper's."""
    rows, unit = partial(of, metric, rankings or RANKINGS), "points" if metric == TOP1 else "of the tokens"
    return Quantity(frame, rows=rows, model=tuple(CELL), bounds=RANGE[metric], unit=unit, named=on)


def gain(metric: str, *rankings: str, frame: str = "whole") -> Quantity:
    """What Lin-TaSc changes in it."""
    return measured(metric, *rankings, frame=frame).minus("variant", "lin", "none")


def scores(frame: str, by: str = "variant") -> Quantity:
    """Macro-F1."""
    return Quantity(frame, rows=partial(f1_values, by=[*CELL, by, "seed"]), model=tuple(CELL), unit="F1", named=on)


by_product = measured(FRACTION, "alpha_grad", frame="tested")
baselines = Quantity("tested", rows=compared, model=tuple(CELL), named=on)
f1 = scores("comparable")
spread = gain(FRACTION, "alpha_grad").only(variant=["none", "lin"])
spread = spread.where(partial(spread_values, by=[*MODEL, "seed"]))
ACROSS: dict[str, Any] = {"model": ("dataset", "encoder"), "paired": False}
"""Between attentions, which are trainings of their own."""
gain_of_dot = measured(TOP1, "alpha_grad").where(partial(joined, "variant"))
gain_of_dot = gain_of_dot.of(bounds=(-100.0, 100.0)).minus("attention", "dot", "additive", **ACROSS)
tanh_above_dot = measured(TOP1).only(variant="none").where(partial(joined, "importance"))
tanh_above_dot = tanh_above_dot.minus("attention", "additive", "dot", **ACROSS)


def scaled(frame: pd.DataFrame) -> list[str]:
    """The variants of TaSc that a frame has."""
    return [v for v in SCALED if v in frame["variant"].unique()]


def f1_by_encoder(results: Results) -> dict[str, Effect]:
    """What each variant changes in F1, with each encoder."""
    gaps = {NAMES[v]: f1.minus("variant", v, "none") for v in scaled(results.comparable)}
    each = {name: gap.each(results, ["encoder"]) for name, gap in gaps.items()}
    return {f"{name}, {encoder}": found for name, own in each.items() for encoder, found in own.items()}


def rivals(metric: str, results: Results) -> dict[str, Quantity]:
    """What α∇α gives minus what each other ranking does, for each variant."""
    plain = {v: measured(metric).only(variant=v) for v in ("none", *scaled(results.flips))}
    others = [(v, r) for v in plain for r in RANKINGS[:2]]
    return {on((r, v)): plain[v].minus("importance", "alpha_grad", r) for v, r in others}


def recurrent(variant: str, results: Results) -> Effect:
    """The fraction by α∇α with recurrent encoders minus that with MLP and CNN."""
    part = measured(FRACTION, "alpha_grad").only(variant=variant).values(results)
    kind = part[CELL].drop_duplicates().set_index(CELL, drop=False)["encoder"].map(KIND).dropna()
    required(range(kind.nunique() - 1))
    return effect(part, CELL, weights=(kind / kind.groupby(kind).transform("size")).to_dict(), bounds=(-1, 1))


def bert_needs_most(results: Results) -> dict[str, Effect]:
    """The fraction by α∇α without TaSc, BERT minus each other encoder, in the cells of both."""
    plain = by_product.only(variant="none").of(frame="with_bert", model=("dataset", "attention"))
    others = [e for e in plain.values(results)["encoder"].unique() if e != "bert"]
    return {on((e,)): plain.minus("encoder", "bert", e, paired=False).mean(results) for e in others}


def by_training(
    quantity: Quantity,
    statistic: Callable[[pd.DataFrame], pd.Series],
    results: Results,
    bounds: tuple[float, float] = (0, 1),
    within: str = "mean",
) -> Effect:
    """The mean over trainings of a statistic that is one number per training, no mean over texts.

    statistic  one row per training, one column per variant and ranking, the values of its texts as
               `within` has them (their mean or median) -> one number per training

    What texts add to the variance is estimated by leaving out a tenth of them in turn.
    """
    part = quantity.values(results)
    texts = part.groupby(["dataset", "instance"], sort=False).ngroup()

    def values(kept: pd.Series) -> pd.DataFrame:
        wide = part[kept].pivot_table("value", TRAINING, ["variant", "importance"], aggfunc=within)
        return statistic(wide).astype(float).rename("value").reset_index()

    means = [values(texts % BLOCKS != k)["value"].mean() for k in range(BLOCKS)]
    found = replace(effect(values(texts >= 0), CELL, text=None, bounds=bounds), n=len(part))
    if math.isnan(found.low):
        return replace(found, texts=texts.nunique())
    return found.widened((BLOCKS - 1) * float(np.var(means)), texts.nunique(), bounds)


def won(sign: int, means: pd.DataFrame) -> pd.Series:
    """The share of rankings and variants with a larger mean than without TaSc (-1: a smaller)."""
    changes = sign * means.drop(columns="none", level=0).sub(means["none"], level=1)
    return (changes > 0).mean(axis=1)


def lin_leads(means: pd.DataFrame) -> pd.Series:
    """The share of rankings in which Lin-TaSc needs no larger a fraction than Feat- and Conv-TaSc."""
    others = required([means[v] for v in ("feat", "conv") if v in means])
    return (means["lin"] < np.fmin.reduce(others) + COMPARABLE * means["none"]).mean(axis=1)


def cells_of(results: Results) -> dict[str, Any]:
    """Corpora, encoders and attentions of the run."""
    dataset, encoder, attention = (results.flips[column].unique() for column in CELL)
    return {"datasets": dataset, "encoder": encoder, "attention": attention}


def printed(table: int, quantity: Quantity, results: Results) -> Printed:
    """The same difference in a table of the paper, for the cells of the run."""
    return printed_gap("tasc", table, quantity, **cells_of(results))


def printed_f1(results: Results) -> dict[str, Printed]:
    """What each variant changes in Table 2, with each encoder."""
    cases = [(v, encoder) for v in SCALED for encoder in results.flips["encoder"].unique()]
    table2 = Quantity("")
    return {on((v, e)): printed(2, table2.only(encoder=e).minus("variant", v, "none"), results) for v, e in cases}


def printed_wins(results: Results) -> Printed:
    """The share of cells of Table 5 where α∇α with Lin-TaSc is best, ties left out."""
    rows, where = papers("tasc", 5, **cells_of(results))
    wide = rows.pivot_table("value", CELL, "importance")
    gap = wide["alpha_grad"] - wide[list(BASELINES)].min(axis=1)
    return Printed((gap[gap != 0] < 0).mean(), where)


def in_each(cases: Callable[[Results], Mapping[str, Quantity]], table: int) -> dict[str, Any]:
    """The effects of a claim on each of several cases, and what a table of the paper has there."""
    return {
        "effect": lambda results: {case: one.mean(results) for case, one in cases(results).items()},
        "paper": lambda results: {case: printed(table, one, results) for case, one in cases(results).items()},
    }


def aggregate(metric: str, results: Results) -> pd.DataFrame:
    """The paper's Tables 3 and 4, mean over cells of corpus and encoder.

    `ratio` is the value over that without TaSc, as the paper prints it in parentheses.
    """
    keys = ["importance", "attention", "variant"]
    found = measured(metric).table(results, keys, CELL).assign(metric=metric)
    found = beside(found, "tasc", 3 if metric == TOP1 else 4).assign(ours=interval_texts)
    for value, ratio in (("value", "ratio"), ("paper", "paper: ratio")):
        plain = found[value].where(found["variant"] == "none").groupby([found[key] for key in keys[:2]])
        found[ratio] = found[value] / plain.transform("max").replace(0, math.nan)
    order = [*RANKINGS, "additive", "dot", "none", *SCALED]
    found = found.sort_values(keys, key=lambda column: column.map(order.index), ignore_index=True)
    return found[[*keys, "ours", "ratio", "paper", "paper: ratio", *COUNTS]]


def word_table(results: Results, n: int = 5) -> pd.DataFrame:
    """The paper's Figure 4: the n highest and lowest words of u for every cell and seed."""
    model = [*CELL, "seed"]
    groups = results.words.sort_values(["u", "word"], ascending=[False, True]).groupby(model, sort=False)
    ends = {"highest": groups.head(n), "lowest": groups.tail(n)[::-1]}
    table = pd.concat(rows.assign(end=end) for end, rows in ends.items()).sort_values(model, kind="stable")
    return table[[*model, "end", "word", "u", "s", "count"]]


TABLE5 = [*((name, "none") for name in BASELINES), ("alpha_grad", "lin")]
ABOUT = "n counts texts times trainings; trainings in which a model learned nothing are left out."
ASIDE = "next to the paper's value for the same corpus, or for the closest that it has."
TABLES = [
    Table("f1", {NAMES[v]: scores("labels").only(variant=v).of(printed=("tasc", 2, {"metric":
          "f1_macro", "variant": v})) for v in ("none", *SCALED)}, f"After the paper's Table 2: "
          f"macro-F1 of all trainings, {ASIDE}", CELL, digits=3),
    Table("top_token", partial(aggregate, TOP1), f"After the paper's Table 3: decisions flipped by "
          f"the top token (%), mean over cells that count alike. {ABOUT}"),
    Table("fraction", partial(aggregate, FRACTION), f"After the paper's Table 4: fraction of "
          f"tokens erased until a flip (never = 1), mean over cells that count alike. {ABOUT}"),
    Table("baselines", {f"{NAMES[r]}, {NAMES[v]}": baselines.only(importance=r).of(printed=("tasc",
          5, {"metric": FRACTION, "variant": v, "importance": r})) for r, v in TABLE5}, f"After the "
          f"paper's Table 5: fraction of tokens to a flip by WO, x∇x and IG without TaSc, and by "
          f"α∇α with Lin-TaSc, {ASIDE}", CELL),
    Table("appendix_e", {NAMES[b]: gain(FRACTION, b, frame="tested") for b in BASELINES}, "After "
          "the paper's Appendix E: the fraction by WO, x∇x and IG, Lin-TaSc minus no TaSc; p after "
          "Holm correction over the cells, for each method.", CELL),
    Table("words", word_table, "After the paper's Figure 4: highest and lowest words of u, by cell "
          "and training.", digits=3),
    Table("pooling", {"macro-F1": scores("pooling_labels", "pool"), "fraction by α∇α": by_product.of(
          frame="pooling_flips")}, "After the paper's footnote 4: Lin-TaSc by pooling (direct: u "
          "itself).", ["pool"], digits=3, cells=CELL),
]  # fmt: skip

CASES = "share of rankings and variants that are better than without TaSc, mean over trainings"
KINDS = "fraction with recurrent encoders minus that with MLP and CNN"
CHANGE = "Lin-TaSc minus no TaSc, mean over cells"
TOKENS = {"unit": "of the tokens", "figure": "fraction"}
OF_CASES, MOST = ({"border": 0.5, "unit": unit} for unit in ("of the cases", "of the cells"))
paper4 = partial(printed, 4, gain(FRACTION, "alpha_grad"))
CLAIMS = [
    Claim("TaSc does not sacrifice predictive performance.", "section 6.2, Table 2",
          f"macro-F1 of each variant minus that without TaSc, with each encoder of the run (a loss "
          f"of less than {AS_ACCURATE:g} points counts as none)", f1_by_encoder,
          border=-AS_ACCURATE / 100, paper=printed_f1, unit="F1", figure="f1"),
    *(Claim(f"With Lin-TaSc, fewer tokens ranked by {NAMES[r]} must go until the decision flips.",
            "section 6.4, Table 4", CHANGE, gain(FRACTION, r), "less",
            paper=partial(printed, 4, gain(FRACTION, r)), figure="fraction") for r in RANKINGS[1:]),
    Claim("Lin-TaSc lowers the fraction to flip (α∇α) with every encoder.", "section 6.4, Figure 2",
          "Lin-TaSc minus no TaSc, for each encoder of the run", partial(by_product.minus("variant",
          "lin", "none").each, by=["encoder"]), "less", paper=paper4, **TOKENS),
    Claim("Dot attention gains more from TaSc than Tanh (decisions flipped by the top token, α∇α).",
          "section 6.3, Table 3", "gain of Lin-TaSc with Dot minus gain with Tanh", gain_of_dot,
          paper=partial(printed, 3, gain_of_dot), figure="top_token"),
    Claim("Without TaSc, MLP and CNN need a smaller fraction (α∇α) than recurrent encoders.",
          "section 6.4, Figure 2", KINDS, partial(recurrent, "none"), **TOKENS),
    Claim("With Lin-TaSc, recurrent encoders become comparable to MLP and CNN (α∇α).",
          "section 6.4, Figure 2", KINDS, partial(recurrent, "lin"), "within", COMPARABLE,
          **TOKENS),
    Claim("Of the three attention rankings α∇α finds the decisive token most often, with TaSc or "
          "without.", "section 6.3, Table 3", "decisions flipped by the top token, α∇α minus each "
          "other ranking, with each variant", **in_each(partial(rivals, TOP1), 3), unit="points",
          figure="top_token"),
    Claim("Lin-TaSc with α∇α flips decisions with fewer tokens than WO, x∇x and IG without TaSc in "
          "most cells.", "section 7, Table 5", "share of trainings in which each of the three is "
          "beaten, mean over cells", partial(by_training, baselines, lambda m:
          m["lin", "alpha_grad"] < m["none"][list(BASELINES)].min(axis=1)), paper=printed_wins,
          figure="baselines", **MOST),
    Claim("TaSc lowers the fraction of WO, x∇x and IG too, in most cells.", "section 7, Appendix E",
          "share of methods whose mean fraction falls, mean over trainings and cells",
          partial(by_training, measured(FRACTION, *BASELINES, frame="tested"), lambda m:
          (m["lin"] < m["none"]).mean(axis=1)), figure="appendix_e", **MOST),
    Claim("Without TaSc, BERT needs the largest fraction (α∇α) of all encoders.", "section 6.4, "
          "Figure 2", "fraction with BERT minus that with each other encoder, without TaSc",
          bert_needs_most, **TOKENS),
    Claim("Lin-TaSc lowers BERT's fraction (α∇α).", "section 6.4, Figure 2", CHANGE, gain(FRACTION,
          "alpha_grad", frame="with_bert").only(encoder="bert"), "less", paper=paper4, **TOKENS),
    Claim("With Lin-TaSc the fraction to flip (α∇α) varies less from text to text.", "section 6.5, "
          "Figure 3", f"standard deviation over texts, {CHANGE}", spread, "less", figure="boxes"),
    Claim("The top token flips more decisions with TaSc in most cases (the paper: 12 of 18).",
          "section 6.3, Table 3", CASES, partial(by_training, measured(TOP1), partial(won, 1)),
          paper=partial(quoted, study="tasc", metric="cases_top1", where="section 6.3"),
          figure="top_token", **OF_CASES),
    Claim("With TaSc fewer tokens must go in most cases (the paper: 17 of 18).", "section 6.4, "
          "Table 4", CASES, partial(by_training, measured(FRACTION), partial(won, -1)),
          paper=partial(quoted, study="tasc", metric="cases_fraction", where="section 6.4"),
          figure="fraction", **OF_CASES),
    Claim("Without TaSc, the top token flips more decisions with Tanh than with Dot.",
          "section 6.3, Table 3", "decisions flipped, Tanh minus Dot, mean over the three rankings",
          tanh_above_dot, paper=partial(printed, 3, tanh_above_dot), figure="top_token"),
    Claim("By α alone, the top token flips fewer decisions with each variant of TaSc.", "Table 3",
          "decisions flipped by the top token, each variant minus no TaSc", direction="less",
          **in_each(lambda r: {NAMES[v]: measured(TOP1, "alpha").minus("variant", v, "none")
          for v in scaled(r.flips)}, 3), unit="points", figure="top_token"),
    Claim("Lin-TaSc improves at least as much as Feat- and Conv-TaSc in most cases (the paper: 5 "
          "of 6).", "section 6.4, Table 4", f"share of rankings where its fraction is as small, "
          f"within {COMPARABLE:g} of that without TaSc, mean over trainings", partial(by_training,
          measured(FRACTION), lin_leads), paper=partial(quoted, study="tasc", metric="cases_lin",
          where="section 6.4"), figure="fraction", **OF_CASES),
    Claim("With Lin-TaSc the median fraction to flip is lower, by ∇α and by α∇α.", "section 6.5, "
          "Figure 3", f"median over texts, {CHANGE}, by each of the two rankings", lambda r:
          {NAMES[by]: by_training(measured(FRACTION, by), lambda m: (m["lin"] - m["none"]).squeeze(1), r,
          (-1, 1), "median") for by in RANKINGS[1:]}, "less", unit="of the tokens", figure="boxes"),
    Claim("Mean, maximum or u itself in place of the sum give lower results.", "section 4.1, "
          "footnote 4", "macro-F1 of the sum minus that of each other pooling", lambda r: {pool:
          scores("pooling_labels", "pool").minus("pool", "sum", pool).mean(r) for pool in POOLS[1:]},
          unit="F1", figure="pooling"),
    Claim("Of the three attention rankings α∇α needs the fewest tokens, with TaSc or without.",
          "sections 6.5 and 7, Table 4", "fraction by α∇α minus that by each other ranking, with "
          "each variant", **in_each(partial(rivals, FRACTION), 4), direction="less", **TOKENS),
]  # fmt: skip


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""
    asked = "TaSc scales attention by one learned number per word. Must fewer of the words ranked highest "
    asked += "then be erased until the decision changes, and is the model as accurate?"
    if claims[3].found is None:
        return [asked, f"**This run cannot say.** {claims[3].note}"]
    top, fraction = gain(TOP1, "alpha").mean(results), gain(FRACTION, "alpha").mean(results)
    worse = (holds(top.low, top.high, "less"), holds(fraction.low, fraction.high, "greater"))
    said = {(True, True): "by both tests a **worse**", (False, False): "by both tests a **better**"}
    return [
        asked,
        f"**By attention times gradient** (α∇α), fewer must go with Lin-TaSc: {claims[3]:3}. So it is with every "
        f"encoder: {claims[4]:3}; the least favourable is {claims[4].case}.",
        "**By attention alone** (α) it changes the share of decisions that the top word flips by "
        f"**{top.text(1)}** points, and the fraction by **{fraction.text(3)}**: it makes the weights "
        f"themselves {said.get(worse, 'a better or a worse (this stays open)')} explanation.",
        f"The model is as accurate, to {AS_ACCURATE:g} points of macro-F1: {claims[1]:%}, in the least favourable "
        f"case ({claims[1].case}).",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips = results.flips
    fraction, top = (flips[flips["metric"] == metric].reset_index() for metric in (FRACTION, TOP1))
    one = ((fraction["value"] * fraction["length"]).round(6) == 1) & (fraction["status"] != "never")
    empty = fraction.loc[fraction["status"] == "only_when_empty", "value"]
    return {
        "a fraction lies above 0 and is 1 at most": fraction["value"].between(0, 1, inclusive="right").all(),
        "what flips only when empty has the fraction 1": (empty == 1).all(),
        "the top token flips a text where the fraction is one token": one.eq(top["value"] == 100).all(),
    }
