"""Checks of the data and images that a session is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.io import Table
from closeknit.neighbors import Neighbors

__all__ = ["check_images", "largest_perplexity", "refuse_gaps"]


def largest_perplexity(n: int, wanted: float | None, neighbors: Neighbors | None) -> float:
    """The largest perplexity that points, and neighbours if they are known, allow for."""
    most = (100.0 if n <= 100_000 else 50.0) if wanted is None else float(wanted)
    if not most >= 1.0:
        raise ValueError(f"max_perplexity={wanted!r} must be at least 1")
    available = (n - 1) if neighbors is None else neighbors.n_neighbors
    return max(1.0, min(most, float(available // 3)))


def refuse_gaps(table: Table) -> None:
    """Raise an error at a missing value, saying where it is and what to do."""
    X = table.X
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or np.isfinite(X).all():
        return
    row, column = np.argwhere(~np.isfinite(X))[0]
    raise ValueError(
        f"the data have missing or infinite values, the first in row {row}, column "
        f"{table.feature_names[column]!r}; fill them in, or leave out such rows or columns"
    )


def check_images(images: Any, n: int) -> NDArray[np.uint8] | None:
    """Thumbnails as bytes: (n, height, width) or (n, height, width, 3)."""
    if images is None:
        return None
    found = np.asarray(images)
    if found.shape[0] != n or found.ndim not in (3, 4) or found.shape[3:] not in ((), (3,)):
        raise ValueError(
            f"images have shape {found.shape}; {n} points need ({n}, height, width) or "
            f"({n}, height, width, 3)"
        )
    if max(found.shape[1:3]) > 256:
        raise ValueError("images are shown small; make them at most 256 pixels wide and high")
    if found.dtype == np.uint8:
        return found
    top = float(found.max(initial=0.0)) or 1.0
    return np.clip(found * (255.0 / top), 0, 255).astype(np.uint8)
