"""A session: the points, their map, what the user selected and named, and undo."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.explore.checks import check_images, largest_perplexity, refuse_gaps
from closeknit.explore.columns import Columns
from closeknit.explore.engine import Engine
from closeknit.explore.parameters import Parameters
from closeknit.explore.undo import Level, Pin, Snapshot, Undo
from closeknit.io import Table
from closeknit.neighbors import Neighbors, check_data, make_index

__all__ = ["Session"]

#: Fewest points that can be embedded on their own.
_FEWEST = 10
#: Seconds that a viewer who leaves waits for the end of an iteration; a search may take longer.
_PATIENCE = 0.5
#: The column in which selections are named.
_LABEL = "label"


class Session:
    """The state of one user's exploration, which knows nothing of pixels or connections.

    Parameters
    ----------
    table : Table
    parameters : Parameters or None, default=None
    images : ndarray of shape (n_samples, height, width) or (n_samples, height, width, 3), optional
        A thumbnail per point: bytes, or other numbers, of which the largest is white.
    max_perplexity : float or None, default=None
        The largest perplexity offered; None is 100, or 50 beyond 100,000 points, or as many as
        there are points for.
    metric : str, default="euclidean"
    neighbors : Neighbors or None, default=None
    positions : array of shape (n_samples, 2) or None, default=None
    reading : str, default="X = ...  # your data"
        Python statements that make the data, for the code that makes the map again.
    title : str, default=""
    n_jobs : int or None, default=-1
    random_state : int, default=0

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> session = Session(Table(load_iris().data, ("a", "b", "c", "d")))
    >>> session.state()["max_perplexity"], session.engine.builder.n_neighbors
    (49.0, 147)
    """

    def __init__(
        self,
        table: Table,
        *,
        parameters: Parameters | None = None,
        images: Any = None,
        max_perplexity: float | None = None,
        metric: str = "euclidean",
        neighbors: Neighbors | None = None,
        positions: NDArray[Any] | None = None,
        reading: str = "X = ...  # your data",
        title: str = "",
        n_jobs: int | None = -1,
        random_state: int = 0,
    ) -> None:
        refuse_gaps(table)
        make_index(metric)  # raises an error if it is unknown
        self.table = replace(table, X=check_data(table.X))
        n = table.n_samples
        if n < 4:
            raise ValueError(f"the explorer needs at least 4 points, got {n}")
        self.columns, self.images = Columns(self.table), check_images(images, n)
        self.reading, self.title = reading, title
        self.options: dict[str, Any] = {
            "metric": metric,
            "n_jobs": n_jobs,
            "random_state": random_state,
        }
        most = largest_perplexity(n, max_perplexity, neighbors)
        given = parameters or Parameters()
        given = replace(given, perplexity=min(given.perplexity, most))
        engine = Engine(
            self.table.X,
            given,
            max_perplexity=most,
            neighbors=neighbors,
            positions=positions,
            **self.options,
        )
        self.levels: tuple[Level, ...] = (Level(np.arange(n), engine),)
        self.selected = np.zeros(n, dtype=bool)
        self.pin: Pin | None = None
        self.lock = threading.RLock()
        self.listeners: list[Callable[[], object]] = []
        self._undo = Undo()
        self._dragging = False
        self._viewers = 0
        engine.listeners.append(self.notify)

    # State -------------------------------------------------------------------------------------

    @property
    def level(self) -> Level:
        """The points on the map."""
        return self.levels[-1]

    @property
    def engine(self) -> Engine:
        """The engine that optimises their map."""
        return self.level.engine

    @property
    def labels(self) -> NDArray[Any] | None:
        """The names that the user gave to selections, one per row of the data, or None."""
        return self.columns.added.get(self._label_name())

    def state(self) -> dict[str, Any]:
        """Everything but positions that a viewer shows, as JSON can hold it."""
        engine, pin = self.engine, self.pin
        undo, redo = self._undo.counts
        return {
            "title": self.title,
            "n_points": len(self.level.rows),
            "n_samples": self.table.n_samples,
            "depth": len(self.levels) - 1,
            "level": id(self.level) % 2**31,  # tells a viewer that these are other points
            "stage": engine.stage,
            "progress": round(engine.progress, 2),
            "error": engine.error,
            "playing": engine.playing,
            "settled": engine.settled,
            "parameters": asdict(engine.parameters),
            "max_perplexity": engine.max_perplexity,
            "metric": self.options["metric"],
            "columns": self.columns.names,
            "labels": len(self.columns.labels),
            "first": self.columns.first,
            "images": self.images is not None,
            "pinned": None if pin is None else asdict(pin.parameters),
            "undo": undo,
            "redo": redo,
            "selected": int(self.selected.sum()),
        }

    def notify(self) -> None:
        """Call all listeners: something has changed."""
        for listener in list(self.listeners):
            listener()

    # Viewers ----------------------------------------------------------------------------------

    def attach(self, listener: Callable[[], object]) -> None:
        """Add a viewer; the first one starts the engine."""
        with self.lock:
            self.listeners.append(listener)
            self._viewers += 1
            engine = self.engine
            if not engine.phases and not engine.settled and engine.frame.iteration == 0:
                engine.play()
            engine.start()

    def detach(self, listener: Callable[[], object]) -> None:
        """Remove a viewer; without any, the engine stops."""
        with self.lock:
            self.listeners.remove(listener)
            self._viewers -= 1
            if self._viewers == 0:
                self.engine.stop(_PATIENCE)

    def close(self, timeout: float | None = 1.0) -> None:
        """Stop the engine."""
        self.engine.stop(timeout)

    # Changes ----------------------------------------------------------------------------------

    def set(self, parameters: Parameters, *, done: bool = True) -> None:
        """Change parameters; a slider that is still moving is not `done`, and is undone at once."""
        with self.lock:
            if parameters != self.engine.parameters:
                if not self._dragging:
                    self._remember()
                self.engine.set(parameters)
            self._dragging = not done
        self.notify()

    def restart(self) -> None:
        """Begin again at the start, which undo takes back."""
        with self.lock:
            self._remember()
            self.engine.restart()

    def select(self, inside: NDArray[np.bool_]) -> None:
        """Select points on the map."""
        if inside.shape != (len(self.level.rows),):
            raise ValueError("the selection is of another map; select again")
        with self.lock:
            self.selected = inside
        self.notify()

    def name_selection(self, text: str) -> str:
        """Give the selected points a label, and return the column that holds it."""
        with self.lock:
            rows, name = self.level.rows[self.selected], self._label_name()
            if not len(rows):
                raise ValueError("nothing is selected; select points first, then name them")
            self._remember()
            known = self.columns.added.get(name)
            values = np.full(self.table.n_samples, "", object) if known is None else known.copy()
            values[rows] = text
            self.columns.added = {**self.columns.added, name: values}
        self.notify()
        return name

    def embed_selection(self) -> None:
        """Show the selected points alone, on a map of their own."""
        with self.lock:
            rows, before = self.level.rows[self.selected], self.engine
            if len(rows) < _FEWEST:
                raise ValueError(f"select at least {_FEWEST} points to embed them on their own")
            self._remember()
            most = largest_perplexity(len(rows), before.max_perplexity, None)
            parameters = replace(
                before.parameters, perplexity=min(before.parameters.perplexity, most)
            )
            X = self.table.X[rows]
            engine = Engine(X, parameters, max_perplexity=most, **self.options)
            engine.play()
            self._show((*self.levels, Level(rows, engine)))
            self.pin = None
        self.notify()

    def leave_selection(self) -> None:
        """Go back to the points from which those on the map were selected."""
        with self.lock:
            if len(self.levels) == 1:
                raise ValueError("all points are on the map already")
            self._remember()
            self._show(self.levels[:-1])
            self.pin = None
        self.notify()

    def pin_map(self, pinned: bool) -> None:
        """Keep a copy of the current map for comparison, or drop it."""
        with self.lock:
            self._remember()
            engine = self.engine
            self.pin = Pin(engine.frame.positions, engine.parameters) if pinned else None
        self.notify()

    def undo(self) -> None:
        """Undo the last change of parameters, labels, points or comparison."""
        self._restore(self._undo.undo)

    def redo(self) -> None:
        """Redo the last change that was undone."""
        self._restore(self._undo.redo)

    def _restore(self, take: Callable[[Snapshot], Snapshot]) -> None:
        with self.lock:
            now = self._snapshot()
            then = take(now)
            self._dragging = False
            if then.levels[-1] is not self.level:
                self._show(then.levels)
            self.levels = then.levels
            self.engine.set(then.parameters)
            if then.moves(now):  # a label is taken back without moving the map
                self.engine.move_to(then.positions, list(then.phases), then.frame)
            self.columns.added, self.pin = then.labels, then.pin
        self.notify()

    def _snapshot(self) -> Snapshot:
        return Snapshot.of(self.levels, self.columns.added, self.pin)

    def _remember(self) -> None:
        """Call before every change."""
        self._undo.remember(self._snapshot())

    def _show(self, levels: tuple[Level, ...]) -> None:
        before, after = self.engine, levels[-1].engine
        before.listeners.clear()
        before.stop(_PATIENCE)
        self.levels = levels
        self.selected = np.zeros(len(self.level.rows), dtype=bool)
        after.listeners[:] = [self.notify]
        if self._viewers:
            after.start()

    def _label_name(self) -> str:
        taken = self.table.labels.keys() | {*self.table.feature_names}
        return _LABEL if _LABEL not in taken else f"{_LABEL} (explorer)"
