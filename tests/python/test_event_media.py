"""Histograms, images, texts, audio, graphs and hyperparameters: as TensorBoard's event files hold them, and as the dashboard reads them."""

from __future__ import annotations

import http.client
import io
import json
import os
import struct
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.compat.tensorboard import SummaryWriter
from pyburn.dashboard import Dashboard
from pyburn.train import EventWriter, Histograms, Learner, Run, list_runs, read_run
from pyburn.train.run import png
from pyburn.train.run.event_log import EventLog
from pyburn.train.run.events import record

from . import browser
from .event_files import decoded, values_of


def only(folder: Path, tag: str) -> dict[str, Any]:
    ((_, value),) = values_of(folder)[tag]
    return value


def plugin(folder: Path, tag: str) -> tuple[str, bytes]:
    (found,) = only(folder, tag)["metadata"][0]["plugin"]
    return found["name"][0], found.get("content", [b""])[0]


# --- what is written ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 7, [-1.0, 0.0, 1.0, 9.0]])
def test_a_histogram_counts_every_finite_value(tmp_path: Path, bins: Any) -> None:
    values = np.array([-0.5, 0.25, 0.75, 0.75, 3.0])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", pyburn.tensor([*values, float("nan"), float("inf")]), 3, bins=bins)
    ((step, found),) = values_of(tmp_path)["weights"]
    (found,) = found["histogram"]
    assert step == 3
    expected = {"min": -0.5, "max": 3.0, "num": 5.0, "sum": values.sum(), "sum_squares": (values**2).sum()}
    assert {name: found[name] for name in expected} == {name: [pytest.approx(value)] for name, value in expected.items()}
    (limits,), (counts,) = found["limits"], found["counts"]
    assert len(limits) == len(counts) and sorted(limits) == limits
    for low, high, count in zip(limits, limits[1:], counts[1:]):
        inside = (values >= low) & ((values < high) | ((values == high) & (high == limits[-1])))
        assert count == inside.sum(), (low, high)
    assert sum(counts) == 5


def test_histograms_at_the_edges(tmp_path: Path) -> None:
    with Run(tmp_path, tensorboard=False) as run:
        run.log({"loss": 1.0}, step=1)
        run.log_histogram("none", [float("nan")], step=1)
        run.log_histogram("constant", pyburn.ones(5, dtype=pyburn.bfloat16), step=1)
        run.log_histogram("large", [-1e308, 1e308], step=1)
        run.log_histogram("close", [1.0, np.nextafter(1, 2)], step=1)
        run.log_histogram("flags", pyburn.tensor([True, False, True]), step=1)
    found = values_of(tmp_path)
    assert sorted(found) == ["close", "constant", "flags", "large"]  # no scalars: tensorboard=False
    for tag, size in (("close", 2), ("constant", 5), ("flags", 3), ("large", 2)):
        (histogram,) = only(tmp_path, tag)["histogram"]
        assert sum(histogram["counts"][0]) == size and np.isfinite(histogram["sum_squares"][0])


def test_images_in_any_order_of_dimensions(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), np.uint8)
    with SummaryWriter(tmp_path) as writer:
        for order, image in (("HWC", pixels), ("CHW", pixels.transpose(2, 0, 1)), ("HW", pixels[:, :, 0])):
            writer.add_image(order, pyburn.tensor(image), 1, dataformats=order)
        writer.add_image("floats", pixels.transpose(2, 0, 1) / 255)
        writer.add_images("several", np.stack([pixels] * 9), dataformats="NHWC")
        writer.add_image_with_boxes("boxes", pixels, [[0, 0, 3, 2]], dataformats="HWC")
        writer.add_figure("figure", Figure(pixels))
        writer.add_figure("figures", [Figure(pixels), Figure(pixels[:2])])
    for tag, expected in (("HWC", pixels), ("CHW", pixels), ("floats", pixels), ("HW", pixels[:, :, 0]), ("figure", pixels)):
        (image,) = only(tmp_path, tag)["image"]
        assert (np.asarray(Image.open(io.BytesIO(image["encoded"][0]))) == expected).all(), tag
        assert (image["height"], image["width"], image["colorspace"]) == ([4], [6], [1 if tag == "HW" else 3])
    several = only(tmp_path, "several")["image"][0]
    assert (several["height"], several["width"]) == ([2 * 6 + 2], [8 * 8 + 2])
    boxes = np.asarray(Image.open(io.BytesIO(only(tmp_path, "boxes")["image"][0]["encoded"][0])))
    assert boxes[0, 0].tolist() == [255, 0, 0] and (boxes[3:] == pixels[3:]).all()
    assert only(tmp_path, "figures/1")["image"][0]["height"] == [2]


class Figure:
    """Stands for a figure of matplotlib."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels

    def savefig(self, file: io.BytesIO, format: str) -> None:
        assert format == "png"
        file.write(png(self.pixels))


def test_audio_is_a_wav_file(tmp_path: Path) -> None:
    tone = np.sin(np.arange(100) * 0.1)
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("mono", pyburn.tensor(tone)[None], 2, sample_rate=8000)
    with Run(tmp_path / "run") as run:
        run.log_audio("stereo", np.stack([tone, -2 * tone]), 16000, step=1)
    for folder, tag, rate, channels in ((tmp_path, "mono", 8000, 1), (tmp_path / "run", "stereo", 16000, 2)):
        (found,) = only(folder, tag)["audio"]
        assert (found["rate"], found["channels"], found["frames"], found["type"]) == ([rate], [channels], [100], ["audio/wav"])
        with wave.open(io.BytesIO(found["encoded"][0])) as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (rate, channels, 2)
            data = np.frombuffer(file.readframes(100), "<i2").reshape(100, channels) / 32767
    np.testing.assert_allclose(data, np.stack([tone, -2 * tone], 1).clip(-1, 1), atol=1e-4)
    with pytest.raises(ValueError, match="expected shape"):
        run.log_audio("wrong", np.zeros((1, 2, 3)), 8000, step=2)


def test_a_graph_has_the_operations_of_the_model(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, pyburn.ones(1, 4))
        with pytest.raises(ValueError, match="input_to_model"):
            writer.add_graph(model)
    nodes = only(tmp_path, "graph")["nodes"]
    names = [node["name"][0] for node in nodes]
    assert len(set(names)) == len(names) and [node["op"][0] for node in nodes].count("relu") == 1
    assert all(source.split(":")[0] in names[:place] for place, node in enumerate(nodes) for source in node.get("inputs", []))
    constants = [node for node in nodes if node["op"] == ["Const"]]
    assert any(b"(8, 4)" in attribute for node in constants for attribute in node["attributes"])
    reached, waiting = set(), [names[-1]]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += [source.split(":")[0] for source in nodes[names.index(name)].get("inputs", [])]
    assert "input_0" in reached  # the output depends on the input


def test_precision_and_recall(tmp_path: Path) -> None:
    labels, scores = np.array([0, 0, 1, 1, 1]), np.array([0.1, 0.6, 0.4, 0.8, 1.0])
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", labels, pyburn.tensor(scores), 1, num_thresholds=11)
    (tensor,) = only(tmp_path, "pr")["tensor"]
    assert [dim["size"][0] for dim in tensor["shape"][0]["dim"]] == [6, 11]
    tp, fp, tn, fn, precision, recall = np.frombuffer(tensor["content"][0], "<f4").reshape(6, 11)
    for place in range(11):
        said = np.floor(scores * 10) >= place
        expected = [
            (said & (labels == 1)).sum(),
            (said & (labels == 0)).sum(),
            (~said & (labels == 0)).sum(),
            (~said & (labels == 1)).sum(),
        ]
        assert [tp[place], fp[place], tn[place], fn[place]] == expected
    np.testing.assert_allclose(precision, tp / np.maximum(tp + fp, 1e-7), rtol=1e-6)
    np.testing.assert_allclose(recall, tp / 3, rtol=1e-6)
    name, content = plugin(tmp_path, "pr")
    assert name == "pr_curves" and decoded(content, "CURVE")["thresholds"] == [11]


def test_hyperparameters_and_custom_charts(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "bn": True, "opt": "adam"}, {"acc": 0.5}, {"opt": ["adam", "sgd"]}, run_name="h", global_step=7)
        writer.add_custom_scalars({"a": {"b": ["Multiline", ["x", "y"]], "c": ["Margin", ["m", "l", "u"]]}})
        with pytest.raises(ValueError, match="Multiline"):
            writer.add_custom_scalars({"a": {"b": ["Pie", ["x"]]}})
        with pytest.raises(AttributeError, match="add_mesh"):
            writer.add_mesh()
    experiment = decoded(plugin(tmp_path / "h", "_hparams_/experiment")[1], "HPARAMS")["experiment"][0]
    assert [(info["name"], info["type"]) for info in experiment["infos"]] == [(["lr"], [3]), (["bn"], [2]), (["opt"], [1])]
    assert experiment["infos"][2]["domain"] == [{"values": [{"string": ["adam"]}, {"string": ["sgd"]}]}]
    assert experiment["metrics"] == [{"name": [{"tag": ["acc"]}]}]
    start = decoded(plugin(tmp_path / "h", "_hparams_/session_start_info")[1], "HPARAMS")["start"][0]
    assert {one["key"][0]: one["value"][0] for one in start["hparams"]} == {
        "lr": {"number": [0.1]},
        "bn": {"flag": [1]},
        "opt": {"string": ["adam"]},
    }
    assert decoded(plugin(tmp_path / "h", "_hparams_/session_end_info")[1], "HPARAMS")["end"] == [{"status": [1]}]
    assert values_of(tmp_path / "h")["acc"][0][0] == 7
    layout = decoded(only(tmp_path, "custom_scalars__config__")["tensor"][0]["string_val"][0], "LAYOUT")["categories"][0]
    assert layout["charts"][0] == {"title": ["b"], "lines": [{"tags": ["x", "y"]}]}
    assert layout["charts"][1]["margin"][0]["series"] == [{"value": ["m"], "lower": ["l"], "upper": ["u"]}]


def test_embeddings_are_what_the_projector_reads(tmp_path: Path) -> None:
    from PIL import Image

    vectors, images = np.arange(15.0).reshape(5, 3), np.ones((5, 3, 4, 2))
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(pyburn.tensor(vectors), ["a", "b\tc", "d", "e", "f"], images, 3, "words")
        writer.add_embedding(vectors, [["a", 1]] * 5, tag="pairs", metadata_header=["name", "number"])
        with pytest.raises(ValueError, match="expected 5 labels"):
            writer.add_embedding(vectors, ["a"])
    folder = tmp_path / "00003" / "words"
    assert np.loadtxt(folder / "tensors.tsv").tolist() == vectors.tolist()
    assert (folder / "metadata.tsv").read_text() == "a\nb c\nd\ne\nf\n"
    assert Image.open(folder / "sprite.png").size == (3 * 2, 3 * 4)
    assert (tmp_path / "00000" / "pairs" / "metadata.tsv").read_text().startswith("name\tnumber\na\t1\n")
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2 and 'tensor_path: "00003/words/tensors.tsv"' in config
    assert 'sprite { image_path: "00003/words/sprite.png" single_image_dim: 2 single_image_dim: 4 }' in config


def test_weights_and_gradients_of_a_training(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    learner = Learner(model, pyburn.optim.SGD(model.parameters(), lr=0.1), loss=nn.MSELoss(), callbacks=[Histograms(every=2)])
    data = [(pyburn.ones(4, 3), pyburn.zeros(4, 2))] * 5
    before = model.weight.detach().numpy().copy()
    learner.fit(data, epochs=1, run=tmp_path / "run", display="quiet")
    found = values_of(tmp_path / "run")
    names = {f"{kind}/{name}" for kind in ("weights", "gradients") for name in ("weight", "bias")}
    assert {tag for tag in found if tag.split("/")[0] in ("weights", "gradients")} == names
    assert [step for step, _ in found["gradients/weight"]] == [0, 2, 4]
    first = found["weights/weight"][0][1]["histogram"][0]
    assert (first["min"][0], first["max"][0]) == (pytest.approx(before.min()), pytest.approx(before.max()))


# --- what is read ------------------------------------------------------------------------------------------------------------


def media_run(folder: Path) -> Path:
    with Run(folder, config={"lr": 0.1, "clip": None}) as run:
        for step in (1, 2, 3):
            run.log({"loss": 1 / step}, step=step)
            run.log_histogram("weights/a", np.arange(10.0) * step, step=step)
            run.log_image("filters", np.full((2, 2), step / 4), step=step)
            run.log_text("said", f"text {step}", step=step)
            run.log_audio("tone", np.zeros(10), 8000, step=step)
    return folder


def test_the_log_follows_a_file_that_grows(tmp_path: Path) -> None:
    writer, log = EventWriter(tmp_path), EventLog(tmp_path, scalars=True)
    for step in range(3):
        writer.scalars({"a": step, "b": -step}, step, when=100.0 + step)
        writer.text("note", f"n{step}", step)
        assert writer.flush() is None
        log.refresh()
        assert log.rows("a")[:, [0, 2, 3]].tolist() == [[s, s, s] for s in range(step + 1)]
        assert [entry.step for entry in log.media["text"]["note"]] == list(range(step + 1))
    whole = writer.path.read_bytes()
    writer.path.write_bytes(whole + record(b"\x09" + bytes(8))[:-3])  # a record that is being written
    log.refresh()
    assert len(log.media["text"]["note"]) == 3
    again = EventWriter(tmp_path, from_step=2)  # resumed
    again.text("note", "new", 2)
    again.flush()
    log.refresh()
    assert [entry.step for entry in log.media["text"]["note"]] == [0, 1, 2] and log.rows("a")[:, 0].tolist() == [0, 1]
    assert log.value("text", "note", 2)[8] == [b"new"]
    writer.path.write_bytes(whole[: len(whole) // 2])  # replaced: everything is read again
    again.path.unlink()
    log.refresh()
    assert len(log.media["text"]["note"]) < 3


def test_damaged_event_files_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.histogram("h", np.arange(9.0), 1)
    writer.text("t", "x", 1)
    writer.flush()
    whole, rng = writer.path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 4):
            data[place] = rng.integers(256)
        writer.path.write_bytes(bytes(data[: rng.integers(1, len(data) + 1)]))
        log = EventLog(tmp_path, scalars=True)
        log.refresh()
        assert sum(len(found) for kind in log.media.values() for found in kind.values()) <= 2
    nested = record(b"\x2a" + b"\x80" * 12 + b"\x01") + record(struct.pack("<Bd", 9, float("nan"))) + record(b"\x0b")
    writer.path.write_bytes(nested + whole)
    log = EventLog(tmp_path)
    log.refresh()
    assert list(log.media["histogram"]) == ["h"]
    writer.path.unlink()
    secret = tmp_path / "elsewhere"
    secret.write_bytes(whole)
    (tmp_path / "events.out.tfevents.1").symlink_to(secret)
    log = EventLog(tmp_path)
    log.refresh()
    assert log.media["histogram"] == {}


# --- the dashboard -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Dashboard]:
    media_run(tmp_path / "runs" / "first")
    with SummaryWriter(tmp_path / "runs" / "writer") as writer:
        for step in range(4):
            writer.add_scalar("Loss/train", 1 / (step + 1), step)
        writer.add_hparams({"lr": 0.5}, {"acc": 0.9}, run_name="h")
    with Dashboard(tmp_path / "runs", port=0) as dashboard:
        yield dashboard


def ask(dashboard: Dashboard, path: str, body: Any = None, headers: dict[str, str] | None = None, **query: Any) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", dashboard.port, timeout=20)
    data = None if body is None else json.dumps(body)
    sent = headers if headers is not None else {} if body is None else {"X-Pyburn": "1"}
    connection.request("GET" if body is None else "POST", f"{path}?{urlencode(query)}", data, sent)
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.headers
    connection.close()
    return found[0], json.loads(found[1]) if "json" in (found[2]["Content-Type"] or "") else found[1], found[2]


def test_media_of_a_run_are_served(served: Dashboard) -> None:
    media = ask(served, "/api/run", id="first")[1]["media"]
    assert {kind: list(tags) for kind, tags in media.items()} == {
        "histogram": ["weights/a"], "image": ["filters"], "text": ["said"], "audio": ["tone"]
    }  # fmt: skip
    assert [entry[:2] for entry in media["image"]["filters"]] == [[0, 1], [1, 2], [2, 3]]
    status, data, headers = ask(served, "/api/blob", id="first", kind="image", tag="filters", index=1)
    assert (status, data, headers["Content-Type"]) == (200, png(np.full((2, 2), 0.5)), "image/png")
    status, data, headers = ask(served, "/api/blob", id="first", kind="audio", tag="tone", index=0)
    assert status == 200 and data[:4] == b"RIFF" and headers["Content-Type"] == "audio/wav"
    assert ask(served, "/api/timeline", id="first", kind="text", tag="said")[1][-1] == {"step": 3, "text": "text 3"}
    last = ask(served, "/api/timeline", id="first", kind="histogram", tag="weights/a")[1][-1]
    assert (last["min"], last["max"], last["count"], last["mean"]) == (0, 27, 10, 13.5)
    assert len(last["edges"]) == len(last["counts"]) + 1 and sum(last["counts"]) == 10
    for kind, tag, index in (("image", "none", 0), ("image", "filters", 9), ("x", "said", 0), ("image", "filters", "-x")):
        assert ask(served, "/api/blob", id="first", kind=kind, tag=tag, index=index)[0] == 404
    assert ask(served, "/api/timeline", id="first", kind="audio", tag="tone")[0] == 404


def test_bytes_that_are_no_image_are_not_served(tmp_path: Path) -> None:
    Run(tmp_path / "a").finish()
    writer = EventWriter(tmp_path / "a")
    writer._summary(
        [{1: "page", 4: {1: 1, 2: 1, 3: 3, 4: b"<svg onload='window.hit=1'></svg>"}}, {1: "n", 6: {4: b"<html>", 5: "text/html"}}], 1, None
    )
    writer.flush()
    with Dashboard(tmp_path, port=0) as dashboard:
        assert ask(dashboard, "/api/run", id="a")[1]["media"]["image"] == {"page": [[0, 1, pytest.approx(0, abs=1e11)]]}
        assert ask(dashboard, "/api/blob", id="a", kind="image", tag="page", index=0)[0] == 404
        assert ask(dashboard, "/api/blob", id="a", kind="audio", tag="n", index=0)[0] == 404


def test_folders_of_event_files_are_runs_of_the_dashboard(served: Dashboard) -> None:
    runs = {run["id"]: run for run in ask(served, "/api/runs")[1]["runs"]}
    assert sorted(runs) == ["first", "writer", "writer/h"]
    assert runs["writer"]["state"] == "events" and runs["writer"]["curves"] == [["step", "events", "Loss/train"]]
    assert runs["writer"]["status"]["step"] == 3 and runs["writer/h"]["config"] == {"lr": 0.5} and runs["writer/h"]["name"] == "writer/h"
    body = ask(served, "/api/curves", {"curves": [["writer", "step", "events", "Loss/train"]]})[1]
    assert np.frombuffer(body, "<f8", 8, 8).reshape(2, 4).tolist() == [[0, 1, 2, 3], pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])]
    assert [record.folder.name for record in list_runs(served.folder)] == ["first"]


def test_notes_tags_and_names(served: Dashboard) -> None:
    assert ask(served, "/api/annotate", {"id": "first", "tags": [" best ", "best", ""], "notes": "good"})[1] == {
        "tags": ["best"],
        "notes": "good",
    }
    assert ask(served, "/api/annotate", {"id": "first", "name": "The first"})[0] == 200
    assert read_run(served.folder / "first").notes == {"tags": ["best"], "notes": "good", "name": "The first"}
    run = next(run for run in ask(served, "/api/runs")[1]["runs"] if run["id"] == "first")
    assert (run["name"], run["tags"], run["notes"]) == ("The first", ["best"], "good")
    assert ask(served, "/api/annotate", {"id": "first", "name": ""})[0] == 200  # the program's own name again
    assert read_run(served.folder / "first").name == "first"
    for wrong in (
        {"name": 5},
        {"tags": "x"},
        {"tags": [1]},
        {"notes": "x" * 30_000},
        {"tags": ["x" * 51]},
        {"tags": [str(i) for i in range(51)]},
    ):
        assert ask(served, "/api/annotate", {"id": "first", **wrong})[0] == 400, wrong
    assert ask(served, "/api/annotate", {"id": "..", "name": "x"})[0] == 404
    assert sorted(path.name for path in (served.folder / "first").glob(".*")) == []


def test_notes_do_not_leave_the_folder(served: Dashboard, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"name": "secret"}')
    (served.folder / "first" / "notes.json").symlink_to(secret)
    assert read_run(served.folder / "first").name == "first"
    assert ask(served, "/api/annotate", {"id": "first", "name": "new"})[0] == 200
    assert secret.read_text() == '{"name": "secret"}' and read_run(served.folder / "first").name == "new"


def test_a_run_is_deleted_after_two_requests(served: Dashboard, tmp_path: Path) -> None:
    folder, outside = served.folder / "first", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (folder / "predictions").mkdir()
    (folder / "mine.txt").write_text("not of the run")
    asked = ask(served, "/api/delete", {"id": "first"})[1]
    assert asked["files"] >= 8 and (folder / "run.json").exists()
    assert ask(served, "/api/delete", {"id": "first", "key": "guessed"})[0] == 400
    with open(folder / "log.txt", "a") as log:
        log.write("changed meanwhile")
    assert ask(served, "/api/delete", {"id": "first", "key": asked["key"]})[0] == 400
    key = ask(served, "/api/delete", {"id": "first"})[1]["key"]
    with Run(folder, resume=True) as run:
        assert ask(served, "/api/delete", {"id": "first", "key": key})[0] == 400  # active
        run.update(state="stopped")
        held = ask(served, "/api/delete", {"id": "first"})[1]["key"]
        status, text, _ = ask(served, "/api/delete", {"id": "first", "key": held})
        assert status == 400 and b"is being written" in text and (folder / "run.json").exists()
        run.close()
    (folder / "predictions" / "link").symlink_to(outside)
    (folder / "trace.json").symlink_to(outside / "kept")
    key = ask(served, "/api/delete", {"id": "first"})[1]["key"]
    assert ask(served, "/api/delete", {"id": "first", "key": key})[0] == 200
    assert [path.name for path in folder.iterdir()] == ["mine.txt"] and (outside / "kept").read_text() == "x"
    assert "first" not in [run["id"] for run in ask(served, "/api/runs")[1]["runs"]]
    (served.folder / "writer" / "config.json").write_text("of somebody else")
    key = ask(served, "/api/delete", {"id": "writer"})[1]["key"]
    assert ask(served, "/api/delete", {"id": "writer", "key": key})[0] == 200
    assert sorted(os.listdir(served.folder / "writer")) == ["config.json", "h"]  # event files alone are deleted there


@pytest.mark.parametrize("path", ["/api/annotate", "/api/delete", "/api/stop"])
def test_only_the_page_may_change_runs(served: Dashboard, path: str) -> None:
    body = {"id": "first", "name": "x", "key": None}
    assert ask(served, path, body, headers={"Content-Type": "application/json"})[0] == 400
    assert ask(served, path, body, headers={"X-Pyburn": "1", "Origin": "http://evil.example"})[0] == 403
    assert ask(served, path, body, headers={"X-Pyburn": "1", "Sec-Fetch-Site": "cross-site"})[0] == 403
    assert ask(served, path, id="first")[0] == 405
    assert not (served.folder / "first" / "notes.json").exists()


# What is written on canvases and what is saved to files.
SPIES = """
window.texts = new Set(); window.blobs = []; window.saved = [];
const write = CanvasRenderingContext2D.prototype.fillText, made = URL.createObjectURL;
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.texts.add(text); return write.call(this, text, ...at); };
URL.createObjectURL = (blob) => { window.blobs.push(blob); return made(blob); };
HTMLAnchorElement.prototype.click = function () { window.saved.push([this.download, this.href]); };
"""


@pytest.mark.skipif(not (browser.CHROMIUM and browser.CHROMEDRIVER), reason=browser.MISSING)
def test_media_notes_groups_and_deletion_in_a_browser(tmp_path: Path) -> None:
    for index in range(4):
        with Run(tmp_path / "runs" / f"r{index}", config={"lr": 0.1 * (1 + index % 2), "seed": index, "clip": None}) as run:
            for step in range(1, 20):
                run.log({"accuracy": 0.1 * index + step / 40, "loss": 1 / step}, step=step)
            run.update(best={"train/accuracy": {"value": 0.5 + index / 10, "epoch": 1, "step": 19}})
    media_run(tmp_path / "runs" / "media")
    with Dashboard(tmp_path / "runs", port=0) as dashboard, browser.Browser(tmp_path) as page:
        page.open(dashboard.url)
        page.wait("document.querySelectorAll('.card canvas').length >= 2")
        titles = "[...document.querySelectorAll('.card h3 span:first-child')].map((one) => one.textContent)"
        assert page.run(f"return {titles}")[:2] == ["loss", "accuracy"]
        page.run(SPIES)
        choose = "const s = document.querySelector('[aria-label=\"Group runs\"]'); s.value = 'option lr';"
        page.run(choose + "s.dispatchEvent(new Event('change'))")
        page.wait("window.texts.has('step') && window.texts.has('accuracy')")  # the labels of the axes
        button = "[...document.querySelectorAll('.card button')].find((one) => one.textContent === '{}').click()"
        page.run(button.format("CSV")), page.run(button.format("PNG"))
        assert sorted(name for name, _ in page.wait("window.saved.length === 2 && window.saved")) == ["loss.csv", "loss.png"]
        page.run("window.blobs.find((one) => one.type === 'text/csv').text().then((text) => { window.saved_text = text; })")
        rows = page.wait("window.saved_text").splitlines()
        assert rows[0] == "curve,step,loss" and len(rows) == 1 + 4 * 19 + 3 and sorted(rows)[-1] == "r3 · train,9,0.1111111111111111"
        page.run("location.hash = 'table'")
        assert page.wait("document.querySelectorAll('.parallel polyline').length") == 5
        heads = "[...document.querySelectorAll('thead th')].map((one) => one.textContent)"
        assert "clip" not in page.run(f"return {heads}") and "lr" in page.run(f"return {heads}")
        page.run("[...document.querySelectorAll('.picker label')].find((one) => one.textContent.startsWith('seed')).firstChild.click()")
        page.wait(f"!{heads}.includes('seed')")
        page.run("location.hash = 'run=media'")
        page.wait("document.querySelectorAll('.media').length === 4")
        page.run("for (const one of document.querySelectorAll('details')) one.open = true")
        text = page.run("return document.querySelector('#main').innerText")
        assert "null" not in text and "undefined" not in text and "NaN" not in text
        page.run("document.querySelector('.media').scrollIntoView()")
        page.wait("[...document.querySelectorAll('.media img')].some((one) => one.naturalWidth === 2)")
        slider = "document.querySelector('.media pre').parentNode.querySelector('input')"
        page.run(f"const s = {slider}; s.value = 0; s.dispatchEvent(new Event('input'))")
        page.wait("document.querySelector('.media pre').textContent === 'text 1'")
        page.run("const box = document.querySelector('textarea'); box.value = 'it works'; box.dispatchEvent(new Event('change'))")
        page.wait("document.querySelector('[role=status]').textContent === 'saved'")
        assert read_run(tmp_path / "runs" / "media").notes["notes"] == "it works"
        click = "[...document.querySelectorAll('.actions button')].find((one) => one.textContent === '{}')"
        for label in ("Delete", "Delete", "Delete permanently"):
            assert (tmp_path / "runs" / "media" / "run.json").exists()
            count = page.run("return document.querySelector('.actions').textContent")
            page.run(f"{click.format(label)}.click()")
            if label != "Delete permanently":
                page.wait(f"document.querySelector('.actions').textContent !== {json.dumps(count)}")
        page.wait("document.querySelectorAll('#list li').length === 4")
        assert not (tmp_path / "runs" / "media").exists()
        # The page may ask once more for the run that has just gone.
        assert not [message for message in page.messages() if "/api/run?id=media" not in message]
