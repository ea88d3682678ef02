"""Rows in another order, and gradients of two forces, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from closeknit import _core


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (50, 2), (20_000, 3), (0, 2)])
def test_rows_in_another_order(n, d, n_jobs):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(n + 7, d)), rng.integers(n + 7, size=n)
    out = np.empty((n, d))
    _core.take_rows(X, rows, out, n_jobs)
    np.testing.assert_array_equal(out, X[rows])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (50, 2), (20_000, 3), (0, 2)])
@pytest.mark.parametrize("in_order", [True, False])
def test_gradient_of_two_forces(n, d, n_jobs, in_order):
    rng = np.random.default_rng(0)
    attractive, repulsive = rng.normal(size=(2, n, d))
    order = rng.permutation(n)
    out = np.empty((n, d))
    _core.join_forces(attractive, repulsive, 0.3, None if in_order else order, out, n_jobs)
    expected = 4.0 * (attractive + 0.3 * repulsive)
    # A processor may multiply and add in one rounding.
    np.testing.assert_allclose(
        out, expected if in_order else expected[order], rtol=1e-13, atol=1e-14
    )
