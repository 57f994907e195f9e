"""Processes that are killed at random times: training goes on bit for bit, and every file is the whole old or the whole new one."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.faults.effort import FULL, effort, start, wait_until

import pyburn
from pyburn.data.files import read_idx, read_wav
from pyburn.train import CheckpointFolder, read_run


def result(program: str, *arguments: str | Path) -> str:
    """What a program that is left alone prints last."""
    process = start(program, *arguments)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.splitlines()[-1]


def killed_and_resumed(program: str, folder: Path, arguments: Sequence[str], times: int, seed: int) -> tuple[str, int]:
    """The last line of a training that was killed so often, and how often it was."""
    generator, killed = random.Random(seed), 0
    for _ in range(times):
        process = start(program, folder, *arguments)
        begun = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
        if not wait_until(lambda: any(begun.get(p) != _time(p) for p in folder.rglob("*") if p.is_file()), process):  # noqa: B023
            break
        time.sleep(generator.random() * 0.4)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
    return result(program, folder, *arguments), killed


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # a temporary file
        return 0


@pytest.mark.parametrize("workers", ["0", "2"] if FULL else ["2"])
def test_a_learner_goes_on_bit_for_bit(tmp_path: Path, workers: str) -> None:
    whole = result("killed_training.py", tmp_path / "whole", workers, "0")
    parts = tmp_path / "parts"
    parts.mkdir()
    got, killed = killed_and_resumed("killed_training.py", parts, [workers, "0.03"], effort(2, 15), seed=int(workers))
    assert killed and got == whole
    record = read_run(parts)
    assert record.state == "finished"
    assert record.series("step", "train", "loss")[:, 0].tolist() == list(range(1, 6 * 8 + 1))  # each step once
    listed = {one["file"] for one in record.checkpoints()}
    files = {path.name for path in (parts / "checkpoints").glob("*.pt")}
    assert listed <= files


def test_fit_of_p_vision_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = result("killed_keras_training.py", whole, "0")
    parts = tmp_path / "parts"
    parts.mkdir()
    got, killed = killed_and_resumed("killed_keras_training.py", parts, ["0.02"], effort(2, 15), seed=9)
    assert killed and got == expected
    rows = [line.split(",") for line in (parts / "log.csv").read_text().splitlines()]
    assert rows[0][0] == "epoch" and len({len(row) for row in rows}) == 1  # no line is torn
    assert [int(row[0]) for row in rows[1:]] == sorted(int(row[0]) for row in rows[1:])
    assert {int(row[0]) for row in rows[1:]} == set(range(8))


def check_saved(folder: Path) -> int:
    """Reads every file, each of which holds one number; returns how many there are."""
    found = {}
    for name, load in {
        "saved.pt": pyburn.load,
        "saved.safetensors": pyburn.io.safetensors.load_file,
        "saved.pyburn": lambda path: {key: snapshot.load() for key, snapshot in pyburn.io.open_tensors(path).items()},
        "saved.npz": pyburn.io.load_npz,
    }.items():
        if (folder / name).exists():
            state = load(folder / name)
            values = {float(v) for key in ("a", "b") for v in (state[key].min(), state[key].max())}
            assert len(values) == 1, (name, values)
            found[name] = values.pop()
    for name, array in {
        "saved.idx": lambda: read_idx(folder / "saved.idx"),
        "saved.wav": lambda: np.asarray(read_wav(folder / "saved.wav")[0]),
    }.items():
        if (folder / name).exists():
            found[name] = float(np.ptp(array()))
            assert found[name] == 0, name
    if (folder / "saved.json").exists():
        numbers = json.loads((folder / "saved.json").read_text())
        assert numbers[0] == numbers[-1]
        found["saved.json"] = numbers[0]
    checkpoints = CheckpointFolder(folder / "checkpoints")
    for entry in checkpoints.entries:
        assert float(checkpoints.load(entry)["a"].max()) == entry.step
    if (folder / "log.csv").exists():
        *lines, torn = (folder / "log.csv").read_bytes().split(b"\n")
        assert torn == b"" and all(int(b) == 2 * int(a) and int(c) == 3 * int(a) for a, b, c in (line.split(b",") for line in lines))
    return len(found)


def test_files_are_old_or_new_never_half(tmp_path: Path) -> None:
    generator, seen = random.Random(2), 0
    for _ in range(effort(3, 60)):
        process = start("killed_saves.py", tmp_path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(generator.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        seen = max(seen, check_saved(tmp_path))
    assert seen == 7
