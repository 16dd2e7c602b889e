"""Statistics: divergences, orders (`ranks`), effects with intervals (`inference`), and what these say (`judge`)."""

from attnlib.stats.divergences import LN2, jsd, normalized_entropy, tvd
from attnlib.stats.inference import Effect, contrast, effect, exact_share, holm
from attnlib.stats.ranks import descending, kendall_tau, weighted_kendall

__all__ = [
    "LN2", "Effect", "contrast", "descending", "effect", "exact_share", "holm", "jsd", "kendall_tau",
    "normalized_entropy", "tvd", "weighted_kendall",
]  # fmt: skip
