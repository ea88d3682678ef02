"""Reading tables: seconds for 200,000 × 50 numbers in CSV, beside pandas and Polars.

    python benchmarks/reading.py [--rows 200000]

One file holds numbers only; the other names of rows and labels, of which a third are quoted, too.
Both lie in a temporary folder and have just been written, hence are in the system's cache. A table
goes to standard output, with processor seconds in brackets and whether every number is the one
that was written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from closeknit.io import read_table

N_COLUMNS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    n = parser.parse_args().rows
    names = [f"c{i}" for i in range(N_COLUMNS)]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n, N_COLUMNS)), columns=names)
    mixed = frame.assign(kind=np.array(["a", "b b", "c,d"])[np.arange(n) % 3])
    mixed.insert(0, "id", [f"r{i}" for i in range(n)])
    readers: dict[str, Callable[[Path], Any]] = {
        "closeknit": lambda path: read_table(path).X,
        "pandas": lambda path: pd.read_csv(path)[names].to_numpy(),
        "Polars": lambda path: pl.read_csv(path).select(names).to_numpy(),
    }
    print("| seconds (of the processor) | " + " | ".join(readers) + " |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        for what, written in (("numbers", frame), ("with text", mixed)):
            written.to_csv(path, index=False)
            cells = [measure(read, path, frame.to_numpy()) for read in readers.values()]
            print(f"| {what} | " + " | ".join(cells) + " |", flush=True)


def measure(read: Callable[[Path], Any], path: Path, expected: np.ndarray) -> str:
    wall, cpu = time.perf_counter(), time.process_time()
    X = read(path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    same = "" if np.array_equal(X, expected) else ", not exact"
    return f"{wall:.1f} ({cpu:.1f}){same}"


if __name__ == "__main__":
    main()
