"""Sentences computed from data: numbers with their intervals and n, as escaped HTML."""

from __future__ import annotations

import re
from html import escape

from attnlib.stats import Difference, Interval
from attnlib.utils.text import percent
from attnlib.viz.textmap import Html


def say(*sentences: str) -> Html:
    """One paragraph per group of sentences; `**words**` are bold, everything else is shown as it is."""
    paragraphs = [re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(sentence, quote=False)) for sentence in sentences]
    plain = "\n".join(re.sub(r"\*\*(.+?)\*\*", r"\1", sentence) for sentence in sentences)
    html = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return Html(f'<div class="prose" style="max-width:46rem">{html}</div>', plain)


def points(gap: Difference) -> str:
    """A difference of two shares: `9.0 points (95% interval 2.0 to 17.0; n = 400), above zero`."""
    if gap.low != gap.low:
        return f"{100 * gap.estimate:.1f} points (n = {gap.n:,}, too few for an interval)"
    where = "above zero" if gap.low > 0 else "below zero" if gap.high < 0 else "which covers zero"
    between = f"{100 * gap.low:.1f} to {100 * gap.high:.1f}"
    return f"{100 * gap.estimate:.1f} points (95% interval {between}, {where}; n = {gap.n:,})"


def share(interval: Interval) -> str:
    """`**12.3%** (95% interval 10.1% to 14.4%; n = 853)`."""
    if interval.low != interval.low:
        return f"**{percent(interval.estimate)}** (n = {interval.n:,}, too few for an interval)"
    between = f"{percent(interval.low)} to {percent(interval.high)}"
    return f"**{percent(interval.estimate)}** (95% interval {between}; n = {interval.n:,})"
