"""What the notebook says about its numbers: sentences computed from the study's frames, and its checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.beside import reference
from attnlib.studies.common import DIFFERS, missing
from attnlib.studies.datasets import kin
from attnlib.studies.f1 import about_idle
from attnlib.studies.tying_mlm.grid import MI_PAPER, Params, Results, models
from attnlib.studies.tying_mlm.pairs import unlearned
from attnlib.studies.tying_mlm.tables import DROPS, NAMES
from attnlib.utils.text import percent, plural

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.viz.heatmap import Reading


def about_corpora(corpora: Iterable[Corpus]) -> list[str]:
    """How our texts differ from those whose numbers the paper prints."""
    names = [corpus.name for corpus in corpora]
    printed = set(reference("tying_mlm", 5)["dataset"])
    told = [DIFFERS[name] for name in names if name in DIFFERS]
    return told + [f"The paper has no corpus like {name}." for name in names if kin(name) not in printed]


def about_runs(results: Results) -> list[str]:
    """What was computed, what is missing, where training stopped, and which models learned nothing."""
    kept = results.kept
    at_end = (kept["epoch"] == kept["epochs"]).mean()
    told = [
        results.grid.summary,
        f"{plural(len(kept), 'classifier')}: the epoch kept is {kept['epoch'].mean():.1f} on average; in "
        f"{percent(at_end)} of the trainings it is the last one run, where more epochs might still have helped.",
    ]
    return [*told, *missing(results.grid), *about_idle(unlearned(results.swaps), len(kept))]


def about_drops(table: pd.DataFrame, gaps: pd.DataFrame) -> list[str]:
    """Mean drop of every variant, and which differences from base survive Holm's correction."""
    mean = table[table["metric"].isin(DROPS)].groupby("variant", sort=False)["value"].mean()
    f1 = table[table["metric"] == "f1_trained"].groupby("variant", sort=False)["value"].mean()
    listed = "; ".join(f"{v} {f1[v]:.1f}, {mean[v]:+.1f}" for v in mean.index)
    over = " and corpora" if len(set(table["dataset"])) > 1 else ""
    told = [
        "F1 with trained attention, and its change under replaced attention, in points, mean over attentions"
        f"{over}: {listed}."
    ]
    part = gaps[gaps["metric"].isin(DROPS)]
    for variant, rows in part.groupby("variant", sort=False):
        clear = rows[(rows["p_holm"] < 0.05)]
        more, less = (clear["estimate"] < 0).sum(), (clear["estimate"] > 0).sum()
        told.append(
            f"**{variant}** loses {_more(-rows['estimate'].mean())} base on average; of "
            f"{plural(len(rows), 'comparison')}, {more} significantly more and {less} significantly less (Holm)."
        )
    return told


def about_paper(table: pd.DataFrame) -> list[str]:
    """Whether our numbers go the paper's way, where it prints one."""
    known = table.dropna(subset=["paper"])
    if known.empty:
        return ["The paper prints no numbers for this corpus or one like it."]
    drops = known[known["metric"].isin(DROPS)]
    same = np.sign(drops["value"]) == np.sign(drops["paper"])
    tau = stats.kendall_tau(drops["value"], drops["paper"])
    return [
        f"Of {plural(len(drops), 'drop')}, {int(same.sum())} have the paper's sign. Kendall's τ between ours and "
        f"the paper's drops is {tau:.2f} (n = {len(drops)})."
    ]


def about_information(table: pd.DataFrame, gaps: pd.DataFrame) -> list[str]:
    """How much of a word its state keeps, above what bias alone gives."""
    told = []
    for (dataset, metric), rows in table.groupby(["dataset", "metric"], sort=False):
        rows = rows.set_index("variant")
        kept = "; ".join(
            f"{v} {r['value']:.2f} ({percent(r['above'] / (r['ceiling'] - r['floor']))} of what is possible)"
            for v, r in rows.iterrows()
        )
        told.append(
            f"{_corpus(table, dataset)}**{NAMES[metric]}**, {int(rows['words'].max())} words, "
            f"k = {int(rows['k'].max())}, {int(rows['occurrences'].max()):,} occurrences: {kept}. Shuffled labels "
            f"give {rows['floor'].mean():.2f}, perfect knowledge {rows['ceiling'].mean():.2f} nats; shares count "
            "from the shuffled value."
        )
    for row in gaps.itertuples():
        what = row.contrast.replace(" - ", " minus ")
        told.append(f"{what}: {row.estimate:+.2f} nats, 95% CI [{row.low:.2f}, {row.high:.2f}], n = {row.n}.")
    return told


def about_clustering(params: Params) -> str:
    """How our mutual information was made and how the paper's, and so what can be compared."""
    ours = (params.mi_words, params.mi_clusters, params.mi_batch, params.mi_occurrences)
    if ours == MI_PAPER:
        return (
            "Words, clusters, batches and occurrences are as many as in the paper, so sizes can be compared where "
            "the texts are the paper's own."
        )
    (words, k, batch, most), paper = ours, MI_PAPER
    return (
        f"Here: {words:,} words, k = {k:,}, batches of {batch:,}, {_most(most)} occurrences. The paper: "
        f"{paper[0]:,} words, k = {paper[1]:,}, batches of {paper[2]}, {_most(paper[3])}. All of these change the "
        "size of mutual information, so compare the order of the variants with the paper's, not the values."
    )


def about_residual(gaps: pd.DataFrame) -> list[str]:
    """Whether word vectors written into the state raise what it is found to know, as one would expect."""
    row = gaps[gaps["contrast"] == "residual - base"]
    if row.empty:
        return []
    low, high = row["low"].iloc[0], row["high"].iloc[0]
    found = "raise" if low > 0 else "lower" if high < 0 else "neither clearly raise nor lower"
    return [
        f"Word vectors added to the state (residual) {found} the information it is found to share with its word."
    ]


def about_adversaries(table: pd.DataFrame, gaps: Mapping[str, stats.Difference]) -> list[str]:
    """What fooling each variant costs beyond fooling base, at equal JSD."""
    if table.empty:
        return ["There is no adversary: none was asked for (`lambdas`, `adversary_bases`), or every one failed."]
    told = []
    for variant, gap in gaps.items():
        if np.isnan(gap.estimate):
            told.append(
                f"The curves of {variant} and base share no JSD (in one corpus at least), so nothing is compared."
            )
            continue
        told.append(
            f"At equal JSD, fooling {variant} changes outputs by {abs(gap.estimate):.3f} TVD "
            f"{'more' if gap.estimate >= 0 else 'less'} than fooling base ({gap.estimate:+.3f}, 95% CI "
            f"[{gap.low:.3f}, {gap.high:.3f}], n = {gap.n:,} texts). Each rests on one training, so no claim is "
            "decided."
        )
    return told


def about_tokens(gaps: pd.DataFrame) -> list[str]:
    """Paired differences of the per-token probability."""
    return [
        f"{row.contrast.replace(' - ', ' minus ')}, on texts both classify correctly: {row.estimate:+.3f}, 95% CI "
        f"[{row.low:.3f}, {row.high:.3f}], n = {row.n:,}."
        for row in gaps.itertuples()
    ]


def about_sentence(readings: Mapping[str, Reading]) -> str:
    """How many tokens alone would give the answer of the whole, for each model."""
    told = []
    for name, reading in readings.items():
        answer = reading.probabilities[reading.target] > 0.5
        agree = ((reading.rows["probability"] > 0.5) == answer).mean()
        top = reading.tokens[int(reading.rows["alpha"].argmax())]
        told.append(
            f"{name}: {percent(agree)} of the tokens alone give the answer of the whole; most attended: “{top}”"
        )
    return "; ".join(told) + "."


def checks(results: Results, params: Params, corpora: Mapping[str, Corpus]) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does. corpora: by name in tables."""
    swaps, texts, information = results.swaps, results.texts, results.information
    trained = swaps[swaps["swap"] == "trained"]
    keys = ["dataset", "attention", "variant", "layers", "strength", "init", "seed"]
    draws = swaps.groupby([*keys, "swap"])["draw"].nunique()
    stated = draws.index.get_level_values("swap").map({"permuted": params.permutations}).fillna(1)
    expected = Counter()
    read = {params.data(name): corpora[name] for name in params.corpora}
    for model in models(params):
        expected[read[model.data].name] += len(read[model.data].test)
    return {
        "every model answered every test text": all(
            Counter(frame["dataset"]) == expected for frame in (trained, texts)
        ),
        "trained attention changes nothing": float(trained["change"].max()) < 1e-5,
        "every model met one uniform and the stated permutations": bool(
            (draws.to_numpy() == stated.to_numpy()).all()
        ),
        "both measures of a model agree on its predictions": _same_predictions(trained, texts, keys),
        "entropies and probabilities are shares": all(
            texts[name].dropna().between(0, 1).all() for name in ("entropy", "token_probability", "confidence")
        ),
        "information lies between zero and the entropy of the words": bool(
            information["value"].between(0, information["ceiling"] + 1e-9).all()
        ),
        "divergences keep to their ranges": results.distances.empty
        or bool(
            results.distances["jsd"].dropna().between(0, stats.LN2).all()
            and results.distances["tvd"].between(0, 1).all()
        ),
    }


def _same_predictions(trained: pd.DataFrame, texts: pd.DataFrame, keys: list[str]) -> bool:
    sides = [frame.set_index([*keys, "instance"])["prediction"].sort_index() for frame in (trained, texts)]
    return sides[0].equals(sides[1])


def _corpus(table: pd.DataFrame, dataset: str) -> str:
    """The data set a sentence is about, where the table holds several."""
    return f"{dataset}: " if len(set(table["dataset"])) > 1 else ""


def _most(occurrences: int | None) -> str:
    return "all" if occurrences is None else f"at most {occurrences:,}"


def _more(value: float) -> str:
    """Of two losses, one minus the other, in front of the other's name."""
    if f"{abs(value):.1f}" == "0.0":
        return "as much as"
    return f"{abs(value):.1f} points {'more' if value > 0 else 'less'} than"
