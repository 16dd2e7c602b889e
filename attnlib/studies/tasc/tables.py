"""Tables of the TaSc study: frames in, frames out, ours next to the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.stats import holm
from attnlib.studies.beside import reference
from attnlib.studies.common import beside_paper, contrast, interval_text, relative, summarise, wide_enough
from attnlib.studies.datasets import kin
from attnlib.studies.f1 import f1_contrast, f1_summary, without
from attnlib.studies.f1 import idle as idle_models
from attnlib.studies.tasc import cells as tasc_cells
from attnlib.studies.tasc.cells import CELL
from attnlib.studies.tasc.grid import BASELINES, FRACTION, POOLS, RANKINGS, TOP1

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

NAMES = {
    "alpha": "α",
    "grad_alpha": "∇α",
    "alpha_grad": "α∇α",
    "omission": "WO",
    "input_x_grad": "x∇x",
    "integrated_gradients": "IG",
    "additive": "Tanh",
    "dot": "Dot",
    "none": "No-TaSc",
    "lin": "Lin-TaSc",
    "feat": "Feat-TaSc",
    "conv": "Conv-TaSc",
    "bert": "BERT",
    "lstm": "LSTM",
    "gru": "GRU",
    "mlp": "MLP",
    "cnn": "CNN",
    "transformer": "Transformer",
}
"""Our names as the paper writes them."""


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the paper's spelling of encoders, attentions, variants and rankings."""
    columns = [c for c in ("encoder", "attention", "variant", "importance") if c in frame]
    return frame.assign(**{c: frame[c].map(lambda name: NAMES.get(name, name)) for c in columns})


def balanced(flips: pd.DataFrame) -> pd.DataFrame:
    """The encoders measured with every corpus, attention, variant and seed: others would tilt a mean over cells."""
    keys = ["dataset", "attention", "variant", "seed"]
    full = flips[keys].drop_duplicates().shape[0]
    counts = flips[["encoder", *keys]].drop_duplicates().groupby("encoder").size()
    return flips[flips["encoder"].isin(counts.index[counts == full])]


def idle(labels: pd.DataFrame) -> pd.DataFrame:
    """Models that learned nothing (`f1.idle`), one row each."""
    return idle_models(labels, [*CELL, "variant", "seed"])


def nothing_to_lose(labels: pd.DataFrame) -> pd.DataFrame:
    """Data set, encoder, attention and seed of the models without TaSc that learned nothing."""
    return idle(labels[labels["variant"] == "none"])[[*CELL, "seed"]]


def without_idle(flips: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """`flips` without the cells where a model of some variant learned nothing: its partners have no match there."""
    return without(flips, idle(labels)[[*CELL, "seed"]])


def corpus_table(corpora: Iterable[Corpus]) -> pd.DataFrame:
    """Table 1: mean words, |V| and split sizes, next to the paper's for that corpus or its closest."""
    printed = reference("tasc", 1).pivot_table(index="dataset", columns="metric", values="value")
    rows = []
    for corpus in corpora:
        found = corpus.stats().set_index("split")
        twin = kin(corpus.name)
        sizes = " / ".join(f"{n:,}" for n in found["texts"])
        row = {"dataset": corpus.name, "mean words": found["mean_words"]["train"], "|V|": len(corpus.vocabulary)}
        row |= {"train / dev / test": sizes, "paper's corpus": twin if twin in printed.index else "–"}
        known = printed.loc[twin] if twin in printed.index else None
        row["paper: mean words"] = np.nan if known is None else known["avg_words"]
        row["paper: |V|"] = np.nan if known is None else known["vocabulary"]
        split = () if known is None else (f"{int(known[part]):,}" for part in ("train", "dev", "test"))
        rows.append(row | {"paper: train / dev / test": " / ".join(split) or "–"})
    return pd.DataFrame(rows)


def parameter_table(parameters: pd.DataFrame, channels: int = 15) -> pd.DataFrame:
    """Appendix B: numbers that each variant adds, by formula and as counted in the models."""
    formulas = {
        "none": ("0", lambda v, d: 0),
        "lin": ("|V|", lambda v, d: v),
        "feat": ("|V| d", lambda v, d: v * d),
        "conv": ("|V| + n d + n", lambda v, d: v + channels * d + channels),
    }
    words = parameters["encoder"].where(parameters["encoder"] == "bert", "word models")
    rows = []
    cells = parameters.assign(model=words)[["dataset", "model", "variant", "vocabulary", "embedding", "scaling"]]
    for row in cells.drop_duplicates().itertuples(index=False):
        text, count = formulas[row.variant]
        rows.append(
            {
                "dataset": row.dataset,
                "model": NAMES.get(row.model, row.model),
                "variant": NAMES[row.variant],
                "|V|": row.vocabulary,
                "d": row.embedding,
                "formula": text,
                "by formula": count(row.vocabulary, row.embedding),
                "in the model": row.scaling,
            }
        )
    return pd.DataFrame(rows)


def f1_table(labels: pd.DataFrame) -> pd.DataFrame:
    """Table 2: macro-F1 of every cell and variant, its interval, the paper's value and the difference."""
    found = f1_summary(labels, [*CELL, "variant"]).assign(metric="f1_macro")
    return _beside(found, 2)


def f1_changes(labels: pd.DataFrame) -> pd.DataFrame:
    """What each variant changes in macro-F1 against no TaSc, for each encoder; Holm over the rows.

    Cells whose model without TaSc learned nothing are left out: it has no performance to lose. `seeds` counts the
    trainings of the encoder.
    """
    kept = without(labels, nothing_to_lose(labels))
    if kept.empty:
        return pd.DataFrame(columns=["encoder", "variant", "estimate", "low", "high", "n", "p_holm", "seeds"])
    tables = []
    for variant in (v for v in kept["variant"].unique() if v != "none"):
        having = kept[kept["encoder"].isin(kept.loc[kept["variant"] == variant, "encoder"])]
        found = f1_contrast(having, "variant", variant, "none", ["encoder"], cells=["dataset", "attention"])
        tables.append(found.assign(variant=variant))
    seeds = labels.groupby("encoder")["seed"].nunique()
    table = pd.concat(tables, ignore_index=True)
    return table.assign(seeds=table["encoder"].map(seeds), p_holm=holm(table["p"]))


def f1_change_table(labels: pd.DataFrame) -> pd.DataFrame:
    """`f1_changes` as it is shown."""
    found = f1_changes(labels)
    found["change"] = interval_text(found.rename(columns={"estimate": "value"}), 3)
    return named(found[["encoder", "variant", "change", "p_holm", "n", "seeds"]])


def aggregate_table(flips: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Tables 3 and 4: one row per ranking, attention and variant, mean over the cells of corpus and encoder.

    Every cell counts alike, however many texts its corpus has. `ratio` is the value over that without TaSc, as the
    paper prints it in parentheses. The paper's mean is over five corpora and five encoders, ours over `balanced`
    ones: `difference` is there only where those are the same.
    """
    flips = balanced(flips)
    part = flips[(flips["metric"] == metric) & flips["importance"].isin(RANKINGS)]
    cells = ["importance", "attention", "variant"]
    found = tasc_cells.summarise(part, cells).assign(metric=metric)
    found = wide_enough(found, part, cells, most=100.0 if metric == TOP1 else 1.0)
    found = relative(found, "variant", "none", ["importance", "attention"]).rename(columns={"relative": "ratio"})
    found = beside_paper(found, "tasc", 3 if metric == TOP1 else 4)
    printed = found.assign(value=found["paper"])
    found["paper's ratio"] = relative(printed, "variant", "none", ["importance", "attention"])["relative"]
    found = found.rename(columns={"paper": "paper's mean"})
    order = {name: k for k, name in enumerate((*RANKINGS, "additive", "dot", "none", "lin", "feat", "conv"))}
    keys = ["importance", "attention", "variant"]
    found = found.sort_values(keys, key=lambda column: column.map(order), ignore_index=True)
    kept = ["value", "low", "high", "n", "seeds", "ratio", "paper's mean", "paper's ratio"]
    return named(found)[[*keys, *kept, *(["difference"] if _whole_grid(part) else [])]]


def _whole_grid(part: pd.DataFrame) -> bool:
    """Whether the cells are those of the paper: its corpora with its encoders."""
    cells = reference("tasc", 5)[["dataset", "encoder"]].dropna().drop_duplicates()
    ours = {(kin(d), e) for d, e in part[["dataset", "encoder"]].drop_duplicates().itertuples(index=False)}
    return all(map(same, part["dataset"].unique())) and ours == set(cells.itertuples(index=False, name=None))


def same(dataset: str) -> bool:
    """Whether the paper has this corpus itself, and not only one like it: Rotten Tomatoes is the parent of SST."""
    return "rotten_tomatoes" not in dataset and kin(dataset) in set(reference("tasc", 1)["dataset"])


def changes(flips: pd.DataFrame, metric: str, by: list[str]) -> pd.DataFrame:
    """Lin-TaSc minus no TaSc, paired by cell, seed and text, one row per value of `by`; Holm over the rows."""
    part = flips[(flips["metric"] == metric) & flips["importance"].isin(RANKINGS)]
    if "encoder" not in by:
        part = balanced(part)
    pair = [c for c in [*CELL, "importance"] if c not in by]
    return tasc_cells.contrast(part, "variant", "lin", "none", by, pair=pair)


def conventions(flips: pd.DataFrame, ranking: str = "alpha_grad") -> pd.DataFrame:
    """What the mean fraction hides: texts that never flip (counted 1), or flip only when nothing is left."""
    part = flips[(flips["metric"] == FRACTION) & (flips["importance"] == ranking)]
    rows = []
    for key, cell in part.groupby([*CELL, "variant"], sort=False):
        inside = cell["status"] == "flipped"
        row = dict(zip([*CELL, "variant"], key, strict=True)) | {"n": len(cell)}
        row |= {"mean, never = 1": cell["value"].mean(), "never flips": (cell["status"] == "never").mean()}
        row["only when empty"] = (cell["status"] == "only_when_empty").mean()
        rows.append(row | {"flips before": inside.mean(), "mean of those": cell.loc[inside, "value"].mean()})
    return named(pd.DataFrame(rows))


def baseline_table(flips: pd.DataFrame) -> pd.DataFrame:
    """Table 5: the fraction to flip without TaSc by WO, x∇x and IG, and with Lin-TaSc by α∇α, cell by cell."""
    part = flips[flips["metric"] == FRACTION]
    shown = (part["variant"] == "none") & part["importance"].isin(BASELINES)
    shown |= (part["variant"] == "lin") & (part["importance"] == "alpha_grad")
    measured = part.loc[part["importance"].isin(BASELINES), CELL].drop_duplicates()
    part = part[shown].merge(measured, on=CELL)
    cells = [*CELL, "variant", "importance"]
    found = wide_enough(summarise(part, cells), part, cells).assign(metric=FRACTION)
    return _beside(found, 5)


def with_tasc_table(flips: pd.DataFrame) -> pd.DataFrame:
    """Appendix E: what Lin-TaSc changes for WO, x∇x and IG (lin minus none), cell by cell, Holm over all."""
    part = flips[(flips["metric"] == FRACTION) & flips["importance"].isin(BASELINES)]
    table = contrast(part, "variant", "lin", "none", [*CELL, "importance"])
    kept = [*CELL, "importance", "a", "b", "estimate", "low", "high", "n", "p_holm"]
    return named(table[kept]).rename(columns={"a": "with Lin-TaSc", "b": "without", "estimate": "difference"})


def word_table(words: pd.DataFrame, n: int = 5) -> pd.DataFrame:
    """Figure 4: the n highest and lowest words of u for every cell and seed, and how often they occur in train."""
    parts = []
    for _, cell in words.groupby(CELL, sort=False):
        for _, part in cell.groupby("seed"):
            ordered = part.sort_values(["u", "word"], ascending=[False, True])
            for end, rows in (("highest", ordered.head(n)), ("lowest", ordered.tail(n)[::-1])):
                parts.append(rows.assign(end=end, rank=range(1, len(rows) + 1)))
    kept = [*CELL, "seed", "end", "rank", "word", "u", "s", "count"]
    return named(pd.concat(parts, ignore_index=True))[kept]


def pooling_table(flips: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Footnote 4: F1 and the fraction to flip by α∇α for each way to pool the scaled embedding into s."""
    part = flips[(flips["metric"] == FRACTION) & (flips["importance"] == "alpha_grad")]
    fraction = wide_enough(summarise(part, ["pool"]), part, ["pool"]).set_index("pool")
    f1 = f1_summary(labels, ["pool"]).set_index("pool")
    rows = []
    for pool in (p for p in POOLS if p in fraction.index):
        row = {"pooling": "u itself" if pool == "direct" else f"{pool} (the paper)" if pool == "sum" else pool}
        for name, table in (("F1", f1), ("fraction", fraction)):
            row |= {
                name: table["value"][pool],
                f"{name} low": table["low"][pool],
                f"{name} high": table["high"][pool],
            }
        rows.append(row | {"n": int(fraction["n"][pool]), "seeds": int(fraction["seeds"][pool])})
    return pd.DataFrame(rows)


def _beside(found: pd.DataFrame, table: int) -> pd.DataFrame:
    """A summary by cell with the paper's value for its corpus, or for the most similar one it has.

    Where that is another corpus, `paper's corpus` names it and there is no `difference`.
    """
    joined = beside_paper(found, "tasc", table)
    joined["paper's corpus"] = joined["dataset"].map(kin).where(joined["paper"].notna(), "–")
    joined["difference"] = joined["difference"].where(joined["dataset"].map(same))
    keys = [c for c in (*CELL, "variant", "importance") if c in joined]
    kept = ["value", "low", "high", "n", "seeds", "paper", "paper's corpus"]
    kept += ["difference"] if joined["difference"].notna().any() else []
    return named(joined)[[*keys, *kept]]
