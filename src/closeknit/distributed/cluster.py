"""A Dask cluster at work: a task per shard, in stages, through files that all workers see.

Tasks take the numbers of shards and leave arrays in a folder; what they return is small. A task
that is run twice, because a worker was lost, writes the same bits again. Nothing is ever sent to a
particular worker, and nothing is kept in one that could not be made anew from the folder.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from closeknit.exceptions import ClusterError, DataError, OutputError
from closeknit.io.arrays import load_array, map_array
from closeknit.io.extras import require
from closeknit.io.files import reading, replacing
from closeknit.progress import log, report

T = TypeVar("T")

#: Environment of worker processes on Linux: that they keep memory which they have used, as other
#: processes do. Dask has it returned at once, and new memory is slow on virtual machines.
WORKER_ENVIRONMENT = {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
#: How often an evaluation is repeated whose positions were lost with their worker.
_ATTEMPTS = 12


@dataclass(frozen=True)
class Folder:
    """Arrays by name, each written whole or not at all."""

    path: Path

    def file(self, name: str) -> Path:
        """Where an array is."""
        return self.path / f"{name}.npy"

    def save(self, name: str, array: NDArray[Any], *, durable: bool = False) -> None:
        """Write an array, which a crash of the machine need not leave behind unless `durable`."""
        array = np.ascontiguousarray(array)
        with replacing(self.file(name), durable=durable) as file:
            # As numpy.save does, which copies everything if the file can be read, too.
            header = np.lib.format.header_data_from_array_1_0(array)
            np.lib.format.write_array_header_1_0(file, header)
            file.write(array.data)

    def load(self, name: str, *, mapped: bool = False) -> NDArray[Any]:
        """Read an array, or map it where only some of it is wanted."""
        path = self.file(name)
        with reading(path):
            if mapped:
                return map_array(path)
            with path.open("rb") as file:
                return load_array(file, path.stat().st_size)

    def remove(self, pattern: str) -> None:
        """Delete arrays that are no longer needed."""
        for path in self.path.glob(f"{pattern}.npy"):
            path.unlink(missing_ok=True)

    def note(self, name: str, facts: dict[str, Any]) -> None:
        """Write that a stage is complete, and what it found."""
        with replacing(self.path / f"{name}.json") as file:
            file.write(json.dumps(facts).encode())

    def noted(self, name: str) -> dict[str, Any] | None:
        """What a stage found, if it is complete."""
        path = self.path / f"{name}.json"
        if not path.exists():
            return None
        with reading(path):
            return dict(json.loads(path.read_text("utf-8")))


@dataclass
class Cluster:
    """A client, and the folder in which its tasks leave their arrays.

    Parameters
    ----------
    client : distributed.Client
    folder : Folder
    """

    client: Any
    folder: Folder
    _owner: Any = field(default=None, repr=False)

    @classmethod
    def current(cls, folder: str | Path | None, resume: bool) -> Cluster:
        """Return the current client at work in a folder, which is removed in the end if None."""
        client = current_client()
        if folder is None:
            if resume:
                raise ValueError("resume=True needs the folder= of the run to go on with")
            path = Path(tempfile.mkdtemp(prefix="closeknit-"))
            made = cls(client, Folder(path))
            # When nothing can read the arrays any more: whatever can refers to this object.
            made._owner = weakref.finalize(made, shutil.rmtree, path, ignore_errors=True)
        else:
            path = Path(folder).absolute()
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(
                    f"cannot make folder={str(folder)!r}: {error.strerror}; choose another"
                ) from error
            if not resume and any(path.iterdir()):
                raise ValueError(
                    f"folder={str(folder)!r} is not empty; choose a new one, or go on with the "
                    "run in it by resume=True"
                )
            made = cls(client, Folder(path))
        made._check_folder()
        return made

    def _check_folder(self) -> None:
        """Refuse a folder that some worker does not see."""
        name = f".{secrets.token_hex(8)}"
        token = self.folder.path / name
        token.touch()
        try:
            seen = self.client.run(_exists, str(token))
        finally:
            token.unlink(missing_ok=True)
        blind = sorted(worker for worker, sees in seen.items() if not sees)
        if blind:
            raise ClusterError(
                f"worker {blind[0]} does not see {self.folder.path}; give folder= a folder that "
                "all workers and this process share"
            )

    def run(
        self,
        stage: str,
        function: Callable[..., Any],
        items: Iterable[Any],
        *common: Any,
        name: str = "block",
    ) -> list[Any]:
        """Call ``function(folder, item, *common)`` for every item, and return the results in order.

        `common` must be small; large arrays go through the folder.
        """
        batch = secrets.token_hex(4)
        items = list(items)
        futures = [
            self.client.submit(
                function, self.folder, item, *common, key=f"closeknit-{stage}-{batch}-{number}"
            )
            for number, item in enumerate(items)
        ]
        return self.collect(stage, futures, [f"{name} {item}" for item in items])

    def collect(self, stage: str, futures: Sequence[Any], names: Sequence[str]) -> list[Any]:
        """Wait for the futures of a stage, reporting how many are done."""
        from distributed import as_completed

        results: dict[str, Any] = {}
        where = {future.key: name for future, name in zip(futures, names, strict=True)}
        report(stage, 0, len(futures))
        try:
            for future in as_completed(futures):
                results[future.key] = future.result()
                report(stage, len(results), len(futures))
        except BaseException as error:
            self._cancel(futures)
            if not isinstance(error, Exception):
                raise
            raise self.explain(error, stage, where.get(future.key, stage)) from error
        return [results[future.key] for future in futures]

    def explain(self, error: Exception, stage: str, where: str) -> Exception:
        """Turn what went wrong into one sentence that says where, and what to do."""
        from distributed import KilledWorker

        if self.is_lost():
            return ClusterError(
                f"the scheduler is gone ({stage}); start the cluster again and go on with "
                f"folder={str(self.folder.path)!r}, resume=True"
            )
        if isinstance(error, KilledWorker):
            return ClusterError(
                f"{where} has lost {error.args[2] if len(error.args) > 2 else 'several'} workers "
                f"({stage}), most likely for want of memory; give workers more memory or fewer "
                "threads, or the data smaller chunks"
            )
        if isinstance(error, DataError | ValueError | ClusterError):
            return error
        if isinstance(error, OSError):
            return ClusterError(f"{where}: {error}")
        return ClusterError(f"{where} failed ({stage}): {type(error).__name__}: {error}")

    def is_lost(self) -> bool:
        """Whether there is no scheduler any more."""
        return self.client.status != "running" or self.client.scheduler is None

    def send(self, objects: Sequence[Any]) -> list[Any]:
        """Hand objects to some worker each, from which the others take them."""
        return list(self.client.scatter(list(objects), hash=False, direct=self._direct))

    def fetch(self, futures: Sequence[Any]) -> list[Any]:
        """Take results from the workers that have them."""
        return list(self.client.gather(list(futures), direct=self._direct))

    @cached_property
    def _direct(self) -> bool:
        """Whether this process reaches the workers by itself, not only through the scheduler."""
        try:
            self.client.scatter(0, hash=False, direct=True)
        except (OSError, TimeoutError):
            return False
        return True

    def repeat(
        self, stage: str, ask: Callable[[], list[Any]], meanwhile: Callable[[], T]
    ) -> tuple[list[Any], T]:
        """Compute what depends on arrays that were sent, again if these were lost on the way.

        Workers compute what `ask` submits, and this process meanwhile what it has to itself.
        """
        from distributed import CancelledError

        beside = cache(meanwhile)
        for attempt in range(_ATTEMPTS):
            futures: list[Any] = []
            try:
                futures = ask()
                own = beside()
                return self.fetch(futures), own
            except (CancelledError, OSError, TimeoutError) as error:
                if self.is_lost() or attempt == _ATTEMPTS - 1:
                    raise self.explain(error, stage, "an evaluation") from error
                log("a worker was lost; the evaluation is repeated")
                time.sleep(0.1 * 1.5**attempt)  # for the scheduler to notice
            except BaseException as error:
                self._cancel(futures)
                if not isinstance(error, Exception):
                    raise
                raise self.explain(error, stage, "an evaluation") from error
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _cancel(self, futures: Sequence[Any]) -> None:
        """Let workers forget what was asked of them, unless there are none any more."""
        if not self.is_lost():
            self.client.cancel(list(futures))


def current_client() -> Any:
    """The Dask client that was made last."""
    dask = require("distributed", "distributed", "closeknit.distributed needs dask.distributed")
    try:
        client = dask.Client.current()
    except ValueError:
        raise ClusterError(
            "there is no Dask cluster; connect to one first: from dask.distributed import Client; "
            "client = Client()"
        ) from None
    if client.asynchronous:
        raise ClusterError("the Dask client is asynchronous; make one with asynchronous=False")
    return client


def _exists(path: str) -> bool:
    return Path(path).exists()
