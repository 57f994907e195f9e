"""The terminal dashboard as a display of fit: the screen runs in its own thread, training stays in the calling thread."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ..._progress import Output
from ..callbacks import Callback
from ..displays import ProgressBar, RunningValues, epoch_text
from ..metrics import CpuUse, MemoryUse
from .live_view import LiveView

if TYPE_CHECKING:
    from ..learner import Learner

_START_SECONDS = 10.0
_SYSTEM_SECONDS = 1.0


class TerminalDashboard(Callback):
    """Live dashboard with curves, metrics and system load; keys to stop, pause and switch views. Needs the extra `dashboard`.

    If the screen cannot be opened, a progress bar is shown instead. After training, the results are printed as lines.

    Raises:
        ImportError: textual is not installed.

    >>> learner.fit(data, epochs=1, display="dashboard")  # doctest: +SKIP
    """

    def __init__(self) -> None:
        try:
            from .app import DashboardApp
        except ImportError as error:
            raise ImportError("the dashboard in the terminal needs textual: pip install textual") from error
        self._make_app = DashboardApp
        self.view = LiveView()
        self.app: Any = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._printed: list[str] = []
        self._lines: list[str] = []
        self._bar: ProgressBar | None = None
        self._cpu, self._memory, self._sampled = CpuUse(), MemoryUse(), 0.0
        self._values = RunningValues()
        self._resize_handler: Any = None
        self._learner: Learner | None = None

    # --- the thread of the screen ------------------------------------------------------------------------------------------

    def on_fit_start(self, learner: Learner) -> None:
        self._learner = learner
        self.view.start(learner)
        ready = threading.Event()
        self.app = self._make_app(self.view, self.stop, self.pause, self._printed.append)
        self.app.ready = ready.set
        signals = _use_signals_of_main_thread()
        self._thread = threading.Thread(target=self._show, args=(ready,), name="pyburn-dashboard", daemon=True)
        self._thread.start()
        if not ready.wait(_START_SECONDS) or self._failure is not None:
            self._give_way()
        elif signals is not None and signals.resize is not None and threading.current_thread() is threading.main_thread():
            self._resize_handler = signal.signal(signal.SIGWINCH, signals.resize), signals.resize

    def _show(self, ready: threading.Event) -> None:
        try:
            self.app.run()
        except BaseException as error:
            self._failure = error
        ready.set()

    def _give_way(self) -> None:
        """Falls back to a progress bar if the screen could not be opened or was closed."""
        self._bar = ProgressBar()
        reason = f": {self._failure}" if self._failure is not None else ""
        print(f"cannot show the terminal dashboard{reason}; showing a progress bar instead", file=Output(sys.stderr))

    def on_fit_end(self, learner: Learner) -> None:
        if self._resize_handler is not None:
            signal.signal(signal.SIGWINCH, self._resize_handler[0])
            self._resize_handler = None
        if self._thread is not None and self._thread.is_alive() and self.app is not None:
            self.app.call_from_thread(self.app.exit)
            self._thread.join(_START_SECONDS)
        self._thread = None
        if self._bar is not None:
            self._bar.on_fit_end(learner)
            return
        shown = Output(sys.stdout)
        for text in self._printed:
            shown.write(text)
        shown.flush()
        for line in self._lines:
            print(line, file=Output(sys.stderr))

    # --- keys --------------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """First call: stops after the step, with a checkpoint. Second call: stops immediately."""
        if self._learner is None:
            return
        if self._learner.stop_request.reason:
            os.kill(os.getpid(), signal.SIGINT)
            return
        self._learner.paused = False
        self._learner.stop("Ctrl-C or q on the dashboard")
        self.view.message("stopping after this step; press again to stop immediately, without a checkpoint")

    def pause(self) -> None:
        if self._learner is not None:
            self._learner.paused = not self._learner.paused
            self.view.message("paused: press p to continue" if self._learner.paused else "continued")
            self.view.doing(self._learner)

    # --- what happens ------------------------------------------------------------------------------------------------------

    def _use_bar(self) -> ProgressBar | None:
        if self._bar is None and self._thread is not None and not self._thread.is_alive():
            self._give_way()
        return self._bar

    def on_batch_end(self, learner: Learner) -> None:
        bar = self._use_bar()
        if bar is not None:
            bar.on_batch_end(learner)
            return
        now = time.monotonic()
        if self._values.due():  # reading values synchronizes with the device
            self.view.progress(learner, self._values.read(learner))
            self.view.step(learner)
        if now - self._sampled >= _SYSTEM_SECONDS:
            self._sampled = now
            self.view.system(self._cpu.read(), self._memory.read())

    def on_validation_batch_end(self, learner: Learner) -> None:
        if self._bar is not None:
            self._bar.on_validation_batch_end(learner)
        elif self._values.due():
            self.view.progress(learner, self._values.read(learner))

    def on_epoch_end(self, learner: Learner) -> None:
        self.view.progress(learner)
        self.view.epoch(learner)
        line = f"epoch {learner.state.epoch}" + (f"/{learner.state.epochs}" if learner.state.epochs else "") + f"  {epoch_text(learner)}"
        self.view.message(line)
        self._lines.append(line)
        if self._bar is not None:
            self._bar.on_epoch_end(learner)

    def on_checkpoint(self, learner: Learner) -> None:
        if learner.state.checkpoint is not None:
            self.view.message(f"checkpoint {learner.state.checkpoint.file} ({', '.join(learner.state.checkpoint.kept_by)})")

    def on_message(self, learner: Learner, text: str) -> None:
        self.view.message(text)
        self._lines.append(text)
        if self._bar is not None:
            self._bar.on_message(learner, text)


class _Signals:
    """Replacement for the `signal` module in textual's driver, which installs handlers on start although only the main thread may.

    The SIGWINCH handler is kept, to be installed by the main thread.
    """

    def __init__(self) -> None:
        self.resize: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(signal, name)

    def signal(self, number: int, handler: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return signal.signal(number, handler)
        if number == getattr(signal, "SIGWINCH", None) and callable(handler):
            self.resize = handler
        return None


def _use_signals_of_main_thread() -> _Signals | None:
    try:
        from textual.drivers import linux_driver
    except ImportError:
        return None
    if not isinstance(linux_driver.signal, _Signals):
        linux_driver.signal = _Signals()  # type: ignore[assignment]
    return linux_driver.signal  # type: ignore[return-value]
