"""Large arrays are made in memory of those that are gone, and never of those that are in use."""

import threading

import numpy as np
import pytest

from closeknit._memory import Recycler, empty, recycling

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
