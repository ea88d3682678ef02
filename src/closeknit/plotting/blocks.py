"""The picture of a map whose points are never in one place: histograms of blocks, added up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Flags, Integers
from closeknit.plotting._axes import axes_for, color_bar
from closeknit.plotting._categories import MISSING, categorize, category_colors
from closeknit.plotting._points import Canvas, usual_size
from closeknit.plotting.embedding import add_legend, frame_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Different labels beyond which colours say nothing.
_MOST_LABELS = 1000


def plot_blocks(
    embedding: Any,
    labels: Any = None,
    ax: Axes | None = None,
    *,
    values: Any = None,
    color_title: str | None = None,
) -> Axes:
    """Draw a map that is kept in blocks, as :mod:`closeknit.distributed` leaves it.

    It is shaded by density. Workers count the points of their blocks pixel by pixel; only the
    counts come here.

    Parameters
    ----------
    embedding : dask array of shape (n_samples, 2), or fitted estimator
    labels : dask array of shape (n_samples,), optional
        Classes, clusters or other categories, as in :func:`closeknit.plotting.plot_embedding`.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    values : dask array of shape (n_samples,), optional
        Numbers to colour the points by, instead of labels.
    color_title : str, optional
        What the colours mean.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import dask.array as da
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_blocks
    >>> Y = da.random.default_rng(0).normal(size=(1000, 2), chunks=(300, 2))
    >>> ax = plot_blocks(Y, da.from_array(["a", "b"] * 500), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    from matplotlib.colors import to_rgb

    Y = getattr(embedding, "embedding_", embedding)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ValueError(f"embedding must have shape (n_samples, 2), got {Y.shape}")
    if labels is not None and values is not None:
        raise ValueError("labels and values both give colours; pass one of them")
    given = labels if values is None else values
    if given is not None and not hasattr(given, "dask"):
        import dask.array

        given = dask.array.from_array(np.asarray(given))
        labels, values = (given, None) if values is None else (None, given)
    if given is not None and given.shape != Y.shape[:1]:
        raise ValueError(f"there are {given.shape} labels or values for {len(Y)} points")
    axes = axes_for(ax)
    frame_map(axes, np.vstack(_of_blocks(_corners, Y)))
    canvas = Canvas.of(axes, usual_size(axes, Y.shape[0]))
    colors: Any = _Plain()
    if labels is not None:
        colors = _Labels.of(labels, color_title)
    elif values is not None:
        colors = _Values.of(values, color_title)
    grey = np.array(to_rgb(MISSING))
    counted = np.zeros((2, 4, canvas.shape[0] * canvas.shape[1]))
    for part in _of_blocks(_count, Y, given, canvas=canvas, colors=colors, grey=grey):
        for layer, (pixels, sums) in enumerate(part):
            counted[layer][:, pixels] += sums
    for layer, one in enumerate(counted):
        if one[0].any():
            canvas.show(axes, one, None, 2.0 - layer)
    colors.explain(axes)
    return axes


def _of_blocks(function: Any, Y: Any, given: Any = None, **common: Any) -> Any:
    """Call a function of each block on the cluster, and yield what it returns in order."""
    import dask
    from dask import delayed

    arrays = [Y.rechunk({1: -1})]
    if given is not None:
        arrays.append(given.rechunk((Y.chunks[0],)))
    blocks = zip(*(array.to_delayed().ravel() for array in arrays), strict=True)
    return dask.compute(*(delayed(function)(*block, **common) for block in blocks))


def _corners(Y: Array) -> Array:
    if not np.isfinite(Y).all():
        raise ValueError("the embedding has NaN or infinite positions; leave these rows out")
    return np.array([Y.min(axis=0), Y.max(axis=0)])


def _count(
    Y: Array, given: Any = None, *, canvas: Canvas, colors: Any, grey: Array
) -> list[tuple[Integers, Array]]:
    """Light in the pixels that the points of a block lie in: those with a colour, then others."""
    rgb, missing = colors(len(Y), given)
    found = []
    for some, light in ((~missing, rgb), (missing, np.broadcast_to(grey, rgb.shape))):
        pixels, places = np.unique(canvas.pixels(Y[some]), return_inverse=True)
        rows = (None, *(light[some].T ** 2))
        sums = [np.bincount(places, weights=w, minlength=len(pixels)) for w in rows]
        found.append((pixels, np.array(sums, dtype=np.float64)))
    return found


class _Plain:
    """One colour for all."""

    def __call__(self, n: int, given: Any) -> tuple[Array, Flags]:
        return np.broadcast_to(category_colors(["points"]), (n, 3)), np.zeros(n, dtype=bool)

    def explain(self, ax: Axes) -> None:
        """Add nothing: there is one colour."""


class _Labels:
    """A colour for each label that occurs in some block."""

    def __init__(self, known: list[Any], title: str | None) -> None:
        found = categorize(np.array(known, dtype=object), len(known))
        self.categories = replace(found, title=title)
        self.palette = category_colors(self.categories.names)
        self._codes = dict(zip(known, self.categories.codes.tolist(), strict=True))

    @classmethod
    def of(cls, labels: Any, title: str | None) -> _Labels:
        """Ask all blocks for their labels."""
        import dask
        from dask import delayed

        parts = [delayed(_distinct)(block) for block in labels.to_delayed().ravel()]
        known = {label: None for part in dask.compute(*parts) for label in part}
        if len(known) > _MOST_LABELS:
            raise ValueError(f"there are {len(known)} different labels; choose a column of fewer")
        return cls(list(known), title)

    def __call__(self, n: int, given: Any) -> tuple[Array, Flags]:
        codes = np.array([self._codes[label] for label in given.tolist()])
        palette = self.palette if len(self.palette) else np.zeros((1, 3))
        return palette[codes], codes < 0

    def explain(self, ax: Axes) -> None:
        """Add a legend."""
        codes = self.categories.codes
        add_legend(ax, self.categories, np.unique(codes[codes >= 0]), self.palette)


class _Values:
    """A colour for each number."""

    def __init__(self, low: float, high: float, title: str) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        self.scale, self.title = ScalarMappable(Normalize(low, high), cmap="viridis"), title

    @classmethod
    def of(cls, values: Any, title: str | None) -> _Values:
        """Ask all blocks for their range."""
        import dask.array

        known = dask.array.where(dask.array.isfinite(values), values, np.nan)
        low, high = dask.compute(dask.array.nanmin(known), dask.array.nanmax(known))
        return cls(float(low), float(high), title or "value")

    def __call__(self, n: int, given: Any) -> tuple[Array, Flags]:
        missing = ~np.isfinite(given)
        return np.asarray(self.scale.to_rgba(np.where(missing, 0.0, given)))[:, :3], missing

    def explain(self, ax: Axes) -> None:
        """Add a colour bar."""
        color_bar(ax, self.scale, self.title)


def _distinct(labels: NDArray[Any]) -> list[Any]:
    """The labels of a block, each once."""
    return list(dict.fromkeys(labels.tolist()))
