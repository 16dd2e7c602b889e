"""Importance methods, one function each, registered under the name users give.

attention   random, alpha and its gradients: closed forms on a Trace
gradients   gradient_norm, input_x_grad, integrated_gradients
removal     omission, leave_one_out: how a prediction changes without one word
inside      the self-attention of a transformer: rollout; of Hugging Face cls_last, value_norm, attention_grad
scores      `importance` itself: a method's scores of many texts
"""

from attnlib.rankings import attention, gradients, inside, removal  # noqa: F401  they register themselves
from attnlib.rankings.base import LEVELS, METHODS, TARGETS, Case, Spec

__all__ = ["LEVELS", "METHODS", "TARGETS", "Case", "Spec"]
