"""Files that are damaged, or larger than they seem: refused in one line that says where."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys

import h5py
import numpy as np
import pytest
from PIL import Image
from scipy import sparse

import closeknit as ck
from closeknit.exceptions import DataError, ModelError
from closeknit.io import files, read_table
from closeknit.io.anndata import observations

HEAD = "%%MatrixMarket matrix coordinate real general\n3 3 2\n"


def fails(path, saying):
    with pytest.raises(DataError, match=saying) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"cannot read {path}: ")
    assert "\n" not in str(caught.value)


# ---- Matrix Market -------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "\n", "\r\n", " \n"])
@pytest.mark.parametrize(
    "cell", ["2.87E", "2.87E-", "2.87e+", "2.87x", "2,87", "0x5", "-", "", "."]
)
@pytest.mark.parametrize("suffix", ["mtx", "mtx.gz"])
def test_a_matrix_that_ends_inside_a_number(tmp_path, cell, end, suffix):
    """SciPy crashes on some, and reads others as 2.8, 2 or 0."""
    path = tmp_path / f"a.{suffix}"
    content = f"{HEAD}1 1 1.5\n2 2 {cell}{end}".encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    fails(path, r"damaged or incomplete \(line 4 ")


@pytest.mark.parametrize(
    ("body", "saying"),
    [
        ("1 1 1.5E\n2 2 1\n", "line 3 does not hold 3 numbers"),
        ("1 1 1 7\n2 2 1\n", "line 3 does not hold 3 numbers"),
        ("1 1 1\n2 2\n", "line 4 does not hold 3 numbers"),
        ("1 1 1\n", "Truncated file"),
        ("1 1 1\n2 2 1\n3 3 1\n", "Too many lines"),
        ("1 4 1\n2 2 1\n", "out of bounds"),
        ("0 1 1\n2 2 1\n", "out of bounds"),
    ],
)
def test_other_damage_to_a_matrix(tmp_path, body, saying):
    path = tmp_path / "a.mtx"
    path.write_text(HEAD + body)
    fails(path, saying)


@pytest.mark.parametrize("body", ["1 1 -.5\n3 2 1.e5", "\n1\t1  1E-3\r\n\n 3 2 2 \n"])
def test_whole_matrices_are_read(tmp_path, body):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket MATRIX Coordinate real general\n% c\n\n3 3 2\n" + body)
    expected = [float(line.split()[2]) for line in body.splitlines() if line.strip()]
    assert read_table(path).X.data.tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        "%%MatrixMarket matrix coordinate real general\n1000000000 3 1\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 1000000000 1\n1 1 1\n",
        "%%MatrixMarket matrix array real general\n100000 100000\n1\n",
    ],
)
def test_sizes_that_only_a_header_speaks_of(tmp_path, text):
    (tmp_path / "a.mtx").write_text(text)
    fails(tmp_path / "a.mtx", r"would take .* GiB of memory, more than 100 times its size")


# ---- archives ------------------------------------------------------------------------------------


def claim(content, size):
    """An archive whose first member claims to be of another size."""
    at = content.index(b"PK\x01\x02") + 24
    return content[:at] + struct.pack("<I", size) + content[at + 4 :]


def test_an_archive_that_expands_to_gigabytes(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.zeros((100, 100)))
    path.write_bytes(claim(path.read_bytes(), 2**32 - 2))
    fails(path, r"would take 4\.0 GiB of memory")
    np.savez_compressed(path, X=np.zeros((100, 100)))
    path.write_bytes(claim(path.read_bytes(), 90_000))  # more than there is
    fails(path, "damaged or incomplete")


@pytest.mark.parametrize("suffix", ["npz", "csv.gz", "mtx.gz", "parquet", "png"])
def test_what_is_compressed_may_expand_a_hundredfold(tmp_path, suffix, monkeypatch):
    X = np.zeros((1000, 500))
    path = tmp_path / f"a.{suffix}"
    if suffix == "npz":
        np.savez_compressed(path, X=X)
    elif suffix in ("csv.gz", "parquet"):
        ck.io.write_table(path, X)
    elif suffix == "png":
        Image.new("L", (1000, 500)).save(path)
        X = read_table(path).X
    else:
        head = "%%MatrixMarket matrix array real general\n1000 500\n"
        path.write_bytes(gzip.compress((head + "0\n" * X.size).encode()))
    np.testing.assert_array_equal(read_table(path).X, X)
    monkeypatch.setattr(files, "_FLOOR", 1000)
    monkeypatch.setattr(files, "_RATIO", 2)
    fails(path, "more than 2 times its size; if that is right, store it uncompressed")


def test_a_sparse_archive_with_a_huge_shape(tmp_path):
    X = sparse.coo_matrix(np.eye(3))
    parts = {"format": b"coo", "data": X.data, "row": X.row, "col": X.col}
    np.savez(tmp_path / "a.npz", shape=(2**40, 2**40), **parts)
    fails(tmp_path / "a.npz", "GiB of memory")


def test_a_header_that_claims_more_than_the_file_holds(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((80, 10)))
    content = (tmp_path / "a.npy").read_bytes()
    for claimed in (b"(8000000000000, 10), }", b"(-80, 10), }", b"(80, 11), }"):
        old = b"(80, 10), }" + b" " * (len(claimed) - 11)
        assert old in content
        (tmp_path / "a.npy").write_bytes(content.replace(old, claimed))
        fails(tmp_path / "a.npy", "does not have the length")


def test_a_compressed_model_is_refused(tmp_path):
    """It could be of any size; `save` never compresses."""
    import zipfile

    ck.io.save(ck.EntropicAffinities(3).fit(np.arange(9.0)[:, None]), tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as old, zipfile.ZipFile(tmp_path / "n", "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ModelError, match="is compressed, which closeknit does not do"):
        ck.io.load(tmp_path / "n")


# ---- H5AD ----------------------------------------------------------------------------------------


@pytest.fixture
def cells(tmp_path):
    import anndata

    path = tmp_path / "cells.h5ad"
    anndata.AnnData(sparse.random(20, 6, 0.5, random_state=0, format="csr")).write_h5ad(path)
    return path


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("value", [-1, 1000, 2**31 - 1])
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_indices_outside_the_matrix(cells, part, value, layout):
    """Compiled code would read memory that is not the matrix's."""
    with h5py.File(cells, "r+") as file:
        file["X"][part][1] = value
        if layout == "csc":
            file["X"].attrs["encoding-type"] = "csc_matrix"
            file["X"].attrs["shape"] = (6, 20)
    fails(cells, "damaged or incomplete")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_file(cells, share):
    content = cells.read_bytes()
    cells.write_bytes(content[: int(share * len(content))])
    fails(cells, "damaged or incomplete")


def test_raw_errors_of_libraries_become_one_line(cells):
    with h5py.File(cells, "r+") as file:
        file["X"].attrs["encoding-version"] = "99"  # anndata's IORegistryError
    fails(cells, "damaged or incomplete")


def test_arrays_that_are_larger_than_they_seem(cells):
    with h5py.File(cells, "r+") as file:
        file.create_dataset("obsm/huge", shape=(20, 10**9), dtype="f8", chunks=(20, 1000))
    fails(cells, r"its arrays would take 149\.0 GiB of memory")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no shell there")
@pytest.mark.parametrize(
    ("script", "saying"),
    [
        ("kill -SEGV $$", "HDF5 crashes on it"),
        ("sleep 60", "HDF5 reads its text for more than 1 s"),
        ("kill -XCPU $$", "HDF5 reads its text for more than 1 s"),
    ],
)
def test_a_file_that_crashes_or_hangs_hdf5(cells, tmp_path, monkeypatch, script, saying):
    """As some damaged ones do; the process that reads is not the one that ends."""
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\nexec 2>/dev/null\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    monkeypatch.setattr(observations, "_PATIENCE", 1)
    monkeypatch.setattr(observations, "_BUSY", 1)
    fails(cells, saying)


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is not limited there")
def test_a_machine_that_is_busy_does_not_damage_a_file(cells, tmp_path, monkeypatch):
    """Reading may take a while, as long as HDF5 itself is not what takes it."""
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 3\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(observations, "_PATIENCE", 2)
    assert read_table(cells).n_samples > 0


# ---- wide and long tables ------------------------------------------------------------------------

PEAK = """
import resource, sys
from closeknit.io import read_table
import pyarrow.csv
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = read_table(sys.argv[1])
print(table.X.shape[1], len(table.labels))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is counted otherwise")
@pytest.mark.parametrize("shape", ["wide", "long cells"])
def test_wide_tables_and_long_cells_take_little_memory(tmp_path, shape):
    """A hundred times the size of the file, or a gigabyte, is what the documentation states."""
    path = tmp_path / "a.csv"
    if shape == "wide":
        row = ",".join(["1.5"] * 50_000)
        names = ",".join(f"gene{i}" for i in range(50_000))
        path.write_text("\n".join([names, *[row] * 5]) + "\n")
    else:
        path.write_text("a,b\n" + f"1.5,{'x' * 100_000}\n" * 200)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, path], capture_output=True, encoding="utf-8", check=True
    )
    columns, kilobytes = done.stdout.splitlines()
    assert columns == ("50000 0" if shape == "wide" else "1 1")
    assert 1024 * int(kilobytes) < max(2**30, 100 * path.stat().st_size)
