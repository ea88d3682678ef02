"""Embeddings and affinities of the observations, stored where scanpy stores its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from closeknit.io.anndata.observations import representation, stored_graph
from closeknit.neighbors import Neighbors

#: What users may call a method, and the estimator behind it.
METHODS = {
    "tsne": "TSNE",
    "ssne": "SymmetricSNE",
    "sne": "SNE",
    "ee": "ElasticEmbedding",
    "tee": "TElasticEmbedding",
    "eigenmaps": "LaplacianEigenmaps",
}


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
        Use only this many columns of it.
    neighbors_key : str or None, default=None
        Use the neighbours that ``sc.pp.neighbors`` stored under this key, such as "neighbors",
        instead of searching in `use_rep`.
    key_added : str or None, default=None
        Where the embedding goes in ``obsm``, and its parameters in ``uns``; None is
        ``obsm["X_tsne"]`` and ``uns["tsne"]``, and alike for the other methods.
    copy : bool, default=False
        Return a copy instead of writing into `adata`.
    **options
        Parameters of the estimator, such as ``perplexity`` and ``random_state``. With the few
        neighbours that ``sc.pp.neighbors`` stores by default, use ``perplexity="auto"``, a third of
        their number, or store more.

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
    X, used = _source(adata, use_rep, n_pcs, neighbors_key, options.get("perplexity", 30.0))
    if neighbors_key is not None:
        options = {**options, "metric": "precomputed"}
    estimator = getattr(closeknit, METHODS[method])(**options)
    adata.obsm[key_added or f"X_{method}"] = np.asarray(estimator.fit_transform(X))
    names = ("perplexity", "metric", "n_components")
    params = {**{name: getattr(estimator, name) for name in names}, **options}
    if params["perplexity"] == "auto":
        params["perplexity"] = estimator.affinity_estimator_.perplexity_
    adata.uns[key_added or method] = {"params": {**used, **_storable(params)}}
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
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> adata = anndata.AnnData(load_iris().data)
    >>> ck.io.anndata.tsne(adata, perplexity=20, random_state=0)
    >>> adata.obsm["X_tsne"].shape, adata.uns["tsne"]["params"]["perplexity"]
    ((150, 2), 20)
    """
    return embed(adata, "tsne", **options)


def affinities(
    adata: Any,
    *,
    perplexity: float | Sequence[float] | str = 30.0,
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
    perplexity : float, list or tuple of floats, or "auto", default=30.0
        Effective number of neighbours. ``"auto"`` is 30, or a third of the neighbours if those of
        `neighbors_key` are fewer than 90.
    use_rep : str or None, default=None
        What to compute with; see `from_anndata`.
    n_pcs : int or None, default=None
        Use only this many columns of it.
    neighbors_key : str or None, default=None
        Use the neighbours that ``sc.pp.neighbors`` stored under this key, such as "neighbors",
        instead of searching in `use_rep`.
    key_added : str, default="entropic"
        "neighbors" takes the place of scanpy's own graph.
    copy : bool, default=False
        Return a copy instead of writing into `adata`.
    **options
        Further parameters of :class:`~closeknit.EntropicAffinities`.

    Returns
    -------
    AnnData or None
        The copy, if one is asked for. Written are, with the default `key_added`:
        ``obsp["entropic_connectivities"]``, the symmetric affinities;
        ``obsp["entropic_distances"]``, unless all points are neighbours of each other;
        ``obs["entropic_sigma"]``, the bandwidths (of several perplexities one column each, such as
        ``obs["entropic_sigma_30"]``); and ``uns["entropic"]``, with the two keys and
        the parameters.

    Examples
    --------
    >>> import anndata, sklearn.datasets
    >>> import closeknit as ck
    >>> adata = anndata.AnnData(sklearn.datasets.load_iris().data)
    >>> ck.io.anndata.affinities(adata, perplexity=10)
    >>> adata.uns["entropic"]["connectivities_key"]
    'entropic_connectivities'
    >>> adata.obsp["entropic_connectivities"].shape
    (150, 150)
    """
    from closeknit.affinities import EntropicAffinities
    from closeknit.graphs import symmetrize

    adata = _target(adata, copy)
    X, used = _source(adata, use_rep, n_pcs, neighbors_key, perplexity)
    if neighbors_key is not None:
        # The estimator looks only at the number of rows of X when neighbours are given.
        found, X = Neighbors.from_graph(X), np.zeros((adata.n_obs, 1))
        metric = adata.uns.get(neighbors_key, {}).get("params", {}).get("metric", "euclidean")
        options = {"metric": metric, **options, "neighbors": found}
    estimator = EntropicAffinities(perplexity, **options).fit(X)
    k = adata.n_obs - 1 if estimator.neighbors_ is None else estimator.neighbors_.n_neighbors
    # scanpy looks for these two without a prefix if the key is its own.
    prefix = "" if key_added == "neighbors" else f"{key_added}_"
    keys = {f"{what}_key": f"{prefix}{what}" for what in ("connectivities", "distances")}
    W = symmetrize(estimator.affinities_, n_jobs=estimator.n_jobs)
    adata.obsp[keys["connectivities_key"]] = sparse.csr_matrix(W)
    if estimator.neighbors_ is not None:
        adata.obsp[keys["distances_key"]] = estimator.neighbors_.to_graph()
    for name, sigmas in _sigmas(estimator):
        adata.obs[f"{key_added}_sigma{name}"] = sigmas
    params = {"n_neighbors": k + 1, "method": "entropic", "perplexity": estimator.perplexity_}
    params = {**params, "metric": estimator.metric, **options}
    adata.uns[key_added] = {**keys, "params": {**used, **_storable(params)}}
    return adata if copy else None


def _sigmas(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Each column of bandwidths, with what its name ends in."""
    if estimator.sigmas_.ndim == 1:
        yield "", estimator.sigmas_
        return
    for perplexity, column in zip(estimator.perplexity_, estimator.sigmas_.T, strict=True):
        yield f"_{perplexity:g}", column


def _target(adata: Any, copy: bool) -> Any:
    """Where to write: the AnnData itself, or a copy of it."""
    if not all(hasattr(adata, name) for name in ("obs", "obsm", "obsp", "uns")):
        raise TypeError(f"expected an AnnData, got {type(adata).__name__}")
    return adata.copy() if copy else adata


def _source(
    adata: Any, use_rep: str | None, n_pcs: int | None, neighbors_key: str | None, perplexity: Any
) -> tuple[Any, dict[str, Any]]:
    """The numbers to compute with, or stored distances, and what they are called."""
    if neighbors_key is None:
        X, key = representation(adata, use_rep)
        if n_pcs is None:
            return X, {"use_rep": key}
        if not 1 <= n_pcs <= X.shape[1]:
            raise ValueError(f"n_pcs={n_pcs}, but {key!r} has {X.shape[1]} columns")
        return X[:, :n_pcs], {"use_rep": key, "n_pcs": n_pcs}
    if use_rep is not None or n_pcs is not None:
        raise ValueError("use_rep and n_pcs have no meaning with neighbors_key; give one of them")
    X = stored_graph(adata, neighbors_key)
    k = Neighbors.from_graph(X).n_neighbors
    largest = 0.0 if isinstance(perplexity, str) else np.max(perplexity)
    if not k > largest:
        raise ValueError(
            f"perplexity={largest:g} needs more than that many neighbours per point, but "
            f"{neighbors_key!r} holds {k} (scanpy's n_neighbors counts the point itself); run "
            f"sc.pp.neighbors with n_neighbors={int(3 * largest) + 1}, lower perplexity, use "
            f"perplexity='auto', which is {max(1.0, k / 3.0):.3g} here, or do without neighbors_key"
        )
    return X, {"neighbors_key": neighbors_key}


def _storable(options: dict[str, Any]) -> dict[str, Any]:
    """Options that an H5AD file can hold; None is the absence of a key, and objects are words."""
    out = {}
    for name, value in options.items():
        if isinstance(value, bool | int | float | str | np.ndarray | np.generic):
            out[name] = value
        elif value is not None and not isinstance(value, Neighbors) and not callable(value):
            out[name] = repr(value)
    return out
