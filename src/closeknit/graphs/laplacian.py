"""Graph Laplacians."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from closeknit.linalg import canonical, check_finite, row_sums


def laplacian(W: Any) -> Any:
    """L = D − W, where D holds the sums of the rows of W.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric weights; the diagonal cancels.

    Returns
    -------
    csr_matrix
        Positive semidefinite if the weights are not negative.

    Examples
    --------
    >>> from closeknit.graphs import laplacian
    >>> laplacian([[0, 2], [2, 0]]).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    W = canonical(W, name="a graph")
    check_finite(W.data, "the graph")
    return sparse.csr_matrix(sparse.diags(row_sums(W)) - W)
