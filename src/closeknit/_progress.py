"""How far long work has come, for whoever wants to know.

The library tells at the joints of its work; nobody listens unless the command line does. What
`verbose` prints is another matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["Listener", "listening", "tell", "telling"]

#: Called with a stage's name, the parts of it that are done, and their number, 0 if not known.
Listener = Callable[[str, int, int], None]

T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener` hear, inside the block, what is told on this thread.

    Parameters
    ----------
    listener : callable

    Examples
    --------
    >>> with listening(print):
    ...     tell("neighbours", 1, 4)
    neighbours 1 4
    >>> tell("neighbours", 2, 4)
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(stage: str, done: int = 0, total: int = 0) -> None:
    """Tell the listener, if there is one.

    Parameters
    ----------
    stage : str
    done, total : int, default=0
        Parts of the stage; a total of 0 is not known.
    """
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


def telling(stage: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items of a stage, telling before each how many are done.

    Parameters
    ----------
    stage : str
    items : sequence

    Examples
    --------
    >>> with listening(print):
    ...     list(telling("votes", "ab"))
    votes 0 2
    votes 1 2
    votes 2 2
    ['a', 'b']
    """
    for done, item in enumerate(items):
        tell(stage, done, len(items))
        yield item
    tell(stage, len(items), len(items))
