"""Data in and out.

::

    files ──► read_table ──► Table ──► estimators ──► write_table, write_graph ──► files
    frames ─► from_frame ──► Table                    to_frame_like ─────────────► frames
    AnnData ► anndata.tsne(adata), anndata.affinities(adata) ────────────────────► AnnData
    fitted estimators ◄──── save, load ──────────────────────────────────────────► one file

Names are imported when they are first used, and so are the packages that only some of them need.
Errors are those of :mod:`closeknit.exceptions`: one line that says what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closeknit.io import anndata
    from closeknit.io.anndata import from_anndata, neighbors_from_anndata
    from closeknit.io.dialect import Dialect
    from closeknit.io.frames import from_frame, to_frame_like
    from closeknit.io.images import read_image
    from closeknit.io.models import load, save
    from closeknit.io.readers import kind_of, read_table
    from closeknit.io.table import Table, default_names
    from closeknit.io.writers import write_graph, write_table

__all__ = [
    "Dialect",
    "Table",
    "anndata",
    "default_names",
    "from_anndata",
    "from_frame",
    "kind_of",
    "load",
    "neighbors_from_anndata",
    "read_image",
    "read_table",
    "save",
    "to_frame_like",
    "write_graph",
    "write_table",
]

_HOME = {
    "Dialect": "dialect",
    "Table": "table",
    "default_names": "table",
    "from_anndata": "anndata",
    "from_frame": "frames",
    "kind_of": "readers",
    "load": "models",
    "neighbors_from_anndata": "anndata",
    "read_image": "images",
    "read_table": "readers",
    "save": "models",
    "to_frame_like": "frames",
    "write_graph": "writers",
    "write_table": "writers",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "anndata":
        return import_module("closeknit.io.anndata")
    if name in _HOME:
        return getattr(import_module(f"closeknit.io.{_HOME[name]}"), name)
    raise AttributeError(f"module 'closeknit.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
