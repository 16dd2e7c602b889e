"""What Tutek & Šnajder say, and the rule by which each sentence is judged. The rules were fixed before the runs.

Changes of F1 are means over corpora, attentions and both replacements (uniform, permuted), in points of F1, paired
by text and seed. A claim whose models are not in the grid is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from attnlib import stats
from attnlib.claims import Claim
from attnlib.studies.common import claim, contrast
from attnlib.studies.tying_mlm import PAPER, REGULARISED, Results, main
from attnlib.studies.tying_mlm_frontier import frontier_gap
from attnlib.studies.tying_mlm_tables import (
    DROPS,
    Resampled,
    changes,
    correct,
    difference,
    entropies,
    f1_of,
)

SIMILAR = 3.0
"""Points of F1 within which two models count as similar: above the largest loss of Table 1, 2.7 (Anemia, MLM)."""
CONSTANT = 1.0
"""Points of F1 within which a replacement of attention counts as changing nothing."""
TEXTS = "test texts, summed over corpora"
SPELLED = {"tying": "tying", "mlm": "masked language modelling"}
Scores = dict[tuple, dict[str, Resampled]]


def claims(results: Results, setting: str) -> list[Claim]:
    """The ledger of the study."""
    said = {"paper": PAPER, "setting": setting}
    scores = scores_of(main(results.swaps), ["dataset", "attention", "variant"])
    present = [v for v in REGULARISED if any(key[2] == v for key in scores)]
    found = [_fragile(scores, v, said) for v in present] + [_similar(scores, v, said) for v in present]
    found += _information(results.information, present, said)
    found += _adversaries(results, present, said)
    found += _tokens(results.texts, present, said)
    found += _depth(results.swaps, said)
    found += _initialisation(results, said)
    found += _residual(scores, said)
    return found


def scores_of(swaps: pd.DataFrame, by: Sequence[str]) -> Scores:
    """F1 and its changes of every cell, as draws that pair across cells."""
    return {key: f1_of(part) for key, part in swaps.groupby(list(by), sort=False)}


def drop_gap(scores: Scores, a: str, b: str, metrics: Sequence[str] = DROPS) -> stats.Difference:
    """Variant a minus variant b, mean over corpora, attentions and metrics."""
    cells = [(d, k) for d, k, v in scores if v == a and (d, k, b) in scores]
    return difference([(scores[d, k, a][m], scores[d, k, b][m]) for d, k in cells for m in metrics])


def _fragile(scores: Scores, variant: str, said: dict) -> Claim:
    return claim(
        drop_gap(scores, variant, "base"),
        "less",
        id=f"tying_mlm-fragile-{variant}",
        claim=f"With {SPELLED[variant]}, F1 falls more than in the base model when attention is replaced.",
        where="section 4.1, Table 1",
        test=f"change of F1 under uniform and permuted attention, {variant} minus base, is below 0 points",
        n_of=TEXTS,
        **said,
    )


def _similar(scores: Scores, variant: str, said: dict) -> Claim:
    return claim(
        drop_gap(scores, variant, "base", ["f1_trained"]),
        "within",
        SIMILAR,
        id=f"tying_mlm-similar-{variant}",
        claim=f"With {SPELLED[variant]}, the model classifies about as well as the base model.",
        where="section 4.1, Table 1",
        test=f"F1 with trained attention, {variant} minus base, lies within {SIMILAR:g} points",
        n_of=TEXTS,
        **said,
    )


def _information(information: pd.DataFrame, present: Sequence[str], said: dict) -> list[Claim]:
    found = []
    for variant in present:
        table = contrast(information, "variant", variant, "base", pair=["dataset", "attention", "metric"])
        found.append(
            claim(
                table.iloc[0],
                "greater",
                id=f"tying_mlm-information-{variant}",
                claim=f"With {SPELLED[variant]}, hidden states share more information with their words.",
                where="section 4.2, Table 2",
                test=f"mutual information in nats (MF and RS), {variant} minus base, is above 0",
                n_of="models times samples of words",
                **said,
            )
        )
    return found


def _adversaries(results: Results, present: Sequence[str], said: dict) -> list[Claim]:
    distances = results.distances
    if distances.empty:
        return []
    bases = set(distances["variant"])
    # corpora may be attacked that no other claim looks at, and the other way round
    attacked, others = (list(dict.fromkeys(frame["dataset"])) for frame in (distances, results.swaps))
    where = "" if set(attacked) == set(others) else f"; adversaries on {', '.join(attacked)}"
    said = {**said, "setting": f"{said['setting']}; additive, one seed{where}"}
    return [
        claim(
            frontier_gap(distances, variant, "base"),
            "greater",
            id=f"tying_mlm-adversary-{variant}",
            claim=f"Against {SPELLED[variant]}, adversaries pay more TVD for the same JSD than against base.",
            where="section 4.3, Figure 1",
            test=f"mean TVD at equal JSD, adversaries of {variant} minus those of base, is above 0",
            n_of=TEXTS,
            **said,
        )
        for variant in present
        if {variant, "base"} <= bases
    ]


def _tokens(texts: pd.DataFrame, present: Sequence[str], said: dict) -> list[Claim]:
    table = changes(correct(main(texts)), present) if present else pd.DataFrame()
    return [
        claim(
            row,
            "less",
            id=f"tying_mlm-tokens-{variant}",
            claim=f"With {SPELLED[variant]}, single tokens alone give a lower probability of the prediction.",
            where="section 5, Table 3",
            test=f"mean per-token probability of texts both classify correctly, {variant} minus base, is below 0",
            n_of="texts times models",
            **said,
        )
        for variant, (_, row) in zip(present, table.iterrows(), strict=True)
    ]


def _depth(swaps: pd.DataFrame, said: dict) -> list[Claim]:
    part = swaps[swaps["chosen"] & (swaps["attention"] == "additive") & (swaps["variant"] == "base")]
    deepest = part["layers"].max()
    if deepest == 1:
        return []
    scores = scores_of(part, ["dataset", "layers"])
    pairs = [(scores[d, k][m], scores[d, 1][m]) for d, k in scores if k == deepest for m in DROPS]
    return [
        claim(
            difference(pairs),
            "greater",
            id="tying_mlm-depth",
            claim="With more layers, the base model depends less on its attention.",
            where="Appendix B, Table 6",
            test=f"change of F1 under replaced attention, {deepest} layers minus 1, is above 0 points",
            n_of=TEXTS,
            **{**said, "setting": f"{said['setting']}; additive"},
        )
    ]


def _initialisation(results: Results, said: dict) -> list[Claim]:
    weights = entropies(results.texts)
    if set(weights["init"]) != {"normal", "kaiming"}:
        return []
    said = {**said, "where": "Appendix C", "setting": f"{said['setting']}; dot, base"}
    swaps = results.swaps
    default = scores_of(swaps[swaps["init"] == "kaiming"], ["dataset"]).values()
    changed = [(score[metric], _nothing(score[metric])) for score in default for metric in DROPS]
    return [
        claim(
            contrast(weights, "init", "kaiming", "normal", pair=["dataset"]).iloc[0],
            "greater",
            id="tying_mlm-init-entropy",
            claim="Dot attention is nearer to uniform with torch's default start of its query than with N(0, 1).",
            test="normalised entropy of attention, default minus normal, is above 0",
            n_of="texts times models",
            **said,
        ),
        claim(
            difference(changed),
            "within",
            CONSTANT,
            id="tying_mlm-init-constant",
            claim="With the default start of the query, replacing dot attention leaves F1 as it is.",
            test=f"change of F1 under uniform and permuted attention lies within {CONSTANT:g} point",
            n_of=TEXTS,
            **said,
        ),
    ]


def _residual(scores: Scores, said: dict) -> list[Claim]:
    if not {"concat", "residual"} <= {key[2] for key in scores}:
        return []
    return [
        claim(
            drop_gap(scores, "residual", "concat"),
            "within",
            SIMILAR,
            id="tying_mlm-residual",
            claim="A residual connection behaves like concatenation when attention is replaced.",
            where="section 4.1 (omitted there for space)",
            test=f"change of F1 under replaced attention, residual minus concat, lies within {SIMILAR:g} points",
            n_of=TEXTS,
            **said,
        )
    ]


def _nothing(score: Resampled) -> Resampled:
    return score._replace(draws=0 * score.draws, estimate=0.0)
