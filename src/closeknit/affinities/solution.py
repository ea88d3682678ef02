"""Solutions for bandwidths: one per row, with its status."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Flags, Integers
from closeknit.affinities.validation import invalid_row
from closeknit.exceptions import NoBandwidthWarning

if TYPE_CHECKING:
    from closeknit.affinities.orders import Regression


class Status(IntEnum):
    """The outcome for a row; the numbers are those of the compiled core.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Status
    >>> Status(ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0).status[0])
    <Status.CONVERGED: 0>
    """

    CONVERGED = 0
    TIES = 1
    CONSTANT = 2
    TOO_FEW = 3
    INVALID = 4
    STALLED = 5
    MISSING = 6
    HEAVY_TAIL = 7


_WHY = {
    Status.TIES: "{n} with as many neighbours tied at the smallest distance as the perplexity, or "
    "more (uniform over the ties, sigma = 0; remove copies of points, or raise the perplexity)",
    Status.CONSTANT: "{n} whose distances are all equal (uniform, sigma = inf; remove copies of "
    "points, or raise n_neighbors)",
    Status.TOO_FEW: "{n} with no more neighbours than the perplexity (uniform, sigma = inf; lower "
    "the perplexity, or raise n_neighbors)",
    Status.STALLED: "{n} for which tol was not reached",
    Status.HEAVY_TAIL: "{n} on which the kernel falls too slowly for so low a perplexity (its "
    "limit, sigma = 0)",
}


@dataclass(frozen=True)
class Bandwidths:
    """Solution of H(β) = log K for every row.

    Attributes
    ----------
    betas : ndarray of shape (n_samples,)
        Precisions β = 1/(2σ²).
    sigmas : ndarray of shape (n_samples,)
        Bandwidths σ.
    affinities : ndarray of shape (n_samples, n_neighbors)
        ``p_j ∝ K(β d_j)``; rows sum to 1.
    evaluations : ndarray of shape (n_samples,)
        Passes over the row's distances, in single or double precision.
    status : ndarray of shape (n_samples,)
        The outcome for each row: a :class:`Status`.
    slopes : ndarray of shape (n_samples,) or None
        dH / d log β at the root; 0 where there is none.
    perplexity : ndarray of shape (1,) or (n_samples,), or None
        The perplexity K that was asked for.
    start : Regression or None
        The fitted start of the order-free solver, to be passed as ``order`` for further rows.
    scale_perplexities : ndarray of shape (n_samples, n_scales) or None
        Perplexities of the single scales, if the affinities are an average of several. All but the
        affinities then have a column per scale.

    Examples
    --------
    >>> import closeknit as ck
    >>> found = ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0)
    >>> found.affinities.round(3)
    array([[0.717, 0.252, 0.031]])
    >>> found.sigmas.round(3), found.converged
    (array([0.691]), array([ True]))
    """

    betas: Array
    sigmas: Array
    affinities: Array
    evaluations: Integers
    status: NDArray[np.uint8]
    slopes: Array | None = None
    perplexity: Array | None = None
    start: Regression | None = None
    scale_perplexities: Array | None = None

    @property
    def converged(self) -> Flags:
        """Whether each row has the wanted perplexity."""
        return self.status == Status.CONVERGED

    @cached_property
    def perplexities(self) -> Array:
        """Exp of each row's entropy, recomputed from the affinities (of each scale)."""
        if self.scale_perplexities is not None:
            return self.scale_perplexities
        return perplexity_of_rows(self.affinities)

    @property
    def perplexity_derivatives(self) -> Array:
        """∂β/∂K = 1 / (K ∂H/∂β) of each row; NaN where no bandwidth has the perplexity."""
        if self.slopes is None or self.perplexity is None:
            raise ValueError("these bandwidths do not come from a perplexity")
        with np.errstate(divide="ignore", invalid="ignore"):
            derivatives = self.betas / (self.perplexity * self.slopes)
        return np.where(self.converged, derivatives, np.nan)


@dataclass(frozen=True)
class LocalBandwidths:
    """Bandwidths at some places, and how they change with the place and the perplexity.

    Attributes
    ----------
    betas, sigmas : ndarray of shape (n_places,)
        Precisions β = 1/(2σ²) and bandwidths σ; limits where no bandwidth has the perplexity.
    perplexity_derivatives : ndarray of shape (n_places,)
        ∂β/∂K; NaN where no bandwidth has the perplexity.
    gradients : ndarray of shape (n_places, n_features)
        ∂β/∂x.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> local = ck.EntropicAffinities(10).fit(X).bandwidths_at(X[:2] + 0.1)
    >>> local.sigmas.shape, local.gradients.shape
    ((2,), (2, 4))
    """

    betas: Array
    sigmas: Array
    perplexity_derivatives: Array
    gradients: Array


def perplexity_of_rows(affinities: Array) -> Array:
    """Return exp(−Σ p log p) of every row, in chunks that stay in cache."""
    from scipy.special import entr

    out = np.empty(len(affinities))
    step = max(1, 2**18 // max(1, affinities.shape[1]))
    for i in range(0, len(affinities), step):
        out[i : i + step] = np.exp(entr(affinities[i : i + step]).sum(axis=1))
    return out


def average(parts: Sequence[Bandwidths], out: Array | None = None) -> Bandwidths:
    """Join solutions at several scales, whose affinities have been added up in the last of them.

    The average is written to `out` if that is given.
    """
    columns = {
        name: np.column_stack([getattr(part, name) for part in parts])
        for name in ("betas", "sigmas", "evaluations", "status", "scale_perplexities")
    }
    total = parts[-1].affinities
    affinities = np.divide(total, len(parts), out=total if out is None else out)
    return replace(parts[-1], affinities=affinities, slopes=None, start=None, **columns)


def warn_of_rows(status: NDArray[np.uint8], stacklevel: int) -> None:
    """Raise an error for invalid rows; warn once about those without a root.

    A row of several scales counts once, by its worst scale.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from closeknit.affinities import Status, warn_of_rows
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_rows(np.array([Status.CONVERGED, Status.STALLED], np.uint8), stacklevel=2)
    >>> print(caught[0].message)
    1 of 2 points have no bandwidth of the wanted perplexity: 1 for which tol was not reached
    """
    if not status.any():
        return
    if status.ndim == 2:
        status = status.max(axis=1)
    count = np.bincount(status, minlength=len(Status))
    if count[Status.INVALID]:
        raise invalid_row(int(np.argmax(status == Status.INVALID)))
    if count[Status.MISSING]:
        row = int(np.argmax(status == Status.MISSING))
        raise ValueError(
            f"row {row} of the squared distances contains inf; rescale the data if distances "
            "overflow, or pass allow_missing=True if inf marks a missing neighbour"
        )
    reasons = [why.format(n=count[code]) for code, why in _WHY.items() if count[code]]
    if reasons:
        warnings.warn(
            f"{len(status) - count[Status.CONVERGED]} of {len(status)} points have no bandwidth of "
            f"the wanted perplexity: {'; '.join(reasons)}",
            NoBandwidthWarning,
            stacklevel=stacklevel,
        )
