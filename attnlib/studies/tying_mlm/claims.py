"""What Tutek & Šnajder say, and the rule by which each sentence is judged. The rules were fixed before the runs.

Changes of F1 are means over corpora, attentions and both replacements (uniform, permuted), in points of F1, paired
by text and seed, over the seeds on which both models learned something (`f1.idle`). A claim is not tested where its
models are not part of the run or learned nothing, and where it rests on a single training of each side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from attnlib.studies.common import claim, contrast
from attnlib.studies.f1 import RULE, without
from attnlib.studies.ledger import Claim, Direction, not_tested
from attnlib.studies.tying_mlm.frontier import frontier_gap
from attnlib.studies.tying_mlm.grid import PAPER, REGULARISED, Results, main
from attnlib.studies.tying_mlm.pairs import Pair, gap, paired, seeds_of, unlearned, weight_note, weight_table
from attnlib.studies.tying_mlm.tables import DROPS, Resampled, correct, entropies, f1_of

SIMILAR = 3.0
"""Points of F1 within which two models count as similar: above the largest loss of Table 1, 2.7 (Anemia, MLM)."""
CONSTANT = 1.0
"""Points of F1 within which a replacement of attention counts as changing nothing."""
TEXTS = "test texts, summed over corpora"
SPELLED = {"tying": "tying", "mlm": "masked language modelling"}
ONE = "It rests on one training of each side (one seed), and two trainings differ by chance too: more are needed."


def claims(results: Results, setting: str) -> list[Claim]:
    """The ledger of the study."""
    said = {"paper": PAPER, "setting": setting}
    idle = unlearned(results.swaps)
    learned = replace(
        results,
        **{name: without(getattr(results, name), idle) for name in ("swaps", "texts", "information", "distances")},
    )
    weights = weight_table(learned.swaps)
    found: dict[str, list[Claim]] = {
        name: [] for name in ("fragile", "similar", "information", "adversary", "tokens")
    }
    for variant in REGULARISED:
        pairs = paired(main(learned.swaps), "variant", variant, "base", ["dataset", "attention"])
        why = _why(results.swaps, "variant", variant, "base")
        found["fragile"].append(_fragile(pairs, variant, why, weights, said))
        found["similar"].append(_similar(pairs, variant, why, weights, said))
        found["information"].append(_information(learned.information, variant, why, said))
        found["adversary"].append(_adversary(learned, results, variant, said))
        found["tokens"].append(_tokens(learned.texts, variant, why, said))
    ledger = [one for group in found.values() for one in group]
    return [
        *ledger,
        _depth(learned.swaps, said),
        *_initialisation(learned, said),
        _residual(learned, results, said),
    ]


def _why(frame: pd.DataFrame, column: str, *sides: object, models: str = "") -> str:
    """Why two kinds of models cannot be compared: they are not part of the run, or they learned nothing."""
    absent = [str(side) for side in sides if not (frame[column] == side).any()] if len(frame) else list(sides)
    if absent:
        return f"This run has no {models or f'models with {column}'} {' and '.join(map(str, absent))}."
    return f"On every seed a model of one kind or both learned nothing ({RULE})."


def _compared(
    pairs: list[Pair],
    metrics: Sequence[str],
    direction: Direction,
    border: float = 0.0,
    *,
    why: str,
    note: str = "",
    **said: object,
) -> Claim:
    """A claim on a difference of F1, not tested without pairs or with a single training of each side."""
    if seeds_of(pairs) < 2:
        return not_tested(ONE if pairs else why, n_of=TEXTS, **said)
    return claim(gap(pairs, metrics), direction, border, n_of=TEXTS, note=note, **said)


def _contrasted(
    frame: pd.DataFrame,
    column: str,
    a: str,
    b: str,
    pair: Sequence[str],
    direction: Direction,
    why: str,
    **said: object,
) -> Claim:
    """A claim on a paired difference of means, not tested without pairs or with a single training of each side."""
    cell = [*pair, "seed"]
    both = frame[frame[column].isin([a, b])]
    both = both[both.groupby(cell)[column].transform("nunique") == 2] if len(both) else both
    if both.empty or both["seed"].nunique() < 2:
        return not_tested(why if both.empty else ONE, **said)
    return claim(contrast(both, column, a, b, pair=pair).iloc[0], direction, **said)


def _fragile(pairs: list[Pair], variant: str, why: str, weights: pd.DataFrame, said: dict) -> Claim:
    return _compared(
        pairs,
        DROPS,
        "less",
        why=why,
        note=weight_note(weights, variant, "drops"),
        id=f"tying_mlm-fragile-{variant}",
        claim=f"With {SPELLED[variant]}, F1 falls more than in the base model when attention is replaced.",
        where="section 4.1, Table 1",
        test=f"change of F1 under uniform and permuted attention, {variant} minus base, is below 0 points",
        **said,
    )


def _similar(pairs: list[Pair], variant: str, why: str, weights: pd.DataFrame, said: dict) -> Claim:
    return _compared(
        pairs,
        ["f1_trained"],
        "within",
        SIMILAR,
        why=why,
        note=weight_note(weights, variant, "f1"),
        id=f"tying_mlm-similar-{variant}",
        claim=f"With {SPELLED[variant]}, the model classifies about as well as the base model.",
        where="section 4.1, Table 1",
        test=f"F1 with trained attention, {variant} minus base, lies within {SIMILAR:g} points",
        **said,
    )


def _information(information: pd.DataFrame, variant: str, why: str, said: dict) -> Claim:
    return _contrasted(
        information,
        "variant",
        variant,
        "base",
        ["dataset", "attention", "metric"],
        "greater",
        why,
        id=f"tying_mlm-information-{variant}",
        claim=f"With {SPELLED[variant]}, hidden states share more information with their words.",
        where="section 4.2, Table 2",
        test=f"mutual information in nats (MF and RS), {variant} minus base, is above 0",
        n_of="models × samples of words",
        **said,
    )


def _adversary(learned: Results, results: Results, variant: str, said: dict) -> Claim:
    """Never decided: the study trains one adversary for each base and λ, and two trainings differ by chance too."""
    distances = learned.distances
    attacked, others = (list(dict.fromkeys(f.get("dataset", ()))) for f in (results.distances, results.swaps))
    # corpora may be attacked that no other claim looks at, and the other way round
    where = "" if set(attacked) == set(others) else f"; adversaries on {', '.join(attacked) or 'no corpus'}"
    said = {
        **said,
        "setting": f"{said['setting']}; additive, one seed{where}",
        "id": f"tying_mlm-adversary-{variant}",
        "claim": f"Fooling a model with {SPELLED[variant]} changes its outputs more, at the same distance of "
        "attentions, than fooling the base model.",
        "where": "section 4.3, Figure 1",
        "test": f"mean TVD at equal JSD, adversaries of {variant} minus those of base, is above 0",
        "n_of": TEXTS,
    }
    if distances.empty or not {variant, "base"} <= set(distances["variant"]):
        return not_tested(_why(results.distances, "variant", variant, "base", models="adversaries of"), **said)
    found = frontier_gap(distances, variant, "base")
    measured = (
        "The two curves share no JSD."
        if math.isnan(found.estimate)
        else f"Measured over the texts of that seed: {found.estimate:+.3f} TVD, 95% CI [{found.low:.3f}, "
        f"{found.high:.3f}], n = {found.n:,}; this interval leaves out the chance of training."
    )
    return not_tested(f"{ONE} {measured}", **said)


def _tokens(texts: pd.DataFrame, variant: str, why: str, said: dict) -> Claim:
    return _contrasted(
        correct(main(texts)),
        "variant",
        variant,
        "base",
        ["dataset", "attention"],
        "less",
        why,
        id=f"tying_mlm-tokens-{variant}",
        claim=f"With {SPELLED[variant]}, single tokens alone give a lower probability of the prediction.",
        where="section 5, Table 3",
        test=f"mean per-token probability of texts both classify correctly, {variant} minus base, is below 0",
        n_of="texts × models",
        **said,
    )


def _depth(swaps: pd.DataFrame, said: dict) -> Claim:
    part = swaps[swaps["chosen"] & (swaps["attention"] == "additive") & (swaps["variant"] == "base")]
    deepest = int(part["layers"].max()) if len(part) else 1
    return _compared(
        paired(part, "layers", deepest, 1, ["dataset"]) if deepest > 1 else [],
        DROPS,
        "greater",
        why="No base model with more than one layer is part of this run, or none learned something.",
        id="tying_mlm-depth",
        claim="With more layers, the base model depends less on its attention.",
        where="Appendix B, Table 6",
        test="change of F1 under replaced attention, most layers minus one, is above 0 points",
        **{**said, "setting": f"{said['setting']}; additive" + (f", {deepest} layers" if deepest > 1 else "")},
    )


def _initialisation(results: Results, said: dict) -> list[Claim]:
    said = {**said, "where": "Appendix C", "setting": f"{said['setting']}; dot, base"}
    default = [f1_of(part) for _, part in _kaiming(results.swaps).groupby("dataset", sort=False)]
    why = "No pair of base models with dot attention and either start is part of this run and learned something."
    return [
        _contrasted(
            entropies(results.texts),
            "init",
            "kaiming",
            "normal",
            ["dataset"],
            "greater",
            why,
            id="tying_mlm-init-entropy",
            claim="Dot attention is nearer to uniform with torch's default start of its query than with N(0, 1).",
            test="normalised entropy of attention, default minus normal, is above 0",
            n_of="texts × models",
            **said,
        ),
        _compared(
            [(score, {name: _nothing(one) for name, one in score.items()}) for score in default],
            DROPS,
            "within",
            CONSTANT,
            why=why,
            id="tying_mlm-init-constant",
            claim="With the default start of the query, replacing dot attention leaves F1 as it is.",
            test=f"change of F1 under uniform and permuted attention lies within {CONSTANT:g} point",
            **said,
        ),
    ]


def _residual(learned: Results, results: Results, said: dict) -> Claim:
    return _compared(
        paired(main(learned.swaps), "variant", "residual", "concat", ["dataset", "attention"]),
        DROPS,
        "within",
        SIMILAR,
        why=_why(results.swaps, "variant", "residual", "concat"),
        id="tying_mlm-residual",
        claim="A residual connection behaves like concatenation when attention is replaced.",
        where="section 4.1 (omitted there for space)",
        test=f"change of F1 under replaced attention, residual minus concat, lies within {SIMILAR:g} points",
        **said,
    )


def _kaiming(swaps: pd.DataFrame) -> pd.DataFrame:
    return swaps[swaps["init"] == "kaiming"]


def _nothing(score: Resampled) -> Resampled:
    return score._replace(draws=0 * score.draws, estimate=0.0)
