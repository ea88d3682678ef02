"""Figure 5: β for every pixel of a photograph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.affinities import Bandwidths
from closeknit.experiments.affinities.steps import PICTURE
from closeknit.experiments.data import Points
from closeknit.experiments.drawing import new_figure
from closeknit.experiments.report import Section, claim
from closeknit.plotting import plot_sigmas


def measures(points: Points, betas: Array) -> dict[str, float]:
    """Rank correlations of β: between pixels side by side, with lightness, and with edges."""
    from scipy.ndimage import sobel
    from scipy.stats import spearmanr

    assert points.image is not None
    shape = points.image.shape[:2]
    light, beta = points.X[:, 2].reshape(shape), betas.reshape(shape)
    edges = np.hypot(sobel(light, axis=0), sobel(light, axis=1))

    def correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
        return float(spearmanr(a.ravel(), b.ravel()).statistic)

    return {
        "beside": correlation(beta[:, 1:], beta[:, :-1]),
        "lightness": correlation(beta, light),
        "edges": correlation(beta, edges),
    }


def figure_5(points: Points, solution: Bandwidths, perplexity: float) -> Section:
    """The photograph and the map of β."""
    assert points.image is not None
    figure, grid = new_figure(1, 2, width=3.9, height=3.3)
    grid[0, 0].imshow(points.image)
    grid[0, 0].set(xticks=[], yticks=[])
    shape = points.image.shape
    plot_sigmas(None, solution.sigmas, grid[0, 1], shape=shape, quantity="beta", norm="log")
    found = measures(points, solution.betas)
    text = (
        f"The {shape[0]} × {shape[1]} pixels of the photograph *{points.name}*, which stands in "
        f"for Lena, as (i, j, L, u, v), K = {perplexity:g}."
    )
    claims = {
        "β preserves much of the image, in particular edges.": "with the lightness's gradient: "
        f"{found['edges']:.3f}; β is small at edges",
        "β tends to change gradually from pixel to pixel.": "between pixels side by side: "
        f"{found['beside']:.3f}",
        "Small β correspond to dark regions, big ones to bright ones.": "with the lightness: "
        f"{found['lightness']:.3f}; dark or bright, even regions have large β",
    }
    verdicts = [
        claim(says, None, f"rank correlation {numbers}", PICTURE)
        for says, numbers in claims.items()
    ]
    return Section([text, "\n".join(verdicts)], figure)
