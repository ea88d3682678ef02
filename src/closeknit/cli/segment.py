"""``closeknit segment``: the segments of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import outputs as out
from closeknit.cli.cluster import WORK, Clustering, check_number, cluster_facts, cluster_options
from closeknit.cli.command import Fact, argument
from closeknit.cli.data import read_image
from closeknit.cli.errors import Interrupted
from closeknit.cli.memory import warn_if_large
from closeknit.cli.neighborhood import PerplexityCommand
from closeknit.progress import report

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Segment", "mean_colors"]


@dataclass(frozen=True, kw_only=True)
class Segment(PerplexityCommand):
    """Segment a picture: pixels that are close, in place and colour, stay together.

    Examples
    --------
    closeknit segment photo.jpg --segments 25

    closeknit segment photo.jpg -o segments.npy --method meanshift --perplexity 100
    """

    path: Path = argument("IMAGE", "PNG, JPEG, TIFF or BMP.")
    output: Path | None = out.output_file(
        "A picture with every segment in its mean colour (.png), or the number of each pixel's "
        "segment (.npy).",
        "IMAGE-segments.png",
    )
    segments: int | None = cluster_options("segments")[0]
    method: Clustering = cluster_options("segments")[1]

    def run(self) -> None:
        """See `Command`."""
        from closeknit.apps import segment_image

        check_number(self.method, self.segments, "--segments")
        K = self.single_perplexity("segment")
        target = self.output or out.name_after(self.path, "segments", ".png")
        out.check_outputs([self.path], [(target, (".png", ".npy"))])
        with self.stages():
            report("reading")
            image = read_image(self.path)
            height, width = image.shape[:2]
            warn_if_large(self, (height * width, 5), WORK[self.method], self.segments or 0)
            report("starting")
            labels = segment_image(
                image,
                n_segments=self.segments,
                method=self.method.value,
                perplexity=K,
                n_jobs=self.n_jobs,
                random_state=self.seed,
            )
            report("writing")
            _write(target, image, labels)
        facts = [
            Fact("input", "", self.path),
            Fact("method", "method", self.method),
            Fact("height", "height", height),
            Fact("width", "width", width),
            Fact("perplexity", "perplexity", K, "{:g}"),
            *cluster_facts(labels.ravel(), "segments"),
            self.seconds(),
        ]
        self.summarize(f"Segments of {self.path}", facts, [Fact("output", "Segments", target)])
        # Mean shift leaves no pixel out unless it is interrupted.
        if self.method is Clustering.meanshift and (labels < 0).any():
            raise Interrupted(f"interrupted; the segments found so far are in {target}")


def _write(path: Path, image: NDArray[Any], labels: NDArray[Any]) -> None:
    import numpy as np

    from closeknit.io.extras import require
    from closeknit.io.files import replacing

    with replacing(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file, labels, allow_pickle=False)
            return
        Image = require("PIL.Image", "plot", "writing pictures needs Pillow")
        pixels = np.round(255.0 * mean_colors(image, labels)).astype(np.uint8)
        Image.fromarray(pixels).save(file, format="PNG")


def mean_colors(image: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """The picture with every segment in the mean of its colours; pixels without one stay.

    Parameters
    ----------
    image : ndarray of shape (height, width) or (height, width, 3)
    labels : ndarray of int of shape (height, width)
        -1 stands for none.

    Returns
    -------
    ndarray of the shape of `image`

    Examples
    --------
    >>> import numpy as np
    >>> mean_colors(np.array([[0.0, 1.0, 0.5]]), np.array([[0, 0, -1]]))
    array([[0.5, 0.5, 0.5]])
    """
    import numpy as np

    inside = labels >= 0
    number, pixels = labels[inside], image[inside].reshape(np.count_nonzero(inside), -1)
    counts = np.maximum(np.bincount(number), 1)
    sums = np.stack([np.bincount(number, weights=channel) for channel in pixels.T], axis=-1)
    out = image.copy()
    out[inside] = (sums / counts[:, None])[number].reshape(out[inside].shape)
    return out
