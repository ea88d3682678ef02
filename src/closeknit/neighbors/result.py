"""The result of a neighbour search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit._arrays import Array, Integers
from closeknit.neighbors import _graph


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Each point's nearest neighbours, nearest first.

    A point is never its own neighbour; another point in the same place is. Rows are sorted by
    distance and, among equals, by index. Rows with too few neighbours end in index -1 and distance
    infinity.

    Parameters
    ----------
    indices : (n_samples, n_neighbors) integer array
        Stored as int32 where that suffices, else int64. Read-only.
    sq_distances : (n_samples, n_neighbors) array
        The squares of the metric's distances, as float64. Read-only.
    n_targets : int
        How many points the indices refer to.

    See Also
    --------
    find_neighbors : Search them in data.
    Neighbors.from_graph, Neighbors.from_arrays, Neighbors.from_distances : Bring your own.

    Examples
    --------
    >>> from closeknit.neighbors import find_neighbors
    >>> neighbors = find_neighbors([[0.0], [1.0], [3.0]], n_neighbors=2)
    >>> neighbors.indices
    array([[1, 2],
           [0, 2],
           [1, 0]], dtype=int32)
    >>> neighbors.sq_distances
    array([[1., 9.],
           [1., 4.],
           [4., 9.]])
    """

    indices: Integers
    sq_distances: Array
    n_targets: int

    def __post_init__(self) -> None:
        indices, sq_distances = np.asarray(self.indices), np.asarray(self.sq_distances)
        if indices.ndim != 2 or indices.shape != sq_distances.shape:
            raise ValueError(
                "indices and sq_distances must be matrices of one shape, "
                f"got {indices.shape} and {sq_distances.shape}"
            )
        if not np.issubdtype(indices.dtype, np.integer):
            raise TypeError(f"indices must be integers, got {indices.dtype}")
        # Compiled code trusts the indices, so they are checked before they become 32 bits.
        outside = (indices < -1) | (indices >= self.n_targets)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(
                f"row {row} names point {indices[row, column]}, but there are only "
                f"{self.n_targets} points"
            )
        sq_distances = sq_distances.astype(np.float64, copy=False).view()
        ordered = sq_distances[:, 1:] >= sq_distances[:, :-1]
        if not ((sq_distances[:, :1] >= 0).all() and ordered.all()):
            good = (sq_distances[:, :1] >= 0).all(axis=1) & ordered.all(axis=1)
            raise ValueError(
                f"row {int(np.argmin(good))} has squared distances that are negative, NaN or not "
                "in ascending order; Neighbors.from_arrays sorts them"
            )
        small = self.n_targets <= np.iinfo(np.int32).max
        indices = indices.astype("int32" if small else "int64", copy=False).view()
        indices.flags.writeable = False
        sq_distances.flags.writeable = False
        object.__setattr__(self, "indices", indices)
        object.__setattr__(self, "sq_distances", sq_distances)

    @cached_property
    def _are_others(self) -> bool:
        """True, or an error if a point names itself or another one twice.

        Looked at only where users give neighbours: searches cannot find such.
        """
        _graph.check_distinct(self.indices)
        own = (self.indices == np.arange(self.n_samples)[:, None]).any(axis=1)
        if own.any():
            raise ValueError(f"row {int(np.argmax(own))} names its own point; leave it out")
        return True

    @property
    def n_samples(self) -> int:
        """How many points have neighbours here."""
        return int(self.indices.shape[0])

    @property
    def n_neighbors(self) -> int:
        """How many neighbours per point there is room for."""
        return int(self.indices.shape[1])

    @property
    def counts(self) -> Integers:
        """The number of neighbours each row really has, as an (n_samples,) array."""
        return np.asarray(np.count_nonzero(self.indices >= 0, axis=1))

    def truncate(self, n_neighbors: int) -> Neighbors:
        """Keep the nearest `n_neighbors` of each row.

        Parameters
        ----------
        n_neighbors : int

        Returns
        -------
        Neighbors
            Views of the same arrays.

        Examples
        --------
        >>> from closeknit.neighbors import find_neighbors
        >>> find_neighbors([[0.0], [1.0], [3.0]], n_neighbors=2).truncate(1).indices.ravel()
        array([1, 0, 1], dtype=int32)
        """
        if not 1 <= n_neighbors <= self.n_neighbors:
            raise ValueError(
                f"cannot keep {n_neighbors} neighbours of {self.n_neighbors}; "
                f"choose a number from 1 to {self.n_neighbors}"
            )
        return Neighbors(
            self.indices[:, :n_neighbors], self.sq_distances[:, :n_neighbors], self.n_targets
        )

    def to_graph(self, mode: str = "distance") -> sp.csr_matrix:
        """The neighbours as a sparse graph in the format of scikit-learn's KNeighborsTransformer.

        Parameters
        ----------
        mode : {"distance", "connectivity"}
            Store distances (not squared) or ones.

        Returns
        -------
        (n_samples, n_targets) scipy.sparse.csr_matrix
            Rows sorted by distance, as scikit-learn wants them; no point is stored as its own
            neighbour. Duplicates are stored, as explicit zeros.

        Examples
        --------
        >>> from closeknit.neighbors import find_neighbors
        >>> find_neighbors([[0.0], [1.0], [3.0]], n_neighbors=1).to_graph().toarray()
        array([[0., 1., 0.],
               [1., 0., 0.],
               [0., 2., 0.]])
        """
        if mode not in ("distance", "connectivity"):
            raise ValueError(f"mode={mode!r} is unknown; choose 'distance' or 'connectivity'")
        return _graph.to_csr(self.indices, self.sq_distances, self.n_targets, mode)

    @classmethod
    def from_graph(cls, graph: Any, n_neighbors: int | None = None) -> Neighbors:
        """Read a graph in the format of scikit-learn's KNeighborsTransformer.

        Parameters
        ----------
        graph : sparse matrix of distances (not squared)
            Stored entries are neighbours, explicit zeros included; rows may be unsorted and of
            different lengths. In a square graph, entries on the diagonal are the points
            themselves and are left out.
        n_neighbors : int, optional
            Keep this many of each row; by default as many as the longest row has.

        Returns
        -------
        Neighbors

        Examples
        --------
        >>> from sklearn.neighbors import KNeighborsTransformer
        >>> X = [[0.0], [1.0], [3.0]]
        >>> graph = KNeighborsTransformer(n_neighbors=2).fit_transform(X)
        >>> Neighbors.from_graph(graph).sq_distances
        array([[1., 9.],
               [1., 4.],
               [4., 9.]])
        """
        return cls(*_graph.from_csr(graph, n_neighbors))

    @classmethod
    def from_arrays(
        cls, indices: npt.ArrayLike, distances: npt.ArrayLike, n_targets: int | None = None
    ) -> Neighbors:
        """Take neighbours found elsewhere, as most libraries return them.

        Parameters
        ----------
        indices : (n_samples, k) integer array-like
            Negative entries mean "none". Row i's entry i is the point itself and is left out,
            wherever it stands.
        distances : (n_samples, k) array-like
            Distances (not squared).
        n_targets : int, optional
            How many points the indices refer to, if not the n_samples themselves. Then nothing is
            left out.

        Returns
        -------
        Neighbors

        Examples
        --------
        >>> Neighbors.from_arrays([[0, 1], [0, 1]], [[0.0, 2.0], [2.0, 0.0]]).indices
        array([[1],
               [0]], dtype=int32)
        """
        return cls(*_graph.from_arrays(indices, distances, n_targets))

    @classmethod
    def from_distances(cls, distances: npt.ArrayLike, n_neighbors: int | None = None) -> Neighbors:
        """Take the neighbours from a full matrix of distances.

        Parameters
        ----------
        distances : (n_samples, n_samples) array-like
            Not squared; infinite ones are not neighbours. The diagonal is not looked at.
        n_neighbors : int, optional
            All other points by default.

        Returns
        -------
        Neighbors

        Examples
        --------
        >>> Neighbors.from_distances([[0, 1, 3], [1, 0, 2], [3, 2, 0]], n_neighbors=1).indices
        array([[1],
               [0],
               [1]], dtype=int32)
        """
        return cls(*_graph.from_square(distances, n_neighbors))


def check_answer(found: Any, n_samples: int, n_targets: int, n_neighbors: int) -> Neighbors:
    """Return what an index answered, if it is what was asked for; users may bring their own.

    Parameters
    ----------
    found : object
    n_samples, n_targets, n_neighbors : int
        What was asked for.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> from closeknit.neighbors import check_answer, find_neighbors
    >>> check_answer(find_neighbors([[0.0], [1.0], [3.0]], 1), 3, 3, 2)
    Traceback (most recent call last):
        ...
    ValueError: the index found 1 neighbours of 3 points among 3; asked for were 2 of 3 among 3
    """
    if not isinstance(found, Neighbors):
        raise TypeError(
            f"the index must answer with closeknit.neighbors.Neighbors, got {type(found).__name__}"
        )
    if (*found.indices.shape, found.n_targets) != (n_samples, n_neighbors, n_targets):
        raise ValueError(
            f"the index found {found.n_neighbors} neighbours of {found.n_samples} points among "
            f"{found.n_targets}; asked for were {n_neighbors} of {n_samples} among {n_targets}"
        )
    return found


def given_neighbors(given: Neighbors | tuple[Any, Any], n_samples: int) -> Neighbors:
    """Return the neighbours that a user gives for the points themselves.

    Parameters
    ----------
    given : Neighbors or tuple of (indices, distances)
    n_samples : int
        How many points there are.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> from closeknit.neighbors import given_neighbors
    >>> given_neighbors(([[1], [0]], [[2.0], [2.0]]), 2).sq_distances.ravel()
    array([4., 4.])
    """
    found = given if isinstance(given, Neighbors) else Neighbors.from_arrays(*given)
    if found.n_samples != n_samples or found.n_targets != n_samples:
        raise ValueError(
            f"neighbors= describes {found.n_samples} points among {found.n_targets}, "
            f"X has {n_samples}; they must be the same points"
        )
    _ = found._are_others  # looked at once, however often they are used
    return found
