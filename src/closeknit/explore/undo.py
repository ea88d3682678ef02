"""Undo and redo: what a session was before each change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.explore.engine import Engine
from closeknit.explore.frames import Frame
from closeknit.explore.parameters import Parameters
from closeknit.explore.phase import Phase

__all__ = ["Level", "Pin", "Snapshot", "Undo"]

#: Bytes of maps that undo may hold, and the most changes.
_BYTES, _MOST = 2**28, 100


@dataclass(frozen=True, eq=False)
class Level:
    """All points, or a selection that is embedded on its own.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        The rows of the data that are on the map.
    engine : Engine
    """

    rows: NDArray[np.intp]
    engine: Engine


@dataclass(frozen=True, eq=False)
class Pin:
    """A map that is kept beside the moving one, for comparison."""

    positions: NDArray[np.float32]
    parameters: Parameters


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that undo brings back."""

    levels: tuple[Level, ...]
    parameters: Parameters
    positions: NDArray[np.float64]
    phases: tuple[Phase, ...]
    frame: Frame
    labels: dict[str, NDArray[Any]]
    pin: Pin | None

    @classmethod
    def of(
        cls, levels: tuple[Level, ...], labels: Mapping[str, NDArray[Any]], pin: Pin | None
    ) -> Snapshot:
        """Take a snapshot of the present."""
        engine = levels[-1].engine
        state = (engine.parameters, engine.positions, tuple(engine.phases), engine.frame)
        return cls(levels, *state, dict(labels), pin)

    def moves(self, now: Snapshot) -> bool:
        """Whether the map differs, not only labels or the pinned map."""
        if self.levels != now.levels or self.parameters != now.parameters:
            return True
        same = self.labels.keys() == now.labels.keys()
        same = same and all(self.labels[name] is now.labels[name] for name in self.labels)
        return same and self.pin is now.pin


class Undo:
    """Snapshots before the changes that were done, and before those that were undone."""

    def __init__(self) -> None:
        self._done: list[Snapshot] = []
        self._undone: list[Snapshot] = []

    @property
    def counts(self) -> tuple[int, int]:
        """How many changes can be undone, and how many redone."""
        return len(self._done), len(self._undone)

    def remember(self, now: Snapshot) -> None:
        """Store the snapshot before a change."""
        self._undone.clear()
        self._done.append(now)
        size = 2 * now.positions.nbytes
        del self._done[: -max(2, min(_MOST, _BYTES // size))]

    def undo(self, now: Snapshot) -> Snapshot:
        """Return the snapshot before the last change."""
        return _swap(self._done, self._undone, now)

    def redo(self, now: Snapshot) -> Snapshot:
        """Return the snapshot before the last undo."""
        return _swap(self._undone, self._done, now)


def _swap(source: list[Snapshot], target: list[Snapshot], now: Snapshot) -> Snapshot:
    if not source:
        raise ValueError("there is nothing to take back")
    target.append(now)
    return source.pop()
