"""Damaged files: each is read as far as it goes or refused in one line, and nothing else happens.

A fuzzer is a process of its own, this file run as a program, so that a crash is an outcome.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

#: What files are made of, and what breaks their readers.
TOKENS = [b"", b"0", b"-1", b"1e999", b"2.8E", b"nan", b"9" * 12, b"4294967295", b"\0", b"\xff"]
TOKENS += [b"\n", b"\r", b'"', b",", b";", b" ", b"%", b"#", b"e", b".", b"\x7f\xff\xff\xff"]
#: Bytes that a child may use in all.
MEMORY = 2**31


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, overwrite, insert, remove or repeat some bytes."""
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(damaged) + 1)
        length = rng.choice([1, 1, 2, 8])
        how = rng.randrange(6)
        if how == 0 and rng.random() < 0.5:
            del damaged[at:]
        elif how == 1 and at < len(damaged):
            damaged[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            damaged[at : at + length] = rng.randbytes(length)
        elif how == 3:
            token = rng.choice(TOKENS)
            damaged[at : at + rng.choice([0, len(token)])] = token
        elif how == 4:
            del damaged[at : at + length]
        else:
            damaged[at:at] = damaged[max(0, at - 4 * length) : at]
    return bytes(damaged)


def samples(kind: str, folder: Path) -> list[bytes]:
    """Small files of one kind."""
    from scipy import sparse
    from scipy.io import mmwrite

    import closeknit as ck

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)) * 10.0 ** rng.integers(-9, 9, (20, 4))
    words = [f"w{i % 3}" for i in range(20)]
    path = folder / f"sample.{kind}"
    graph = sparse.random(12, 12, 0.3, random_state=0, format="csr")
    if kind in ("csv", "csv.gz", "parquet", "npy"):
        ck.io.write_table(path, X, ids=None if kind == "npy" else words)
    elif kind == "npz":
        np.savez_compressed(path, X=X, words=words, feature_names=list("abcd"))
        first = path.read_bytes()
        sparse.save_npz(path, graph)
        return [first, path.read_bytes()]
    elif kind == "mtx":
        made = []
        for matrix in (graph, X, graph + graph.T, sparse.coo_matrix(graph > 0.5)):
            file = io.BytesIO()
            mmwrite(file, matrix, precision=17)
            made.append(file.getvalue())
        return made
    elif kind == "h5ad":
        import anndata
        import pandas as pd

        obs = pd.DataFrame({"kind": pd.Categorical(words[:12])}, index=list("abcdefghijkl"))
        cells = anndata.AnnData(graph, obs=obs)
        cells.write_h5ad(path)
        first = path.read_bytes()
        cells.obsm["X_pca"] = X[:12]
        cells.write_h5ad(path, compression="gzip")
        return [first, path.read_bytes()]
    else:
        from PIL import Image

        pixels = rng.integers(0, 256, (9, 7, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    return [path.read_bytes()]


def fuzz_table(kind: str, folder: Path, seed: int, rounds: int) -> None:
    """Print how reading each damaged file of a kind went."""
    from closeknit.exceptions import DataError
    from closeknit.io import read_table

    contents = samples(kind, folder)
    path = folder / f"damaged.{kind}"
    for number in range(seed, seed + rounds):
        rng = random.Random(number)
        content = rng.choice(contents)
        if kind == "csv.gz" and rng.random() < 0.5:  # damaged before it was compressed
            damaged = gzip.compress(mutate(gzip.decompress(content), rng))
        else:
            damaged = mutate(content, rng)
        path.write_bytes(damaged)
        print(number, end=" ", flush=True)
        try:
            table = read_table(path)
        except DataError as error:
            check_message(str(error), path)
        else:
            values = table.X.data if hasattr(table.X, "indptr") else table.X
            assert np.isfinite(values).all()
            assert table.X.shape == (table.n_samples, len(table.feature_names))
            if kind == "mtx":
                check_matrix_market(damaged, table.X)
            print("read", flush=True)


def check_message(message: str, path: Path) -> None:
    """One line that names the file."""
    assert message.startswith(f"cannot read {path}: "), message
    assert "\n" not in message
    print("refused", flush=True)


def check_matrix_market(content: bytes, X) -> None:
    """The sum of absolute values is that of the last cells of the lines, read by Python."""
    lines = [line.split() for line in content.decode("latin-1").splitlines()]
    field, symmetry = lines[0][3].lower(), lines[0][4].lower()
    if symmetry != "general" or field == "pattern":
        return
    body = [line for line in lines if line and not line[0].startswith("%")][1:]
    values = [abs(float(line[-1])) for line in body]
    assert abs(X).sum() <= sum(values) * (1.0 + 1e-12)
    if len({tuple(line[:-1]) for line in body}) == len(body) or lines[0][2].lower() == "array":
        assert abs(X).sum() >= sum(values) * (1.0 - 1e-12)


def fuzz_model(folder: Path, seed: int, rounds: int) -> None:
    """Print how loading each damaged model went; one that loads is used."""
    import warnings

    import closeknit as ck
    from closeknit.exceptions import ModelError

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    models = [
        ck.TSNE(perplexity=5, max_iter=3, random_state=0).fit(X),
        ck.EntropicAffinities(5, neighbors="approximate").fit(X),
        ck.SpectralClustering(2, perplexity=5, random_state=0).fit(X),
    ]
    packed = []
    for model in models:
        ck.io.save(model, folder / "m")
        with zipfile.ZipFile(folder / "m") as archive:
            packed.append({name: archive.read(name) for name in archive.namelist()})
    path = folder / "damaged"
    for number in range(seed, seed + rounds):
        draw = random.Random(number)
        parts = dict(draw.choice(packed))
        how = draw.randrange(4)
        if how == 0:  # the archive itself
            path.write_bytes(mutate(_pack(parts), draw))
        else:  # a part, in an archive that is sound
            name = "model.json" if how == 1 else draw.choice(list(parts))
            parts[name] = mutate(parts[name], draw) if how < 3 else _change_number(parts, draw)
            path.write_bytes(_pack({**parts, **({} if how < 3 else {"model.json": parts[name]})}))
        print(number, end=" ", flush=True)
        try:
            model = ck.io.load(path)
        except ModelError as error:
            check_message(str(error), path)
            continue
        try:
            model.set_params(n_jobs=1)
            getattr(model, "transform", model.get_params)(*([X[:5]] * hasattr(model, "transform")))
        except (ValueError, TypeError, AttributeError, IndexError, RuntimeError):
            pass  # it is no longer the model that was saved; what counts is that memory holds
        print("read", flush=True)


def _pack(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def _change_number(parts: dict[str, bytes], draw: random.Random) -> bytes:
    """The description with another number in one place."""
    content = json.loads(parts["model.json"])
    places = []

    def walk(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, dict | list):
                walk(value)
            elif type(value) in (int, float):
                places.append((node, key))

    walk(content["objects"])
    node, key = draw.choice(places)
    node[key] = draw.choice([-1, 0, 1, 7, 2**31, 2**63, 1e300, -0.5, None, "x", [], {}])
    return json.dumps(content).encode()


def run(tmp_path: Path, kind: str, rounds: int) -> None:
    """Run a fuzzer in a process of its own, and complain about what it did not survive."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, kind, str(tmp_path), "0", str(rounds)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60 + 30 * rounds,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (kind, lines[-1:], done.stderr[-3000:])
    *outcomes, memory = lines
    assert len(outcomes) == rounds
    assert {line.split()[1] for line in outcomes} <= {"read", "refused"}
    assert int(memory) < MEMORY, (kind, memory)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "npy", "npz", "mtx", "png"])
def test_damaged_tables(tmp_path, kind, rounds):
    run(tmp_path, kind, 5 * rounds)


def test_damaged_h5ad(tmp_path, rounds):
    """Fewer, because each is read by two processes."""
    run(tmp_path, "h5ad", max(1, rounds // 4))


def test_damaged_models(tmp_path, rounds):
    run(tmp_path, "model", 5 * rounds)


if __name__ == "__main__":
    import resource
    import warnings

    warnings.simplefilter("ignore")
    what, where, first, count = sys.argv[1:]
    if what == "model":
        fuzz_model(Path(where), int(first), int(count))
    else:
        fuzz_table(what, Path(where), int(first), int(count))
    own, children = (
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(1024 * max(own, children))
