"""Frames of the erasure study worked by hand: what each text does is written down, the rest is bookkeeping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pandas as pd

from attnlib.studies.erasure.grid import MODEL
from attnlib.studies.erasure.params import Params
from attnlib.studies.results import Results
from attnlib.studies.study import planned

MODELS = tuple(f"{a}_{c}" for a in ("han", "flan") for c in ("rnn", "conv", "noenc"))


def profile(name: str) -> Params:
    """The parameters of a profile of the notebook."""
    (plan,) = planned(["05_erasure"], name, [])
    return Params.of(plan.values)


def singles(
    cells: Sequence[tuple[bool, bool]],
    *,
    encoder: str = "han_rnn",
    importance: str = "alpha",
    delta_js: Sequence[float] | None = None,
    delta_alpha: Sequence[float] | None = None,
    sampling: str = "any other",
    alone: int = 0,
    seed: int = 0,
    dataset: str = "d",
) -> pd.DataFrame:
    """Single removals of one model: (does i* flip, does r flip) per text, and `alone` texts of one item."""
    rows = []
    for i, (top, other) in enumerate(cells):
        rows.append(
            {
                "dataset": dataset, "encoder": encoder, "seed": seed, "importance": importance,
                "sampling": sampling, "instance": f"t{i}", "length": 4, "top": 1, "other": 2,
                "delta_alpha": 0.2 if delta_alpha is None else delta_alpha[i],
                "delta_js": 0.1 if delta_js is None else delta_js[i],
                "flip_top": top, "flip_other": other, "status": "compared",
            }
        )  # fmt: skip
    for i in range(alone):
        rows.append(rows[0] | {"instance": f"one{i}", "length": 1, "other": None, "status": "one unit"})
    return pd.DataFrame(rows).astype({"other": "Int64", "flip_other": "boolean"})


def firsts(
    removed: Mapping[str, Sequence[int | None]],
    *,
    encoder: str = "flan_rnn",
    length: int = 10,
    alone: int = 0,
    seed: int = 0,
    dataset: str = "d",
) -> pd.DataFrame:
    """First flips of one model: ranking -> items removed per text (None: never), and `alone` texts of one item."""
    rows = []
    for importance, counts in removed.items():
        for i, k in enumerate([*counts, *[1] * alone]):
            n = length if i < len(counts) else 1
            status = "never" if k is None else "only_when_empty" if k == n else "flipped"
            fraction = float("nan") if k is None else k / n
            rows.append(
                {
                    "dataset": dataset, "encoder": encoder, "seed": seed,
                    "importance": importance, "instance": f"t{i}", "length": n, "removed": k,
                    "fraction": fraction, "mass_removed": fraction, "status": status,
                }
            )  # fmt: skip
    return pd.DataFrame(rows).astype({"removed": "Int64"})


def trained(frame: pd.DataFrame, trainings: int = 2) -> pd.DataFrame:
    """The same frame for several trainings that do the same."""
    return pd.concat([frame.assign(seed=seed) for seed in range(trainings)], ignore_index=True)


def study(single: Sequence[pd.DataFrame], fractions: Sequence[pd.DataFrame]) -> Results:
    """What the claims look at: two trainings of models that are always right, on texts of two classes."""
    single, fractions = (trained(pd.concat(frames, ignore_index=True)) for frames in (single, fractions))
    keys = ["dataset", "encoder", "seed", "instance"]
    labels = pd.concat([single[keys], fractions[keys]]).drop_duplicates(ignore_index=True)
    truth = labels["instance"].str[-1].isin(list("02468")).map({True: "even", False: "odd"})
    labels = labels.assign(truth=truth, prediction=truth, value=1.0)
    frames = {"labels": labels, "single": single, "fractions": fractions}
    return Results(Params(), SimpleNamespace(failures=[]), frames, MODEL, judged=("single", "fractions"))
