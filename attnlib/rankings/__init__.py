"""Importance methods, one function each, registered under the name users give.

attention   random, alpha and its gradients: closed forms on a Trace
gradients   gradient_norm, input_x_grad, integrated_gradients
inside      the self-attention of a transformer: rollout; of Hugging Face cls_last, value_norm, attention_grad
scores      omission, leave_one_out: how a prediction changes without one word; `importance` itself
"""

from attnlib.rankings import attention, gradients, inside, scores  # noqa: F401  they register themselves
