"""Names written on a picture where they belong, without overlapping each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform

from closeknit._arrays import Array

_PADDING = 1.5  # pixels between two names


def _rings(n_rings: int) -> Array:
    """Places to try: the anchor and rings around it, at distances 1, 2, …, nearest first."""
    places = [np.zeros((1, 2))]
    for ring in range(1, n_rings + 1):
        angle = np.linspace(0.0, 2.0 * np.pi, 6 * ring, endpoint=False)
        places.append(ring * np.column_stack([np.cos(angle), np.sin(angle)]))
    return np.concatenate(places)


_RINGS = _rings(14)  # in half lines of text


class Names(Artist):
    """Names that find their places each time the figure is drawn, whatever its size then.

    The first name gets the best place, and so on; a name that has moved is tied to its anchor by a
    line, and one that finds no free place nearby is left out.

    Parameters
    ----------
    anchors : ndarray of shape (n_names, 2)
        In data coordinates.
    names : sequence of str
    size : float
        Of the font.

    Attributes
    ----------
    boxes : dict
        The window extents of the names that were drawn last.
    """

    def __init__(self, anchors: Array, names: Sequence[str], size: float) -> None:
        super().__init__()
        self.anchors = anchors
        self.names = tuple(names)
        self.size = size
        self.font = FontProperties(size=size)
        self.boxes: dict[str, Bbox] = {}
        self.set_zorder(5.0)
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        """Find a place for each name and draw those that have one."""
        self.boxes = {}
        if not self.get_visible():
            return
        anchors = self.axes.transData.transform(self.anchors)  # type: ignore[union-attr]
        for name, anchor in zip(self.names, anchors, strict=True):
            text = self._text(name, anchor)
            box = text.get_window_extent(renderer)
            place = self._free_place(box)
            if place is None:
                continue
            if np.hypot(*place) > 0.75 * box.height:
                self._tie(anchor, anchor + place).draw(renderer)
            text.set_position(tuple(anchor + place))
            text.draw(renderer)
            self.boxes[name] = box.translated(*place)

    def _text(self, name: str, anchor: Array) -> Text:
        text = Text(
            float(anchor[0]),
            float(anchor[1]),
            name,
            fontproperties=self.font,
            ha="center",
            va="center",
            transform=IdentityTransform(),
        )
        text.set_figure(self.get_figure())  # type: ignore[arg-type]
        ground = self.axes.get_facecolor()  # type: ignore[union-attr]
        text.set_path_effects([withStroke(linewidth=0.3 * self.size, foreground=ground)])
        return text

    def _tie(self, start: Array, end: Array) -> Line2D:
        line = Line2D(
            *np.array([start, end]).T, color="0.35", linewidth=0.7, transform=IdentityTransform()
        )
        line.set_figure(self.get_figure())  # type: ignore[arg-type]
        return line

    def _free_place(self, box: Bbox) -> Array | None:
        """Return the shortest shift that takes the box off all boxes so far."""
        shifts = 0.5 * box.height * _RINGS
        low, high = shifts + np.array(box.min), shifts + np.array(box.max)
        free = np.ones(len(shifts), dtype=bool)
        for other in self.boxes.values():
            before = (high < np.array(other.min) - _PADDING).any(axis=1)
            after = (low > np.array(other.max) + _PADDING).any(axis=1)
            free &= before | after
        return shifts[np.argmax(free)] if free.any() else None
