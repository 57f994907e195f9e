"""System metrics: CPU, memory, speed; and the learning rate."""

from __future__ import annotations

import math
import os
import time
from typing import Any

from .metric import Metric, Ratio


class _Reading(Ratio):
    """The mean of readings that `update` takes from the system."""

    higher_is_better = None

    def read(self) -> float:
        """Returns the current reading."""
        raise NotImplementedError

    def update(self, output: Any = None, target: Any = None) -> None:
        value = self.read()
        if not math.isnan(value):
            self.state["total"] += value
            self.state["count"] += 1


class CpuUse(_Reading):
    """CPU use of this process since the last reading, in percent of one core.

    Args:
        name: The name of the metric.

    >>> pyburn.train.metrics.CpuUse().read() >= 0
    True
    """

    unit = "%"

    def __init__(self, name: str = "cpu") -> None:
        self._before = time.perf_counter(), time.process_time()
        super().__init__(name)

    def read(self) -> float:
        now = time.perf_counter(), time.process_time()
        passed = now[0] - self._before[0]
        used = now[1] - self._before[1]
        if passed <= 0:
            return 0.0
        self._before = now
        return 100 * used / passed


class MemoryUse(_Reading):
    """Resident memory of this process, in MiB.

    Args:
        name: The name of the metric.

    >>> pyburn.train.metrics.MemoryUse().read() > 1
    True
    """

    unit = "MiB"

    def __init__(self, name: str = "memory") -> None:
        super().__init__(name)

    def read(self) -> float:
        try:
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        except (OSError, ValueError, IndexError):
            return _peak_memory()


def _peak_memory() -> float:
    """Returns the peak memory, where the system does not report the current use."""
    try:
        import resource
        import sys

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    except ImportError:
        return math.nan


class IterationSpeed(Metric):
    """Batches per second: call `update()` after each batch. The time before the first call does not count.

    Args:
        name: The name of the metric.

    >>> speed = pyburn.train.metrics.IterationSpeed()
    >>> for _ in range(3):
    ...     speed.update()
    >>> speed.compute() > 0
    True
    """

    higher_is_better = None
    unit = "it/s"

    def __init__(self, name: str = "speed") -> None:
        self._last: float | None = None
        super().__init__(name)

    def initial(self) -> dict[str, Any]:
        self._last = None
        return {"seconds": 0.0, "count": 0}

    def update(self, output: Any = None, target: Any = None) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self.state["seconds"] += now - self._last
            self.state["count"] += 1
        self._last = now

    def compute(self) -> float:
        return self.state["count"] / self.state["seconds"] if self.state["seconds"] > 0 else math.nan


class LearningRate(_Reading):
    """The learning rate of the first parameter group of an optimizer.

    Args:
        optimizer: The optimizer.
        name: The name of the metric.

    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=0.5)
    >>> pyburn.train.metrics.LearningRate(optimizer).read()
    0.5
    """

    def __init__(self, optimizer: Any, name: str = "lr") -> None:
        self.optimizer = optimizer
        super().__init__(name)

    def read(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])
