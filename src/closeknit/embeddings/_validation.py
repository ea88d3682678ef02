"""Checks that all embedding estimators make."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_n_components"]


def check_n_components(n_components: Any, n_samples: int | None = None) -> None:
    """Complain about a number of dimensions that is none, or too large for the points."""
    integer = isinstance(n_components, int | np.integer) and not isinstance(n_components, bool)
    if not integer or n_components < 1:
        raise ValueError(f"n_components={n_components!r} must be an integer of at least 1")
    if n_samples is not None and n_components >= n_samples:
        raise ValueError(
            f"n_components={n_components} must be less than the number of points, "
            f"got n_samples = {n_samples}"
        )
