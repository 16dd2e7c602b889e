"""Figures that hold their data: what their axes cut off, and texts that touch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.lines import AxLine, Line2D
from matplotlib.text import Annotation, Text

from attnlib.viz.charts import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOLERANCE = 1.0
"""Points by which the edge of a marker or a line may cross its axes."""


def outside(figure: Figure) -> list[Artist]:
    """Artists that their axes cut off, in whole or in part: lines, markers, whiskers, bars, areas, annotations.

    What is meant to exceed the axes (`axline`) and what is not clipped (labels, legends) is left out.
    """
    figure.draw_without_rendering()  # limits and layout are decided only now
    return [
        artist
        for axes in figure.axes
        if axes.get_visible()
        for artist in (*axes.lines, *axes.patches, *axes.collections, *axes.texts)
        if artist.get_visible() and _crosses(artist, axes)
    ]


@styled  # how many ticks an axis has, and how large they are, is decided whenever they are asked for
def touching(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that overlap, or that run on into each other side by side: titles, ticks, names of points.

    Slanted labels are left out: their boxes overlap where their letters do not.
    """
    figure.draw_without_rendering()
    gap = 1.5 * figure.dpi / 72
    drawn = [
        (text.get_text(), text.get_window_extent())
        for text in _texts(figure)
        if text.get_visible() and text.get_text().strip() and text.get_rotation() % 90 == 0
    ]
    return [
        (one, other)
        for (one, a), (other, b) in combinations(drawn, 2)
        if max(a.x0, b.x0) - gap < min(a.x1, b.x1) and max(a.y0, b.y0) + gap < min(a.y1, b.y1)
    ]


def _texts(figure: Figure) -> Iterator[Text]:
    """What is written on a figure; of the ticks those within their axis."""
    legends = [*figure.legends]
    yield from figure.texts
    for axes in (one for one in figure.axes if one.get_visible()):
        legends += [axes.get_legend()] if axes.get_legend() else []
        yield from (child for child in axes.get_children() if isinstance(child, Text))
        for k, axis in enumerate((axes.xaxis, axes.yaxis) if axes.axison else ()):
            low, high = sorted(axis.get_view_interval())
            yield axis.get_label()
            yield from (one for one in axis.get_ticklabels() if low <= one.get_position()[k] <= high)
    for legend in legends:
        yield from legend.get_texts()


HYPHEN = re.compile(r"(?<![\w.)-])-(?=[\d.])")


def check(figure: Figure, name: str) -> None:
    """Refuse a figure that cuts off its data, whose texts touch, or with a hyphen for a minus sign.

    `ATTNLIB_STRICT` names this module, so that every figure that a notebook saves in a test is checked.
    """
    cut, close = outside(figure), touching(figure)
    assert not cut, f"Figure {name!r} cuts off {len(cut)} of its artists: {cut[:3]}. Widen its limits."
    assert not close, f"Figure {name!r} has texts that touch: {close[:3]}. Make room between them."
    hyphens = [text.get_text() for text in _texts(figure) if text.get_visible() and HYPHEN.search(text.get_text())]
    assert not hyphens, f"Figure {name!r} writes a minus as a hyphen: {hyphens[:3]}. Write −."


def _crosses(artist: Artist, axes: Axes) -> bool:
    points = _extent(artist, axes)
    if not len(points):
        return False
    room = TOLERANCE * axes.get_figure(root=True).dpi / 72
    low, high = axes.bbox.min - room, axes.bbox.max + room
    return bool(((points < low) | (points > high)).any())


def _extent(artist: Artist, axes: Axes) -> np.ndarray:
    """(n, 2) points in pixels that must lie inside the axes; none where nothing can be cut off."""
    pixel = axes.get_figure(root=True).dpi / 72
    if isinstance(artist, AxLine):
        return np.empty((0, 2))
    if isinstance(artist, Annotation):  # one whose point is outside is not drawn at all
        return _finite([axes.transData.transform(artist.xy)]) if artist.xycoords == "data" else np.empty((0, 2))
    if not artist.get_clip_on():
        return np.empty((0, 2))
    if isinstance(artist, Line2D):
        points = _finite(artist.get_transform().transform(artist.get_xydata()))
        marked = artist.get_marker() not in (None, "", " ", "None", "none")
        reach = artist.get_markersize() / 2 * pixel if marked else 0.0
        if isinstance(artist.get_marker(), int) or artist.get_marker() in ("|", "_", ".", ","):
            reach /= 2  # ticks and caps are thin one way, a point is half its size
        return np.concatenate([points - reach, points + reach])
    if isinstance(artist, Collection):
        paths = [_finite(path.vertices) for path in artist.get_paths()]
        if not artist.get_offset_transform().contains_branch(axes.transData):  # areas and whiskers
            return _finite(artist.get_transform().transform(np.concatenate([*paths, np.empty((0, 2))])))
        points = _finite(artist.get_offset_transform().transform(artist.get_offsets()))  # points and hexagons
        sizes = artist.get_transforms()
        reach = np.abs(sizes[:, :2, :2]).max() / 2 if len(sizes) else 0.0
        return np.concatenate([points - reach, points + reach])
    return _finite(artist.get_window_extent().corners())


def _finite(points: object) -> np.ndarray:
    found = np.ma.filled(np.ma.asarray(points, dtype=float), np.nan).reshape(-1, 2)
    return found[np.isfinite(found).all(axis=1)]
