"""What the entries of `settings.yaml` name besides the configs of models."""

from __future__ import annotations

from attnlib.measures import rank_information
from attnlib.store.specs import FitSpec
from attnlib.studies.mutual_information.grid import adversary_lambda
from attnlib.studies.settings import read_settings

VECTORS = {"wiki.simple": "fastText, simple English", "840B": "GloVe 840B", "mimic": "word2vec of MIMIC"}
"""What is in the name of a file of vectors, and what it holds."""


def _task(fit: FitSpec) -> str:
    """nli, qa or text: inference, questions, classification."""
    if fit.data.corpus == "snli":
        return "nli"
    return "qa" if fit.data.corpus == "babi" or fit.data.options.get("task") == "qa" else "text"


def _vectors(fit: FitSpec) -> str:
    return next((name for part, name in VECTORS.items() if part in fit.model.vectors), fit.model.vectors)


SETTINGS = read_settings(
    __file__,
    task=_task,
    real_text=lambda fit: _task(fit) == "text" and fit.data.corpus != "planted",
    vectors=_vectors,
    papers_lambda=lambda fit: adversary_lambda(fit.data.corpus)[0],
    halved=lambda fit: "wp_half_tvd" in fit.params["quirks"],
    outputs=lambda run: rank_information.OUTPUTS,
    tiny=lambda run: rank_information.TINY,
    counts=lambda run: (min(run.params["counts"]), max(run.params["counts"])),
)
