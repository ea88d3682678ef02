"""From an image to its segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Integers
from closeknit.apps.cluster import SpectralClustering
from closeknit.apps.meanshift import MeanShift
from closeknit.apps.pixels import pixel_features, window_neighbors


def segment_image(
    image: ArrayLike,
    n_segments: int | None = None,
    *,
    method: str = "spectral",
    perplexity: float = 30.0,
    n_neighbors: int | str = "auto",
    window: int | None = None,
    spatial_weight: float = 0.3,
    n_jobs: int | None = -1,
    random_state: Any = None,
    **options: Any,
) -> Integers:
    """Divide an image into segments of similar pixels that lie together.

    Parameters
    ----------
    image : array-like of shape (height, width), (height, width, 3) or (height, width, 4)
        Grey, or red, green and blue in sRGB; integers of 8 or 16 bits, or numbers from 0 to 1.
    n_segments : int or None, default=None
        How many; needed by spectral clustering, found by mean shift itself.
    method : {"spectral", "meanshift"}, default="spectral"
        Cut the graph of :func:`~closeknit.image_affinities`, or ascend to the modes of the pixels'
        density with the bandwidth of each pixel: :class:`~closeknit.SpectralClustering` or
        :class:`~closeknit.MeanShift`.
    perplexity : float, default=30.0
        Effective number of neighbours of a pixel. Mean shift wants a hundred or more for segments
        of any size.
    n_neighbors, window
        As in :func:`~closeknit.image_affinities`; `window` is for ``method="spectral"`` only.
    spatial_weight : float, default=0.3
        Weight of a step to the next pixel against a just visible difference of colour. With 1, as
        in the affinities' paper, segments are compact; with 0.1 they have many holes.
    n_jobs : int or None, default=-1
    random_state : int, RandomState or None, default=None
    **options
        Further parameters of the clustering.

    Returns
    -------
    ndarray of int of shape (height, width)
        The number of each pixel's segment, the largest first; -1 for pixels without one, as in the
        labels of the two clusterings.

    Examples
    --------
    >>> import closeknit as ck
    >>> import numpy as np
    >>> image = np.zeros((24, 24))
    >>> image[6:16, 8:20] = 1.0
    >>> labels = ck.segment_image(image, 2, perplexity=10, random_state=0)
    >>> bool((labels == image).all())
    True
    """
    if method not in ("spectral", "meanshift"):
        raise ValueError(f"unknown method {method!r}; use 'spectral' or 'meanshift'")
    X, shape = pixel_features(image, spatial_weight=spatial_weight), np.shape(image)[:2]
    options |= {
        "perplexity": perplexity,
        "n_neighbors": n_neighbors,
        "n_jobs": n_jobs,
        "random_state": random_state,
    }
    if method == "spectral":
        if n_segments is None:
            raise ValueError("method='spectral' needs the number of segments; pass n_segments")
        if window is not None:
            options["neighbors"] = window_neighbors(X, (shape[0], shape[1]), window)
        return SpectralClustering(n_segments, **options).fit_predict(X).reshape(shape)
    if n_segments is not None or window is not None:
        raise ValueError(
            "method='meanshift' finds the number of segments by itself, in the whole image; "
            "leave out n_segments and window, and raise perplexity for fewer segments"
        )
    return MeanShift(**options).fit_predict(X).reshape(shape)
