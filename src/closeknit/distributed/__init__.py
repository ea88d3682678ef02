"""The whole line on a Dask cluster: the same stations, on shards.

::

    data ──► blocks ──► neighbours ──► affinities ──► graph ──► sums ──► the loop ──► map
             checked,   cells, with    bandwidths     both      a task   of one       Dask
             in files   known recall   per block      halves    per part machine      array

Connect to a cluster, then use the estimators as those of one machine::

    from dask.distributed import Client
    from closeknit import distributed as ckd

    client = Client("tcp://scheduler:8786")         # or Client() on this machine
    tsne = ckd.TSNE(perplexity=30).fit(X)           # X: a Dask array, or one that fits in memory
    tsne.embedding_.to_zarr("map.zarr")

Each file is a station: `cluster` runs tasks and keeps their arrays in a folder that all workers
see; `blocks`, `neighbors`, `affinities`, `graph`, `objective` and `embeddings` say what the tasks
do, by the functions of that station of one machine. How the data are cut depends on the data alone,
and sums over shards are taken in their order: the number of workers changes no bit.
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
