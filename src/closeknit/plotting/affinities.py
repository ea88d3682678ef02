"""Plots of the matrix of affinities, in blocks of pixels when it is large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from closeknit._arrays import Array, Integers
from closeknit.linalg import check_structure
from closeknit.plotting._axes import axes_for, color_bar
from closeknit.plotting._categories import Categories, categorize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize


def plot_affinities(
    W: Any,
    labels: Any = None,
    ax: Axes | None = None,
    *,
    max_pixels: int = 300,
    colormap: str | Colormap = "viridis_r",
    norm: Normalize | str | None = "log",
) -> Axes:
    """Draw a matrix of affinities; blocks of zeros stay white.

    Parameters
    ----------
    W : (n_samples, n_targets) array-like or sparse matrix
        Sparse matrices stay sparse, so a million points are no trouble.
    labels : array-like of shape (n_samples,), optional
        Sorts the points by label, as for :func:`plot_embedding`, and draws lines between them; W
        must be square then. Clusters appear as blocks.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    max_pixels : int, default=300
        A larger matrix is shown in at most this many rows and columns of blocks, by their means.
    colormap : str or Colormap, default="viridis_r"
    norm : Normalize or str, default="log"
        How affinities map to colours; affinities usually span many powers of ten.

    Returns
    -------
    matplotlib Axes
        With a colour bar beside it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.plotting import plot_affinities
    >>> X, y = load_iris(return_X_y=True)
    >>> W, _ = ck.entropic_affinities(X, perplexity=10)
    >>> ax = plot_affinities(W, y, ax=Figure().subplots())
    >>> ax.images[0].get_array().shape
    (150, 150)
    """
    matrix = _check_matrix(W)
    if isinstance(max_pixels, bool) or max_pixels != int(max_pixels) or max_pixels < 1:
        raise ValueError(f"max_pixels={max_pixels!r} must be an integer of at least 1")
    categories = None if labels is None else _check_labels(labels, matrix)
    place = None
    if categories is not None:
        place = np.argsort(np.argsort(categories.codes, kind="stable"))
    blocks = _block_means(matrix, place, int(max_pixels))
    axes = axes_for(ax)
    height, width = matrix.shape
    drawn = axes.imshow(
        np.ma.masked_where(blocks == 0.0, blocks),
        extent=(0.0, width, height, 0.0),
        cmap=colormap,
        norm=norm if blocks.any() else None,  # a logarithm of nothing has no limits
        interpolation="nearest",
    )
    axes.set(xticks=[], yticks=[])
    if categories is not None:
        _mark_classes(axes, categories)
    quantity = "affinity" if blocks.shape == matrix.shape else "mean affinity"
    color_bar(axes, drawn, quantity)
    return axes


def _check_matrix(W: Any) -> sp.coo_array:
    check_structure(W)
    matrix = sp.coo_array(W) if sp.issparse(W) else _check_dense(W)
    if 0 in matrix.shape:
        raise ValueError(f"W is empty, of shape {matrix.shape}; pass affinities of some points")
    bad = ~(np.isfinite(matrix.data) & (matrix.data >= 0.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"W[{matrix.row[i]}, {matrix.col[i]}] is {matrix.data[i]}; "
            "affinities must be non-negative numbers"
        )
    return matrix


def _check_dense(W: Any) -> sp.coo_array:
    matrix = np.asarray(W, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"W must be a matrix, got shape {matrix.shape}")
    return sp.coo_array(matrix)


def _check_labels(labels: Any, matrix: sp.coo_array) -> Categories:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"labels sort rows and columns alike, but W has shape {matrix.shape}")
    return categorize(labels, matrix.shape[0])


def _block_means(matrix: sp.coo_array, place: Integers | None, max_pixels: int) -> Array:
    """Means over blocks of rows and columns; `place` is where each of them goes first."""
    row, column = (
        (matrix.row, matrix.col) if place is None else (place[matrix.row], place[matrix.col])
    )
    shape = tuple(min(n, max_pixels) for n in matrix.shape)
    of_row, of_column = (
        np.arange(n) * pixels // n for n, pixels in zip(matrix.shape, shape, strict=True)
    )
    block = of_row[row] * shape[1] + of_column[column]
    sums = np.bincount(block, weights=matrix.data, minlength=shape[0] * shape[1]).reshape(shape)
    means: Array = sums / np.outer(np.bincount(of_row), np.bincount(of_column))
    return means


def _mark_classes(ax: Axes, categories: Categories) -> None:
    codes, counts = np.unique(categories.codes, return_counts=True)
    ends = np.cumsum(counts)
    for end in ends[:-1]:
        ax.axhline(end, color="0.6", linewidth=0.5)
        ax.axvline(end, color="0.6", linewidth=0.5)
    names = [*categories.names, "no label"]  # of the code -1, too
    ax.set_yticks(ends - counts / 2.0, [names[code] for code in codes])
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel(categories.title or "")
