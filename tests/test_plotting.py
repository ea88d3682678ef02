"""Figures hold the data they were given and say how to get matplotlib."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from closeknit.plotting import plot_sigmas, plot_sigmas_by_class


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def sigmas():
    return np.random.default_rng(0).uniform(1.0, 2.0, size=50)


def test_plot_sigmas_draws_every_point_in_its_colour(ax, sigmas):
    coords = np.random.default_rng(1).normal(size=(50, 2))
    assert plot_sigmas(coords, sigmas, ax=ax) is ax
    (points,) = ax.collections
    np.testing.assert_array_equal(points.get_offsets(), coords)
    np.testing.assert_array_equal(points.get_array(), sigmas)
    assert len(ax.figure.axes) == 2  # the second is the colour bar


def test_plot_sigmas_by_class_keeps_columns_apart_and_marks_medians(ax, sigmas):
    labels = np.arange(50) % 4
    assert plot_sigmas_by_class(sigmas, labels, ax=ax) is ax
    points, _, bars = ax.collections
    x, y = points.get_offsets().T
    np.testing.assert_array_equal(np.round(x), labels)
    np.testing.assert_array_equal(y, sigmas)
    heights = [segment[0, 1] for segment in bars.get_segments()]
    assert heights == [np.median(sigmas[labels == label]) for label in range(4)]


@pytest.mark.parametrize(
    ("coords", "sigmas"), [(np.zeros((3, 3)), np.ones(3)), (np.zeros((3, 2)), np.ones(4))]
)
def test_wrong_shapes_are_refused(ax, coords, sigmas):
    with pytest.raises(ValueError, match="needs coords of shape"):
        plot_sigmas(coords, sigmas, ax=ax)
    with pytest.raises(ValueError, match="needs sigmas and labels of shape"):
        plot_sigmas_by_class(sigmas, coords, ax=ax)


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"closeknit\[plot\]"):
        plot_sigmas(np.zeros((3, 2)), np.ones(3))
