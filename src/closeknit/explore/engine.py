"""The engine: parameters in, frames out, in a thread of its own.

::

    idle ──play, step──► graph of the parameters ──► minimisation ──settled──► idle
                              ▲                          │
                              └── new parameters, restart, other positions ──┘

Neighbours are searched once, for the largest perplexity. New parameters cost a solution of the
bandwidths and a new graph; the minimisation goes on from where the map is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._memory import Recycler, recycling
from closeknit.explore.building import Builder, Model, first_look, neighbors_for
from closeknit.explore.frames import Frame
from closeknit.explore.parameters import Parameters
from closeknit.explore.phase import Phase, training_of, without_factor
from closeknit.explore.worker import Worker
from closeknit.minimize import State, StopReason
from closeknit.neighbors import Neighbors
from closeknit.progress import listening
from closeknit.quality import neighbor_recall

__all__ = ["Engine"]

#: Seconds between two measurements of the neighbours kept, at least, and in units of their cost;
#: and on how many points at most.
_PAUSE, _COST, _SAMPLE = 0.15, 20.0, 2000
#: Points from which on a factor of the graph takes longer than a user should wait: a map that goes
#: on begins without one.
MANY = 20_000
#: Points from which on graphs are so large that there is only one at a time.
VERY_MANY = 200_000


class Engine(Worker):
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
    phases : list of Phase
        Those in which the current map was made.

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
        super().__init__()
        options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
        n_neighbors = neighbors_for(max_perplexity, X.shape[0] - 1)
        self.builder = Builder(X, n_neighbors, neighbors, metric=metric, **options)
        self.model: Model | None = None
        self.parameters, self.max_perplexity = parameters, max_perplexity
        self.playing, self.settled = False, False
        self.phases: list[Phase] = []
        self.history: list[tuple[int, float | None, float | None]] = []
        self._memory = Recycler()  # graph after graph is made
        self._steps = 0
        self._continues = positions is not None
        self._moved = False  # whether the positions were replaced from outside
        self._endless = False
        self._measured = (0.0, 0.0)  # when the neighbours kept were measured, and for how long
        self._fresh = False  # whether nothing was minimised yet on the graph
        self._scale = 1.0  # by which the next phase multiplies the map
        first = positions if positions is not None else first_look(X)
        self.positions = np.array(first, dtype=np.float64, order="C")
        self.frame = Frame(1, self.positions.astype(np.float32))

    @property
    def neighbors(self) -> Neighbors | None:
        """Of each point, for the largest perplexity; None until they are found."""
        return self.builder.neighbors

    @property
    def sigmas(self) -> NDArray[np.float64] | None:
        """The bandwidths, None before the first graph."""
        return None if self.model is None else self.model.sigmas

    # Requests ----------------------------------------------------------------------------------

    def play(self) -> None:
        """Optimise until the map has settled; once more, until `pause`."""
        with self._wake:
            self._endless, self.settled, self.playing = self.settled, False, True
        self._notify()

    def pause(self) -> None:
        """Hold the map where it is."""
        with self._wake:
            self.playing, self.settled, self._steps = False, False, 0
        self._notify()

    def step(self, count: int = 1) -> None:
        """Do `count` iterations, and pause."""
        with self._wake:
            self.playing, self._steps, self._endless = False, count, True
        self._notify()

    def restart(self) -> None:
        """Begin again at the start."""
        with self._wake:
            self._continues, self._moved, self.settled, self.playing = False, True, False, True
        self._notify()

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
            self.playing = self.playing or self.settled  # a settled map follows, a paused one waits
            self.parameters, self.settled, self._endless = parameters, False, False
        self._notify()

    def move_to(self, positions: NDArray[Any], phases: list[Phase], frame: Frame) -> None:
        """Continue from another map; `frame` holds its iteration and measures."""
        with self._wake:
            self.positions = np.array(positions, dtype=np.float64, order="C")
            self.phases, self.settled = list(phases), False
            self._continues, self._moved = True, True
            number = self.frame.number + 1
            self.frame = replace(frame, number=number, positions=self.positions.astype(np.float32))
        self._notify()

    # Run by the thread --------------------------------------------------------------------------

    def _must_end(self) -> bool:
        """Whether the minimisation must end because something has changed."""
        return self._stopped or self._moved or self.parameters != self._built

    def _work(self) -> None:
        with recycling(self._memory):
            if self.neighbors is None:
                self._set_stage("searching for neighbours")
                self.builder.search()
            while True:
                while self.parameters != self._built and not self._stopped:
                    self._build()
                self._set_stage("settled" if self.settled else "paused")
                with self._wake:
                    self._wake.wait_for(lambda: self._must_end() or self.playing or self._steps)
                    if self._stopped:
                        return
                    self._moved = False
                if self.parameters == self._built and (self.playing or self._steps):
                    self._minimize()

    @property
    def _built(self) -> Parameters | None:
        return None if self.model is None else self.model.parameters

    def _build(self) -> None:
        """Make the model of the parameters, unless these change meanwhile."""
        self._set_stage("building the graph")
        wanted, last, built = self.parameters, self.model, self._built
        before = self.phases[-1].parameters if self.phases else built  # whose the map is
        if len(self.positions) > VERY_MANY and built and built.perplexity != wanted.perplexity:
            last = self.model = None  # and its memory is that of the next
        model = self._run_unless(
            lambda: self.parameters != wanted, lambda: self.builder.build(wanted, last)
        )
        if model is None:
            return
        self.model, self._fresh, self._scale = model, True, 1.0
        if built is None and len(self.positions) <= VERY_MANY:
            self._memory.reserve(model.sizes)  # the next is made while this one is still in use
        if not self._continues:
            if not self.phases:
                self.positions = self.builder.start(model.graph)
                self._publish(Frame(0, self.positions.astype(np.float32)))
        elif before is not None and before.model != wanted.model:
            self._scale = model.fitting_scale(self.positions, self.builder.n_jobs)

    def _minimize(self) -> None:
        """Run one phase, until the map has settled or something has changed."""
        assert self.model is not None
        model, restarted = self.model, not self._continues
        built, many = model.parameters, len(self.positions) > MANY
        plain_momentum = self._fresh and not restarted and built.model == "tsne" and many
        training = training_of(model.training, built.lam, restarted, self._endless)
        if plain_momentum:
            training = without_factor(training, self.builder.n_jobs)
        start = self.builder.start(model.graph) if restarted else self._scale * self.positions
        scale = 1.0 if restarted else self._scale
        if restarted:
            self.phases, self.history = [], []
            self.frame = replace(self.frame, iteration=0)
        done: list[list[float]] = []
        before = self.frame.iteration
        self._measured = time.perf_counter(), self._measured[1]  # the first frames come first
        self._set_stage("running")
        path = self._run_unless(
            self._must_end,
            lambda: training.run(start, callback=lambda state: self._after(state, before, done)),
        )
        if done:
            stages = tuple((float(lam), int(count)) for lam, count in done)
            lam = stages[-1][0]
            self.phases.append(Phase(built, lam, stages, scale, restarted, plain_momentum))
        ended = path is not None and path.stopped_because is not StopReason.CALLBACK
        if ended and not (self._endless or plain_momentum):
            self._publish(replace(self.frame, kept=self._measure(self.positions, force=True)))
            with self._wake:
                self.playing, self.settled = False, True

    def _after(self, state: State, before: int, done: list[list[float]]) -> bool:
        """Show the map after an iteration, pause if asked to, and return whether to end."""
        if len(done) <= state.stage:
            done.append([float(state.lam or 0.0), 0])
        done[state.stage][1] += 1
        with self._wake:
            # Before the map is shown, so that steps asked for after that are all done.
            self._steps = max(0, self._steps - 1)
            if not self._moved:
                self.positions = np.array(state.X)
                self._continues, self._fresh, self._scale = True, False, 1.0
        kept = self._measure(self.positions)
        numbers: dict[str, Any] = {"objective": state.value, "lam": state.lam, "kept": kept}
        numbers["divergence"] = self.model.divergence(*state.parts) if self.model else None
        positions = self.positions.astype(np.float32)
        self._publish(Frame(0, positions, before + state.iteration, **numbers))
        with self._wake:
            if not (self.playing or self._steps or self._must_end()):
                self.stage = "paused"
        if self.stage == "paused":
            self._notify()
            with self._wake:
                self._wake.wait_for(lambda: self.playing or self._steps or self._must_end())
                self.stage = "running"
            self._notify()
        return self._must_end()

    def _measure(self, X: NDArray[np.float64], force: bool = False) -> float | None:
        """Measure the share of neighbours kept, unless that was done a moment ago."""
        now, (last, cost) = time.perf_counter(), self._measured
        if not force and now - last < max(_PAUSE, _COST * cost):
            return self.frame.kept
        assert self.neighbors is not None
        k, n_jobs = min(15, self.neighbors.n_neighbors), self.builder.n_jobs
        with listening(None):  # the search inside is not a stage of its own
            share = neighbor_recall(self.neighbors, X, k, sample=_SAMPLE, n_jobs=n_jobs)
        self._measured = time.perf_counter(), time.perf_counter() - now
        return share

    def _publish(self, frame: Frame) -> None:
        with self._wake:
            if self._moved and frame.iteration:
                return
            self.frame = replace(frame, number=self.frame.number + 1)
            if frame.iteration:
                if self.history and self.history[-1][0] == frame.iteration:
                    self.history.pop()
                self.history.append((frame.iteration, frame.divergence, frame.kept))
        self._notify()
