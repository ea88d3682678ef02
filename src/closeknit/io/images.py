"""Pictures as arrays, and their pixels as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from closeknit._arrays import Array
from closeknit.exceptions import DataError
from closeknit.io.extras import require
from closeknit.io.files import check_expansion, reading
from closeknit.io.table import Selection, Table, assemble


def read_image(path: str | Path) -> Array:
    """Read a picture.

    Parameters
    ----------
    path : str or path
        PNG, JPEG, TIFF, or whatever else Pillow reads.

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3)
        Grey or red, green and blue, from 0 to 1. What is transparent is laid on white.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> from closeknit.io import read_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (3, 2), "white").save(f"{folder}/white.png")
    ...     image = read_image(f"{folder}/white.png")
    >>> image.shape, float(image.min())
    ((2, 3, 3), 1.0)
    """
    with reading(path):
        return _load(path)


def read_pixels(path: Path, selection: Selection) -> Table:
    """Read one row for each pixel, in raster order: where it is, and its colour.

    Colours go from 0 to 255, so that a step in space and one in colour are alike in size.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "red.png")
    ...     Image.new("RGB", (2, 1), "red").save(path)
    ...     read_pixels(path, Selection()).X
    array([[  0.,   0., 255.,   0.,   0.],
           [  0.,   1., 255.,   0.,   0.]])
    """
    image = _load(path)
    colours = image.reshape(image.shape[0] * image.shape[1], -1)
    places = np.indices(image.shape[:2]).reshape(2, -1).T
    names = ("row", "column", *(("grey",) if image.ndim == 2 else ("red", "green", "blue")))
    X = np.hstack([places, 255.0 * colours])
    return assemble(X, names, {}, order=names, selection=selection, kind="image")


def _load(path: str | Path) -> Array:
    Image = require("PIL.Image", "plot", "reading pictures needs Pillow")
    try:
        with Image.open(path) as image:
            check_expansion(Path(path), 24 * image.width * image.height)
            return _to_array(Image, image)
    except Image.DecompressionBombError as error:
        raise DataError(f"{error}; make it smaller") from error


def _to_array(Image: Any, image: Any) -> Array:
    mode = image.mode
    if mode == "F":
        raise DataError("its pixels are floating-point numbers; save it with 8 or 16 bits")
    if mode.startswith("I"):
        return np.clip(np.asarray(image, dtype=np.float64) / 65535.0, 0.0, 1.0)
    if mode in ("1", "L"):
        return np.asarray(image.convert("L"), dtype=np.float64) / 255.0
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.asarray(image.convert("RGB"), dtype=np.float64) / 255.0
