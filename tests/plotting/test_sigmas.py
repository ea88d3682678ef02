"""Bandwidths as pictures: of points and pixels."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb

from closeknit.plotting import plot_sigmas
from closeknit.plotting._categories import MISSING

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def sigmas():
    return np.random.default_rng(0).uniform(1.0, 2.0, size=50)


def test_every_point_is_drawn_in_its_colour(ax, sigmas, render):
    coords = np.random.default_rng(1).normal(size=(50, 2))
    assert plot_sigmas(coords, sigmas, ax=ax) is ax
    (dots,) = ax.collections
    order = [coords.tolist().index(xy) for xy in dots.get_offsets().tolist()]
    assert sorted(order) == list(range(50))
    scaled = (sigmas - sigmas.min()) / np.ptp(sigmas)
    np.testing.assert_allclose(
        dots.get_facecolors()[:, :3], colormaps["viridis"](scaled)[order, :3], atol=0.01
    )
    _, bar = ax.figure.axes
    assert bar.get_ylabel() == "bandwidth σ"
    render(ax)


def test_many_points_are_shaded(ax, render):
    rng = np.random.default_rng(0)
    plot_sigmas(rng.normal(size=(50_000, 2)), rng.uniform(1, 2, 50_000), ax=ax)
    assert len(ax.images) == 1
    assert render(ax).min() < 0.9


@pytest.mark.parametrize("shape", [(5, 10), (5, 10, 3)])
@pytest.mark.parametrize("quantity", ["sigma", "beta"])
def test_pixels_are_rows_of_the_image(ax, sigmas, shape, quantity, render):
    """The first pixel is at the top left, as in the image; β = 1/(2σ²)."""
    plot_sigmas(None, sigmas, ax=ax, shape=shape, quantity=quantity)
    (image,) = ax.images
    expected = sigmas if quantity == "sigma" else 1.0 / (2.0 * sigmas**2)
    np.testing.assert_allclose(image.get_array(), expected.reshape(5, 10))
    assert image.origin == "upper"
    assert ("β" in ax.figure.axes[1].get_ylabel()) == (quantity == "beta")
    render(ax)


def test_points_without_a_bandwidth_are_grey(ax, render):
    plot_sigmas(None, [1.0, np.inf, 2.0, np.nan], ax=ax, shape=(2, 2))
    pixels = render(ax)
    for xy in ((1, 0), (1, 1)):
        column, height = ax.transData.transform(xy).astype(int)
        np.testing.assert_allclose(pixels[-height, column], to_rgb(MISSING), atol=0.01)
    ax.clear()
    plot_sigmas(np.eye(3)[:, :2], [1.0, 0.0, 2.0], ax=ax, quantity="beta")
    np.testing.assert_allclose(ax.collections[0].get_facecolors()[0, :3], to_rgb(MISSING))


@pytest.mark.parametrize(
    ("coords", "sigmas", "options", "message"),
    [
        (np.zeros((3, 3)), np.ones(3), {}, r"coords must have shape \(n_samples, 2\)"),
        (np.zeros((3, 2)), np.ones(4), {}, "one number for each of 3 points"),
        (None, np.ones(4), {}, "coords for points, or shape for pixels"),
        (np.zeros((4, 2)), np.ones(4), {"shape": (2, 2)}, "but not both"),
        (None, np.ones(4), {"shape": (2, 3)}, "has 6 pixels, but there are 4 sigmas"),
        (None, np.ones(4), {"shape": (4,)}, "pass the height and width"),
        (np.zeros((3, 2)), np.ones(3), {"quantity": "tau"}, "choose 'sigma' or 'beta'"),
    ],
)
def test_what_cannot_be_drawn_is_named(ax, coords, sigmas, options, message):
    with pytest.raises(ValueError, match=message):
        plot_sigmas(coords, sigmas, ax=ax, **options)
