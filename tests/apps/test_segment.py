"""Pixels as points, and images in parts."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from skimage import color, data
from sklearn.metrics import adjusted_rand_score

import closeknit as ck
from closeknit.apps.pixels import pixel_features, to_luv, window_neighbors

ASTRONAUT = data.astronaut()[::12, ::12]


def two_parts() -> tuple[np.ndarray, np.ndarray]:
    """A red square with noise on a green ground, and which is which."""
    rng = np.random.default_rng(0)
    truth = np.zeros((26, 30), dtype=int)
    truth[6:18, 9:22] = 1
    colours = np.array([[0.1, 0.6, 0.2], [0.8, 0.1, 0.1]])[truth]
    return np.clip(colours + 0.04 * rng.normal(size=colours.shape), 0.0, 1.0), truth


# Colours


def test_luv_is_that_of_scikit_image():
    """Up to its rounded white point."""
    np.testing.assert_allclose(to_luv(ASTRONAUT), color.rgb2luv(ASTRONAUT), atol=0.05)


def test_luv_of_known_colours():
    """White, black and a grey lie on the axis; values of the primaries as published for D65."""
    greys = to_luv([[0.0, 0.5, 1.0]])
    np.testing.assert_allclose(greys[..., 0], [[0.0, 53.3890, 100.0]], atol=1e-3)
    np.testing.assert_allclose(greys[..., 1:], 0.0, atol=1e-10)
    primaries = to_luv(np.eye(3)[None])
    expected = [[53.23, 175.05, 37.75], [87.74, -83.08, 107.40], [32.30, -9.40, -130.36]]
    np.testing.assert_allclose(primaries[0], expected, atol=0.1)


def test_kinds_of_images_agree():
    image = ASTRONAUT[:6, :5]
    expected = to_luv(image)
    np.testing.assert_allclose(to_luv(image / 255.0), expected)
    np.testing.assert_allclose(to_luv(image.astype(np.uint16) * 257), expected)
    opaque = np.concatenate([image, np.full((6, 5, 1), 255, np.uint8)], axis=2)
    np.testing.assert_allclose(to_luv(opaque), expected)
    grey = image[..., 0]
    np.testing.assert_allclose(to_luv(grey), to_luv(np.stack([grey] * 3, axis=2)))


def test_features_are_place_and_colour():
    X = pixel_features(ASTRONAUT, spatial_weight=0.5)
    height, width = ASTRONAUT.shape[:2]
    i, j = np.divmod(np.arange(height * width), width)
    np.testing.assert_array_equal(X[:, :2], 0.5 * np.column_stack([i, j]))
    np.testing.assert_array_equal(X[:, 2:], to_luv(ASTRONAUT).reshape(-1, 3))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros(5), r"got \(5,\)"),
        (np.zeros((4, 4, 2)), r"got \(4, 4, 2\)"),
        (np.zeros((0, 4)), "has no pixels"),
        (np.full((4, 4), 200.0), "numbers from 0 to 1, got 200 to 200; divide"),
        (np.full((4, 4), np.nan), "numbers from 0 to 1"),
        (np.full((4, 4), 200), r"int64 does not say which number is white; .*astype\(np.uint8\)"),
        (Image.new("P", (4, 4)), r"numbers of a palette; use its convert\('RGB'\)"),
    ],
)
def test_wrong_images(image, message):
    with pytest.raises(ValueError, match=message):
        to_luv(image)


def test_a_path_is_no_image():
    with pytest.raises(TypeError, match=r"got the path 'photo\.png'; read it with"):
        to_luv("photo.png")


# Affinities


def test_affinities_are_those_of_the_features():
    W, sigma = ck.image_affinities(ASTRONAUT, perplexity=8)
    expected = ck.EntropicAffinities(8).fit(pixel_features(ASTRONAUT))
    np.testing.assert_array_equal(W.toarray(), expected.affinities_.toarray())
    np.testing.assert_array_equal(sigma.ravel(), expected.sigmas_)
    assert sigma.shape == ASTRONAUT.shape[:2]


def test_raster_order_gives_the_same_affinities():
    W, sigma = ck.image_affinities(ASTRONAUT, perplexity=8)
    W_raster, sigma_raster = ck.image_affinities(ASTRONAUT, perplexity=8, order="raster")
    np.testing.assert_allclose(W_raster.toarray(), W.toarray(), atol=1e-8)
    np.testing.assert_allclose(sigma_raster, sigma, rtol=1e-8)


def test_window_keeps_the_nearest_inside():
    X = pixel_features(ASTRONAUT)
    height, width = ASTRONAUT.shape[:2]
    found = window_neighbors(X, (height, width), radius=2)
    assert found.indices.shape == (height * width, 24)
    for pixel in (0, width - 1, 5 * width + 7, height * width - 1):
        i, j = divmod(pixel, width)
        inside = [
            a * width + b
            for a in range(max(0, i - 2), min(height, i + 3))
            for b in range(max(0, j - 2), min(width, j + 3))
            if (a, b) != (i, j)
        ]
        row = found.indices[pixel]
        assert set(row[row >= 0].tolist()) == set(inside)
        d = found.sq_distances[pixel]
        assert (d[:-1] <= d[1:]).all()
        np.testing.assert_allclose(d[row >= 0], ((X[row[row >= 0]] - X[pixel]) ** 2).sum(axis=1))


def test_affinities_in_a_window():
    """No affinity leaves the window, and every pixel has the perplexity."""
    W, sigma = ck.image_affinities(ASTRONAUT, perplexity=6, window=3)
    width = ASTRONAUT.shape[1]
    rows, columns = W.nonzero()
    assert (abs(rows // width - columns // width) <= 3).all()
    assert (abs(rows % width - columns % width) <= 3).all()
    P = W.toarray()
    entropy = -np.where(P > 0.0, P * np.log(np.where(P > 0.0, P, 1.0)), 0.0).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropy), 6.0, rtol=1e-8)
    assert np.isfinite(sigma).all()


def test_bandwidths_show_edges():
    """Figure 5: pixels at the border of two colours have fewer like them nearby."""
    image = np.zeros((20, 20))
    image[:, 10:] = 1.0
    _, sigma = ck.image_affinities(image, perplexity=12)
    assert (sigma[5:15, 9:11].mean(axis=0) > 1.1 * sigma[5:15, 4:6].mean()).all()


@pytest.mark.parametrize("window", [0, 1.5, True])
def test_wrong_window(window):
    with pytest.raises(ValueError, match=f"window={window!r} must be None or an integer"):
        ck.image_affinities(ASTRONAUT, perplexity=6, window=window)


def test_wrong_spatial_weight():
    with pytest.raises(ValueError, match="spatial_weight=-1"):
        ck.image_affinities(ASTRONAUT, spatial_weight=-1.0)


# Segments


@pytest.mark.parametrize("options", [{}, {"window": 4}, {"variant": "ncut"}, {"spatial_weight": 2}])
def test_spectral_segments(options):
    image, truth = two_parts()
    labels = ck.segment_image(image, 2, perplexity=15, random_state=0, **options)
    np.testing.assert_array_equal(labels, truth)


def test_mean_shift_segments():
    image, truth = (part[3:17, 5:21] for part in two_parts())
    labels = ck.segment_image(image, method="meanshift", perplexity=40, spatial_weight=0.2)
    assert labels.shape == truth.shape
    assert adjusted_rand_score(truth.ravel(), labels.ravel()) > 0.95


def test_segments_of_a_photograph_are_of_like_colour():
    """Six segments leave a third of the variance of colour, as k-means on colours alone might."""
    labels = ck.segment_image(ASTRONAUT, 6, perplexity=20, random_state=0)
    luv = to_luv(ASTRONAUT).reshape(-1, 3)
    total = ((luv - luv.mean(axis=0)) ** 2).sum()
    within = sum(
        ((luv[labels.ravel() == k] - luv[labels.ravel() == k].mean(axis=0)) ** 2).sum()
        for k in range(6)
    )
    assert labels.max() == 5
    assert within < 0.6 * total
    again = ck.segment_image(ASTRONAUT, 6, perplexity=20, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(labels, again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "pass n_segments"),
        ({"n_segments": 3, "method": "meanshift"}, "leave out n_segments"),
        ({"window": 3, "method": "meanshift"}, "leave out n_segments and window"),
        ({"n_segments": 3, "method": "slic"}, "unknown method 'slic'"),
        ({"n_segments": 0}, "n_clusters=0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        ck.segment_image(ASTRONAUT, perplexity=6, **options)
