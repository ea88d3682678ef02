"""Embeddings of the observations, as ``sc.tl.tsne`` stores its own."""

from __future__ import annotations

from typing import Any

from closeknit.io.anndata.stored import perplexity_for, representation, stored_distances
from closeknit.io.anndata.uns import refuse_both, storable, target
from closeknit.neighbors import Neighbors

__all__ = ["METHODS", "embed", "tsne"]

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
    adata = target(adata, copy)
    used: dict[str, Any]
    if neighbors_key is None:
        X, used = representation(adata, use_rep, n_pcs)
    else:
        refuse_both(use_rep, n_pcs)
        X, used = stored_distances(adata, neighbors_key), {"neighbors_key": neighbors_key}
        K = perplexity_for(Neighbors.from_graph(X), options.get("perplexity"), neighbors_key)
        options = {**options, "metric": "precomputed", "perplexity": K}
    estimator = getattr(closeknit, METHODS[method])(**options)
    adata.obsm[key_added or f"X_{method}"] = estimator.fit_transform(X)
    names = ("perplexity", "metric", "n_components")
    params = storable({name: getattr(estimator, name) for name in names})
    adata.uns[key_added or method] = {"params": {**params, **used, **storable(options)}}
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
