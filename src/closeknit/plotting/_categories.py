"""Labels of any kind as numbered categories, and colours that readers can tell apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Integers
from closeknit._labels import find_missing

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

#: The same for a dark ground, on which eight of the twenty could hardly be seen, and one hardly be
#: told from `DARK_MISSING`. They are replaced, one after the other, by the farthest in CIELAB from
#: all others, for the same three kinds of sight, among colours with a contrast of 3 to 13.
DARK_PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
    "#D55E00", "#5A3CFF", "#96F069", "#C3C387", "#3CF0D2",
    "#B43C1E", "#6987FF", "#A5A54B", "#3C5AE1", "#FFD200",
    "#D200B4", "#5AD2E1", "#69A5FF", "#C31E4B", "#E18796",
)  # fmt: skip
DARK_MISSING = "#5A6570"

_PALEST = 0.5  # how far towards white or black further rounds of the palette go


@dataclass(frozen=True)
class Categories:
    """The names of categories, and each point's.

    Attributes
    ----------
    names : tuple of str
    codes : ndarray of shape (n_samples,)
        Index into the names, or -1 where the label is missing.
    title : str or None
        What the labels are called, if they know it, as columns of a data frame do.
    """

    names: tuple[str, ...]
    codes: Integers
    title: str | None


def categorize(labels: Any, n_samples: int) -> Categories:
    """Number the labels: categories in their order, others sorted, ``c2`` before ``c10``.

    Examples
    --------
    >>> found = categorize(["c10", None, "c2"], 3)
    >>> found.names, found.codes
    (('c2', 'c10'), array([ 1, -1,  0]))
    """
    title = getattr(labels, "name", None)
    category = getattr(labels, "cat", labels)  # a pandas Series keeps its categories there
    if hasattr(category, "codes") and hasattr(category, "categories"):
        names, codes = list(category.categories), np.array(category.codes, dtype="intp")
        _check_length(codes, n_samples)
    else:
        values = np.asarray(unmasked(labels))
        _check_length(values, n_samples)
        names, codes = _factorize(values)
    for noise in [code for code, name in enumerate(names) if _is_noise(name)]:
        del names[noise]  # at most one, so that the codes of the others hold
        codes[codes == noise] = -1
        codes[codes > noise] -= 1
    return Categories(
        tuple(_name(name) for name in names), codes, None if title is None else str(title)
    )


def unmasked(values: Any) -> Any:
    """Masked entries of a masked array as missing ones; anything else as it is.

    Examples
    --------
    >>> unmasked(np.ma.masked_equal([1, 2, 3], 2))
    array([ 1., nan,  3.])
    """
    if not np.ma.isMaskedArray(values):
        return values
    mask, known = np.ma.getmaskarray(values), np.ma.getdata(values)
    return np.where(mask, np.nan if known.dtype.kind in "fiu" else np.array(None), known)


def _check_length(labels: NDArray[Any], n_samples: int) -> None:
    if labels.shape != (n_samples,):
        raise ValueError(
            f"labels have shape {labels.shape} for {n_samples} points; "
            "pass one label for each point, in the same order"
        )


def _factorize(values: NDArray[Any]) -> tuple[list[Any], Integers]:
    """Distinct labels in order, and the index of each label among them."""
    present = ~find_missing(values)
    known = values[present]
    if known.dtype.kind == "O":  # numbers become numbers again, and anything else strings
        known = np.array(known.tolist() if len(known) else [], dtype=None)
        known = known if known.dtype.kind in "biuf" else known.astype(str)
    if known.dtype.kind == "f" and (known != np.round(known)).any():
        raise ValueError(
            f"labels hold fractions such as {known[known != np.round(known)][0]:g}; "
            "to colour points by a number, pass values= instead of labels="
        )
    codes = np.full(len(values), -1, dtype=np.intp)
    distinct, codes[present] = np.unique(known, return_inverse=True)
    names = distinct.tolist()
    if known.dtype.kind in "biuf":
        return names, codes
    order = sorted(range(len(names)), key=lambda code: _natural(names[code]))
    rank = np.argsort(order)
    codes[present] = rank[codes[present]]
    return [names[code] for code in order], codes


def _natural(name: Any) -> list[tuple[bool, int, str]]:
    """Sort key that takes digits as numbers."""
    parts = re.findall(r"\d+|\D+", str(name))
    return [(p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]


def _is_noise(name: Any) -> bool:
    """Whether the label is -1, as scikit-learn calls noise and points without a label."""
    return isinstance(name, int | float) and name == -1


def _name(name: Any) -> str:
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def category_colors(
    names: Sequence[str], palette: Sequence[Any] | Mapping[str, Any] | None = None
) -> Array:
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


def _extended(palette: Array, n_colors: int) -> Array:
    rounds = -(-n_colors // len(palette))
    parts = [palette]
    for turn in range(1, rounds):
        share = _PALEST * ((turn + 1) // 2) / (rounds // 2)
        parts.append(palette + share * (turn % 2 - palette))  # odd turns to white, even to black
    return np.concatenate(parts)[:n_colors]
