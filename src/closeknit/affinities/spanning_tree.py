"""The order along a minimum spanning tree of the neighbour graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Integers
from closeknit.affinities.traversal import RUN_LENGTH, RowProblem, Traversal


@dataclass(frozen=True)
class MinimumSpanningTree:
    """A spanning forest of the neighbour graph, breadth first; each row starts from its parent.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per point in the graph whose tree is built (the paper's κ).

    Notes
    -----
    Kruskal's algorithm by SciPy, on the ranks of the edge lengths, so that edges of length zero
    between duplicates count too. A graph of several components gives a forest.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import MinimumSpanningTree, RowProblem
    >>> from closeknit.neighbors import find_neighbors
    >>> found = find_neighbors([[0.0], [3.0], [1.0]], 2)
    >>> problem = RowProblem(found.sq_distances, np.array([1.5]), found.indices)
    >>> MinimumSpanningTree(2).plan(problem).parent
    array([-1,  0,  2])
    """

    n_neighbors: int = 10

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        if problem.indices is None:
            raise ValueError(
                "order='mst' needs to know which points the distances belong to; "
                "pass indices= of the same shape as sq_distances"
            )
        tree = self._tree(problem.sq_distances, problem.indices)
        return _tree_traversal(*_breadth_first(tree))

    def _tree(self, sq_distances: NDArray[Any], indices: NDArray[Any]) -> Any:
        from scipy.sparse import coo_array, csr_array
        from scipy.sparse.csgraph import minimum_spanning_tree

        n = len(indices)
        k = min(self.n_neighbors, indices.shape[1])
        rows = np.repeat(np.arange(n, dtype=np.int32), k)
        columns = indices[:, :k].ravel()
        length = sq_distances[:, :k].ravel()
        valid = columns >= 0
        rows, columns, length = rows[valid], columns[valid], length[valid]
        rank = np.empty(len(length))
        rank[np.argsort(length, kind="stable")] = np.arange(1, len(length) + 1)
        graph = csr_array(coo_array((rank, (rows, columns)), shape=(n, n)))
        return minimum_spanning_tree(graph)


def _breadth_first(tree: Any) -> tuple[Integers, Integers]:
    """Order and predecessors of all trees of a forest at once, through one extra root node."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    n = tree.shape[0]
    edges = coo_array(tree)
    _, label = connected_components(tree, directed=False)
    _, roots = np.unique(label, return_index=True)
    row = np.concatenate([edges.row, np.full(len(roots), n)])
    column = np.concatenate([edges.col, roots])
    joined = csr_array(coo_array((np.ones(len(row)), (row, column)), shape=(n + 1, n + 1)))
    order, predecessor = breadth_first_order(joined, n, directed=False)
    sequence = order[1:].astype(np.int64)
    parent = predecessor[sequence].astype(np.int64)
    return sequence, np.where(parent == n, -1, parent)


def _tree_traversal(sequence: Integers, parent: Integers) -> Traversal:
    """One wave per level of the tree, cut into runs."""
    n = len(sequence)
    position = np.empty(n, dtype=np.int64)
    position[sequence] = np.arange(n)
    # Breadth first, so parents' positions never decrease: a level ends where parents leave the
    # level before.
    parent_position = np.where(parent < 0, -1, position[parent])
    runs, waves = [0], [0]
    begin, end = 0, int(np.searchsorted(parent_position, 0))
    while begin < n:
        runs.extend(range(begin + RUN_LENGTH, end, RUN_LENGTH))
        runs.append(end)
        waves.append(len(runs) - 1)
        begin, end = end, int(np.searchsorted(parent_position, end))
    return Traversal(
        sequence, parent, np.array(runs, dtype=np.int64), np.array(waves, dtype=np.int64)
    )
