"""What the searches among Euclidean points have in common."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from closeknit.neighbors._rows import Data

__all__ = ["Engine", "Found"]

Found = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.float64]]


class Engine(Protocol):
    """Finds points among the points it was made for."""

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points to each query, or to each point itself if there are none.

        Parameters
        ----------
        n_neighbors : int
            At most the number of points (one less if `exclude_self`).
        queries : array or CSR matrix, optional
        exclude_self : bool
            Whether a point may not be its own neighbour; only without queries.

        Returns
        -------
        indices, sq_distances : (n_queries, n_neighbors) arrays
            Sorted by (distance, index).
        """
