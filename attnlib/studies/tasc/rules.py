"""What the TaSc paper says, sentence by sentence, the test of each, and the borders: `tasc_claims` applies them.

Rules that changed after results on real text had been seen, each towards what its sentence says or what the run can
bear:

tasc-1       asks every encoder, where it used to average over them and so hid a loss with BERT; a cell counts only
             where the model without TaSc learned something, since it has nothing to lose otherwise
tasc-8       asks every variant, where it used to pool them
tasc-11, 12  need `TRAININGS` trainings of the pretrained encoder, and say where it was frozen
all          cells count alike, where larger corpora used to weigh more; a claim without models that learned
             something, or with fewer than `common.FEWEST_TEXTS` test texts, is not tested
"""

from __future__ import annotations

from typing import NamedTuple

MARGIN_F1 = 0.02
"""How much F1 may be lost and still count as none sacrificed: two of the paper's standard deviations."""
MARGIN_FRACTION = 0.05
"""Mean fractions that differ by less count as comparable."""
TRAININGS = 3
"""Trainings of the pretrained encoder that a claim about it needs."""


class Rule(NamedTuple):
    claim: str
    where: str
    test: str


RULES = {
    1: Rule(
        "TaSc does not sacrifice predictive performance.",
        "section 6.2, Table 2",
        f"macro-F1 of each variant minus that without TaSc is above -{MARGIN_F1} with each encoder",
    ),
    2: Rule(
        "With Lin-TaSc, fewer tokens ranked by ∇α must go until the decision flips.",
        "section 6.4, Table 4",
        "fraction to flip by ∇α, Lin-TaSc minus no TaSc, is below 0",
    ),
    3: Rule(
        "With Lin-TaSc, fewer tokens ranked by α∇α must go until the decision flips.",
        "section 6.4, Table 4",
        "fraction to flip by α∇α, Lin-TaSc minus no TaSc, is below 0",
    ),
    4: Rule(
        "Lin-TaSc lowers the fraction to flip (α∇α) with every encoder.",
        "section 6.4, Figure 2",
        "Lin-TaSc minus no TaSc is below 0 for each encoder",
    ),
    5: Rule(
        "Dot attention gains more from TaSc than Tanh (decisions flipped by the top token, α∇α).",
        "section 6.3, Table 3",
        "gain of Lin-TaSc with Dot minus gain with Tanh, in percentage points, is above 0",
    ),
    6: Rule(
        "Without TaSc, MLP and CNN need a smaller fraction (α∇α) than recurrent encoders.",
        "section 6.4, Figure 2",
        "fraction with recurrent encoders minus that with MLP and CNN is above 0",
    ),
    7: Rule(
        "With Lin-TaSc, recurrent encoders become comparable to MLP and CNN (α∇α).",
        "section 6.4, Figure 2",
        f"the same difference with Lin-TaSc lies within ±{MARGIN_FRACTION}",
    ),
    8: Rule(
        "Of the three attention rankings α∇α is the best, with TaSc or without.",
        "sections 6.3 and 6.4",
        "fraction by α∇α minus that by each other ranking, without TaSc and with each variant, is below 0",
    ),
    9: Rule(
        "Lin-TaSc with α∇α flips decisions with fewer tokens than WO, x∇x and IG without TaSc in most cells.",
        "section 7, Table 5",
        "share of cells where each of the three is beaten, above one half",
    ),
    10: Rule(
        "TaSc lowers the fraction of WO, x∇x and IG too, in most cells.",
        "section 7, Appendix E",
        "share of cells where the mean difference is below 0, above one half",
    ),
    11: Rule(
        "Without TaSc, BERT needs the largest fraction (α∇α) of all encoders.",
        "section 6.4, Figure 2",
        "fraction with BERT minus that with each other encoder, without TaSc, is above 0",
    ),
    12: Rule(
        "Lin-TaSc lowers BERT's fraction (α∇α).",
        "section 6.4, Figure 2",
        "fraction with BERT, Lin-TaSc minus no TaSc, is below 0",
    ),
    13: Rule(
        "With Lin-TaSc the fraction to flip (α∇α) varies less from text to text.",
        "section 6.5, Figure 3",
        "standard deviation over texts, Lin-TaSc minus no TaSc, mean over cells, is below 0",
    ),
}
"""The number of a claim (`tasc-1`, …) to the sentence, where it is, and how it is judged."""
