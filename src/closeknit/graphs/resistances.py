"""Effective resistances of the edges of a graph, estimated by random projections.

The resistance between the ends of edge e is ‖W^{1/2} B L⁺ (e_u − e_v)‖², a distance between columns
of a matrix with a row per edge. Projecting that matrix to a few random directions keeps distances
(Johnson and Lindenstrauss), and each direction costs one system with the Laplacian L (Spielman and
Srivastava, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from closeknit._arrays import Array
from closeknit.graphs.laplacian import laplacian
from closeknit.linalg import ApproximateCholesky, check_symmetric, conjugate_gradients, multiply

#: Columns solved for together: as many as a byte has random bits.
_BLOCK = 8
#: Relative residual of the systems. The projection errs by some ten per cent, but a looser one
#: would overlook weak bridges, whose potentials hardly show in the residual.
_TOLERANCE = 1e-7
_MAX_ITER = 2_000
#: Iterations without a smaller residual, as happens where weights span more than all digits.
_PATIENCE = 50
_CHUNK = 8_192  # edges whose potentials stay in the cache


def effective_resistances(
    W: Any, *, n_projections: int = 100, random_state: Any = None, n_jobs: int | None = -1
) -> Any:
    """Estimate the effective resistance of every edge.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric weights, taken as conductances.
    n_projections : int, default=100
        Random directions; the relative standard error of a resistance is √(2/n_projections).
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=-1
        Threads; the result is the same for any.

    Returns
    -------
    coo_matrix of shape (n_samples, n_samples)
        The resistances, above the diagonal, each edge once. Weight times resistance, the leverage,
        is between 0 and 1 and adds up to the number of points minus that of components.

    References
    ----------
    Spielman and Srivastava (2011), Graph sparsification by effective resistances.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.graphs import effective_resistances
    >>> path = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    >>> effective_resistances(path, random_state=0).data.round(3)
    array([0.5 , 0.25])
    """
    from sklearn.utils import check_random_state

    if n_projections < 1:
        raise ValueError(f"n_projections={n_projections} must be at least 1")
    W = check_symmetric(W, "resistances: weights", n_jobs=n_jobs)
    random = check_random_state(random_state)
    L = laplacian(W)
    edges = sparse.coo_matrix(sparse.triu(W, k=1))
    n_edges, places = edges.nnz, np.arange(edges.nnz)
    roots = np.sqrt(edges.data)
    incidence = sparse.csr_matrix(
        (
            np.concatenate([roots, -roots]),
            (np.concatenate([edges.row, edges.col]), np.concatenate([places, places])),
        ),
        shape=(L.shape[0], n_edges),
    )
    solve = _solver(W, L, n_jobs)
    resistances = np.zeros(n_edges)
    for begin in range(0, n_projections, _BLOCK):
        width = min(_BLOCK, n_projections - begin)
        potentials = solve(incidence @ _random_signs(random, n_edges, width))
        _add_squares(resistances, potentials, edges.row, edges.col)
    return sparse.coo_matrix((resistances / n_projections, (edges.row, edges.col)), shape=L.shape)


def _random_signs(random: Any, n_rows: int, n_columns: int) -> Array:
    """±1, a byte of the generator for each row."""
    bits = np.unpackbits(np.frombuffer(random.bytes(n_rows), dtype=np.uint8)[:, None], axis=1)
    signs = bits[:, :n_columns].astype(np.float64)
    signs *= 2.0
    signs -= 1.0
    return signs


def _add_squares(out: Array, potentials: Array, rows: Any, columns: Any) -> None:
    """Add the squared differences of potentials over each edge."""
    for begin in range(0, len(out), _CHUNK):
        some = slice(begin, begin + _CHUNK)
        drops = potentials[rows[some]]
        drops -= potentials[columns[some]]
        out[some] += np.einsum("ij,ij->i", drops, drops)


def _solver(W: Any, L: Any, n_jobs: int | None) -> Callable[[Array], Array]:
    """Return b ↦ x with L x = b, where each column of b adds up to 0 in every component."""
    factor = ApproximateCholesky(W, np.zeros(W.shape[0]), n_jobs=n_jobs)

    def solve(rhs: Array) -> Array:
        return conjugate_gradients(
            lambda V: multiply(L, V, n_jobs),
            rhs,
            np.zeros_like(rhs),
            _TOLERANCE,
            _MAX_ITER,
            precondition=factor.solve,
            patience=_PATIENCE,
        )[0]

    return solve
