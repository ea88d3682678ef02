"""AnnData in and out, in scanpy's places and under scanpy's names.

::

    obsm["X_pca"] or X ──► tsne, embed ──► obsm["X_tsne"], uns["tsne"]["params"]
    obsp["distances"] ───► affinities ───► obsp["entropic_connectivities"], uns["entropic"]

What `affinities` leaves behind has the form of ``sc.pp.neighbors``, so that
``sc.tl.leiden(adata, neighbors_key="entropic")`` clusters by it.
"""

from closeknit.io.anndata.observations import from_anndata, neighbors_from_anndata, read_h5ad
from closeknit.io.anndata.results import METHODS, affinities, embed, tsne
from closeknit.io.anndata.writing import write_h5ad

__all__ = [
    "METHODS",
    "affinities",
    "embed",
    "from_anndata",
    "neighbors_from_anndata",
    "read_h5ad",
    "tsne",
    "write_h5ad",
]
