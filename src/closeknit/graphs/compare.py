"""Comparisons of a graph with sparser ones: counts, components, and a table with spectra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from closeknit._arrays import Integers
from closeknit.graphs.spectra import Energies, Spectrum, check_graphs
from closeknit.linalg import canonical, check_finite, entry_rows


def sparsity(W: Any) -> float:
    """Share of the pairs of different points that have no edge.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        A stored zero counts as an edge, as in graphs of distances; the diagonal does not count.

    Returns
    -------
    float
        From 0 to 1; NaN for a single point.

    Examples
    --------
    >>> from closeknit.graphs import sparsity
    >>> round(sparsity([[1, 2, 0], [2, 1, 0], [0, 0, 1]]), 3)
    0.667
    """
    W = canonical(W, dtype=None, name="a graph")
    n = W.shape[0]
    if n < 2:
        return float("nan")
    return 1.0 - int(np.count_nonzero(entry_rows(W) != W.indices)) / (n * (n - 1))


def connected_components(W: Any) -> Integers:
    """Which connected component each point belongs to.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        An edge in either direction connects.

    Returns
    -------
    ndarray of shape (n_samples,)
        0 for the component of the first point, and so on.

    Examples
    --------
    >>> from closeknit.graphs import connected_components
    >>> connected_components([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    array([0, 0, 1], dtype=int32)
    """
    from scipy.sparse import csgraph

    W = canonical(W, dtype=None, name="a graph")
    _, labels = csgraph.connected_components(W, directed=False)
    return np.asarray(labels)


@dataclass(frozen=True)
class Degrees:
    """How many neighbours the points of a graph have, and how much they weigh.

    Attributes
    ----------
    smallest, median, mean, largest : float
        Of the number of edges of a point.
    isolated : int
        Points without an edge.
    mean_weight : float
        Mean over the points of the summed weights of their edges.

    Examples
    --------
    >>> from closeknit.graphs import degrees
    >>> degrees([[0, 1, 0], [1, 0, 0], [0, 0, 0]]).isolated
    1
    """

    smallest: int
    median: float
    mean: float
    largest: int
    isolated: int
    mean_weight: float


def degrees(W: Any) -> Degrees:
    """Summarise how many edges the points have.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        Rows are counted; the diagonal is not.

    Returns
    -------
    Degrees

    Examples
    --------
    >>> from closeknit.graphs import degrees
    >>> degrees([[0, 1, 3], [1, 0, 0], [3, 0, 0]])
    Degrees(smallest=1, median=1.0, mean=1.33..., largest=2, isolated=0, mean_weight=2.66...)
    """
    W = canonical(W, name="a graph")
    check_finite(W.data, "the graph")
    if not W.shape[0]:
        raise ValueError("a graph of no points has no degrees")
    rows = entry_rows(W)
    others = rows != W.indices
    counts = np.bincount(rows[others], minlength=W.shape[0])
    return Degrees(
        smallest=int(counts.min()),
        median=float(np.median(counts)),
        mean=float(counts.mean()),
        largest=int(counts.max()),
        isolated=int(np.count_nonzero(counts == 0)),
        mean_weight=float(W.data[others].sum() / W.shape[0]),
    )


@dataclass(frozen=True)
class GraphSummary:
    """One line of a :class:`Comparison`.

    Attributes
    ----------
    name : str
    n_edges : int
        Entries off the diagonal; a symmetric graph has two per pair.
    sparsity : float
    n_components : int
    isolated : int
    mean_degree : float
    d1, d2 : float
        :func:`~closeknit.graphs.spectrum_distance` and
        :func:`~closeknit.graphs.laplacian_distance` from the reference.

    Examples
    --------
    >>> from closeknit.graphs import compare
    >>> compare({"pair": [[0, 1], [1, 0]]})["pair"].n_edges
    2
    """

    name: str
    n_edges: int
    sparsity: float
    n_components: int
    isolated: int
    mean_degree: float
    d1: float
    d2: float


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found; prints as a table.

    Attributes
    ----------
    rows : tuple of GraphSummary
    reference : str
        Name of the graph that the others are compared with.

    Examples
    --------
    >>> from closeknit.graphs import compare
    >>> comparison = compare({"pair": [[0, 1], [1, 0]], "none": [[0, 0], [0, 0]]})
    >>> [(row.name, row.n_edges) for row in comparison], comparison.reference
    ([('pair', 2), ('none', 0)], 'pair')
    """

    rows: tuple[GraphSummary, ...]
    reference: str

    def __iter__(self) -> Iterator[GraphSummary]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> GraphSummary:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no graph {name!r}; there are {[row.name for row in self.rows]}")

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per graph, as ``pandas.DataFrame`` takes them."""
        return [asdict(row) for row in self.rows]

    def __repr__(self) -> str:
        header = ("graph", "edges", "sparsity", "components", "isolated", "degree", "D1", "D2")
        cells = [header]
        for row in self.rows:
            counts = (f"{row.n_components}", f"{row.isolated}", f"{row.mean_degree:.1f}")
            distances = (f"{row.d1:.4g}", f"{row.d2:.4g}")
            cells.append((row.name, f"{row.n_edges}", f"{row.sparsity:.4f}", *counts, *distances))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
            for line in cells
        ]
        return "\n".join([*lines, f"D1 and D2 from {self.reference!r}"])


def compare(
    graphs: Mapping[str, Any] | Sequence[Any],
    *,
    reference: Any = None,
    n_eigenvalues: int | str | None = "auto",
    n_eigenvectors: int = 10,
) -> Comparison:
    """Compare graphs of the same points with one of them, or with another.

    Parameters
    ----------
    graphs : mapping of names to graphs, or sequence of graphs
        Symmetric weights.
    reference : str, graph or None, default=None
        What D₁ and D₂ are measured from: the name of a graph, a further graph, or the first.
    n_eigenvalues : "auto", int or None, default="auto"
        As in :func:`~closeknit.graphs.spectrum_distance`; ``"auto"`` means all up to 2,000 points
        and 100 beyond.
    n_eigenvectors : int, default=10
        As in :func:`~closeknit.graphs.laplacian_distance`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from closeknit.graphs import compare
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> compare({"all": triangle, "path": path})
    graph  edges  sparsity  components  isolated  degree     D1  ...
    all        6    0.0000           1         0     2.0  2.667  ...
    path       4    0.3333           1         0     1.3  2.667  ...
    D1 and D2 from 'all'
    """
    if not isinstance(graphs, Mapping):
        graphs = {str(number): graph for number, graph in enumerate(graphs)}
    if not graphs:
        raise ValueError("there are no graphs to compare")
    if reference is None:
        reference = next(iter(graphs))
    if isinstance(reference, str):
        if reference not in graphs:
            raise ValueError(f"reference={reference!r} is none of the graphs {list(graphs)}")
        title, reference = reference, graphs[reference]
    else:
        title = "the reference"
    original, *checked = check_graphs(reference, *graphs.values())
    if n_eigenvalues == "auto":
        n_eigenvalues = None if original.shape[0] <= 2_000 else 100
    assert not isinstance(n_eigenvalues, str)
    spectrum = Spectrum(original, "adjacency", n_eigenvalues)
    energies = Energies(original, n_eigenvectors)
    rows = []
    for name, graph in zip(graphs, checked, strict=True):
        degree = degrees(graph)
        rows.append(
            GraphSummary(
                name=name,
                n_edges=graph.nnz,
                sparsity=sparsity(graph),
                n_components=int(connected_components(graph).max()) + 1,
                isolated=degree.isolated,
                mean_degree=degree.mean,
                d1=spectrum.distance(graph),
                d2=energies.distance(graph),
            )
        )
    return Comparison(tuple(rows), title)
