"""Training that is stopped, killed or resumed gives the same bits."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn.train import CheckpointError, EarlyStopping, Every, Last, StopRequest, When, read_run

sys.path.insert(0, str(Path(__file__).parent))
from training_case import RULES, Batches, EndingBatches, StatefulBatches, make_learner, weights

CASE = Path(__file__).with_name("training_case.py")


def assert_same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


def numbers(folder: Path) -> list[Any]:
    """The log without times and without the use of the machine."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [(e["kind"], e["split"], e["epoch"], e["step"], e["values"]) for e in lines if e["split"] != "system"]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulate": {"accumulate": 3},
    "float16": {"precision": "float16"},
    "bfloat16": {"precision": "bfloat16", "ema": None},
}


# Within an epoch, at its end (seven steps; three with accumulation), and in the last one.
CASES = [("plain", 1), ("plain", 5), ("plain", 7), ("plain", 12), *((name, step) for name in list(OPTIONS)[1:] for step in (3, 5))]


@pytest.mark.parametrize(("name", "stop_at"), CASES)
def test_resume_is_bit_for_bit(tmp_path: Path, name: str, stop_at: int) -> None:
    """Stopped after a step, resumed by another learner; the log comes out the same, too."""
    options = OPTIONS[name]
    whole = make_learner(**options)
    expected = whole.fit(Batches(True), Batches(False), 3, run=tmp_path / "whole", log_every=2, display="quiet")
    stop = When(on_step_end=lambda learner: learner.state.step == stop_at and learner.stop("the test"))
    first = make_learner(callbacks=[stop], **options)
    stopped = first.fit(Batches(True), Batches(False), 3, run=tmp_path / "parts", log_every=2, display="quiet")
    assert stopped.stopped == "the test"
    assert first.state.step == stop_at
    second = make_learner(**options)
    pyburn.manual_seed(99)  # whatever the new process has drawn before
    random.seed(99)
    history = second.fit(Batches(True), Batches(False), 3, run=tmp_path / "parts", resume=True, log_every=2, display="quiet")
    assert_same(weights(second), weights(whole))
    assert history.rows == expected.rows
    assert numbers(tmp_path / "parts") == numbers(tmp_path / "whole")
    assert read_run(tmp_path / "parts").status["resumes"] == 1


@pytest.mark.parametrize("stop_at", [7, 10])
def test_resume_by_the_state_of_the_loader(tmp_path: Path, stop_at: int) -> None:
    whole = make_learner()
    whole.fit(StatefulBatches(), None, 3, display="quiet")
    stop = When(on_step_end=lambda learner: learner.state.step == stop_at and learner.stop("the test"))
    make_learner(callbacks=[stop]).fit(StatefulBatches(), None, 3, run=tmp_path, display="quiet")
    second, loader = make_learner(), StatefulBatches()
    second.fit(loader, None, 3, run=tmp_path, resume=True, display="quiet")
    assert_same(weights(second), weights(whole))
    assert loader.drawn == 21 - stop_at  # without those that were seen


@pytest.mark.parametrize("kind", [StatefulBatches, EndingBatches])
def test_generators_of_the_loader_between_epochs(tmp_path: Path, kind: type[StatefulBatches]) -> None:
    whole = make_learner()
    whole.fit(StatefulBatches(), None, 3, display="quiet")
    make_learner().fit(StatefulBatches(), None, 1, run=tmp_path, display="quiet")
    second = make_learner()
    second.fit(kind(), None, 3, run=tmp_path, resume=True, display="quiet")
    assert_same(weights(second), weights(whole))


@pytest.mark.parametrize("data", [lambda: Batches(True), StatefulBatches], ids=["plain", "stateful"])
def test_stopped_while_validating(tmp_path: Path, data: Any) -> None:
    """Validation is left at once and done again later, with the random numbers that it would have had."""

    def draw(learner: Any) -> None:
        pyburn.rand(3)

    whole = make_learner(callbacks=[When(on_validation_batch_end=draw)])
    expected = whole.fit(data(), Batches(False), 3, display="quiet")
    calls: list[int] = []

    def stop(learner: Any) -> None:
        draw(learner)
        calls.append(learner.state.epoch)
        if calls.count(2) == 2:
            learner.stop("the test")

    make_learner(callbacks=[When(on_validation_batch_end=stop)]).fit(data(), Batches(False), 3, run=tmp_path, display="quiet")
    assert calls == [1] * 7 + [2] * 2
    second = make_learner(callbacks=[When(on_validation_batch_end=draw)])
    history = second.fit(data(), Batches(False), 3, run=tmp_path, resume=True, display="quiet")
    assert history.rows == expected.rows
    assert_same(weights(second), weights(whole))
    assert [row[2] for row in numbers(tmp_path) if row[:2] == ("epoch", "train")] == [1, 2, 3]


def test_loaders_of_the_package(tmp_path: Path) -> None:
    """DataLoader with workers and a generator of its own, stopped within an epoch and between two."""
    data = pytest.importorskip("pyburn.data", reason="pyburn.data is not there")

    def loader() -> Any:
        x, y = Batches(False).x, Batches(False).y
        generator = pyburn.Generator().manual_seed(3)
        return data.DataLoader(data.TensorDataset(x, y), batch_size=8, shuffle=True, generator=generator, num_workers=2)

    whole = make_learner()
    whole.fit(loader(), None, 3, display="quiet")
    stop = When(on_step_end=lambda learner: learner.state.step == 10 and learner.stop("the test"))
    make_learner(callbacks=[stop]).fit(loader(), None, 3, run=tmp_path / "a", display="quiet")
    make_learner().fit(loader(), None, 1, run=tmp_path / "b", display="quiet")
    for name in "ab":
        again = make_learner()
        again.fit(loader(), None, 3, run=tmp_path / name, resume=True, display="quiet")
        assert_same(weights(again), weights(whole))


def test_more_epochs_later(tmp_path: Path) -> None:
    whole = make_learner()
    whole.fit(Batches(True), Batches(False), 4, display="quiet")
    make_learner().fit(Batches(True), Batches(False), 2, run=tmp_path, display="quiet")
    longer = make_learner()
    history = longer.fit(Batches(True), Batches(False), 4, run=tmp_path, resume=True, display="quiet")
    assert_same(weights(longer), weights(whole))
    assert [row["epoch"] for row in history.rows] == [1, 2, 3, 4]
    with open(tmp_path / "metrics.csv", newline="") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2", "3", "4"]
    again = make_learner()
    assert len(again.fit(Batches(True), Batches(False), 4, run=tmp_path, resume=True, display="quiet")) == 4  # nothing left to do
    assert_same(weights(again), weights(whole))


def test_nothing_is_left_to_train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Resumed with fewer epochs than there were: the run is unchanged, and continues with more epochs."""
    whole = make_learner()
    whole.fit(Batches(True), Batches(False), 3, display="quiet")
    stop = When(on_step_end=lambda learner: learner.state.step == 16 and learner.stop("the test"))
    make_learner(callbacks=[stop]).fit(Batches(True), Batches(False), 3, run=tmp_path, display="quiet")
    again = make_learner()
    again.fit(Batches(True), Batches(False), 2, run=tmp_path, resume=True, display="lines")
    assert again.state.step == 16 and "training is already complete with epochs=2" in capsys.readouterr().err
    status = read_run(tmp_path).status
    assert (status["step"], status["epoch"]) == (16, again.state.epoch)
    rest = make_learner()
    rest.fit(Batches(True), Batches(False), 3, run=tmp_path, resume=True, display="quiet")
    assert_same(weights(rest), weights(whole))


def test_resume_from_a_file_without_a_run(tmp_path: Path) -> None:
    first = make_learner()
    first.fit(Batches(True), None, 2, run=tmp_path / "a", display="quiet")
    second = make_learner()
    file = tmp_path / "a" / "checkpoints" / "step-00000014.pt"
    second.fit(Batches(True), None, 2, resume=file, display="quiet")
    assert_same(weights(second), weights(first))


def test_callbacks_go_on_where_they_were(tmp_path: Path) -> None:
    stopping, fresh = (EarlyStopping("valid/loss", 5, min_delta=1e9) for _ in range(2))  # nothing is better than the first epoch
    make_learner(callbacks=[stopping]).fit(Batches(True), Batches(False), 2, run=tmp_path, display="quiet")
    history = make_learner(callbacks=[fresh]).fit(Batches(True), Batches(False), 9, run=tmp_path, resume=True, display="quiet")
    assert len(history) == 6 and fresh.best_epoch == 1  # one that knew nothing would stop after the eighth
    assert "has not improved for 5 epochs" in history.stopped


def test_errors_about_runs_that_cannot_be_resumed(tmp_path: Path) -> None:
    make_learner().fit(Batches(True), None, 1, run=tmp_path / "a", display="quiet")
    with pytest.raises(ValueError, match="made with ema, this training is without"):
        make_learner(ema=None).fit(Batches(True), None, 2, run=tmp_path / "a", resume=True, display="quiet")
    with pytest.raises(ValueError, match="needs the folder of a run"):
        make_learner().fit(Batches(True), None, 2, resume=True, display="quiet")
    pyburn.save({"weight": pyburn.ones(2)}, tmp_path / "other.pt")
    with pytest.raises(CheckpointError, match="not a training checkpoint"):
        make_learner().fit(Batches(True), None, 2, resume=tmp_path / "other.pt", display="quiet")


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    make_learner().fit(Batches(True), None, 2, run=tmp_path, checkpoints=[Last(2)], display="quiet")
    newest = tmp_path / "checkpoints" / "step-00000014.pt"
    newest.write_bytes(newest.read_bytes()[:1000])
    learner = make_learner()
    learner.fit(Batches(True), None, 2, run=tmp_path, resume=True, display="quiet")
    whole = make_learner()
    whole.fit(Batches(True), None, 2, display="quiet")
    assert_same(weights(learner), weights(whole))
    newest.write_bytes(b"")
    (tmp_path / "checkpoints" / "step-00000007.pt").unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="can be read"):
        make_learner().fit(Batches(True), None, 3, run=tmp_path, resume=True, display="quiet")


def child(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, CASE, folder, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(folder: Path, step: int, process: subprocess.Popen[str]) -> None:
    """Until the log has come to a step."""
    for _ in range(2000):
        index = folder / "checkpoints" / "index.json"
        if index.exists() and any(one["step"] >= step for one in json.loads(index.read_text())["checkpoints"]):
            return
        if process.poll() is not None:
            return
        time.sleep(0.01)
    raise AssertionError("the training does not get on")


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """kill -9, again and again: nothing but the steps since the last checkpoint is lost, and the end is the same."""
    whole = make_learner()
    whole.fit(Batches(True), Batches(False), 6, checkpoints=RULES, display="quiet")
    generator = random.Random(4)
    killed, seen = 0, 0
    for _ in range(3):
        process = child(tmp_path, "--slow")
        wait_for(tmp_path, seen + 4, process)
        time.sleep(generator.random() * 0.08)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
        reached = max(int(row[3]) for row in numbers_of_killed(tmp_path))
        saved = json.loads((tmp_path / "checkpoints" / "index.json").read_text())["checkpoints"][-1]["step"]
        assert reached - saved <= 3 + 1  # checkpoints are made every third step; the log is flushed with them
        assert saved >= seen
        seen = saved
        assert read_run(tmp_path).state == "lost"
    assert killed
    process = child(tmp_path)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "resumed from" in errors
    with np.load(tmp_path / "weights.npz") as found:
        assert_same(dict(found), weights(whole))
    steps = [(row[1], row[0], row[3]) for row in numbers(tmp_path)]
    assert len(steps) == len(set(steps))  # no step is logged twice
    assert [row[3] for row in numbers(tmp_path) if row[:2] == ("step", "train")] == list(range(1, 43))
    series = read_run(tmp_path).series("step", "train", "loss")
    assert series[:, 0].tolist() == list(range(1, 43))


def numbers_of_killed(folder: Path) -> list[Any]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    whole = [json.loads(line) for line in lines if line.endswith("}}")]
    return [(e["kind"], e["split"], e["epoch"], e["step"]) for e in whole]


def test_ctrl_c_saves_and_says_how_to_resume(tmp_path: Path) -> None:
    process = child(tmp_path, "--slow")
    wait_for(tmp_path, 3, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "stopped: Ctrl-C" in output
    assert "stopped by Ctrl-C" in errors
    assert "resume=True" in errors
    record = read_run(tmp_path)
    assert record.state == "stopped"
    assert record.checkpoints()[-1]["step"] == record.status["step"]
    assert "interrupt" in record.checkpoints()[-1]["kept_by"]


def test_the_second_ctrl_c_stops_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.reason == "Ctrl-C"
        os.kill(os.getpid(), signal.SIGINT)


def test_a_file_called_stop(tmp_path: Path) -> None:
    learner = make_learner(callbacks=[When(on_epoch_end=lambda learner: (tmp_path / "stop").touch())])
    import pyburn.train.fit_record as loop

    before = loop._SYSTEM_SECONDS
    loop._SYSTEM_SECONDS = 0.0
    try:
        history = learner.fit(Batches(True), None, 9, run=tmp_path, display="quiet")
    finally:
        loop._SYSTEM_SECONDS = before
    assert len(history) < 9
    assert "a file called stop" in history.stopped


def test_killed_before_the_first_checkpoint(tmp_path: Path) -> None:
    """There is a folder, a torn run.json and some lines, but nothing to go on from: it starts over."""
    make_learner().fit(Batches(True), None, 1, run=tmp_path, log_every=1, display="quiet")
    for path in (tmp_path / "checkpoints").iterdir():
        path.unlink()
    (tmp_path / "run.json").write_text("")
    whole = make_learner()
    whole.fit(Batches(True), None, 1, display="quiet")
    again = make_learner()
    again.fit(Batches(True), None, 1, run=tmp_path, resume=True, log_every=1, display="quiet")
    assert_same(weights(again), weights(whole))
    assert [row[3] for row in numbers(tmp_path) if row[0] == "step"] == list(range(1, 8))


def test_rules_keep_what_they_say(tmp_path: Path) -> None:
    rules = [Every(epochs=2), Last(2), Every(steps=5, keep=1)]
    make_learner().fit(Batches(True), None, 5, run=tmp_path, checkpoints=rules, display="quiet")
    index = read_run(tmp_path).checkpoints()
    assert [one["step"] for one in index] == [14, 28, 30, 35]
    assert sorted(path.name for path in (tmp_path / "checkpoints").glob("*.pt")) == [one["file"] for one in index]
    assert index[1]["kept_by"] == ["every 2 epochs"] or "every 2 epochs" in index[1]["kept_by"]
    assert index[-1]["kept_by"] == ["last 2", "every 5 steps"]
