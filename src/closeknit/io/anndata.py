"""AnnData in and out, in scanpy's places and under scanpy's names.

::

    obsm["X_pca"] or X ──► tsne, embed ──► obsm["X_tsne"], uns["tsne"]["params"]
    obsp["distances"] ───► affinities ───► obsp["entropic_connectivities"], uns["entropic"]

What `affinities` leaves behind has the form of ``sc.pp.neighbors``, so that
``sc.tl.leiden(adata, neighbors_key="entropic")`` clusters by it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from closeknit.exceptions import DataError
from closeknit.io.extras import require
from closeknit.io.table import Selection, Table, assemble, default_names
from closeknit.neighbors import Neighbors

__all__ = [
    "affinities",
    "embed",
    "from_anndata",
    "neighbors_from_anndata",
    "read_h5ad",
    "tsne",
]

#: What users may call a method, and the estimator behind it.
METHODS = {
    "tsne": "TSNE",
    "ssne": "SymmetricSNE",
    "sne": "SNE",
    "ee": "ElasticEmbedding",
    "tee": "TElasticEmbedding",
    "eigenmaps": "LaplacianEigenmaps",
}


def from_anndata(adata: Any, key: str | None = None, *, missing: str = "error") -> Table:
    """Take the numbers, annotations and names of the observations.

    Parameters
    ----------
    adata : AnnData
    key : str or None, default=None
        "X", a layer, or a representation in ``obsm``; None is "X_pca" if it is there, else "X".
    missing : {"error", "drop"}, default="error"
        What to do with observations that have missing values.

    Returns
    -------
    Table
        The columns of ``obs`` are the labels, ``obs_names`` the identifiers.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from closeknit.io import from_anndata
    >>> obs = pd.DataFrame({"kind": ["T", "B", "T"]}, index=["c1", "c2", "c3"])
    >>> table = from_anndata(anndata.AnnData(np.eye(3), obs=obs))
    >>> table.X.shape, table.labels["kind"], table.ids
    ((3, 3), array(['T', 'B', 'T'], dtype=object), array(['c1', 'c2', 'c3'], dtype=object))
    """
    return _to_table(adata, key, Selection(missing=missing), "anndata")


def read_h5ad(path: Path, *, key: str | None, selection: Selection) -> Table:
    """Read a table from an H5AD file; see `from_anndata`.

    Parameters
    ----------
    path : Path
    key : str or None
    selection : Selection

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile, anndata
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cells.h5ad")
    ...     anndata.AnnData(np.eye(3)).write_h5ad(path)
    ...     read_h5ad(path, key=None, selection=Selection()).X.shape
    (3, 3)
    """
    package = require("anndata", "anndata", "reading H5AD needs anndata")
    if path.stat().st_size == 0:
        raise DataError("it is empty; write or download it again")
    return _to_table(package.read_h5ad(path), key, selection, "h5ad")


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
    return Neighbors.from_graph(_distances(adata, key))


def affinities(
    adata: Any,
    *,
    perplexity: float | None = None,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "entropic",
    copy: bool = False,
    **options: Any,
) -> Any:
    """Entropic affinities between observations, stored as scanpy stores a neighbour graph.

    Parameters
    ----------
    adata : AnnData
    perplexity : float or None, default=None
        Effective number of neighbours; None is 30, or a third of the neighbours if those of
        `neighbors_key` are fewer than that needs.
    use_rep : str or None, default=None
        What to compute with; see `from_anndata`.
    n_pcs : int or None, default=None
        Use only so many columns of it.
    neighbors_key : str or None, default=None
        Use the neighbours that ``sc.pp.neighbors`` stored under this key, such as "neighbors",
        instead of searching in `use_rep`.
    key_added : str, default="entropic"
    copy : bool, default=False
        Return a copy instead of writing into `adata`.
    **options
        Further parameters of :class:`~closeknit.EntropicAffinities`.

    Returns
    -------
    AnnData or None
        The copy, if one is asked for. Written are, with the default `key_added`:
        ``obsp["entropic_connectivities"]``, the symmetric affinities;
        ``obsp["entropic_distances"]``; ``obs["entropic_sigma"]``, the bandwidths; and
        ``uns["entropic"]``, with the two keys and the parameters.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_iris
    >>> import closeknit as ck
    >>> adata = anndata.AnnData(load_iris().data)
    >>> ck.io.anndata.affinities(adata, perplexity=10)
    >>> adata.uns["entropic"]["connectivities_key"]
    'entropic_connectivities'
    >>> adata.obsp["entropic_connectivities"].shape
    (150, 150)
    """
    from closeknit.affinities import EntropicAffinities
    from closeknit.graphs import symmetrize

    adata = _target(adata, copy)
    used: dict[str, Any]
    if neighbors_key is None:
        X, used = _representation(adata, use_rep, n_pcs)
        K = 30.0 if perplexity is None else float(perplexity)
    else:
        _refuse_both(use_rep, n_pcs)
        found = neighbors_from_anndata(adata, neighbors_key)
        K = _perplexity_for(found, perplexity, neighbors_key)
        # The estimator looks only at the number of rows of X when neighbours are given.
        X, used = np.zeros((found.n_samples, 1)), {"neighbors_key": neighbors_key}
        metric = adata.uns.get(neighbors_key, {}).get("params", {}).get("metric", "euclidean")
        options = {"metric": metric, **options, "neighbors": found}
    estimator = EntropicAffinities(K, **options).fit(X)
    k = adata.n_obs - 1 if estimator.neighbors_ is None else estimator.neighbors_.n_neighbors
    connectivities_key, distances_key = f"{key_added}_connectivities", f"{key_added}_distances"
    adata.obsp[connectivities_key] = sparse.csr_matrix(symmetrize(estimator.affinities_))
    keys = {"connectivities_key": connectivities_key}
    if estimator.neighbors_ is not None:
        adata.obsp[distances_key] = estimator.neighbors_.to_graph()
        keys["distances_key"] = distances_key
    adata.obs[f"{key_added}_sigma"] = estimator.sigmas_
    params = {"n_neighbors": k + 1, "method": "entropic", "perplexity": K}
    adata.uns[key_added] = {
        **keys,
        "params": {**params, **used, **_storable({"metric": estimator.metric, **options})},
    }
    return adata if copy else None


def embed(
    adata: Any,
    method: str = "tsne",
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Embed the observations.

    Parameters
    ----------
    adata : AnnData
    method : {"tsne", "ssne", "sne", "ee", "tee", "eigenmaps"}, default="tsne"
    use_rep : str or None, default=None
        What to embed; see `from_anndata`.
    n_pcs : int or None, default=None
        Use only so many columns of it.
    neighbors_key : str or None, default=None
        Use the neighbours that ``sc.pp.neighbors`` stored under this key, such as "neighbors",
        instead of searching in `use_rep`.
    key_added : str or None, default=None
        Where the embedding goes in ``obsm``, and its parameters in ``uns``; None is
        ``obsm["X_tsne"]`` and ``uns["tsne"]``, and alike for the other methods.
    copy : bool, default=False
        Return a copy instead of writing into `adata`.
    **options
        Parameters of the estimator, such as ``perplexity`` and ``random_state``.

    Returns
    -------
    AnnData or None
        The copy, if one is asked for.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_iris
    >>> import closeknit as ck
    >>> adata = anndata.AnnData(load_iris().data)
    >>> ck.io.anndata.embed(adata, "eigenmaps", perplexity=20)
    >>> adata.obsm["X_eigenmaps"].shape
    (150, 2)
    """
    import closeknit

    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; use one of {', '.join(map(repr, METHODS))}")
    adata = _target(adata, copy)
    used: dict[str, Any]
    if neighbors_key is None:
        X, used = _representation(adata, use_rep, n_pcs)
    else:
        _refuse_both(use_rep, n_pcs)
        X, used = _distances(adata, neighbors_key), {"neighbors_key": neighbors_key}
        K = _perplexity_for(Neighbors.from_graph(X), options.get("perplexity"), neighbors_key)
        options = {**options, "metric": "precomputed", "perplexity": K}
    estimator = getattr(closeknit, METHODS[method])(**options)
    adata.obsm[key_added or f"X_{method}"] = estimator.fit_transform(X)
    params = {"perplexity": estimator.perplexity, "metric": estimator.metric}
    adata.uns[key_added or method] = {"params": {**params, **used, **_storable(options)}}
    return adata if copy else None


def tsne(adata: Any, **options: Any) -> Any:
    """t-SNE of the observations, in place of ``sc.tl.tsne``.

    Parameters
    ----------
    adata : AnnData
    **options
        Of `embed`, and of :class:`~closeknit.TSNE`.

    Returns
    -------
    AnnData or None

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_iris
    >>> import closeknit as ck
    >>> adata = anndata.AnnData(load_iris().data)
    >>> ck.io.anndata.tsne(adata, perplexity=20, random_state=0)
    >>> adata.obsm["X_tsne"].shape, adata.uns["tsne"]["params"]["perplexity"]
    ((150, 2), 20)
    """
    return embed(adata, "tsne", **options)


def _target(adata: Any, copy: bool) -> Any:
    if not all(hasattr(adata, name) for name in ("obs", "obsm", "obsp", "uns")):
        raise TypeError(f"expected an AnnData, got {type(adata).__name__}")
    return adata.copy() if copy else adata


def _find_key(adata: Any, key: str | None) -> str:
    if key is None:
        return "X_pca" if "X_pca" in adata.obsm else "X"
    if key != "X" and key not in adata.obsm and key not in adata.layers:
        known = ", ".join(map(repr, ["X", *adata.obsm, *adata.layers]))
        raise DataError(f"there is no representation {key!r}; choose from {known}")
    return key


def _matrix(adata: Any, key: str) -> Any:
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


def _representation(
    adata: Any, use_rep: str | None, n_pcs: int | None
) -> tuple[Any, dict[str, Any]]:
    key = _find_key(adata, use_rep)
    X = _matrix(adata, key)
    if n_pcs is None:
        return X, {"use_rep": key}
    if not 1 <= n_pcs <= X.shape[1]:
        raise ValueError(f"n_pcs={n_pcs}, but {key!r} has {X.shape[1]} columns")
    return X[:, :n_pcs], {"use_rep": key, "n_pcs": n_pcs}


def _refuse_both(use_rep: str | None, n_pcs: int | None) -> None:
    if use_rep is not None or n_pcs is not None:
        raise ValueError("use_rep and n_pcs have no meaning with neighbors_key; give one of them")


def _distances(adata: Any, key: str | None) -> Any:
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


def _perplexity_for(found: Neighbors, perplexity: float | None, key: str) -> float:
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


def _storable(options: dict[str, Any]) -> dict[str, Any]:
    """Options that an H5AD file can hold; None is the absence of a key, and objects are words."""
    out = {}
    for name, value in options.items():
        if isinstance(value, bool | int | float | str | np.ndarray | np.generic):
            out[name] = value
        elif value is not None and not isinstance(value, Neighbors) and not callable(value):
            out[name] = repr(value)
    return out


def _to_table(adata: Any, key: str | None, selection: Selection, kind: str) -> Table:
    from closeknit.io.frames import label_columns

    key = _find_key(adata, key)
    X = _matrix(adata, key)
    if 0 in X.shape:
        raise DataError(f"{key!r} has shape {X.shape}, which holds no numbers")
    X = X.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)
    names = default_names(X.shape[1])
    # The names of genes need not be all different; then numbers must do.
    if (key == "X" or key in adata.layers) and adata.var_names.is_unique:
        names = tuple(map(str, adata.var_names))
    # Annotations may be called like genes; then the gene has the name.
    taken = set(names)
    labels = {name: c for name, c in label_columns(adata.obs).items() if name not in taken}
    others = {"": np.asarray(adata.obs_names, dtype=object), **labels}
    selection = selection if selection.ids is not None else replace(selection, ids="")
    order = ["", *names, *labels]
    return assemble(X, names, others, order=order, selection=selection, kind=kind)
