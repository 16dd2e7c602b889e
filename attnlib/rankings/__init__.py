"""Importance methods, one function each, registered under the name users give.

gradients   random, alpha and its gradients: closed forms on a Trace; gradient_norm, input_x_grad,
            integrated_gradients
inside      the self-attention of a transformer: rollout; of Hugging Face cls_last, value_norm, attention_grad
scores      omission, leave_one_out: how a prediction changes without one word; `importance` itself
"""

from attnlib.rankings import gradients, inside, scores  # noqa: F401  they register themselves
