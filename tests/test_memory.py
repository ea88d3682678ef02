"""Large arrays are made in memory of those that are gone, and never of those that are in use."""

import os
import platform
import threading
from pathlib import Path

import numpy as np
import pytest

from closeknit._memory import Recycler, empty, recycling, trim

MANY = 2**20  # numbers of eight bytes: large enough to be recycled


def test_memory_is_used_again_once_every_view_is_gone():
    with recycling(Recycler()):
        first = empty((MANY, 2), np.float64)
        place, view = first.ctypes.data, first[1:, 0]
        del first
        second = empty((MANY, 2), np.float64)
        assert not np.shares_memory(second, view)
        del view
        assert empty((MANY, 2), np.float64).ctypes.data == place


def test_smaller_arrays_fit_larger_pieces_of_memory():
    with recycling(Recycler()):
        place = empty(2 * MANY, np.float64).ctypes.data
        array = empty(3 * MANY, np.int32)
        assert (array.ctypes.data, array.dtype, len(array)) == (place, np.int32, 3 * MANY)


def test_reserved_memory_is_taken_first():
    recycler = Recycler()
    recycler.reserve([8 * MANY, 8])
    (piece,) = recycler._free  # small ones are not worth it
    with recycling(recycler):
        assert empty(MANY, np.float64).ctypes.data == piece.ctypes.data


@pytest.mark.parametrize("shape", [5, (2, 3), MANY])
def test_outside_arrays_own_their_memory(shape):
    array = empty(shape, np.float32)
    assert (array.base, array.dtype) == (None, np.float32)


def test_other_threads_take_no_part():
    found = []
    with recycling(Recycler()):
        thread = threading.Thread(target=lambda: found.append(empty(MANY, np.float64)))
        thread.start()
        thread.join()
    assert found[0].base is None


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others return memory by themselves")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer has an allocator of its own")
def test_free_memory_between_used_pieces_goes_back_to_the_system():
    def in_use():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    size, count = 100_000, 2_000
    pieces = [np.ones(size, np.uint8) for _ in range(count)]
    for i in range(count):
        if i % 10:
            pieces[i] = None
    before = in_use()
    trim()
    assert in_use() < before - 0.5 * size * count
    assert all(piece is None or piece.all() for piece in pieces)
