"""Bandwidths, affinities and their graph are those of one machine, to the bit."""

import numpy as np
import pytest
from scipy import sparse

da = pytest.importorskip("dask.array")

import closeknit as ck  # noqa: E402
import closeknit.distributed as ckd  # noqa: E402
from closeknit.distributed.affinities import symmetrize  # noqa: E402


def rows_of(graph):
    return sparse.vstack([graph.shard(i) for i in graph.blocks.numbers]).tocsr()


@pytest.mark.parametrize("perplexity", [10.0, [5.0, 20.0]])
@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
def test_bandwidths_and_graph_have_the_bits_of_one_machine(inside, points, perplexity):
    X = da.from_array(points, chunks=(333, -1))
    many = ckd.EntropicAffinities(perplexity, cell_size=400).fit(X)
    one = ck.EntropicAffinities(perplexity, neighbors=many.neighbors_.gather()).fit(points)
    np.testing.assert_array_equal(many.betas_.compute(), one.betas_)
    np.testing.assert_array_equal(many.sigmas_.compute(), one.sigmas_)
    np.testing.assert_array_equal(many.converged_.compute(), one.converged_)
    P = one.affinities_.copy()
    P.sort_indices()
    for ours, theirs in ((many.affinities_, P), (symmetrize(many.affinities_), None)):
        theirs = ck.graphs.symmetrize(P) if theirs is None else theirs
        found = rows_of(ours)
        if ours.name == "graph":
            theirs.eliminate_zeros()
        np.testing.assert_array_equal(found.indptr, theirs.indptr)
        np.testing.assert_array_equal(found.indices, theirs.indices)
        np.testing.assert_array_equal(found.data, theirs.data)


def test_rows_without_a_bandwidth_are_warned_of(inside, points):
    with pytest.warns(ck.exceptions.NoBandwidthWarning) as expected:
        ck.EntropicAffinities(10).fit(points)
    with pytest.warns(ck.exceptions.NoBandwidthWarning) as found:
        ckd.EntropicAffinities(10).fit(points)
    assert str(found[0].message) == str(expected[0].message)


def test_some_rows_of_a_graph(inside, points):
    P = ckd.EntropicAffinities(5).fit_transform(da.from_array(points[:400], chunks=(90, -1)))
    rows = np.array([0, 89, 90, 399])
    np.testing.assert_array_equal(P[rows].toarray(), rows_of(P)[rows].toarray())


@pytest.mark.parametrize("kind", ["npz", "parquet", "zarr"])
def test_shards_are_written(inside, points, tmp_path, kind):
    P = ckd.EntropicAffinities(5).fit_transform(da.from_array(points[:400], chunks=(200, -1)))
    P.write(tmp_path, kind)
    whole = rows_of(P)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    if kind == "npz":
        again = sparse.vstack([sparse.load_npz(file) for file in files])
    else:
        parts = [columns_of(file, kind) for file in files]
        row, column, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        again = sparse.csr_matrix((weight, (row, column)), shape=whole.shape)
    assert (again != whole).nnz == 0


def columns_of(file, kind):
    names = ("row", "column", "weight")
    if kind == "zarr":
        import zarr

        return [zarr.open_group(file, mode="r")[name][:] for name in names]
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    return [table[name].to_numpy() for name in names]


def test_new_points_have_the_affinities_of_one_machine(inside, points):
    fitted, new = points[:600], points[600:700] + 0.01
    many = ckd.EntropicAffinities(5, target_recall=1.0, cell_size=150).fit(fitted)
    one = ck.EntropicAffinities(5, neighbors="exact").fit(fitted)
    difference = abs(many.transform(new) - one.transform(new))
    assert difference.max() < 1e-9


@pytest.mark.parametrize(
    "wrong", [{"include_self": True}, {"order": "mst"}, {"neighbors": "exact"}]
)
def test_what_is_not_distributed_is_said(inside, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=.* is not distributed"):
        ckd.EntropicAffinities(2, **wrong).fit(np.eye(10))
