"""What embeddings do otherwise on a cluster: blocks, shards, and a run that can be resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from closeknit import embeddings
from closeknit._arrays import Array
from closeknit.distributed.affinities import EntropicAffinities, symmetrize
from closeknit.distributed.blocks import Blocks
from closeknit.distributed.start import principal_components
from closeknit.minimize import Direction, Path, Schedule, SpectralLBFGS, SpectralMomentum
from closeknit.neighbors import seed_of
from closeknit.objectives import Objective
from closeknit.progress import Event, listening, log
from closeknit.repulsion import GridRepulsion, Repulsion

if TYPE_CHECKING:
    _Base = embeddings.BaseEmbedding
    _NonlinearBase = embeddings.NonlinearEmbedding
else:
    _Base = _NonlinearBase = object

#: New points that are placed together.
_BATCH = 2**16


@dataclass(repr=False, eq=False, kw_only=True)
class OnCluster(_Base):
    """Parameters of a run on a cluster, and what is the same in all embeddings.

    A base to be named before the embedding of one machine. It is not derived from one: a dataclass
    takes each field from the first base that has it, and would take defaults that the embedding has
    changed.
    """

    target_recall: float = 0.99
    cell_size: int = 2**17
    folder: Any = None
    resume: bool = False

    def _validate(self, X: Any) -> Blocks:
        given: Any = self
        if given.affinity != "entropic":
            raise ValueError("affinity must be 'entropic' on a cluster; use closeknit's own class")
        names = [
            "perplexity",
            "n_neighbors",
            "metric",
            "metric_params",
            "neighbors",
            "random_state",
        ]
        names += ["random_state", "target_recall", "cell_size", "folder", "resume"]
        self._affinities = EntropicAffinities(**{name: getattr(self, name) for name in names})
        self._blocks = blocks = self._affinities.store(X)
        self.n_features_in_ = blocks.n_features
        if self.n_components >= blocks.n_samples:
            raise ValueError(
                f"n_components={self.n_components} must be less than the number of points, "
                f"got n_samples = {blocks.n_samples}"
            )
        return blocks

    def _graph(self, X: Blocks, symmetric: bool = True) -> tuple[Any, Any]:
        fitted = self._affinities.fit_blocks(X)
        return symmetrize(fitted.affinities_), fitted

    def _map(self) -> Array:
        folder = self._blocks.cluster.folder
        return np.concatenate([folder.load(f"map-{block}") for block in self._blocks.numbers])

    def transform(self, X: Any, *, as_new: bool = False) -> Any:
        """Place new points into the embedding; the fitted points stay where they are.

        Neighbours are searched on the cluster, and points placed in this process, some at a time.

        Parameters
        ----------
        X : dask array or array-like of shape (n_new, n_features)
        as_new : bool, default=False
            Whether to place a point anew that coincides with a fitted one.

        Returns
        -------
        ndarray or dask array of shape (n_new, n_components)
            As `X` is.
        """
        check_is_fitted(self)
        if hasattr(X, "dask"):
            import dask.array

            blocks = (X.blocks[i].compute() for i in range(X.numblocks[0]))
            placed = [self.transform(block, as_new=as_new) for block in blocks]
            return dask.array.from_array(np.concatenate(placed), chunks=(X.chunks[0], -1))
        X = np.asarray(X)
        place = partial(super().transform, as_new=as_new)
        return np.concatenate([place(X[i : i + _BATCH]) for i in range(0, len(X), _BATCH)])


@dataclass(repr=False, eq=False, kw_only=True)
class Nonlinear(OnCluster, _NonlinearBase):
    """Embeddings that are minimised, by the loop of one machine on sums of a cluster."""

    checkpoint: int = 25

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of `X`.

        Parameters
        ----------
        X : dask array or array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
            Ctrl-C and `time_limit` keep the best embedding so far.
        """
        self._state = Checkpoint()
        with listening(self._write_state):
            return super().fit(X)

    def _validate(self, X: Any) -> Blocks:
        blocks = super()._validate(X)
        noted = blocks.cluster.folder.noted("state") if self.resume else None
        if noted is not None:
            self._state = Checkpoint(**noted)
        return blocks

    def _write_state(self, event: Event) -> None:
        """Write the map every so many iterations."""
        state = event.state
        if event.stage != "optimisation" or state is None:
            return
        reached = self._state.seen(state.iteration, state.stage)
        if state.iteration and state.iteration % self.checkpoint == 0:
            folder = self._blocks.cluster.folder
            folder.save("state", state.X, durable=True)
            folder.note("state", reached)

    def _choose_repulsion(self, n_samples: int) -> Repulsion:
        if self.n_components > 3:
            raise ValueError(f"n_components={self.n_components} must be at most 3 on a cluster")
        if isinstance(self.repulsion, GridRepulsion):
            return self.repulsion
        if self.repulsion not in ("auto", "grid"):
            raise ValueError(f"repulsion={self.repulsion!r} must be 'auto' or 'grid' on a cluster")
        repulsion = super()._choose_repulsion(max(n_samples, embeddings.MAX_POINTS_EXACT + 1))
        assert isinstance(repulsion, GridRepulsion)
        return repulsion

    def _start(self, X: Blocks, objective: Objective) -> Array:
        if self._state.iteration:
            log("the run goes on after iteration %d", self._state.iteration)
            return X.cluster.folder.load("state")
        if not isinstance(self.init, str) or self.init == "random":
            return super()._start(X, objective)
        if self.init not in ("auto", "pca"):
            raise ValueError(
                f"init={self.init!r} is not distributed; use 'pca', 'random' or an array"
            )
        return principal_components(X, self.n_components, seed_of(self.random_state))

    def _make_schedule(self, objective: Objective, direction: Direction[Any]) -> Schedule:
        return self._state.rest_of(super()._make_schedule(objective, direction))

    def _suitable_direction(self, n_samples: int, exact: bool) -> Direction[Any]:
        direction = super()._suitable_direction(n_samples, exact)
        assert isinstance(direction, SpectralMomentum | SpectralLBFGS)
        # This process has few edges of each point, and takes all of these.
        direction = replace(direction, n_neighbors=None)
        done = self._state.iteration
        if not done or not isinstance(direction, SpectralMomentum):
            return direction
        return replace(direction, stiffness=direction.stiffness_at(done), hold=0)

    def _keep(self, objective: Any, path: Path) -> None:
        super()._keep(objective, path)
        positions, blocks = self.embedding_, self._blocks
        for block in blocks.numbers:
            blocks.cluster.folder.save(f"map-{block}", positions[blocks.rows(block)])
        self.embedding_ = blocks.array("map", (positions.shape[1],))
        objective.release()


@dataclass
class Checkpoint:
    """How far a minimisation is: iterations, the current stage, and how many of its iterations."""

    iteration: int = 0
    stage: int = 0
    in_stage: int = 0

    def __post_init__(self) -> None:
        self._resumed = (self.iteration, self.stage, self.in_stage)
        self._began: dict[int, int] = {}

    def seen(self, iteration: int, stage: int) -> dict[str, int]:
        """Return what a checkpoint after some iterations of the current run holds."""
        began = self._began.setdefault(stage, iteration)
        before, stages, in_stage = self._resumed
        done = iteration - began + (in_stage if stage == 0 else 0)
        return {"iteration": before + iteration, "stage": stages + stage, "in_stage": done}

    def rest_of(self, schedule: Schedule) -> Schedule:
        """Leave out of a schedule what is done."""
        if not self.iteration:
            return schedule
        first, *others = schedule.stages[self.stage :]
        left = max(0, first.max_iter - self.in_stage)
        return Schedule((replace(first, max_iter=left, restart=False), *others))
