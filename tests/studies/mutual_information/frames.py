"""Frames of the study of attention ranks and information, made by hand, and the ledger they give."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from attnlib.studies.ledger import Judged
from attnlib.studies.mutual_information.grid import MAIN, MODEL
from attnlib.studies.mutual_information.params import Params
from attnlib.studies.results import Results
from attnlib.studies.study import Study

GENERATED = {
    "corpora": ["planted"], "query_corpora": ["stories"], "vectors": "none", "encoders": ["lstm", "cnn", "mlp"],
    "seeds": [0, 1, 2], "counts": [50],
}  # fmt: skip
"""Parameters that need no download."""
GOOD = {"additive": 0.9, "deep": 0.8, "dot": 0.3}
TASKS = {"snli": "nli", "stories": "qa", "babi_1": "qa"}
SPECIAL = ("fix_attention", "fix_representation", "adversary_unfrozen")


def tau_row(encoder, attention, seed, tau, *, dataset="sst", projection="softmax", variant="none", entropy=None):
    return {
        "dataset": dataset, "encoder": encoder, "attention": attention, "projection": projection,
        "variant": variant, "seed": seed, "tau": tau, "value": tau, "low": tau - 0.1, "high": tau + 0.1,
        "over_texts": 0.004, "k": 5, "clusters": 50, "n": 300, "accuracy": 0.8, "thin": False, "idle": False,
        "entropy": 1 - tau / 2 if entropy is None else entropy, "task": TASKS.get(dataset, "classification"),
    }  # fmt: skip


def tau_frame(
    means=None,
    fix_attention=0.1,
    fix_representation=0.9,
    adversary=0.88,
    gumbel=0.02,
    best=0.05,
    jitter=0.004,
    dataset="sst",
    encoders=("lstm", "cnn"),
    seeds=3,
):
    """Taus as the paper would have them, unless told otherwise; over three seeds their means are exact."""
    rows = []
    for seed in range(seeds):
        by_chance = [jitter * ((seed + turn) % 3 - 1) for turn in range(3)]
        for encoder in encoders:
            for attention, mean in (means or GOOD).items():
                tau = mean + (best if (encoder, attention) == MAIN else 0.0) + by_chance[0]
                rows.append(tau_row(encoder, attention, seed, tau))
                rows.append(tau_row(encoder, attention, seed, tau + gumbel, projection="gumbel"))
        for variant, tau in zip(SPECIAL, (fix_attention, fix_representation, adversary), strict=True):
            chance = by_chance[1 if variant == "fix_attention" else 2]
            rows.append(tau_row(*MAIN, seed, tau + chance, variant=variant))
    return pd.DataFrame(rows).assign(dataset=dataset, task=TASKS.get(dataset, "classification"))


def apart_frame(dataset="sst", seeds=3, texts=10, jsd=0.4, base=1.0, adversary=1.0, tvd=0.1):
    """Texts of adversaries: far from their bases and as accurate, unless told otherwise."""
    rows = [
        {"dataset": dataset, "seed": seed, "instance": str(i), "tvd": tvd, "tvd_trained": tvd / 2, "jsd": jsd,
         "right_base": float(i < texts * base), "right_adversary": float(i < texts * adversary)}
        for seed in range(seeds) for i in range(texts)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def results(taus, apart=None, **more) -> Results:
    frames = {"taus": taus, "apart": apart_frame() if apart is None else apart, **more}
    return Results(Params(), SimpleNamespace(failures=[]), frames, MODEL[:-1])


def verdicts(taus, apart=None) -> dict[int, Judged]:
    claims = Study("mutual_information").ledger(results(taus, apart), "by hand")
    return {int(claim.id.rpartition("-")[2]): claim for claim in claims}
