"""The folder of a run: every file of docs/guides/runs.md."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import struct
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn.train import EventWriter, Run, RunInUseError, list_runs, read_run
from pyburn.train.run import append_file, plain, png
from pyburn.train.run.events import crc32c, record, records
from pyburn.train.run.report import write_report
from pyburn.train.run.scalar_files import series_file, series_of_file
from pyburn.train.run.svg_plots import Curve, line_chart, thinned, ticks

sys.path.insert(0, str(Path(__file__).parent))
from event_files import values_of


def write_some(folder: Path, steps: int = 20) -> Run:
    run = Run(folder, config={"lr": 0.1, "sizes": (1, 2), "bad": math.inf})
    for step in range(1, steps + 1):
        run.log({"loss": 1 / step, "a b/c%": math.nan if step == 3 else step}, step=step, epoch=1 + (step > 10))
    run.log({"loss": 0.5}, step=10, epoch=1, split="valid", kind="epoch")
    run.log({"loss": 0.25}, step=20, epoch=2, split="valid", kind="epoch")
    run.log({"cpu": 50.0}, step=20, epoch=2, split="system")
    run.log_table("confusion", {"type": "confusion_matrix", "labels": ["x", "y"], "values": np.eye(2)}, step=20, epoch=2)
    run.log_samples(
        [{"image": np.zeros((3, 5)), "target": 1, "prediction": 1}, {"text": "<b>", "prediction": "no", "target": "yes"}], step=20
    )
    run.write("a line")
    return run


def test_all_files(tmp_path: Path) -> None:
    write_some(tmp_path / "a").finish()
    folder = tmp_path / "a"
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert lines[0].keys() == {"kind", "split", "epoch", "step", "time", "values"}
    assert lines[2]["values"]["a b/c%"] == "NaN"
    assert json.loads((folder / "config.json").read_text()) == {"lr": 0.1, "sizes": [1, 2], "bad": "Infinity"}
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["pyburn"] == pyburn.__version__
    csv = (folder / "metrics.csv").read_text().splitlines()
    assert csv[0] == "epoch,step,time,valid/loss"
    assert [row.split(",")[3] for row in csv[1:]] == ["0.5", "0.25"]
    record = read_run(folder)
    assert record.state == "finished"
    assert ("step", "train", "a b/c%") in record.names()
    rows = record.series("step", "train", "a b/c%")
    assert rows.shape == (20, 4)
    assert np.isnan(rows[2, 3])
    assert rows[:, 0].tolist() == list(range(1, 21))
    assert next(record.tables())["values"] == [[1.0, 0.0], [0.0, 1.0]]
    assert record.samples()[0]["samples"][0]["image"] == "valid-00000020-000.png"
    assert "a line" in (folder / "log.txt").read_text()
    assert [r.folder for r in list_runs(tmp_path)] == [folder]


def test_tables_are_in_the_report(tmp_path: Path) -> None:
    run = Run(tmp_path / "a")
    run.log_table("roc", {"type": "curve", "x": [0, 0.5, 1], "y": [0, math.nan, 1], "x_label": "false", "y_label": "true"}, step=1)
    run.log_table("f1", {"type": "per_class", "labels": ["<cat>", "dog"], "values": np.array([0.25, math.nan])}, step=1, epoch=3)
    run.log_table("confusion", {"type": "confusion_matrix", "values": [[3, 1], [0, 2]]}, step=1)  # labels are counted
    run.log_table("own", {"type": "something else", "values": "text"}, step=1)
    for wrong, message in (
        ({"type": "curve", "x": [1, 2], "y": [1]}, "2 values and 1 values"),
        ({"type": "curve", "x": ["a"], "y": [1]}, "expected numbers: got 'a'"),
        ({"type": "per_class", "labels": ["a"], "values": [1, 2]}, "there are 2 classes: got labels \\['a'\\]"),
        ({"type": "confusion_matrix", "values": [[1, 2]]}, "as many columns as rows"),
        ({"type": "confusion_matrix"}, "a list of values: got NoneType"),
    ):
        with pytest.raises(ValueError, match=message):
            run.log_table("wrong", wrong, step=1)
    run.flush()
    with (tmp_path / "a" / "tables.jsonl").open("a") as file:
        file.write('{"type": "confusion_matrix", "name": "torn", "split": "valid", "labels": ["a"], "values": [[1, 2]]}\n')
    run.finish()
    page = (tmp_path / "a" / "report.html").read_text()
    assert "roc, valid, epoch 0" in page and "true over false" in page
    assert '&lt;cat&gt;</td><td class="number">0.25</td>' in page and "f1, valid, epoch 3" in page
    assert "confusion, valid" in page and "torn" not in page
    assert [table["labels"] for table in read_run(tmp_path / "a").tables() if table["name"] == "confusion"] == [["0", "1"]]


def test_a_disk_that_takes_no_more_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, told = Run(tmp_path / "a"), []
    run.tell = told.append
    make = Path.mkdir

    def full(self: Path, *args: Any, **options: Any) -> None:
        if "series" in self.parts:
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        make(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", full)
    run.log({"loss": 1.0}, step=1)
    assert not run.flush() and len(told) == 1 and "tried again" in told[0]
    monkeypatch.setattr(Path, "mkdir", make)
    assert run.flush() and read_run(tmp_path / "a").series("step", "train", "loss")[:, 3].tolist() == [1.0]
    monkeypatch.setattr("pyburn.train.run.report.replace_text", lambda *_: full(tmp_path / "series"))
    run.write_report()
    assert len(told) == 2


def test_what_is_logged_are_numbers(tmp_path: Path) -> None:
    run = Run(tmp_path / "a")
    with pytest.raises(ValueError, match=r"\[Run.log\] 'loss' must be a number: got 'much'"):
        run.log({"loss": "much"}, step=1)
    with pytest.raises(TypeError, match=r"\[Run.log\] 'loss' must be a number: got 'None'"):
        run.log({"loss": None}, step=1)
    with pytest.raises(ValueError, match="is too long"):
        run.log({"😀" * 30: 1.0}, step=1)
    assert not (tmp_path / "a" / "series").exists()


def test_what_the_page_says_is_there(tmp_path: Path) -> None:
    """Keys of run.json, and the names of files."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "runs.md").read_text()
    run = write_some(tmp_path)
    run.finish()
    table = page.split("## run.json")[1].split("## metrics.jsonl")[0]
    documented = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))))
    assert documented == set(run.status)
    for path in tmp_path.iterdir():
        name = re.sub(r"tfevents.*", "tfevents.*", path.name)
        assert f"  {name}" in page, name


@pytest.mark.parametrize("name", ["loss", "a/b", "..", ".", "über 100%", "x(1) y", "%2E", "a\\b:c"])
def test_names_of_series(name: str) -> None:
    path = Path(series_file("step", name, name))
    assert len(path.parts) == 4
    assert path.parts[2] not in ("..", ".")
    assert series_of_file(path) == ("step", name, name)


def test_resuming_cuts_what_is_written_again(tmp_path: Path) -> None:
    write_some(tmp_path).finish()
    with Run(tmp_path, resume=15, resume_epoch=1) as run:
        assert run.status["resumes"] == 1
        run.log({"loss": 9.0}, step=16, epoch=2)
    record = read_run(tmp_path)
    assert record.series("step", "train", "loss")[:, 0].tolist() == list(range(1, 17))
    assert record.series("step", "train", "loss")[-1, 3] == 9
    assert record.series("epoch", "valid", "loss")[:, 1].tolist() == [1]
    assert [line["step"] for line in record.lines() if line["split"] == "train"] == list(range(1, 17))
    assert list(record.tables()) == []
    assert (tmp_path / "metrics.csv").read_text().count("\n") == 2
    assert record.config["lr"] == 0.1


def test_a_second_run_gets_a_numbered_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    for expected in ("a", "a-2", "a-3"):
        with Run(folder) as run:
            run.log({"loss": 1.0}, step=1)
        assert run.folder == tmp_path / expected and run.status["name"] == expected
    (folder / "notes.txt").write_text("mine")
    with Run(folder, overwrite=True) as run:
        run.log({"loss": 2.0}, step=5)
    assert run.folder == folder and (folder / "notes.txt").exists()
    assert read_run(folder).series("step", "train", "loss")[:, 0].tolist() == [5]
    with Run(tmp_path / "b"), pytest.raises(RunInUseError):
        Run(tmp_path / "b")


def test_torn_ends_are_passed_over(tmp_path: Path) -> None:
    write_some(tmp_path).finish()
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.write(b'{"kind": "step", "spl')
    with open(tmp_path / series_file("step", "train", "loss"), "ab") as file:
        file.write(b"123")
    record = read_run(tmp_path)
    assert record.series("step", "train", "loss").shape == (20, 4)
    assert len(list(record.lines())) == 23
    with Run(tmp_path, resume=20, resume_epoch=2) as run:
        run.log({"loss": 1.0}, step=21)
    assert read_run(tmp_path).series("step", "train", "loss").shape == (21, 4)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written waits; half a record is taken back."""
    run = Run(tmp_path)
    run.log({"loss": 1.0}, step=1)
    assert run.flush()
    real = open

    class Full:
        """Takes ten bytes, then the disk is full."""

        def __init__(self, file: Any) -> None:
            self.file, self.room = file, 10

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.room = 0
            return self.file.write(data[:10])

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    monkeypatch.setattr(append_file, "open", lambda *args, **options: Full(real(*args, **options)), raising=False)
    run.log({"loss": 2.0}, step=2)
    with pytest.warns(RuntimeWarning, match="No space left on device. What waits is kept"):
        assert not run.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not run.flush()  # told once
    assert [line["step"] for line in read_run(tmp_path).lines()] == [1]
    assert (tmp_path / "metrics.jsonl").read_bytes().endswith(b"\n")
    monkeypatch.undo()
    run.log({"loss": 3.0}, step=3)
    run.finish()
    assert read_run(tmp_path).series("step", "train", "loss")[:, 3].tolist() == [1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to mount a small disk")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A tmpfs of 256 KiB: checkpoints no longer fit, the log continues in memory, old checkpoints stay readable."""
    import subprocess
    import sys

    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("cannot mount")
    try:
        sys.path.insert(0, str(Path(__file__).parent))
        from training_case import Batches, make_learner

        from pyburn.train import CheckpointError, CheckpointFolder, Last, When

        learner = make_learner(callbacks=[When(on_epoch_start=lambda learner: learner.state.epoch == 3 and fill(disk / "fill"))])
        with pytest.raises(CheckpointError, match="No space left on device"):
            learner.fit(Batches(False), None, 4, run=disk / "run", checkpoints=[Last(2)], display="quiet")
        assert len(learner.history) == 4  # training went on to the end
        folder = CheckpointFolder(disk / "run" / "checkpoints")
        assert folder.entries
        assert folder.load()["position"]["step"] == folder.entries[-1].step
        (disk / "fill").unlink()
        assert learner.run is not None
        assert learner.run.flush()  # what waited is written now
        assert read_run(disk / "run").series("epoch", "train", "loss").shape == (4, 4)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            return


# --- TensorBoard -----------------------------------------------------------------------------------------------------------


def test_crc_and_records() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    data = record(b"abc") + record(b"") + record(bytes(1000))
    assert list(records(data)) == [b"abc", b"", bytes(1000)]
    assert list(records(data[:-1])) == [b"abc", b""]
    with pytest.raises(ValueError, match="wrong checksum"):
        list(records(data[:20].replace(b"abc", b"abd") + data[20:]))


def scalars(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(step, value["simple_value"][0]) for step, value in values_of(folder)[tag]]


def test_event_files_are_what_tensorboard_reads(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        for step in range(1, 6):
            run.log({"loss": 1 / step, "huge": 1e300 * step, "nan": math.nan}, step=step)
        run.log({"loss": 0.5}, step=5, epoch=1, split="valid", kind="epoch")
    writer = EventWriter(tmp_path)
    writer.text("notes", "**hello**")
    writer.image("picture", png(np.zeros((4, 6, 3))), step=2)
    assert writer.flush() is None
    found = values_of(tmp_path)
    assert set(found) == {"loss/train", "huge/train", "nan/train", "loss/epoch_valid", "notes", "picture"}
    assert scalars(tmp_path, "loss/train") == [(s, pytest.approx(1 / s)) for s in range(1, 6)]
    assert math.isinf(scalars(tmp_path, "huge/train")[0][1])
    assert math.isnan(scalars(tmp_path, "nan/train")[0][1])
    ((step, picture),) = found["picture"]
    (image,) = picture["image"]
    assert (step, image["width"], image["height"], image["colorspace"]) == (2, [6], [4], [3])
    assert image["encoded"][0].startswith(b"\x89PNG")
    ((_, text),) = found["notes"]
    assert text["tensor"][0]["string_val"] == [b"**hello**"] and text["tensor"][0]["dtype"] == [7]
    assert text["metadata"][0]["plugin"][0]["name"] == ["text"]


def test_tensorboard_forgets_what_a_resume_writes_again(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        for step in range(1, 10):
            run.log({"loss": 0.0}, step=step)
    with Run(tmp_path, resume=5) as run:
        run.log({"loss": 1.0}, step=6)
    assert scalars(tmp_path, "loss/train") == [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 1)]


def test_the_bytes_of_an_event(tmp_path: Path) -> None:
    """The bytes of one event, by hand: time, step, and a summary with a tag and a float."""
    writer = EventWriter(tmp_path)
    writer.scalars({"x": 0.5}, step=300, when=2.0)
    writer.flush()
    version, event = records(writer.path.read_bytes())
    assert version.endswith(b"brain.Event:2")
    assert event == b"\x09" + struct.pack("<d", 2.0) + b"\x10\xac\x02" + b"\x2a\x0a\x0a\x08\x0a\x01x\x15" + struct.pack("<f", 0.5)


# --- the report ------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        for key, value in attrs:
            if key in ("src", "href") and value and not value.startswith("data:"):
                self.outside.append(value)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_report_needs_nothing_else(tmp_path: Path) -> None:
    run = write_some(tmp_path)
    run.status["metrics"] = {"loss": {"higher_is_better": False}}
    run.finish("failed", "<script>alert(1)</script>")
    text = (tmp_path / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.outside == []
    assert "script" not in page.tags
    assert page.tags.count("svg") == 4  # two metrics, the processor, the confusion matrix
    assert page.tags.count("img") == 1
    assert "prefers-color-scheme: dark" in text
    assert "&lt;b&gt;" in text
    assert "best" in text and "<td>valid</td><td>loss</td>" in text


def test_reports_of_empty_and_damaged_runs(tmp_path: Path) -> None:
    Run(tmp_path / "a").finish()
    (tmp_path / "a" / "config.json").write_text("{")
    (tmp_path / "a" / "tables.jsonl").write_text('{"type": "confusion_matrix", "values": [[1]], "labels": null}\n[1]\nx\n')
    assert write_report(tmp_path / "a").exists()
    with pytest.raises(FileNotFoundError, match="it has no run.json"):
        read_run(tmp_path)


def test_charts() -> None:
    assert ticks(0, 1) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(3, 3) == [3]
    x, y = np.arange(100_000.0), np.sin(np.arange(100_000.0))
    y[77_777] = 50.0
    a, b = thinned(x, y)
    assert len(a) <= 600 and b.max() == 50.0
    svg = line_chart("t<", [Curve("a", [1, 2, 3, 4], [1.0, math.nan, 2.0, 3.0])])
    assert svg.count("<polyline") == 1 and svg.count("<circle") == 1 and "t&lt;" in svg
    assert "no finite values" in line_chart("t", [Curve("a", [1], [math.nan])])
    assert "no finite values" in line_chart("t", [])


def test_pictures() -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    import io

    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(png(pixels)))), pixels)
    grey = pyburn.tensor([[[0.0, 0.5], [1.0, 2.0]]])
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(png(grey)))), [[0, 128], [255, 255]])
    with pytest.raises(ValueError, match="channels"):
        png(np.zeros((5, 5, 7)))


def test_plain_values() -> None:
    class Config(pyburn.config.Config):
        hidden: int = 3

    values = {"config": Config(), "tensor": pyburn.ones(2), "path": Path("a"), "set": {1}, "number": np.float32(0.5), "other": int}
    assert plain(values) == {
        "config": {"hidden": 3},
        "tensor": [1.0, 1.0],
        "path": "a",
        "set": [1],
        "number": 0.5,
        "other": "<class 'int'>",
    }
