"""Local workers, in a process of their own: ``python -m closeknit.cli.workers N``.

Dask asks workers to end and waits for the tasks they have begun, seconds long, and cannot be
interrupted while it starts them. A process of its own can be killed at any moment, and its workers
with it; their files are in a folder that goes with them.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import rmtree
from tempfile import mkdtemp

from closeknit.cli.errors import CommandError
from closeknit.cli.signals import state

#: Folders that are in use, and their processes. A signal at the very end of a block comes before
#: the block's own end, which then does not take place.
_folders: dict[str, subprocess.Popen[str] | None] = {}


@contextmanager
def started(n_workers: int) -> Iterator[str]:
    """Start workers, give the address of their scheduler, and end them at once afterwards."""
    try:
        process = _start(n_workers)
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise CommandError(
                f"the {n_workers} workers did not start; try fewer, or leave --workers out"
            )
        yield address
    finally:
        _end()


def _start(n_workers: int) -> subprocess.Popen[str]:
    try:
        # A signal between the start of a process and the record of it would leave it running.
        state.held = True
        folder = mkdtemp(prefix="closeknit-workers-")
        _folders[folder] = None
        process = _folders[folder] = subprocess.Popen(
            [sys.executable, "-m", __name__, str(n_workers), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Whatever is killed in the middle leaves its files in the folder.
            env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)},
            start_new_session=True,  # Ctrl-C in a terminal is for the command alone
        )
    finally:
        state.held = False
    return process


@atexit.register
def _end() -> None:
    """Kill the workers and remove their folder; what a signal ends in the middle is done again."""
    for folder, process in [*_folders.items()]:
        if process is not None and process.returncode is None:
            if hasattr(os, "killpg"):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            assert process.stdout is not None
            process.stdout.read()  # until the last of them has ended, and makes no more files
            process.wait()
        rmtree(folder, ignore_errors=True)
        del _folders[folder]


def _serve(n_workers: int, folder: str) -> None:
    """Keep workers until the process that started them is gone."""
    import dask
    from distributed import LocalCluster

    from closeknit.distributed.cluster import WORKER_ENVIRONMENT

    os.environ.update(WORKER_ENVIRONMENT)  # Dask may have left its own in our parent's
    dask.config.set(
        {
            "temporary-directory": folder,  # the scheduler's, too
            # Dask gives a worker up if it is not there this long after it was lost, although it may
            # have been replaced, lost again and be about to be replaced once more.
            "distributed.deploy.lost-worker-timeout": "1 day",
        }
    )
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=50,
        local_directory=folder,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])
