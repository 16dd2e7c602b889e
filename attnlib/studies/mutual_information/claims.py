"""Claims of Wen et al. 2022, each with its rule; the notebook says which rules changed after numbers were seen.

An interval over models needs two seeds and three models, and is widened where they are few
(`mutual_information_intervals`); without one a claim is undetermined. Models that learned nothing (`idle`) or were
measured on too few texts decide nothing: they are left out, with their pairs, and a claim without models is not
tested. Verdicts rest on the paper's estimate of information; where a claim is
about the level or order of tau, its setting tells the same effect by two other estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from attnlib.studies.common import claim, spell_interval
from attnlib.studies.datasets import short
from attnlib.studies.ledger import Claim, judge, not_tested, together
from attnlib.studies.mutual_information.grid import MAIN, NAMES, PAPER, Results
from attnlib.studies.mutual_information.intervals import (
    averaged,
    nothing,
    of_main,
    paired,
    plain,
    seed_gap,
    share,
    tasks_apart,
    uniformity,
    without_idle,
)
from attnlib.studies.mutual_information.tables import gumbel_pairs, with_base
from attnlib.utils.text import plural

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
"""Outputs of mean TVD, halved with two classes, up to this are close. A bound of ours: the largest in the paper is
0.037 (Table 3)."""
PAIRS = "pairs of models"
ONE = {"models": "model", PAIRS: "pair of models", "settings": "setting", "pairs of seeds": "pair of seeds"}
"""What n counts, where it is one."""
OTHERS = {"tau_shuffled": "minus shuffled", "tau_neighbours": "nearest neighbours"}
"""Other estimates of information whose effect is told next to that of the paper's."""
NEEDED = {
    "1": "models with additive attention",
    "2": "pairs of models with additive and with dot attention",
    "3": "pairs of models with deep and with dot attention",
    "4": "BiLSTM with additive attention, and a rival",
    "5": "pairs of BiLSTM with additive attention as trained and with attention fixed",
    "6": "pairs of BiLSTM with additive attention as trained and with the representation fixed",
    "7": "pairs of BiLSTM with additive attention and an adversary",
    "8": "pairs of models with softmax and with Gumbel-softmax",
    "9": "models with a τ and an entropy",
    "10": "two seeds of BiLSTM with additive attention",
    "11": "pairs of models with additive and with deep attention",
    "12": "models of one kind on texts to classify and on texts with a query",
}
"""What each claim needs."""
FEW = "; the interval is widened for few cells and seeds"


def claims(results: Results, setting: str) -> list[Claim]:
    """The ledger of the study; what this run has no models for is not tested, and says why."""
    said = {"paper": PAPER, "setting": setting, "n_of": "models"}
    taus = without_idle(results.taus)
    found = [
        _tracks(taus, said),
        _above(taus, "additive", "dot", 2, said),
        _above(taus, "deep", "dot", 3, said),
        _best(taus, said),
        _fixed_attention(taus, said),
        _fixed_representation(taus, said),
        _adversaries(taus, results.apart, said),
        _gumbel(taus, said),
        _uniform(taus, said),
        _stable(taus, said),
        _above(taus, "additive", "deep", 11, said),
        _queries(taus, said),
    ]
    found = [replace(own, n_of=ONE.get(own.n_of, own.n_of)) if own.n == 1 else own for own in found]
    return [own if own.n else _untested(own, _why(results.taus, own.id)) for own in found]


def _untested(own: Claim, why: str) -> Claim:
    kept = ("id", "paper", "claim", "where", "test", "setting", "n_of")
    return not_tested(own.note or why, **{name: getattr(own, name) for name in kept})


def _why(taus: pd.DataFrame, name: str) -> str:
    """Why a claim has no models to decide it."""
    if taus["thin"].all():
        return "Every corpus of this run has too few test texts for the numbers of clusters asked for."
    if not len(without_idle(taus)):
        return "No model with enough texts is more accurate than always predicting the most frequent class."
    return f"Not in this run, or learned nothing: {NEEDED[name.rpartition('-')[2]]}."


def _by_estimates(taus: pd.DataFrame, effect: Callable[[pd.DataFrame], Any], **said: Any) -> Claim:
    """The claim that an effect is above 0; its setting tells the effect by other estimates, and where signs differ.

    effect: frame of models with `value` -> a row with its estimate (or value), low, high and n
    """
    entry = claim(effect(taus), "greater", 0.0, **said)
    if not entry.n:
        return entry
    other = {
        name: claim(effect(taus.assign(value=taus[column])), "greater", 0.0, **said).effect
        for column, name in OTHERS.items()
    }
    note = "by other estimates " + ", ".join(f"{value:+.2f} ({name})" for name, value in other.items())
    if turned := [name for name, value in other.items() if value * entry.effect < 0]:
        note += f"; the sign differs with {' and '.join(turned)}"
    return replace(entry, setting=f"{entry.setting}; {note}")


def _tracks(taus: pd.DataFrame, said: dict) -> Claim:
    part = plain(taus)
    part = part[part["attention"] == "additive"].assign(all="all")
    return _by_estimates(
        part,
        lambda own: averaged(own, ["all"]).iloc[0] if len(own) else nothing(),
        id="mutual-information-1",
        claim="The more a state is attended, the more it tells of the output (additive attention)",
        where="section 4, Figure 2",
        test=f"mean weighted τ over corpora, encoders and seeds is above 0{FEW}",
        **said,
    )


def _above(taus: pd.DataFrame, better: str, worse: str, number: int, said: dict) -> Claim:
    part = plain(taus)
    there = {better, worse} <= set(part["attention"])

    def effect(own: pd.DataFrame) -> Any:
        return paired(own, "attention", better, worse, pair=["dataset", "encoder"]).iloc[0] if there else nothing()

    return _by_estimates(
        part,
        effect,
        id=f"mutual-information-{number}",
        claim=f"{NAMES[better]} attention follows information better than {NAMES[worse].lower()} attention",
        where="section 4, averages",
        test=f"difference of τ, paired by corpus, encoder and seed, is above 0{FEW}",
        **{**said, "n_of": PAIRS},
    )


def _best(taus: pd.DataFrame, said: dict) -> Claim:
    """One cell against every other; the rival that decides is reported, and one that is surely better refutes."""
    part = plain(taus)
    part = part.assign(cell=part["encoder"].map(NAMES) + " with " + part["attention"].map(NAMES))
    best = " with ".join(NAMES[name] for name in MAIN)
    rivals = [c for c in dict.fromkeys(part["cell"]) if c != best]
    words = {
        "id": "mutual-information-4",
        "claim": "BiLSTM with additive attention follows information best",
        "where": "section 4, Figure 2",
        "test": "its τ minus that of each other encoder with each attention, paired by corpus and seed, is above 0"
        + FEW,
    }
    said = {**said, "n_of": PAIRS}
    if best not in set(part["cell"]) or not rivals:
        return claim(nothing(), "greater", **words, **said)
    rows = {rival: _against(part, best, rival) for rival in rivals}
    verdicts = {rival: judge(row["low"], row["high"], "greater") for rival, row in rows.items()}
    deciding = [rival for rival in rivals if verdicts[rival] == together(verdicts.values())]
    shown = min(deciding, key=lambda rival: rows[rival]["estimate"] if rows[rival]["n"] else float("inf"))
    setting = f"{said['setting']}; of {plural(len(rivals), 'rival')} the one that decides is shown: {shown}"
    return _by_estimates(part, lambda own: _against(own, best, shown), **words, **{**said, "setting": setting})


def _against(part: pd.DataFrame, best: str, rival: str) -> pd.Series:
    """The difference of two cells, paired, on the corpora that have both."""
    both = set.intersection(*(set(part.loc[part["cell"] == c, "dataset"]) for c in (best, rival)))
    own = part[part["cell"].isin([best, rival]) & part["dataset"].isin(both)]
    return paired(own, "cell", best, rival, pair=["dataset"]).iloc[0] if both else pd.Series(nothing()._asdict())


def _fixed_attention(taus: pd.DataFrame, said: dict) -> Claim:
    return claim(
        _pooled(with_base(taus, "fix_attention"), "fix_attention"),
        "greater",
        0.0,
        id="mutual-information-5",
        claim="With attention fixed at random, τ drops: the encoder does not bring information to the weights",
        where="section 5.1, Table 2, Fix Attn",
        test=f"τ as trained minus τ with frozen attention, paired by corpus and seed, is above 0{FEW}",
        **{**said, "n_of": PAIRS},
    )


def _fixed_representation(taus: pd.DataFrame, said: dict) -> Claim:
    return _keeps(
        taus,
        "fix_representation",
        id="mutual-information-6",
        claim="With the representation fixed and attention learned again, τ does not drop",
        where="section 5.1, Table 2, Fix Rep",
        test=f"τ as trained minus τ with frozen embedding and encoder, paired by corpus and seed, is below {KEPT}, "
        f"and mean τ with these frozen is above 0{FEW}",
        **said,
    )


def _adversaries(taus: pd.DataFrame, apart: pd.DataFrame, said: dict) -> Claim:
    """Over the corpora whose adversaries are adversaries; with none the claim is not tested."""
    silent = silent_adversaries(apart)
    there = with_base(taus, "adversary_unfrozen")["dataset"].unique()
    heard = [name for name in there if not silent.get(name, True)]
    if unheard := [str(name) for name in there if name not in heard]:
        names = ", ".join(map(short, unheard))
        said = {**said, "setting": f"{said['setting']}; no adversaries in this sense, left out: {names}"}
    entry = _keeps(
        taus[taus["dataset"].isin(heard)],
        "adversary_unfrozen",
        id="mutual-information-7",
        claim="Adversarial attention still follows information",
        where="section 5.2, Table 4",
        test=f"τ of the base minus τ of its adversary, paired by corpus and seed, is below {KEPT}, and mean τ of "
        "the adversaries is above 0; a corpus counts only where its adversaries moved their attention (mean JSD "
        f"{MOVED} at least), stayed close in their outputs (mean TVD, halved with two classes, at most {CLOSE}, a "
        f"bound of ours) and kept their accuracy (mean loss below {LOST}){FEW}",
        **said,
    )
    lacks = "No corpus has adversaries in this sense: attention moved, outputs close, accuracy kept."
    return replace(entry, note=lacks) if unheard and not heard else entry


def silent_adversaries(apart: pd.DataFrame) -> dict[str, bool]:
    """Corpus -> whether its adversaries show nothing: attention hardly moved, outputs far, or accuracy lost."""
    if not len(apart):
        return {}
    means = apart.groupby("dataset")[["jsd", "tvd_trained", "right_base", "right_adversary"]].mean()
    lost = means["right_base"] - means["right_adversary"]
    return (~((means["jsd"] >= MOVED) & (means["tvd_trained"] <= CLOSE) & (lost < LOST))).to_dict()


def _keeps(taus: pd.DataFrame, variant: str, **said: Any) -> Claim:
    """τ is kept in a special setting, and there is a τ to keep: what was never above 0 cannot drop."""
    both = with_base(taus, variant)
    own = averaged(both[both["variant"] == variant], ["variant"])
    mean = own.iloc[0] if len(own) else {**nothing()._asdict(), "value": float("nan")}
    text = spell_interval(mean["value"], mean["low"], mean["high"])
    said |= {"n_of": PAIRS, "setting": f"{said['setting']}; mean τ there {text}"}
    entry = claim(_pooled(both, variant), "less", KEPT, **said)
    return replace(entry, verdict=together([entry.verdict, judge(mean["low"], mean["high"], "greater")]))


def _pooled(both: pd.DataFrame, variant: str) -> Any:
    """The difference of the base to a special setting over all corpora."""
    return paired(both, "variant", "none", variant, pair=["dataset"]).iloc[0] if len(both) else nothing()


def _gumbel(taus: pd.DataFrame, said: dict) -> Claim:
    return claim(
        share(gumbel_pairs(taus)["kept"]),
        "greater",
        0.5,
        id="mutual-information-8",
        claim="Gumbel-softmax raises τ, or leaves it, in most settings",
        where="section 5.3, Table 5",
        test="the share of settings (corpus, encoder, attention) whose τ does not fall is above one half, by its "
        "exact binomial interval; settings of one corpus are not independent, so the interval is rather too narrow",
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
        "five settings (encoder, attention) at least, is below 0; the interval is widened for few settings",
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
        test=f"mean absolute difference of τ over pairs of seeds is below {STABLE}, the paper's largest{FEW}",
        **{**said, "n_of": "pairs of seeds"},
    )


def _queries(taus: pd.DataFrame, said: dict) -> Claim:
    return _by_estimates(
        taus,
        tasks_apart,
        id="mutual-information-12",
        claim="τ is lower for questions and inference than for classification",
        where="section 4, Figure 2",
        test="mean τ of the corpora to classify minus that of the corpora with a query, over the settings "
        "(encoder, attention) that both have, is above 0; Welch's t over corpora, two of each kind at least",
        **{**said, "n_of": "corpora"},
    )
