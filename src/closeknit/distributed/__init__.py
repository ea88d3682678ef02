"""The whole line on a Dask cluster: the same stations, on shards.

::

    data ──► blocks ──► neighbours ──► affinities ──► graph ──► sums ──► the loop ──► map
             checked,   cells, with    bandwidths     both      a task   of one       Dask
             in files   known recall   per block      halves    a thread machine      array

Connect to a cluster, then use the estimators as those of one machine::

    from dask.distributed import Client
    from closeknit import distributed as ckd

    client = Client("tcp://scheduler:8786")         # or Client() on this machine
    tsne = ckd.TSNE(perplexity=30).fit(X)           # a Dask array, ckd.read(folder), an array
    tsne.embedding_.to_zarr("map.zarr")

`cluster` runs tasks and keeps their arrays in a folder that all workers see. Then each file is a
station: `tables` and `blocks` (data in), `cells`, `certified`, `searching` and `neighbors` (the
search, and its recall), `affinities`, `graph`, `thinning` (its strongest edges), `parts` and
`groups` (the graph in workers' memory), `objective` (its sums), and `running`, `start`,
`embeddings` and `eigenmaps` (the estimators). They say what tasks do, by the functions of that
station of one machine. How the data are cut depends on the data alone, and sums over shards are
taken in their order: the number of workers changes no bit.
"""

# ruff: noqa: E402  (first of all, say what is missing)
from closeknit.io.extras import require

require("distributed", "distributed", "closeknit.distributed needs dask.distributed")

from closeknit.distributed.affinities import EntropicAffinities
from closeknit.distributed.eigenmaps import LaplacianEigenmaps
from closeknit.distributed.embeddings import TSNE, ElasticEmbedding, SymmetricSNE
from closeknit.distributed.graph import ShardedGraph
from closeknit.distributed.neighbors import ShardedNeighbors, find_neighbors
from closeknit.distributed.tables import read, write_map

__all__ = [
    "TSNE",
    "ElasticEmbedding",
    "EntropicAffinities",
    "LaplacianEigenmaps",
    "ShardedGraph",
    "ShardedNeighbors",
    "SymmetricSNE",
    "find_neighbors",
    "read",
    "write_map",
]
