"""Data in and out.

::

    files ──► read_table ──► Table ──► estimators ──► write_table, write_graph ──► files
    frames ─► from_frame ──► Table                    to_frame_like ─────────────► frames
    AnnData ► anndata.tsne(adata), anndata.affinities(adata) ────────────────────► AnnData
    fitted estimators ◄──── save, load ──────────────────────────────────────────► one file

Packages that only some of these need are imported when they are first used.
Errors are those of :mod:`closeknit.exceptions`: one line that says what to do.
"""

from closeknit.io import anndata
from closeknit.io.anndata import from_anndata, neighbors_from_anndata
from closeknit.io.archive import Kind, archive_format, read_archive, write_archive
from closeknit.io.describe import Description
from closeknit.io.dialect import Dialect
from closeknit.io.extras import require
from closeknit.io.frames import from_frame, to_frame_like
from closeknit.io.images import read_image
from closeknit.io.models import load, save
from closeknit.io.readers import kind_of, read_table
from closeknit.io.suspicious import find_suspicious
from closeknit.io.table import Table, default_names
from closeknit.io.writers import write_graph, write_table

__all__ = [
    "Description",
    "Dialect",
    "Kind",
    "Table",
    "anndata",
    "archive_format",
    "default_names",
    "find_suspicious",
    "from_anndata",
    "from_frame",
    "kind_of",
    "load",
    "neighbors_from_anndata",
    "read_archive",
    "read_image",
    "read_table",
    "require",
    "save",
    "to_frame_like",
    "write_archive",
    "write_graph",
    "write_table",
]
