"""What the entries of `settings.yaml` name besides the configs of models."""

from __future__ import annotations

from attnlib.data.pretrained import pinned
from attnlib.store.specs import FitSpec
from attnlib.studies.datasets import kin
from attnlib.studies.settings import read_settings


def _name(fit: FitSpec) -> str:
    return kin(fit.data.options.get("name", fit.data.corpus))


def _bert(fit: FitSpec) -> bool:
    return fit.model.encoder == "bert"


def _pretrained(fit: FitSpec) -> str:
    """The name of the encoder, without its owner or folder and its revision."""
    return pinned(fit.model.pretrained)[0].rstrip("/").rsplit("/", 1)[-1]


def _epochs(fit: FitSpec) -> int:
    longer = _name(fit) == "adr" and fit.model.scaling == "none"
    if _bert(fit):
        return 30 if longer else 10
    return (35 if fit.model.encoder == "mlp" else 30) if longer else 20


SETTINGS = read_settings(
    __file__,
    name=_name,
    bert=_bert,
    pretrained=_pretrained,
    frozen=lambda fit: "encoder" in fit.train.freeze,
    epochs=_epochs,
    thinned=lambda fit: bool(fit.data.options.get("shares")) or None,
    decayed_parts=lambda fit: tuple(fit.train.weight_decays),
    baselines=lambda run: bool(run.params["baselines"]),
    slips=lambda run: bool(run.params["quirks"]),
)
