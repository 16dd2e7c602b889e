"""A part that somebody registers is a legal name at once, trains like the kit's own, and is named in errors."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib.config import ModelConfig, TrainConfig
from attnlib.engine.select import plain
from attnlib.models.attention import ATTENTIONS, SCALINGS, Dot, Lin
from attnlib.models.encoders import ENCODERS, Recurrent
from attnlib.models.projections import PROJECTIONS, sparsemax
from attnlib.models.regularise import REGULARISERS, Regulariser
from attnlib.training.fit import fit
from attnlib.training.fitted import load_model
from attnlib.utils.errors import ConfigError
from attnlib.utils.registry import Registry, lent

REGISTRIES = (ENCODERS, ATTENTIONS, PROJECTIONS, SCALINGS, REGULARISERS)
QUICK = TrainConfig(epochs=1, device="cpu")


class Cosine(nn.Module):
    """a_i = cos(h_i, q), with q a parameter."""

    def __init__(self, config, width, query_width=None):
        super().__init__()
        self.query = nn.Parameter(torch.randn(width))

    def forward(self, hidden, query=None):
        return nn.functional.cosine_similarity(hidden, self.query, dim=-1)


class Small(Regulariser):
    """Keeps the states small."""

    def losses(self, model, trace, batch):
        return {"small": trace.hidden.square().mean()}


OWN = {
    ("encoder", "copied"): Recurrent,
    ("attention", "cosine"): Cosine,
    ("projection", "copied"): sparsemax,
    ("scaling", "copied"): Lin,
    ("regulariser", "small"): Small,
}


@pytest.fixture
def own():
    with lent(OWN):
        yield


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(("kind", "name"), OWN)
def test_what_is_registered_trains_and_is_saved(kind, name, planted, tmp_path):
    config = ModelConfig(**{"embedding_size": 8, "hidden_size": 8, kind: name})
    fitted = fit(planted, config, QUICK)
    again = load_model(fitted.save(tmp_path / "m"), device="cpu")
    assert (again.predict(planted.test).probabilities == fitted.predict(planted.test).probabilities).all()
    assert kind != "regulariser" or (fitted.history["small"] > 0).all()


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_a_name_is_legal_while_it_is_registered(registry: Registry):
    with pytest.raises(ConfigError, match=f"Unknown {registry.kind} 'cosin'. .*Available: "):
        ModelConfig(**{registry.kind: "cosin"})
    with lent({(registry.kind, "cosine"): Dot}):
        assert getattr(ModelConfig(**{registry.kind: "cosine"}), registry.kind) == "cosine"
        with pytest.raises(ConfigError, match=r"'cosin'\. Did you mean 'cosine'\? Available: .*cosine"):
            ModelConfig(**{registry.kind: "cosin"})


def test_shortcuts_of_the_engine_know_the_kits_regularisers_alone(planted):
    config = ModelConfig(encoder="mlp", embedding_size=8, hidden_size=8)
    assert plain(fit(planted, config, QUICK.replace(epochs=0)).model)
    with lent({("regulariser", "none"): Small}):
        assert not plain(fit(planted, config, QUICK.replace(epochs=0)).model)
