"""The map in motion: parameters in, frames out, in a thread of its own.

::

    idle ──play, step──► graph of the parameters ──► minimisation ──settled──► idle
                              ▲                          │
                              └── new parameters, restart, other positions ──┘

Neighbours are searched once, for the largest perplexity. New parameters cost a solution of the
bandwidths and a new graph; the minimisation goes on from where the map is.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.embeddings import MapSettled, Training, initial_embedding
from closeknit.exceptions import CloseknitWarning
from closeknit.explore.frames import Frame
from closeknit.explore.parameters import Parameters
from closeknit.graphs import affinity_graph
from closeknit.minimize import Convergence, Momentum, Schedule, Stage, State, StopReason
from closeknit.neighbors import Neighbors, find_neighbors
from closeknit.objectives import SymmetricSNE
from closeknit.progress import Event, listening

__all__ = ["Engine", "Leg", "neighbors_for"]

#: Seconds between two measurements of the neighbours kept, at least, and in units of their cost.
_PAUSE, _COST = 0.5, 20.0
#: Iterations of a minimisation that the user, not convergence, will end.
_ENDLESS = 1_000_000
#: Points from which on a factor of the graph takes longer than a user should wait: a map that goes
#: on begins with so many iterations of plain momentum, which needs none.
MANY, _AT_ONCE = 20_000, 10
#: Factors by which a map may be scaled for another model.
_SCALES = 2.0 ** np.arange(-7.0, 4.0)


class _StoppedError(Exception):
    """Ends a search that nobody waits for any more."""


@dataclass(frozen=True)
class Leg:
    """A part of the way to the current map: so many iterations with these parameters.

    Attributes
    ----------
    parameters : Parameters
    lam : float
        The λ of the last iteration, which the elastic embedding has found.
    stages : tuple of (float, int)
        λ and iterations of every stage.
    scale : float
        What the map was multiplied by at the beginning.
    restarted : bool
        Whether it began at the start, not at the map before.
    at_once : bool
        Whether it went by plain momentum.
    """

    parameters: Parameters
    lam: float
    stages: tuple[tuple[float, int], ...]
    scale: float
    restarted: bool
    at_once: bool = False


def neighbors_for(perplexity: float, available: int) -> int:
    """Neighbours per point that a perplexity needs, of those that are there.

    Examples
    --------
    >>> neighbors_for(30.0, 1000), neighbors_for(30.0, 50)
    (90, 50)
    """
    return min(math.ceil(3.0 * perplexity), available)


class Engine:
    """Optimises a map of the points of `X` while parameters change.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    parameters : Parameters
    max_perplexity : float
        Neighbours are searched for perplexities up to this one.
    neighbors : Neighbors or None, default=None
        If they are known already.
    positions : ndarray of shape (n_samples, 2) or None, default=None
        A map to go on from; None is the start of the embeddings.
    metric : str, default="euclidean"
    n_jobs : int or None, default=-1
    random_state : int, default=0

    Attributes
    ----------
    frame : Frame
        The newest.
    trail : list of Leg
        How the current map came about.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> engine = Engine(load_iris().data, Parameters(), max_perplexity=40)
    >>> engine.start()
    >>> engine.step(5)
    >>> engine.wait(lambda: engine.frame.iteration == 5)
    True
    >>> engine.stop()
    """

    def __init__(
        self,
        X: Any,
        parameters: Parameters,
        *,
        max_perplexity: float,
        neighbors: Neighbors | None = None,
        positions: NDArray[Any] | None = None,
        metric: str = "euclidean",
        n_jobs: int | None = -1,
        random_state: int = 0,
    ) -> None:
        self.X, self.metric, self.n_jobs, self.random_state = X, metric, n_jobs, random_state
        self.n_neighbors = neighbors_for(max_perplexity, X.shape[0] - 1)
        self.neighbors, self.max_perplexity = neighbors, max_perplexity
        self.parameters = parameters
        self.stage, self.progress, self.error = "waiting", 0.0, ""
        self.playing, self.settled = False, False
        self.sigmas: NDArray[np.float64] | None = None
        self.affinities: Any = None
        self.training: Training | None = None
        self.trail: list[Leg] = []
        self.history: list[tuple[int, float | None, float | None]] = []
        self.listeners: list[Callable[[], object]] = []
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = True
        self._steps = 0
        self._built: Parameters | None = None
        self._continues = positions is not None
        self._moved = False  # whether the positions were replaced from outside
        self._endless = False
        self._measured = (0.0, 0.0)  # when the neighbours kept were measured, and for how long
        self._kept: MapSettled | None = None
        self._start: NDArray[np.float64] | None = None
        self._entropy = np.nan
        self._fresh = False  # whether nothing was minimised yet on the graph
        self._scale = 1.0  # by which the next leg multiplies the map
        first = positions if positions is not None else self._first_look()
        self.positions = np.array(first, dtype=np.float64, order="C")
        self.frame = Frame(1, self.positions.astype(np.float32))

    def _first_look(self) -> NDArray[np.float64]:
        """Something to see while neighbours are searched: two coordinates of the data."""
        few = self.X[:, :2]
        few = np.asarray(few.toarray() if hasattr(few, "toarray") else few, dtype=np.float64)
        return few if few.shape[1] == 2 else np.column_stack([few, np.zeros(len(few))])

    # What users do ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work, in a thread, if it is not running already."""
        with self._wake:
            self._stopped = False
            if self._thread is not None:  # one that was about to end goes on, or begins again
                return
            self._thread = threading.Thread(target=self._work, name="closeknit-map", daemon=True)
            self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End the thread and wait so long for it; the map stays, and `start` goes on from there."""
        with self._wake:
            thread, self._stopped = self._thread, True
            self._wake.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    @property
    def is_running(self) -> bool:
        """Whether there is a thread."""
        return self._thread is not None

    def play(self) -> None:
        """Optimise until the map has settled; once more, until `pause`."""
        with self._wake:
            self._endless, self.settled, self.playing = self.settled, False, True
        self._tell()

    def pause(self) -> None:
        """Hold the map where it is."""
        with self._wake:
            self.playing, self.settled, self._steps = False, False, 0
        self._tell()

    def step(self, count: int = 1) -> None:
        """Do so many iterations, and pause."""
        with self._wake:
            self.playing, self._steps, self._endless = False, count, True
        self._tell()

    def restart(self) -> None:
        """Begin again at the start."""
        with self._wake:
            self._continues, self._moved, self.settled, self.playing = False, True, False, True
        self._tell()

    def set(self, parameters: Parameters) -> None:
        """Go on with other parameters."""
        if parameters.perplexity > self.max_perplexity:
            raise ValueError(
                f"perplexity={parameters.perplexity:g} is above {self.max_perplexity:g}, the "
                "largest for which neighbours were searched"
            )
        with self._wake:
            if parameters == self.parameters:
                return
            self.playing = self.playing or self.settled  # a map at rest follows, a held one waits
            self.parameters, self.settled, self._endless = parameters, False, False
        self._tell()

    def move_to(self, positions: NDArray[Any], trail: list[Leg], frame: Frame) -> None:
        """Go on from another map: `frame` says how far that one was."""
        with self._wake:
            self.positions = np.array(positions, dtype=np.float64, order="C")
            self.trail, self._continues, self._moved, self.settled = list(trail), True, True, False
            number = self.frame.number + 1
            self.frame = replace(frame, number=number, positions=self.positions.astype(np.float32))
        self._tell()

    def wait(self, condition: Callable[[], bool], timeout: float = 60.0) -> bool:
        """Wait until a condition holds, or for so many seconds; return whether it does."""
        with self._wake:
            return self._wake.wait_for(condition, timeout)

    def sigmas_at(self, perplexity: float) -> NDArray[np.float64]:
        """The bandwidths of another perplexity, while the map goes on.

        Each solution begins afresh: from the bandwidths of a near perplexity it would take three
        passes over the distances instead of two, as the start by regression is nearer.
        """
        from closeknit.affinities import solve_bandwidths

        if self.neighbors is None:
            raise ValueError("neighbours are still being searched; wait a little")
        k = neighbors_for(perplexity, self.neighbors.n_neighbors)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CloseknitWarning)
            rows = np.ascontiguousarray(self.neighbors.sq_distances[:, :k])
            options: dict[str, Any] = {"allow_missing": True, "n_jobs": self.n_jobs}
            return solve_bandwidths(rows, perplexity, **options).sigmas

    # What the thread does -----------------------------------------------------------------------

    def _tell(self) -> None:
        with self._wake:
            self._wake.notify_all()
        for listener in list(self.listeners):
            listener()

    def _is_due(self) -> bool:
        """Whether the minimisation must end because something has changed."""
        return self._stopped or self._moved or self.parameters != self._built

    def _work(self) -> None:
        failed = False
        try:
            with listening(self._hear), warnings.catch_warnings():
                warnings.simplefilter("ignore", CloseknitWarning)
                if self.neighbors is None:
                    self._search()
                while True:
                    if self.parameters != self._built:
                        self._build()
                    self._say("settled" if self.settled else "paused")
                    with self._wake:
                        self._wake.wait_for(lambda: self._is_due() or self.playing or self._steps)
                        if self._stopped:
                            return
                        self._moved = False
                    if self.parameters == self._built and (self.playing or self._steps):
                        self._minimize()
        except _StoppedError:
            pass
        except Exception as error:
            failed = True
            self.error = f"{type(error).__name__}: {error}"
            self._say("failed")
        finally:
            with self._wake:
                self._thread = None
                self._wake.notify_all()
                wanted = not (self._stopped or failed)  # again, since it was told to end
            if wanted:
                self.start()

    def _hear(self, event: Event) -> None:
        """Progress of a search; the only place where it can be ended."""
        if self._stopped:
            raise _StoppedError
        if event.total and event.stage != "optimisation":
            self._say("searching for neighbours", event.done / event.total)

    def _say(self, stage: str, progress: float = 0.0) -> None:
        self.stage, self.progress = stage, progress
        self._tell()

    def _search(self) -> None:
        self._say("searching for neighbours")
        self.neighbors = find_neighbors(
            self.X,
            self.n_neighbors,
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def options(self, parameters: Parameters) -> dict[str, Any]:
        """What the estimator of the parameters takes besides them."""
        assert self.neighbors is not None
        return {
            "n_neighbors": neighbors_for(parameters.perplexity, self.neighbors.n_neighbors),
            "metric": self.metric,
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }

    def _build(self) -> None:
        """From the parameters to the graph and what is minimised on it."""
        self._say("building the graph")
        wanted, before = self.parameters, self._built
        estimator = wanted.estimator(neighbors=self.neighbors, **self.options(wanted))
        same = before is not None and before.perplexity == wanted.perplexity
        if not same or self.affinities is None:
            self.graph, fitted = affinity_graph(self.X, estimator)
            self.affinities, self.sigmas = fitted.affinities_, fitted.sigmas_
        self.training = estimator.training(self.graph, self.X)
        self._kept, self._fresh = MapSettled(self.graph), True
        objective, stop = self.training.objective, self.training.stop
        # H(P) takes a pass over the graph, which the rule for stopping has made already.
        known = stop.floor if isinstance(stop, MapSettled) else 0.0
        self._entropy = known or getattr(objective, "entropy", np.nan)
        self._built = wanted
        self._scale = 1.0
        if not self._continues:
            if not self.trail:
                self.positions = self._initial()
                self._publish(Frame(0, self.positions.astype(np.float32)))
        elif before is not None and before.model != wanted.model:
            self._scale = self._fitting_scale()

    def _initial(self) -> NDArray[np.float64]:
        """Where embeddings start, computed once."""
        if self._start is None:
            options = (2, self.random_state, self.metric)
            self._start = initial_embedding("auto", self.X, self.graph, *options)
        return self._start

    def _fitting_scale(self) -> float:
        """Factor at which the current map suits the model best: their maps differ in width."""
        assert self.training is not None
        objective = self.training.objective
        if self.parameters.model == "ee":  # its λ is yet to be found, by the same kernel
            options: dict[str, Any] = {"repulsion": objective.repulsion, "n_jobs": self.n_jobs}
            objective = SymmetricSNE(self.graph, check=False, **options)
        values = [objective.value(scale * self.positions, 1.0) for scale in _SCALES]
        return float(_SCALES[int(np.nanargmin(values))])

    def _minimize(self) -> None:
        """Run one leg, until the map has settled or something is due."""
        training, restarted = self.training, not self._continues
        assert training is not None
        built = self.parameters
        stages = training.schedule.stages if restarted else training.schedule.stages[-1:]
        stages = tuple(map(self._with_factor, stages))
        stop = training.stop
        if self._endless:
            stop = Convergence(0.0)
            stages = (*stages[:-1], replace(stages[-1], max_iter=_ENDLESS))
        at_once = (
            self._fresh and not restarted and built.model == "tsne" and len(self.positions) > MANY
        )
        self._fresh = False
        if at_once:
            stop, stages = Convergence(0.0), (replace(stages[-1], max_iter=_AT_ONCE),)
            training = replace(training, direction=Momentum(n_jobs=self.n_jobs))
        start = self._initial() if restarted else self._scale * self.positions
        scale, self._scale = 1.0 if restarted else self._scale, 1.0
        if restarted:
            self.trail, self.history = [], []
            self.frame = replace(self.frame, iteration=0)
        self._continues = True
        done: list[list[float]] = []
        before = self.frame.iteration
        self._say("running")
        path = replace(training, schedule=Schedule(stages), stop=stop).run(
            start, callback=lambda state: self._after(state, before, done)
        )
        if done:
            legs = tuple((float(lam), int(count)) for lam, count in done)
            self.trail.append(Leg(built, legs[-1][0], legs, scale, restarted, at_once))
        if path.stopped_because is not StopReason.CALLBACK and not (self._endless or at_once):
            self._publish(replace(self.frame, kept=self._measure(self.positions, True)))
            with self._wake:
                self.playing, self.settled = False, True

    def _with_factor(self, stage: Stage) -> Stage:
        """The stage with its λ multiplied, where λ is found from the map."""
        find, factor = stage.lam, self.parameters.lam
        if not callable(find):
            return stage
        return replace(stage, lam=lambda X: factor * find(X))

    def _after(self, state: State, before: int, done: list[list[float]]) -> bool:
        """After every iteration: show the map, and see what the user wants."""
        if len(done) <= state.stage:
            done.append([float(state.lam or 0.0), 0])
        done[state.stage][1] += 1
        with self._wake:
            if not self._moved:
                self.positions = np.array(state.X)
        kept = self._measure(self.positions)
        numbers: dict[str, Any] = {"objective": state.value, "lam": state.lam, "kept": kept}
        numbers["divergence"] = self._divergence(state)
        positions = self.positions.astype(np.float32)
        self._publish(Frame(0, positions, before + state.iteration, **numbers))
        with self._wake:
            self._steps = max(0, self._steps - 1)
            if not (self.playing or self._steps or self._is_due()):
                self.stage = "paused"
        if self.stage == "paused":
            self._tell()
            with self._wake:
                self._wake.wait_for(lambda: self.playing or self._steps or self._is_due())
                self.stage = "running"
            self._tell()
        return self._is_due()

    def _divergence(self, state: State) -> float | None:
        """KL(P‖Q), whatever the λ; None for models that are no divergence."""
        value = state.parts[0] + state.parts[1] - self._entropy
        return float(value) if np.isfinite(value) else None

    def _measure(self, X: NDArray[np.float64], anyway: bool = False) -> float | None:
        """The share of neighbours kept, or what it was if that was measured a moment ago."""
        now, (last, cost) = time.perf_counter(), self._measured
        if not anyway and now - last < max(_PAUSE, _COST * cost):
            return self.frame.kept
        assert self._kept is not None
        share = self._kept.neighbors_kept(X)
        self._measured = time.perf_counter(), time.perf_counter() - now
        return float(share)

    def _publish(self, frame: Frame) -> None:
        with self._wake:
            if self._moved and frame.iteration:
                return
            self.frame = replace(frame, number=self.frame.number + 1)
            if frame.iteration:
                if self.history and self.history[-1][0] == frame.iteration:
                    self.history.pop()
                self.history.append((frame.iteration, frame.divergence, frame.kept))
        self._tell()
