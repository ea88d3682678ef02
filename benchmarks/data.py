"""Data sets of the benchmarks, read from a folder or made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

PIXELS = "pixels"


def load(name: str, folder: Path | None) -> tuple[Any, str]:
    """Return the points of a data set and the metric to use with it."""
    if name == PIXELS:
        return astronaut_pixels(), "euclidean"
    if folder is None:
        raise SystemExit(f"{name} needs --data FOLDER with the benchmark data sets")
    with np.load(folder / FILES[name], allow_pickle=False) as file:
        return READERS[name](file)


def load_labelled(name: str, folder: Path | None) -> tuple[Any, str, np.ndarray]:
    """Return points, metric and labels, which may be empty."""
    source = {"mnist70k": "mnist"}.get(name, name)
    if folder is None:
        raise SystemExit(f"{name} needs --data FOLDER with the benchmark data sets")
    with np.load(folder / FILES[source], allow_pickle=False) as file:
        X, metric = (
            (file["X"].astype(np.float32), "euclidean")
            if name == "mnist70k"
            else READERS[source](file)
        )
        labels = file[LABELS[name]] if LABELS[name] else np.empty(0, dtype=int)
    return X, metric, labels


def astronaut_pixels() -> np.ndarray:
    """The 262,144 pixels of scikit-image's astronaut as (i, j, L, u, v), in raster order."""
    from skimage import color, data

    image = data.astronaut()
    i, j = np.mgrid[: image.shape[0], : image.shape[1]]
    luv = color.rgb2luv(image).reshape(-1, 3)
    return np.column_stack([i.ravel(), j.ravel(), luv])


def _mnist(file: Any) -> tuple[Any, str]:
    return file["X"][:60_000].astype(np.float32), "euclidean"


def _newsgroups(file: Any) -> tuple[Any, str]:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = csr_matrix(
        (file["data"].astype(np.float64), file["indices"], file["indptr"]), shape=file["shape"]
    )
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), "cosine"


def _standardised(file: Any) -> tuple[Any, str]:
    X = file["X"].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), "euclidean"


def _plain(file: Any) -> tuple[Any, str]:
    return file["X"].astype(np.float32), "euclidean"


FILES = {
    "mnist": "mnist70k.npz",
    "newsgroups": "newsgroups20_counts.npz",
    "covertype": "cover286k.npz",
    "skin": "skin245k.npz",
    "glove": "glove100_120k.npz",
    "cbmc": "cbmc_cite_pca50.npz",
    "pbmc": "pbmc3k_pca50.npz",
}
READERS = {
    "mnist": _mnist,
    "newsgroups": _newsgroups,
    "covertype": _standardised,
    "skin": _plain,
    "glove": _plain,
    "cbmc": _plain,
    "pbmc": _plain,
}
#: Data sets for embeddings, with the key of their labels.
LABELS = {
    "pbmc": "y",
    "cbmc": "y",
    "newsgroups": "y",
    "mnist70k": "y",
    "glove": "",
    "covertype": "y",
}
