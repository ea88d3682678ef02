"""Affinities of the observations, as ``sc.pp.neighbors`` stores a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from closeknit.io.anndata.stored import neighbors_from_anndata, perplexity_for, representation
from closeknit.io.anndata.uns import refuse_both, storable, target

__all__ = ["affinities"]


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
        ``obs["entropic_sigma"]``, the bandwidths; and ``uns["entropic"]``, with the two keys and
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

    adata = target(adata, copy)
    used: dict[str, Any]
    if neighbors_key is None:
        X, used = representation(adata, use_rep, n_pcs)
        K = 30.0 if perplexity is None else float(perplexity)
    else:
        refuse_both(use_rep, n_pcs)
        found = neighbors_from_anndata(adata, neighbors_key)
        K = perplexity_for(found, perplexity, neighbors_key)
        # The estimator looks only at the number of rows of X when neighbours are given.
        X, used = np.zeros((found.n_samples, 1)), {"neighbors_key": neighbors_key}
        metric = adata.uns.get(neighbors_key, {}).get("params", {}).get("metric", "euclidean")
        options = {"metric": metric, **options, "neighbors": found}
    estimator = EntropicAffinities(K, **options).fit(X)
    k = adata.n_obs - 1 if estimator.neighbors_ is None else estimator.neighbors_.n_neighbors
    # scanpy looks for these two without a prefix if the key is its own.
    prefix = "" if key_added == "neighbors" else f"{key_added}_"
    keys = {f"{what}_key": f"{prefix}{what}" for what in ("connectivities", "distances")}
    adata.obsp[keys["connectivities_key"]] = sparse.csr_matrix(symmetrize(estimator.affinities_))
    if estimator.neighbors_ is not None:
        adata.obsp[keys["distances_key"]] = estimator.neighbors_.to_graph()
    adata.obs[f"{key_added}_sigma"] = estimator.sigmas_
    params = {"n_neighbors": k + 1, "method": "entropic", "perplexity": K}
    adata.uns[key_added] = {
        **keys,
        "params": {**params, **used, **storable({"metric": estimator.metric, **options})},
    }
    return adata if copy else None
