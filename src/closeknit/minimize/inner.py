"""Inner products of positions, without BLAS.

Threaded BLAS gives other last digits for other numbers of threads, and on a busy machine its
threads wait for each other far longer than the product takes.
"""

from __future__ import annotations

import numpy as np

from closeknit.minimize.problem import Array

__all__ = ["inner", "norm"]


def inner(a: Array, b: Array) -> float:
    """Return ⟨a, b⟩, the sum over all entries."""
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


def norm(a: Array) -> float:
    """Return the Frobenius norm of a."""
    return float(np.sqrt(inner(a, a)))
