"""Entropic affinities and their symmetric graph, shard by shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn import config_context

from closeknit import affinities
from closeknit._arrays import Array, Integers
from closeknit.affinities import Regression, RowProblem, Status, scales_of, to_csr, warn_of_rows
from closeknit.distributed.blocks import Blocks, store_blocks
from closeknit.distributed.cluster import Cluster, Folder
from closeknit.distributed.graph import ShardedGraph, load_rows, save_rows
from closeknit.distributed.neighbors import ShardedIndex, check_metric, search
from closeknit.graphs import mean_of
from closeknit.neighbors import seed_of
from closeknit.progress import log, shown

#: What `Regression` looks at of all rows.
_N_FIT = Regression().n_fit


@dataclass(repr=False, eq=False, kw_only=True)
class EntropicAffinities(affinities.EntropicAffinities):
    """Entropic affinities on the current Dask cluster.

    Bandwidths and affinities are, to the bit, those that :class:`closeknit.EntropicAffinities`
    gives for the same neighbours. Neighbours are searched in cells of near rows, and the share that
    was found is measured on a sample.

    Parameters
    ----------
    perplexity : float, or list or tuple of floats, default=30.0
    n_neighbors : "auto" or int, default="auto"
        ``"auto"`` is three times the perplexity.
    metric : {"euclidean", "sqeuclidean", "l2", "cosine"}, default="euclidean"
    kernel, method, tol
        As in :class:`closeknit.EntropicAffinities`.
    target_recall : float, default=0.99
        Share of true neighbours to be found.
    cell_size : int, default=131072
        Rows that a task searches for, about; fewer if they have many features.
    folder : str, path or None, default=None
        Where the arrays are kept, seen by all workers; None is a temporary folder, which is removed
        when this estimator and its arrays are gone.
    resume : bool, default=False
        Whether to go on with the run in `folder`.
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False

    Attributes
    ----------
    affinities_ : ShardedGraph of shape (n_samples, n_samples)
        Row i is the distribution of point i.
    sigmas_, betas_ : dask array of shape (n_samples,)
    converged_ : dask array of bool of shape (n_samples,)
    neighbors_ : ShardedNeighbors
    recall_ : float
        Share of true neighbours that were found, on a sample of rows.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     ea = ckd.EntropicAffinities(perplexity=30).fit(load_digits().data)
    ...     ea.affinities_.shape, ea.sigmas_.shape, ea.recall_
    ((1797, 1797), (1797,), 1.0)
    """

    target_recall: float = 0.99
    cell_size: int = 2**17
    folder: Any = None
    resume: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the affinities of the rows of `X`.

        Parameters
        ----------
        X : dask array or array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with shown(self.verbose):
            return self.fit_blocks(self.store(X))

    def store(self, X: Any) -> Blocks:
        """Check the data and the parameters, and cut the data into blocks."""
        self._refuse()
        cluster = Cluster.current(self.folder, self.resume)
        return store_blocks(cluster, X, self.metric)

    def fit_blocks(self, blocks: Blocks) -> Self:
        """Compute the affinities of rows that are stored as blocks."""
        k, cluster = self._check_parameters(blocks.n_samples), blocks.cluster
        self.n_features_in_ = blocks.n_features
        seed = seed_of(self.random_state)
        found = search(blocks, k, self.metric, self.target_recall, self.cell_size, seed)
        self.neighbors_: Any = found
        self.recall_ = found.recall
        self.index_ = ShardedIndex(found, self.metric, seed)
        items = list(enumerate(blocks.at_equal_strides(_N_FIT)))
        sample = np.concatenate(cluster.run("affinities", _distances_of, items))
        self._fit_starts(sample)
        shards = cluster.run(
            "affinities", _solve_block, blocks.numbers, self._worker(), blocks.starts
        )
        status = sum(shards)
        n_missing = blocks.n_samples - int(status[Status.CONVERGED])
        log("affinities: %d points, %d neighbours each", blocks.n_samples, k)
        if n_missing:
            warn_of_rows(np.repeat(np.arange(len(status)), status), stacklevel=3)
        self.affinities_ = ShardedGraph(blocks, "rows", float(blocks.n_samples))
        width = (len(self.perplexity_),) if isinstance(self.perplexity_, list) else ()
        self.sigmas_ = blocks.array("sigmas", width)
        self.betas_ = blocks.array("betas", width)
        self.converged_ = blocks.array("converged", width, bool)
        return self

    def _fit_starts(self, sq_distances: Array) -> None:
        """Fit the start of the root finder to the rows that one machine would take."""
        scales = scales_of(self.perplexity_)
        self.starts_ = [
            Regression().fit(RowProblem(sq_distances, np.array([float(scale)]), None, 1))
            for scale in scales
        ]

    def _worker(self) -> EntropicAffinities:
        """Return what a task needs of this."""
        parameters = {**self.get_params(), "n_jobs": 1, "verbose": False, "folder": None}
        worker = type(self)(**parameters)
        worker.starts_, worker.perplexity_ = self.starts_, self.perplexity_
        return worker

    def solve_rows(self, indices: NDArray[Any], sq_distances: Array) -> Any:
        """Solve some rows, from the start that was fitted to a sample of all."""
        with config_context(assume_finite=True):
            return self._solve(sq_distances, indices, fitting=False)

    def _refuse(self) -> None:
        check_metric(self.metric)
        for name, only in (
            ("neighbors", "auto"),
            ("order", "auto"),
            ("include_self", False),
            ("metric_params", None),
        ):
            if getattr(self, name) is not only and getattr(self, name) != only:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not distributed; leave it out, or use "
                    "closeknit.EntropicAffinities"
                )
        if self.n_neighbors is None:
            raise ValueError("n_neighbors=None would compare all pairs; give a number or 'auto'")


def _distances_of(folder: Folder, item: tuple[int, Integers]) -> Array:
    block, rows = item
    return np.array(folder.load(f"points-sq_distances-{block}", mapped=True)[rows])


def _solve_block(
    folder: Folder, block: int, estimator: EntropicAffinities, starts: Integers
) -> Integers:
    """Solve the rows of a block; sort their affinities by the block that the other end is in."""
    indices = folder.load(f"points-indices-{block}")
    solved = estimator.solve_rows(indices, folder.load(f"points-sq_distances-{block}"))
    folder.save(f"sigmas-{block}", solved.sigmas)
    folder.save(f"betas-{block}", solved.betas)
    folder.save(f"converged-{block}", solved.status == Status.CONVERGED)
    P = to_csr(indices, solved.affinities, int(starts[-1]))
    P.sort_indices()
    save_rows(folder, f"rows-{block}", P)
    T = P.T.tocsr()  # sorted by the other end, and so by the block that it is in
    ends = np.repeat(np.arange(T.shape[0], dtype=indices.dtype), np.diff(T.indptr))
    folder.save(f"sent-cuts-{block}", T.indptr[starts])
    folder.save(f"sent-ends-{block}", ends)
    folder.save(f"sent-rows-{block}", (T.indices + starts[block]).astype(indices.dtype))
    folder.save(f"sent-data-{block}", T.data)
    return np.bincount(solved.status.ravel(), minlength=len(Status))


def symmetrize(P: ShardedGraph) -> ShardedGraph:
    """Average affinities with their transpose, as :func:`closeknit.graphs.symmetrize` does.

    Every shard has written what belongs to the rows of each other shard; now each reads its own.

    Parameters
    ----------
    P : ShardedGraph
        As :class:`EntropicAffinities` leaves it.

    Returns
    -------
    ShardedGraph
    """
    blocks, folder = P.blocks, P.blocks.cluster.folder
    noted = folder.noted("graph")
    if noted is None:
        totals = blocks.cluster.run("symmetrisation", _merge_halves, blocks.numbers, blocks.starts)
        noted = {"total": float(np.sum(totals))}
        folder.note("graph", noted)
        folder.remove("sent-*")
    return ShardedGraph(blocks, "graph", noted["total"])


def _merge_halves(folder: Folder, block: int, starts: Integers) -> float:
    """Add to the rows of a block what the others have of them, and return their sum."""
    P = load_rows(folder, f"rows-{block}", int(starts[-1]))
    parts: list[tuple[NDArray[Any], ...]] = []
    for other in range(len(starts) - 1):
        begin, end = folder.load(f"sent-cuts-{other}", mapped=True)[block : block + 2]
        parts.append(
            tuple(
                np.array(folder.load(f"sent-{what}-{other}", mapped=True)[begin:end])
                for what in ("ends", "rows", "data")
            )
        )
    ends, rows, data = (np.concatenate(each) for each in zip(*parts, strict=True))
    T = csr_matrix((data, (ends - ends.dtype.type(starts[block]), rows)), shape=P.shape)
    T.indptr, T.indices = T.indptr.astype(P.indptr.dtype), T.indices.astype(P.indices.dtype)
    W = mean_of(P, T, 1)
    if not W.data.all():
        W.eliminate_zeros()
    save_rows(folder, f"graph-{block}", W)
    return float(W.data.sum())
