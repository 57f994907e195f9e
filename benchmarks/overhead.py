"""What one small operation costs: a + b on 10 floats, pyburn against PyTorch.

Each library runs in a process of its own, in its own environment; the two take turns, and the medians of their turns
are compared. PyTorch is looked for in .venv-peers (see `make peers`) or under the Python given by --peer-python.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

CHILD = """
import json, sys, time
import {library} as library

def once(a, b, count):
    start = time.perf_counter()
    for _ in range(count):
        a + b
    return (time.perf_counter() - start) / count * 1e9

def sample(threads, recorded):
    library.set_num_threads(threads)
    a = library.ones(10, requires_grad=recorded)
    b = library.ones(10, requires_grad=recorded)
    once(a, b, 2000)
    return min(once(a, b, 20000) for _ in range(5))

for line in sys.stdin:
    print(json.dumps(sample(*json.loads(line))), flush=True)
"""


class Library:
    """A child process that measures when asked."""

    def __init__(self, python: str, library: str) -> None:
        self.process = subprocess.Popen(
            [python, "-c", CHILD.replace("{library}", library)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def measure(self, threads: int, recorded: bool) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([threads, recorded]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a measuring process ended early; its message is above")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def cpu_name() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def default_peer() -> str | None:
    candidates = [os.environ.get("PYBURN_PEERS_PYTHON"), pathlib.Path(__file__).parents[1] / ".venv-peers/bin/python"]
    return next((str(c) for c in candidates if c and pathlib.Path(c).exists()), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=default_peer(), help="a Python that has PyTorch (default: .venv-peers/bin/python)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each library (default: 9)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()

    libraries = {"pyburn": Library(sys.executable, "pyburn")}
    if options.peer_python:
        libraries["torch"] = Library(options.peer_python, "torch")
    else:
        print("PyTorch was not found: run `make peers` or give --peer-python; pyburn is measured alone")

    rows = []
    for threads in (1, 2):
        for recorded in (False, True):
            turns: dict[str, list[float]] = {name: [] for name in libraries}
            for _ in range(options.rounds):
                for name, library in libraries.items():
                    turns[name].append(library.measure(threads, recorded))
            medians = {name: statistics.median(values) for name, values in turns.items()}
            ratio = medians["pyburn"] / medians["torch"] if "torch" in medians else None
            rows.append({"threads": threads, "recorded": recorded, "ns": medians, "ratio": ratio})
    for library in libraries.values():
        library.close()

    if options.json:
        print(json.dumps({"cpu": cpu_name(), "rows": rows}))
        return 0
    print(f"a + b on 10 floats, median of {options.rounds} turns, on {cpu_name()}")
    print(f"{'threads':>8}{'gradient':>12}{'pyburn':>12}{'torch':>12}{'ratio':>9}")
    for row in rows:
        torch = f"{row['ns']['torch']:.0f} ns" if "torch" in row["ns"] else "-"
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else "-"
        gradient = "recorded" if row["recorded"] else "none"
        print(f"{row['threads']:>8}{gradient:>12}{row['ns']['pyburn']:>9.0f} ns{torch:>12}{ratio:>9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
