"""Clocks that jump, signals of schedulers and pipes, folders that vanish, descriptors that run out."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from tests.faults.effort import FULL, effort, python, start, wait_until

import pyburn
from pyburn.data import DataLoader
from pyburn.train import Every, Last, Learner, Run, When, read_run

DATA = [(pyburn.ones(4, 3), pyburn.ones(4, 1))] * 6


def learner(**options: Any) -> Learner:
    pyburn.manual_seed(0)
    model = pyburn.nn.Linear(3, 1)
    return Learner(model, pyburn.optim.SGD(model.parameters(), lr=0.01), loss=pyburn.nn.MSELoss(), **options)


class Clock:
    """The time of day, set to something else now and then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shift, self.real = 0.0, time.time
        monkeypatch.setattr(time, "time", lambda: self.real() + self.shift)


@pytest.mark.parametrize("jump", [-10 * 86400.0, 10 * 86400.0])
def test_a_run_does_not_notice_that_the_clock_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    import pyburn.train.run.folder as folder

    clock = Clock(monkeypatch)
    monkeypatch.setattr(folder, "_FLUSH_SECONDS", 0.02)
    monkeypatch.setattr(folder, "_STATUS_SECONDS", 0.02)
    run = Run(tmp_path)
    for step in range(1, 6):
        run.log({"loss": 1.0}, step=step)
        clock.shift += jump / 4
        time.sleep(0.03)
    assert len(list(read_run(tmp_path).lines())) >= 4  # it was flushed although the time of day went back
    run.finish()
    times = read_run(tmp_path).series("step", "train", "loss")[:, 2]
    assert (times[1:] >= times[:-1]).all() and times[-1] < 5
    clock.shift -= 86400.0
    with Run(tmp_path, resume=True) as again:
        again.log({"loss": 1.0}, step=6)
    times = read_run(tmp_path).series("step", "train", "loss")[:, 2]
    assert times[-1] >= 0 and (jump > 0 or times[-1] >= times[-2])


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_checkpoints_every_so_many_minutes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jump: float) -> None:
    """The rule counts minutes that pass, not those that the clock says."""
    clock, monotonic = Clock(monkeypatch), time.monotonic
    passed = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + passed[0])
    saved: list[int] = []

    def act(one: Any) -> None:
        clock.shift = jump * (one.state.step % 3)
        if one.state.step == 3:
            passed[0] += 61.0

    hooks = When(on_step_start=act, on_checkpoint=lambda one: saved.append(one.state.step))
    learner(callbacks=[hooks]).fit(DATA, None, 1, run=tmp_path, checkpoints=[Every(minutes=1)], display="quiet")
    assert saved[:-1] == [4]


def test_event_files_stay_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, names = Clock(monkeypatch), []
    for shift in (0.0, -86400.0, -2 * 86400.0, 5.0):
        clock.shift = shift
        writer = pyburn.train.EventWriter(tmp_path)
        writer.scalars({"loss": 1.0}, step=1)
        writer.flush()
        names.append(writer.path.name)
    assert names == sorted(names)


def test_no_interval_is_taken_from_the_time_of_day() -> None:
    """time.time() only dates things: where it is used at all is listed here."""
    package = Path(pyburn.__file__).parent
    found = {
        str(path.relative_to(package.parent))
        for folder in (package, package.parent / "p_vision")
        for path in folder.rglob("*.py")
        if "time.time()" in path.read_text()
    }
    assert found == {
        "pyburn/compat/tensorboard.py",  # wall_time of events
        "pyburn/train/checkpoints.py",  # Entry.time
        "pyburn/train/run/events.py",  # wall_time of events
        "pyburn/train/run/folder.py",  # created, updated, finished
        "pyburn/train/run/reader.py",  # how old `updated` of another machine is
    }


# --- signals ----------------------------------------------------------------------------------------------------------------


def test_sigterm_saves_and_ends_cleanly(tmp_path: Path) -> None:
    """As Slurm and Kubernetes send it, to the process or to its whole group; the training then goes on bit for bit."""
    whole = start("killed_training.py", tmp_path / "whole", "0", "0").communicate()[0].splitlines()[-1]
    for number in range(1, 1 + effort(1, 12)):
        folder = tmp_path / str(number)
        process = start("killed_training.py", folder, str(2 * (number % 2)), "0.03", start_new_session=True)
        assert wait_until(lambda: (folder / "checkpoints" / "index.json").exists(), process)  # noqa: B023
        os.killpg(process.pid, signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert output.startswith("stopped: a request to terminate")
        assert "Everything is saved" in errors and "Traceback" not in errors
        record = read_run(folder)
        assert record.state == "stopped" and record.checkpoints()[-1]["step"] == record.status["step"]
        assert "interrupt" in record.checkpoints()[-1]["kept_by"]
        resumed = start("killed_training.py", folder, "0", "0").communicate()[0].splitlines()[-1]
        assert resumed == whole


def piped(program: str, command: str) -> subprocess.CompletedProcess[str]:
    """`python -c program | command`, with the exit code of the program on the last line."""
    line = f'set -o pipefail; "{sys.executable}" -c "$PROGRAM" {command}; echo "codes ${{PIPESTATUS[0]}}"'
    environment = {**os.environ, "PROGRAM": textwrap.dedent(program)}
    return subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_pipe_that_nobody_reads_does_not_end_a_training(tmp_path: Path) -> None:
    done = piped(
        f"""
        import os, time, numpy as np
        from tests.faults.test_clocks_and_signals import DATA, learner
        import p_vision as keras
        print("first", flush=True)
        time.sleep(0.5)
        history = learner().fit(DATA, None, 3, run={os.fspath(tmp_path)!r}, display="lines")
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.zeros((8, 3), np.float32), np.zeros((8, 1), np.float32), epochs=2)
        os._exit(len(history))
        """,
        "2>&1 | head -1",
    )
    assert done.stdout == "first\ncodes 3\n", done
    assert read_run(tmp_path).state == "finished"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">&- 2>&- <&-"] if FULL else [">&- 2>&- <&-"])
def test_streams_that_are_closed(tmp_path: Path, closed: str) -> None:
    """sys.stdout and sys.stderr are None then."""
    program = f"""
        import os, numpy as np
        from tests.faults.test_clocks_and_signals import DATA, learner
        import p_vision as keras
        for display in ("auto", "bar", "lines", "quiet"):
            history = learner().fit(DATA, DATA, 3, display=display)
        history = learner().fit(DATA, DATA, 3, run={os.fspath(tmp_path)!r}, display="auto")
        learner().evaluate(DATA)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.zeros((8, 3), np.float32), np.zeros((8, 1), np.float32), epochs=2)
        open({os.fspath(tmp_path / "done")!r}, "w").write(str(len(history)))
    """
    line = f'"{sys.executable}" -c "$PROGRAM" {closed}'
    environment = {**os.environ, "PROGRAM": textwrap.dedent(program)}
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0 and (tmp_path / "done").read_text() == "3", done


# --- folders and descriptors ------------------------------------------------------------------------------------------------


def test_a_folder_that_is_removed_while_training(tmp_path: Path) -> None:
    """It is made again: the checkpoints that follow are there, the numbers from then on, and the training ends well."""
    folder = tmp_path / "run"
    remove = When(on_epoch_start=lambda one: one.state.epoch == 3 and shutil.rmtree(folder))
    trained = learner(callbacks=[remove])
    trained.fit(DATA, None, 4, run=folder, checkpoints=[Last()], display="quiet")
    record = read_run(folder)
    assert record.state == "finished" and [one["step"] for one in record.checkpoints()] == [24]
    again = learner()
    again.fit(DATA, None, 5, run=folder, resume=True, checkpoints=[Last()], display="quiet")
    assert again.state.step == 30


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        Run(tmp_path / "run")
    with pytest.raises(PermissionError):
        pyburn.save({}, tmp_path / "x.pt")


def test_descriptors_that_run_out(tmp_path: Path) -> None:
    held: list[int] = []
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limit[1]))

    def exhaust(one: Any) -> None:
        if one.state.epoch == 2:
            try:
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                for call in (lambda: pyburn.save({}, tmp_path / "x.pt"), lambda: pyburn.load(tmp_path / "old.pt")):
                    with pytest.raises(OSError, match="Too many open files"):
                        call()
                with pytest.raises(OSError, match="Too many open files"):
                    next(iter(DataLoader([1, 2, 3], num_workers=2, multiprocessing_context="fork")))
                assert len(list(DataLoader([1, 2, 3], num_workers=2))) == 3  # threads need none
        if one.state.epoch == 3:
            while held:
                os.close(held.pop())

    pyburn.save({}, tmp_path / "old.pt")
    try:
        trained = learner(callbacks=[When(on_epoch_start=exhaust)])
        trained.fit(DATA, None, 4, run=tmp_path / "run", checkpoints=[Last()], display="quiet")
    finally:
        while held:
            os.close(held.pop())
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    record = read_run(tmp_path / "run")
    assert record.state == "finished" and [one["epoch"] for one in record.checkpoints()] == [4]
    assert record.series("epoch", "train", "loss").shape[0] == 4


def test_descriptors_that_stay_exhausted_are_told_at_the_end(tmp_path: Path) -> None:
    done = python(
        f"""
        import os, resource
        from tests.faults.test_clocks_and_signals import DATA, learner
        from pyburn.train import CheckpointError, Last, When
        held = []
        def exhaust(one):
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
            try:
                while True: held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError: pass
        trained = learner(callbacks=[When(on_epoch_end=exhaust)])
        try:
            trained.fit(DATA, None, 3, run={os.fspath(tmp_path)!r}, checkpoints=[Last()], display="quiet")
        except CheckpointError as error:
            while held: os.close(held.pop())
            print("Too many open files" in str(error), len(trained.history))
        """,
        check=False,
    )
    assert done.returncode == 0 and done.stdout == "True 3\n", done
