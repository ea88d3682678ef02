"""Pictures of what the library computes, with Matplotlib (``pip install "closeknit[plot]"``).

Every function draws into the axes it is given, or into new ones, and returns them::

    plot_embedding(Y, labels)        points, coloured by label or value; shaded when there are many
    plot_blocks(Y, labels)           the same for Dask arrays, whose points are never in one place
    plot_sigmas(Y, sigmas)           bandwidths on the data, or pixel by pixel on an image
    plot_affinities(W, labels)       the matrix, however large, in blocks
    plot_entropy(sq_distances, K)    a point's perplexity against β, and the bounds of the root
    plot_history(estimators)         learning curves
    plot_path(estimator)             the objective along a homotopy, with maps
    plot_sparsity(curves)            any measure against sparsity, for several methods

The same colours and scales for figures of your own::

    PALETTE, category_colors(names)  twenty colours; one for each name; MISSING for none
    DARK_PALETTE, DARK_MISSING       the same for a dark ground
    categorize(labels, n_samples)    labels of any kind as numbered names
    curve_styles(n)                  colours and dashes of n curves
    resolve_scale(name, scale, x)    "linear" or "log" for "auto"
    families_for(texts)              fonts that can write them

Colours are safe for colour-blind readers, colour maps are perceptually uniform, and no setting of
Matplotlib is changed.
"""

from closeknit.plotting._axes import curve_styles, resolve_scale
from closeknit.plotting._categories import (
    DARK_MISSING,
    DARK_PALETTE,
    MISSING,
    PALETTE,
    categorize,
    category_colors,
)
from closeknit.plotting._fonts import families_for
from closeknit.plotting.affinities import plot_affinities
from closeknit.plotting.blocks import plot_blocks
from closeknit.plotting.embedding import plot_embedding
from closeknit.plotting.entropy import plot_entropy
from closeknit.plotting.history import plot_history
from closeknit.plotting.html import embedding_html
from closeknit.plotting.path import plot_path
from closeknit.plotting.sigmas import plot_sigmas
from closeknit.plotting.sparsity import plot_sparsity

__all__ = [
    "DARK_MISSING",
    "DARK_PALETTE",
    "MISSING",
    "PALETTE",
    "categorize",
    "category_colors",
    "curve_styles",
    "embedding_html",
    "families_for",
    "plot_affinities",
    "plot_blocks",
    "plot_embedding",
    "plot_entropy",
    "plot_history",
    "plot_path",
    "plot_sigmas",
    "plot_sparsity",
    "resolve_scale",
]
