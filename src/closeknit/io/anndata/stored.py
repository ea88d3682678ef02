"""What an AnnData holds already: representations, and the neighbours of scanpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from closeknit.exceptions import DataError
from closeknit.neighbors import Neighbors

__all__ = [
    "find_key",
    "matrix",
    "neighbors_from_anndata",
    "perplexity_for",
    "representation",
    "stored_distances",
]


def neighbors_from_anndata(adata: Any, key: str | None = None) -> Neighbors:
    """The neighbours that ``sc.pp.neighbors`` has found.

    Parameters
    ----------
    adata : AnnData
    key : str or None, default=None
        The ``key_added`` of ``sc.pp.neighbors``; None is "neighbors".

    Returns
    -------
    Neighbors
        scanpy counts a point among its own neighbours but does not store it: rows hold
        ``n_neighbors - 1`` others, and fewer if some lie in the same place.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from closeknit.io import neighbors_from_anndata
    >>> from closeknit.neighbors import find_neighbors
    >>> adata = anndata.AnnData(np.array([[0.0], [1.0], [3.0]]))
    >>> adata.obsp["distances"] = find_neighbors(adata.X, 1).to_graph()
    >>> neighbors_from_anndata(adata).indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    return Neighbors.from_graph(stored_distances(adata, key))


def find_key(adata: Any, key: str | None) -> str:
    """The representation to use: the one that is asked for, principal components, or X."""
    if key is None:
        return "X_pca" if "X_pca" in adata.obsm else "X"
    if key != "X" and key not in adata.obsm and key not in adata.layers:
        known = ", ".join(map(repr, ["X", *adata.obsm, *adata.layers]))
        raise DataError(f"there is no representation {key!r}; choose from {known}")
    return key


def matrix(adata: Any, key: str) -> Any:
    """X, a layer or a representation, in memory."""
    holder = {"X": adata.X} if key == "X" else adata.obsm if key in adata.obsm else adata.layers
    found = holder[key]
    if found is None:
        raise DataError("the AnnData has no X; choose a representation such as 'X_pca'")
    if hasattr(found, "to_memory"):  # it is on disk
        found = found.to_memory()
    if sparse.issparse(found):
        return sparse.csr_matrix(found)
    return np.asarray(found)


def representation(
    adata: Any, use_rep: str | None, n_pcs: int | None
) -> tuple[Any, dict[str, Any]]:
    """The numbers to compute with, and how scanpy would say which they are."""
    key = find_key(adata, use_rep)
    X = matrix(adata, key)
    if n_pcs is None:
        return X, {"use_rep": key}
    if not 1 <= n_pcs <= X.shape[1]:
        raise ValueError(f"n_pcs={n_pcs}, but {key!r} has {X.shape[1]} columns")
    return X[:, :n_pcs], {"use_rep": key, "n_pcs": n_pcs}


def stored_distances(adata: Any, key: str | None) -> Any:
    """The graph of distances that ``sc.pp.neighbors`` stored under a key."""
    key = "neighbors" if key is None else key
    name = "distances" if key == "neighbors" else f"{key}_distances"
    name = adata.uns.get(key, {}).get("distances_key", name)
    if name not in adata.obsp:
        known = ", ".join(map(repr, adata.obsp)) or "nothing"
        raise DataError(
            f"there are no neighbours under {key!r}: obsp has no {name!r}, only {known}; "
            "run sc.pp.neighbors, or do without neighbors_key"
        )
    return sparse.csr_matrix(adata.obsp[name])


def perplexity_for(found: Neighbors, perplexity: float | None, key: str) -> float:
    """A perplexity that the stored neighbours allow."""
    k = found.n_neighbors
    if perplexity is None:
        return min(30.0, k / 3.0)
    if not perplexity < k:
        raise ValueError(
            f"perplexity={perplexity:g} needs more than that many neighbours per point, but "
            f"{key!r} holds {k} (scanpy's n_neighbors counts the point itself); lower perplexity, "
            f"run sc.pp.neighbors with n_neighbors={int(3 * perplexity) + 1}, or do without "
            "neighbors_key"
        )
    return float(perplexity)
