"""An interactive map, as one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.plotting._axes import check_positions
from closeknit.plotting._categories import categorize, category_colors, unmasked

#: Different values up to which a column of text is a set of categories.
_CATEGORIES = 200
#: Steps of the colour scale.
_STEPS = 64

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<label>Colour by <select id="color"><option value="-1">nothing</option></select></label>
<p>{n} points. Wheel or + and − zoom, drag moves, double click shows all.</p>
</header>
<main>
<div id="map"><canvas id="points" tabindex="0" role="img" aria-label="{title}"></canvas>
<div id="tip" role="status" hidden></div></div>
<nav id="legend" aria-label="Colours"></nav>
</main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def embedding_html(
    embedding: Any,
    columns: Mapping[str, Any] | None = None,
    *,
    color: str | None = None,
    n_over: int = 0,
    title: str = "Map",
) -> str:
    """Make an interactive page of a map: zoom, hover over points, choose the colours.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, 2) or fitted estimator
    columns : mapping from names to array-like of shape (n_samples,), optional
        What is known about the points. All of it is shown under the pointer; labels and numbers
        with a fraction can be chosen as colours, as :func:`plot_embedding` draws them. Text of more
        than 200 different values, such as names of rows, is only shown.
    color : str, optional
        The column whose colours are shown first; by default none.
    n_over : int, default=0
        So many of the last points are drawn over the others, as rings.
    title : str, default="Map"

    Returns
    -------
    str
        HTML that needs nothing beside it. Labels are text in it, whatever they hold, and its
        policy forbids every script but its own.

    Examples
    --------
    >>> import closeknit as ck
    >>> page = ck.plotting.embedding_html([[0, 0], [1, 1]], {"kind": ["<b>", "c"]}, color="kind")
    >>> "<b>" in page, page.count("<script")
    (False, 2)
    """
    Y = check_positions(getattr(embedding, "embedding_", embedding), "embedding")
    columns = {} if columns is None else columns
    described = [_describe(str(name), values, len(Y)) for name, values in columns.items()]
    shown = [one["name"] for one in described if one["kind"] != "text"]
    if color is not None and color not in shown:
        known = ", ".join(map(repr, shown)) or "none"
        raise ValueError(f"color={color!r} is not a column with colours; choose from {known}")
    if not 0 <= n_over <= len(Y):
        raise ValueError(f"n_over={n_over!r} must be between 0 and {len(Y)}, the number of points")
    names = [one["name"] for one in described]
    data = {
        "positions": _encoded(_framed(Y), np.float32),
        "columns": described,
        "color": -1 if color is None else names.index(color),
        "over": len(Y) - n_over,
        "plain": _bytes(category_colors([""]))[0],
        "scale": _scale(),
    }
    static = files("closeknit.plotting") / "static"
    script, style = ((static / name).read_text("utf-8") for name in ("map.js", "map.css"))
    page = _PAGE.format(
        policy=f"script-src {_hash(script)}; style-src {_hash(style)}",
        title=html.escape(title),
        n=f"{len(Y):,}",
        # In JSON < can stand only inside strings; as an escape it cannot end the script.
        data=json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
        script=script,
        style=style,
    )
    return page.encode("utf-8", "replace").decode()  # half a character cannot be written


def _framed(Y: Array) -> Array:
    """The same map between -1 and 1, whose differences single precision keeps."""
    low, high = Y.min(axis=0), Y.max(axis=0)
    extent = float((high - low).max())
    return (Y - 0.5 * (low + high)) * (2.0 / extent if extent > 1e-290 else 1.0)


def _describe(name: str, values: Any, n: int) -> dict[str, Any]:
    """A column as the page takes it: numbers, categories, or text that is only shown."""
    values = unmasked(values)
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"column {name!r} has shape {array.shape} for {n} points")
    many = array.dtype.kind in "fiu" and len(np.unique(array[np.isfinite(array)])) > _CATEGORIES
    if many or (array.dtype.kind == "f" and not _is_whole(array)):
        return {"name": name, "kind": "values", **_numbers(array)}
    found = categorize(values, n)
    if len(found.names) > _CATEGORIES:
        items = [found.names[code] if code >= 0 else "–" for code in found.codes.tolist()]
        return {"name": name, "kind": "text", "items": items}
    return {
        "name": name,
        "kind": "labels",
        "names": list(found.names),
        "codes": _encoded(found.codes, np.int32),
        "colors": _bytes(category_colors(found.names)),
    }


def _numbers(array: NDArray[Any]) -> dict[str, Any]:
    """A column of numbers, with whole ones and large ones in double precision."""
    finite = array[np.isfinite(array)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    whole = _is_whole(array)
    wide = whole or max(abs(low), abs(high)) > float(np.finfo(np.float32).max)
    numbers = _encoded(array, np.float64 if wide else np.float32)
    return {"numbers": numbers, "wide": wide, "whole": whole, "low": low, "high": high}


def _is_whole(array: NDArray[Any]) -> bool:
    known = array[np.isfinite(array)]
    return bool((known == np.round(known)).all())


def _encoded(array: NDArray[Any], dtype: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()


def _bytes(colors: Array) -> list[list[int]]:
    return np.round(255.0 * colors).astype(int).tolist()


def _scale() -> list[list[int]]:
    from matplotlib import colormaps

    return _bytes(colormaps["viridis"](np.linspace(0.0, 1.0, _STEPS))[:, :3])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
