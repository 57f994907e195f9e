"""One process writes a run: the lock on its folder, across processes, forks and kills. And the index of checkpoints when it is lost."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pyburn
from pyburn.train import Best, CheckpointError, CheckpointFolder, Every, Last, Run, RunInUseError, list_runs, read_run, write_report
from pyburn.train.checkpoint_index import REBUILT

from .training_case import Batches, make_learner, weights

pytest.importorskip("fcntl")


class Holder:
    """Another process that holds the lock of a run: "fork" leaves a child behind that sleeps, as the worker of a loader may."""

    def __init__(self, folder: Path, *lines: str) -> None:
        program = "\n".join(["import os, sys, time", "from pyburn.train import Run", f"run = Run({os.fspath(folder)!r})", *lines,
                             "print('ready', flush=True)", "time.sleep(60)"])  # fmt: skip
        self.process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # the group is the process and its children
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with Holder(tmp_path / "a", "run.log({'loss': 1.0}, step=1)", "run.flush()") as holder:
        before = files(tmp_path / "a")
        for resume in (False, True, 1):
            with pytest.raises(RunInUseError, match=rf"a is being written by the process with pid {holder.process.pid}:"):
                Run(tmp_path / "a", resume=resume)
        with pytest.raises(RunInUseError, match=str(holder.process.pid)):
            make_learner().fit(Batches(True), None, 1, run=tmp_path / "a", resume=True, display="quiet")
        assert files(tmp_path / "a") == before  # nothing was cut off or written
        record = read_run(tmp_path / "a")  # readers need no lock
        assert record.state == "running" and len(record.series("step", "train", "loss")) == 1
        assert len(list_runs(tmp_path)) == 1 and write_report(tmp_path / "a").exists()
        holder.kill()
        with Run(tmp_path / "a", resume=1) as run:
            run.log({"loss": 0.5}, step=2)
    assert read_run(tmp_path / "a").series("step", "train", "loss")[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize(
    "start",
    [
        "if os.fork() == 0: time.sleep(60)",
        "import multiprocessing; multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,)).start()",
        "import subprocess; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], close_fds=False)",
    ],
    ids=["fork", "multiprocessing", "subprocess"],
)
def test_a_child_does_not_hold_the_lock_of_a_dead_parent(tmp_path: Path, start: str) -> None:
    with Holder(tmp_path / "a", start) as holder:
        with pytest.raises(RunInUseError):
            Run(tmp_path / "a", resume=True)
        holder.kill()
        time.sleep(0.2)
        Run(tmp_path / "a", resume=True).finish()


def test_the_workers_of_a_loader_do_not_hold_the_lock(tmp_path: Path) -> None:
    loader = [
        "from pyburn.data import DataLoader",
        "class Items:",
        "    def __len__(self): return 1000",
        "    def __getitem__(self, index): return float(index)",
        "batches = iter(DataLoader(Items(), batch_size=1, num_workers=2, multiprocessing_context='fork'))",
        "next(batches)",
    ]
    with Holder(tmp_path / "a", *loader) as holder:
        holder.kill()
        Run(tmp_path / "a", resume=True).finish()


def test_a_child_does_not_release_the_lock_of_its_parent(tmp_path: Path) -> None:
    run = Run(tmp_path / "a")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run.log({"loss": 1.0}, step=1)  # the child holds nothing
        except RunInUseError as error:
            code = 0 if str(os.getppid()) in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Holder(tmp_path / "other"):
        found = subprocess.run(
            [sys.executable, "-c", f"from pyburn.train import Run; Run({os.fspath(tmp_path / 'a')!r}, resume=True)"],
            capture_output=True,
            text=True,
        )
    assert f"RunInUseError: [Run] {tmp_path / 'a'} is being written by the process with pid {os.getpid()}" in found.stderr
    run.finish()


def test_one_process_opens_a_run_again(tmp_path: Path) -> None:
    run = Run(tmp_path / "a")
    with pytest.raises(RunInUseError, match=rf"this process \(pid {os.getpid()}\) in another Run"):
        Run(tmp_path / "a", resume=True)
    run.log({"loss": 1.0}, step=1)
    run.close()
    again = Run(tmp_path / "a", resume=True)
    with pytest.raises(RunInUseError):
        run.log({"loss": 1.0}, step=2)  # the folder is somebody else's now
    again.finish()
    run = Run(tmp_path / "a", resume=True)
    del run  # without finish
    gc.collect()
    with Run(tmp_path / "a", resume=True) as run:
        run.finish()
        run.log({"loss": 0.5}, step=2, split="test", kind="epoch")  # evaluate does so: noted, and free again
        Run(tmp_path / "a", resume=True).finish()
    with Run(tmp_path / "a") as run:
        assert run.folder == tmp_path / "a-2"
    Run(tmp_path / "a", resume=True).finish()


def test_a_failed_fit_gives_the_folder_free(tmp_path: Path) -> None:
    learner = make_learner()
    with pytest.raises(ValueError, match="expected one of auto"):
        learner.fit(Batches(True), None, 1, run=tmp_path / "a", display="nonsense")
    learner.fit(Batches(True), None, 1, run=tmp_path / "a", resume=True, display="quiet")
    learner.evaluate(Batches(False), "test", progress=False)
    make_learner().fit(Batches(True), None, 2, run=tmp_path / "a", resume=True, display="quiet")
    (tmp_path / "a" / "checkpoints" / "index.json").write_text("{}")
    for path in (tmp_path / "a" / "checkpoints").glob("*.pt"):
        path.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(CheckpointError) as kept:  # which holds the frames of the attempt
            make_learner().fit(Batches(True), None, 2, run=tmp_path / "a", resume=True, display="quiet")
    assert kept is not None


# --- checkpoints/index.json --------------------------------------------------------------------------------------------------


def trained(folder: Path) -> None:
    rules = [Last(2), Best("valid/loss"), Every(steps=5)]
    make_learner().fit(Batches(True), Batches(False), 3, run=folder, checkpoints=rules, display="quiet")


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "not JSON", "a list", "wrong types"])
def test_a_lost_index_is_rebuilt(tmp_path: Path, damage: str) -> None:
    trained(tmp_path)
    index = tmp_path / "checkpoints" / "index.json"
    before = json.loads(index.read_text())["checkpoints"]
    whole = make_learner()
    whole.fit(Batches(True), Batches(False), 4, display="quiet")
    if damage == "missing":
        index.unlink()
    else:
        text = {
            "empty": "",
            "truncated": index.read_text()[:200],
            "not JSON": "\x00\xff",
            "a list": "[]",
            "wrong types": '{"checkpoints": [{"file": 3}]}',
        }
        index.write_text(text[damage])
    (tmp_path / "checkpoints" / "step-1.pt.tmp").write_bytes(b"a file that was being written")
    with pytest.warns(RuntimeWarning, match=r"index\.json is (missing|damaged).*rebuilt from step-") as told:
        folder = CheckpointFolder(tmp_path / "checkpoints")
    assert len([one for one in told if "rebuilt" in str(one.message)]) == 1
    found = [(one.file, one.epoch, one.batch, one.step) for one in folder.entries]
    assert found == [(one["file"], one["epoch"], one["batch"], one["step"]) for one in before]
    for entry, old in zip(folder.entries, before):
        if not entry.batch:
            assert entry.metrics == pytest.approx(old["metrics"])
    resumed = make_learner()
    with pytest.warns(RuntimeWarning, match="rebuilt") as told:
        resumed.fit(Batches(True), Batches(False), 4, run=tmp_path, resume=True, checkpoints=[Last()], display="quiet")
    assert len([one for one in told if "rebuilt" in str(one.message)]) == 1
    for name, value in weights(whole).items():
        assert (weights(resumed)[name] == value).all()
    after = {one["file"]: one["kept_by"] for one in json.loads(index.read_text())["checkpoints"]}
    for one in before:  # no rule removes what it does not know
        assert after[one["file"]] == [REBUILT] and (tmp_path / "checkpoints" / one["file"]).exists()
    assert len(after) == len(before) + 1


def test_damaged_files_are_left_out_and_named(tmp_path: Path) -> None:
    trained(tmp_path)
    files = sorted((tmp_path / "checkpoints").glob("*.pt"))
    (tmp_path / "checkpoints" / "index.json").unlink()
    files[0].write_bytes(b"")
    files[-1].write_bytes(files[-1].read_bytes()[:-500])
    with pytest.warns(RuntimeWarning) as told:
        folder = CheckpointFolder(tmp_path / "checkpoints")
    text = next(str(one.message) for one in told if "rebuilt" in str(one.message))
    bad = text.partition("cannot be read")[2]
    assert files[0].name in bad and files[-1].name in bad and files[1].name not in bad
    assert [one.file for one in folder.entries] == [path.name for path in files[1:-1]]
    assert (folder.load()["position"]["step"]) == folder.entries[-1].step


def test_without_a_readable_file_it_is_an_error(tmp_path: Path) -> None:
    trained(tmp_path)
    numbers = (tmp_path / "metrics.jsonl").read_bytes()
    (tmp_path / "checkpoints" / "index.json").unlink()
    for path in (tmp_path / "checkpoints").glob("*.pt"):
        path.write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"index\.json is missing. These files cannot be read:\n  step-"):
        make_learner().fit(Batches(True), None, 5, run=tmp_path, resume=True, display="quiet")
    assert (tmp_path / "metrics.jsonl").read_bytes() == numbers  # it did not start over
    for path in (tmp_path / "checkpoints").glob("*.pt"):
        path.unlink()
    (tmp_path / "checkpoints" / "index.json").write_text("{")
    with pytest.raises(CheckpointError, match="no step-.*to rebuild it from"):
        CheckpointFolder(tmp_path / "checkpoints")


def test_states_of_other_loops(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, [Last(3)])
    for step in (1, 2, 30):
        folder.save({"weight": pyburn.ones(2) * step}, epoch=step, step=step)
    (tmp_path / "index.json").unlink()
    with pytest.warns(RuntimeWarning, match="rebuilt from step-00000001.pt, step-00000002.pt, step-00000030.pt"):
        found = CheckpointFolder(tmp_path, [Last(1)])
    assert [one.step for one in found.entries] == [1, 2, 30]
    assert found.load()["weight"].tolist() == [30, 30]
