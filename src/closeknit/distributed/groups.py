"""Some parts of a graph in the memory of a worker: what a task reads, keeps and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix

from closeknit._arrays import Integers
from closeknit.distributed.cluster import Folder
from closeknit.distributed.graph import map_rows
from closeknit.kernels import Kernel
from closeknit.linalg import with_data
from closeknit.objectives import Attraction

#: The first point of a part, and the first that is not in it any more.
Ends: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Group:
    """Parts one after the other, whose attraction a task sums.

    Attributes
    ----------
    parts : sequence of (slice, Attraction)
        Where a part's own points are among the positions that the task is sent, and their edges.
    points : ndarray of int of shape (n_touched,), or None
        The points whose positions it is sent, in ascending order: its own, and the other ends of
        their edges, whose columns are numbered by their place here. None if it is sent all.
    """

    parts: Sequence[tuple[slice, Attraction]]
    points: Integers | None

    @classmethod
    def load(
        cls, folder: Folder, ends: Sequence[Ends], chosen: bool, kernel: Kernel, *common: Any
    ) -> Group:
        """Read some parts; `chosen` says whether to be sent the positions of some points only."""
        # One after the other: reading takes more memory than keeping.
        weights = [_load_part(folder, each, *common) for each in ends]
        points, offset = None, 0
        if chosen:
            points = _number_touched(ends, weights)
            offset = ends[0][0] - int(np.searchsorted(points, ends[0][0]))
        own = [slice(begin - offset, end - offset) for begin, end in ends]
        attractions = [Attraction(W, kernel, 1) for W in weights]
        return cls(list(zip(own, attractions, strict=True)), points)

    def evaluate(self, X: NDArray[Any]) -> tuple[list[float], NDArray[Any]]:
        """E⁺ of each part, and the force on its points in the precision that it is summed in."""
        # Messages begin anywhere in memory, and reading that is slow.
        X = np.require(X, requirements="A")
        first, end = self.parts[0][0].start, self.parts[-1][0].stop
        force = np.empty((end - first, X.shape[1]))
        values = [
            attraction.value_of_rows(X, own, force[own.start - first : own.stop - first])
            for own, attraction in self.parts
        ]
        return values, force.astype(X.dtype, copy=False)


def _number_touched(ends: Sequence[Ends], weights: list[csr_matrix]) -> Integers:
    """Number the columns of some parts by the points that they touch, which are returned."""
    n, dtype = weights[0].shape[1], weights[0].indices.dtype
    touched = np.zeros(n, bool)
    touched[ends[0][0] : ends[-1][1]] = True
    for W in weights:
        touched[W.indices] = True
    points = np.flatnonzero(touched).astype(dtype)
    number = np.empty(n, dtype)  # of which only what is used takes memory
    number[points] = np.arange(len(points))
    for part, W in enumerate(weights):
        arrays = (W.data, number[W.indices], W.indptr)
        weights[part] = csr_matrix(arrays, shape=(W.shape[0], len(points)), copy=False)
    return points


def _load_part(
    folder: Folder,
    ends: Ends,
    numbering: str,
    name: str,
    starts: Integers,
    total: float,
    dtype: str,
) -> csr_matrix:
    """Read the rows of a part, in some numbering, or in the graph's own."""
    rows, place = np.arange(*ends), None
    if numbering:
        rows = np.array(folder.load(f"order-{numbering}", mapped=True)[slice(*ends)])
        place = folder.load(f"place-{numbering}", mapped=True)
    ascending = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[ascending], starts)
    shards = []
    for block in np.flatnonzero(np.diff(cuts)):
        local = rows[ascending[cuts[block] : cuts[block + 1]]] - starts[block]
        W = map_rows(folder, f"{name}-{block}", int(starts[-1]))[local]
        shards.append(with_data(W, np.divide(W.data, total).astype(dtype)))
    whole = shards[0] if len(shards) == 1 else sparse.vstack(shards, format="csr")
    del shards
    if place is not None:
        whole = whole[np.argsort(ascending, kind="stable")]
        whole.indices = place[whole.indices].astype(whole.indices.dtype, copy=False)
        whole.has_sorted_indices = False
    return whole


@sizeof.register(Group)  # type: ignore[untyped-decorator]
def _size_of_group(group: Group) -> int:
    graphs = [attraction.weights for _, attraction in group.parts]
    arrays = [array for W in graphs for array in (W.data, W.indices, W.indptr)]
    points = () if group.points is None else (group.points,)
    return sum(array.nbytes for array in (*arrays, *points))
