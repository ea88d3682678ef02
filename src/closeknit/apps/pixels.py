"""Pixels as points: where they are and what colour they have."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array
from closeknit.affinities import EntropicAffinities, Raster
from closeknit.linalg import real_array
from closeknit.neighbors import Neighbors

#: From linear sRGB to CIE XYZ (IEC 61966-2-1); the rows' sums are the white point D65.
_TO_XYZ = np.array(
    [
        [0.4124, 0.3576, 0.1805],
        [0.2126, 0.7152, 0.0722],
        [0.0193, 0.1192, 0.9505],
    ]
)


def to_luv(image: ArrayLike) -> Array:
    """Convert sRGB or grey to CIELUV, where distances are about as large as the eye sees them.

    Parameters
    ----------
    image : array-like of shape (height, width), (height, width, 3) or (height, width, 4)
        Grey, or red, green and blue; a fourth channel (opacity) is ignored. Integers of 8 or 16
        bits are divided by the largest number of their type, others must lie from 0 to 1.

    Returns
    -------
    ndarray of shape (height, width, 3)
        L from 0 to 100, and u and v, which are 0 for greys.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.apps.pixels import to_luv
    >>> red, white = [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    >>> np.abs(to_luv([[red, white]])).round()
    array([[[ 53., 175.,  38.],
            [100.,   0.,   0.]]])
    """
    rgb = _check_image(image)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T
    white = _TO_XYZ.sum(axis=1)
    y = xyz[..., 1] / white[1]
    lightness = np.where(y > (6 / 29) ** 3, 116.0 * np.cbrt(y) - 16.0, (29 / 3) ** 3 * y)
    hue = 13.0 * lightness[..., None] * (_chromaticity(xyz) - _chromaticity(white))
    return np.concatenate([lightness[..., None], hue], axis=-1)


def _chromaticity(xyz: Array) -> Array:
    """Return u' and v'; black has none, and any will do since its lightness is 0."""
    total = xyz @ np.array([1.0, 15.0, 3.0])
    total = np.where(total > 0.0, total, 1.0)
    return np.stack([4.0 * xyz[..., 0] / total, 9.0 * xyz[..., 1] / total], axis=-1)


def _check_image(image: ArrayLike) -> Array:
    """Return an image as red, green and blue from 0 to 1."""
    if isinstance(image, str | PathLike):
        raise TypeError(
            f"the image must be an array of pixels, got the path {str(image)!r}; read it with "
            "closeknit.io.read_image"
        )
    if getattr(image, "mode", None) in ("P", "PA"):
        raise ValueError("the picture holds numbers of a palette; use its convert('RGB')")
    pixels = real_array(image, "the image")
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4)):
        raise ValueError(
            f"an image has shape (height, width) or (height, width, 3 or 4), got {pixels.shape}"
        )
    if pixels.size == 0:
        raise ValueError(f"the image of shape {pixels.shape} has no pixels")
    given = np.asarray(image).dtype
    if given.kind in "iu" and given.itemsize > 2:
        raise ValueError(
            f"an image of {given} does not say which number is white; convert it, for example by "
            "image.astype(np.uint8) if that is 255"
        )
    if given.kind in "iu":
        pixels = pixels / np.iinfo(given).max
    if not (np.isfinite(pixels).all() and pixels.min() >= 0.0 and pixels.max() <= 1.0):
        raise ValueError(
            f"floating-point images hold numbers from 0 to 1, got {pixels.min():g} to "
            f"{pixels.max():g}; divide by the largest possible number, for example by 255"
        )
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    return np.broadcast_to(pixels[..., :3], (*pixels.shape[:2], 3))


def pixel_features(image: ArrayLike, *, spatial_weight: float = 1.0) -> Array:
    """One point (i, j, L, u, v) for each pixel, row by row.

    Parameters
    ----------
    image : array-like of shape (height, width), (height, width, 3) or (height, width, 4)
        As for ``closeknit.apps.pixels.to_luv``.
    spatial_weight : float, default=1.0
        Factor of i and j, the pixel's row and column. With 1, as in the paper, a step to the next
        pixel counts like a just visible difference of colour.

    Returns
    -------
    ndarray of shape (height × width, 5)

    Examples
    --------
    >>> from closeknit.apps import pixel_features
    >>> pixel_features([[0.0, 1.0]]).round(6) + 0.0
    array([[  0.,   0.,   0.,   0.,   0.],
           [  0.,   1., 100.,   0.,   0.]])
    """
    if not 0.0 <= spatial_weight < np.inf:
        raise ValueError(f"spatial_weight={spatial_weight} must not be negative or infinite")
    luv = to_luv(image)
    places = spatial_weight * np.indices(luv.shape[:2]).reshape(2, -1).T
    return np.hstack([places, luv.reshape(-1, 3)])


def image_affinities(
    image: ArrayLike,
    perplexity: float = 30.0,
    n_neighbors: int | str = "auto",
    *,
    window: int | None = None,
    spatial_weight: float = 1.0,
    order: Any = "auto",
    **options: Any,
) -> tuple[Any, Array]:
    """Entropic affinities between the pixels of an image.

    A pixel is the point (i, j, L, u, v): its place and its colour in CIELUV.

    Parameters
    ----------
    image : array-like of shape (height, width), (height, width, 3) or (height, width, 4)
        As for ``closeknit.apps.pixels.to_luv``.
    perplexity : float, default=30.0
    n_neighbors : "auto" or int, default="auto"
        Neighbours of each pixel; ``"auto"`` means ⌈3 · perplexity⌉.
    window : int or None, default=None
        Look for neighbours only among the pixels that are at most this many rows and columns away.
        None looks in the whole image, with a k-d tree.
    spatial_weight : float, default=1.0
        As in :func:`pixel_features`.
    order : str or Order, default="auto"
        As in :func:`~closeknit.solve_bandwidths`; ``"raster"`` starts each pixel at the one before.
    **options
        Further parameters of :class:`~closeknit.EntropicAffinities`.

    Returns
    -------
    W : csr_matrix of shape (height × width, height × width)
        Affinities; rows sum to 1 and have the given perplexity. Pixels are in raster order.
    sigma : ndarray of shape (height, width)
        Bandwidths, as an image.

    References
    ----------
    Vladymyrov and Carreira-Perpiñán (2013), Entropic affinities: properties and efficient numerical
    computation, figure 5.

    Examples
    --------
    >>> import closeknit as ck
    >>> import numpy as np
    >>> image = np.random.default_rng(0).random((30, 40, 3))
    >>> W, sigma = ck.image_affinities(image, perplexity=10)
    >>> W.shape, sigma.shape
    ((1200, 1200), (30, 40))
    """
    X = pixel_features(image, spatial_weight=spatial_weight)
    shape = np.shape(image)[:2]
    if isinstance(order, str) and order == "raster":
        order = Raster((shape[0], shape[1]))
    if window is not None:
        options["neighbors"] = window_neighbors(X, (shape[0], shape[1]), window)
    model = EntropicAffinities(perplexity, n_neighbors=n_neighbors, order=order, **options).fit(X)
    return model.affinities_, model.sigmas_.reshape(shape)


def window_neighbors(X: Array, shape: tuple[int, int], radius: int) -> Neighbors:
    """All other pixels that are at most `radius` rows and columns away, the nearest first.

    Parameters
    ----------
    X : ndarray of shape (height × width, n_features)
        Pixels in raster order.
    shape : tuple of int
        Height and width.
    radius : int

    Returns
    -------
    Neighbors
        Pixels near the border have fewer.

    Examples
    --------
    >>> from closeknit.apps.pixels import pixel_features, window_neighbors
    >>> pixels = pixel_features([[0.0, 1.0, 1.0]])
    >>> window_neighbors(pixels, (1, 3), radius=1).indices
    array([[ 1, -1],
           [ 2,  0],
           [ 1, -1]], dtype=int32)
    """
    if isinstance(radius, bool) or not isinstance(radius, int | np.integer) or radius < 1:
        raise ValueError(f"window={radius!r} must be None or an integer of at least 1")
    height, width = shape
    place = np.arange(height * width, dtype=np.int32).reshape(shape)
    row, column = np.divmod(place.ravel(), width)
    down, right = min(radius, height - 1), min(radius, width - 1)
    steps = [
        (i, j) for i in range(-down, down + 1) for j in range(-right, right + 1) if (i, j) != (0, 0)
    ]
    indices = np.full((len(X), len(steps)), -1, dtype=np.int32)
    distances = np.full((len(X), len(steps)), np.inf)
    for number, (i, j) in enumerate(steps):
        inside = (row + i >= 0) & (row + i < height) & (column + j >= 0) & (column + j < width)
        other = place.ravel()[inside] + i * width + j
        indices[inside, number] = other
        distances[inside, number] = np.linalg.norm(X[inside] - X[other], axis=1)
    return Neighbors.from_arrays(indices, distances, n_targets=len(X))
