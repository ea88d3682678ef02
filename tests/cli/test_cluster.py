"""``closeknit embed`` on a Dask cluster."""

import os
import time
from contextlib import suppress

import pytest

from closeknit.cli import blocks, workers

Client = pytest.importorskip("distributed").Client
psutil = pytest.importorskip("psutil")
WORKER_ENVIRONMENT = pytest.importorskip("closeknit.distributed.cluster").WORKER_ENVIRONMENT


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
