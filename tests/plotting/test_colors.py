"""The palette, as readers with and without colour blindness see it."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from closeknit.plotting._categories import (
    DARK_MISSING,
    DARK_PALETTE,
    MISSING,
    PALETTE,
    category_colors,
)

# Machado, Oliveira and Fernandes (2009), severity 1, on linear red, green and blue.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


# CIE 1931 XYZ of linear sRGB, relative to its white, D65.
XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.9505], [1.0], [1.089]])


def lab(colors, sight):
    """CIELAB of colours as seen."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    x, y, z = (np.clip(linear @ SIGHT[sight].T, 0.0, 1.0) @ XYZ.T).T
    fx, fy, fz = (
        np.where(t > 216 / 24389, np.cbrt(t), (841 * t / 108 + 4 / 29)) for t in (x, y, z)
    )
    return np.column_stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def least_difference(colors, sight):
    values = lab(colors, sight)
    apart = np.linalg.norm(values[:, None] - values, axis=2)
    return apart[np.triu_indices(len(colors), 1)].min()


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("n_colors", "least"), [(8, 16.0), (20, 10.0)])
@pytest.mark.parametrize("palette", [(*PALETTE, MISSING), (*DARK_PALETTE, DARK_MISSING)])
def test_colours_can_be_distinguished(sight, n_colors, least, palette):
    """A difference of 2.3 in CIELAB is just noticeable."""
    colors = np.array([to_rgb(color) for color in (*palette[:n_colors], palette[-1])])
    assert least_difference(colors, sight) > least


@pytest.mark.parametrize(
    ("palette", "ground", "least"),
    [(PALETTE, "#FFFFFF", 1.75), (DARK_PALETTE, "#10161C", 3.0), ((DARK_MISSING,), "#10161C", 3.0)],
)
def test_colours_stand_out_from_the_ground(palette, ground, least):
    """Contrast as the WCAG defines it, with the explorer's grounds."""

    def luminance(color):
        rgb = np.array(to_rgb(color))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    behind = luminance(ground)
    for color in palette:
        light, dark = max(luminance(color), behind), min(luminance(color), behind)
        assert (light + 0.05) / (dark + 0.05) >= least, color


def test_colours_stand_out_from_white():
    lightness = lab(np.array([to_rgb(color) for color in PALETTE]), "normal")[:, 0]
    assert lightness.max() < 82
    assert lightness.min() > 15


@pytest.mark.parametrize("n_colors", [0, 1, 20, 21, 60, 61, 300])
def test_any_number_of_colours_all_different(n_colors):
    colors = category_colors([str(i) for i in range(n_colors)])
    assert colors.shape == (n_colors, 3)
    assert len(np.unique(colors.round(6), axis=0)) == n_colors
    assert ((colors >= 0.0) & (colors <= 1.0)).all()
    np.testing.assert_allclose(
        colors[:20], [to_rgb(color) for color in PALETTE[:n_colors]][:20] or np.empty((0, 3))
    )
