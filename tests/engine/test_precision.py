"""Measuring is done in whole single precision, whatever torch is set to, and leaves torch as it was."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attnlib.engine.explainable import erase
from attnlib.engine.jacobian import norm_jacobian
from attnlib.erasure.flips import erasure_curves, fraction_to_flip, single_removals
from attnlib.measures import adversary, agreement, perturbation
from attnlib.rankings.scores import importance
from attnlib.utils.device import measuring
from tests.conformance import zoo

backends = torch.backends
OPERATIONS = (
    backends.cuda.matmul,
    backends.cudnn.conv,
    backends.cudnn.rnn,
    backends.mkldnn.matmul,
    backends.mkldnn.conv,
    backends.mkldnn.rnn,
)
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "convolution", "mkldnn_rnn_layer", "lstm", "gru", "mv", "addmv")


def precisions() -> list[str]:
    return [part.fp32_precision for part in OPERATIONS]


@pytest.fixture
def reduced():
    """Every operation that can be is in TF32, or else in bfloat16."""
    before = precisions()
    for part in OPERATIONS:
        part.fp32_precision = "bf16" if part is backends.mkldnn.rnn else "tf32"
    yield precisions()
    for part, value in zip(OPERATIONS, before, strict=True):
        part.fp32_precision = value


class Spy(TorchDispatchMode):
    """Products of single precision: how many were done, and which of them not in whole precision."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.rounded = 0, set()

    def __torch_dispatch__(self, function, types, inputs=(), options=None):
        name = function.overloadpacket.__name__
        if name.removesuffix("_backward") in PRODUCTS and any(
            isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in inputs
        ):
            self.seen += 1
            if set(precisions()) != {"ieee"}:
                self.rounded.add(name)
        return function(*inputs, **(options or {}))


def search(fitted, texts):
    return adversary.search(fitted.trace(texts), steps=2, restarts=2)


MEASURES = {
    "alpha_grad": partial(importance, method="alpha_grad"),
    "gradient_norm": partial(importance, method="gradient_norm"),
    "integrated_gradients": partial(importance, method="integrated_gradients", steps=2, tolerance=None),
    "omission": partial(importance, method="omission"),
    "fraction_to_flip": partial(fraction_to_flip, ranking="random", operator="delete"),
    "erasure_curves": partial(erasure_curves, ranking="random", level="attention"),
    "single_removals": single_removals,
    "erase": partial(erase, removed=[[[0], [1, 2]]] * 3),
    "norm_jacobian": norm_jacobian,
    "facets": lambda fitted, texts: agreement.facets(fitted, texts[0]),
    "swap": partial(perturbation.swap_attention, swap="uniform"),
    "token_table": perturbation.token_table,
    "compare": lambda fitted, texts: adversary.compare(fitted, fitted, texts),
    "search": search,
    "predict": lambda fitted, texts: fitted.predict(texts),
}


@pytest.mark.parametrize("encoder", ["cnn", "query-lstm", "lstm-2"])
@pytest.mark.parametrize("measure", MEASURES)
def test_no_product_of_a_measurement_is_rounded(measure, encoder, reduced):
    fitted = deepcopy(zoo.fitted(encoder))
    fitted.model.float()
    with Spy() as spy:
        MEASURES[measure](fitted, zoo.texts(fitted, 3))
    assert spy.seen
    assert not spy.rounded
    assert precisions() == reduced


def test_cudnn_is_off_only_where_there_is_a_graph(reduced):
    for grad in (True, False):
        with measuring(grad=grad):
            assert backends.cudnn.enabled is not grad
            assert torch.is_grad_enabled() is grad
        assert backends.cudnn.enabled
        assert precisions() == reduced
