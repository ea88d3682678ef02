"""Laplacian eigenmaps on a Dask cluster, from landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from closeknit import embeddings
from closeknit._checks import check_number
from closeknit.distributed.blocks import take_rows
from closeknit.distributed.cluster import Folder
from closeknit.distributed.running import OnCluster
from closeknit.io import load, save
from closeknit.neighbors import seed_of
from closeknit.progress import shown


@dataclass(repr=False, eq=False, kw_only=True)
class LaplacianEigenmaps(OnCluster, embeddings.LaplacianEigenmaps):
    """Laplacian eigenmaps on the current Dask cluster, from landmarks.

    The eigenvectors are those of a sample of the rows, computed in this process; all other rows are
    placed, block by block, at the weighted means of their neighbours among the landmarks, as
    :meth:`closeknit.LaplacianEigenmaps.transform` does.

    Parameters
    ----------
    n_landmarks : int, default=20000
        Rows that are embedded first; all, if there are no more.
    folder : str, path or None, default=None
        As in :class:`TSNE`; so are the remaining parameters as in
        :class:`closeknit.LaplacianEigenmaps`.

    Attributes
    ----------
    embedding_ : dask array of shape (n_samples, n_components)
    landmarks_ : closeknit.LaplacianEigenmaps
        Fitted to the landmarks.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     maps = ckd.LaplacianEigenmaps(n_landmarks=100).fit(load_iris().data)
    ...     maps.embedding_.compute().shape
    (150, 2)
    """

    n_landmarks: int = 20_000

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of `X`.

        Parameters
        ----------
        X : dask array or array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        check_number("n_landmarks", self.n_landmarks, integer=True, least=2)
        with shown(self.verbose):
            blocks = self._validate(X)
            cluster, seed = blocks.cluster, seed_of(self.random_state)
            rows = blocks.sample(min(self.n_landmarks, blocks.n_samples), seed)
            chosen = cluster.run("landmarks", take_rows, list(enumerate(rows)), blocks.name)
            parameters = embeddings.LaplacianEigenmaps().get_params()
            own = {name: getattr(self, name) for name in parameters}
            self.landmarks_ = embeddings.LaplacianEigenmaps(**own).fit(np.concatenate(chosen))
            model = cluster.folder.path / "landmarks.closeknit"
            save(self.landmarks_.set_params(n_jobs=1), model)
            cluster.run("other points", _place_block, blocks.numbers, blocks.name, str(model))
            self.landmarks_.set_params(n_jobs=self.n_jobs)
            self.embedding_ = blocks.array("map", (self.n_components,))
        return self

    def transform(self, X: Any, *, as_new: bool = False) -> Any:
        """Place new points as the rows beside the landmarks were placed."""
        check_is_fitted(self)
        place = partial(self.landmarks_.transform, as_new=as_new)
        if hasattr(X, "dask"):
            return X.map_blocks(place, chunks=(X.chunks[0], (self.n_components,)))
        return place(X)


def _place_block(folder: Folder, block: int, name: str, model: str) -> None:
    folder.save(f"map-{block}", load(model).transform(folder.load(f"{name}-{block}")))
