"""Run folders that somebody else wrote: damaged files, links out of the folder, and names that would like to be HTML."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from pyburn.dashboard import Dashboard
from pyburn.dashboard.curves import CurveCache
from pyburn.train import Run, RunRecord, list_runs, read_run, write_report
from pyburn.train.run.events import record
from pyburn.train.run.inside import open_inside, touch_inside
from pyburn.train.run.protobuf import pack

from . import browser
from .training_case import Batches, make_learner

EVIL = "<script>window.hit=1</script>\"'><img src=x onerror=window.hit=1>"
SECRET = "the secret of the machine"


def get(dashboard: Dashboard, path: str, body: Any = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", dashboard.port, timeout=20)
    data = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, data, {} if body is None else {"X-Pyburn": "1"})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def good_run(folder: Path) -> Path:
    with Run(folder, config={"lr": 0.1}) as run:
        for step in range(1, 6):
            run.log({"loss": 1 / step}, step=step, epoch=1)
        run.log({"loss": 0.2}, step=5, epoch=1, split="valid", kind="epoch")
        run.log_table("confusion", {"type": "confusion_matrix", "values": [[3, 1], [0, 2]]}, step=5, epoch=1)
        run.log_samples([{"image": np.zeros((4, 4)), "target": 1, "prediction": 2}], step=5, epoch=1)
    return folder


DEEP = "[" * 900 + "]" * 900
DAMAGED: dict[str, dict[str, Any]] = {
    "empty": {"run.json": ""},
    "a list": {"run.json": [1]},
    "wrong types": {"run.json": {
        "name": [1], "state": {}, "created": "yesterday", "updated": [], "finished": {}, "pid": "x", "epoch": EVIL, "epochs": EVIL,
        "step": EVIL,
        "batch": {}, "batches": "3", "message": 4, "metrics": 3, "best": [1], "resume_with": 5, "host": 6}},
    "nulls": {"run.json": dict.fromkeys(["name", "state", "created", "updated", "metrics", "best", "epoch", "step", "message", "pid"])},
    "wrong insides": {"run.json": {"best": {"a": None, "b": 3, "c": {"value": {}}}, "metrics": {"loss": None, "x": 1}, "created": 1.0}},
    "numbers": {"run.json": '{"created": 1e999, "updated": NaN, "pid": 1' + "0" * 400 + ', "step": 1' + "0" * 4000 + ', "epoch": -5}'},
    "times": {"run.json": {"created": 1e300, "finished": -1e300, "updated": 1e15, "state": "finished"}},
    "deep": {"run.json": f'{{"name": {DEEP}}}', "config.json": f'{{"a": {DEEP}}}', "environment.json": DEEP},
    "surrogates": {"run.json": '{"name": "\\ud800", "message": "\\udfff", "state": "\\ud83d"}', "config.json": '{"\\ud800": "\\ud800"}'},
    "not UTF-8": {"run.json": b'{"name": "\xff\xfe"}', "config.json": b"\xff", "log.txt": b"\xff\xfe\x00", "tables.jsonl": b"\xff\n"},
    "options": {"config.json": '{"a": [[[1]]], "b": {"c": {"d": NaN}}, "": Infinity}'},
    "tables": {"tables.jsonl": "\n".join(json.dumps(one) for one in (
        {"type": []}, {"type": "curve", "name": {}, "split": [], "x": [1, 2], "y": ["NaN", 10**400]}, {"type": "curve", "x": 3, "y": None},
        {"type": "per_class", "values": [{}], "labels": ["a"]}, {"type": "confusion_matrix", "values": [[1, 2], [3]]}, 5, None, [[]]))},
    "predictions": {"predictions/a.json": {"samples": [1, None, {"image": {}}, {"scores": 5, "prediction": {}}], "step": "x"},
                    "predictions/b.json": {"samples": {}}, "predictions/c.json": [1]},
    "checkpoints": {"checkpoints/index.json": {"checkpoints": [
        1, None, {"file": 3}, {"file": "a", "kept_by": 5, "metrics": [], "epoch": {}}]}},
    "notes": {"notes.json": {"name": [1], "notes": {"a": 1}, "tags": "x", "more": None}},
    "a list of notes": {"notes.json": [EVIL]},
    "events": {"events.out.tfevents.9999999999.x": b"".join(record(pack({1: 1.0, 2: step, 5: {1: [
        {1: EVIL, 5: histogram}, {1: EVIL, 4: {1: 2**60, 2: 2**63, 4: b"GIF8 no picture"}}, {1: EVIL, 6: {1: 5, 4: b"RIFF"}},
        {1: b"\xff", 5: {}},
        {1: EVIL, 8: {8: EVIL}, 9: {1: {1: "text"}}}, {2: 1.0}, {1: "_hparams_/session_start_info", 9: {1: {1: "hparams", 2: b"\x0a"}}}]}}))
        for step, histogram in enumerate((
            {},
            {1: 1.0, 2: 2.0, 6: np.array([1.0]), 7: np.array([1.0, 2.0])}, {1: -np.inf, 2: np.nan, 3: 1e308, 6: np.ones(2), 7: np.ones(2)},
            {1: 0.0, 2: 0.0, 3: 0.0, 6: np.zeros(1), 7: np.zeros(1)}, {1: 5.0, 2: -5.0, 4: 1e308, 6: np.ones(3), 7: -np.ones(3)},
            {1: 0.0, 2: 1e308, 6: np.array([np.inf, -np.inf]), 7: np.array([1e308, 1e308])})))},
    "a list of checkpoints": {"checkpoints/index.json": {"checkpoints": 7}},
    "series": {"series/step/train/loss.f64": np.array([[1, 1, 1, 1e308], [2, 1, 1, -1e308], [np.nan] * 4, [np.inf] * 4]).tobytes() + b"abc",
               "series/step/train/close.f64": np.array([[1, 1, 1, 1e17], [2, 1, 1, 1e17 + 16], [3, 1, 1, 5e-324]]).tobytes(),
               "series/epoch/valid/loss.f64": np.array([[5, np.nan, np.inf, 5e-324]]).tobytes(), "series/x/y/z.f64": b""},
}  # fmt: skip


def damage(folder: Path, files: dict[str, Any]) -> Path:
    good_run(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode())
    return folder


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_run_can_be_read(tmp_path: Path, name: str) -> None:
    folder = damage(tmp_path / "runs" / "bad", DAMAGED[name])
    record = read_run(folder)
    assert isinstance(record.name, str) and isinstance(record.state, str)
    page = write_report(folder).read_text(encoding="utf-8")
    assert "<script" not in page and page.endswith("</html>\n")
    with Dashboard(tmp_path / "runs", port=0) as dashboard:
        status, body = get(dashboard, "/api/run?id=bad")
        assert status == 200 and json.loads(body)["id"] == "bad"
        curves = [["bad", *curve] for curve in record.names()]
        assert get(dashboard, "/api/curves", {"curves": curves, "smoothing": 0.5})[0] == 200


def test_damaged_runs_do_not_hide_the_others(tmp_path: Path) -> None:
    for name, files in DAMAGED.items():
        damage(tmp_path / f"bad {name}", files)
    good_run(tmp_path / "good")
    os.mkfifo(tmp_path / "good" / "model.txt")  # whoever opens a pipe waits for its other end
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "run.json")
    undecodable = os.fsdecode(b"bad \xff\xfe")
    damage(tmp_path / undecodable, {"run.json": {}})
    assert len(list_runs(tmp_path)) == len(DAMAGED) + 2
    with Dashboard(tmp_path, port=0) as dashboard:
        runs = {run["id"]: run for run in json.loads(get(dashboard, "/api/runs")[1])["runs"]}
        assert len(runs) == len(DAMAGED) + 2
        assert runs["good"]["config"] == {"lr": 0.1} and runs["good"]["state"] == "finished"
        for identity in runs:
            assert get(dashboard, f"/api/run?id={quote(identity)}")[0] == 200, identity
        start = time.monotonic()
        assert json.loads(get(dashboard, "/api/run?id=good")[1])["model"] == ""
        assert time.monotonic() - start < 2


def test_a_run_that_cannot_be_read_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good_run(tmp_path / "a"), good_run(tmp_path / "b")
    names = RunRecord.names
    monkeypatch.setattr(RunRecord, "names", lambda self: names(self) if self.folder.name == "b" else 1 / 0)
    with Dashboard(tmp_path, port=0) as dashboard:
        states = {run["id"]: run["state"] for run in json.loads(get(dashboard, "/api/runs")[1])["runs"]}
    assert states == {"a": "damaged", "b": "finished"}


# --- links and paths ---------------------------------------------------------------------------------------------------------


def linked_run(tmp_path: Path) -> Path:
    """A run whose files are all links to files elsewhere."""
    outside = good_run(tmp_path / "elsewhere" / "secret")
    (outside / "config.json").write_text(json.dumps({"password": SECRET}))
    for name in ("log.txt", "model.txt"):
        (outside / name).write_text(SECRET)
    (outside / "secret.png").write_text(SECRET)
    folder = good_run(tmp_path / "runs" / "linked")
    (folder / "model.txt").touch()
    (folder / "checkpoints" / "index.json").touch()
    (outside / "checkpoints" / "index.json").write_text(json.dumps({"checkpoints": [{"file": SECRET}]}))
    (outside / "tables.jsonl").write_text(json.dumps({"name": SECRET, "type": "curve", "x": [1], "y": [1]}) + "\n")
    for name in ("config.json", "environment.json", "log.txt", "model.txt", "tables.jsonl", "checkpoints/index.json"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(outside / name)
    image = folder / "predictions" / "valid-00000005-000.png"
    image.unlink()
    image.symlink_to(outside / "secret.png")
    rows = np.array([[1.0, 1, 1, 42]])
    (outside / "secret.f64").write_bytes(rows.tobytes())
    (folder / "series" / "step" / "train" / "secret.f64").symlink_to(outside / "secret.f64")
    (outside / "whole").mkdir()
    (outside / "whole" / "loss.f64").write_bytes(rows.tobytes())
    (folder / "series" / "step" / "other").symlink_to(outside / "whole")
    (folder / "stop").symlink_to(outside / "made by the dashboard")
    (tmp_path / "runs" / "whole").symlink_to(outside)
    return folder


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = linked_run(tmp_path)
    record = read_run(folder)
    assert record.config == record.environment == {} and record.checkpoints() == [] and list(record.tables()) == []
    assert ("step", "train", "secret") not in record.names() and ("step", "other", "loss") not in record.names()
    assert len(record.series("step", "train", "secret")) == len(record.series("step", "other", "loss")) == 0
    assert SECRET not in write_report(folder).read_text()
    status = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**status, "state": "running", "pid": os.getpid()}))
    with Dashboard(tmp_path / "runs", port=0) as dashboard:
        assert [run["id"] for run in json.loads(get(dashboard, "/api/runs")[1])["runs"]] == ["linked"]
        status, body = get(dashboard, "/api/run?id=linked")
        assert status == 200 and SECRET.encode() not in body
        assert get(dashboard, "/api/image?id=linked&name=valid-00000005-000.png")[0] == 404
        _, body = get(dashboard, "/api/curves", {"curves": [["linked", "step", "train", "secret"], ["linked", "step", "other", "loss"]]})
        assert json.loads(body.split(b"\n")[0]) == [0, 0]
        get(dashboard, "/api/stop", {"id": "linked"})
    assert not (tmp_path / "elsewhere" / "secret" / "made by the dashboard").exists()
    (folder / "run.json").rename(tmp_path / "run.json")
    (folder / "run.json").symlink_to(tmp_path / "run.json")
    assert list_runs(tmp_path / "runs") == []


@pytest.mark.parametrize("link", ["log.txt", "run.json", "series", "checkpoints/step-5.pyb", "predictions/a.png"])
def test_nothing_is_written_through_links(tmp_path: Path, link: str) -> None:
    """Neither Run nor a Learner writes to, or removes from, a folder with links inside; the folder itself may be one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text(SECRET)
    folder = good_run(tmp_path / "run")
    path = folder / link
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside if link == "series" else outside / "file")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.name != "run.lock"}
    learner = make_learner()
    for write in (
        lambda: Run(folder, resume=3),
        lambda: Run(folder, resume=True),
        lambda: learner.fit(Batches(False), 1, run=folder, resume=True),
    ):
        with pytest.raises(OSError, match=f"symbolic links inside a run folder are not followed.*{path.name}"):
            write()
    assert {p: p.read_bytes() for p in before} == before and [p.name for p in outside.iterdir()] == ["file"]
    path.unlink()
    (tmp_path / "link").symlink_to(folder)
    Run(tmp_path / "link", resume=True).finish()


def test_huge_series_files(tmp_path: Path) -> None:
    folder = good_run(tmp_path / "run")
    (tmp_path / "run/series/step/train").mkdir(parents=True, exist_ok=True)
    with open(folder / "series/step/train/loss.f64", "r+b") as file:
        file.truncate(1 << 40)  # sparse: nothing is stored
    assert len(read_run(folder).series("step", "train", "loss")) == 0
    assert CurveCache().rows(folder, "series/step/train/loss.f64").shape == (0, 4)
    with pytest.raises(OSError, match="larger than"):
        Run(folder, resume=3)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "/etc/passwd", "a//b", "a/../b", "a\0b", "\ud800", "folder", "pipe", "link", "up/run"]
)
def test_files_inside_a_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    (folder / "folder").mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (tmp_path / "x").write_text(SECRET)
    (folder / "link").symlink_to(tmp_path / "x")
    (folder / "up").symlink_to(tmp_path)
    with pytest.raises(OSError):
        open_inside(folder, name)
    with pytest.raises(OSError):
        touch_inside(folder, name)
        assert name == "pipe" and not (folder / name).is_file()
        raise OSError
    (folder / "folder" / "file").write_text("here")
    (tmp_path / "link to run").symlink_to(folder)  # the folder itself may be a link: the user has named it
    with open_inside(tmp_path / "link to run", "folder/file") as file:
        assert file.read() == b"here"


def test_paths_of_requests(tmp_path: Path) -> None:
    good_run(tmp_path / "runs" / "a")
    (tmp_path / "secret.png").write_text(SECRET)
    (tmp_path / "run.json").write_text("{}")
    with Dashboard(tmp_path / "runs", port=0) as dashboard:
        for path in ("/../secret.png", "/%2e%2e/secret.png", "/..%2fsecret.png", "//etc/passwd", "/assets/../application.py",
                     "/index.html/",
                     "/index.html%00.js", "/api/image?id=..&name=secret.png", "/api/image?id=a&name=../../../secret.png",
                     "/api/image?id=a&name=..%2f..%2f..%2fsecret.png", "/api/image?id=a&name=%2fetc%2fpasswd", "/api/run?id=..",
                     "/api/run?id=a/..", "/api/run?id=%00", "/api/runs/", "/api", "/\\..\\secret.png"):  # fmt: skip
            status, body = get(dashboard, path)
            assert status in (400, 404) and SECRET.encode() not in body, path
        for curve in (
            ["..", "step", "train", "x"],
            ["a", "../..", "..", "x"],
            ["a", "step", "..", "../x"],
            ["a", "step", "\0", "\0"],
            ["a", "step", "t", "x" * 400],
        ):
            status, body = get(dashboard, "/api/curves", {"curves": [curve]})
            assert status == 200 and json.loads(body.split(b"\n")[0]) == [0]


# --- names that would like to be HTML ----------------------------------------------------------------------------------------


def evil_run(folder: Path) -> Path:
    with Run(folder, config={EVIL: EVIL, "a": {"b": EVIL}}, name=EVIL) as run:
        for step in (1, 2, 3):
            run.log({EVIL: 1.0 / step}, step=step, epoch=1)
            run.log({EVIL: 1.0 / step}, step=step, epoch=1, split=EVIL[:40], kind="epoch")
        run.update(message=EVIL, metrics={EVIL: {"higher_is_better": True, "unit": EVIL}}, resume_with=EVIL, epochs=3)
        run.update(best={EVIL: {"value": 1.0, "epoch": 1, "step": 1}})
        run.log_table(EVIL, {"type": "confusion_matrix", "labels": [EVIL, "b"], "values": [[1, 2], [3, 4]]}, step=3, split=EVIL)
        run.log_table(EVIL, {"type": "curve", "x": [0, 1], "y": [0, 1], "x_label": EVIL, "y_label": EVIL}, step=3)
        run.log_table(EVIL, {"type": "per_class", "labels": [EVIL], "values": [1]}, step=3)
        sample = {"image": np.zeros((2, 2)), "text": EVIL, "target": EVIL, "prediction": EVIL + "2", "scores": {EVIL: 1.0}, EVIL: EVIL}
        run.log_samples([sample], step=3)
        run.write(EVIL)
        for log in (run.log_histogram, run.log_image):
            log(EVIL, np.eye(4), step=3)
        run.log_text(EVIL, EVIL, step=3)
        run.log_audio(EVIL, np.zeros(4), 8000, step=3)
    (folder / "notes.json").write_text(json.dumps({"name": EVIL, "notes": EVIL, "tags": [EVIL]}))
    (folder / "model.txt").write_text(EVIL)
    entry = {"file": EVIL, "epoch": EVIL, "step": 3, "time": 1.0, "metrics": {EVIL: 1.0}, "kept_by": [EVIL]}
    (folder / "checkpoints" / "index.json").write_text(json.dumps({"checkpoints": [entry]}))
    status = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**status, "state": EVIL, "message": EVIL}))
    return folder


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_report_escapes_every_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: RunRecord) -> Any:
        raise ValueError(EVIL)

    folder = evil_run(tmp_path / "a")
    page = write_report(folder).read_text()
    with monkeypatch.context() as patch:
        patch.setattr(RunRecord, "checkpoints", broken)
        assert "The checkpoints cannot be shown" in write_report(folder).read_text()
        assert "<script" not in (folder / "report.html").read_text()
    assert "<scr" not in page
    tags = Tags()
    tags.feed(page)
    assert page.count("&lt;script&gt;") >= 15
    assert not [tag for tag, _ in tags.found if tag in ("script", "iframe", "object", "link", "base", "form", "a")]
    for tag, attributes in tags.found:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert tag != "img" or (attributes["src"] or "").startswith("data:image/png;base64,")
    policies = [attributes["content"] for tag, attributes in tags.found if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1 and policies[0] is not None and "default-src 'none'" in policies[0] and "script" not in policies[0]
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<title>") + 10_000


needs_browser = pytest.mark.skipif(not (browser.CHROMIUM and browser.CHROMEDRIVER), reason=browser.MISSING)


@needs_browser
def test_hostile_runs_in_a_browser(tmp_path: Path) -> None:
    """No script of a run comes to life in any view, the good run is shown beside the damaged ones, and the policy is broken nowhere."""
    evil_run(tmp_path / "runs" / "<b>evil & 'quotes\"")
    good_run(tmp_path / "runs" / "good")
    for name, files in DAMAGED.items():
        damage(tmp_path / "runs" / f"bad {name}", files)
    damage(tmp_path / "runs" / os.fsdecode(b"bad \xff"), {"run.json": {}})
    with Dashboard(tmp_path / "runs", port=0) as dashboard, browser.Browser(tmp_path) as page:
        page.open(dashboard.url)
        page.wait("document.querySelectorAll('.card canvas').length >= 2")
        count = page.run("return document.querySelectorAll('#list li').length")
        assert count == len(DAMAGED) + 3
        page.run("location.hash = 'table'")
        assert page.wait("document.querySelectorAll('tbody tr').length") == count
        for identity in page.run("return [...document.querySelectorAll('#list a')].map((link) => link.getAttribute('href'))"):
            page.run("location.hash = arguments[0]", identity)
            page.wait(f"location.hash === {json.dumps(identity)} && document.querySelector('main h1, main .empty')")
            assert page.run("return document.querySelector('main .empty')") is None, identity
            page.run("for (const one of document.querySelectorAll('.media')) one.scrollIntoView()")
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.run("location.hash = '#run=%zz'")  # no escape at all
        page.wait("document.querySelector('main h1')")
        assert page.run("return [...document.querySelector('main > div').childNodes].filter((one) => one.nodeName === '#text').length") == 0
        assert page.run("return [window.hit ?? null, document.querySelectorAll('main script, main img[onerror]').length]") == [None, 0]
        assert page.messages() == []


@needs_browser
def test_the_policy_holds_in_a_browser(tmp_path: Path) -> None:
    """What an injected script would try is blocked: inline code, styles, other servers, frames, HTML from text."""
    good_run(tmp_path / "runs" / "good")
    with Dashboard(tmp_path / "runs", port=0) as dashboard, browser.Browser(tmp_path) as page:
        for _ in range(2):  # the second page comes out of the browser's cache
            page.open(dashboard.url)
            page.wait("document.querySelectorAll('.card canvas').length >= 1")
            assert page.messages() == []
        tries = {
            "const s = document.createElement('script'); s.append('window.hit = 1'); document.body.append(s)": "",
            "const a = document.createElement('p'); a.setAttribute('onclick', 'window.hit = 2')": "TypeError",
            "document.body.innerHTML = '<b>x</b>'": "TypeError",
        }
        for program, error in tries.items():
            assert page.run(f"try {{ {program}; return '' }} catch (error) {{ return error.name }}") == error, program
        page.run("window.away = ''; fetch('http://127.0.0.1:9/').then(() => { window.away = 'asked' }, () => { window.away = 'blocked' })")
        assert page.wait("window.away") == "blocked"
        assert page.run("return window.hit ?? null") is None
        told = " ".join(page.messages())
        for directive in ("TrustedScript", "TrustedHTML", "connect-src"):
            assert directive in told, told
        policy = page.run(
            "const asked = new XMLHttpRequest(); asked.open('GET', '/', false); asked.send(); return asked.getAllResponseHeaders()"
        )
        assert "script-src 'self'; style-src 'self'" in policy and "unsafe" not in policy
    report = evil_run(tmp_path / "evil") / "report.html"
    with browser.Browser(tmp_path / "second") as page:
        page.open(report.resolve().as_uri())
        page.run("const s = document.createElement('script'); s.append('window.hit = 1'); document.body.append(s)")
        assert page.run("return [window.hit ?? null, document.querySelectorAll('svg').length === 3]") == [None, True]
        assert all("script-src" in message or "default-src" in message for message in page.messages())
