"""``closeknit segment``: the segments of a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.cluster import Clustering, check_number, cluster_facts
from closeknit.cli.errors import INTERRUPTED, CommandError
from closeknit.cli.groups import spelled_out
from closeknit.cli.inputs import read_image
from closeknit.cli.memory import warn_if_large
from closeknit.cli.outputs import check_outputs, name_after
from closeknit.cli.reporting import Fact, Reporter, reporting
from closeknit.progress import report

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EXAMPLES", "mean_colors", "segment"]

EXAMPLES = """
closeknit segment photo.jpg --segments 25

closeknit segment photo.jpg -o segments.npy --method meanshift --perplexity 100
"""


@spelled_out
def segment(
    path: Annotated[
        Path, typer.Argument(metavar="IMAGE", help="PNG, JPEG, TIFF or BMP.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        opt.output(
            "A picture with every segment in its mean colour (.png), or the number of each "
            "pixel's segment (.npy).",
            "IMAGE-segments.png",
        ),
    ] = None,
    segments: Annotated[int | None, opt.number_of("--segments", "segments")] = None,
    method: Annotated[
        Clustering, typer.Option("--method", "-m", help="How to find segments.")
    ] = Clustering.spectral,
    *,
    options: opt.PerplexityOptions,
    talk: opt.TalkOptions,
) -> None:
    """Segment a picture: pixels that are close, in place and colour, stay together."""
    with reporting(talk) as reporter:
        from closeknit.apps import segment_image

        check_number(method, segments, "--segments")
        K = options.single("segment")
        target = output or name_after(path, "segments", ".png")
        check_outputs([path], [(target, (".png", ".npy"))])
        with reporter.stages():
            report("reading")
            image = read_image(path)
            _warn_if_large(reporter, image, segments, method, options)
            report("starting")
            labels = segment_image(
                image,
                n_segments=segments,
                method=method.value,
                perplexity=K,
                n_jobs=options.n_jobs,
                random_state=options.seed,
            )
            report("writing")
            _write(target, image, labels)
        height, width = labels.shape
        reporter.summarize(
            f"Segments of {path}",
            [
                Fact("input", "", str(path)),
                Fact("method", "method", method.value),
                Fact("height", "height", height),
                Fact("width", "width", width),
                Fact("perplexity", "perplexity", K, "{:g}"),
                *cluster_facts(labels.ravel(), "segments"),
                reporter.seconds(),
            ],
            [Fact("output", "Segments", str(target))],
        )
        # Mean shift leaves no pixel out unless it is interrupted.
        if method is Clustering.meanshift and (labels < 0).any():
            raise CommandError(
                f"interrupted; the segments found so far are in {target}", exit_code=INTERRUPTED
            )


def _warn_if_large(
    reporter: Reporter,
    image: NDArray[Any],
    segments: int | None,
    method: Clustering,
    options: opt.PerplexityOptions,
) -> None:
    warn_if_large(
        reporter,
        (image.shape[0] * image.shape[1], 5),
        opt.AffinityOptions(options.perplexity),
        "modes" if method is Clustering.meanshift else "eigenvectors",
        n_vectors=segments or 0,
        picture=True,
    )


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

    pixels = image.reshape(labels.size, -1)
    number = labels.ravel()
    inside = number >= 0
    counts = np.maximum(np.bincount(number[inside]), 1)
    out = pixels.copy()
    for channel in range(pixels.shape[1]):
        sums = np.bincount(number[inside], weights=pixels[inside, channel])
        out[inside, channel] = (sums / counts)[number[inside]]
    return out.reshape(image.shape)
