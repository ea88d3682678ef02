"""Label propagation: the harmonic function with the given labels as boundary values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags

from closeknit._arrays import Array, Flags
from closeknit.apps.label_classifier import LabelClassifier
from closeknit.linalg import ApproximateCholesky, row_sums, thin


@dataclass(repr=False, eq=False)
class LabelPropagation(LabelClassifier):
    """Give every point the mean of its neighbours' labels, where the given labels are kept.

    The distribution of each unlabelled point is the mean of its neighbours', weighted by entropic
    affinities: the harmonic function with the given labels as boundary values, or the probability
    that a random walk meets each class first. One sparse linear system, solved by conjugate
    gradients with an approximate factor of the graph's Laplacian.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        As in :class:`~closeknit.TSNE`; ``"precomputed"`` means that `X` holds symmetric affinities.
    metric : str, default="euclidean"
    metric_params : dict or None, default=None
    n_neighbors, neighbors : default="auto"
        As in :class:`~closeknit.EntropicAffinities`.
    tol : float, default=1e-6
        Largest residual of the linear system, relative to its right-hand side.
    max_iter : int, default=1000
        Iterations of conjugate gradients; some tens are usual.
    n_jobs : int or None, default=-1
        Threads for neighbours and affinities; the result is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds approximate neighbours.
    verbose : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Rows sum to 1; one-hot where a label was given.
    transduction_ : ndarray of shape (n_samples,)
        The likeliest class of each point.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The symmetric graph.
    affinity_estimator_ : object or None
        What made the graph, and takes new points; None if affinities were given.
    n_iter_ : int
        Iterations of conjugate gradients, at least 1.

    Notes
    -----
    Points in connected components without any label get the shares of the classes among the
    labelled points, and a warning says how many they are.

    References
    ----------
    Zhu, Ghahramani and Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic
    functions.

    Examples
    --------
    >>> import closeknit as ck
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 100, y, -1)
    >>> model = ck.LabelPropagation(perplexity=10).fit(X, few)
    >>> bool(np.mean(model.transduction_[100:] == y[100:]) > 0.9)
    True
    >>> model.predict_proba(X[:3]).shape
    (3, 10)
    """

    def _mass(self, W: csr_matrix, given: Array, reached: Flags) -> tuple[Array, int]:
        # L_uu f_u = W_ul f_l: the Laplacian without the rows and columns of labelled points.
        labelled = given.any(axis=1)
        free, mass, n_iter = np.flatnonzero(reached & ~labelled), given.copy(), 0
        if len(free) > 0:
            rows, thinned = W[free], thin(W, n_jobs=self.n_jobs)[free]
            matrix = csr_matrix(diags(row_sums(rows)) - rows[:, free])
            to_labels = row_sums(thinned[:, np.flatnonzero(labelled)])
            factor = ApproximateCholesky(thinned[:, free], to_labels, n_jobs=self.n_jobs)
            mass[free], n_iter = self._solve(matrix, factor, rows @ given)
        return mass, n_iter
