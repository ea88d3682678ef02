"""``closeknit segment``: the segments of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import outputs as out
from closeknit.cli.cluster import WORK, Clustering, check_n_clusters, cluster_facts, cluster_options
from closeknit.cli.command import Fact, argument, option
from closeknit.cli.data import read_image
from closeknit.cli.errors import Interrupted
from closeknit.cli.memory import warn_if_large
from closeknit.cli.neighborhood import PerplexityCommand, perplexity_option
from closeknit.progress import report

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Segment(PerplexityCommand):
    """Segment a picture: pixels that are close, in place and colour, stay together.

    Examples
    --------
    closeknit segment photo.jpg --segments 25 --outlines outlines.png

    closeknit segment photo.jpg -o segments.npy --method meanshift --perplexity 100
    """

    perplexity: list[str] | None = perplexity_option(several=False)
    path: Path = argument("IMAGE", "PNG, JPEG, TIFF or BMP.")
    output: Path | None = out.output_file(
        "A picture with every segment in its mean colour (.png), or the number of each pixel's "
        "segment (.npy).",
        "IMAGE-segments.png",
    )
    outlines: Path | None = option("Write the picture with the segments outlined, too: .png.")
    segments: int | None = cluster_options("segments")[0]
    method: Clustering = cluster_options("segments")[1]

    def run(self) -> None:
        """See `Command`."""
        from closeknit.apps import segment_image

        check_n_clusters(self.method, self.segments, "--segments")
        K = self.single_perplexity("segment")
        target = self.output or out.name_after(self.path, "segments", ".png")
        out.check_outputs([self.path], [(target, (".png", ".npy")), (self.outlines, (".png",))])
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
            if self.outlines is not None:
                _write_picture(self.outlines, outlined(image, labels))
        facts = [
            Fact("input", "", self.path),
            Fact("method", "method", self.method),
            Fact("height", "height", height),
            Fact("width", "width", width),
            Fact("perplexity", "perplexity", K, "{:g}"),
            *cluster_facts(labels.ravel(), "segments"),
            self.seconds(),
        ]
        files = [
            Fact("output", "Segments", target),
            Fact("outlines", "Outlines", self.outlines),
        ]
        self.summarize(f"Segments of {self.path}", facts, files)
        # Mean shift leaves no pixel out unless it is interrupted.
        if self.method is Clustering.meanshift and (labels < 0).any():
            raise Interrupted(f"interrupted; the segments found so far are in {target}")


def _write(path: Path, image: NDArray[Any], labels: NDArray[Any]) -> None:
    import numpy as np

    from closeknit.io.files import replacing

    if path.suffix.lower() != ".npy":
        _write_picture(path, mean_colors(image, labels))
        return
    with replacing(path) as file:
        np.save(file, labels, allow_pickle=False)


def _write_picture(path: Path, image: NDArray[Any]) -> None:
    import numpy as np

    from closeknit.io.extras import require
    from closeknit.io.files import replacing

    Image = require("PIL.Image", "plot", "writing pictures needs Pillow")
    with replacing(path) as file:
        Image.fromarray(np.round(255.0 * image).astype(np.uint8)).save(file, format="PNG")


def outlined(image: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """The picture with a line along the edges of segments, white on dark and black on light.

    Parameters
    ----------
    image : ndarray of shape (height, width) or (height, width, 3)
    labels : ndarray of int of shape (height, width)

    Returns
    -------
    ndarray of the shape of `image`

    Examples
    --------
    >>> import numpy as np
    >>> outlined(np.array([[0.2, 0.2, 0.9, 0.9]]), np.array([[0, 0, 1, 1]]))
    array([[0.2, 1. , 0.9, 0.9]])
    """
    import numpy as np

    edge = np.zeros(labels.shape, dtype=bool)
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    edge[:-1] |= labels[:-1] != labels[1:]
    out = image.copy()
    light = image[edge].reshape(np.count_nonzero(edge), -1).mean(axis=1) > 0.5
    out[edge] = np.where(light, 0.0, 1.0).reshape((-1,) + (1,) * (image.ndim - 2))
    return out


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
