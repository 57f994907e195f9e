"""torch.utils.benchmark: how long a statement takes, as a Measurement. What counts instructions is not there."""

from __future__ import annotations

import statistics
import textwrap
import time
import timeit
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .absent import absent_names

__all__ = ["Compare", "Measurement", "Timer"]
__path__: list[str] = []
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))


def _readable(seconds: float) -> str:
    limit, unit = next(row for row in _UNITS if seconds >= row[0])
    return f"{seconds / (limit or 1e-9):.2f} {unit}"


class Measurement:
    """The times of a statement in seconds per run, with mean, median and iqr (interquartile range).

    Args:
        number_per_run: The number of runs in each of raw_times.
        raw_times: The measured seconds.
        task: The statement and its labels, as Timer.task has them.

    >>> task = {"stmt": "x + 1", "setup": "pass", "label": "sums", "sub_label": "scalar"}
    >>> task |= {"description": "time", "env": None, "num_threads": 1}
    >>> Measurement(10, [1.0, 3.0], task).median
    0.2
    """

    def __init__(self, number_per_run: int, raw_times: Sequence[float], task: dict[str, Any]) -> None:
        self.number_per_run, self.raw_times, self.task = number_per_run, list(raw_times), task
        self.times = [seconds / number_per_run for seconds in raw_times]
        self.mean, self.median = statistics.fmean(self.times), statistics.median(self.times)
        quarters = statistics.quantiles(self.times, n=4, method="inclusive") if len(self.times) > 1 else [self.median] * 3
        self.iqr = quarters[2] - quarters[0]
        self.label, self.sub_label, self.description = task["label"], task["sub_label"], task["description"]
        self.num_threads, self.env = task["num_threads"], task["env"]

    @property
    def title(self) -> str:
        name = self.label or " ".join(str(self.task["stmt"]).split())
        return name + (f": {self.sub_label}" if self.sub_label else "")

    def __repr__(self) -> str:
        setup = f"\n  setup: {self.task['setup']}" if self.task["setup"] != "pass" else ""
        runs = f"{len(self.times)} measurement{'s' if len(self.times) > 1 else ''}, {self.number_per_run} runs each"
        threads = f", {self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        note = f"\n  {self.description}" if self.description else ""
        return f"<pyburn.compat.benchmark.Measurement>\n{self.title}{note}{setup}\n  {_readable(self.median)}\n  {runs}{threads}"


class Timer:
    """Measures the time of a Python statement, on one thread by default.

    Args:
        stmt: The statement.
        setup: Code that runs once before the measurement.
        global_setup: Ignored; it is code for C++ statements.
        timer: The clock, which returns seconds.
        globals: The names that the statement may use. torch is one of them.
        label: The title of the measurement.
        sub_label: What distinguishes it, such as the sizes of its tensors.
        description: The name of the column in Compare.
        env: The name of the environment.
        num_threads: The number of threads of operations.
        language: "python".

    Raises:
        ValueError: The language is not Python.

    >>> pyburn.compat.install()
    >>> Timer("x + 1", globals={"x": 1}).timeit(100).number_per_run
    100
    >>> pyburn.compat.uninstall()
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(getattr(language, "value", language)).lower() not in ("py", "python", "0"):
            raise ValueError(f"[Timer] statements are Python: got {language!r}")
        stmt, setup = (textwrap.dedent(text).strip() if isinstance(text, str) else text for text in (stmt, setup))
        self.task: dict[str, Any] = {"stmt": stmt, "setup": setup, "label": label, "sub_label": sub_label, "description": description}
        self.task |= {"env": env, "num_threads": num_threads}
        names = {"torch": __import__("torch"), **(globals or {})}
        self.timer = timeit.Timer(stmt, setup, timer=timer, globals=names)

    def _seconds(self, number: int) -> float:
        before = _core.get_num_threads()
        _core.set_num_threads(self.task["num_threads"])
        try:
            return self.timer.timeit(number)
        finally:
            _core.set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Measures a fixed number of runs, after a warm-up.

        Args:
            number: The number of runs.

        Returns:
            A Measurement with one time.
        """
        self._seconds(max(number // 100, 2))
        return Measurement(number, [self._seconds(number)], self.task)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measures blocks of runs that are long enough for the resolution of the clock.

        Args:
            callback: A function that is called with the number of runs and the seconds of each block.
            min_run_time: The total time to measure, in seconds.

        Returns:
            A Measurement with one time per block.
        """
        number, seconds = 1, self._seconds(1)
        while seconds < min_run_time / 1000 and number < 1 << 40:
            number *= 10
            seconds = self._seconds(number)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._seconds(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self.task)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Measures blocks of runs until the interquartile range is small.

        Args:
            threshold: The interquartile range to reach, as a fraction of the median.
            min_run_time: The minimum total time in seconds.
            max_run_time: The maximum total time in seconds.
            callback: A function that is called with the number of runs and the seconds of each block.

        Returns:
            A Measurement with one time per block.
        """
        number = self.blocked_autorange(callback, min_run_time).number_per_run
        times: list[float] = []
        while sum(times) < max_run_time:
            times.append(self._seconds(number))
            found = Measurement(number, times, self.task)
            if len(times) > 3 and sum(times) > min_run_time and found.iqr < threshold * found.median:
                break
        return Measurement(number, times, self.task)


class Compare:
    """A table of measurements: one row per sub-label and number of threads, one column per description.

    Args:
        results: The measurements.

    >>> task = {"stmt": "x + 1", "setup": "pass", "label": "sums", "sub_label": "scalar"}
    >>> task |= {"description": "time", "env": None, "num_threads": 1}
    >>> print(Compare([Measurement(1, [0.002], task)]))
    [ sums ]
                       | time
    scalar (1 threads) | 2.00 ms
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self.results = list(results)

    def extend_results(self, results: Sequence[Measurement]) -> None:
        self.results.extend(results)

    def trim_significant_figures(self) -> None:
        """Has no effect: three significant figures are shown."""

    def colorize(self, rowwise: bool = False) -> None:
        """Has no effect: the table is plain text.

        Args:
            rowwise: Ignored.
        """

    def highlight_warnings(self) -> None:
        """Has no effect: the table is plain text."""

    def __str__(self) -> str:
        tables = []
        for label in dict.fromkeys(result.label or result.title for result in self.results):
            some = [result for result in self.results if (result.label or result.title) == label]
            columns = list(dict.fromkeys(str(result.description or result.task["stmt"]) for result in some))
            rows: dict[str, dict[str, str]] = {}
            for result in some:
                name = f"{result.sub_label or result.task['stmt']} ({result.num_threads} threads)"
                rows.setdefault(name, {})[str(result.description or result.task["stmt"])] = _readable(result.median)
            wide = max(map(len, rows))
            lines = [" | ".join([" " * wide, *columns])]
            for name, cells in rows.items():
                lines.append(" | ".join([name.ljust(wide), *(cells.get(column, "").rjust(len(column)) for column in columns)]))
            tables.append("\n".join([f"[ {label} ]", *lines]))
        return "\n\n".join(tables)

    def print(self) -> None:
        print(self)


__getattr__ = absent_names("torch.utils.benchmark")
