"""Checks of perplexities and of rows of squared distances."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from closeknit._arrays import Array
from closeknit.kernels import AFFINITY_KERNELS, Kernel
from closeknit.linalg import check_structure


def check_kernel(kernel: str | Kernel) -> Kernel:
    """Turn a name into a kernel.

    Parameters
    ----------
    kernel : {"gaussian", "student", "exponential", "epanechnikov"} or Kernel

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from closeknit.affinities import check_kernel
    >>> float(check_kernel("student").K(1.0))
    0.5
    """
    if isinstance(kernel, Kernel):
        return kernel
    if kernel in AFFINITY_KERNELS:
        return AFFINITY_KERNELS[kernel]
    raise ValueError(
        f"unknown kernel {kernel!r}; use {', '.join(map(repr, AFFINITY_KERNELS))} or an object "
        "such as closeknit.kernels.student(3.0)"
    )


def check_sq_distances(sq_distances: ArrayLike) -> NDArray[Any]:
    """Return a C-contiguous float32 or float64 matrix; NaNs are left to the solver to find."""
    check_structure(sq_distances)
    if issparse(sq_distances):
        raise TypeError(
            "sq_distances must be dense, one row per point, got a sparse matrix; give a sparse "
            'graph of distances to EntropicAffinities(metric="precomputed")'
        )
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


def check_perplexity(perplexity: float | ArrayLike, n: int, k: int) -> Array:
    """Return the perplexity as an array of one entry, or of `n`.

    Parameters
    ----------
    perplexity : float or array-like of shape (n,)
    n : int
        Number of rows.
    k : int
        Neighbours per row; the perplexity must be smaller.

    Returns
    -------
    ndarray of shape (1,) or (n,)

    Examples
    --------
    >>> from closeknit.affinities import check_perplexity
    >>> check_perplexity(30, n=1000, k=90)
    array([30.])
    """
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
    if np.isinf(values).any():
        raise ValueError("perplexity=inf must be a number of neighbours; lower it")
    if (values >= k).any():
        raise ValueError(
            f"perplexity={values.max():g} needs more than {values.max():g} neighbours per point, "
            f"got {k}; use more neighbours or a lower perplexity"
        )
    return np.ascontiguousarray(values)


def scales_of(perplexity: Any) -> tuple[float, ...]:
    """Return the perplexities as numbers, whether one is given or a list of them.

    Parameters
    ----------
    perplexity : float, or list or tuple of floats

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> from closeknit.affinities import scales_of
    >>> scales_of(30.0), scales_of([30.0, 200.0])
    ((30.0,), (30.0, 200.0))
    """
    given = perplexity if isinstance(perplexity, list | tuple) else (perplexity,)
    if not given:
        raise ValueError("perplexity=[] is empty; give one number or a list of them")
    for value in given:
        if not isinstance(value, Real):
            raise ValueError(
                "perplexity must be one number or a list of them, one per scale, got "
                f"{perplexity!r}; solve_bandwidths takes one per point"
            )
    return tuple(given)


def invalid_row(row: int) -> ValueError:
    """The error about a row that holds what no squared distance can be."""
    return ValueError(
        f"row {row} of the squared distances contains NaN or -inf; check the data for missing "
        "values"
    )
