"""``closeknit embed`` on a Dask cluster."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from closeknit.cli import blocks, workers

Client = pytest.importorskip("distributed").Client
psutil = pytest.importorskip("psutil")
WORKER_ENVIRONMENT = pytest.importorskip("closeknit.distributed.cluster").WORKER_ENVIRONMENT


#: Ends a command by Ctrl-C that comes while a function of `workers` returns to its caller.
INTERRUPTED = """
import os, signal, subprocess, sys
from closeknit.cli import errors, signals, workers

place, sent = sys.argv[1], []

def after(function):
    def call(*args, **options):
        result = function(*args, **options)
        if not sent:
            sent.append(True)
            signal.raise_signal(signal.SIGINT)
        return result
    return call

if place == "read":
    def run():
        signals.state.held = True
        signal.raise_signal(signal.SIGINT)
        signals.state.held = False
        os.read(os.pipe()[0], 1)
elif place == "readline":
    def run():
        with workers.started(1):
            signal.raise_signal(signal.SIGINT)
else:
    if place == "Popen":
        subprocess.Popen.__init__ = after(subprocess.Popen.__init__)
    else:
        setattr(workers, place, after(getattr(workers, place)))
    def run():
        with workers.started(1):
            if place != "rmtree":
                while True:
                    pass

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in the background
signals.watch_signals()
errors.reporting_errors(run)
"""


def told(process, what):
    """What a process says of itself, if it is there and may be asked."""
    try:
        return getattr(process, what)()
    except (psutil.Error, OSError):
        return {}


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--workers", "2", "--cluster", "tcp://here:1"], "exclude each other"),
        (["--workers", "2", "--method", "sne"], "does not run on a cluster"),
        (["--workers", "2", "--save-model", "m.closeknit"], "--save-model has no use here"),
    ],
)
def test_what_a_cluster_does_not_do_is_said(tmp_path, in_process, options, saying):
    (tmp_path / "a.csv").write_text("a,b,c\n" + "1,2,3\n4,5,7\n" * 20)
    in_process("embed", "a.csv", *options).fails(2, saying=saying)


@pytest.mark.slow
def test_workers_end_in_the_middle_of_a_task():
    with workers.started(1) as address, Client(address) as client:
        (pid,) = client.run(os.getpid).values()
        for name, value in WORKER_ENVIRONMENT.items():  # Dask has an opinion of its own
            assert set(client.run(os.getenv, name).values()) == {value}
        worker = psutil.Process(pid)
        task = client.submit(time.sleep, 1000)
        while not any(client.processing().values()):
            time.sleep(0.01)
    assert task.status != "finished"
    with suppress(psutil.NoSuchProcess):
        while worker.status() != psutil.STATUS_ZOMBIE:  # which the system has to collect
            time.sleep(0.01)


def is_interrupted(place, **environment):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, place],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "closeknit: interrupted\n")


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows wakes no waiting thread")
def test_a_signal_that_had_to_wait_ends_what_waits():
    is_interrupted("read")


@pytest.mark.parametrize("place", ["mkdtemp", "Popen", "readline", "rmtree"])
def test_ctrl_c_leaves_no_worker_and_no_folder(tmp_path, place):
    """At bad moments: when something has just been started or is being ended."""
    is_interrupted(place, TMPDIR=str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    mark = str(tmp_path)
    assert not any(
        mark in told(process, "environ").get("TMPDIR", "") for process in psutil.process_iter()
    )


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_a_scheduler_that_does_not_answer(monkeypatch):
    """Dask would wait for it for seconds, up to twenty."""
    waits, close = [], Client.close

    def spy(self, **options):
        waits.append(options.get("timeout"))
        close(self, **options)

    monkeypatch.setattr(Client, "close", spy)

    def fit():
        with blocks.client(None, 1):
            for process in psutil.Process().children(recursive=True):
                process.suspend()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit()
    assert len(waits) == 1
    assert waits[0] < 1.0


def test_workers_that_do_not_start_are_said(tmp_path, in_process, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b,c\n" + "1,2,3\n4,5,7\n" * 20)
    monkeypatch.setattr(workers, "__name__", "antigravity_is_no_module")
    in_process("embed", "a.csv", "--workers", "2").fails(1, saying="the 2 workers did not start")


@pytest.mark.slow
def test_a_folder_becomes_a_map_with_labels_and_a_picture(tmp_path, in_process):
    pl, np = pytest.importorskip("polars"), pytest.importorskip("numpy")
    X = np.random.default_rng(0).normal(size=(120, 4))
    (tmp_path / "cells").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(120), 3)):
        frame = {f"x{i}": X[rows, i] for i in range(4)}
        names = {"id": [f"cell {i}" for i in rows], **frame, "kind": [f"k{i % 2}" for i in rows]}
        pl.DataFrame(names).write_parquet(tmp_path / "cells" / f"{part}.parquet")
    options = ["--workers", "1", "--perplexity", "5", "--max-iter", "5"]
    in_process("embed", "cells", "-o", "map.parquet", "--plot", "map.png", *options).succeeds()
    written = pl.read_parquet(tmp_path / "map.parquet")
    assert written.columns == ["id", "tsne0", "tsne1", "kind"]
    assert written["id"].to_list() == [f"cell {i}" for i in range(120)]
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    in_process("embed", "cells", "--workers", "1", "--pca", "2").fails(2, saying="is a folder")
