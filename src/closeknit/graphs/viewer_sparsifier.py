"""Drop the edges that enough viewers vote against (section 3 of the paper)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from closeknit._arrays import Array
from closeknit._checks import check_number
from closeknit._threads import effective_n_jobs, single_threaded_blas
from closeknit.affinities import check_kernel, check_perplexity, scales_of
from closeknit.exceptions import NoViewerWarning
from closeknit.graphs.selection import keep_fewest_votes
from closeknit.graphs.sparsifier import BaseSparsifier
from closeknit.graphs.viewer_distances import TAILS, ViewerDistances
from closeknit.graphs.viewers import View, choose_viewers, count_votes, look
from closeknit.kernels import Kernel
from closeknit.linalg import take_entries, with_data
from closeknit.progress import log, steps


@dataclass(repr=False, eq=False)
class ViewerSparsifier(BaseSparsifier):
    """Mean shift on viewers: edges between points that viewers see apart are dropped.

    A viewer is a point. It finds the modes of its distances to all points and votes against each
    edge between whose ends there are at least two modes. Edges with at least `votes` votes are
    dropped.

    Parameters
    ----------
    n_viewers : int, default=100
        How many good viewers vote. If four times as many candidates do not have enough good ones
        among them, fewer vote.
    votes : int or None, default=None
        Votes that drop an edge; 1 unless `sparsity` is given.
    sparsity : float or None, default=None
        Instead of a number of votes, the share of pairs that are to have no edge. Edges with
        the most votes are dropped first and, among equals, those of the smallest affinity.
    bandwidth : "auto", "entropic", "silverman" or float, default="auto"
        Of the kernel under which each viewer finds modes: the bandwidth that gives its distances
        the perplexity (also ``"auto"``), :func:`silverman_bandwidth`, or one for all.
    kernel : {"gaussian", "student", "epanechnikov"} or Kernel, default="gaussian"
        Of the viewers' mean shift: see :func:`find_modes`.
    modes : {"mean-shift", "dip"}, default="mean-shift"
        How modes are found: :func:`find_modes`, or :func:`dip_modes`, which the paper found to be
        inaccurate.
    alpha1, alpha2 : float, default=0.05
        Thresholds of the p-values in :func:`dip_modes`.
    min_modes, min_votes : int, default=2 and 1
        A good viewer sees at least `min_modes` modes, and votes to separate at least `min_votes`
        pairs of points: the two measures of a viewer in the paper.
    viewer_selection : {"kmeans++", "uniform"} or array-like of int, default="kmeans++"
        How candidates are drawn: far from those drawn before, or any; or the viewers themselves.
    tails : {"exponential", "slow", "flat"}, default="exponential"
        What "far" means for ``"kmeans++"``, by the kernel that the graph is made for: the summed
        −log w of past candidates, for Gaussian affinities w; the summed 1/w, for slowly falling
        ones; or out of range of them all, for a flat kernel. Points and distances get a kernel of
        the candidate's bandwidth.
    perplexity : float, or list or tuple of floats, default=30.0
        Of the entropic affinities that are made sparse.
    view_perplexity : float or None, default=None
        Of the entropic bandwidth; None means `perplexity`, the smallest if there are several. The
        smaller, the more modes are seen.
    n_neighbors : "auto", int or None, default="auto"
        As in :class:`EntropicSparsifier`; the paper's graph is that of None, of all pairs.
    input : {"data", "affinities", "distances"}, default="data"
        What `fit` is given: points; a square matrix of weights, dense or sparse; or a square matrix
        of distances. Of a sparse matrix, viewers see what their rows store and have no vote on
        other points.
    metric, neighbors, n_jobs, verbose
        As in :class:`~closeknit.EntropicAffinities`.
    random_state : int, RandomState or None, default=None
        Seeds the choice of viewers, and the approximate neighbour search.

    Attributes
    ----------
    graph_ : csr_matrix of shape (n_samples, n_samples)
        The affinities kept. Symmetric unless affinities were given that are not.
    sparsity_ : float
        Share of pairs without an edge.
    votes_ : csr_matrix of shape (n_samples, n_samples)
        The votes against each edge of the graph before it was made sparse, zeros included.
    viewers_ : tuple of View
        Those that voted: their indices, bandwidths, modes and numbers of votes.
    candidates_ : tuple of View
        All views, of good and of other candidates.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 3.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(500, factor=0.5, noise=0.05, random_state=0)
    >>> sparsifier = ck.graphs.ViewerSparsifier(20, n_neighbors=None, random_state=0).fit(X)
    >>> len(sparsifier.viewers_), sparsifier.sparsity_ > 0.5
    (20, True)
    """

    saved_state = (*BaseSparsifier.saved_state, "votes_", "viewers_", "candidates_")

    n_viewers: int = 100
    _: KW_ONLY
    votes: int | None = None
    bandwidth: float | str = "auto"
    kernel: str | Kernel = "gaussian"
    modes: str = "mean-shift"
    alpha1: float = 0.05
    alpha2: float = 0.05
    min_modes: int = 2
    min_votes: int = 1
    viewer_selection: Any = "kmeans++"
    tails: str = "exponential"
    perplexity: float | Sequence[float] = 30.0
    view_perplexity: float | None = None
    n_neighbors: int | str | None = "auto"

    def _sparsify(self, X: Any) -> dict[str, Any]:
        W = self._affinity_graph(X)
        # A target that cannot be met is refused before the views are computed.
        count = None if self.sparsity is None else self._wanted_edges(W.shape[0], W.nnz)
        with single_threaded_blas():
            candidates = tuple(self._look(W if self.input == "affinities" else X))
        viewers = tuple(view for view in candidates if self._is_good(view))
        if not viewers:
            warnings.warn(
                f"none of {len(candidates)} candidates sees {self.min_modes} modes in its "
                f"distances and separates {self.min_votes} pairs of points, so there are no votes "
                "against any edge; try a smaller bandwidth or perplexity",
                NoViewerWarning,
                stacklevel=4,
            )
        votes = count_votes(viewers, W)
        log("%d viewers of %d candidates have voted", len(viewers), len(candidates))
        if count is None:
            kept = votes < (1 if self.votes is None else self.votes)
        else:
            kept = keep_fewest_votes(votes, W.data, count)
        return {
            "graph_": take_entries(W, np.flatnonzero(kept)),
            "votes_": with_data(W, votes).copy(),  # W may share its arrays with the caller's
            "viewers_": viewers,
            "candidates_": candidates,
        }

    def _look(self, X: Any) -> list[View]:
        """Look from candidates until there are enough good viewers."""
        source = ViewerDistances(X, self.input, self.metric, effective_n_jobs(self.n_jobs))
        rule = "entropic" if self.bandwidth == "auto" else self.bandwidth
        perplexity = self.view_perplexity or min(scales_of(self.perplexity))

        def look_from(viewer: int) -> tuple[View, Array]:
            distances = source.distances(viewer)
            view = look(
                distances,
                viewer,
                rule,
                perplexity,
                self.modes,
                kernel=self.kernel,
                alpha1=self.alpha1,
                alpha2=self.alpha2,
            )
            return view, source.remoteness(distances, view.bandwidth or 1.0, self.tails)

        n = X.shape[0]
        if not isinstance(self.viewer_selection, str):
            given = self._given_viewers(n)
            return [look_from(viewer)[0] for viewer in steps("viewers", given)]
        return choose_viewers(
            n,
            min(self.n_viewers, n),
            look_from,
            spread=self.viewer_selection == "kmeans++",
            random=check_random_state(self.random_state),
            is_good=self._is_good,
        )

    def _is_good(self, view: View) -> bool:
        return view.is_good(self.min_modes, self.min_votes)

    def _given_viewers(self, n: int) -> list[int]:
        viewers = np.asarray(self.viewer_selection)
        if viewers.ndim != 1 or not np.issubdtype(viewers.dtype, np.integer):
            raise ValueError("viewer_selection must be 'kmeans++', 'uniform' or indices of points")
        if len(viewers) and not (viewers.min() >= 0 and viewers.max() < n):
            raise ValueError(
                f"viewer_selection names point {viewers[(viewers < 0) | (viewers >= n)][0]}, "
                f"but there are {n} points"
            )
        return [int(viewer) for viewer in viewers]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("n_viewers", self.n_viewers, integer=True, least=1)
        self._check_one_target("votes", "sparsity")
        if self.votes is not None and not self.votes >= 1:
            raise ValueError(f"votes={self.votes} must be at least 1")
        rules = ("auto", "entropic", "silverman")
        if not (
            self.bandwidth in rules
            if isinstance(self.bandwidth, str)
            else 0.0 < self.bandwidth < np.inf
        ):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} must be a positive number or one of {rules}"
            )
        check_kernel(self.kernel)
        for name in ("min_modes", "min_votes"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name}={getattr(self, name)!r} must be at least 1")
        if self.view_perplexity is not None:
            check_perplexity(self.view_perplexity, 1, np.iinfo(np.int64).max)
        names = {"modes": ("mean-shift", "dip"), "tails": TAILS}
        if isinstance(self.viewer_selection, str):
            names["viewer_selection"] = ("kmeans++", "uniform")
        for name, known in names.items():
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"{name}={value!r} is unknown; choose one of {known}")
