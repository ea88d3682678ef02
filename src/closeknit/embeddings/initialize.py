"""Initial embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from closeknit._arrays import Array
from closeknit._threads import single_threaded_blas
from closeknit.linalg import multiply, real_array, row_sums

#: Standard deviation of the first coordinate of a start.
_SCALE = 1e-4
#: Eigenvalue above which a vector counts as smooth on the graph.
_SMOOTH = 0.9
#: Degree of the Chebyshev polynomial that filters a graph: of the eigenvalues of
#: D^(−1/2) W D^(−1/2) those below `_SMOOTH` are suppressed.
_DEGREE = 25
#: Squares of what is beyond it overflow.
_LARGEST = 1e150


def initial_embedding(
    init: Any,
    X: Any,
    W: Any,
    n_components: int,
    random_state: Any,
    metric: str,
    n_jobs: int | None = -1,
) -> Array:
    """Compute an initial embedding.

    Parameters
    ----------
    init : {"auto", "pca", "diffusion", "eigenmaps", "random"} or array
        ``"auto"`` is PCA where there are data with enough features, and diffused noise where only
        distances or affinities are given. An array has shape (n_samples, n_components).
    X : array or sparse matrix
        The data, distances or affinities.
    W : csr_matrix of shape (n_samples, n_samples)
        Symmetric affinities.
    n_components : int
    random_state : int, RandomState or None
    metric : str
        ``"precomputed"`` if `X` holds no features.
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        A new array.

    Examples
    --------
    >>> from closeknit.embeddings import initial_embedding
    >>> from closeknit.graphs import symmetrize
    >>> from closeknit import entropic_affinities
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> W = symmetrize(entropic_affinities(X, 30)[0])
    >>> start = initial_embedding("pca", X, W, 2, random_state=0, metric="euclidean")
    >>> start.std(axis=0).round(6)
    array([1.0e-04, 2.4e-05])
    """
    n = W.shape[0]
    if not (init is None or isinstance(init, str)):
        return _given(init, n, n_components)
    has_features = metric != "precomputed" and min(X.shape) > n_components
    if init == "auto":
        init = "pca" if has_features else "diffusion"
    if init == "random":
        return _SCALE * check_random_state(random_state).standard_normal((n, n_components))
    if init == "pca":
        if not has_features:
            raise ValueError(
                f"init='pca' needs data with more than {n_components} features and samples; "
                "use init='diffusion' or 'random'"
            )
        from sklearn.decomposition import PCA, TruncatedSVD

        method = TruncatedSVD if sparse.issparse(X) else PCA
        if X.dtype == np.float32 and float(abs(X).max()) > 1e15:
            X = X.astype(np.float64)  # in which sums of squares do not overflow
        with np.errstate(invalid="ignore"):  # the explained variance of identical points is 0 / 0
            start = method(n_components, random_state=random_state).fit_transform(X)
    elif init == "eigenmaps":
        from closeknit.embeddings.eigenmaps import eigenmaps

        start = eigenmaps(W, n_components, random_state=random_state, n_jobs=n_jobs)
    elif init == "diffusion":
        start = diffused_noise(W, n_components, random_state=random_state, n_jobs=n_jobs)
    else:
        raise ValueError(
            f"unknown init {init!r}; use 'auto', 'pca', 'diffusion', 'eigenmaps', 'random' or an "
            "array of shape (n_samples, n_components)"
        )
    return scaled_start(start)


def scaled_start(positions: Any) -> Array:
    """Give the first coordinate the standard deviation of a random start.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.embeddings import scaled_start
    >>> scaled_start(np.array([[-2.0, 0.0], [2.0, 1.0]]))
    array([[-1.e-04,  0.e+00],
           [ 1.e-04,  5.e-05]])
    """
    start = np.asarray(positions, dtype=np.float64)
    spread = float(start[:, 0].std())
    return np.ascontiguousarray(start * (_SCALE / spread if spread > 0.0 else 1.0))


def diffused_noise(
    W: Any, n_components: int, *, random_state: Any = None, n_jobs: int | None = -1
) -> Array:
    """Spread noise along the edges of a graph until only what is smooth on it is left.

    A start for maps of given affinities: points that are close in the graph begin close together,
    and each connected component has a place of its own. It takes a few tens of products with the
    graph, where eigenvectors take hundreds.

    Parameters
    ----------
    W : csr_matrix of shape (n_samples, n_samples)
        Symmetric, non-negative weights.
    n_components : int
    random_state : int, RandomState or None, default=None
        None is a fixed seed.
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Uncorrelated columns, weighted by the degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.embeddings.initialize import diffused_noise
    >>> pairs = csr_matrix(np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]]))
    >>> Y = diffused_noise(pairs, 1, random_state=0)
    >>> bool(np.allclose(Y[::2], Y[1::2], rtol=0.01))  # the ends of an edge are close together
    True
    """
    degrees = row_sums(W)
    roots = np.sqrt(np.where(degrees > 0.0, degrees, 1.0))[:, None]
    # The interval [−1, bound] is mapped to [−1, 1], where the polynomial is small.
    middle, half = (_SMOOTH - 1.0) / 2.0, (_SMOOTH + 1.0) / 2.0

    def apply(V: Array) -> Array:
        return (multiply(W, V / roots, n_jobs) / roots - middle * V) / half

    rng = check_random_state(0 if random_state is None else random_state)
    before = rng.standard_normal((len(degrees), n_components))
    smooth = apply(before)
    for _ in range(_DEGREE - 1):
        before, smooth = smooth, 2.0 * apply(smooth) - before
    total = float(degrees.sum()) or 1.0
    smooth -= roots * (roots.T @ smooth / total)  # the constant says nothing
    with single_threaded_blas():
        basis = np.linalg.qr(smooth)[0]
    return basis / roots


def _given(init: Any, n: int, n_components: int) -> Array:
    start = np.array(real_array(init, "init"), order="C")
    if start.shape != (n, n_components):
        raise ValueError(
            f"init has shape {start.shape}, but {n} points in {n_components} components need "
            f"{(n, n_components)}"
        )
    if not (np.abs(start) <= _LARGEST).all():
        raise ValueError(f"init contains NaN or infinite values, or some beyond {_LARGEST:g}")
    same = np.flatnonzero(np.ptp(start, axis=0) == 0.0)
    if len(same):
        raise ValueError(
            f"column {same[0]} of init has one value for all points, and no gradient moves them "
            "apart along it; add some noise"
        )
    return start
