"""Embeddings on a Dask cluster: the estimators of one machine, with their graph in shards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from closeknit import embeddings
from closeknit._threads import single_threaded_blas
from closeknit.distributed import objective as on_shards
from closeknit.distributed.affinities import EntropicAffinities, symmetrize
from closeknit.distributed.blocks import Blocks, take_rows
from closeknit.distributed.cluster import Folder
from closeknit.embeddings import check_number, scaled_start
from closeknit.io import load, save
from closeknit.linalg import Array
from closeknit.minimize import Direction, Path, Schedule, SpectralMomentum
from closeknit.neighbors import seed_of
from closeknit.objectives import Objective
from closeknit.progress import Event, listening, log, shown
from closeknit.repulsion import GridRepulsion, Repulsion

__all__ = ["TSNE", "ElasticEmbedding", "LaplacianEigenmaps", "SymmetricSNE"]

#: Rows from which the axes of a start are computed.
_AXES = 2**15
#: New points that are placed together.
_BATCH = 2**16


@dataclass(repr=False, eq=False, kw_only=True)
class _OnCluster(embeddings.BaseEmbedding):
    """Parameters of a run on a cluster, and what is the same in all embeddings."""

    target_recall: float = 0.99
    cell_size: int = 2**16
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

    def transform(self, X: Any) -> Any:
        """Place new points into the embedding; the fitted points stay where they are.

        Neighbours are searched on the cluster, and points placed in this process, some at a time.

        Parameters
        ----------
        X : dask array or array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray or dask array of shape (n_new, n_components)
            As `X` is.
        """
        check_is_fitted(self)
        if hasattr(X, "dask"):
            import dask.array

            placed = [self.transform(X.blocks[i].compute()) for i in range(X.numblocks[0])]
            return dask.array.from_array(np.concatenate(placed), chunks=(X.chunks[0], -1))
        X = np.asarray(X)
        place = super().transform
        return np.concatenate([place(X[i : i + _BATCH]) for i in range(0, len(X), _BATCH)])


@dataclass(repr=False, eq=False, kw_only=True)
class _Nonlinear(_OnCluster, embeddings.NonlinearEmbedding):
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
        self._state = _State()
        with listening(self._write_state):
            return super().fit(X)

    def _validate(self, X: Any) -> Blocks:
        blocks = super()._validate(X)
        noted = blocks.cluster.folder.noted("state") if self.resume else None
        if noted is not None:
            self._state = _State(**noted)
        return blocks

    def _write_state(self, event: Event) -> None:
        """Write the map every so many iterations."""
        state = event.state
        if event.stage != "optimisation" or state is None:
            return
        reached = self._state.seen(state.iteration, state.stage)
        if state.iteration and state.iteration % self.checkpoint == 0:
            folder = self._blocks.cluster.folder
            folder.save("state", state.X)
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
        return _principal_components(X, self.n_components, seed_of(self.random_state))

    def _make_schedule(self, objective: Objective, direction: Direction[Any]) -> Schedule:
        return self._state.rest_of(super()._make_schedule(objective, direction))

    def _suitable_direction(self, n_samples: int, exact: bool) -> Direction[Any]:
        direction = super()._suitable_direction(n_samples, exact)
        done = self._state.iteration
        if not done or not isinstance(direction, SpectralMomentum):
            return direction
        return replace(direction, stiffness=direction.stiffness_at(done), hold=0)

    def _keep(self, objective: Objective, path: Path) -> None:
        super()._keep(objective, path)
        positions, blocks = self.embedding_, self._blocks
        for block in blocks.numbers:
            blocks.cluster.folder.save(f"map-{block}", positions[blocks.rows(block)])
        self.embedding_ = blocks.array("map", (positions.shape[1],))
        blocks.cluster.loaded = None  # the graph, which workers held in memory


@dataclass
class _State:
    """How far a minimisation is: iterations, the stage it is in, and how many of its iterations."""

    iteration: int = 0
    stage: int = 0
    in_stage: int = 0

    def __post_init__(self) -> None:
        self._resumed = (self.iteration, self.stage, self.in_stage)
        self._began: dict[int, int] = {}

    def seen(self, iteration: int, stage: int) -> dict[str, int]:
        """Return the state after some iterations of the current run."""
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


def _principal_components(blocks: Blocks, n_components: int, seed: int) -> Array:
    """Project all rows onto the principal axes of a sample of them."""
    from sklearn.decomposition import PCA

    cluster = blocks.cluster
    rows = blocks.sample(min(_AXES, blocks.n_samples), seed)
    sample = np.concatenate(cluster.run("start", take_rows, list(enumerate(rows)), blocks.name))
    n_axes = min(n_components, *sample.shape)
    with single_threaded_blas(), np.errstate(invalid="ignore"):
        axes = PCA(n_axes, random_state=seed).fit(sample.astype(np.float64))
    common = (blocks.name, axes.mean_, axes.components_)
    start = np.concatenate(cluster.run("start", _project, blocks.numbers, *common))
    if n_axes < n_components:  # fewer features than the map has dimensions
        rng = np.random.default_rng(seed)
        noise = 0.1 * start[:, 0].std() * rng.standard_normal((len(start), n_components - n_axes))
        start = np.hstack([start, noise])
    return scaled_start(start)


def _project(folder: Folder, block: int, name: str, mean: Array, axes: Array) -> Array:
    with single_threaded_blas():
        return (folder.load(f"{name}-{block}") - mean) @ axes.T


@dataclass(repr=False, eq=False, kw_only=True)
class TSNE(_Nonlinear, embeddings.TSNE):
    """t-SNE on the current Dask cluster.

    Parameters and attributes are those of :class:`closeknit.TSNE`, and the following.

    Parameters
    ----------
    target_recall : float, default=0.99
        Share of true neighbours to be found, certified by an exact scan for a sample of rows.
    cell_size : int, default=65536
        Rows that a task searches among, about.
    folder : str, path or None, default=None
        Where the arrays are kept, seen by all workers; None is a temporary folder, which is removed
        when this estimator and its arrays are gone.
    resume : bool, default=False
        Whether to go on with the run in `folder`: complete stages are not repeated, and the map
        goes on, at rest, from where it was last written.
    checkpoint : int, default=25
        Iterations after which the map is written.

    Attributes
    ----------
    embedding_ : dask array of shape (n_samples, n_components)
    affinities_ : ShardedGraph of shape (n_samples, n_samples)
    affinity_estimator_ : EntropicAffinities
        Its `recall_` is the measured recall of the neighbours.

    Notes
    -----
    The neighbours, affinities and their graph are made and kept in shards. During the minimisation
    this process holds the positions, the strongest ten edges of each point and their factor, some
    500 bytes per point in all; workers hold the shards and a copy of the positions. The map is the
    same to the bit for any number of workers, also if some are lost on the way.

    Not offered: affinities that are given, other metrics than Euclidean and cosine distances,
    ``init`` by diffusion or eigenmaps, and more than three components.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     tsne = ckd.TSNE(random_state=0, max_iter=20, tol=0).fit(load_iris().data)
    ...     tsne.embedding_.compute().shape
    (150, 2)
    """

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return on_shards.TSNE(P, dof=self.dof, **options)


@dataclass(repr=False, eq=False, kw_only=True)
class SymmetricSNE(_Nonlinear, embeddings.SymmetricSNE):
    """Symmetric SNE on the current Dask cluster.

    Parameters and attributes are those of :class:`closeknit.SymmetricSNE`; `target_recall`,
    `cell_size`, `folder`, `resume` and `checkpoint` are as in :class:`TSNE`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     ckd.SymmetricSNE(max_iter=5).fit_transform(load_iris().data).compute().shape
    (150, 2)
    """

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return on_shards.SymmetricSNE(P, **options)


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticEmbedding(_Nonlinear, embeddings.ElasticEmbedding):
    """Elastic embedding on the current Dask cluster.

    Parameters and attributes are those of :class:`closeknit.ElasticEmbedding`, without
    `repulsive_weights` and with `lam` given as numbers; `target_recall`, `cell_size`, `folder`,
    `resume` and `checkpoint` are as in :class:`TSNE`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     ckd.ElasticEmbedding(lam=10, max_iter=5).fit_transform(load_iris().data).compute().shape
    (150, 2)
    """

    _model: ClassVar[Any] = on_shards.ElasticEmbedding
    _twin: ClassVar[Any] = on_shards.SymmetricSNE

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.repulsive_weights is not None:
            raise ValueError("repulsive_weights are not distributed; leave them out")
        if isinstance(self.lam, str):
            # With several workers it ended far above the objective of one machine.
            raise ValueError(
                "lam must be a number, or an increasing list of numbers, on a cluster: choose it "
                "with closeknit.ElasticEmbedding() on a sample, whose lam_ it is"
            )


@dataclass(repr=False, eq=False, kw_only=True)
class LaplacianEigenmaps(_OnCluster, embeddings.LaplacianEigenmaps):
    """Laplacian eigenmaps on the current Dask cluster, from landmarks.

    The eigenvectors are those of a sample of the rows, computed in this process; all other rows are
    placed, block by block, at the weighted means of their neighbours among the landmarks, as
    :meth:`closeknit.LaplacianEigenmaps.transform` does.

    Parameters
    ----------
    n_landmarks : int, default=20000
        Rows that are embedded first; all, if there are no more.
    folder : str, path or None, default=None
        As in :class:`TSNE`; so are the remaining parameters as in
        :class:`closeknit.LaplacianEigenmaps`.

    Attributes
    ----------
    embedding_ : dask array of shape (n_samples, n_components)
    landmarks_ : closeknit.LaplacianEigenmaps
        Fitted to the landmarks.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     maps = ckd.LaplacianEigenmaps(n_landmarks=100).fit(load_iris().data)
    ...     maps.embedding_.compute().shape
    (150, 2)
    """

    n_landmarks: int = 20_000

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
        """
        check_number("n_landmarks", self.n_landmarks, integer=True, least=2)
        with shown(self.verbose):
            blocks = self._validate(X)
            cluster, seed = blocks.cluster, seed_of(self.random_state)
            rows = blocks.sample(min(self.n_landmarks, blocks.n_samples), seed)
            chosen = cluster.run("landmarks", take_rows, list(enumerate(rows)), blocks.name)
            parameters = embeddings.LaplacianEigenmaps().get_params()
            own = {name: getattr(self, name) for name in parameters}
            self.landmarks_ = embeddings.LaplacianEigenmaps(**own).fit(np.concatenate(chosen))
            model = cluster.folder.path / "landmarks.closeknit"
            save(self.landmarks_.set_params(n_jobs=1), model)
            cluster.run("other points", _place_block, blocks.numbers, blocks.name, str(model))
            self.landmarks_.set_params(n_jobs=self.n_jobs)
            self.embedding_ = blocks.array("map", (self.n_components,))
        return self

    def transform(self, X: Any) -> Any:
        """Place new points as the rows beside the landmarks were placed."""
        check_is_fitted(self)
        if hasattr(X, "dask"):
            return X.map_blocks(
                self.landmarks_.transform, chunks=(X.chunks[0], (self.n_components,))
            )
        return self.landmarks_.transform(X)


def _place_block(folder: Folder, block: int, name: str, model: str) -> None:
    folder.save(f"map-{block}", load(model).transform(folder.load(f"{name}-{block}")))
