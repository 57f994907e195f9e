"""Disks that are full, files that may not grow, devices that refuse: a clear error, old files whole, nothing left behind."""

from __future__ import annotations

import errno
import http.server
import os
import resource
import stat
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.faults.effort import fill, python, small_disk

import p_vision as keras
import pyburn
from pyburn.data.download import download
from pyburn.data.files import SqliteDatasetWriter, write_idx, write_wav
from pyburn.data.unpack import unpack_members
from pyburn.train import CheckpointError, Last, Learner, Run, When, read_run

BIG = {"x": pyburn.ones(200_000)}  # 800 kB


def keras_model() -> Any:
    model = keras.Sequential([keras.Input((300,)), keras.layers.Dense(400)])
    model.compile("sgd", "mse")
    return model


def write_table(path: Path) -> None:
    with SqliteDatasetWriter(path, overwrite=True) as writer:
        for _ in range(20):
            writer.write("train", {"x": np.zeros(10_000)})


WRITERS: dict[str, Callable[[Path], Any]] = {
    "save": lambda path: pyburn.save(BIG, path),
    "safetensors": lambda path: pyburn.io.safetensors.save_file(BIG, path),
    "bundle": lambda path: pyburn.io.Bundle.save(path, BIG),
    "npz": lambda path: pyburn.io.save_npz(path, **BIG),
    "npy": lambda path: pyburn.io.save_npy(path, BIG["x"]),
    "idx": lambda path: write_idx(path, np.zeros(200_000, np.int32)),
    "wav": lambda path: write_wav(path, np.zeros(400_000, np.int16), 8000),
    "sqlite": write_table,
    "keras": lambda path: keras_model().save(path.with_suffix(".pyburn")),
    "graph": lambda path: pyburn.inference.compile(pyburn.nn.Linear(300, 400), pyburn.ones(1, 300)).save(path),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "fill"}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    with small_disk(tmp_path / "disk") as disk:
        (disk / "file.pyburn").write_bytes(b"old")
        (disk / "file").write_bytes(b"old")
        fill(disk)
        before = contents(disk)
        with pytest.raises(Exception, match="No space left on device|disk is full|disk I/O error"):
            WRITERS[name](disk / "file")
        assert contents(disk) == before


@pytest.mark.parametrize("name", [name for name in WRITERS if name not in ("sqlite", "keras")])
def test_a_file_that_may_not_grow(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"old")
    before = contents(tmp_path)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, limit[1]))
    try:
        with pytest.raises(OSError) as caught:
            WRITERS[name](tmp_path / "file")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert caught.value.errno == errno.EFBIG
    assert contents(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("name", [name for name in WRITERS if name not in ("sqlite", "keras")])
def test_a_device_is_written_to_and_stays_a_device(name: str) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        WRITERS[name](Path("/dev/full"))
    WRITERS[name](Path("/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)


def learner(**options: Any) -> Learner:
    pyburn.manual_seed(0)
    model = pyburn.nn.Linear(300, 100)
    return Learner(model, pyburn.optim.SGD(model.parameters(), lr=0.01), loss=pyburn.nn.MSELoss(), **options)


DATA = [(pyburn.ones(4, 300), pyburn.ones(4, 100))] * 5


def test_training_goes_on_and_saves_when_there_is_room_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "600k") as disk:
        full: list[Path] = []
        at = {2: lambda: full.append(fill(disk)), 4: lambda: full[0].unlink()}
        trained = learner(callbacks=[When(on_epoch_start=lambda one: at.get(one.state.epoch, int)())])
        trained.fit(DATA, None, 5, run=disk / "run", checkpoints=[Last()], display="quiet")
        record = read_run(disk / "run")
        assert record.state == "finished" and [one["epoch"] for one in record.checkpoints()] == [5]
        assert record.series("epoch", "train", "loss")[:, 1].tolist() == [1, 2, 3, 4, 5]
        left = [path.name for path in (disk / "run").rglob(".*")]
        assert left == []
        assert [path.name for path in (disk / "run" / "checkpoints").glob("*.pt")] == ["step-00000025.pt"]


def test_a_disk_that_stays_full_is_told_at_the_end(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "600k") as disk:
        hook = When(on_epoch_start=lambda one: one.state.epoch == 2 and fill(disk))
        with pytest.raises(CheckpointError, match="No space left on device.*The model is whole in memory"):
            learner(callbacks=[hook]).fit(DATA, None, 3, run=disk / "run", checkpoints=[Last()], display="quiet")
        with pytest.raises(OSError, match="No space left on device"):  # what is resumed begins by writing
            learner().fit(DATA, None, 3, run=disk / "run", resume=True, checkpoints=[Last()], display="quiet")
        (disk / "fill").unlink()
        trained = learner()
        trained.fit(DATA, None, 3, run=disk / "run", resume=True, checkpoints=[Last()], display="quiet")  # from the old checkpoint
        assert trained.state.epoch == 3 and read_run(disk / "run").status["step"] == 15


def test_a_read_only_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "600k") as disk:
        learner().fit(DATA, None, 1, run=disk / "run", checkpoints=[Last()], display="quiet")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(OSError, match="Read-only file system"):
            Run(disk / "other")
        with pytest.raises(OSError, match="Read-only file system"):
            pyburn.save(BIG, disk / "x.pt")
        assert read_run(disk / "run").state == "finished"


def test_a_csv_log_waits_for_room(tmp_path: Path) -> None:
    x, y = np.zeros((8, 300), np.float32), np.zeros((8, 400), np.float32)
    with small_disk(tmp_path / "disk", "100k") as disk:
        (disk / "log.csv").write_text("epoch;loss\n" + "0" * (4096 - 12) + "\n")  # whole pages: the next line needs another one
        full: list[Path] = []
        steps = {0: lambda: full.append(fill(disk)), 3: lambda: full[0].unlink()}
        acts = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: steps.get(epoch, int)())
        with pytest.warns(UserWarning, match="No space left on device. The lines wait"):
            keras_model().fit(
                x, y, epochs=5, verbose=0, callbacks=[acts, keras.callbacks.CSVLogger(disk / "log.csv", separator=";", append=True)]
            )
        rows = (disk / "log.csv").read_text().splitlines()
        assert [row.split(";")[0] for row in rows[2:]] == ["0", "1", "2", "3", "4"]


def test_a_backup_that_does_not_fit_leaves_the_one_before(tmp_path: Path) -> None:
    x, y = np.zeros((8, 300), np.float32), np.zeros((8, 400), np.float32)
    with small_disk(tmp_path / "disk", "900k") as disk:
        backup = keras.callbacks.BackupAndRestore(disk / "backup", delete_checkpoint=False)
        keras_model().fit(x, y, epochs=1, verbose=0, callbacks=[backup])
        before = contents(disk / "backup")
        fill(disk)
        with pytest.raises(OSError, match="No space left on device"):
            keras_model().fit(x, y, epochs=3, verbose=0, callbacks=[backup])
        assert contents(disk / "backup") == before


def test_archives_that_do_not_fit(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("big", bytes(1 << 20))
    with small_disk(tmp_path / "disk") as disk:
        with pytest.raises(OSError, match="No space left on device"):
            unpack_members(tmp_path / "data.zip", disk, {"big": "big"})
        assert contents(disk) == {}


class Server(http.server.BaseHTTPRequestHandler):
    requests = 0

    def do_GET(self) -> None:
        Server.requests += 1
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 20))
        self.end_headers()
        try:
            self.wfile.write(bytes(1 << 20))
        except OSError:
            return

    def log_message(self, *args: Any) -> None:
        """Says nothing."""


def test_a_download_that_does_not_fit(tmp_path: Path) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with small_disk(tmp_path / "disk") as disk:
            url = f"http://127.0.0.1:{server.server_port}/file"
            with pytest.raises(OSError, match="No space left on device"):
                download([url, url], disk / "file", progress=False)
            assert Server.requests == 1  # neither another try nor another server would help
            assert contents(disk) == {}
    finally:
        server.shutdown()
        server.server_close()


def test_displays_on_a_full_disk(tmp_path: Path) -> None:
    """stdout and stderr go to a file that takes nothing more: training goes on."""
    program = textwrap.dedent(
        """
        import os, pyburn
        from tests.faults.test_full_disk import DATA, learner, keras_model
        import numpy as np
        history = learner().fit(DATA, None, 3, display="lines")
        learner().fit(DATA, None, 1, display="bar")
        keras_model().fit(np.zeros((8, 300), np.float32), np.zeros((8, 400), np.float32), epochs=2, verbose=2)
        os._exit(0 if len(history) == 3 else 1)
        """
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=full, timeout=120, check=False)
    assert done.returncode == 0


def test_the_report_of_memory_that_is_full() -> None:
    """RLIMIT_AS: the process survives an OutOfMemoryError, and so do its threads, and goes on."""
    done = python(
        """
        import resource, threading
        before = pyburn.ones(1000)
        (pyburn.ones(600, 600) @ pyburn.ones(600, 600)).sum()     # the pool of threads exists
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (96 << 20), resource.RLIM_INFINITY))
        errors = 0
        assert issubclass(pyburn.OutOfMemoryError, MemoryError)
        def exhaust(expected):
            global errors
            held = []
            try:
                while True: held.append(pyburn.ones(1 << 20) + 1)
            except expected:
                errors += 1
        exhaust(pyburn.OutOfMemoryError)
        for device in ("fusion(cpu)", "trace(cpu)"):                 # they keep little per operation: Python may fail first
            with pyburn.device(device): exhaust(MemoryError)
        x = pyburn.ones(1 << 20, requires_grad=True)
        y = x
        try:
            while True: y = y.exp()                                  # a graph that holds everything
        except pyburn.OutOfMemoryError:
            errors += 1
        del y
        model = pyburn.nn.Linear(50, 50)
        optimizer = pyburn.optim.Adam(model.parameters())
        model(pyburn.ones(8, 50)).sum().backward()
        optimizer.step()
        print(errors, before.sum().item(), (pyburn.ones(300, 300) @ pyburn.ones(300, 300)).sum().item())
        """
    )
    assert done.stdout == "4 1000.0 27000000.0\n"


def test_a_process_without_room_for_threads_computes_alone() -> None:
    done = python(
        """
        import resource
        pyburn.set_num_threads(4)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 20), resource.RLIM_INFINITY))
        for _ in range(3):
            print((pyburn.ones(300, 300) @ pyburn.ones(300, 300)).sum().item())
        """
    )
    assert done.stdout == "27000000.0\n" * 3
