r"""Over how many inputs is the influence on one hidden state spread (Meister et al. 2021, eq. 5 and Table 1)?

.. math:: g_{h_p}(x_i) = \frac{\|\partial \|h_p\| / \partial X_i\|}{\sum_k \|\partial \|h_p\| / \partial X_k\|},
          \qquad \tilde H(g_{h_p}) = H(g_{h_p}) / \ln n

One where all inputs move h_p equally, zero where only one does. Appendix A of the paper reports that the influence
on each component of h_p, :math:`\|\partial h_p / \partial X_i\|_F`, gives nearly the same; `facets` measures that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from attnlib import stats
from attnlib.engine.jacobian import norm_jacobian
from attnlib.measures.agreement import dispersion
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    from attnlib.training.fitted import Fitted


def hidden_dispersion(fitted: Fitted, examples: Iterable) -> pd.DataFrame:
    """One row per hidden state: instance, length, position, value (normalised entropy of the influence on it),
    own (the share of its own word) and even (the share each word would have if all counted equally).

    All three are NaN for texts of one token and for states that no input moves: there are no shares.
    """
    examples = fitted.examples(examples)
    rows = []
    for k, (example, square) in enumerate(zip(examples, norm_jacobian(fitted, examples), strict=True)):
        for p, influence in enumerate(square):
            shared = len(square) > 1 and influence.any()
            rows.append(
                {
                    "instance": example.id or str(k),
                    "length": len(square),
                    "position": p,
                    "value": dispersion(influence),
                    "own": float(influence[p]) if shared else np.nan,
                    "even": 1 / len(square) if shared else np.nan,
                }
            )
    return pd.DataFrame(rows)


def facets(fitted: Fitted, examples: Iterable) -> pd.DataFrame:
    """The two ways to measure influence on a hidden state, one row per state: instance, length, position, the
    entropies `of_norm` and `of_facets`, their rank correlation `tau` over inputs, the total variation `distance`.
    """
    examples = fitted.examples(examples)
    of_norm = norm_jacobian(fitted, examples)
    rows = []
    with bar("influence on every component of h", total=len(examples), unit="text") as line:
        for k, (example, norms) in enumerate(zip(examples, of_norm, strict=True)):
            for p, (a, b) in enumerate(zip(norms, full_jacobian(fitted, example), strict=True)):
                rows.append(
                    {
                        "instance": example.id or str(k),
                        "length": len(a),
                        "position": p,
                        "of_norm": dispersion(a),
                        "of_facets": dispersion(b),
                        "tau": stats.kendall_tau(a, b),
                        "distance": float(stats.tvd(a, b)),
                    }
                )
            line.update(1)
    return pd.DataFrame(rows)


def full_jacobian(fitted: Fitted, example: object) -> np.ndarray:
    r"""(n, n): :math:`\|\partial h_p / \partial X_i\|_F`, rows p normalised to sum to one.

    The text is repeated once per component of h, so that one backward pass gives all components of one state.
    A state that no input moves keeps its zeros.
    """
    model, vectoriser = fitted.model, fitted.vectoriser
    batch = vectoriser.batch(vectoriser.encode(fitted.examples(example))).to(fitted.device)
    content = batch.content[0]
    with fitted.evaluating(grad=True):
        embedded = model.embed(batch).detach()
        width = model.reader.encode(embedded, batch.mask).shape[-1]
        leaf = embedded.expand(width, -1, -1).clone().requires_grad_()
        hidden = model.reader.encode(leaf, batch.mask.expand(width, -1))
        rows = []
        for p in content.nonzero().squeeze(1).tolist():
            facet = hidden[:, p].diagonal().sum()
            gradient = torch.autograd.grad(facet, leaf, retain_graph=True)[0]
            rows.append(gradient.square().sum((0, 2)).sqrt())
    square = torch.stack(rows)[:, content].double().cpu().numpy()
    total = square.sum(1, keepdims=True)
    return square / np.where(total > 0, total, 1.0)
