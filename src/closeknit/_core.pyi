"""Types of the compiled core. Arrays are C-contiguous; see cpp/bindings*.cpp for their dtypes."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def fit_start(
    sq_distances: Array, perplexity: float, n_fit: int, n_jobs: int
) -> tuple[list[int], list[float], float]: ...
def solve_from_model(
    sq_distances: Array,
    perplexity: Array,
    tol: float,
    allow_missing: bool,
    ranks: Sequence[int],
    weights: Sequence[float],
    intercept: float,
    affinities: Array,
    betas: Array,
    sigmas: Array,
    evaluations: Array,
    status: Array,
    n_jobs: int,
) -> None: ...
def solve_in_order(
    sq_distances: Array,
    perplexity: Array,
    tol: float,
    allow_missing: bool,
    method: int,
    max_inner: int,
    sequence: Array,
    parent: Array,
    runs: Array,
    waves: Array,
    starts: Array | None,
    affinities: Array,
    betas: Array,
    sigmas: Array,
    evaluations: Array,
    status: Array,
    n_jobs: int,
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
def paper_p1(n: float, perplexity: float) -> float: ...
def two_level_root(n: float, perplexity: float, m: float) -> float: ...
def sharp_lower_constant(n: int, perplexity: float) -> float: ...
def simd() -> str: ...

class Rows:
    def __init__(
        self,
        values: Array,
        indptr: Array = ...,
        indices: Array = ...,
        n_features: int = ...,
    ) -> None: ...

class Sketch:
    def __init__(
        self,
        panels: Array,
        half_sq_norms: Array,
        points: Array,
        cell_panels: Array,
        has_residual: bool,
    ) -> None: ...

class ApproximateCholesky:
    @property
    def nnz(self) -> int: ...
    @property
    def order(self) -> Array: ...
    @property
    def offsets(self) -> Array: ...
    @property
    def rows(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def pivots(self) -> Array: ...
    def solve(self, rhs: Array, out: Array, n_jobs: int) -> None: ...

def approximate_cholesky(
    indptr: Array,
    indices: Array,
    weights: Array,
    excess: Array,
    seed: int,
    like: ApproximateCholesky | None,
) -> ApproximateCholesky: ...
def mark_strongest(
    indptr: Array, indices: Array, weights: Array, k: int, keep: Array, n_jobs: int
) -> int: ...
def multiply(
    indptr: Array, indices: Array, weights: Array, X: Array, out: Array, n_jobs: int
) -> None: ...
def sum_rows(indptr: Array, indices: Array, weights: Array, sums: Array, n_jobs: int) -> None: ...
def label_components(
    indptr: Array, indices: Array, weights: Array, degrees: Array, share: float, labels: Array
) -> int: ...
def candidate_distances(
    queries: Rows, points: Rows, addend: Array | None, candidates: Array, out: Array, n_threads: int
) -> None: ...
def project(
    rows: Rows, center: Array, basis: Array, out: Array, sq_norms: Array, n_threads: int
) -> None: ...
def search_cells(
    query_rows: Rows,
    point_rows: Rows,
    addend: Array | None,
    sketch: Sketch,
    centers: Sketch,
    cell_radii: Array,
    cell_slacks: Array,
    query_sketches: Array,
    query_sq_norms: Array,
    self: Array | None,
    order: Array,
    task_offsets: Array,
    n_probes: int,
    n_candidates: int,
    sketch_unit: float,
    margin: float,
    residual_weight: float,
    exact: bool,
    indices: Array,
    sq_distances: Array,
    evaluated: Array,
    n_threads: int,
) -> None: ...
def crowding(low: Array, size: Array, side: float, points: Array, n_jobs: int) -> float: ...
def add_close_pairs(
    low: Array,
    size: Array | None,
    radius: float,
    kernel: tuple[int, float, float],
    coefficients: Array,
    points: Array,
    weights: Array | None,
    single: bool,
    value: Array,
    gradient: Array | None,
    n_jobs: int,
) -> None: ...
def sum_all_pairs(
    queries: Array,
    points: Array,
    same: bool,
    kernel: tuple[int, float, float],
    want: int,
    point_weights: Array | None,
    pair_weights: Array | None,
    vectors: Array | None,
    value: Array | None,
    slope: Array | None,
    force: Array | None,
    curvature: Array | None,
    n_jobs: int,
) -> None: ...
def sum_edges(
    indptr: Array,
    indices: Array,
    weights: Array,
    points: Array,
    kernel: tuple[int, float, float],
    value: bool,
    force: Array | None,
    n_jobs: int,
) -> float: ...
def edge_weights(
    indptr: Array,
    indices: Array,
    weights: Array,
    points: Array,
    kernel: tuple[int, float, float],
    out: Array,
    n_jobs: int,
) -> None: ...
def merged_counts(
    a_indptr: Array,
    a_indices: Array,
    a_data: Array,
    b_indptr: Array,
    b_indices: Array,
    b_data: Array,
    counts: Array,
    n_jobs: int,
) -> None: ...
def merged_mean(
    a_indptr: Array,
    a_indices: Array,
    a_data: Array,
    b_indptr: Array,
    b_indices: Array,
    b_data: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    n_jobs: int,
) -> None: ...
def momentum_step(
    rate: float,
    momentum: float,
    max_step: float,
    gradient: Array,
    velocity: Array,
    gains: Array | None,
    n_jobs: int,
) -> None: ...
def bounding_box(points: Array, low: Array, high: Array, n_jobs: int) -> None: ...
def n_strips(origin: Array, size: Array, spacing: float, degree: int) -> int: ...
def spread(
    origin: Array,
    size: Array,
    spacing: float,
    degree: int,
    points: Array,
    weights: Array | None,
    order: Array,
    starts: Array,
    nodes: Array,
    n_jobs: int,
) -> None: ...
def gather(
    origin: Array,
    size: Array,
    spacing: float,
    degree: int,
    nodes: Array,
    own: Array | None,
    points: Array,
    weights: Array | None,
    order: Array,
    starts: Array,
    value: Array,
    gradient: Array | None,
    n_jobs: int,
) -> None: ...
def place(
    indptr: Array,
    indices: Array,
    weights: Array,
    points: Array,
    kernel: tuple[int, float, float],
    repulsion: float,
    max_iter: int,
    tol: float,
    origin: Array,
    size: Array,
    spacing: float,
    degree: int,
    nodes: Array,
    positions: Array,
    n_jobs: int,
) -> None: ...
