"""Statistics: divergences, orders, and effects with intervals.

divergences      KL, JSD, total variation and entropies; the first three for torch too, inside a loss
ranks            Kendall's tau, weighted tau, orders
inference        every interval of the kit: means, contrasts and statistics over trainings and texts
variance         its closed form: cells of trainings × texts, degrees of freedom
jackknife        what is no mean over texts, in the form of one

`LN2` is the largest Jensen-Shannon divergence, reached by disjoint supports.
"""

from attnlib.stats.divergences import LN2, entropy, jsd, kl, normalized_entropy, tvd
from attnlib.stats.inference import Effect, contrast, effect, exact_share, holm
from attnlib.stats.ranks import descending, kendall_tau, weighted_kendall

__all__ = [
    "LN2", "Effect", "contrast", "descending", "effect", "entropy", "exact_share", "holm", "jsd", "kendall_tau",
    "kl", "normalized_entropy", "tvd", "weighted_kendall",
]  # fmt: skip
