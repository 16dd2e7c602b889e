"""Claims of Wen et al. 2022, each with its rule; the notebook says which rules changed after numbers were seen.

An interval over models needs two seeds and three models (`mutual_information_intervals`); without one a claim is
undetermined. Models that learned nothing (`idle`) decide nothing: they are left out, with their pairs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from attnlib import stats
from attnlib.claims import Claim, judge, together
from attnlib.narrate import plural
from attnlib.studies.common import claim, interval_text
from attnlib.studies.mutual_information import MAIN, NAMES, PAPER, Results
from attnlib.studies.mutual_information_intervals import (
    averaged,
    nothing,
    of_main,
    paired,
    plain,
    seed_gap,
    uniformity,
    without_bounds,
    without_idle,
)
from attnlib.studies.mutual_information_tables import gumbel_pairs, with_base

KEPT = 0.1
"""A change of tau below this is none: the largest the paper still calls so is 0.09 (Table 4)."""
STABLE = 0.05
"""The largest difference between seeds that the paper reports."""
MOVED = 0.19
"""Distance (mean JSD, nats) from which the attention of adversaries counts as moved: the paper's lowest is 0.194
(Table 3, ADR). Attention that stayed where it was follows information because its base does."""
LOST = 0.03
"""A mean loss of accuracy below this is none: the paper's largest is 0.02 (20 Newsgroups, Tables 1 and 3). A model
that lost more no longer gives its base's outputs."""
CLOSE = 0.1
"""Outputs of mean TVD / 2 up to this are close. A bound of ours: the largest in the paper is 0.037 (Table 3)."""
PAIRS = "pairs of models"


def claims(results: Results, setting: str) -> list[Claim]:
    """The ledger of the study; what this run has no models for is undetermined."""
    said = {"paper": PAPER, "setting": setting, "n_of": "models"}
    taus = without_idle(results.taus)
    return [
        _tracks(taus, said),
        _above_dot(taus, "additive", 2, said),
        _above_dot(taus, "deep", 3, said),
        _best(taus, said),
        _fixed_attention(taus, said),
        _fixed_representation(taus, said),
        _adversaries(taus, results.apart, said),
        _gumbel(taus, said),
        _uniform(taus, said),
        _stable(taus, said),
    ]


def _tracks(taus: pd.DataFrame, said: dict) -> Claim:
    part = plain(taus)
    part = part[part["attention"] == "additive"]
    found = averaged(part.assign(all="all"), ["all"]).iloc[0] if len(part) else nothing()
    return claim(
        found,
        "greater",
        0.0,
        id="mutual-information-1",
        claim="The more a state is attended, the more it tells of the output (additive attention)",
        where="section 4, Figure 2",
        test="mean weighted τ over corpora, encoders and seeds is above 0",
        **said,
    )


def _above_dot(taus: pd.DataFrame, attention: str, number: int, said: dict) -> Claim:
    part = plain(taus)
    there = {attention, "dot"} <= set(part["attention"])
    found = paired(part, "attention", attention, "dot", pair=["dataset", "encoder"]).iloc[0] if there else nothing()
    return claim(
        found,
        "greater",
        0.0,
        id=f"mutual-information-{number}",
        claim=f"{NAMES[attention]} attention follows information better than dot attention",
        where="section 4, averages",
        test="difference of τ, paired by corpus, encoder and seed, is above 0",
        **{**said, "n_of": PAIRS},
    )


def _best(taus: pd.DataFrame, said: dict) -> Claim:
    """One cell against every other; the rival that decides is reported, and one that is surely better refutes."""
    part = plain(taus)
    part = part.assign(cell=part["encoder"] + "+" + part["attention"])
    best = "+".join(MAIN)
    rivals = [c for c in dict.fromkeys(part["cell"]) if c != best]
    words = {
        "id": "mutual-information-4",
        "claim": "BiLSTM with additive attention follows information best",
        "where": "section 4, Figure 2",
        "test": "its τ minus that of each other encoder with each attention, paired by corpus and seed, is above 0",
    }
    said = {**said, "n_of": PAIRS}
    if best not in set(part["cell"]) or not rivals:
        return claim(nothing(), "greater", **words, **said)
    met = {rival: _shared(part, best, rival) for rival in rivals}
    rows = [
        paired(both, "cell", best, rival, pair=["dataset"]).iloc[0] if len(both) else pd.Series(_never(best, rival))
        for rival, both in met.items()
    ]
    verdicts = [judge(row["low"], row["high"], "greater") for row in rows]
    verdict = together(verdicts)
    deciding = [row for row, own in zip(rows, verdicts, strict=True) if own == verdict]
    shown = min(deciding, key=lambda row: row["estimate"] if row["n"] else float("inf"))
    rival = shown["contrast"].partition(" - ")[2]
    setting = f"{said['setting']}; of {plural(len(rivals), 'rival')} the one that decides is shown: {rival}"
    return claim(shown, "greater", **words, **{**said, "setting": setting})


def _shared(part: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Rows of two cells on the corpora that have both."""
    both = set.intersection(*(set(part.loc[part["cell"] == c, "dataset"]) for c in (a, b)))
    return part[part["cell"].isin([a, b]) & part["dataset"].isin(both)]


def _never(a: str, b: str) -> dict[str, Any]:
    return {"contrast": f"{a} - {b}", **nothing()._asdict()}


def _fixed_attention(taus: pd.DataFrame, said: dict) -> Claim:
    return claim(
        _pooled(with_base(taus, "fix_attention"), "fix_attention"),
        "greater",
        0.0,
        id="mutual-information-5",
        claim="With attention fixed at random, τ drops: the encoder does not bring information to the weights",
        where="section 5.1, Table 2, Fix Attn",
        test="τ as trained minus τ with frozen attention, paired by corpus and seed, is above 0",
        **{**said, "n_of": PAIRS},
    )


def _fixed_representation(taus: pd.DataFrame, said: dict) -> Claim:
    return _keeps(
        taus,
        "fix_representation",
        id="mutual-information-6",
        claim="With the representation fixed and attention learned anew, τ does not drop",
        where="section 5.1, Table 2, Fix Rep",
        test=f"τ as trained minus τ with frozen embedding and encoder, paired by corpus and seed, is below {KEPT}, "
        "and mean τ with these frozen is above 0",
        **said,
    )


def _adversaries(taus: pd.DataFrame, apart: pd.DataFrame, said: dict) -> Claim:
    """Over the corpora whose adversaries are adversaries; with none the claim is undetermined."""
    silent = silent_adversaries(apart)
    there = with_base(taus, "adversary_unfrozen")["dataset"].unique()
    heard = [name for name in there if not silent.get(name, True)]
    if unheard := [str(name) for name in there if name not in heard]:
        left = "left out" if heard else "shown, and decides nothing"
        said = {**said, "setting": f"{said['setting']}; no adversaries in this sense, {left}: {', '.join(unheard)}"}
    entry = _keeps(
        taus[taus["dataset"].isin(heard or there)],
        "adversary_unfrozen",
        id="mutual-information-7",
        claim="Adversarial attention still follows information",
        where="section 5.2, Table 4",
        test=f"τ of the base minus τ of its adversary, paired by corpus and seed, is below {KEPT}, and mean τ of "
        "the adversaries is above 0; a corpus counts only where its adversaries moved their attention (mean JSD "
        f"{MOVED} at least), stayed close in their outputs (mean TVD / 2 at most {CLOSE}, a bound of ours) and "
        f"kept their accuracy (mean loss below {LOST})",
        **said,
    )
    return entry if heard else replace(entry, verdict="undetermined")


def silent_adversaries(apart: pd.DataFrame) -> dict[str, bool]:
    """Corpus -> whether its adversaries show nothing: attention hardly moved, outputs far, or accuracy lost."""
    if not len(apart):
        return {}
    means = apart.groupby("dataset")[["jsd", "tvd", "right_base", "right_adversary"]].mean()
    lost = means["right_base"] - means["right_adversary"]
    return (~((means["jsd"] >= MOVED) & (means["tvd"] / 2 <= CLOSE) & (lost < LOST))).to_dict()


def _keeps(taus: pd.DataFrame, variant: str, **said: Any) -> Claim:
    """τ is kept in a special setting, and there is a τ to keep: what was never above 0 cannot drop."""
    both = with_base(taus, variant)
    own = averaged(both[both["variant"] == variant], ["variant"])
    mean = own.iloc[0] if len(own) else {**nothing()._asdict(), "value": float("nan")}
    text = interval_text(pd.DataFrame([dict(mean)]))[0]
    said |= {"n_of": PAIRS, "setting": f"{said['setting']}; mean τ there {text}"}
    entry = claim(_pooled(both, variant), "less", KEPT, **said)
    return replace(entry, verdict=together([entry.verdict, judge(mean["low"], mean["high"], "greater")]))


def _pooled(both: pd.DataFrame, variant: str) -> Any:
    """The difference of the base to a special setting over all corpora."""
    return paired(both, "variant", "none", variant, pair=["dataset"]).iloc[0] if len(both) else nothing()


def _gumbel(taus: pd.DataFrame, said: dict) -> Claim:
    pairs = gumbel_pairs(taus)
    kept = pairs["kept"].astype(float).to_numpy()
    found = without_bounds(stats.bootstrap(kept)) if len(pairs) else nothing()
    return claim(
        found,
        "greater",
        0.5,
        id="mutual-information-8",
        claim="Gumbel-softmax raises τ, or leaves it, in most settings",
        where="section 5.3, Table 5",
        test="the share of settings (corpus, encoder, attention) whose τ does not fall is above one half",
        **{**said, "n_of": "settings"},
    )


def _uniform(taus: pd.DataFrame, said: dict) -> Claim:
    return claim(
        uniformity(taus),
        "less",
        0.0,
        id="mutual-information-9",
        claim="Models whose attention is nearer to uniform follow information less",
        where="section 5.3",
        test="Kendall τ-b of τ with the mean normalised entropy of attention, over the models of a corpus with "
        "three settings (encoder, attention) at least, is below 0",
        **{**said, "n_of": "settings"},
    )


def _stable(taus: pd.DataFrame, said: dict) -> Claim:
    return claim(
        seed_gap(of_main(plain(taus)))[0],
        "less",
        STABLE,
        id="mutual-information-10",
        claim="τ of BiLSTM with additive attention hardly depends on the seed",
        where="section 4",
        test=f"mean absolute difference of τ over pairs of seeds is below {STABLE}, the paper's largest",
        **{**said, "n_of": "pairs of seeds"},
    )
