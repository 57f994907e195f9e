"""The machine: what it is, what it can do at most, who uses it, and a process that takes one of its cores."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")


def avx2_only() -> bool:
    return os.environ.get("PYBURN_SIMD", "").lower() == "avx2"


def busy_seconds() -> float:
    """Processor time that everybody has used since the machine was started."""
    fields = [int(f) for f in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / TICKS


def cpu_seconds(pid: int) -> float:
    """Processor time that one process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def running_seconds(tasks: Path) -> float:
    """The same, to the nanosecond, of the threads in /proc/PID/task."""
    total = 0
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended since
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def describe() -> dict[str, str]:
    return {
        "CPU": cpu_name(),
        "cores": str(os.cpu_count()),
        "SIMD": os.environ.get("PYBURN_SIMD", "all"),
        "Python": platform.python_version(),
    }


def measure_limits(threads: int) -> dict[str, Any]:
    """Compiles and runs limits.cpp; {} where there is no compiler."""
    compiler = os.environ.get("CXX", "c++")
    target = "-march=haswell" if avx2_only() else "-march=native"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limits"
        try:
            subprocess.run([compiler, "-O3", target, "-std=c++17", "-pthread", str(HERE / "limits.cpp"), "-o", str(program)], check=True)
            return json.loads(subprocess.run([str(program), str(threads)], check=True, capture_output=True, text=True).stdout)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"the limits of the machine are unknown: {error}")
            return {}


class CoreTaker:
    """A process that keeps one core busy between take() and release()."""

    def __init__(self) -> None:
        core = max(os.sched_getaffinity(0))
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import os, signal; os.sched_setaffinity(0, [{core}]); os.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass",
            ]
        )

    def take(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def release(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
