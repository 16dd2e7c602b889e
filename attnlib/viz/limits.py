"""Axes that hold their data: what an axis cuts off, and limits that cut nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.lines import AxLine, Line2D
from matplotlib.text import Annotation

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


def from_zero(axes: Iterable[Axes]) -> None:
    """Start the vertical axis at zero, with room for markers at both ends, once everything is drawn.

    `set_ylim(bottom=0)` ends the autoscaling of all axes that share the limit, and what is drawn later is cut off.
    The room that autoscaling leaves above is a share of the range of the data: none to speak of where all of it
    lies far from zero.
    """
    for axis in axes:
        low, high = axis.get_ylim()
        if low >= 0 or axis.dataLim.y0 >= 0:
            high = max(high, 1.05 * axis.dataLim.y1)
            axis.set_ylim(-0.03 * high, high)


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
