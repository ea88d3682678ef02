"""Bars on stderr that say how far each stage is and how long it may still take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from closeknit.progress import Event, listening

#: What bars call those stages of the library that need more than their name.
_NAMES = {"start": "starting positions"}


class Stages:
    """The stages of a command's work as they are reported.

    Parameters
    ----------
    display : rich.progress.Progress

    Attributes
    ----------
    current : str
        The stage that has begun last.

    Examples
    --------
    >>> stages = Stages(Progress(disable=True))
    >>> stages.show(Event("clusters"))
    >>> stages.current
    'clusters'
    """

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._task: TaskID | None = None
        self.current = "reading"

    def show(self, event: Event) -> None:
        """Draw an event; another stage than before ends that one."""
        state, detail = event.state, ""
        if event.stage != self.current or self._task is None:
            self.close()
            self.current = event.stage
            # A minimisation may converge before its last iteration.
            self._task = self._display.add_task(
                _NAMES.get(event.stage, event.stage), total=None, upper=state is not None, detail=""
            )
        if event.total:
            if state is not None:
                lam = "" if state.lam is None else f"λ {state.lam:.3g}, "
                detail = f"{lam}objective {state.value:.5g}"
            # A search may go over the points more than once.
            total = max(event.done, event.total)
            self._display.update(self._task, completed=event.done, total=total, detail=detail)

    def close(self) -> None:
        """End the current stage."""
        if self._task is not None:
            done = max(1.0, self._display.tasks[self._task].completed)
            self._display.update(self._task, completed=done, total=done)
            self._display.stop_task(self._task)


@contextmanager
def showing_stages(visible: bool, transient: bool = False) -> Iterator[Stages]:
    """Show the stages of what is done inside the block.

    Parameters
    ----------
    visible : bool
        False shows nothing, as when stderr is not a terminal.
    transient : bool, default=False
        Whether nothing stays on the screen.

    Yields
    ------
    Stages
    """
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(bar_width=30),
        _Time(),
        TextColumn("[dim]{task.fields[detail]}"),
    )
    options: dict[str, Any] = {"disable": not visible, "transient": transient}
    display = Progress(*columns, console=Console(stderr=True), **options)
    # Rich before version 14 ends even a display that is disabled with an empty line.
    with display if visible else nullcontext():
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
