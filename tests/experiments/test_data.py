"""The papers' data and their stand-ins."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from closeknit.apps.pixels import to_luv
from closeknit.exceptions import DataError
from closeknit.experiments import data


@pytest.mark.parametrize("installed", [True, False])
def test_photograph(monkeypatch, installed):
    """Pixels in raster order; china stands in for the astronaut."""
    if installed:
        pytest.importorskip("skimage.data")
    else:
        monkeypatch.setitem(sys.modules, "skimage.data", None)
    points = data.photograph(40)
    assert points.name == ("astronaut" if installed else "china")
    assert points.image.shape == (40, 40, 3)
    np.testing.assert_array_equal(points.X[41, :2], [1, 1])
    np.testing.assert_allclose(points.X[:, 2:], to_luv(points.image).reshape(-1, 3))


def test_files(tmp_path):
    """As the folder's files hold them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (1440, 5), dtype=np.uint8)
    y = np.repeat(np.arange(20), 72)
    np.savez(tmp_path / "coil20.npz", X=X, y=y)
    np.savez(tmp_path / "mnist70k.npz", X=X, y=y)
    counts = {"data": [2, 1, 1], "indices": [0, 1, 1], "indptr": [0, 2, 3], "shape": [2, 2]}
    np.savez(tmp_path / "newsgroups20_counts.npz", y=[0, 1], **counts)
    views = data.coil(tmp_path)
    np.testing.assert_array_equal(255.0 * views.X, X[:720])
    assert views.ring == 72
    assert set(views.y) == set(range(10))
    assert len(data.coil(tmp_path, n_objects=20).X) == 1440
    some = data.mnist(tmp_path, 100)
    assert some.X.dtype == np.float32
    assert len(some.y) == 100
    np.testing.assert_allclose(np.linalg.norm(data.newsgroups(tmp_path).X.toarray(), axis=1), 1.0)


@pytest.mark.parametrize("load", [data.coil, data.newsgroups, lambda f: data.mnist(f, 10)])
def test_missing_files_are_named(tmp_path, load):
    with pytest.raises(DataError, match=r"cannot read .*\.npz: there is no such file"):
        load(tmp_path)
