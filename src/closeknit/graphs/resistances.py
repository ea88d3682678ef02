"""Effective resistances of the edges of a graph, estimated by random projections.

The resistance between the ends of edge e is ‖W^{1/2} B L⁺ (e_u − e_v)‖², a distance between columns
of a matrix with a row per edge. Projecting that matrix to a few random directions keeps distances
(Johnson and Lindenstrauss), and each direction costs one system with the Laplacian L (Spielman and
Srivastava, section 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.graphs.laplacian import laplacian

__all__ = ["effective_resistances"]

Array = NDArray[np.float64]

#: Columns solved for together.
_BLOCK = 8
#: Relative residual of the systems. The projection errs by some ten per cent, but a looser one
#: would overlook weak bridges, whose potentials hardly show in the residual.
_TOLERANCE = 1e-7
_MAX_ITER = 2_000


def effective_resistances(W: Any, *, n_projections: int = 100, random_state: Any = None) -> Any:
    """Estimate the effective resistance of every edge.

    Parameters
    ----------
    W : csr_matrix of shape (n_samples, n_samples)
        Symmetric positive weights, taken as conductances.
    n_projections : int, default=100
        Random directions; the relative standard error of a resistance is √(2/n_projections).
    random_state : int, RandomState or None, default=None

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
    random = check_random_state(random_state)
    L = laplacian(W)
    edges = sparse.coo_matrix(sparse.triu(sparse.csr_matrix(W, dtype=np.float64), k=1))
    n_edges, places = edges.nnz, np.arange(edges.nnz)
    roots = np.sqrt(edges.data)
    incidence = sparse.csr_matrix(
        (
            np.concatenate([roots, -roots]),
            (np.concatenate([edges.row, edges.col]), np.concatenate([places, places])),
        ),
        shape=(L.shape[0], n_edges),
    )
    solve = _Solver(L)
    resistances = np.zeros(n_edges)
    for begin in range(0, n_projections, _BLOCK):
        width = min(_BLOCK, n_projections - begin)
        signs = 2.0 * random.randint(0, 2, size=(n_edges, width)) - 1.0
        potentials = solve(incidence @ signs)
        resistances += np.square(potentials[edges.row] - potentials[edges.col]).sum(axis=1)
    return sparse.coo_matrix((resistances / n_projections, (edges.row, edges.col)), shape=L.shape)


class _Solver:
    """Conjugate gradients for L x = b, where each column of b adds up to 0 in every component."""

    def __init__(self, L: Any) -> None:
        self._L = L
        self._preconditioner = _preconditioner(L)

    def __call__(self, rhs: Array) -> Array:
        x = np.zeros_like(rhs)
        residual = rhs.copy()
        target = _TOLERANCE * np.linalg.norm(rhs, axis=0)
        z = self._preconditioner.solve(residual)
        towards, square = z.copy(), _dots(residual, z)
        for _ in range(_MAX_ITER):
            if (np.linalg.norm(residual, axis=0) <= target).all():
                break
            image = self._L @ towards
            step = _ratio(square, _dots(towards, image))
            x += step * towards
            residual -= step * image
            z = self._preconditioner.solve(residual)
            before, square = square, _dots(residual, z)
            towards = z + _ratio(square, before) * towards
        return x


def _preconditioner(L: Any) -> Any:
    """What conjugate gradients are preconditioned by: the approximate factor of the Laplacian."""
    # Imported here because factorisations live downstream, with the minimisers.
    from closeknit.minimize.linear import factorize

    return factorize(sparse.csr_matrix(L), solver="approximate")


def _dots(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 for columns that are solved already."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
