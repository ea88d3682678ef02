"""Bars on stderr that say how far each stage is and how long it may still take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console, ConsoleDimensions
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
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
    console = _Console(stderr=True)
    options: dict[str, Any] = {"disable": not visible, "transient": transient}
    display = Progress(*_columns(console.width), console=console, **options)
    # Rich before version 14 ends even a display that is disabled with an empty line.
    with display if visible else nullcontext():
        stages = Stages(display)
        with listening(stages.show):
            yield stages
        stages.close()


class _Console(Console):
    """One that leaves room for the ^C of a terminal, which would break the last line in two."""

    @property
    def size(self) -> ConsoleDimensions:
        width, height = super().size
        return ConsoleDimensions(max(1, width - 3), height)

    @size.setter
    def size(self, new: tuple[int, int]) -> None:
        self._width, self._height = new


def _columns(width: int) -> list[ProgressColumn]:
    """What fits into a line: the bar shrinks first, then the objective goes, then the time left."""
    name, left, detail = 18, 29, 28
    rest = width - name - left - 2
    is_detailed, has_left = rest >= detail + 8, rest >= 4
    rest += (0 if has_left else left - 9) - (detail if is_detailed else 0)
    columns = [
        TextColumn(f"{{task.description:<{name}}}"),
        BarColumn(bar_width=min(30, max(4, rest))),
        _Time(has_left),
    ]
    return columns + [TextColumn("[dim]{task.fields[detail]}")] * is_detailed


class _Time(ProgressColumn):
    """Seconds passed, and those left: about, or at most where convergence may end the stage."""

    max_refresh = 0.5

    def __init__(self, has_left: bool) -> None:
        super().__init__(Column(no_wrap=True))
        self._has_left = has_left

    def render(self, task: Task) -> Text:
        passed = f"{task.finished_time or task.elapsed or 0.0:6.1f} s"
        left = task.time_remaining
        if task.finished or not left or not self._has_left:
            return Text(passed)
        bound = "at most" if task.fields["upper"] else "about"
        return Text(f"{passed}, {bound} {left:.0f} s left")
