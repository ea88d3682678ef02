"""Bars on stderr that say how far each stage is and how long it may still take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from closeknit.progress import Event, listening

__all__ = ["Stages", "showing_stages"]

#: What bars call those stages of the library that need more than their name.
_NAMES = {"start": "starting positions"}


class Stages:
    """The stages of a command's work as they are reported; without a display only their names.

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
    >>> stages.show(Event("clusters"))
    >>> stages.current
    'clusters'
    """

    def __init__(self, display: Progress | None) -> None:
        self._display = display
        self._tasks: dict[str, TaskID] = {}
        self.current = "reading"

    def show(self, event: Event) -> None:
        """Draw an event; another stage than before ends that one."""
        if event.stage != self.current or event.stage not in self._tasks:
            self.close()
            self.current = event.stage
            self._tasks.pop(event.stage, None)  # a stage that comes again has a bar of its own
        if self._display is None:
            return
        state = event.state
        if event.stage not in self._tasks:
            name = _NAMES.get(event.stage, event.stage)
            # A minimisation may converge before its last iteration.
            upper = state is not None
            self._tasks[event.stage] = self._display.add_task(
                name, total=None, upper=upper, detail=""
            )
        if event.total:
            detail = ""
            if state is not None:
                lam = "" if state.lam is None else f"λ {state.lam:.3g}, "
                detail = f"{lam}objective {state.value:.5g}"
            # A search may go over the points more than once.
            total = max(event.done, event.total)
            task = self._tasks[event.stage]
            self._display.update(task, completed=event.done, total=total, detail=detail)

    def close(self) -> None:
        """End the current stage."""
        if self._display is not None and self.current in self._tasks:
            task = self._tasks[self.current]
            done = max(1.0, next(t.completed for t in self._display.tasks if t.id == task))
            self._display.update(task, completed=done, total=done)
            self._display.stop_task(task)


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
        with listening(stages.show):
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
        with listening(stages.show):
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
