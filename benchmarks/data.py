"""Data sets of the benchmarks, read from a folder or made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from closeknit.experiments.data import mnist, newsgroups, photograph

PIXELS = "pixels"


def load(name: str, folder: Path | None) -> tuple[Any, str]:
    """Return the points of a data set and the metric to use with it."""
    if name == PIXELS:
        return photograph().X, "euclidean"
    if folder is None:
        raise SystemExit(f"{name} needs --data FOLDER with the benchmark data sets")
    return READERS[name](folder)


def load_labelled(name: str, folder: Path | None) -> tuple[Any, str, np.ndarray]:
    """Return points, metric and labels, which may be empty; MNIST whole."""
    if folder is None:
        raise SystemExit(f"{name} needs --data FOLDER with the benchmark data sets")
    if name == "mnist70k":
        X, metric = _array(folder, "mnist").astype(np.float32), "euclidean"
    else:
        X, metric = READERS[name](folder)
    if not LABELS[name]:
        return X, metric, np.empty(0, dtype=int)
    with np.load(folder / FILES[name.removesuffix("70k")], allow_pickle=False) as file:
        return X, metric, file[LABELS[name]]


def _mnist(folder: Path) -> tuple[Any, str]:
    return mnist(folder, 60_000).X, "euclidean"


def _newsgroups(folder: Path) -> tuple[Any, str]:
    return newsgroups(folder).X, "cosine"


def _covertype(folder: Path) -> tuple[Any, str]:
    X = _array(folder, "covertype").astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), "euclidean"


def _array(folder: Path, name: str) -> np.ndarray:
    with np.load(folder / FILES[name], allow_pickle=False) as file:
        return file["X"]


def _plain(name: str) -> Any:
    return lambda folder: (_array(folder, name).astype(np.float32), "euclidean")


FILES = {
    "mnist": "mnist70k.npz",
    "newsgroups": "newsgroups20_counts.npz",
    "covertype": "cover286k.npz",
    "skin": "skin245k.npz",
    "glove": "glove100_120k.npz",
    "cbmc": "cbmc_cite_pca50.npz",
    "pbmc": "pbmc3k_pca50.npz",
    "coil20": "coil20.npz",
    "flow": "flowcyto19k.npz",
}
READERS = {
    "mnist": _mnist,
    "newsgroups": _newsgroups,
    "covertype": _covertype,
    "skin": _plain("skin"),
    "glove": _plain("glove"),
    "cbmc": _plain("cbmc"),
    "pbmc": _plain("pbmc"),
    "coil20": _plain("coil20"),
    "flow": _plain("flow"),
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
