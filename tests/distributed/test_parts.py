"""A graph in the memory of workers: what each task is sent, and what it sums from that."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

distributed = pytest.importorskip("distributed")

from closeknit.distributed import parts  # noqa: E402
from closeknit.distributed.blocks import Blocks  # noqa: E402
from closeknit.distributed.cluster import Cluster  # noqa: E402
from closeknit.distributed.graph import ShardedGraph, save_rows  # noqa: E402
from closeknit.kernels import STUDENT  # noqa: E402
from closeknit.objectives import Attraction  # noqa: E402

N, REACH = 800, 3


@pytest.fixture
def sent(monkeypatch):
    """The arrays that workers are handed."""
    found, send = [], Cluster.send

    def noting(cluster, objects):
        found.extend(objects)
        return send(cluster, objects)

    monkeypatch.setattr(Cluster, "send", noting)
    monkeypatch.setattr(parts, "_LEAST", 100)  # eight parts, of which each worker sums four
    return found


def chain(order):
    """Points along a line, which goes through them in some order, each tied to the next three."""
    rng = np.random.default_rng(0)
    near = np.arange(N)[:, None] + np.arange(1, REACH + 1)
    rows, columns = np.repeat(np.arange(N), REACH)[near.ravel() < N], near[near < N]
    half = csr_matrix((rng.random(len(rows)), (order[rows], order[columns])), shape=(N, N))
    return (half + half.T).tocsr()


def on_workers(W, tmp_path):
    """The parts of a matrix, which is written in two shards."""
    blocks = Blocks(Cluster.current(tmp_path, resume=False), (300, N - 300), 1)
    for block in blocks.numbers:
        save_rows(blocks.cluster.folder, f"graph-{block}", W[blocks.rows(block)])
    return parts.Parts(ShardedGraph(blocks, "graph", 1.0), STUDENT, np.float32)


@pytest.mark.parametrize("numbered", [False, True])
def test_a_task_is_sent_the_points_that_its_edges_touch(
    inside, sent, tmp_path, monkeypatch, numbered
):
    """Half of the line, and what is tied to its end; the sums are, to the bit, those of all."""
    order = np.random.default_rng(1).permutation(N) if numbered else np.arange(N)
    W, X = chain(order), np.random.default_rng(2).normal(size=(N, 2))
    found = []
    for most in (N, N - 1):
        monkeypatch.setattr(parts, "_WHOLE", most)
        on_graph = on_workers(W, tmp_path / str(most))
        name = on_graph.number(order, np.argsort(order)) if numbered else ""
        values, forces, _ = on_graph.evaluate(X, name, lambda: None)
        found.append((values, np.concatenate(forces)))
    assert [len(positions) for positions in sent] == [N, N // 2 + REACH, N // 2 + REACH]
    np.testing.assert_array_equal(sent[1], X[: N // 2 + REACH].astype(np.float32))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    force = np.empty((N, 2))
    value = Attraction(W[order][:, order].astype(np.float32), STUDENT, 1).value(X, force)
    assert sum(found[1][0]) == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(found[1][1], force, atol=1e-5)


def test_edges_to_all_points_need_all_positions(inside, sent, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_WHOLE", 100)
    far = csr_matrix((np.ones(N), (np.arange(N), np.arange(N)[::-1])), shape=(N, N))
    on_workers(far, tmp_path).evaluate(np.zeros((N, 2)), "", lambda: None)
    assert [len(positions) for positions in sent] == [N, N]
