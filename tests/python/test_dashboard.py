"""The dashboard: what it answers, whom it refuses, and that a real browser draws it in time."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from pyburn.dashboard import Dashboard
from pyburn.dashboard.application import ASSETS
from pyburn.dashboard.curves import CurveCache, smoothed
from pyburn.train import Run
from pyburn.train.run.svg_plots import thinned

from . import browser


def write_runs(root: Path, runs: int, points: int) -> None:
    """Runs as training leaves them, with long curves."""
    rng = np.random.default_rng(0)
    steps = np.arange(1, points + 1)
    for index in range(runs):
        rate = 10.0 ** (-1 - index % 4)
        with Run(root / f"run-{index:02}", config={"lr": rate, "optimizer": {"name": "adam"}, "seed": index}) as run:
            for epoch in range(1, 6):
                accuracy = 1 - 0.5 / epoch - 0.01 * index
                run.log({"accuracy": accuracy, "loss": 1 / epoch}, step=points * epoch // 5, epoch=epoch, split="valid", kind="epoch")
            run.update(best={"valid/accuracy": {"value": accuracy, "epoch": 5, "step": points}})
        loss = 2 / np.sqrt(steps) + 0.05 * rng.standard_normal(points) + 0.02 * index
        for name, values in (("loss", loss), ("lr", np.full(points, rate))):
            folder = root / f"run-{index:02}" / "series" / "step" / "train"
            folder.mkdir(parents=True, exist_ok=True)
            rows = np.stack([steps, 1 + steps * 5 // (points + 1), steps * 0.01, values], axis=1)
            (folder / f"{name}.f64").write_bytes(rows.astype("<f8").tobytes())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Dashboard]:
    write_runs(tmp_path / "runs", 3, 5000)
    with Dashboard(tmp_path / "runs", port=0) as dashboard:
        yield dashboard


def ask(dashboard: Dashboard, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, bytes, HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", dashboard.port, timeout=10)
    headers = {"X-Pyburn": "1"} if headers is None and body is not None else headers or {}
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.headers
    connection.close()
    return found


def test_runs_are_listed_with_options_and_results(served: Dashboard) -> None:
    status, body, headers = ask(served, "/api/runs")
    runs = {run["id"]: run for run in json.loads(body)["runs"]}
    assert status == 200
    assert sorted(runs) == ["run-00", "run-01", "run-02"]
    assert runs["run-01"]["config"] == {"lr": 0.01, "optimizer.name": "adam", "seed": 1}
    assert runs["run-01"]["state"] == "finished"
    assert ["step", "train", "loss"] in runs["run-01"]["curves"]
    assert ask(served, "/api/runs", headers={"If-None-Match": headers["ETag"]})[0] == 304
    page = ask(served, "/")[2]
    status, _, again = ask(served, "/", headers={"If-None-Match": page["ETag"]})
    assert status == 304
    for name in ("Content-Security-Policy", "Cache-Control", "ETag"):
        assert again[name] == page[name]
    assert "script-src 'self'; style-src 'self'" in page["Content-Security-Policy"] and "unsafe" not in page["Content-Security-Policy"]


def test_the_page_loads_all_modules_at_once(served: Dashboard) -> None:
    page = ask(served, "/")[1].decode()
    assert all(f'href="{path.name}"' in page or f'src="{path.name}"' in page for path in ASSETS.glob("*.js"))


def curves_of(body: bytes) -> list[np.ndarray]:
    head, _, data = body.partition(b"\n")
    found, offset = [], 0
    for count in json.loads(head):
        found.append(np.frombuffer(data, "<f8", 2 * count, offset).reshape(2, count))
        offset += 16 * count
    assert offset == len(data)
    return found


def test_curves_are_thinned_and_cut(served: Dashboard) -> None:
    wanted = [["run-00", "step", "train", "loss"], ["run-00", "epoch", "valid", "accuracy"], ["nobody", "step", "train", "loss"]]
    whole, epochs, nothing = curves_of(ask(served, "/api/curves", {"curves": wanted, "points": 100})[1])
    assert whole[0, 0] == 1
    assert whole[0, -1] == 5000
    assert whole.shape[1] <= 102
    assert epochs[1].tolist() == pytest.approx([0.5, 0.75, 1 - 0.5 / 3, 0.875, 0.9])
    assert nothing.shape == (2, 0)
    part = curves_of(ask(served, "/api/curves", {"curves": wanted[:1], "from": 1000, "to": 1010})[1])[0]
    assert part[0].tolist() == list(range(999, 1012))


def test_invalid_requests_get_an_error(served: Dashboard) -> None:
    for body in ({"curves": "all"}, {"axis": "height"}, [1], {"curves": [["one"]]}):
        assert ask(served, "/api/curves", body)[0] == 400
    assert ask(served, "/api/run?id=../..")[0] == 404
    for path in ("/../server.py", "/%2e%2e/server.py", "/nothing.js", "/api/image?id=run-00&name=../config.json"):
        assert ask(served, path)[0] == 404


def test_other_sites_are_refused(served: Dashboard) -> None:
    assert ask(served, "/api/runs", headers={"Host": "evil.example"})[0] == 403
    assert ask(served, "/api/stop", {"id": "run-00"}, headers={"Content-Type": "application/json"})[0] == 400


def test_a_token_is_asked_for_where_others_can_reach_it(tmp_path: Path) -> None:
    with Dashboard(tmp_path, host="0.0.0.0", port=0) as dashboard:
        token = urlsplit(dashboard.url).query.removeprefix("token=")
        assert len(token) > 16
        assert ask(dashboard, "/api/runs")[0] == 401
        assert ask(dashboard, "/api/runs?token=wrong")[0] == 401
        status, _, headers = ask(dashboard, f"/?token={token}")
        assert status == 200
        cookie = headers["Set-Cookie"].split(";")[0]
        assert "HttpOnly" in headers["Set-Cookie"]
        assert ask(dashboard, "/api/runs", headers={"Cookie": cookie})[0] == 200


def test_the_stop_button_stops_a_run(tmp_path: Path) -> None:
    run = Run(tmp_path / "live")
    with Dashboard(tmp_path, port=0) as dashboard:
        assert ask(dashboard, "/api/stop", {"id": "live"})[0] == 200
    assert (tmp_path / "live" / "stop").exists()
    run.finish()


def test_a_client_that_says_nothing_does_not_stop_the_others(served: Dashboard) -> None:
    with socket.create_connection(("127.0.0.1", served.port)):
        assert ask(served, "/api/runs")[0] == 200


def test_smoothing_is_the_corrected_moving_average() -> None:
    values = np.random.default_rng(1).standard_normal(1000)
    values[500] = np.nan
    expected, sums, weights = [], 0.0, 0.0
    for value in values:
        if np.isnan(value):
            expected.append(value)
            continue
        sums, weights = 0.9 * sums + value, 0.9 * weights + 1
        expected.append(sums / weights)
    np.testing.assert_allclose(smoothed(values, 0.9), expected, rtol=1e-9)


def test_thinning_keeps_the_peaks() -> None:
    y = np.zeros(100_000)
    y[[123, 54_321]] = 5, -7
    x, kept = thinned(np.arange(100_000.0), y, 400)
    assert len(x) <= 402
    assert (kept.max(), kept.min()) == (5, -7)
    assert (np.diff(x) > 0).all()


def test_curves_that_grow_are_read_again(tmp_path: Path) -> None:
    cache, file = CurveCache(), tmp_path / "loss.f64"
    file.write_bytes(np.ones((3, 4)).tobytes())
    assert len(cache.rows(tmp_path, file.name)) == 3
    with open(file, "ab") as more:
        more.write(np.ones((2, 4)).tobytes() + b"torn")
    assert len(cache.rows(tmp_path, file.name)) == 5


@pytest.mark.skipif(not (browser.CHROMIUM and browser.CHROMEDRIVER), reason=browser.MISSING)
def test_fifty_long_runs_in_a_browser(tmp_path: Path) -> None:
    """The first picture of 50 runs of 100,000 points within 2 s, and no task above 200 ms of the page's thread while zooming."""
    write_runs(tmp_path / "runs", 50, 100_000)
    with Dashboard(tmp_path / "runs", port=0) as dashboard, browser.Browser(tmp_path) as page:
        page.open("about:blank")
        page.command("Page.addScriptToEvaluateOnNewDocument", {"source": LONG_TASKS})
        page.open(dashboard.url)
        first, longest = page.wait("window.firstCurve"), 1e9
        for _ in range(3):  # the best of three: what else the machine does is no concern of this test
            page.run("window.longest = 0")
            for start, end in ((0.3, 0.7), (0.2, 0.9), (0.4, 0.6)):
                page.drag(".card canvas", start, end)
                time.sleep(0.3)
            longest = min(longest, page.run("return window.longest"))
            if first >= 2000:
                page.open(dashboard.url)
                first = page.wait("window.firstCurve")
        print(f"first picture after {first:.0f} ms, longest task while zooming {longest:.0f} ms")
        assert page.run("return document.querySelectorAll('#list li').length") == 50
        assert not [message for message in page.messages() if "favicon" not in message]
    assert first < 2000, f"{first:.0f} ms to the first picture"
    assert longest < 200, f"a task of {longest:.0f} ms while zooming"


# Notes when the first curve was drawn (a canvas whose lines were stroked with many points), and the longest task.
LONG_TASKS = """
window.longest = 0; window.firstCurve = 0;
const longest = (list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration); };
new PerformanceObserver(longest).observe({ type: "longtask", buffered: true });
const lineTo = CanvasRenderingContext2D.prototype.lineTo;
let strokes = 0;
CanvasRenderingContext2D.prototype.lineTo = function (...at) {
  if (++strokes === 5000) window.firstCurve = performance.now();
  return lineTo.apply(this, at);
};
"""


@pytest.mark.skipif(not (browser.CHROMIUM and browser.CHROMEDRIVER), reason=browser.MISSING)
def test_views_of_a_run_in_a_browser(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs", 4, 500)
    with Dashboard(tmp_path / "runs", port=0) as dashboard, browser.Browser(tmp_path) as page:
        page.open(dashboard.url)
        page.wait("document.querySelectorAll('.card canvas').length >= 3")
        page.run("location.hash = 'table'")
        assert page.wait("document.querySelectorAll('tbody tr').length") == 4
        assert "lr" in page.run("return document.querySelector('thead').textContent")
        page.run("document.querySelector('#none').click()")
        page.wait("document.querySelectorAll('tbody tr').length === 0")
        page.run("location.hash = 'run=run-02'")
        page.wait("document.querySelector('h1')?.textContent === 'run-02'")
        page.resize(390, 800, mobile=True)
        page.run("document.querySelector('#all').click(); location.hash = 'table'")
        page.wait("document.querySelector('svg[role=img]')")
        letters = page.run("return document.querySelector('svg[role=img] text').getBoundingClientRect().height")
        assert letters > 9, f"the letters of the plot are {letters} pixels high on a phone"
        assert page.run("return document.documentElement.scrollWidth") <= 390
        for mode in ("dark", "light"):  # of the system, which may change while the page is open
            page.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": mode}]})
            page.wait(f"document.documentElement.dataset.theme === '{mode}'")
        page.run("document.querySelector('#theme').click()")
        assert page.run("return document.documentElement.dataset.theme") == "dark"
        page.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        assert page.run("return document.documentElement.dataset.theme") == "dark"  # what was chosen stays
        assert not page.messages()


ASKED_CURVES = """
window.asked = {};
const fetched = window.fetch;
window.fetch = (path, options) => {
  if (path === "/api/curves") {
    const { axis, curves } = JSON.parse(options.body);
    window.asked[axis] = [...(window.asked[axis] ?? []), ...curves.map((curve) => curve.slice(1).join(" "))];
  }
  return fetched(path, options);
};
"""


@pytest.mark.skipif(not (browser.CHROMIUM and browser.CHROMEDRIVER), reason=browser.MISSING)
def test_the_same_numbers_are_drawn_once(tmp_path: Path) -> None:
    """By steps, or over epochs by epochs: where a split has both, one of them."""
    with Run(tmp_path / "runs" / "a") as run:
        for step in range(1, 31):
            run.log({"loss": 1 / step}, step=step, epoch=1 + step // 11)
        for epoch in (1, 2, 3):
            run.log({"loss": 1 / epoch}, step=10 * epoch, epoch=epoch, kind="epoch")
            run.log({"loss": 1 / epoch}, step=10 * epoch, epoch=epoch, kind="epoch", split="valid")
    with Dashboard(tmp_path / "runs", port=0) as dashboard, browser.Browser(tmp_path) as page:
        page.open("about:blank")
        page.command("Page.addScriptToEvaluateOnNewDocument", {"source": ASKED_CURVES})
        page.open(dashboard.url)
        page.wait("window.asked.step?.length")
        page.run("const box = document.querySelector('select'); box.value = 'epoch'; box.dispatchEvent(new Event('change'))")
        asked = page.wait("window.asked.epoch && window.asked")
        assert sorted(set(asked["step"])) == ["epoch valid loss", "step train loss"]
        assert sorted(set(asked["epoch"])) == ["epoch train loss", "epoch valid loss"]
        assert not page.messages()
