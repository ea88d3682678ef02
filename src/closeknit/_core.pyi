"""The compiled core, as Python sees it (see ``cpp/bindings*.cpp``)."""

from typing import Any, overload

import numpy as np
import numpy.typing as npt

class Rows:
    @overload
    def __init__(self, values: npt.NDArray[Any]) -> None: ...
    @overload
    def __init__(
        self,
        values: npt.NDArray[Any],
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        n_features: int,
    ) -> None: ...

class Sketch:
    def __init__(
        self,
        panels: npt.NDArray[np.float32],
        half_sq_norms: npt.NDArray[np.float32],
        points: npt.NDArray[np.int32],
        cell_panels: npt.NDArray[np.int64],
        has_residual: bool,
    ) -> None: ...

def candidate_distances(
    queries: Rows,
    points: Rows,
    addend: npt.NDArray[np.float64] | None,
    candidates: npt.NDArray[np.int64],
    out: npt.NDArray[np.float64],
    n_threads: int,
) -> None: ...
def project(
    rows: Rows,
    center: npt.NDArray[np.float64],
    basis: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
    sq_norms: npt.NDArray[np.float64],
    n_threads: int,
) -> None: ...
def search_cells(
    query_rows: Rows,
    point_rows: Rows,
    addend: npt.NDArray[np.float64] | None,
    sketch: Sketch,
    centers: Sketch,
    cell_radii: npt.NDArray[np.float64],
    cell_slacks: npt.NDArray[np.float64],
    query_sketches: npt.NDArray[np.float32],
    query_sq_norms: npt.NDArray[np.float64],
    self: npt.NDArray[np.int32] | None,
    order: npt.NDArray[np.int64],
    task_offsets: npt.NDArray[np.int64],
    n_probes: int,
    n_candidates: int,
    sketch_unit: float,
    margin: float,
    residual_weight: float,
    exact: bool,
    indices: npt.NDArray[np.int32],
    sq_distances: npt.NDArray[np.float64],
    evaluated: npt.NDArray[np.int64],
    n_threads: int,
) -> None: ...
