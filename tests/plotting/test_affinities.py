"""The matrix of affinities: every weight is in the picture, however large the matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from closeknit.plotting import plot_affinities

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def W():
    rng = np.random.default_rng(0)
    return rng.uniform(size=(30, 30)) * (rng.uniform(size=(30, 30)) < 0.3)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_matrix, np.ndarray.tolist])
def test_a_small_matrix_is_drawn_entry_by_entry(ax, W, kind, render):
    assert plot_affinities(kind(W), ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array().filled(0.0), W)
    np.testing.assert_array_equal(np.ma.getmaskarray(image.get_array()), W == 0.0)
    assert ax.figure.axes[1].get_ylabel() == "affinity"
    render(ax)


@pytest.mark.parametrize(("height", "width", "pixels"), [(30, 30, 7), (30, 13, 13), (29, 30, 10)])
def test_a_large_matrix_is_drawn_in_blocks_by_their_means(ax, W, height, width, pixels):
    """Against a loop over the blocks, which differ in size by at most one row or column."""
    W = W[:height, :width]
    plot_affinities(W, ax=ax, max_pixels=pixels)
    drawn = ax.images[0].get_array().filled(0.0)
    rows, columns = (np.arange(n) * min(n, pixels) // n for n in W.shape)
    assert drawn.shape == (rows.max() + 1, columns.max() + 1)
    for i, j in np.ndindex(drawn.shape):
        assert drawn[i, j] == pytest.approx(W[np.ix_(rows == i, columns == j)].mean())
    assert np.ptp(np.bincount(rows)) <= 1
    assert ax.figure.axes[1].get_ylabel() == "mean affinity"


def test_labels_sort_points_and_are_named(ax, W, render):
    labels = np.array(list("cab"))[np.arange(30) % 3]
    plot_affinities(sp.csr_array(W), labels, ax=ax)
    order = np.argsort(labels, kind="stable")
    np.testing.assert_allclose(ax.images[0].get_array().filled(0.0), W[np.ix_(order, order)])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c"]
    np.testing.assert_allclose(ax.get_yticks(), [5.0, 15.0, 25.0])
    assert len(ax.lines) == 4
    render(ax)


def test_a_million_points_fit(ax, render):
    n = 1_000_000
    rng = np.random.default_rng(0)
    W = sp.coo_array((np.ones(n), (np.arange(n), rng.integers(0, n, n))), shape=(n, n))
    plot_affinities(W, ax=ax)
    blocks = ax.images[0].get_array().filled(0.0)
    assert blocks.shape == (300, 300)
    assert blocks.mean() * n * n == pytest.approx(n, rel=1e-3)
    render(ax)


def test_a_matrix_of_zeros_is_white(ax, render):
    plot_affinities(np.zeros((4, 4)), ax=ax)
    assert np.ma.getmaskarray(ax.images[0].get_array()).all()
    render(ax)


@pytest.mark.parametrize(
    ("W", "options", "message"),
    [
        (np.ones(3), {}, "must be a matrix"),
        (np.ones((0, 0)), {}, "W is empty"),
        ([[0.0, -1.0], [1.0, 0.0]], {}, r"W\[0, 1\] is -1.0; affinities must be non-negative"),
        ([[0.0, np.nan], [1.0, 0.0]], {}, r"W\[0, 1\] is nan"),
        (np.ones((2, 3)), {"labels": [0, 1]}, "labels sort rows and columns alike"),
        (np.ones((2, 2)), {"labels": [0]}, "pass one label for each point"),
        (np.ones((2, 2)), {"max_pixels": 0}, "max_pixels=0"),
    ],
)
def test_what_cannot_be_drawn_is_named(ax, W, options, message):
    with pytest.raises(ValueError, match=message):
        plot_affinities(W, ax=ax, **options)
