"""What all pictures of curves share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.plotting._colors import category_colors

__all__ = ["curve_styles", "resolve_scale"]

_DASHES = ("-", "--", ":", "-.")


def curve_styles(n_curves: int) -> list[dict[str, Any]]:
    """Colours, and dashes that differ between curves whose colours are easily confused.

    Parameters
    ----------
    n_curves : int

    Returns
    -------
    list of dict
        Keywords of Matplotlib's ``plot``.

    Examples
    --------
    >>> from closeknit.plotting import curve_styles
    >>> [style["linestyle"] for style in curve_styles(7)]
    ['-', '-', '-', '-', '-', '-', '--']
    """
    colors = category_colors([str(i) for i in range(n_curves)])
    return [
        {"color": tuple(color), "linestyle": _DASHES[i // 6 % len(_DASHES)]}
        for i, color in enumerate(colors)
    ]


def resolve_scale(name: str, scale: str, values: NDArray[Any], wide: float = 100.0) -> str:
    """Return "linear" or "log"; for "auto" the latter if values are positive and differ widely.

    Parameters
    ----------
    name : str
        What the parameter is called, for messages.
    scale : {"auto", "linear", "log"}
    values : ndarray
    wide : float, default=100.0
        Ratio of the largest to the smallest value from which on "auto" is logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_scale("y_scale", "auto", np.array([1.0, 1000.0]))
    'log'
    >>> resolve_scale("y_scale", "auto", np.array([-1.0, 1000.0]))
    'linear'
    """
    if scale not in ("auto", "linear", "log"):
        raise ValueError(f"{name}={scale!r} is unknown; choose 'auto', 'linear' or 'log'")
    finite = values[np.isfinite(values)]
    positive = len(finite) > 0 and bool((finite > 0.0).all())
    if scale == "log" and not positive:
        raise ValueError(
            f"{name}='log' needs positive values, but the least is "
            f"{finite.min() if len(finite) else 'missing'}; choose 'linear'"
        )
    if scale == "auto":
        return "log" if positive and finite.max() >= wide * finite.min() else "linear"
    return scale
