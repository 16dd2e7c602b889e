"""What the TaSc notebook says about its numbers: sentences computed from the frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.data.selection import preferred
from attnlib.studies.common import missing
from attnlib.studies.f1 import about_idle
from attnlib.studies.tasc.cells import CELL
from attnlib.studies.tasc.grid import FRACTION, RANKINGS, TOP1, Params, Results
from attnlib.studies.tasc.rules import TRAININGS
from attnlib.studies.tasc.tables import BASELINES, NAMES, changes, idle, named
from attnlib.utils.text import percent, plural

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted


def setting(params: Params, corpora: Sequence[Corpus]) -> str:
    """Corpora, encoders and seeds in one line, for the ledger."""
    names = ", ".join(corpus.name for corpus in corpora)
    encoders = ", ".join(NAMES[e] for e in params.encoders)
    attentions = " and ".join(NAMES[a] for a in params.attentions)
    tested = "all" if params.texts is None else f"at most {params.texts}"
    text = f"{names}; {encoders} with {attentions}, {plural(len(params.seeds), 'seed')}, {tested} test texts"
    if params.bert_variants:
        attended = " and ".join(NAMES[a] for a in params.bert_attentions)
        tested = "all" if params.bert_texts is None else f"at most {params.bert_texts}"
        trained = "" if params.bert_limit is None else f" trained on {params.bert_limit} texts"
        trained += ", its encoder frozen" if params.bert_frozen else ""
        text += f"; {params.pretrained} with {attended}{trained}, {plural(len(params.bert_seeds), 'seed')}, "
        text += f"{tested} test texts"
    return text


def grid_sentences(params: Params, results: Results) -> list[str]:
    """What was computed, and what is missing."""
    models = results.labels[["dataset", "encoder", "attention", "variant", "seed"]].drop_duplicates()
    pools = results.pooling_labels[["pool", "seed"]].drop_duplicates()
    extra = int((pools["pool"] != "sum").sum())
    said = [
        f"**{plural(len(models), 'model')}** of the grid are measured, and {extra} more for the pooling ablation."
    ]
    said += [*missing(results.grid), *about_idle(named(idle(results.labels)), len(models))]
    if params.quirks:
        said.append(f"Deviations of the authors' code that are switched on: **{', '.join(params.quirks)}**.")
    return said


def pretrained_sentences(params: Params) -> list[str]:
    """What the pretrained encoder of this run is, and how it was trained."""
    if not params.bert_variants:
        return ["This run has no pretrained encoder, so the claims about BERT are not tested."]
    name = {"minilm": "MiniLM"}.get(params.pretrained, params.pretrained)
    how = (
        "its weights frozen, with only attention, TaSc and decoder trained" if params.bert_frozen else "fine-tuned"
    )
    texts = "all training texts" if params.bert_limit is None else f"at most {params.bert_limit:,} training texts"
    few = f" A claim about BERT needs {TRAININGS}." if len(params.bert_seeds) < TRAININGS else ""
    return [
        f"In place of the paper's BERT this run uses **{name}**, {how}, on {texts}, with "
        f"{plural(len(params.bert_seeds), 'training')} per cell.{few}"
    ]


def flip_sentences(flips: pd.DataFrame, metric: str) -> list[str]:
    """What Lin-TaSc changes for each ranking, over all cells."""
    table = changes(flips, metric, ["importance"]).set_index("importance")
    digits, unit = (3, "") if metric == FRACTION else (1, " points")
    said = []
    for ranking in (r for r in RANKINGS if r in table.index):
        row = table.loc[ranking]
        level = f"from {row['b']:.{digits}f} to {row['a']:.{digits}f}"
        holds = "" if row["p_holm"] < 0.05 else ", not significant after Holm correction"
        said.append(
            f"{NAMES[ranking]} {level} ({_signed(row['estimate'], digits)}{unit} {_between(row, digits)}{holds})"
        )
    better = "lower is better" if metric == FRACTION else "higher is better"
    return [f"What Lin-TaSc changes, over all cells ({better}): {'; '.join(said)}."]


def encoder_sentences(flips: pd.DataFrame) -> list[str]:
    """Encoder by encoder, α∇α."""
    part = flips[flips["importance"] == "alpha_grad"]
    table = changes(part, FRACTION, ["encoder"])
    parts = [
        f"{NAMES.get(row.encoder, row.encoder)} from {row.b:.2f} to {row.a:.2f} {_between(row, 2)}"
        for row in table.itertuples()
    ]
    return [f"With α∇α and Lin-TaSc the fraction goes, for {'; '.join(parts)}. Intervals are of the difference."]


def box_sentences(flips: pd.DataFrame, cells: Sequence[tuple[str, str, str]]) -> list[str]:
    """Medians and quartiles of the boxes of α∇α, without and with, cell by cell."""
    part = flips[(flips["metric"] == FRACTION) & (flips["importance"] == "alpha_grad")]
    groups, said = dict(iter(part.groupby(CELL, sort=False))), []
    for cell in (c for c in cells if c in groups):
        sides = []
        for variant in ("none", "lin"):
            values = groups[cell].loc[groups[cell]["variant"] == variant, "value"]
            low, middle, high = values.quantile([0.25, 0.5, 0.75])
            sides.append(f"{NAMES[variant]} {middle:.2f} (quartiles {low:.2f} and {high:.2f}, n = {len(values):,})")
        said.append(f"{_cell(cell)}: {', '.join(sides)}")
    return [f"Median fraction by α∇α over texts and seeds: {'; '.join(said)}."]


def baseline_sentences(table: pd.DataFrame) -> list[str]:
    """In how many cells Lin-TaSc's α∇α needs the smallest fraction, ours and the paper's.

    Fractions are compared as the paper prints them, to two digits: equal ones are comparable.
    """
    keys = ["dataset", "encoder", "attention"]
    said = []
    for column, whose in (("value", "Here"), ("paper", "In the paper's cells shown here")):
        wide = (
            table.dropna(subset=[column])
            .pivot_table(index=keys, columns="importance", values=column)
            .dropna()
            .round(2)
        )
        if len(wide):
            rest = wide[[NAMES[b] for b in BASELINES]].min(axis=1)
            won, even = int((wide["α∇α"] < rest).sum()), int((wide["α∇α"] == rest).sum())
            said.append(
                f"{whose} α∇α with Lin-TaSc needs a smaller fraction than the best of the three in "
                f"**{won} of {plural(len(wide), 'cell')}**, and the same to two digits in {even}."
            )
    return [" ".join(said)]


def word_sentences(words: pd.DataFrame, n: int = 5) -> list[str]:
    """Whether seeds agree on which words u marks, and on its sign, cell by cell."""
    said = []
    for cell, part in words.groupby(CELL, sort=False):
        seeds = sorted(part["seed"].unique())
        counts = part.loc[part["seed"] == seeds[0], "count"]
        told = (
            f"{_cell(cell)}: {percent((counts <= 2).mean())} of the {len(counts):,} words occur at most twice in "
            "training: their u has little to learn from."
        )
        if len(seeds) > 1:
            first, second = (_largest(part[part["seed"] == seed], 2 * n) for seed in seeds[:2])
            both = [w for w in first if w in second]
            same = sum(first[w] == second[w] for w in both)
            told += (
                f" Seeds {seeds[0]} and {seeds[1]} share **{len(both)} of the {2 * n}** words with the largest "
                f"|u|; {same} of those have the same sign."
            )
        said.append(told)
    return [
        *said,
        "The size of u says that a word matters; its sign alone does not say for which class, since s also holds "
        "the sum of the embedding and meets h.",
    ]


def _largest(words: pd.DataFrame, n: int) -> dict[str, float]:
    """The n words with the largest |u|, and its sign."""
    order = words.assign(size=words["u"].abs()).nlargest(n, "size")
    return dict(zip(order["word"], np.sign(order["u"]), strict=True))


def readable(pair: Sequence[Fitted], examples: Sequence[Example], shortest: int = 7, longest: int = 14) -> Example:
    """A text for the picture: short, classified correctly by both models, of median confidence, fit to be shown."""
    shown = preferred(examples)
    fitting = [e for e in shown if shortest <= len(e) <= longest] or shown
    plain, scaled = (fitted.predict(fitting) for fitted in pair)
    right = [
        i for i, e in enumerate(fitting) if plain.labels[i] == scaled.labels[i] == pair[0].classes[e.label]
    ] or list(range(len(fitting)))
    order = sorted(right, key=lambda i: (-scaled.probabilities[i].max(), i))
    return fitting[order[len(order) // 2]]


def picture_sentences(table: pd.DataFrame, predicted: str) -> list[str]:
    """The most attended word, and the one that adds most to the decision, without and with."""
    said = []
    for side, name in (("without", "Without TaSc"), ("with", "With Lin-TaSc")):
        top = table.loc[table[f"attention, {side}"].idxmax()]
        most = table.loc[table[f"adds, {side}"].idxmax()]
        adds = most[f"adds, {side}"]
        gives = f"“{most['token']}” adds most to “{predicted}” ({adds:+.2g})"
        if adds <= 0:
            gives = f"no word adds to “{predicted}”"
        said.append(
            f"{name}, attention is largest on “{top['token']}” ({top[f'attention, {side}']:.2f}), and {gives}."
        )
    return [" ".join(said)]


def checks(params: Params, results: Results) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips = results.flips
    fraction = flips[flips["metric"] == FRACTION]
    top = flips[flips["metric"] == TOP1]
    expected = len(params.corpora) * (
        len(params.encoders) * len(params.attentions) * len(params.variants) * len(params.seeds)
        + len(params.bert_attentions) * len(params.bert_variants) * len(params.bert_seeds)
    )
    models = results.labels[["dataset", "encoder", "attention", "variant", "seed"]].drop_duplicates()
    one = (fraction["value"].to_numpy() * fraction["length"].to_numpy()).round(6) == 1
    one &= (fraction["status"] != "never").to_numpy()
    sizes = results.parameters
    linear = sizes[sizes["variant"] == "lin"]
    return {
        "every model of the grid was measured": len(models) == expected and not len(results.grid.failures),
        "a fraction lies above 0 and is 1 at most": bool(fraction["value"].between(0, 1, inclusive="right").all()),
        "what flips only when empty has the fraction 1": bool(
            params.quirks or (fraction.loc[fraction["status"] == "only_when_empty", "value"] == 1).all()
        ),
        "the top token flips a text where the fraction is one token": bool(
            params.quirks or (one == (top["value"] == 100).to_numpy()).all()
        ),
        "Lin-TaSc adds one number per word": bool((linear["scaling"] == linear["vocabulary"]).all()),
    }


def _cell(cell: tuple[str, str, str]) -> str:
    """`imdb, LSTM with Dot`."""
    dataset, encoder, attention = cell
    return f"{dataset}, {NAMES.get(encoder, encoder)} with {NAMES.get(attention, attention)}"


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}"


def _between(row, digits: int = 3) -> str:
    low, high = (row["low"], row["high"]) if isinstance(row, pd.Series) else (row.low, row.high)
    return f"[{low:.{digits}f}, {high:.{digits}f}]"
