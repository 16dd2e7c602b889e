"""Frames of the study of attention ranks and information, made by hand, and the ledger they give."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from attnlib.studies.mutual_information import claims as ledger
from attnlib.studies.mutual_information import grid as study

GOOD = {"additive": 0.9, "deep": 0.8, "dot": 0.3}


def _task(dataset):
    return {"snli": "nli", "stories": "qa", "babi_1": "qa"}.get(dataset, "classification")


def tau_row(encoder, attention, seed, tau, *, dataset="sst", projection="softmax", variant="none", entropy=None):
    return {
        "dataset": dataset, "encoder": encoder, "attention": attention, "projection": projection,
        "variant": variant, "seed": seed, "tau": tau, "value": tau, "low": tau - 0.1, "high": tau + 0.1,
        "over_texts": 0.15, "occupied_least": 50, "occupied_most": 50,
        "tau_plain": tau, "tau_miller_madow": tau, "tau_shuffled": tau, "tau_neighbours": tau - 0.1,
        "k": 5, "clusters": 50, "smallest": 1 + seed, "n": 300, "accuracy": 0.8,
        "majority": 0.5, "output_entropy": 1.0, "thin": False,
        "entropy": 1 - tau / 2 if entropy is None else entropy, "task": _task(dataset),
    }  # fmt: skip


def tau_frame(
    means=None,
    fix_attention=0.1,
    fix_representation=0.9,
    adversary=0.88,
    gumbel=0.05,
    best=0.05,
    jitter=0.01,
    dataset="sst",
    encoders=("lstm", "cnn"),
    seeds=3,
):
    """Taus as the paper would have them, unless told otherwise."""
    rows = []
    for seed in range(seeds):
        for encoder in encoders:
            for attention, mean in (means or GOOD).items():
                bonus = best if (encoder, attention) == study.MAIN else 0.0
                tau = mean + bonus + jitter * seed
                rows.append(tau_row(encoder, attention, seed, tau))
                rows.append(tau_row(encoder, attention, seed, tau + gumbel, projection="gumbel"))
        for variant, tau in (
            ("fix_attention", fix_attention),
            ("fix_representation", fix_representation),
            ("adversary_unfrozen", adversary),
        ):
            rows.append(tau_row(*study.MAIN, seed, tau + jitter * seed, variant=variant))
    return pd.DataFrame(rows).assign(dataset=dataset, task=_task(dataset))


def apart_frame(dataset="sst", seeds=3, texts=10, jsd=0.4, base=1.0, adversary=1.0, tvd=0.1):
    """Texts of adversaries: far from their bases and as accurate, unless told otherwise."""
    rows = [
        {"dataset": dataset, "seed": seed, "instance": str(i), "tvd": tvd, "tvd_trained": tvd / 2, "jsd": jsd,
         "right_base": float(i < texts * base), "right_adversary": float(i < texts * adversary)}
        for seed in range(seeds) for i in range(texts)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def verdicts(taus, apart=None):
    results = study.Results(taus, pd.DataFrame(), apart_frame() if apart is None else apart, SimpleNamespace())
    return {int(claim.id.rpartition("-")[2]): claim for claim in ledger.claims(results, "by hand")}
