"""Embeddings on a Dask cluster: the estimators of one machine, with their graph in shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from closeknit import embeddings
from closeknit.distributed import objective as on_shards
from closeknit.distributed.running import Nonlinear
from closeknit.objectives import Objective


@dataclass(repr=False, eq=False, kw_only=True)
class TSNE(Nonlinear, embeddings.TSNE):
    """t-SNE on the current Dask cluster.

    Parameters and attributes are those of :class:`closeknit.TSNE`, and the following.

    Parameters
    ----------
    target_recall : float, default=0.99
        Share of true neighbours to be found, certified by an exact scan for a sample of rows.
    cell_size : int, default=131072
        Rows that a task searches for, about; fewer if they have many features.
    folder : str, path or None, default=None
        Where the arrays are kept, seen by all workers; None is a temporary folder, which is removed
        when this estimator and its arrays are gone.
    resume : bool, default=False
        Whether to go on with the run in `folder`: complete stages are not repeated, and the map
        continues, without momentum, from where it was last written.
    checkpoint : int, default=25
        Iterations after which the map is written.

    Attributes
    ----------
    embedding_ : dask array of shape (n_samples, n_components)
    affinities_ : ShardedGraph of shape (n_samples, n_samples)
    affinity_estimator_ : EntropicAffinities
        Its `recall_` is the measured recall of the neighbours.

    Notes
    -----
    The neighbours, affinities and their graph are made and kept in shards. During the minimisation
    workers hold the shards and the positions, and sum the attraction; beyond ten million points,
    each task has the positions of those only that its edges touch. Meanwhile this process sums the
    repulsion; it holds the positions, a sample of the edges of each point, their factor and the
    grid, some 1,100 bytes per point at its peak. The map is the same to the bit for any number of
    workers, also if some are lost on the way.

    Not offered: affinities that are given, other metrics than Euclidean and cosine distances,
    ``init`` by diffusion or eigenmaps, and more than three components.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     tsne = ckd.TSNE(random_state=0, max_iter=20, tol=0).fit(load_iris().data)
    ...     tsne.embedding_.compute().shape
    (150, 2)
    """

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return on_shards.TSNE(P, dof=self.dof, **options)


@dataclass(repr=False, eq=False, kw_only=True)
class SymmetricSNE(Nonlinear, embeddings.SymmetricSNE):
    """Symmetric SNE on the current Dask cluster.

    Parameters and attributes are those of :class:`closeknit.SymmetricSNE`; `target_recall`,
    `cell_size`, `folder`, `resume` and `checkpoint` are as in :class:`TSNE`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     ckd.SymmetricSNE(max_iter=5).fit_transform(load_iris().data).compute().shape
    (150, 2)
    """

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return on_shards.SymmetricSNE(P, **options)


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticEmbedding(Nonlinear, embeddings.ElasticEmbedding):
    """Elastic embedding on the current Dask cluster.

    Parameters and attributes are those of :class:`closeknit.ElasticEmbedding`, without
    `repulsive_weights`; `target_recall`, `cell_size`, `folder`, `resume` and `checkpoint` are as in
    :class:`TSNE`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     ckd.ElasticEmbedding(lam=10, max_iter=5).fit_transform(load_iris().data).compute().shape
    (150, 2)
    """

    _model: ClassVar[Any] = on_shards.ElasticEmbedding
    _twin: ClassVar[Any] = on_shards.SymmetricSNE

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.repulsive_weights is not None:
            raise ValueError("repulsive_weights are not distributed; leave them out")
