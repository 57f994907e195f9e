"""How long `import pyburn` takes, next to numpy's and torch's import in the same run.

python benchmarks/import_time.py [--runs 15] [--torch-python path]

Each run is a new process; the modules take turns, so that a busy machine slows all of them. Prints medians and minima in
seconds, and the ratio of pyburn to numpy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

_PROGRAM = "import time; begin = time.perf_counter(); import {module}; print(time.perf_counter() - begin)"


def seconds(python: str, module: str) -> float:
    """The time of one import in a new process."""
    done = subprocess.run([python, "-c", _PROGRAM.format(module=module)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Times import pyburn against numpy and torch.")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--torch-python", default=os.environ.get("PYBURN_PEERS_PYTHON"), help="an interpreter that has torch")
    options = parser.parse_args()
    pythons = {"pyburn": sys.executable, "numpy": sys.executable}
    if options.torch_python and os.path.exists(options.torch_python):
        pythons["torch"] = options.torch_python
    for module, python in pythons.items():  # once for the caches of bytecode and files
        seconds(python, module)
    times: dict[str, list[float]] = {module: [] for module in pythons}
    for _ in range(options.runs):
        for module, python in pythons.items():
            times[module].append(seconds(python, module))
    for module, found in times.items():
        print(f"{module:8} median {statistics.median(found):.4f} s  minimum {min(found):.4f} s")
    median = statistics.median(times["pyburn"]) / statistics.median(times["numpy"])
    print(f"pyburn / numpy: median {median:.2f}, minimum {min(times['pyburn']) / min(times['numpy']):.2f}")


if __name__ == "__main__":
    main()
