"""Builds a preset of CMake with a line of progress that estimates the remaining time, and names the slowest units of the build.

    python tools/build.py release
    python tools/build.py build/release --slowest     # of the last build, without building

The estimate counts a kernel as three sources, because it is compiled for three instruction sets.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")
PERIOD = 10.0  # seconds between two lines where the output is no terminal


def weight(step: str) -> float:
    return 3.0 if "backends/cpu/" in step else 1.0


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """Says how far the build is: in one line of a terminal, else now and then."""

    def __init__(self, steps: list[str]):
        self.total, self.done = sum(map(weight, steps)), 0.0
        self.start = self.shown = time.monotonic()
        self.terminal = sys.stdout.isatty()

    def step(self, number: str, count: str, what: str) -> None:
        self.done += weight(what)
        now = time.monotonic()
        if not self.terminal and now - self.shown < PERIOD and number != count:
            return
        self.shown, elapsed = now, now - self.start
        total = max(self.total, self.done / int(number) * int(count))  # the plan ends where CMake has to look for files first
        left = (total - self.done) * elapsed / self.done
        line = f"[{number}/{count}] {clock(elapsed)}, about {clock(left)} left: {what.rpartition('/')[2]}"
        if self.terminal:
            print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
        else:
            print(line, flush=True)

    def say(self, text: str) -> None:
        print(f"\r\x1b[K{text}" if self.terminal else text, flush=True)


def build(preset: str) -> int:
    command = ["cmake", "--build", "--preset", preset]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    planned = subprocess.run([*command, "--", "-n"], cwd=ROOT, env=environment, capture_output=True, text=True).stdout
    progress = Progress([match[3] for match in map(STEP.match, planned.splitlines()) if match])
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ninja:
        assert ninja.stdout
        for line in map(str.rstrip, ninja.stdout):
            if match := STEP.match(line):
                progress.step(*match.groups())
            elif line != "ninja: no work to do.":
                progress.say(line)
    if progress.total and not ninja.returncode:
        progress.say(f"Built {preset} in {clock(time.monotonic() - progress.start)}.")
    return ninja.returncode


def slowest(folder: Path, count: int = 10) -> list[tuple[float, str]]:
    """Seconds and output of the steps that took longest, from ninja's log; a step built twice counts with its last time."""
    seconds = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    return sorted(((s, output) for output, s in seconds.items()), reverse=True)[:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", help="a build preset, or with --slowest a folder of a build")
    parser.add_argument("--slowest", action="store_true", help="print the ten slowest units of the last build")
    options = parser.parse_args()
    if not options.slowest:
        return build(options.preset)
    for seconds, output in slowest(Path(options.preset)):
        print(f"{seconds:7.1f} s  {re.sub(r'.*[.]dir/', '', output)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
