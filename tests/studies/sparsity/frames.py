"""Frames of the study of sparse attention whose answers are known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from attnlib.studies.ledger import Judged, ledger
from attnlib.studies.results import Results
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.params import Params
from attnlib.studies.study import Study

LAMBDAS = (-10.0, -1.0, 0.0, 0.5)
PLACES = {"softmax": None, "sparsegen −10": -10.0, "sparsegen −1": -1.0, "sparsemax": 0.0, "sparsegen 0.5": 0.5}
"""The models of a small grid, softest first."""
PARAMS = Params(corpora=("planted",), vectors="none", lambdas=LAMBDAS, entmax_alphas=(), seeds=tuple(range(8)))
FRAMES = ("agreement", "spread", "hidden", "labels", "duels", "facets")


def model_rows(effect, *, texts: int = 24, seeds: int = 8, dataset: str = "sst", **more) -> pd.DataFrame:
    """Rows of every model; `effect(place)` is the mean, texts and models differ.

    Texts are named as files name them, `test-0`, `test-1`, …: the same names in every corpus.
    """
    rng = np.random.default_rng(sum(map(ord, str(sorted(more.items())))))  # other noise for another measure
    noise = rng.normal(0, 0.01, texts)
    rows = [
        {
            "dataset": dataset, "encoder": encoder, "projection": model.split()[0], "model": model, "lam": lam,
            "seed": seed, "instance": f"test-{i}", "length": 10,
            "value": effect(place) + noise[i] + 0.001 * seed + rng.normal(0, 0.002),
        }
        for encoder in study.ATTENTION
        for place, (model, lam) in enumerate(PLACES.items())
        for seed in range(seeds)
        for i in range(texts)
    ]  # fmt: skip
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
    distance: float = 0.05,
    dataset: str = "sst",
    texts: int = 24,
) -> Results:
    """Results in which everything the paper claims holds, or fails where an argument says so.

    `control`: what a control loses, if there is one.
    """
    step = 0.1 if rising else -0.1
    size = {"dataset": dataset, "texts": texts, "seeds": trainings}
    entropy = model_rows(lambda place: 0.8 + step / 10 * place, metric="entropy", **size)["value"]
    above = 0.4 if hidden_above else -0.1
    agreement = [
        model_rows(
            lambda place, k=kind: 0.4 + step / 2 * place + above * k.endswith("hidden"), importance=kind,
            status="ordered", tied=0.0, **size,
        ).assign(entropy=entropy)
        for kind in ("gradient_input", "leave_one_out_input", "gradient_hidden", "leave_one_out_hidden")
    ]  # fmt: skip
    spread = model_rows(lambda place: 0.9 - 0.2 * place, **size)
    hidden = model_rows(lambda place: high - step / 10 * place, own=0.3, even=0.1, **size)
    rng = np.random.default_rng(1)
    told = {"dataset": dataset, "projection": "softmax", "model": "softmax"}
    pushes = {0.1: (far, lost)} | ({} if control is None else {0.0: (0.2, control)})
    duels = [
        pd.DataFrame({"instance": [f"test-{i}" for i in range(400)], "jsd": jsd, "right_base": 1.0}).assign(
            encoder=encoder, variant=variant, push=push, seed=seed, **told,
            right_adversary=rng.random(400) > (loss if variant == "adversary_frozen" or not push else 0.002),
        )
        for encoder in study.ATTENTION for variant in study.ADVERSARIES for push, (jsd, loss) in pushes.items()
        for seed in range(trainings)
    ]  # fmt: skip
    facets = [
        pd.DataFrame({"instance": [f"test-{i}" for i in range(30)], "of_norm": 0.8}).assign(
            encoder=encoder, seed=seed, of_facets=0.79 + rng.normal(0, 0.002, 30), tau=0.9,
            distance=distance + rng.normal(0, 0.002, 30), **told,
        )
        for encoder in study.ATTENTION for seed in range(trainings)
    ]  # fmt: skip
    labels = model_rows(lambda place: 1.0, **size).assign(value=1.0)
    answer = labels.groupby([*study.KEYS, "seed"]).cumcount() % 2  # every model is right
    return gathered(
        agreement=pd.concat(agreement, ignore_index=True),
        spread=spread.assign(support=10 * spread["value"], entropy=spread["value"]),
        hidden=hidden,
        labels=labels.assign(truth=answer, prediction=answer),
        duels=pd.concat(duels, ignore_index=True).astype({"right_adversary": float}),
        facets=pd.concat(facets, ignore_index=True),
    )


def gathered(**frames: pd.DataFrame) -> Results:
    return study.gathered(PARAMS, SimpleNamespace(summary="", failures=pd.DataFrame()), frames)


def changed(results: Results, **frames: pd.DataFrame) -> Results:
    """The same run with other frames; what follows from them is computed again."""
    return gathered(**{name: results.frames[name] for name in FRAMES} | frames)


def two_corpora() -> Results:
    """SST, where all trends fall, above 20 Newsgroups, where they rise, with fewer texts of the same names."""
    first, second = found(dataset="sst", texts=32), found(dataset="20news", rising=True, far=0.4)
    return gathered(**{name: pd.concat([first.frames[name], second.frames[name]]) for name in FRAMES})


def judged(results: Results, *numbers: int) -> dict[int, Judged]:
    """The claims of these numbers, or all, by number."""
    claims = {int(claim.id.removeprefix("sparsity-")): claim for claim in Study("sparsity").claims}
    wanted = {number: claims[number] for number in numbers or claims}
    return dict(zip(wanted, ledger(list(wanted.values()), results.replace().learned), strict=True))
