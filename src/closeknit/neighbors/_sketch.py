"""Short float32 stand-ins for points whose distances never exceed the true ones.

A sketch holds a point's p leading coordinates in an orthonormal basis and, as one coordinate more,
the norm of what they leave out. By the Cauchy–Schwarz inequality two residuals are at least as far
apart as their norms, so the distance between two sketches is a lower bound of the distance between
the points: a point can be ruled out by p + 1 numbers instead of all of them. In a basis of
principal directions the bound is tight for most real data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit import _core
from closeknit._arrays import Array, Singles
from closeknit._threads import chunks
from closeknit.neighbors.points import Data, as_rows, data_scale

MAX_COMPONENTS = 256  # the longest sketch considered before taking all coordinates
_SAMPLE = 4096  # rows that determine the basis; any orthonormal basis is valid, so a sample will do
_UNIT_ROUNDOFF = 2.0**-24
#: Working memory per coordinate while it is in float64, for chunks.
COORDINATE_BYTES = 32


@dataclass(frozen=True)
class Sketches:
    """Sketches of some rows.

    Attributes
    ----------
    values : (n_samples, n_coordinates) float32 array
    sq_norms : (n_samples,) float64 array
        Squared norms of the values, less the rounding margin.
    """

    values: Singles
    sq_norms: Array


@dataclass(frozen=True)
class Sketcher:
    """The map from points to sketches.

    Attributes
    ----------
    center : (n_features,) array
        Subtracted first; without it, a large common offset would eat float32's digits.
    basis : (n_features, n_components) array or None
        Orthonormal columns. None keeps all coordinates as they are: then there is no residual.
    scale : float
        A power of two that brings the coordinates near 1, so that squares neither overflow nor
        underflow in float32 whatever the units of the data.
    """

    center: Array
    basis: Array | None
    scale: float

    @classmethod
    def of_all_coordinates(cls, X: Data, center: Array | None = None) -> Sketcher:
        """Make one that keeps the coordinates of dense points, centred and scaled."""
        if center is None:
            center = X.mean(axis=0, dtype=np.float64)
        extremes = np.vstack([X.min(axis=0) - center, X.max(axis=0) - center])
        return cls(center, None, data_scale(extremes, refuse=False))

    def __call__(self, X: Data, n_threads: int) -> Sketches:
        """Sketch the rows of `X`; those far beyond the fitted points get infinite norms."""
        basis = self.basis
        with np.errstate(over="ignore", under="ignore"):
            if basis is None:
                values = np.empty(X.shape, dtype=np.float32)
                for chunk in chunks(X.shape[0], COORDINATE_BYTES * X.shape[1]):
                    values[chunk] = (X[chunk] - self.center) * self.scale
            else:
                values = self._project(X, basis, n_threads)
        sq_norms = np.einsum("ij,ij->i", values, values, dtype=np.float64)
        margin = rounding_margin(values.shape[1])
        return Sketches(values, sq_norms * (1.0 - margin) - np.finfo(np.float32).tiny)

    def _project(self, X: Data, basis: Array, n_threads: int) -> Singles:
        n_samples, n_components = X.shape[0], basis.shape[1]
        values = np.empty((n_samples, n_components + 1), dtype=np.float32)
        chunk_rows = max(1, 2**22 // n_components)
        scaled_basis = basis * self.scale
        for start in range(0, n_samples, chunk_rows):
            chunk = slice(start, min(n_samples, start + chunk_rows))
            leading = np.empty((chunk.stop - start, n_components))
            sq_norms = np.empty(chunk.stop - start)
            _core.project(
                as_rows(X[chunk]), self.center, scaled_basis, leading, sq_norms, n_threads
            )
            sq_norms *= self.scale**2
            sq_norms -= np.einsum("ij,ij->i", leading, leading)
            values[chunk, :-1] = leading
            values[chunk, -1] = np.sqrt(np.maximum(sq_norms, 0.0))
        return values


def rounding_margin(n_coordinates: int) -> float:
    """How far float32 may put the distance of two sketches above the bound it stands for.

    Returns m such that ‖x−y‖² computed is at most the true squared distance + m (‖x‖² + ‖y‖²).

    Notes
    -----
    Coordinates and residual norms are off by at most four roundoffs u, which changes ‖x−y‖² by at
    most 16u (‖x‖² + ‖y‖²). A product summed over n coordinates is off by n u ‖x‖‖y‖; twice that
    counts, and 2‖x‖‖y‖ ≤ ‖x‖² + ‖y‖². Storing ½‖y‖² and subtracting cost 4u; 4u are spare.
    """
    return (n_coordinates + 24) * _UNIT_ROUNDOFF


def principal_directions(
    X: Data, n_components: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Approximate leading principal directions of (a sample of) `X`, best first.

    Parameters
    ----------
    X : array
    n_components : int
    rng : numpy.random.Generator

    Returns
    -------
    center : (n_features,) array
        The mean of the sample.
    basis : (n_features, n_components) array
        Orthonormal columns.

    Notes
    -----
    A randomised range finder with one power iteration [1]_, then the Ritz vectors in that range.

    References
    ----------
    .. [1] Halko, Martinsson and Tropp, Finding structure with randomness, SIAM Review 2011, §4.5.
    """
    n_samples, n_features = X.shape
    rows = np.sort(rng.choice(n_samples, min(n_samples, _SAMPLE), replace=False))
    sample = X[rows]
    center = sample.mean(axis=0, dtype=np.float64)
    sample = sample - center
    largest = abs(sample).max()
    if largest > 0:
        sample = sample * 2.0 ** -np.frexp(largest)[1]
    n_directions = min(n_features, n_components + 16)
    if n_directions == n_features:
        directions = np.eye(n_features)
    else:
        directions = rng.standard_normal((n_features, n_directions))
        for _ in range(2):
            directions = np.linalg.qr(sample.T @ (sample @ directions))[0]
    projected = sample @ directions
    ritz = np.linalg.eigh(projected.T @ projected)[1][:, ::-1]
    return center, np.ascontiguousarray((directions @ ritz)[:, :n_components])
