"""Statistics: divergences, orders, and effects with intervals.

divergences      JSD, total variation and entropy; for torch KL too, inside a loss
ranks            Kendall's tau, weighted tau, orders
inference        every interval of the kit: means, contrasts and statistics over trainings and texts
variance         its closed form: cells of trainings × texts, degrees of freedom
jackknife        what is no mean over texts, in the form of one
judge            what an interval says about a border
"""

from attnlib.stats.divergences import LN2, jsd, normalized_entropy, tvd
from attnlib.stats.inference import Effect, contrast, effect, exact_share, holm
from attnlib.stats.ranks import descending, kendall_tau, weighted_kendall

__all__ = [
    "LN2", "Effect", "contrast", "descending", "effect", "exact_share", "holm", "jsd", "kendall_tau",
    "normalized_entropy", "tvd", "weighted_kendall",
]  # fmt: skip
