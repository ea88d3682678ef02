"""The papers' data sets, from a folder, and what stands in for them where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.apps.pixels import to_luv
from closeknit.io.files import reading


@dataclass(frozen=True)
class Points:
    """Data under a name, as the pages write it.

    Attributes
    ----------
    name : str
    X : ndarray or csr_matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
        Labels.
    metric : str
    image : ndarray of shape (height, width, 3) or None
        The picture whose pixels the points are.
    ring : int
        If not 0, this many points at a time follow each other around a closed curve.
    """

    name: str
    X: Any = field(repr=False)
    y: NDArray[Any] | None = field(default=None, repr=False)
    metric: str = "euclidean"
    image: NDArray[Any] | None = field(default=None, repr=False)
    ring: int = 0


def coil(folder: Path, n_objects: int = 10) -> Points:
    """Objects of COIL-20 in 72 views each; grey values from 0 to 1."""
    path, n = folder / "coil20.npz", 72 * n_objects
    with reading(path), np.load(path, allow_pickle=False) as file:
        X, y = file["X"][:n] / 255.0, file["y"][:n]
    return Points("COIL-20", X, y, ring=72)


def mnist(folder: Path, n_samples: int) -> Points:
    """The first MNIST digits; grey values from 0 to 255 in single precision."""
    path = folder / "mnist70k.npz"
    with reading(path), np.load(path, allow_pickle=False) as file:
        X, y = file["X"][:n_samples].astype(np.float32), file["y"][:n_samples]
    return Points("MNIST", X, y)


def newsgroups(folder: Path) -> Points:
    """20 Newsgroups as tf-idf of log counts, compared by angles."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfTransformer

    path = folder / "newsgroups20_counts.npz"
    with reading(path), np.load(path, allow_pickle=False) as file:
        parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
        counts, y = csr_matrix(parts, shape=file["shape"]), file["y"]
    return Points(
        "20 Newsgroups",
        TfidfTransformer(sublinear_tf=True).fit_transform(counts),
        y,
        metric="cosine",
    )


def digits(n_samples: int | None = None) -> Points:
    """Return scikit-learn's digits, all 1,797 or the first of them."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Points("digits", X[:n_samples], y[:n_samples])


def photograph(size: int | None = None) -> Points:
    """Pixels (i, j, L, u, v) of a photograph in raster order, or of a square in its upper middle.

    The photograph is scikit-image's astronaut, or scikit-learn's china if that is not installed.
    """
    try:
        name, image = "astronaut", import_module("skimage.data").astronaut()
    except ImportError:
        from sklearn.datasets import load_sample_image

        name, image = "china", load_sample_image("china.jpg")
    if size is not None:
        top, left = image.shape[0] // 8, (image.shape[1] - size) // 2  # the astronaut's face
        image = image[top : top + size, left : left + size]
    i, j = np.indices(image.shape[:2]).reshape(2, -1)
    return Points(name, np.column_stack([i, j, to_luv(image).reshape(-1, 3)]), image=image)
