"""The screen of the terminal dashboard, built with textual."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.events import Print
from textual.widgets import Footer, Static

from ..._progress import bar_text, duration
from ..displays import value_text
from .braille_chart import draw, smooth
from .live_view import LiveView, Snapshot

_COLOURS = {"train": "#4aa3df", "valid": "#e8833a", "test": "#38b48b", "system": "#b58ad8"}
_REFRESH_SECONDS = 0.25
_SYSTEM = ("cpu", "memory")


class DashboardApp(App[None]):
    """Shows progress, curves, a table of metrics, system load and messages."""

    CSS = """
    Screen { layout: vertical; }
    #head { height: 3; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #middle { height: 1fr; }
    #chart { width: 2fr; height: 100%; border: round $primary; padding: 0 1; }
    #side { width: 1fr; min-width: 34; }
    #metrics { height: 1fr; border: round $primary; padding: 0 1; }
    #system { height: 6; border: round $primary; padding: 0 1; }
    #messages { height: 6; border: round $primary; padding: 0 1; }
    .high #messages { height: 4; }
    .narrow #middle { layout: vertical; }
    .narrow #chart { width: 100%; height: 2fr; }
    .narrow #side { width: 100%; height: 1fr; min-width: 0; }
    .narrow #system { display: none; }
    .narrow #messages { height: 4; }
    .low #side, .low #messages, .low Footer, #messages.empty { display: none; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "narrow"), (70, "wide")]  # columns; when narrow, the chart is above the table
    VERTICAL_BREAKPOINTS = [(0, "low"), (16, "high"), (28, "tall")]  # rows; low: the chart only; high: fewer messages, more metrics
    BINDINGS: ClassVar[list[Any]] = [
        Binding("q", "stop", "stop and save"),
        Binding("ctrl+c", "stop", show=False, priority=True),
        Binding("p,space", "pause", "pause"),
        Binding("right,tab", "metric(1)", "next metric", priority=True),
        Binding("left,shift+tab", "metric(-1)", "previous", priority=True, show=False),  # no room for it in 80 columns
        Binding("s", "smooth", "smooth"),
        Binding("r", "recent", "recent/all"),
        Binding("d", "mode", "light/dark"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, view: LiveView, on_stop: Callable[[], None], on_pause: Callable[[], None], on_print: Callable[[str], None]) -> None:
        super().__init__()
        self._view, self._on_stop, self._on_pause, self._on_print = view, on_stop, on_pause, on_print
        self.metric = "loss"
        self.smoothing, self.recent = False, False
        self.ready: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        with Horizontal(id="middle"):
            yield Static(id="chart")
            with Vertical(id="side"):
                yield Static(id="metrics")
                yield Static(id="system")
        yield Static(id="messages")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#metrics").border_title = "metrics"
        self.query_one("#system").border_title = "system"
        self.query_one("#messages").border_title = "messages"
        self.begin_capture_print(self)
        self.set_interval(_REFRESH_SECONDS, self.draw)
        self.call_after_refresh(self.draw)
        self.ready()

    def on_print(self, event: Print) -> None:
        self._on_print(event.text)

    # --- keys --------------------------------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        self._on_stop()
        self.draw()

    def action_pause(self) -> None:
        self._on_pause()
        self.draw()

    def action_metric(self, by: int) -> None:
        names = self.names(self._view.snapshot())
        if names:
            self.metric = names[(names.index(self.metric) + by) % len(names)] if self.metric in names else names[0]
        self.draw()

    def action_smooth(self) -> None:
        self.smoothing = not self.smoothing
        self.draw()

    def action_recent(self) -> None:
        self.recent = not self.recent
        self.draw()

    def action_mode(self) -> None:
        self.theme = "textual-light" if self.theme == "textual-dark" else "textual-dark"

    # --- drawing -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def names(now: Snapshot) -> list[str]:
        return [name for name in now.curves if name not in _SYSTEM]

    def draw(self) -> None:
        with contextlib.suppress(NoMatches):  # textual removes widgets before it stops the timer: the last tick may find none or only some
            self._draw_boxes(self._view.snapshot())

    def _draw_boxes(self, now: Snapshot) -> None:
        self.query_one("#head", Static).update(self._head(now))
        self._draw_chart(now)
        self.query_one("#metrics", Static).update(self._table(now))
        self.query_one("#system", Static).update(self._system(now))
        box = self.query_one("#messages", Static)
        box.set_class(not now.messages, "empty")
        size = box.content_size
        width = size.width or self.size.width - 4  # the box has no size before the first message
        lines = now.messages[-max(1, size.height or 4) :]
        # Truncated here: a wrapped line would push the newest message out of the box.
        box.update(Text("\n".join(line if len(line) <= width else line[: max(0, width - 1)] + "…" for line in lines)))

    def _head(self, now: Snapshot) -> Text:
        width = max(20, self.size.width - 2)
        text = Text(no_wrap=True, overflow="ellipsis")
        colour = {"training": "green", "validating": "cyan", "paused": "yellow", "stopping": "red"}.get(now.state, "white")
        text.append(now.title, "bold").append("  ").append(now.state, colour)
        text.append(f"  epoch {now.epoch}" + (f"/{now.epochs}" if now.epochs else ""))
        if now.remaining is not None:  # near the start, since the end of the line is cut off in a narrow window
            text.append(f"  {duration(now.remaining)} left", "bold")
        text.append(f"  {duration(now.elapsed)} so far  step {now.step:,}  {now.speed:.1f} steps/s")
        for name, share, detail in (
            ("epoch", now.batch / now.batches if now.batches else None, f"{now.batch}" + (f"/{now.batches}" if now.batches else "")),
            ("total", now.done, f"{now.done:.0%}" if now.done is not None else ""),
        ):
            text.append(f"\n{name} ", "dim")
            room = max(8, width - 22)
            text.append(bar_text(share, room) if share is not None else "·" * room, _COLOURS["train"])
            text.append(f" {detail}")
        return text

    def _draw_chart(self, now: Snapshot) -> None:
        box = self.query_one("#chart", Static)
        size = box.content_size
        splits = now.curves.get(self.metric, {})
        curves, colours, names = [], [], Text()
        for split, (x, y) in splits.items():
            if self.recent:
                x, y = x[-max(10, len(x) // 5) :], y[-max(10, len(y) // 5) :]
            curves.append((x, smooth(y, 0.9) if self.smoothing and len(y) > 10 else y))
            colours.append(_COLOURS.get(split, "white"))
            names.append(f" ━ {split}", colours[-1])
        text = Text(no_wrap=True)
        for row in draw(curves, size.width, max(1, size.height - 1)):
            for character, owner in row:
                text.append(character, colours[owner] if owner >= 0 else "dim")
            text.append("\n")
        box.border_title = self.metric + (", smoothed" if self.smoothing else "") + (", recent" if self.recent else "")
        box.update(text.append(names))

    def _table(self, now: Snapshot) -> Table:
        table = Table(box=None, expand=True, padding=(0, 1, 0, 0))
        for name in ("", "train", "valid", "best"):
            table.add_column(name, justify="left" if not name else "right", style=_COLOURS.get(name, ""))
        metrics = dict.fromkeys(key.partition("/")[2] or key for key in now.values if not key.startswith("system/"))
        for metric in metrics:
            values = [now.values.get(f"train/{metric}", now.values.get(metric)), now.values.get(f"valid/{metric}"), now.best.get(metric)]
            cells = [value_text("", value).strip() if value is not None else "" for value in values]
            table.add_row(Text(metric, "bold reverse" if metric == self.metric else "bold"), *cells)
        return table

    def _system(self, now: Snapshot) -> Text:
        text = Text(no_wrap=True)
        width = max(16, self.query_one("#system", Static).content_size.width)
        for name, unit in (("cpu", "%"), ("memory", " MiB")):
            x, y = now.curves.get(name, {}).get("system", ([], []))
            value = now.values.get(f"system/{name}")
            text.append(f"{name} ", "bold").append(f"{value:,.0f}{unit}\n" if value is not None else "\n")
            text.append(_spark(y, width) + "\n", _COLOURS["system"])
        return text


def _spark(values: list[float], width: int) -> str:
    """Returns a sparkline of the last values, from zero to the maximum."""
    shown = values[-width:]
    top = max(shown, default=0.0) or 1.0
    return "".join("▁▂▃▄▅▆▇█"[min(7, max(0, int(value / top * 7.999)))] for value in shown)
