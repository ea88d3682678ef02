"""Affinities at several perplexities at once: the average of one solution per scale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.affinities.bandwidths import Bandwidths, Status

__all__ = ["Mixture", "average"]


@dataclass(frozen=True)
class Mixture:
    """The average of the affinities of several perplexities.

    Attributes
    ----------
    betas, sigmas, evaluations, status, perplexities : ndarray of shape (n_samples, n_scales)
        As in :class:`~closeknit.affinities.Bandwidths`, a column per scale.
    affinities : ndarray of shape (n_samples, n_neighbors)
        The average over the scales; rows sum to 1.
    """

    betas: NDArray[np.float64]
    sigmas: NDArray[np.float64]
    affinities: NDArray[np.float64]
    evaluations: NDArray[np.int32]
    status: NDArray[np.uint8]
    perplexities: NDArray[np.float64]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether each row has the wanted perplexity at each scale."""
        return self.status == Status.CONVERGED


def average(parts: Iterable[Bandwidths], out: NDArray[np.float64] | None = None) -> Mixture:
    """Average the affinities of the scales, holding no more than two of them at a time.

    Parameters
    ----------
    parts : iterable of Bandwidths
        The solution at each scale.
    out : ndarray of shape (n_samples, n_neighbors), optional
        Where to write the average.

    Returns
    -------
    Mixture
    """
    columns: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("betas", "sigmas", "evaluations", "status", "perplexities")
    }
    total: NDArray[np.float64] | None = None
    for part in parts:
        for name, column in columns.items():
            column.append(getattr(part, name))
        total = part.affinities if total is None else np.add(total, part.affinities, out=total)
    assert total is not None
    affinities = np.divide(total, len(columns["betas"]), out=total if out is None else out)
    return Mixture(
        affinities=affinities, **{name: np.column_stack(c) for name, c in columns.items()}
    )
