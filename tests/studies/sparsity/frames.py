"""Frames of the study of sparse attention whose answers are known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from attnlib.studies.ledger import Judged, ledger
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.params import ATTENTION, PAIR, Params
from attnlib.studies.study import Study

LAMBDAS = (-10.0, -1.0, 0.0, 0.5)
KINDS = ("gradient_input", "leave_one_out_input", "gradient_hidden", "leave_one_out_hidden")


def model_rows(
    effect, *, texts: int = 24, seeds: int = 2, pair: int = 1, dataset: str = "sst", **more
) -> pd.DataFrame:
    """Rows of every model of a small grid; `effect(encoder, projection, lam)` is the mean, texts and models differ.

    Softmax and sparsemax have `pair` seeds more than the others.
    Texts are named as files name them, `test-0`, `test-1`, …: the same names in every corpus.
    """
    places = [("softmax", np.nan, 1.0), ("sparsemax", 0.0, 2.0)]
    places += [("sparsegen", lam, np.nan) for lam in LAMBDAS if lam]
    rng = np.random.default_rng(sum(map(ord, str(sorted(more.items())))))  # other noise for another measure
    noise = rng.normal(0, 0.01, texts)
    rows = [
        {
            "dataset": dataset,
            "encoder": encoder,
            "attention": ATTENTION[encoder],
            "projection": projection,
            "lam": lam,
            "alpha": alpha,
            "seed": seed,
            "instance": f"test-{i}",
            "length": 10,
            "value": effect(encoder, projection, lam) + noise[i] + 0.001 * seed + rng.normal(0, 0.002),
        }
        for encoder in ATTENTION
        for projection, lam, alpha in places
        for seed in range(seeds + pair * (projection in PAIR))
        for i in range(texts)
    ]
    return pd.DataFrame(rows).assign(**more)


def found(
    *,
    rising: bool = False,
    hidden_above: bool = True,
    high: float = 0.8,
    far: float = 0.6,
    lost: float = 0.2,
    control: float | None = None,
    trainings: int = 8,
    paths: int = 7,
    distance: float = 0.05,
    dataset: str = "sst",
    texts: int = 24,
):
    """Results in which everything the paper claims holds, or fails where an argument says so.

    The pair, the adversaries and Appendix A have `trainings` seeds, the paths `paths`. `control`: what a control
    loses, if there is one.
    """
    step = 0.1 if rising else -0.1
    soft = lambda lam: -11.0 if np.isnan(lam) else lam  # noqa: E731
    order = [-11.0, *LAMBDAS]
    size = {"dataset": dataset, "texts": texts, "seeds": min(paths, trainings), "pair": max(0, trainings - paths)}
    agreement = pd.concat(
        model_rows(
            lambda e, p, lam, k=kind: (
                0.4 + step / 2 * order.index(soft(lam)) + (0.4 if hidden_above else -0.1) * k.endswith("hidden")
            ),
            importance=kind,
            status="ordered",
            tied=0.0,
            entropy=0.9,
            metric="kendall_tau_attention",
            **size,
        )
        for kind in KINDS
    )
    sparser = [
        model_rows(lambda e, p, lam: 0.9 - 0.2 * order.index(soft(lam)), metric=metric, **size)
        for metric in ("support_share", "support", "entropy_attention")
    ]
    entropy = [
        model_rows(
            lambda e, p, lam: 0.8 + step / 10 * order.index(soft(lam)), metric=f"entropy_{kind}_input", **size
        )
        for kind in ("gradient", "leave_one_out")
    ]
    hidden = model_rows(
        lambda e, p, lam: high - step / 10 * order.index(soft(lam)),
        metric="entropy_grad_fi_of_hidden",
        own=0.3,
        even=0.1,
        position=0,
        **size,
    )
    rng = np.random.default_rng(1)
    pushes = {0.1: (far, lost)} | ({} if control is None else {0.0: (0.2, control)})
    duels = pd.concat(
        pd.DataFrame(
            {
                "dataset": dataset,
                "encoder": encoder,
                "projection": "softmax",
                "variant": variant,
                "push": push,
                "seed": seed,
                "instance": [f"test-{i}" for i in range(400)],
                "jsd": jsd,
                "tvd": 0.1,
                "right_base": 1.0,
                "right_adversary": (
                    rng.random(400) > (loss if variant == "adversary_frozen" or not push else 0.002)
                ).astype(float),
            }
        )
        for encoder in ATTENTION
        for variant in study.ADVERSARIES
        for push, (jsd, loss) in pushes.items()
        for seed in range(trainings)
    )
    facets = pd.concat(
        pd.DataFrame({"dataset": dataset, "encoder": encoder, "seed": seed, "position": 0}, index=range(30)).assign(
            instance=[f"test-{i}" for i in range(30)],
            of_norm=0.8,
            of_facets=0.79 + rng.normal(0, 0.002, 30),
            tau=0.9,
            distance=distance + rng.normal(0, 0.002, 30),
            projection="softmax",
            norm=np.linspace(1, 2, 30),
        )
        for encoder in ATTENTION
        for seed in range(trainings)
    )
    labels = model_rows(lambda e, p, lam: 1.0, metric="accuracy", **size).assign(value=1.0)
    answer = labels.groupby([*study.KEYS, "seed"], dropna=False).cumcount() % 2  # every model is right
    return gathered(
        agreement=agreement.reset_index(drop=True),
        entropies=pd.concat([*sparser, *entropy], ignore_index=True),
        hidden=hidden,
        labels=labels.assign(truth=answer, prediction=answer),
        adversaries=duels.assign(change=duels["right_adversary"] - duels["right_base"]).reset_index(drop=True),
        facets=facets.reset_index(drop=True),
    )


def gathered(**frames: pd.DataFrame) -> study.Found:
    grid = SimpleNamespace(summary="8 runs: 8 from the store, 0 computed.", failures=pd.DataFrame())
    judged = ("agreement", "entropies", "hidden", "adversaries", "facets")
    return study.Found(Params(), grid, frames, study.KEYS, judged)


def two_corpora():
    """SST, where all trends fall, above 20 Newsgroups, where they rise, with fewer texts of the same names."""
    first = found(dataset="sst", far=0.6, texts=32)
    second = found(dataset="20news", rising=True, far=0.4, texts=24)
    both = {name: pd.concat([first.frames[name], second.frames[name]], ignore_index=True) for name in first.frames}
    return gathered(**both)


def judged(results, *numbers: int) -> dict[int, Judged]:
    """The claims of these numbers, or all, by number."""
    claims = {int(claim.id.removeprefix("sparsity-")): claim for claim in Study("sparsity").claims}
    wanted = {number: claims[number] for number in numbers or claims}
    return dict(zip(wanted, ledger(list(wanted.values()), results.replace().learned), strict=True))
