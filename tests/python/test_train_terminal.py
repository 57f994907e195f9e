"""The dashboard in the terminal: its screen through textual's pilot, and a training with it on a terminal of its own."""

from __future__ import annotations

import asyncio
import html
import io
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pyburn.train.terminal.braille_chart import draw, smooth
from pyburn.train.terminal.live_view import LiveView, Points

sys.path.insert(0, str(Path(__file__).parent))
from training_case import Batches, make_learner


def picture(rows: list[list[tuple[str, int]]]) -> list[str]:
    return ["".join(character for character, _ in row) for row in rows]


def test_a_chart_in_characters() -> None:
    rows = picture(draw([([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0])], 24, 7))
    assert {len(row) for row in rows} == {24}
    assert [row[0] for row in rows[:-1]].count("2") == 1  # a label of the axis
    marks = [row.index(next(c for c in row[4:] if c != " "), 4) for row in rows[:-1]]
    assert marks == sorted(marks, reverse=True)  # it rises
    assert rows[-1].split() == ["0", "3"]


def test_charts_of_nothing_and_of_little() -> None:
    assert picture(draw([], 20, 5))[0].strip() == "…"
    assert picture(draw([([1], [float("nan")])], 20, 5))[0].strip() == "…"
    assert len(draw([([1], [2.0])], 20, 5)) == 5
    assert len(draw([([1, 2], [2.0, 2.0])], 3, 2)) == 2
    assert smooth([1.0, float("nan"), 1.0], 0.9)[2] == pytest.approx(1.0)


def test_curves_are_bounded() -> None:
    points = Points(most=100)
    for i in range(10_000):
        points.add(i, i)
    assert 50 <= len(points.x) <= 100
    assert points.x[0] == 0 and points.x[-1] > 9_000
    assert points.x == sorted(points.x)


def filled_view() -> LiveView:
    """As after a training of two epochs."""
    view = LiveView()

    from pyburn.train import When

    learner = make_learner(
        callbacks=[When(on_step_end=view.step, on_batch_end=view.progress, on_epoch_end=view.epoch, on_fit_start=view.start)]
    )
    learner.fit(Batches(False), Batches(False), 2, display="quiet")
    view.system(42.0, 123.0)
    return view


def svg_text(app: Any) -> str:
    """What is written on the screen."""
    return html.unescape(re.sub(r"<[^>]*>", "", app.export_screenshot())).replace("\xa0", " ")


def test_the_screen() -> None:
    pytest.importorskip("textual", reason="textual is not installed")
    from pyburn.train.terminal.app import DashboardApp

    view, calls = filled_view(), []

    async def go() -> None:
        app = DashboardApp(view, lambda: calls.append("stop"), lambda: calls.append("pause"), calls.append)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            texts = {name: str(app.query_one(name).render()) for name in ("#head", "#chart", "#messages")}
            assert "epoch 2/2" in texts["#head"]
            assert "━ train" in texts["#chart"] and "━ valid" in texts["#chart"]
            assert any(0x2800 < ord(c) <= 0x28FF for c in texts["#chart"])  # a curve
            assert "cpu 42%" in str(app.query_one("#system").render())
            assert app.metric == "loss"
            await pilot.press("right")
            assert app.metric == "lr"
            await pilot.press("left", "left")
            assert app.metric == "auroc" or app.metric == "f1"
            await pilot.press("p", "space", "s", "r", "d")
            assert calls == ["pause", "pause"]
            assert app.smoothing and app.recent and app.theme == "textual-light"
            assert "smoothed" in str(app.query_one("#chart").border_title)
            await pilot.press("q", "ctrl+c")
            assert calls[2:] == ["stop", "stop"]
            await pilot.resize_terminal(50, 16)  # rows of a small window: all three of the head, and room for the curve
            await pilot.pause()
            app.draw()
            await pilot.pause()
            assert not app.query_one("#messages").display
            assert "total" in svg_text(app) and app.query_one("#chart").content_size.height >= 4
            view.message("a message")
            app.draw()
            await pilot.pause()
            assert app.query_one("#messages").display and "a message" in svg_text(app)
            await pilot.resize_terminal(50, 14)
            await pilot.pause()
            assert "<svg" in app.export_screenshot()
            for width, height in ((40, 20), (40, 10)):  # the curve keeps the whole width; what has no room is left out
                await pilot.resize_terminal(width, height)
                await pilot.pause()
                app.draw()
                assert any(0x2800 < ord(c) <= 0x28FF for c in str(app.query_one("#chart").render()))
                assert app.query_one("#metrics").size.height > 0 or height < 16

    asyncio.run(go())


def test_a_tick_of_the_timer_after_the_boxes_are_gone() -> None:
    pytest.importorskip("textual", reason="textual is not installed")
    from pyburn.train.terminal.app import DashboardApp

    async def go() -> None:
        app = DashboardApp(filled_view(), lambda: None, lambda: None, lambda text: None)
        async with app.run_test(size=(100, 30)):
            await app.query_one("#system").remove()  # some are gone, then all: as when it closes while the timer runs
            app.draw()
            await app.query("*").remove()
            app.draw()

    asyncio.run(go())


def test_a_window_of_80_columns_and_24_rows_shows_every_metric() -> None:
    pytest.importorskip("textual", reason="textual is not installed")
    from rich.console import Console

    from pyburn.train.terminal.app import DashboardApp

    async def go() -> None:
        app = DashboardApp(filled_view(), lambda: None, lambda: None, lambda text: None)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            box = app.query_one("#metrics")
            metrics = app.names(app._view.snapshot())
            assert box.content_size.height >= 1 + len(metrics) and len(metrics) >= 4
            screen = io.StringIO()
            Console(file=screen, width=box.content_size.width).print(app._table(app._view.snapshot()))
            assert "…" not in screen.getvalue() and "accuracy" in screen.getvalue()
            shown = [found.binding for found in app.active_bindings.values() if found.binding.show]
            keys = {binding.description: binding.key for binding in reversed(shown)}  # the first of several keys for the same
            assert "recent/all" in keys and sum(len(f" {key} {name} ") for name, key in keys.items()) <= 81

    asyncio.run(go())


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith(("textual", "rich")):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **options)

    for name in [name for name in sys.modules if name.startswith(("textual", "rich", "pyburn.train.terminal.app"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    from pyburn.train.terminal import TerminalDashboard

    with pytest.raises(ImportError, match="pip install textual"):
        TerminalDashboard()


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from training_case import Batches, make_learner
from pyburn.train import When
learner = make_learner(callbacks=[When(on_epoch_end=lambda l: l.state.epoch == 1 and print("printed by a callback"))])
history = learner.fit(Batches(True, 0.02), Batches(False), 1000, run={run!r}, display="dashboard")
print("the end:", history.stopped)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_training_on_a_terminal(tmp_path: Path) -> None:
    """Curves appear, p pauses, q stops; afterwards the terminal has the results and what was printed."""
    pytest.importorskip("textual", reason="textual is not installed")
    import pty
    import select
    import struct

    program = PROGRAM.format(folder=str(Path(__file__).parent), run=str(tmp_path / "run"))
    try:
        pid, terminal = pty.fork()
    except OSError as error:  # a container without /dev/pts
        pytest.skip(f"no pseudo-terminal here: {error}")
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="30")
        os.execv(sys.executable, [sys.executable, "-c", program])
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    seen = bytearray()

    def read_until(text: str) -> None:
        turns = 0  # counted, not timed: a machine that stands still is no failure
        while text.encode() not in seen:
            turns += 1
            assert turns < 400, f"no {text!r} in {bytes(seen[-2000:])!r}"
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    seen.extend(os.read(terminal, 65536))
                except OSError:
                    break

    try:
        read_until("epoch 2/1000")
        os.write(terminal, b"p")
        read_until("paused: press p to continue")
        os.write(terminal, b"p")
        read_until("continued")
        os.write(terminal, b"q")
        read_until("the end: Ctrl-C or q on the dashboard")
    finally:
        if b"the end:" not in seen:
            os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    after = bytes(seen).rpartition(b"\x1b[?1049l")[2].decode(errors="replace")  # what comes after the screen was left
    assert "printed by a callback" in after
    assert "epoch 1/1000  train: loss" in after
    assert "Everything is saved" in after
