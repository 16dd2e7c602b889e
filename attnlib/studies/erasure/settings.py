"""What the entries of `settings.yaml` name besides the configs of models."""

from __future__ import annotations

from attnlib.data.preprocess import Preprocessing
from attnlib.store.specs import FitSpec, Run
from attnlib.studies.erasure.measures import RANKINGS, SAMPLING
from attnlib.studies.erasure.params import BORROWED, CONV_DROPOUT, PUBLISHED, Published, both_dropouts
from attnlib.studies.settings import read_settings


def _own(run: Run) -> bool:
    """A model of the paper, or a measure of one."""
    return "dataset" in run.label if isinstance(run, FitSpec) else run.label.get("part") == "paper"


def _published(fit: FitSpec) -> Published:
    return PUBLISHED.get(fit.label["dataset"], PUBLISHED[BORROWED])


def _dropout(published: float, fit: FitSpec) -> float:
    """Of the appendix; where convolutions read it, with that of the released code."""
    return both_dropouts(published, CONV_DROPOUT if fit.model.encoder == "cnn" else 0.0)


def _sentences(fit: FitSpec) -> str:
    run = fit.data.options.get("sentence_length")
    return f"{run} words in a row" if run else "a rule over end marks"


SETTINGS = read_settings(
    __file__,
    where=_own,
    dataset=lambda fit: fit.label["dataset"],
    published=_published,
    preprocessing=lambda fit: Preprocessing(),
    sentences=_sentences,
    word_dropout=lambda fit: _dropout(_published(fit).words, fit),
    sentence_dropout=lambda fit: _dropout(_published(fit).sentences, fit),
    replicate=lambda fit: f"replicate {fit.label['seed']}",
    rankings=lambda run: RANKINGS,
    sampling=lambda run: next(iter(SAMPLING)),
)
