"""Search in many dimensions by sketches: exact, or approximate to a recall that is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from closeknit import _core
from closeknit._threads import single_threaded_blas
from closeknit.neighbors._cells import Cells, assign, group_by_cell, make_cells, pack
from closeknit.neighbors._engine import Found
from closeknit.neighbors._plan import RESIDUAL_WEIGHT, SketchPlan, plan_sketches
from closeknit.neighbors._report import Reporter
from closeknit.neighbors._rows import Data, as_rows
from closeknit.neighbors._sketch import MAX_COMPONENTS, Sketches, rounding_margin

__all__ = ["SketchEngine"]

_TASKS_PER_CALL = 64  # so that Ctrl-C is heard and progress is seen
_CALIBRATION_ROWS = 256


@dataclass(frozen=True)
class _Prepared:
    """Everything a search of one n_neighbors needs."""

    plan: SketchPlan
    sketches: Sketches
    cells: Cells
    packed: _core.Sketch
    n_probes: int
    n_candidates: int


class SketchEngine:
    """Search by sketches (see ``cpp/kernels_search.cpp`` for how).

    Parameters
    ----------
    points : array or CSR matrix
    addend : (n_samples,) array or None
        Added to each point's squared distance.
    target_recall : float or None
        The share of true neighbours to be found; None for all of them, proven.
    seed : int
    n_threads : int
    report : Reporter
    """

    def __init__(
        self,
        points: Data,
        addend: npt.NDArray[np.float64] | None,
        target_recall: float | None,
        seed: int,
        n_threads: int,
        report: Reporter,
    ) -> None:
        self._points = points
        self._addend = addend
        self._target_recall = target_recall
        self._seed = seed
        self._n_threads = n_threads
        self._report = report
        self._prepared: tuple[int, _Prepared] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed sketches; the next search makes them anew, to the same bits."""
        return {**self.__dict__, "_prepared": None}

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points; see `Engine.search`."""
        prepared = self._prepare(n_neighbors)
        exact = self._target_recall is None
        if queries is None:
            everyone = np.arange(self._points.shape[0], dtype=np.int32)
            sketches, members = prepared.sketches, prepared.cells.members
            rows, own = self._points, everyone if exclude_self else None
        else:
            sketches = prepared.plan.sketcher(queries, self._n_threads)
            members = assign(sketches.values, prepared.cells.centers, self._n_threads)
            rows, own = queries, None
        indices, sq_distances = self._run(
            prepared, rows, sketches, members, own, n_neighbors, exact, "search"
        )
        if not exact:
            short = np.flatnonzero(indices[:, -1] < 0)
            if len(short):
                self._report(f"completing {len(short)} rows exactly")
                part = Sketches(sketches.values[short], sketches.sq_norms[short])
                own_part = None if own is None else own[short]
                indices[short], sq_distances[short] = self._run(
                    prepared, rows[short], part, members[short], own_part, n_neighbors, True, "rest"
                )
        return indices, sq_distances

    def _prepare(self, n_neighbors: int) -> _Prepared:
        if self._prepared is None or self._prepared[0] != n_neighbors:
            # One BLAS thread: its rounding depends on their number, and the plan on its rounding.
            with single_threaded_blas():
                self._prepared = (n_neighbors, self._build(n_neighbors))
        return self._prepared[1]

    def _build(self, n_neighbors: int) -> _Prepared:
        rng = np.random.default_rng(self._seed)
        plan = plan_sketches(self._points, n_neighbors, rng, self._n_threads, self._target_recall)
        sketches = plan.sketcher(self._points, self._n_threads)
        # Sketches this long mean that no few directions matter; then cells do not help, either, and
        # one look at everything is the fastest exact search.
        plain = self._target_recall is None and sketches.values.shape[1] > MAX_COMPONENTS + 1
        cells = make_cells(sketches, rng, self._n_threads, one=plain)
        n_cells = cells.centers.shape[0]
        addend = None if self._addend is None else self._addend * plan.sketcher.scale**2
        packed = pack(
            sketches,
            cells.members,
            n_cells,
            has_residual=plan.sketcher.has_residual,
            addend=addend,
        )
        n_candidates = n_neighbors + n_neighbors // 2 + 8
        n_probes = max(1, n_cells // 25)
        prepared = _Prepared(plan, sketches, cells, packed, n_probes, n_candidates)
        if self._target_recall is not None:
            prepared = self._calibrate(prepared, n_neighbors, self._target_recall, rng)
        self._report(
            f"{sketches.values.shape[1]} of {self._points.shape[1]} coordinates, "
            f"looking first into {prepared.n_probes} of {n_cells} cells, "
            f"{prepared.n_candidates} candidates a row"
        )
        return prepared

    def _calibrate(
        self,
        prepared: _Prepared,
        n_neighbors: int,
        target_recall: float,
        rng: np.random.Generator,
    ) -> _Prepared:
        """Look into more cells, and rank more candidates, until a sample has the wanted recall."""
        n_samples, n_cells = self._points.shape[0], prepared.cells.centers.shape[0]
        sample = np.sort(rng.choice(n_samples, min(n_samples, _CALIBRATION_ROWS), replace=False))
        rows, members = self._points[sample], prepared.cells.members[sample]
        sketches = Sketches(prepared.sketches.values[sample], prepared.sketches.sq_norms[sample])
        own = sample.astype(np.int32)
        n_nearest = min(n_neighbors, n_samples - 1)
        last = self._run(prepared, rows, sketches, members, own, n_nearest, True, "")[1][:, -1:]
        # A sample flatters or slanders by chance; a quarter of the allowed loss stays in reserve.
        wanted = target_recall + 0.25 * (1.0 - target_recall)
        n_probes, n_candidates = max(1, n_cells // 64), prepared.plan.n_candidates
        while True:
            trial = _Prepared(
                prepared.plan,
                prepared.sketches,
                prepared.cells,
                prepared.packed,
                n_probes,
                n_candidates,
            )
            found = self._run(trial, rows, sketches, members, own, n_nearest, False, "")[1]
            recall = float(np.mean(found <= last))
            if recall >= wanted or (n_probes == n_cells and n_candidates == n_samples):
                self._report(f"recall {recall:.4f} on {len(sample)} rows")
                return trial
            if n_probes < n_cells:
                n_probes = min(n_cells, n_probes + max(1, n_probes // 3))
            else:
                n_candidates = min(n_samples, n_candidates + n_candidates // 2)

    def _run(
        self,
        prepared: _Prepared,
        rows: Data,
        sketches: Sketches,
        members: npt.NDArray[np.int32],
        own: npt.NDArray[np.int32] | None,
        n_neighbors: int,
        exact: bool,
        what: str,
    ) -> Found:
        n_queries = rows.shape[0]
        indices = np.empty((n_queries, n_neighbors), dtype=np.int32)
        sq_distances = np.empty((n_queries, n_neighbors))
        evaluated = np.empty(n_queries, dtype=np.int64)
        query_rows, point_rows = as_rows(rows), as_rows(self._points)
        order, offsets = group_by_cell(members)
        starts = range(0, len(offsets) - 1, _TASKS_PER_CALL)
        for start in self._report.progress(what, starts):
            _core.search_cells(
                query_rows=query_rows,
                point_rows=point_rows,
                addend=self._addend,
                sketch=prepared.packed,
                centers=prepared.cells.packed_centers,
                cell_radii=prepared.cells.radii,
                cell_slacks=prepared.cells.slacks,
                query_sketches=sketches.values,
                query_sq_norms=sketches.sq_norms,
                self=own,
                order=order,
                task_offsets=np.ascontiguousarray(offsets[start : start + _TASKS_PER_CALL + 1]),
                n_probes=prepared.n_probes,
                n_candidates=prepared.n_candidates,
                sketch_unit=prepared.plan.sketcher.scale**2,
                margin=rounding_margin(sketches.values.shape[1]),
                residual_weight=RESIDUAL_WEIGHT,
                exact=exact,
                indices=indices,
                sq_distances=sq_distances,
                evaluated=evaluated,
                n_threads=self._n_threads,
            )
        if exact and what:
            self._report(f"{evaluated.mean():.0f} true distances a row")
        return indices, sq_distances
