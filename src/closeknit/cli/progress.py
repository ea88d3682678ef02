"""Bars on stderr that say how far each stage is and how long it may still take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from closeknit.progress import Event, listening

__all__ = ["Stages", "showing_stages"]

T = TypeVar("T")

#: What the library calls its stages, in words.
_NAMES = {
    "start": "starting positions",
}


class Stages:
    """The stages of a command's work; without a display it does nothing.

    Parameters
    ----------
    display : rich.progress.Progress or None

    Attributes
    ----------
    current : str
        The stage that has begun last.

    Examples
    --------
    >>> stages = Stages(None)
    >>> stages.begin("clusters")
    >>> stages.current
    'clusters'
    >>> list(stages.each("new points", [1, 2]))
    [1, 2]
    """

    def __init__(self, display: Progress | None) -> None:
        self._display = display
        self._tasks: dict[str, TaskID] = {}
        self.current = "reading"

    def begin(self, stage: str, total: int = 0, **fields: Any) -> None:
        """Begin a stage; those before it are over. A total of 0 is not known."""
        if stage == self.current and stage in self._tasks:
            return
        self._end()
        self.current = stage
        if self._display is not None:
            name = _NAMES.get(stage, stage)
            fields = {"upper": False, "detail": "", **fields}
            self._tasks[stage] = self._display.add_task(name, total=total or None, **fields)

    def hear(self, event: Event) -> None:
        """Draw what the library reports."""
        self.begin(event.stage, event.total)
        if self._display is not None and event.total:
            # A search may go over the points more than once.
            task = self._tasks[event.stage]
            self._display.update(task, completed=event.done, total=event.total)

    def each(self, stage: str, items: Sequence[T]) -> Iterator[T]:
        """Yield the items of a stage, one after the other."""
        for done, item in enumerate(items):
            self.hear(Event(stage, done, len(items)))
            yield item
        self.hear(Event(stage, len(items), len(items)))

    def iterations(self, max_iter: int) -> Any:
        """Return a callback for an estimator that minimises; it never asks it to stop."""
        counted = 0

        def show(state: Any) -> None:
            nonlocal counted
            self.begin("optimisation", max_iter, upper=True)
            counted += 1
            if self._display is not None:
                lam = "" if state.lam is None else f"λ {state.lam:.3g}, "
                self._display.update(
                    self._tasks["optimisation"],
                    completed=counted,
                    total=max(max_iter, counted),
                    detail=f"{lam}objective {state.value:.5g}",
                )

        return show

    def _end(self) -> None:
        if self._display is not None and self.current in self._tasks:
            task = self._tasks[self.current]
            done = max(1.0, next(t.completed for t in self._display.tasks if t.id == task))
            self._display.update(task, completed=done, total=done)
            self._display.stop_task(task)

    def close(self) -> None:
        """End the last stage."""
        self._end()


@contextmanager
def showing_stages(visible: bool) -> Iterator[Stages]:
    """Show the stages of what is done inside the block.

    Parameters
    ----------
    visible : bool
        False shows nothing, as when stderr is not a terminal.

    Yields
    ------
    Stages
    """
    if not visible:
        stages = Stages(None)
        with listening(stages.hear):
            yield stages
        return
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(bar_width=30),
        _Time(),
        TextColumn("[dim]{task.fields[detail]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        stages = Stages(display)
        with listening(stages.hear):
            yield stages
        stages.close()


class _Time(ProgressColumn):
    """Seconds passed, and those left: about, or at most where convergence may end the stage."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        passed = f"{task.finished_time or task.elapsed or 0.0:6.1f} s"
        left = task.time_remaining
        if task.finished or not left:
            return Text(passed)
        how = "at most" if task.fields["upper"] else "about"
        return Text(f"{passed}, {how} {left:.0f} s left")
