"""Recycled memory for large arrays, and free memory returned to the system.

The system hands out new memory page by page, empty and at the first touch. For arrays of tens of
megabytes that takes as long as filling them, and on virtual machines several times as long. Code
that makes such arrays again and again keeps a :class:`Recycler` and runs inside :func:`recycling`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from closeknit import _core

#: Bytes from which on arrays are worth recycling.
_LARGE = 2**22
#: Room that a new piece of memory has to spare, so that the next array may be a little larger.
_SPARE = 1.25

_current: ContextVar[Recycler | None] = ContextVar("closeknit_recycler", default=None)


class Recycler:
    """Keeps the memory of arrays that are no longer referenced, for new ones.

    Examples
    --------
    >>> recycler = Recycler()
    >>> with recycling(recycler):
    ...     place = empty(10**6, np.float64).ctypes.data
    ...     empty(10**6, np.float64).ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []

    def empty(self, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array whose memory is recycled once it and all its views are gone."""
        memory = self._take(size * dtype.itemsize)
        # Views of this array refer to it, not to what it refers to, which is no array.
        array = np.frombuffer(memory.data, dtype, size)
        weakref.finalize(array, self._free.append, memory).atexit = False
        return array

    def reserve(self, sizes: list[int]) -> None:
        """Allocate pieces of these sizes, in bytes; that takes as long as filling them."""
        for size in sizes:
            if size >= _LARGE:
                self._free.append(np.full(int(_SPARE * size), 0, np.uint8))

    def _take(self, n_bytes: int) -> NDArray[np.uint8]:
        """Return the smallest piece that is large enough; a new one takes the place of another."""
        # Taken out first: the pieces come back in whatever thread an array ends.
        pieces = [self._free.pop() for _ in range(len(self._free))]
        pieces.sort(key=len)
        found = next((i for i, piece in enumerate(pieces) if len(piece) >= n_bytes), None)
        if found is not None:
            memory = pieces.pop(found)
        else:
            del pieces[-1:]
            memory = np.empty(int(_SPARE * n_bytes), np.uint8)
        self._free.extend(pieces)
        return memory


@contextmanager
def recycling(recycler: Recycler) -> Iterator[None]:
    """Let :func:`empty` use a recycler inside the block, in this thread."""
    token = _current.set(recycler)
    try:
        yield
    finally:
        _current.reset(token)


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array; a large one uses recycled memory.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype

    Returns
    -------
    ndarray
    """
    recycler, kind = _current.get(), np.dtype(dtype)
    size = math.prod(shape) if isinstance(shape, tuple) else int(shape)
    if recycler is None or size * kind.itemsize < _LARGE:
        return np.empty(shape, kind)
    return recycler.empty(size, kind).reshape(shape)


def trim() -> None:
    """Return memory that is free, but kept for later, to the system; only glibc keeps much.

    It keeps arrays of up to 32 MB on its heap, where those still in use keep the pages of those
    that are gone from going back: over hundreds of iterations that becomes much of a process.
    """
    _core.trim_memory()
