"""Applications of entropic affinities: clusters, labels, mean shift, segments.

::

    SpectralClustering                  graph → smoothest vectors → k-means
    LabelPropagation, LabelSpreading    graph + a few labels → all labels (label_classifier.py)
    MeanShift                           points + bandwidths → modes of the density
                                        (density.py, ascent.py, trajectories.py, mode_search.py)
    BlurringMeanShift                   all points move at once until they have come together
    image_affinities, segment_image     the same, for the pixels of an image (pixels.py)
"""

from closeknit.apps.blurring import BlurringMeanShift
from closeknit.apps.cluster import SpectralClustering
from closeknit.apps.label_propagation import LabelPropagation
from closeknit.apps.label_spreading import LabelSpreading
from closeknit.apps.meanshift import MeanShift
from closeknit.apps.pixels import image_affinities, pixel_features
from closeknit.apps.segment import segment_image

__all__ = [
    "BlurringMeanShift",
    "LabelPropagation",
    "LabelSpreading",
    "MeanShift",
    "SpectralClustering",
    "image_affinities",
    "pixel_features",
    "segment_image",
]
