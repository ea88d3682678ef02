"""Figure 5: β for every pixel of a photograph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.experiments.data import Points
from closeknit.experiments.report import claim, new_figure
from closeknit.plotting import plot_sigmas

__all__ = ["describe", "draw", "measures"]


def draw(points: Points, sigmas: NDArray[np.float64]) -> Any:
    """The photograph and the map of β."""
    assert points.image is not None
    figure, grid = new_figure(1, 2, width=3.9, height=3.3)
    grid[0, 0].imshow(points.image)
    grid[0, 0].set(xticks=[], yticks=[])
    plot_sigmas(None, sigmas, grid[0, 1], shape=points.image.shape, quantity="beta", norm="log")
    return figure


def measures(points: Points, betas: NDArray[np.float64]) -> dict[str, float]:
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


def describe(points: Points, betas: NDArray[np.float64], perplexity: float) -> str:
    """Our numbers beside the paper's claims."""
    assert points.image is not None
    height, width = points.image.shape[:2]
    found = measures(points, betas)
    low, high = np.quantile(betas, [0.05, 0.95])
    return "\n\n".join(
        [
            f"The {height} × {width} pixels of the photograph *{points.name}* (the paper's is "
            f"Lena), as (i, j, L, u, v), K = {perplexity:g}. 90 % of the β lie between {low:.3g} "
            f"and {high:.3g}.",
            "\n".join(
                [
                    claim(
                        "β preserves much of the image, in particular edges.",
                        abs(found["edges"]) > 0.3,
                        "rank correlation with the gradient of the lightness: "
                        f"{found['edges']:.3f}; β is small at edges",
                    ),
                    claim(
                        "β tends to change gradually from pixel to pixel.",
                        found["beside"] > 0.7,
                        f"rank correlation of pixels side by side: {found['beside']:.3f}",
                    ),
                    claim(
                        "Small β correspond to dark regions, big ones to bright ones.",
                        found["lightness"] > 0.3,
                        f"rank correlation with the lightness: {found['lightness']:.3f}. What β "
                        "measures is density: dark or bright, even regions have large β",
                    ),
                ]
            ),
        ]
    )
