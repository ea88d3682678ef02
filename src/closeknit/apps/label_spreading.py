"""Label spreading: given labels may be overruled by those of the neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags

from closeknit._arrays import Array, Flags
from closeknit._checks import check_number
from closeknit.apps.label_classifier import LabelClassifier
from closeknit.linalg import ApproximateCholesky, row_sums, thin


@dataclass(repr=False, eq=False)
class LabelSpreading(LabelClassifier):
    """Spread labels over the graph, where given ones may be overruled by their neighbours.

    The distributions F solve ``F = α S F + (1 − α) Y`` with the given labels Y and
    ``S = D^(-1/2) W D^(-1/2)``, the graph of entropic affinities W with degrees D. One sparse
    linear system, solved by conjugate gradients with an approximate factor of its matrix.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    alpha : float, default=0.9
        Share that a point takes from its neighbours, between 0 and 1. Near 1 labels reach far; near
        0 only the nearest labelled points count.
    affinity, metric, metric_params, n_neighbors, neighbors, tol, max_iter, n_jobs, random_state, \
verbose
        As in :class:`~closeknit.LabelPropagation`.

    Attributes
    ----------
    classes_, label_distributions_, transduction_, affinities_, affinity_estimator_, n_iter_
        As in :class:`~closeknit.LabelPropagation`, but a given label need not be kept.

    References
    ----------
    Zhou, Bousquet, Lal, Weston and Schölkopf (2004), Learning with local and global consistency.

    Examples
    --------
    >>> import closeknit as ck
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> few = np.where(np.arange(400) % 40 == 0, y, -1)
    >>> model = ck.LabelSpreading(perplexity=10, alpha=0.99).fit(X, few)
    >>> float(np.mean(model.transduction_ == y))
    1.0
    """

    _: KW_ONLY
    alpha: float = 0.9

    def _mass(self, W: csr_matrix, given: Array, reached: Flags) -> tuple[Array, int]:
        # With G = D^(-1/2) F: (D − αW) G = (1 − α) D^(1/2) Y, and D − αW is αL + (1 − α)D.
        degrees = row_sums(W)
        degrees[degrees == 0.0] = 1.0  # isolated points keep what they have
        roots = np.sqrt(degrees)[:, None]
        matrix = csr_matrix(diags(degrees) - self.alpha * W)
        kept = self.alpha * thin(W, n_jobs=self.n_jobs)
        excess = (1.0 - self.alpha) * degrees
        factor = ApproximateCholesky(kept, excess, n_jobs=self.n_jobs)
        scaled, n_iter = self._solve(matrix, factor, (1.0 - self.alpha) * roots * given)
        return roots * scaled, n_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, share=True)
