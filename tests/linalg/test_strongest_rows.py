"""The strongest edges, found shard by shard, are those of the whole graph."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from closeknit.linalg import WeakestKept, strongest_entries


def graph(rng, n, density, n_weights):
    """A symmetric graph with few different weights, so that many are equal."""
    W = np.triu(rng.integers(1, n_weights + 1, (n, n)) * (rng.random((n, n)) < density), 1)
    W[7] = W[:, 7] = 0  # a point without edges
    return csr_matrix((W + W.T).astype(np.float32))


@pytest.mark.parametrize("n_weights", [1, 3, 1000])
@pytest.mark.parametrize("n_neighbors", [1, 4, 30])
def test_shards_keep_the_edges_of_the_whole_graph(n_weights, n_neighbors):
    rng = np.random.default_rng(n_neighbors)
    W = graph(rng, 60, 0.2, n_weights)
    cuts = [0, 5, 8, 41, 60]
    shards = [W[begin:end] for begin, end in pairwise(cuts)]
    weakest = WeakestKept.joined([WeakestKept.of(rows, n_neighbors) for rows in shards])
    found = [
        weakest.entries(rows, first) + W.indptr[first]
        for rows, first in zip(shards, cuts, strict=False)
    ]
    np.testing.assert_array_equal(np.concatenate(found), strongest_entries(W, n_neighbors))
