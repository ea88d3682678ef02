"""Types of the compiled core.

Arrays are C-contiguous; cpp/*/bindings_*.cpp say of which dtype. A call checks whatever it is given
and raises ValueError (shapes, ranges, structure) or TypeError (dtypes). Classes hold arrays that
have been checked once and must not change while they are held. Outputs are the caller's.
"""

from typing import Any, overload

from numpy.typing import NDArray

Array = NDArray[Any]
KernelCode = tuple[int, float, float]  # family, scale, power
StartModel = tuple[list[int], list[float], float]  # ranks, weights, intercept

def simd() -> str: ...
def refused_threads() -> int: ...
def limit_new_threads(n: int) -> None: ...
def trim_memory() -> None: ...

# linalg

class Graph:
    def __init__(self, matrix: Any) -> None: ...

class ApproximateCholesky:
    @property
    def nnz(self) -> int: ...
    def order(self) -> Array: ...
    def columns(self) -> tuple[Array, Array, Array, Array]: ...
    def solve(self, rhs: Array, out: Array, n_jobs: int) -> None: ...

def approximate_cholesky(
    weights: Graph,
    excess: Array,
    seed: int,
    like: ApproximateCholesky | None,
    parts: Array | None,
    n_jobs: int,
) -> ApproximateCholesky: ...
def mark_border(weights: Graph, labels: Array, n_jobs: int) -> int: ...
def multiply(matrix: Graph, X: Array, out: Array, n_jobs: int) -> None: ...
def sum_rows(matrix: Graph, sums: Array, n_jobs: int) -> None: ...
def permute(
    graph: Graph, order: Array, indptr: Array, indices: Array, values: Array, n_jobs: int
) -> None: ...
def asymmetry(weights: Graph, n_jobs: int) -> float: ...
def mark_strongest(weights: Graph, k: int, keep: Array, n_jobs: int) -> int: ...
def sample_entries(
    weights: Graph,
    counts: tuple[int, int],
    seed: int,
    first: int,
    own: Array,
    mirrored: Array | None,
    rest: Array,
    n_jobs: int,
) -> int: ...
def label_components(weights: Graph, degrees: Array, share: float, labels: Array) -> int: ...

# neighbors

class Rows:
    @overload
    def __init__(self, values: Array) -> None: ...
    @overload
    def __init__(self, values: Array, indptr: Array, indices: Array, n_features: int) -> None: ...

class Sketch:
    def __init__(
        self,
        panels: Array,
        half_sq_norms: Array,
        points: Array,
        cell_panels: Array,
        has_residual: bool,
    ) -> None: ...

class SearchPoints:
    def __init__(
        self,
        rows: Rows,
        sq_offsets: Array | None,
        sketch: Sketch,
        centers: Sketch,
        cell_radii: Array,
        cell_slacks: Array,
    ) -> None: ...

class SearchQueries:
    def __init__(
        self,
        rows: Rows,
        sketches: Array,
        sq_norms: Array,
        own: Array | None,
        order: Array,
        task_offsets: Array,
    ) -> None: ...

class SearchPlan:
    def __init__(
        self,
        n_probes: int,
        n_candidates: int,
        sketch_unit: float,
        margin: float,
        residual_weight: float,
        exact: bool,
    ) -> None: ...

def search_cells(
    points: SearchPoints,
    queries: SearchQueries,
    plan: SearchPlan,
    tasks: tuple[int, int],
    indices: Array,
    sq_distances: Array,
    evaluated: Array,
    n_jobs: int,
) -> None: ...
def candidate_distances(
    queries: Rows,
    points: Rows,
    sq_offsets: Array | None,
    candidates: Array,
    out: Array,
    n_jobs: int,
) -> None: ...
def pair_distances(rows: Rows, starts: Array, columns: Array, out: Array, n_jobs: int) -> None: ...
def project(
    rows: Rows, center: Array, basis: Array, out: Array, sq_norms: Array, n_jobs: int
) -> None: ...

# affinities

class EntropicProblem:
    def __init__(
        self,
        sq_distances: Array,
        perplexity: Array,
        tol: float,
        allow_missing: bool,
        affinities: Array,
        betas: Array,
        sigmas: Array,
        slopes: Array,
        evaluations: Array,
        status: Array,
    ) -> None: ...

class RowOrder:
    def __init__(
        self, sequence: Array, parent: Array, runs: Array, waves: Array, starts: Array | None
    ) -> None: ...

def fit_start(sq_distances: Array, perplexity: float, n_fit: int, n_jobs: int) -> StartModel: ...
def solve_from_model(problem: EntropicProblem, model: StartModel, n_jobs: int) -> None: ...
def solve_in_order(
    problem: EntropicProblem, method: int, max_inner: int, order: RowOrder, n_jobs: int
) -> None: ...
def affinities_at(
    sq_distances: Array,
    betas: Array,
    sorted: bool,
    affinities: Array,
    perplexities: Array | None,
    n_jobs: int,
) -> None: ...
def entropy_at(sq_distances: Array, log_betas: Array, out: Array, n_jobs: int) -> None: ...
def bounds_of_rows(
    sq_distances: Array, perplexity: Array, sharp: bool, lower: Array, upper: Array, n_jobs: int
) -> None: ...

# graphs

def merged_counts(a: Graph, b: Graph, counts: Array, n_jobs: int) -> None: ...
def merged_mean(
    a: Graph, b: Graph, indptr: Array, indices: Array, data: Array, n_jobs: int
) -> None: ...

class NeighborPairs:
    def __init__(self, neighbors: Array, n_jobs: int) -> None: ...
    def count(self, counts: Array, n_jobs: int) -> None: ...
    def write(
        self, order: Array, indptr: Array, indices: Array, ranks: Array, n_jobs: int
    ) -> None: ...

def walk_order(neighbors: Array, order: Array) -> None: ...

class MutualPairs:
    def __init__(self, indptr: Array, indices: Array, ranks: Array, order: Array) -> None: ...
    def count(self, k: int, counts: Array, n_jobs: int) -> None: ...
    def mean(
        self, affinities: Array, indptr: Array, indices: Array, data: Array, n_jobs: int
    ) -> None: ...

# repulsion

class Grid:
    def __init__(self, origin: Array, size: Array, spacing: float, degree: int) -> None: ...

class Field:
    def __init__(self, grid: Grid, nodes: Array) -> None: ...

class SortedPoints:
    def __init__(self, grid: Grid, points: Array, n_jobs: int) -> None: ...

class Cells:
    def __init__(self, low: Array, size: Array, side: float) -> None: ...

class Pairs:
    def __init__(
        self,
        points: Array,
        queries: Array | None,
        point_weights: Array | None,
        pair_weights: Array | None,
        vectors: Array | None,
    ) -> None: ...

def bounding_box(points: Array, low: Array, high: Array, n_jobs: int) -> None: ...
def spread(points: SortedPoints, weights: Array | None, nodes: Array, n_jobs: int) -> None: ...
def gather(
    field: Field,
    own: Array | None,
    points: SortedPoints,
    weights: Array | None,
    value: Array,
    gradient: Array | None,
    n_jobs: int,
) -> None: ...
def crowding(cells: Cells, points: Array, n_jobs: int) -> float: ...
def add_close_pairs(
    cells: Cells,
    taper: tuple[KernelCode, Array],
    points: Array,
    weights: Array | None,
    single: bool,
    value: Array,
    gradient: Array | None,
    n_jobs: int,
) -> None: ...
def sum_all_pairs(
    pairs: Pairs,
    kernel: KernelCode,
    value: Array | None,
    slope: Array | None,
    force: Array | None,
    curvature: Array | None,
    n_jobs: int,
) -> None: ...

# objectives

def sum_edges(
    graph: Graph,
    from_points: Array,
    points: Array,
    kernel: KernelCode,
    force: Array | None,
    n_jobs: int,
) -> float: ...
def edge_weights(
    graph: Graph, points: Array, kernel: KernelCode, out: Array, n_jobs: int
) -> None: ...
def sum_entropy(weights: Array, n_jobs: int) -> float: ...
def take_rows(X: Array, rows: Array, out: Array, n_jobs: int) -> None: ...
def join_forces(
    attractive: Array, repulsive: Array, lam: float, places: Array | None, out: Array, n_jobs: int
) -> None: ...

# minimize

def momentum_step(
    rule: tuple[float, float, float],
    gain: tuple[float, float],
    gradient: Array,
    velocity: Array,
    gains: Array | None,
    n_jobs: int,
) -> None: ...

# embeddings

def place(
    neighbors: Graph,
    points: Array,
    kernel: KernelCode,
    repulsion: float,
    max_iter: int,
    tol: float,
    field: Field | None,
    positions: Array,
    n_jobs: int,
) -> None: ...
