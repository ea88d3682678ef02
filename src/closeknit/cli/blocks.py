"""Fits on a cluster: the connection, and tables that are read and written in blocks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import outputs as out
from closeknit.cli import signals, workers
from closeknit.cli.data import DataCommand
from closeknit.cli.errors import CommandError, UsageError

if TYPE_CHECKING:
    from closeknit.io import Table

#: What is read in blocks, as folders are.
_ENDINGS = (".parquet", ".npy")
#: Seconds in which a scheduler may answer that it has let us go, if a signal ends the command.
_FAREWELL = 0.2


@contextmanager
def client(address: str | None, n_workers: int | None) -> Iterator[None]:
    """Connect to a scheduler, or start workers on this machine."""
    if address is not None and n_workers is not None:
        raise UsageError("--cluster and --workers exclude each other; leave one of them out")
    from closeknit.io.extras import require

    dask = require("distributed", "distributed", "fits on a cluster need dask.distributed")
    # Where tasks of Dask's client that a signal has ended would be reported, with tracebacks.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with nullcontext(address) if n_workers is None else workers.started(n_workers) as scheduler:
        try:
            connected = dask.Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise CommandError(
                f"there is no Dask scheduler at {scheduler}; check the address ({error})"
            ) from None
        try:
            yield
        except BaseException as error:
            signalled = signals.signal_behind(error) is not None
            with suppress(TimeoutError):  # of a scheduler that is busy, or stopped
                connected.close(**({"timeout": _FAREWELL} if signalled else {}))
            raise
        connected.close()


def read(command: DataCommand) -> Table | None:
    """Read the input in blocks; None where it must be read in one piece."""
    path, roles = command.path, command.roles
    whole = command.standardize or command.pca is not None or command.missing == "drop"
    named = any(value is not None for value in roles.values())
    if path.is_dir():
        if whole:
            raise UsageError(
                f"{path} is a folder, which is read in blocks; --standardize, --pca and --missing "
                "drop need one file"
            )
    elif whole or path.suffix not in _ENDINGS or (path.suffix == ".npy" and named):
        return None
    from closeknit import distributed

    return command.without_dropped(distributed.read(path.absolute(), **roles))


def is_in_blocks(table: Table) -> bool:
    """Whether the arrays of a table are Dask arrays."""
    return hasattr(table.X, "dask")


def in_memory(table: Table) -> Table:
    """Collect what is known about the rows, but for the features."""
    import numpy as np

    labels = {name: np.asarray(column) for name, column in table.labels.items()}
    return replace(table, labels=labels, ids=None if table.ids is None else np.asarray(table.ids))


def write_map(
    path: Path, Y: Any, columns: Sequence[str], table: Table, source: Path | None = None
) -> None:
    """Write positions with the names and labels of the rows, into a Parquet file block by block."""
    import numpy as np

    if path.suffix.lower() != ".parquet":
        out.write_rows(path, np.asarray(Y), columns, in_memory(table), source)
        return
    from closeknit import distributed

    distributed.write_map(path, Y, table, columns)
