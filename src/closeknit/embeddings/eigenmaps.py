"""Laplacian eigenmaps: the embedding at λ = 0, with the scale fixed by a constraint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from closeknit._arrays import Array, Integers
from closeknit._checks import check_number
from closeknit.embeddings.base import BaseEmbedding
from closeknit.embeddings.out_of_sample import weighted_means
from closeknit.linalg import graph_eigenvectors, permuted
from closeknit.progress import report, shown


def eigenmaps(
    W: Any, n_components: int, *, random_state: Any = None, n_jobs: int | None = -1
) -> Array:
    """Minimise Σ w ‖x_n − x_m‖² under XᵀDX = I and XᵀD1 = 0.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        Symmetric, non-negative weights.
    n_components : int
    random_state : int, RandomState or None, default=None
        Seeds the eigensolver's start.
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Connected components of the graph are embedded one by one and laid side by side:
        eigenvectors of the whole graph would only tell the components apart. Isolated points are
        at the origin of their component.
    """
    W = sparse.csr_matrix(W, dtype=np.float64)
    count, label = connected_components(W, directed=False)
    out = np.zeros((W.shape[0], n_components))
    rng = check_random_state(random_state)
    for component, (members, part) in enumerate(_components(W, count, label)):
        places = _connected(part, n_components, rng, n_jobs)
        if count > 1:
            # One component per cell of a grid, sized by its share of the points.
            share = np.sqrt(len(members) / W.shape[0])
            spread = np.abs(places).max()
            places = places * (share / spread if spread > 0.0 else 1.0)
            places = places + _cell(component, count, n_components)
        out[members] = places
    return out


def _components(
    W: csr_matrix, count: int, label: Integers
) -> Iterator[tuple[Integers, csr_matrix]]:
    """Yield the points of each component and the graph among them, in one pass over the graph."""
    if count == 1:
        yield np.arange(W.shape[0]), W
        return
    order = np.argsort(label, kind="stable")
    sorted_graph = permuted(W, order)
    ends = np.cumsum(np.bincount(label, minlength=count))
    for begin, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        first, last = sorted_graph.indptr[begin], sorted_graph.indptr[end]
        part = csr_matrix(
            (
                sorted_graph.data[first:last],
                sorted_graph.indices[first:last] - begin,
                sorted_graph.indptr[begin : end + 1] - first,
            ),
            shape=(end - begin, end - begin),
        )
        yield order[begin:end], part


def _cell(component: int, count: int, n_components: int) -> Array:
    side = int(np.ceil(count ** (1.0 / n_components)))
    return 2.5 * np.array(np.unravel_index(component, (side,) * n_components), dtype=np.float64)


def _connected(W: csr_matrix, n_components: int, rng: Any, n_jobs: int | None) -> Array:
    """The eigenvectors of L u = λ D u after the constant one, for a connected graph."""
    n = W.shape[0]
    out = np.zeros((n, n_components))
    found = graph_eigenvectors(W, min(n_components + 1, n), random_state=rng, n_jobs=n_jobs)
    rest = found.vectors[:, 1:] / found.roots[:, None]
    out[:, : rest.shape[1]] = rest
    return out


@dataclass(repr=False, eq=False)
class LaplacianEigenmaps(BaseEmbedding):
    """Laplacian eigenmaps on entropic affinities.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float, list or tuple of floats, or "auto", default=30.0
        Effective number of neighbours of each point; several are averaged, a scale each.
        ``"auto"`` is 30, or a third of the neighbours where there are fewer than 90 per point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        How near points are: entropic affinities, `X` itself, or what a transformer such as
        :class:`~closeknit.affinities.FixedAffinities` gives.
    metric : str, default="euclidean"
        Any metric of scikit-learn, ``"inner_product"``, or ``"precomputed"``.
    metric_params : dict or None, default=None
        Further arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with; ``"auto"`` is three times the perplexity, None all
        other points.
    neighbors : {"auto", "exact", "approximate"} or object, default="auto"
        How neighbours are found, or the neighbours themselves; as in
        :class:`~closeknit.EntropicAffinities`.
    dtype : {"float64", "float32"}, default="float64"
        Of what `fit_transform` and `transform` return; `embedding_` always has double precision.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
        Seeds the eigensolver and the approximate neighbour search.
    verbose : bool, default=False
        Whether to show progress on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The symmetric graph that was embedded.
    affinity_estimator_ : transformer or None
        What gave the affinities; None if they were given.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data
    representation.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> ck.LaplacianEigenmaps().fit_transform(load_iris().data).shape
    (150, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    perplexity: float | Sequence[float] | str = 30.0
    affinity: Any = "entropic"
    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_neighbors: int | str | None = "auto"
    neighbors: Any = "auto"
    dtype: Any = "float64"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the points of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        check_number("n_components", self.n_components, integer=True, least=1)
        with shown(self.verbose):
            X = self._validate(X)
            self.affinities_, self.affinity_estimator_ = self._graph(X)
            report("eigenvectors")
            self.embedding_ = self._embed()
        return self

    def _embed(self) -> Any:
        return eigenmaps(
            self.affinities_,
            self.n_components,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _place(self, Q: Any) -> Array:
        # Where Σ q ‖x − x_m‖² is least while the fitted points stay.
        return weighted_means(Q, self._map())
