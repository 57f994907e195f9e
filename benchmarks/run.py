"""Measures pyburn against its peers and writes RESULTS.md with a table and a bar chart.

Each framework runs in a process of its own, in its own environment, and blocks between its turns; the turns alternate and the medians are
compared. One thread runs on the same core in all of them, another one each round: where a machine is shared, one core can be slower than
the other for a while. A line that was measured while other processes used the machine is measured again, and left out when it stays so;
one whose turns differ much is measured again in the end, and the calmer measurement counts. With all threads pyburn is measured once more
while a process takes one core: no workload may take more than 2.2 times its own clean time.

    python benchmarks/run.py                  everything (at most an hour)
    python benchmarks/run.py --quick          a cross-section (at most eight minutes)
    python benchmarks/run.py --only rows      one group, or what matches; prints, writes nothing
    python benchmarks/run.py --again          the lines of the last run that were not calm
    python benchmarks/run.py --core-taken     only the comparison with one core taken; prints, writes nothing
    PYBURN_SIMD=avx2 python ...               AVX2 on a machine that can do more; the peers are limited as well
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import HERE, CoreTaker, avx2_only, busy_seconds, cpu_seconds, describe, measure_limits, running_seconds
from report import Line, write_results
from workloads import WORKLOADS, Workload

LAST_RUN = HERE.parent / "build/benchmark_lines.json"
LONGEST = 55 * 60  # seconds
FOREIGN = 0.06  # share of a core that others may use during a line
PEER_LIMITS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}


class Child:
    """A framework that measures when asked; on the first `cores` cores only where that is given."""

    def __init__(self, python: str, framework: str, cores: int = 0) -> None:
        environment = dict(os.environ)
        if avx2_only() and framework != "pyburn":
            environment |= PEER_LIMITS
        allowed = sorted(os.sched_getaffinity(0))[: cores or None]
        self.process = subprocess.Popen(
            [python, str(HERE / "child.py"), framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
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

    def stay_on(self, cores: list[int]) -> None:
        """Moves every thread of the process to these cores."""
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # a thread that has ended since
                os.sched_setaffinity(int(task.name), cores)

    def come_to_rest(self) -> None:
        """Waits until no thread of the process spins any more: some do for 50 ms after their work, and would slow down whoever is next."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        deadline = time.perf_counter() + 0.5
        while time.perf_counter() < deadline:
            before = running_seconds(tasks)
            time.sleep(0.004)
            if running_seconds(tasks) - before < 0.0004:
                return

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


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
        self.cores = sorted(os.sched_getaffinity(0))
        self.threads: list[int] = options.threads
        self.children: dict[str, Child] = {"pyburn": Child(sys.executable, "pyburn")}
        self.accept_disturbed, self.limits = options.accept_disturbed, {}
        self.taker = CoreTaker() if max(self.threads) > 1 and not options.no_core_taken else None
        if options.core_taken:
            return
        for name in ("torch", "onnxruntime", "jax"):
            if not options.peer_python or name in options.without:
                continue
            if name == "onnxruntime" and avx2_only():
                continue  # it has no way to be limited
            try:
                if name == "jax":  # takes the cores that its process may use
                    for cores in self.threads:
                        self.children[f"jax, {cores}"] = Child(options.peer_python, name, cores)
                else:
                    self.children[name] = Child(options.peer_python, name)
            except ChildProcessError:
                print(f"{name} is not there: run `make peers` or give --peer-python")
        if not options.no_limits:
            self.limits = measure_limits(max(self.threads))

    def variants(self, w: Workload, threads: int) -> list[tuple[str, str, str]]:
        """(framework, its process, layout): PyTorch in each of its layouts."""
        found = [("pyburn", "pyburn", "plain")]
        if "torch" in self.children:
            found += [("torch", "torch", layout) for layout in w.layouts]
        if "onnxruntime" in self.children and w.onnx:
            found.append(("onnxruntime", "onnxruntime", "plain"))
        if f"jax, {threads}" in self.children and w.jax:
            found.append(("jax", f"jax, {threads}", "plain"))
        return found

    def measure(self, w: Workload, threads: int) -> Line:
        line = Line(w.group, w.name, threads, limit=limit_seconds(w, threads, self.limits))
        turns: dict[tuple[str, str, str], list[float]] = {}
        for framework, process, layout in self.variants(w, threads):
            error = self.children[process].ask("prepare", w.key, threads, layout)
            if error:
                line.errors[framework] = error
            else:
                turns[framework, process, layout] = []
        for i in range(self.rounds):
            for (_, process, layout), values in turns.items():
                if threads == 1:
                    self.children[process].stay_on([self.cores[i % len(self.cores)]])
                values.append(self.children[process].ask("turn", layout, self.seconds)[0])
                self.children[process].come_to_rest()
        for process in {process for _, process, _ in turns} if threads == 1 else ():
            self.children[process].stay_on(self.cores)
        for (framework, _, _), values in turns.items():
            median = statistics.median(values)
            line.seconds[framework] = min(median, line.seconds.get(framework, median))
            if framework in ("pyburn", "torch"):
                line.unrest = max(line.unrest, median / min(values) - 1)
        if "pyburn" in line.seconds and self.taker and threads == max(self.threads):
            line.core_taken = self.slowdown()
        for child in self.children.values():
            child.ask("forget")
        return line

    def slowdown(self) -> float:
        """Time of the prepared workload with one core taken / its clean time; means, which hide nothing of the waiting."""
        assert self.taker
        clean, taken = [], []
        for _ in range(3):
            clean.append(self.children["pyburn"].ask("turn", "plain", 0.04)[1])
            self.taker.take()
            taken.append(self.children["pyburn"].ask("turn", "plain", 0.12)[1])
            self.taker.release()
        return statistics.median(taken) / statistics.median(clean)

    def line(self, w: Workload, threads: int) -> Line:
        """Measured again while others use the machine, up to three times."""
        for _ in range(3):
            before, own = busy_seconds(), self.own_seconds()
            start = time.perf_counter()
            line = self.measure(w, threads)
            elapsed = time.perf_counter() - start
            line.disturbed = (busy_seconds() - before - (self.own_seconds() - own)) / elapsed > FOREIGN
            if not line.disturbed or self.accept_disturbed:
                break
            time.sleep(1)
        return line

    def own_seconds(self) -> float:
        spent = sum(c.cpu_seconds() for c in self.children.values()) + time.process_time()
        return spent + (cpu_seconds(self.taker.process.pid) if self.taker else 0)

    def close(self) -> None:
        for child in self.children.values():
            child.close()
        if self.taker:
            self.taker.close()


def calm_down(bench: Bench, lines: list[Line], until: float) -> None:
    """Measures restless lines again, up to three times and until that time; the calmer measurement counts."""
    by_name = {(w.group, w.name): w for w in WORKLOADS}
    for _ in range(3):
        for i, line in enumerate(lines):
            if not line.restless or time.perf_counter() > until:
                continue
            again = bench.line(by_name[line.group, line.name], line.threads)
            print(f"[again] {again.text()}", flush=True)
            if (again.disturbed, again.unrest) < (line.disturbed, line.unrest):
                lines[i] = again


def save_lines(lines: list[Line], limits: dict[str, Any]) -> None:
    LAST_RUN.parent.mkdir(exist_ok=True)
    LAST_RUN.write_text(json.dumps({"limits": limits, "lines": [dataclasses.asdict(line) for line in lines]}))


def default_peer() -> str | None:
    candidates = [os.environ.get("PYBURN_PEERS_PYTHON"), HERE.parent / ".venv-peers/bin/python"]
    return next((str(c) for c in candidates if c and Path(c).exists()), None)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a cross-section of the workloads")
    parser.add_argument("--only", metavar="PATTERN", help="a group, or workloads whose group or name match; nothing is written")
    parser.add_argument("--again", action="store_true", help="the lines of the last run that were not calm")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2], help="default: 1,2")
    parser.add_argument("--rounds", type=int, default=5, help="turns per framework and line (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a turn (default: 0.05)")
    parser.add_argument("--without", nargs="*", default=[], help="frameworks to leave out")
    parser.add_argument("--peer-python", default=default_peer(), help="a Python that has the peers (default: .venv-peers/bin/python)")
    parser.add_argument("--core-taken", action="store_true", help="only pyburn, clean and with one core taken; nothing is written")
    parser.add_argument("--no-core-taken", action="store_true", help="leave that comparison out")
    parser.add_argument("--no-limits", action="store_true", help="do not measure the limits of the machine")
    parser.add_argument("--accept-disturbed", action="store_true", help="keep lines that others disturbed (for trying things out)")
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    if options.core_taken:
        options.threads = [max(2, *options.threads)]
    return options


def chosen_workloads(options: argparse.Namespace) -> list[Workload]:
    chosen = [w for w in WORKLOADS if w.quick or not options.quick]
    if options.only in {w.group for w in chosen}:
        return [w for w in chosen if w.group == options.only]
    return [w for w in chosen if not options.only or re.search(options.only, w.key)]


def main() -> int:
    options = parse()
    chosen = chosen_workloads(options)
    if not chosen:
        print("no workload matches", file=sys.stderr)
        return 1
    began = time.perf_counter()
    last_run = json.loads(LAST_RUN.read_text()) if options.again else {"limits": {}, "lines": []}
    bench = Bench(options)
    bench.limits = last_run["limits"] or bench.limits
    lines = [Line(**line) for line in last_run["lines"]]
    try:
        for i, w in enumerate(() if options.again else chosen):
            for threads in options.threads:
                line = bench.line(w, threads)
                lines.append(line)
                print(f"[{i + 1}/{len(chosen)}] {line.text()}", flush=True)
        if not options.only and not options.core_taken:
            save_lines(lines, bench.limits)
            calm_down(bench, lines, began + (LONGEST if not options.quick else LONGEST / 8))
    except KeyboardInterrupt:
        print("\nstopped; what was measured is kept")
    finally:
        versions = {name.split(",")[0]: child.version for name, child in bench.children.items()}
        bench.close()
    if not options.only and not options.core_taken:
        save_lines(lines, bench.limits)
        write_results(options.output, lines, describe() | versions, bench.limits)
        print(f"written: {options.output}")
    kept = [line for line in lines if not line.disturbed]
    ratios = [line.ratio for line in kept if line.ratio]
    if ratios:
        print(f"{len(ratios)} lines, geometric mean of pyburn / torch: {statistics.geometric_mean(ratios):.2f}, worst {max(ratios):.2f}")
    slowdowns = [line.core_taken for line in kept if line.core_taken]
    if slowdowns:
        print(f"with one core taken: {max(slowdowns):.2f} times the clean time at worst")
    return 0


if __name__ == "__main__":
    sys.exit(main())
