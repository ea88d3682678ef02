"""Docstring sections that the embedding estimators share."""

from __future__ import annotations

__all__ = ["document"]

_PARAMETERS = """
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float, or list or tuple of floats, default=30.0
        Effective number of neighbours of each point; several are averaged, a scale each.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        How near points are: entropic affinities, `X` itself, or what a transformer such as
        :class:`~closeknit.affinities.FixedAffinities` gives.
    metric : str, default="euclidean"
        As in :class:`~closeknit.EntropicAffinities`.
    n_neighbors : "auto", int or None, default="auto"
        As in :class:`~closeknit.EntropicAffinities`.
    init : {{"auto", "pca", "eigenmaps", "random"}} or array, default="auto"
        Where to start. With a Gaussian kernel on the grid, starts narrower than 0.01 are widened to
        that.
    direction : str or direction, default="auto"
        Search direction: see :mod:`closeknit.minimize`.
    repulsion : "auto", "exact", "grid" or Repulsion, default="auto"
        How the kernel is summed over all pairs: ``"auto"`` takes every pair up to 5,000 points and
        a grid beyond, in up to three components; see :mod:`closeknit.repulsion`.
    lam : {lam}
        Weight λ of the repulsion. An increasing list follows the minimum from one λ to the next
        (homotopy); the last is the model's.
    max_iter : int, default=1000
        Most iterations, per λ.
    tol : "auto" or float, default="auto"
        Relative decrease of the objective per iteration below which it has converged. ``"auto"`` is
        1e-6 where there is a line search, 4e-5 with momentum and 1e-4 with spectral momentum.
    time_limit : float or None, default=None
        Seconds after which the best embedding so far is returned.
    callback : callable or None, default=None
        Called after every iteration; returning True stops.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False
        Whether to report progress on standard error."""

_ATTRIBUTES = """
    embedding_ : ndarray of shape (n_samples, n_components)
    objective_ : float
        E at the end.
    history_ : History
        Objective, gradient norm and step of every iteration.
    n_iter_ : int
        Iterations, over all λ and stages.
    stopped_because_ : str
        Why the minimiser stopped; ``"interrupted"`` after Ctrl-C.
    path_ : Path or None
        Every λ with its minimum, for homotopy and for the stages of t-SNE.
    lam_ : float
        The λ of the embedding.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The attractive weights."""


def document(
    cls: type,
    lam: str = "float or list of float, default=1.0",
) -> type:
    """Fill the parameters and attributes that all estimators share into a class's docstring."""
    assert cls.__doc__ is not None
    cls.__doc__ = cls.__doc__.replace("\n    <parameters>", _PARAMETERS.format(lam=lam)).replace(
        "\n    <attributes>", _ATTRIBUTES
    )
    return cls
