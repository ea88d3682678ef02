"""Where an embedding of blocks starts."""

from __future__ import annotations

import numpy as np

from closeknit._arrays import Array
from closeknit._threads import single_threaded_blas
from closeknit.distributed.blocks import Blocks, take_rows
from closeknit.distributed.cluster import Folder
from closeknit.embeddings import scaled_start

#: Rows from which the axes are computed.
_AXES = 2**15


def principal_components(blocks: Blocks, n_components: int, seed: int) -> Array:
    """Project all rows onto the principal axes of a sample of them."""
    from sklearn.decomposition import PCA

    cluster = blocks.cluster
    rows = blocks.sample(min(_AXES, blocks.n_samples), seed)
    sample = np.concatenate(cluster.run("start", take_rows, list(enumerate(rows)), blocks.name))
    n_axes = min(n_components, *sample.shape)
    with single_threaded_blas(), np.errstate(invalid="ignore"):
        axes = PCA(n_axes, random_state=seed).fit(sample.astype(np.float64))
    common = (blocks.name, axes.mean_, axes.components_)
    start = np.concatenate(cluster.run("start", _project, blocks.numbers, *common))
    if n_axes < n_components:  # fewer features than the map has dimensions
        rng = np.random.default_rng(seed)
        noise = 0.1 * start[:, 0].std() * rng.standard_normal((len(start), n_components - n_axes))
        start = np.hstack([start, noise])
    return scaled_start(start)


def _project(folder: Folder, block: int, name: str, mean: Array, axes: Array) -> Array:
    with single_threaded_blas():
        return (folder.load(f"{name}-{block}") - mean) @ axes.T
