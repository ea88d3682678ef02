"""Search in many dimensions by sketches: exact, or approximate to a recall that is measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import single_threaded_blas
from closeknit.neighbors._cells import Cells, assign, group_by_cell, make_cells, pack
from closeknit.neighbors._products import FEWEST_FEATURES, MOST_POINTS, nearest_by_products
from closeknit.neighbors._sketch import MAX_COMPONENTS, Sketcher, Sketches, rounding_margin
from closeknit.neighbors._sketch_settings import (
    RESIDUAL_WEIGHT,
    KnownRows,
    cell_ranks,
    choose_settings,
    known_rows,
)
from closeknit.neighbors.candidates import nearest_of_all
from closeknit.neighbors.points import Data, Found, SearchEngine, as_rows
from closeknit.progress import log, steps

_TASKS_PER_CALL = 64  # so that Ctrl-C is answered and progress is seen
_LOSS_OF_CANDIDATES = 0.4  # of what an approximate search may miss; cells get the rest
# Points for each direction up to which finding directions takes longer than comparing all points.
_FEW_PER_DIRECTION = 20
_FAR = 2.0**100  # squared norms of sketches beyond which products in float32 may overflow


@dataclass(frozen=True)
class _Prepared:
    """Everything a search needs."""

    sketcher: Sketcher
    sketches: Sketches
    cells: Cells
    packed: _core.Sketch
    n_probes: int
    n_candidates: int


@dataclass(eq=False)
class SketchEngine(SearchEngine):
    """Search by sketches; ``search_cells`` of the compiled core says how.

    The first search builds what it needs for its number of neighbours. Searches for fewer use that
    as it is; a search for more builds it anew.

    Parameters
    ----------
    points : array
    n_threads : int
    sq_offsets : (n_samples,) array or None
        Added to the squared distance to each point.
    target_recall : float or None
        The share of true neighbours to be found; None for all of them, proven.
    seed : int
    built_for : int, default=0
        Neighbours, at least, to build it for.
    plain : bool, default=False
        Whether to compare all coordinates with those of all points: slower to search, but there is
        next to nothing to build.
    """

    sq_offsets: Array | None
    target_recall: float | None
    seed: int
    built_for: int = 0
    plain: bool = False
    #: The share of true neighbours found for the rows on which the search was calibrated.
    recall: float | None = field(default=None, init=False)
    _prepared: _Prepared | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed sketches, which the next search makes again, to the same bits."""
        return {**super().__getstate__(), "_prepared": None}

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points; see `SearchEngine.search`."""
        exact, (n_points, n_features) = self.target_recall is None, self.points.shape
        plain = exact and queries is None and self.sq_offsets is None
        if plain and n_points <= MOST_POINTS and n_features >= FEWEST_FEATURES:
            found = nearest_by_products(
                self.points, n_neighbors, exclude_self=exclude_self, n_threads=self.n_threads
            )
            if found is not None:
                return found
        # New points may find one more: a fitted point, which is not its own neighbour, may be new.
        if n_neighbors > self.built_for + (queries is not None and self.built_for > 0):
            self.built_for, self._prepared = n_neighbors, None
        if self._prepared is None:
            # One BLAS thread: its rounding depends on their number, and the search on its rounding.
            with single_threaded_blas():
                self._prepared = self._build(self.built_for)
        prepared = self._prepared
        if exact:
            # Sketches of all coordinates rank the points almost as they are.
            spare = 0 if prepared.sketcher.basis is None else n_neighbors // 2
            prepared = replace(prepared, n_candidates=n_neighbors + spare + 8)
        if queries is None:
            everyone = np.arange(n_points, dtype=np.int32)
            sketches, members = prepared.sketches, prepared.cells.members
            rows, own = self.points, everyone if exclude_self else None
        else:
            sketches = prepared.sketcher(queries, self.n_threads)
            far = np.flatnonzero(~(sketches.sq_norms < _FAR))
            if len(far):
                return self._search_far(n_neighbors, queries, far)
            members = assign(sketches.values, prepared.cells.centers, self.n_threads)
            rows, own = queries, None
        indices, sq_distances = self._run(
            prepared, rows, sketches, members, own, n_neighbors, exact, "neighbours"
        )
        short = () if exact else np.flatnonzero(indices[:, -1] < 0)
        if len(short):
            log("%d rows have too few neighbours and are completed exactly", len(short))
            part = Sketches(sketches.values[short], sketches.sq_norms[short])
            mine = None if own is None else own[short]
            indices[short], sq_distances[short] = self._run(
                prepared, rows[short], part, members[short], mine, n_neighbors, True, "neighbours"
            )
        return indices, sq_distances

    def _search_far(self, n_neighbors: int, queries: Data, far: Integers) -> Found:
        """Search for queries of which some are too far off for sketches: those by all distances."""
        indices = np.empty((queries.shape[0], n_neighbors), dtype=np.int32)
        sq_distances = np.empty((queries.shape[0], n_neighbors))
        indices[far], sq_distances[far] = nearest_of_all(
            queries[far],
            self._points_for(queries),
            n_neighbors,
            sq_offsets=self.sq_offsets,
            n_threads=self.n_threads,
        )
        near = np.setdiff1d(np.arange(queries.shape[0]), far)
        if len(near):
            indices[near], sq_distances[near] = self.search(n_neighbors, queries[near])
        return indices, sq_distances

    def _build(self, n_neighbors: int) -> _Prepared:
        points, n_threads, recall = self.points, self.n_threads, self.target_recall
        rng = np.random.default_rng(self.seed)
        fewest = n_neighbors + n_neighbors // 4 + 8  # estimates of the nearest may be swapped
        # A sample may be easier than the rest, so a quarter of the allowed loss stays in reserve.
        loss = None if recall is None else 0.75 * (1.0 - recall)
        n_directions = min(points.shape[1], MAX_COMPONENTS)
        few = self.plain or points.shape[0] <= _FEW_PER_DIRECTION * n_directions
        if not few or loss is not None:
            known = known_rows(points, self.sq_offsets, n_neighbors, rng, n_threads)
        if few:
            sketcher = Sketcher.of_all_coordinates(points)
            n_candidates = min(fewest, points.shape[0])
        else:
            share = None if loss is None else _LOSS_OF_CANDIDATES * loss
            sketcher, n_candidates = choose_settings(points, known, fewest, rng, n_threads, share)
        sketches = sketcher(points, n_threads)
        # Sketches this long mean that no few directions matter; then cells do not help, either, and
        # one look at everything is the fastest exact search.
        long = recall is None and sketches.values.shape[1] > MAX_COMPONENTS + 1
        cells = make_cells(sketches, rng, n_threads, one=self.plain or long)
        n_cells = cells.centers.shape[0]
        sq_offsets = None if self.sq_offsets is None else self.sq_offsets * sketcher.scale**2
        packed = pack(
            sketches,
            cells.members,
            n_cells,
            has_residual=sketcher.basis is not None,
            sq_offsets=sq_offsets,
        )
        prepared = _Prepared(
            sketcher,
            sketches,
            cells,
            packed,
            n_probes=max(1, n_cells // 25),
            n_candidates=n_candidates,
        )
        if loss is not None:
            prepared = self._calibrate(prepared, known, loss)
        log(
            "%d of %d coordinates, %d of %d cells first, %d candidates per point",
            sketches.values.shape[1],
            points.shape[1],
            prepared.n_probes,
            n_cells,
            prepared.n_candidates,
        )
        return prepared

    def _calibrate(self, prepared: _Prepared, known: KnownRows, loss: float) -> _Prepared:
        """Look into more cells, and rank more candidates, until the known rows lose few enough."""
        n_samples, n_cells = self.points.shape[0], prepared.cells.centers.shape[0]
        rows = known.rows
        sketches = Sketches(prepared.sketches.values[rows], prepared.sketches.sq_norms[rows])
        centers = prepared.cells.centers.astype(np.float64)
        distances = 0.5 * np.einsum("ij,ij->i", centers, centers) - sketches.values @ centers.T
        ranks = np.sort(cell_ranks(distances, prepared.cells.members[known.neighbors]), axis=None)

        def cells_for(missed: float) -> int:
            return int(ranks[min(ranks.size - 1, int((1.0 - missed) * ranks.size))]) + 1

        missed = 0.8 * loss
        trial = replace(prepared, n_probes=cells_for(missed))
        while True:
            found = self._run(
                trial,
                self.points[rows],
                sketches,
                prepared.cells.members[rows],
                rows,
                known.neighbors.shape[1],
                False,
            )[1]
            lost = 1.0 - float(np.mean(found <= known.last))
            complete = trial.n_probes == n_cells and trial.n_candidates == n_samples
            if lost <= loss or complete:
                self.recall = 1.0 - lost
                log("recall %.4f on %d rows", self.recall, len(rows))
                return trial
            outside = float(np.mean(ranks >= trial.n_probes))
            if outside > (1.0 - _LOSS_OF_CANDIDATES) * lost and trial.n_probes < n_cells:
                missed *= 0.7
                more = max(cells_for(missed), trial.n_probes + 1)
                trial = replace(trial, n_probes=min(n_cells, more))
            else:
                more = trial.n_candidates + trial.n_candidates // 4
                trial = replace(trial, n_candidates=min(n_samples, more))

    def _run(
        self,
        prepared: _Prepared,
        rows: Data,
        sketches: Sketches,
        members: Integers,
        own: Integers | None,
        n_neighbors: int,
        exact: bool,
        stage: str | None = None,
    ) -> Found:
        n_queries = rows.shape[0]
        indices = np.empty((n_queries, n_neighbors), dtype=np.int32)
        sq_distances = np.empty((n_queries, n_neighbors))
        evaluated = np.empty(n_queries, dtype=np.int64)
        query_rows = as_rows(rows)
        point_rows = query_rows if rows is self.points else as_rows(self._points_for(rows))
        order, offsets = group_by_cell(members)
        queries = _core.SearchQueries(
            query_rows, sketches.values, sketches.sq_norms, own, order, offsets
        )
        points = _core.SearchPoints(
            rows=point_rows,
            sq_offsets=self.sq_offsets,
            sketch=prepared.packed,
            centers=prepared.cells.packed_centers,
            cell_radii=prepared.cells.radii,
            cell_slacks=prepared.cells.slacks,
        )
        plan = _core.SearchPlan(
            n_probes=prepared.n_probes,
            n_candidates=prepared.n_candidates,
            sketch_unit=prepared.sketcher.scale**2,
            margin=rounding_margin(sketches.values.shape[1]),
            residual_weight=RESIDUAL_WEIGHT,
            exact=exact,
        )
        n_tasks = len(offsets) - 1
        starts = range(0, n_tasks, _TASKS_PER_CALL)
        for start in starts if stage is None else steps(stage, starts):
            tasks = (start, min(start + _TASKS_PER_CALL, n_tasks))
            _core.search_cells(
                points, queries, plan, tasks, indices, sq_distances, evaluated, self.n_threads
            )
        if exact and stage is not None:
            log("%.0f true distances per point", evaluated.mean())
        return indices, sq_distances
