"""What the entries of `settings.yaml` name besides the configs of models."""

from __future__ import annotations

from attnlib.measures.adversary import ATTENTION_ALONE
from attnlib.store.specs import FitSpec
from attnlib.studies.settings import read_settings


def _vectors(fit: FitSpec) -> str:
    return "fastText, simple English" if "wiki.simple" in fit.model.vectors else fit.model.vectors


def _attention_rate(fit: FitSpec) -> str:
    times = fit.train.learning_rates.get("attention", fit.train.learning_rate) / fit.train.learning_rate
    return "the same or 10 times" if round(times, 6) in (1, 10) else f"{times:g} times"


SETTINGS = read_settings(
    __file__,
    vectors=_vectors,
    attention_rate=_attention_rate,
    kept_parts=lambda fit: ", ".join(ATTENTION_ALONE),
)
