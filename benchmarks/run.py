"""Measures pyburn against its peers and writes RESULTS.md with a table and a bar chart.

Each framework runs in a process of its own, in its own environment, and blocks between its turns; the turns alternate and the medians are
compared. A line that was measured while other processes used the machine is measured again, and left out when it stays so.

    python benchmarks/run.py                  everything (at most an hour)
    python benchmarks/run.py --quick          a cross-section (a few minutes)
    python benchmarks/run.py --only conv2d    what matches; prints, writes nothing
    PYBURN_SIMD=avx2 python ...               AVX2 on a machine that can do more; the peers are limited as well
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import Line, write_results
from workloads import WORKLOADS, Workload

HERE = Path(__file__).resolve().parent
FOREIGN = 0.06  # share of a core that others may use during a line
PEER_LIMITS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}


class Child:
    """A framework that measures when asked."""

    def __init__(self, python: str, framework: str) -> None:
        environment = dict(os.environ)
        if os.environ.get("PYBURN_SIMD", "").lower() == "avx2" and framework != "pyburn":
            environment |= PEER_LIMITS
        self.process = subprocess.Popen(
            [python, str(HERE / "child.py"), framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.version = self.ask("version")

    def ask(self, *command: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise ChildProcessError("a measuring process ended early")
        return json.loads(line)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def busy_seconds() -> float:
    fields = [int(f) for f in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / os.sysconf("SC_CLK_TCK")


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def measure_limits(threads: int) -> dict[str, Any]:
    """Compiles and runs limits.cpp; {} where there is no compiler."""
    compiler = os.environ.get("CXX", "c++")
    target = "-march=haswell" if os.environ.get("PYBURN_SIMD", "").lower() == "avx2" else "-march=native"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limits"
        try:
            subprocess.run([compiler, "-O3", target, "-std=c++17", "-pthread", str(HERE / "limits.cpp"), "-o", str(program)], check=True)
            return json.loads(subprocess.run([str(program), str(threads)], check=True, capture_output=True, text=True).stdout)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"the limits of the machine are unknown: {error}")
            return {}


def limit_seconds(w: Workload, threads: int, limits: dict[str, Any]) -> float:
    """The least time that the machine needs for the work; 0 where the workload does not say."""
    if not limits:
        return 0.0
    least = w.flops / limits["fma"][threads - 1]
    if w.reads or w.writes:
        mix = "1 0" if not w.writes else "0 1" if not w.reads else "2 1" if w.reads >= 1.5 * w.writes else "1 1"
        least = max(least, (w.reads + w.writes) / limits["bandwidth"][mix][threads - 1])
    return least


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.seconds, self.rounds = options.seconds, options.rounds
        self.children: dict[str, Child] = {"pyburn": Child(sys.executable, "pyburn")}
        for name in ("torch", "jax"):
            if options.peer_python and name not in options.without:
                try:
                    self.children[name] = Child(options.peer_python, name)
                except ChildProcessError:
                    print(f"{name} is not there: run `make peers` or give --peer-python")
        self.limits = {} if options.no_limits else measure_limits(max(options.threads))
        self.accept_disturbed = options.accept_disturbed

    def variants(self, w: Workload, threads: int) -> list[tuple[str, str]]:
        """(framework, layout): PyTorch in each of its layouts. JAX takes the threads of its process: only where all are used."""
        found = [("pyburn", "plain")]
        if "torch" in self.children:
            found += [("torch", layout) for layout in w.layouts]
        if "jax" in self.children and w.jax and threads == (os.cpu_count() or 1):
            found.append(("jax", "plain"))
        return found

    def measure(self, w: Workload, threads: int) -> Line:
        line = Line(w.group, w.name, threads, limit=limit_seconds(w, threads, self.limits))
        turns: dict[tuple[str, str], list[float]] = {v: [] for v in self.variants(w, threads)}
        last_layout: dict[str, str] = {}

        def prepare(variant: tuple[str, str]) -> bool:
            framework, layout = variant
            if last_layout.get(framework) == layout:
                return True
            last_layout[framework] = layout
            error = self.children[framework].ask("prepare", w.key, threads, layout)
            if error:
                line.errors[framework] = error
                turns.pop(variant)
            return not error

        for _ in range(self.rounds):
            for variant in list(turns):
                if prepare(variant):
                    turns[variant].append(self.children[variant[0]].ask("turn", self.seconds))
                    time.sleep(0.005)  # threads that spin after their work come to rest
        for (framework, _), values in turns.items():
            median = statistics.median(values)
            line.seconds[framework] = min(median, line.seconds.get(framework, median))
        return line

    def line(self, w: Workload, threads: int) -> Line:
        """Measured again while others use the machine, up to three times."""
        for _ in range(3):
            before, own = busy_seconds(), sum(c.cpu_seconds() for c in self.children.values())
            start = time.perf_counter()
            line = self.measure(w, threads)
            elapsed = time.perf_counter() - start
            used = sum(c.cpu_seconds() for c in self.children.values()) - own
            line.disturbed = (busy_seconds() - before - used) / elapsed > FOREIGN
            if not line.disturbed or self.accept_disturbed:
                break
            time.sleep(1)
        return line


def default_peer() -> str | None:
    candidates = [os.environ.get("PYBURN_PEERS_PYTHON"), HERE.parent / ".venv-peers/bin/python"]
    return next((str(c) for c in candidates if c and Path(c).exists()), None)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a cross-section of the workloads")
    parser.add_argument("--only", metavar="PATTERN", help="workloads whose group or name match; nothing is written")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2], help="default: 1,2")
    parser.add_argument("--rounds", type=int, default=5, help="turns per framework and line (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a turn (default: 0.05)")
    parser.add_argument("--without", nargs="*", default=[], help="frameworks to leave out")
    parser.add_argument("--peer-python", default=default_peer(), help="a Python that has the peers (default: .venv-peers/bin/python)")
    parser.add_argument("--no-limits", action="store_true", help="do not measure the limits of the machine")
    parser.add_argument("--accept-disturbed", action="store_true", help="keep lines that others disturbed (for trying things out)")
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
    return parser.parse_args()


def main() -> int:
    options = parse()
    chosen = [w for w in WORKLOADS if (w.quick or not options.quick) and (not options.only or re.search(options.only, w.key))]
    if not chosen:
        print("no workload matches", file=sys.stderr)
        return 1
    bench = Bench(options)
    lines: list[Line] = []
    try:
        for i, w in enumerate(chosen):
            for threads in options.threads:
                line = bench.line(w, threads)
                lines.append(line)
                print(f"[{i + 1}/{len(chosen)}] {line.text()}", flush=True)
    except KeyboardInterrupt:
        print("\nstopped; what was measured is kept")
    versions = {name: child.version for name, child in bench.children.items()}
    for child in bench.children.values():
        child.close()
    machine = {
        "CPU": cpu_name(),
        "cores": str(os.cpu_count()),
        "SIMD": os.environ.get("PYBURN_SIMD", "all"),
        "Python": platform.python_version(),
    }
    if not options.only:
        write_results(options.output, lines, machine | versions, bench.limits)
        print(f"written: {options.output}")
    ratios = [line.ratio for line in lines if line.ratio and not line.disturbed]
    if ratios:
        print(f"{len(ratios)} lines, geometric mean of pyburn / torch: {statistics.geometric_mean(ratios):.2f}, worst {max(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
