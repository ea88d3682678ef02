"""Checks shared by the functions that take rows of squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_perplexity", "check_sq_distances"]


def check_sq_distances(sq_distances: ArrayLike) -> NDArray[Any]:
    """Return a C-contiguous float32 or float64 matrix; NaNs are left to the solver to find."""
    d = np.asarray(sq_distances)
    if d.ndim != 2:
        raise ValueError(
            "sq_distances must have shape (n_samples, n_neighbors), "
            f"got {d.ndim} dimension{'' if d.ndim == 1 else 's'}"
            + ("; for a single point pass sq_distances[None, :]" if d.ndim == 1 else "")
        )
    if d.shape[1] < 1:
        raise ValueError("sq_distances has no neighbours (zero columns)")
    if d.dtype not in (np.float32, np.float64):
        if not (np.issubdtype(d.dtype, np.number) and not np.iscomplexobj(d)):
            raise ValueError(f"sq_distances must hold real numbers, got dtype {d.dtype}")
        d = d.astype(np.float64)
    return np.ascontiguousarray(d)


def check_perplexity(perplexity: float | ArrayLike, n: int, k: int) -> NDArray[np.float64]:
    """Return the perplexity as an array of one entry, or of `n`."""
    try:
        values = np.atleast_1d(np.asarray(perplexity, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"perplexity must be a number, got {perplexity!r}") from error
    if values.ndim != 1 or len(values) not in (1, n):
        raise ValueError(
            f"perplexity must be one number or one per row ({n}), got shape {values.shape}"
        )
    if not (values >= 1.0).all():
        raise ValueError(
            f"perplexity={values[~(values >= 1.0)][0]:g} must be at least 1: "
            "it is the effective number of neighbours"
        )
    if (values >= k).any():
        raise ValueError(
            f"perplexity={values.max():g} needs more than {values.max():g} neighbours per point, "
            f"got {k}; use more neighbours or a lower perplexity"
        )
    return np.ascontiguousarray(values)
