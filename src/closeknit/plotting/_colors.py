"""Colours for categories that colour-blind readers can tell apart, as far as that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MISSING", "PALETTE", "category_colors"]

#: Six colours of Okabe and Ito; each further one is the farthest in CAM02-UCS from all before it
#: and from `MISSING`, for normal sight, deuteranopia and protanopia alike, among colours neither
#: too dark nor too pale for a white ground. In CIELAB any two of the twenty differ by more than
#: 10, as tests/plotting/test_colors.py measures.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
    "#D55E00", "#781E0F", "#87005A", "#C3C387", "#3C694B",
    "#0F3CA5", "#6987FF", "#A53C00", "#4B7878", "#4B00FF",
    "#005A78", "#5AD2E1", "#692D3C", "#C31E4B", "#E18796",
)  # fmt: skip

#: Of points without a label.
MISSING = "#C8C8C8"

_PALEST = 0.5  # how far towards white or black further rounds of the palette go


def category_colors(
    names: Sequence[str], palette: Sequence[Any] | Mapping[str, Any] | None = None
) -> NDArray[np.float64]:
    """Return a different colour for each name, as (n_names, 3) red, green and blue.

    Parameters
    ----------
    names : sequence of str
    palette : sequence of colours, or mapping from names to colours, optional
        By default `PALETTE`; beyond twenty names it is repeated, paler and darker by turns.

    Examples
    --------
    >>> category_colors(["a", "b"], {"a": "red", "b": "blue"})
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    from matplotlib.colors import to_rgb

    if palette is None:
        return _extended(np.array([to_rgb(color) for color in PALETTE]), len(names))
    if isinstance(palette, Mapping):
        keyed = {str(key): color for key, color in palette.items()}
        unknown = [name for name in names if name not in keyed]
        if unknown:
            raise ValueError(f"palette has no colour for {', '.join(unknown)}; add them")
        chosen = [keyed[name] for name in names]
    elif isinstance(palette, str) or len(palette) < len(names):
        raise ValueError(
            f"palette={palette!r} must list a colour for each of the {len(names)} labels, or map "
            "labels to colours"
        )
    else:
        chosen = list(palette[: len(names)])
    return np.array([to_rgb(color) for color in chosen]).reshape(-1, 3)


def _extended(palette: NDArray[np.float64], n_colors: int) -> NDArray[np.float64]:
    rounds = -(-n_colors // len(palette))
    parts = [palette]
    for turn in range(1, rounds):
        share = _PALEST * ((turn + 1) // 2) / (rounds // 2)
        parts.append(palette + share * (turn % 2 - palette))  # odd turns to white, even to black
    return np.concatenate(parts)[:n_colors]
