"""What entropic affinities are good for besides pictures.

::

    SpectralClustering              graph → smoothest vectors → k-means
    LabelPropagation, LabelSpreading    graph + a few labels → all labels
    MeanShift                       points + bandwidths → modes of the density
    image_affinities, segment_image     the same, for the pixels of an image
"""

from closeknit.apps.cluster import SpectralClustering
from closeknit.apps.meanshift import MeanShift
from closeknit.apps.pixels import image_affinities, pixel_features
from closeknit.apps.propagate import LabelPropagation, LabelSpreading
from closeknit.apps.segment import segment_image

__all__ = [
    "LabelPropagation",
    "LabelSpreading",
    "MeanShift",
    "SpectralClustering",
    "image_affinities",
    "pixel_features",
    "segment_image",
]
